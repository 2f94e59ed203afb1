package panes

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestPlansThatAreNotTheActsOwn holds that nothing outside of the act's own folder is read or removed.
func TestPlansThatAreNotTheActsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	precious, trash := filepath.Join(dir, "precious", "pane-0.txt"), filepath.Join(dir, "trash")
	err := errors.Join(os.Mkdir(filepath.Dir(precious), 0o700), os.WriteFile(precious, []byte("work"), 0o600), os.Mkdir(trash, 0o700),
		os.Symlink(filepath.Dir(precious), filepath.Join(trash, "link")))
	must.Do(t, err)
	plan := func(act, socket string, files ...string) []byte {
		p := map[string]any{"act": act, "socket": socket}
		var panes []map[string]string
		for _, f := range files {
			panes = append(panes, map[string]string{"file": f})
		}
		p["panes"] = panes
		text, _ := json.Marshal(p)
		return text
	}
	whole := plan("a", "/s", "pane-0.txt", "pane-1.txt")
	if k, err := ReadPlan(trash, decision.Intent{ID: "a", Plan: whole}, &struct{}{}); err != nil || k != (Kept{trash, "a", 2}) {
		t.Errorf("%+v %v", k, err)
	}
	for name, in := range map[string]decision.Intent{
		"another act's":            {ID: "a", Plan: plan("b", "/s", "pane-0.txt")},
		"out of the trash":         {ID: "../precious", Plan: plan("../precious", "/s", "pane-0.txt")},
		"the trash's parent":       {ID: "..", Plan: plan("..", "/s", "pane-0.txt")},
		"a relative socket":        {ID: "a", Plan: plan("a", "s", "pane-0.txt")},
		"no panes":                 {ID: "a", Plan: plan("a", "/s")},
		"another file":             {ID: "a", Plan: plan("a", "/s", "pane-0.txt", "../x")},
		"a file out of the folder": {ID: "a", Plan: plan("a", "/s", "../../precious/pane-0.txt")},
		"an empty plan":            {ID: "a", Plan: []byte(`{}`)},
		"no plan":                  {ID: "a"},
	} {
		if _, err := ReadPlan(trash, in, &struct{}{}); err == nil || in.Plan != nil && (!errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "nothing was touched")) {
			t.Errorf("%s: %v", name, err)
		}
		if freed, err := (Base{actuators.Options{Trash: trash}}).Purge(t.Context(), in); err == nil || freed != 0 {
			t.Errorf("%s: freed %d, %v", name, freed, err)
		}
	}
	if freed, err := (Base{actuators.Options{Trash: trash}}).Purge(t.Context(), decision.Intent{ID: "link", Plan: plan("link", "/s", "pane-0.txt")}); err == nil || freed != 0 {
		t.Errorf("through a link: freed %d, %v", freed, err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "work" {
		t.Errorf("what lies outside of the trash: %q, %v", text, err)
	}
}

// TestPurgeRemovesWhatTheActMade leaves a file that the act did not make.
func TestPurgeRemovesWhatTheActMade(t *testing.T) {
	t.Parallel()
	k := Kept{Trash: filepath.Join(t.TempDir(), "trash"), Act: "a", Panes: 1}
	write := func(f *os.File) error { _, err := f.WriteString("text"); return err }
	must.Do(t, k.Save("plan", func(w Writer) error { return w(File(0), write) }))
	folder := filepath.Join(k.Trash, "a")
	var size int64
	for _, name := range []string{"pane-0.txt", Manifest} {
		st := must.Get(os.Lstat(filepath.Join(folder, name)))(t)
		size += st.Size()
	}
	stranger := filepath.Join(folder, "stranger")
	must.Do(t, os.WriteFile(stranger, []byte("kept"), 0o600))
	in := decision.Intent{ID: "a", Plan: []byte(`{"act":"a","socket":"/s","panes":[{"file":"pane-0.txt"}]}`)}
	if freed, err := (Base{actuators.Options{Trash: k.Trash}}).Purge(t.Context(), in); !errors.Is(err, syscall.ENOTEMPTY) || freed != size {
		t.Errorf("freed %d of %d, and said of what it did not make: %v", freed, size, err)
	}
	if err := os.Remove(stranger); err != nil {
		t.Fatalf("a file that the act did not make: %v", err)
	}
	for range 2 { // what no longer exists is not an error
		if freed, err := (Base{actuators.Options{Trash: k.Trash}}).Purge(t.Context(), in); err != nil || freed != 0 {
			t.Errorf("freed %d, %v", freed, err)
		}
	}
	if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the act's folder: %v", err)
	}
}

// TestPurgeTakesFilesOnly has something else lie under a name of the act's.
func TestPurgeTakesFilesOnly(t *testing.T) {
	t.Parallel()
	k := Kept{Trash: t.TempDir(), Act: "a", Panes: 1}
	path := filepath.Join(k.Trash, "a", File(0))
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o700))
	must.Do(t, os.Symlink("elsewhere", path))
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
	must.Do(t, k.Save(nil, once))
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
	must.Do(t, c.Start())
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	h := must.Get(procact.Hold("/proc", c.Process.Pid))(t)
	defer h.Close()
	b := Burial{Within: time.Millisecond, TermGrace: time.Millisecond, Step: func(string) {}, Log: hclog.NewNullLogger(),
		Never: actuators.NeverProcess{UID: os.Geteuid(), Self: []int{h.PID}}}
	out := b.Bury(t.Context(), []*procact.Held{h})
	if out.Outcome != decision.Done || out.Freed.RSS != 0 || !strings.Contains(out.Detail, "0 of its 1 process") || !strings.Contains(out.Detail, "was left") {
		t.Errorf("%+v", out)
	}
	if h.Ended() {
		t.Error("it was ended")
	}
}
