package processes_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/files"
)

var interpreters = []string{"node", "python", "python3*", "bun"}

// TestTheProgramOfAnInterpreter reads what is kept of command lines: the name of a program's file and its package.
func TestTheProgramOfAnInterpreter(t *testing.T) {
	t.Parallel()
	home := files.RealTemp(t)
	pkg := filepath.Join(home, "node_modules/@google/gemini-cli/dist")
	bin := filepath.Join(home, "node_modules/.bin")
	files.Write(t, filepath.Join(pkg, "index.js"), "")
	files.Write(t, filepath.Join(home, "app.js"), "")
	files.Link(t, filepath.Join(bin, "gemini"), "../@google/gemini-cli/dist/index.js")
	const absent = "absent"
	for name, c := range map[string]struct {
		exe, cwd     string
		argv         []string
		script, from string
	}{
		"a link of npm":                {"/usr/bin/node", "/", []string{"node", bin + "/gemini", "-p", "a prompt"}, "gemini", "@google/gemini-cli"},
		"its file":                     {"/usr/bin/node", "/", []string{"node", pkg + "/index.js"}, "index.js", "@google/gemini-cli"},
		"from its folder":              {"/usr/bin/node", home, []string{"node", "node_modules/.bin/gemini"}, "gemini", "@google/gemini-cli"},
		"a link that leads nowhere":    {"/usr/bin/node", "/", []string{"node", bin + "/none"}, "none", absent},
		"a file that is gone":          {"/usr/bin/node", home, []string{"node", "gone.js"}, "gone.js", ""},
		"of no package":                {"/usr/bin/node", home, []string{"node", "app.js"}, "app.js", ""},
		"code":                         {"/usr/bin/node", "/", []string{"node", "-e", "a secret"}, "", ""},
		"a prompt to type at":          {"/usr/bin/node", "/", []string{"node"}, "", ""},
		"a module":                     {"/usr/bin/python3.12", "/", []string{"/venv/bin/python", "-m", "http.server"}, "", "http.server"},
		"an executable that was swept": {"/usr/bin/node (deleted)", home, []string{"node", "app.js"}, "app.js", ""},
		"bun from npm":                 {"/x/node_modules/bun/bin/bun.exe", "/", []string{"bun", "/x/app.ts"}, "app.ts", ""},
		"another name for it":          {"/opt/x/node", home, []string{"/opt/x/node", "app.js"}, "app.js", ""},
		"a title":                      {"/usr/bin/node", "/", []string{"pi", "", ""}, absent, absent},
		"a title with words":           {"/usr/bin/node", "/", []string{"npm exec @google/gemini-cli", ""}, absent, absent},
		"a title like its own name":    {"/usr/bin/node", "/", []string{"node", "", "", ""}, absent, absent},
		"no interpreter":               {"/usr/bin/copilot", "/", []string{"copilot", "a prompt"}, absent, absent},
		"nothing":                      {"/usr/bin/node", "/", nil, absent, absent},
		"a word that is no file":       {"/usr/bin/node", "/", []string{"node", strings.Repeat("x", 300)}, absent, absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeproc.New(t)
			text := ""
			if c.argv != nil {
				text = strings.Join(c.argv, "\x00") + "\x00"
			}
			f.Process(fakeproc.Entry{PID: 10, PPID: 1, Comm: "node", Start: 5, Cwd: c.cwd, Exe: c.exe, Cmdline: text, Chroot: "/"})
			p := all(t, f, processes.Options{Markers: []string{"A"}, Interpreters: interpreters})["process:10@5"]
			if script, from := orAbsent(p.Script), orAbsent(p.Package); script != c.script || from != c.from {
				t.Errorf("script %q of %q, want %q of %q", script, from, c.script, c.from)
			}
			if (p.ArgvDigest != "") != (p.Script != nil) {
				t.Errorf("digest %q of a process that runs %q", p.ArgvDigest, orAbsent(p.Script))
			}
		})
	}
}

// TestALongCommandLine names the program although the whole is longer than what is read of it.
func TestALongCommandLine(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Process(fakeproc.Entry{PID: 10, PPID: 1, Comm: "node", Start: 5, Cwd: "/", Exe: "/usr/bin/node", Cmdline: "node\x00app.js\x00" + strings.Repeat("x", 100<<10) + "\x00"})
	f.Process(fakeproc.Entry{PID: 11, PPID: 1, Comm: "node", Start: 5, Cwd: "/", Exe: "/usr/bin/node", Cmdline: "node\x00" + strings.Repeat("x", 100<<10) + "\x00"})
	got := all(t, f, processes.Options{Markers: []string{"A"}, Interpreters: interpreters})
	if script := orAbsent(got["process:10@5"].Script); script != "app.js" {
		t.Errorf("script %q", script)
	}
	if script := orAbsent(got["process:11@5"].Script); script != "absent" {
		t.Errorf("script %.20q of a word that was cut", script)
	}
}

func orAbsent(text *string) string {
	if text == nil {
		return "absent"
	}
	return *text
}
