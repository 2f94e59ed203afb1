package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// child is how a test lets this very binary carry out an act, to kill it on its way.
type child struct {
	Decision decision.Decision
	Identity decision.Identity
	Trash    string
	Stop     string // the step at which it kills itself
}

const childFile = "WINNOW_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(carry(path))
	}
	machine.Alone()
	os.Exit(m.Run())
}

// carry is the child's part: it writes the intent beside its orders, as the ledger would, and acts.
func carry(path string) int {
	var c child
	text, err := os.ReadFile(path)
	if err = errors.Join(err, json.Unmarshal(text, &c)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	c.Decision.Identity = c.Identity
	a := New(Options{Trash: c.Trash, Never: actuators.NeverProcess{UID: os.Geteuid()}, Step: func(step string) {
		if step == c.Stop {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	ctx := context.Background()
	h, err := a.Hold(ctx, act, c.Decision)
	if err == nil {
		var line []byte
		line, err = json.Marshal(intent(h, c.Decision))
		err = errors.Join(err, os.WriteFile(path+".intent", line, 0o600))
	}
	if err == nil {
		err = h.Save(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	var in decision.Intent
	line, err := os.ReadFile(path + ".intent")
	if err = errors.Join(err, json.Unmarshal(line, &in)); err != nil {
		return 5
	}
	fmt.Fprintln(os.Stderr, h.Act(ctx, in))
	return 0
}

// TestKilledAtEveryStep kills the sweep, and has the next one find out what came of the act.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for step, c := range map[string]struct {
		want   string
		closed bool
	}{StepSave: {decision.Failed, false}, StepCheck: {decision.Failed, false}, StepClose: {decision.Failed, false}, StepReadBack: {decision.Done, true}} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, editor.Options{}, dead)
			a := actuator(t, Options{})
			if c.closed {
				w.w.Expect("terminal.dispose", "2")
			}
			d := w.decision()
			path := filepath.Join(t.TempDir(), "orders")
			must.Do(t, os.WriteFile(path, must.Get(json.Marshal(child{d, d.Identity, a.Trash, step}))(t), 0o600))
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childFile+"="+path)
			said, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", err, said)
			}
			var in decision.Intent
			must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path+".intent"))(t), &in))
			out := a.Settle(t.Context(), in)
			must.Equal(t, c.want, out.Outcome, "outcome: %s", out.Detail)
			must.Equal(t, false, out.Open, "open")
			must.Equal(t, c.closed, len(w.w.Tabs()) == 1, "the tab is closed")
			must.Equal(t, c.closed, out.RestoreUntil != nil, "it can be opened again")
			if !c.closed {
				wantNothingSaved(t, a)
			}
			for _, e := range must.Get(os.ReadDir(w.w.Dir()))(t) {
				if strings.HasSuffix(e.Name(), ".proof") {
					t.Errorf("a proof is left: %s", e.Name())
				}
			}
		})
	}
}

func TestSettleWhatIsNotAnActsOwn(t *testing.T) {
	t.Parallel()
	out := actuator(t, Options{}).Settle(t.Context(), decision.Intent{ID: act, Candidate: "tab:vscode/0a0b0c0d/1"})
	if out.Outcome != decision.Refused || out.Open || !strings.Contains(out.Detail, "is not known") {
		t.Errorf("%+v", out)
	}
}

// gone closes the tab, and gives what a restore needs.
func (w *world) gone(a *Actuator) decision.Intent {
	w.t.Helper()
	w.w.Expect("terminal.dispose", "2")
	out, in := attempt(w.t.Context(), a, w.decision(), w.decision)
	must.Equal(w.t, decision.Done, out.Outcome, "outcome: %s", out.Detail)
	return in
}

func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tab := dead
	tab.Cwd = dir
	w := fresh(t, editor.Options{}, tab)
	a := actuator(t, Options{})
	in := w.gone(a)
	w.w.Expect("terminal.open", tab.Name)
	said := must.Get(a.Restore(t.Context(), in))(t).Where
	must.Equal(t, fmt.Sprintf("terminal 3 (%q) of window %s has a new shell in %s; what it showed was not kept, and what ran there (sh) is not run again", tab.Name, w.w.ID(), dir), said, "text")
	must.Equal(t, []int{1, 3}, w.w.Tabs(), "tabs")
	must.Equal(t, dir, w.w.Tab(3).Cwd, "folder")
}

