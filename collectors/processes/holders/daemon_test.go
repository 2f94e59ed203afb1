package holders_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/parts"
)

// vendors are daemons like those of config.yaml.
var vendors = []processes.Daemon{{Name: "server", Programs: []string{"codex"}, Args: []string{"app-server", "--managed-daemon"}}}

// TestADaemonHoldsNoFolderThatItWasStartedIn, with real processes: by where it works, and by a folder that its command line names. What it
// has open there is in use, and any other process of the same program holds the folder.
func TestADaemonHoldsNoFolderThatItWasStartedIn(t *testing.T) {
	t.Parallel()
	base := files.RealTemp(t)
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
	parts.Start(t, "idle", as(started), "app-server", "--cwd", named, "--managed-daemon")
	holding := parts.Start(t, "idle", as("/", file), "app-server", "--managed-daemon")
	agent := parts.Start(t, "idle", as(worked), "exec", "app-server", "--managed-daemon")

	for _, thorough := range []bool{false, true} {
		held, _ := ask(t, holders.Options{Root: "/proc", Daemons: vendors, Thorough: thorough}, started, named, opened, worked)
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
	if held, _ := look(t, []string{started}); len(held[started]) != 1 {
		t.Errorf("%v", held)
	}
}

func holds(list []snapshot.Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h snapshot.Holder) bool { return h.PID == pid })
}
