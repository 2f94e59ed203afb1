package processes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
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
		f := fakeproc.New(t)
		name := filepath.Base(words[0])
		f.Process(fakeproc.Entry{PID: 10, PPID: 1, Comm: name[:min(15, len(name))], Start: 5, Cwd: "/", Exe: words[0], Cmdline: strings.Join(words, "\x00") + "\x00"})
		got := all(t, f, processes.Options{Markers: []string{"A"}, Daemons: vendors})
		if is := orAbsent(got["process:10@5"].Daemon); is != want {
			t.Errorf("%q is %q, want %q", line, is, want)
		}
	}
}

// TestAPromptIsOneWord: what a person types is one argument, with any text.
func TestAPromptIsOneWord(t *testing.T) {
	t.Parallel()
	f := fakeproc.New(t)
	f.Process(fakeproc.Entry{PID: 10, PPID: 1, Comm: "codex", Start: 5, Cwd: "/", Exe: "/x/codex", Cmdline: "codex\x00app-server --managed-daemon\x00"})
	f.Process(fakeproc.Entry{PID: 11, PPID: 1, Comm: "codex", Start: 5, Cwd: "/", Exe: "/x/codex"})
	if err := os.Remove(filepath.Join(f.Path, "11/cmdline")); err != nil {
		t.Fatal(err)
	}
	got := all(t, f, processes.Options{Markers: []string{"A"}, Daemons: vendors})
	if is := orAbsent(got["process:10@5"].Daemon); is != "" {
		t.Errorf("a prompt is the daemon %q", is)
	}
	if is := orAbsent(got["process:11@5"].Daemon); is != "absent" {
		t.Errorf("a command line that cannot be read is the daemon %q", is)
	}
}