// TestRestoreInAnotherWindow has the tab's window loaded again, or another one that has its folder open.
func TestRestoreInAnotherWindow(t *testing.T) {
	t.Parallel()
	base := must.Get(os.MkdirTemp("", "run"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	acme := filepath.Join(base, "acme")
	below := filepath.Join(acme, ".builders", "x")
	must.Do(t, os.MkdirAll(below, 0o700))
	for i, c := range map[string]struct {
		folders, other []string
		cwd            string
		opens          bool
	}{
		"it has the folder open": {[]string{acme}, []string{"/", acme}, "", true}, "the tab's folder": {nil, []string{below}, below, true}, "a folder above it": {nil, []string{acme}, below, true},
		"another folder": {[]string{acme}, []string{acme + "x"}, acme, false}, "no folder": {[]string{acme}, nil, acme, false}, "a folder whose name begins so": {nil, []string{filepath.Join(base, "ac")}, acme, false}, "a folder below": {nil, []string{below}, acme, false},
	} {
		run := must.Get(os.MkdirTemp(base, "r"))(t)
		tab := drawn
		tab.Cwd = c.cwd
		w := fresh(t, editor.Options{Folders: c.folders}, tab)
		other := editor.Start(t, editor.Options{Dir: filepath.Join(run, "winnow", "editors"), Folders: c.other})
		a := actuator(t, Options{Env: func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": run}[name] }})
		in := w.gone(a)
		w.w.Vanish(true)
		if c.opens {
			other.Expect("terminal.open", tab.Name)
		}
		said, err := a.Restore(t.Context(), in)
		must.Equal(t, c.opens, err == nil, "%s: opened: %v", i, err)
		must.Equal(t, c.opens, len(other.Tabs()) == 1, "%s: the other window has it", i)
		if c.opens && !strings.Contains(said.Where, "no longer exists") || !c.opens && !strings.Contains(err.Error(), "nothing was opened: open ") {
			t.Errorf("%s: %q, %v", i, said.Where, err)
		}
	}
}

func TestRestoreThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*world, *Actuator, string)
		says  string
	}{
		"the folder is missing": {func(_ *world, _ *Actuator, dir string) { _ = os.Remove(dir) }, "is missing; nothing was opened: make that folder"},
		"the folder is a file":  {func(_ *world, _ *Actuator, dir string) { _ = os.Remove(dir); _ = os.WriteFile(dir, nil, 0o600) }, "is missing; nothing was opened"},
		"nothing is saved":      {func(_ *world, a *Actuator, _ string) { _ = os.RemoveAll(a.Trash) }, "no longer in the trash; nothing was opened"},
		"a folder was put there": {func(_ *world, a *Actuator, _ string) {
			m := filepath.Join(a.Trash, act, panes.Manifest)
			_ = os.Remove(m)
			_ = os.Mkdir(m, 0o700)
		}, "is not a file; nothing was opened"},
		"its window is silent": {func(w *world, _ *Actuator, _ string) { w.w.Fault(at("hello", editor.CloseWithoutReply)) }, "nothing was opened: try again"},
		"its window refuses": {func(w *world, _ *Actuator, _ string) {
			w.w.Fault(at("terminal.open", editor.ErrorReply("refused", "not now")))
		}, "not now\"; nothing was opened"},
		"no answer comes": {func(w *world, _ *Actuator, _ string) { w.w.Fault(at("terminal.open", editor.LostReply)) }, "whether it was opened is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "work")
			must.Do(t, os.Mkdir(dir, 0o700))
			tab := drawn
			tab.Cwd = dir
			w := fresh(t, editor.Options{}, tab)
			a := actuator(t, Options{})
			in := w.gone(a)
			c.spoil(w, a, dir)
			w.w.Expect("terminal.open", tab.Name)
			said, err := a.Restore(t.Context(), in)
			if err == nil || said.Where != "" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v", said.Where, err)
			}
		})
	}
	if _, err := actuator(t, Options{}).Restore(t.Context(), decision.Intent{ID: act, Plan: []byte(`{"act":"other","socket":"/s","window":"0a0b0c0d"}`)}); err == nil {
		t.Error("the plan of another act is taken")
	}
}

// TestCalled gives a new terminal a name also where the old one had none.
func TestCalled(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]plan{"now": {Name: "now", CreationName: "then"}, "then": {CreationName: "then", Program: "sh"}, "sh": {Program: "sh"}, "terminal": {}} {
		must.Equal(t, want, p.called(), "name")
	}
}

// TestNothingIsSavedTwice has what another act of that id saved lie there.
func TestNothingIsSavedTwice(t *testing.T) {
	t.Parallel()
	w := fresh(t, editor.Options{}, drawn)
	a := actuator(t, Options{})
	precious := filepath.Join(a.Trash, act, "precious")
	must.Do(t, os.MkdirAll(filepath.Dir(precious), 0o700))
	must.Do(t, os.WriteFile(precious, nil, 0o600))
	out, _ := attempt(t.Context(), a, w.decision(), w.decision)
	must.Equal(t, decision.Refused, out.Outcome, "outcome: %s", out.Detail)
	must.Equal(t, 0, len(w.w.Mutations()), "requests that change something")
	_ = must.Get(os.Lstat(precious))(t)
}
