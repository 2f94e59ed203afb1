package processes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/files"
)

// vendors are daemons like those of config.yaml.
var vendors = []processes.Daemon{
	{Name: "server", Programs: []string{"codex"}, Args: []string{"app-server", "--managed-daemon"}},
	{Name: "updates", Programs: []string{"codex"}, Args: []string{"app-server", "daemon", "pid-update-loop"}},
	{Name: "hub", Programs: []string{"a-program-of-a-long-name"}, Args: []string{"--hub"}},
}

// TestADaemonIsKnownByItsCommandLine takes nothing that stands in a prompt, and nothing behind another command, for a daemon's words.
func TestADaemonIsKnownByItsCommandLine(t *testing.T) {
	t.Parallel()
	const absent = "absent"
	for line, want := range map[string]string{
		"/x/codex app-server --listen unix:// --analytics --managed-daemon": "server",
		"/x/codex app-server daemon pid-update-loop":                        "updates",
		"/x/codex app-server --managed-daemon":                              "server",
		"/x/codex app-server":                                               "",
		"/x/codex app-server --listen stdio://":                             "",
		"/x/codex app-server daemon start":                                  "",
		"/x/codex exec app-server --managed-daemon":                         "",
		"/x/codex explain app-server --managed-daemon":                      "",
		"/x/codex --managed-daemon app-server":                              "",
		"/x/codex -- app-server --managed-daemon":                           "",
		"/x/codex app-server -- --managed-daemon":                           "",
		"/x/codex resume":                                                   "",
		"/x/codex":                                                          "",
		"/x/codex.exe app-server --managed-daemon":                          "server",
		"codex": "",
		"/x/a-program-of-a-long-name --hub --cwd /x": "hub",
		"/x/a-program-of-a-long-name task --hub":     "",
		"/x/bash app-server --managed-daemon":        absent,
		"/x/codex  ":                                 absent, // a program wrote over it
	} {
		words := strings.Split(line, " ")
		f := newFixture(t)
		name := filepath.Base(words[0])
		f.process(entry{pid: 10, ppid: 1, comm: name[:min(15, len(name))], start: 5, cwd: "/", exe: words[0], cmdline: strings.Join(words, "\x00") + "\x00"})
		got := f.all(processes.Options{Markers: []string{"A"}, Daemons: vendors})
		if is := orAbsent(got["process:10@5"].Daemon); is != want {
			t.Errorf("%q is %q, want %q", line, is, want)
		}
	}
}

// TestAPromptIsOneWord: what a person types is one argument, with any text.
func TestAPromptIsOneWord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.process(entry{pid: 10, ppid: 1, comm: "codex", start: 5, cwd: "/", exe: "/x/codex", cmdline: "codex\x00app-server --managed-daemon\x00"})
	f.process(entry{pid: 11, ppid: 1, comm: "codex", start: 5, cwd: "/", exe: "/x/codex"})
	if err := os.Remove(filepath.Join(f.root, "11/cmdline")); err != nil {
		t.Fatal(err)
	}
	got := f.all(processes.Options{Markers: []string{"A"}, Daemons: vendors})
	if is := orAbsent(got["process:10@5"].Daemon); is != "" {
		t.Errorf("a prompt is the daemon %q", is)
	}
	if is := orAbsent(got["process:11@5"].Daemon); is != "absent" {
		t.Errorf("a command line that cannot be read is the daemon %q", is)
	}
}

// TestADaemonHoldsNoFolderThatItWasStartedIn, with real processes: by where it works, and by a folder that its command line names. What it
// has open there is in use, and any other process of the same program holds the folder.
func TestADaemonHoldsNoFolderThatItWasStartedIn(t *testing.T) {
	t.Parallel()
	base := realTemp(t)
	at := func(name string) string { return files.Folder(t, base, name) }
	started, named, opened, worked := at("started"), at("named"), at("opened"), at("worked")
	notes := filepath.Join(opened, "notes")
	files.Write(t, notes, "")
	program := filepath.Join(base, "bin", "codex")
	executable.Copy(t, os.Args[0], program)
	as := func(dir string, open ...*os.File) func(*exec.Cmd) {
		return func(c *exec.Cmd) { c.Dir, c.Path, c.ExtraFiles = dir, program, open }
	}
	file, err := os.Open(notes)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	start(t, "idle", as(started), "app-server", "--cwd", named, "--managed-daemon")
	holding := start(t, "idle", as("/", file), "app-server", "--managed-daemon")
	agent := start(t, "idle", as(worked), "exec", "app-server", "--managed-daemon")

	for _, thorough := range []bool{false, true} {
		held, _ := ask(t, processes.HolderOptions{Root: "/proc", Daemons: vendors, Thorough: thorough}, started, named, opened, worked)
		if len(held[started]) > 0 || len(held[named]) > 0 {
			t.Errorf("thorough %v: a daemon holds where it was started: %v, or what its command line names: %v", thorough, held[started], held[named])
		}
		if !holds(held[opened], holding.Process.Pid) {
			t.Errorf("thorough %v: a daemon's open file has no holder: %v", thorough, held[opened])
		}
		if !holds(held[worked], agent.Process.Pid) {
			t.Errorf("thorough %v: an agent does not hold where it works: %v", thorough, held[worked])
		}
	}
	// Without the list it is an agent like any other.
	if held, _ := holders(t, []string{started}); len(held[started]) != 1 {
		t.Errorf("%v", held)
	}
}

func holds(list []snapshot.Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h snapshot.Holder) bool { return h.PID == pid })
}
