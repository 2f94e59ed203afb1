package panes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"winnow/actuators"
	"winnow/engine/decision"
	procact "winnow/internal/proc/act"
)

func TestOwn(t *testing.T) {
	t.Parallel()
	if err := Own("a", "a", "/s", []string{"pane-0.txt", "pane-1.txt"}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another act's":     Own("a", "b", "/s", []string{"pane-0.txt"}),
		"out of the trash":  Own("../a", "../a", "/s", []string{"pane-0.txt"}),
		"a relative socket": Own("a", "a", "s", []string{"pane-0.txt"}),
		"no panes":          Own("a", "a", "/s", nil),
		"another file":      Own("a", "a", "/s", []string{"pane-0.txt", "../x"}),
	} {
		if !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "nothing was touched") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPurgeTakesFilesOnly has something else lie under a name of the act's.
func TestPurgeTakesFilesOnly(t *testing.T) {
	t.Parallel()
	k := Kept{Trash: t.TempDir(), Act: "a", Panes: 1}
	path := filepath.Join(k.Trash, "a", File(0))
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Purge(); err == nil || !strings.Contains(err.Error(), "it was left") {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

func TestSaveOverwritesNothing(t *testing.T) {
	t.Parallel()
	k := Kept{Trash: filepath.Join(t.TempDir(), "trash"), Act: "a", Panes: 1}
	nothing := func(*os.File) error { return nil }
	twice := func(write Writer) error { return errors.Join(write(File(0), nothing), write(File(0), nothing)) }
	if err := k.Save(nil, twice); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file was written twice: %v", err)
	}
	if left, err := os.ReadDir(k.Trash); err != nil || len(left) != 0 {
		t.Errorf("%v, %v is left after an error", left, err)
	}
	once := func(write Writer) error { return write(File(0), nothing) }
	if err := k.Save(nil, once); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(nil, once); !errors.Is(err, os.ErrExist) {
		t.Errorf("a folder was filled twice: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(k.Trash, "a", File(0))); err != nil {
		t.Error(err)
	}
}

// TestBuryAsksTheNeverListAgain buries a process that came onto the never-list after it was held.
func TestBuryAsksTheNeverListAgain(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	h, err := procact.Hold("/proc", c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	b := Burial{Within: time.Millisecond, TermGrace: time.Millisecond, Step: func(string) {}, Log: hclog.NewNullLogger(),
		Never: actuators.NeverProcess{UID: os.Geteuid(), Self: []int{h.PID}}}
	out := b.Bury(t.Context(), []*procact.Held{h})
	if out.Outcome != decision.Done || out.Freed.RSS != 0 || !strings.Contains(out.Detail, "0 of its 1 process") || !strings.Contains(out.Detail, "was left") {
		t.Errorf("%+v", out)
	}
	if h.Over() {
		t.Error("it was ended")
	}
}
