package herdr

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors"
	seen "github.com/winnow-reaper/winnow/collectors/panes/herdr"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/judge"
)

const act = judge.Act

// sessionJudge is the real one, of tabs.
type sessionJudge struct {
	*judge.Judge
	env func(string) string
}

func (w *world) judge() *sessionJudge {
	w.t.Helper()
	j := &sessionJudge{}
	j.Judge = judge.New(w.t, snapshot.KindTab, judge.Shipped,
		func(only []string) ([]collectors.Source, error) {
			return seen.Sources(seen.Options{Sockets: []string{w.s.Socket()}, UID: os.Geteuid(), Env: j.env, Only: only, Inspect: func(string) bool { return true }})
		},
		func(d decision.Decision) string { return d.Identity.Tab.ID })
	j.Rules.HelperLabels = subject.Names{Exact: []string{label}}
	return j
}

// id is what the server's source calls a tab.
func (j *sessionJudge) id(tab string) string {
	j.T.Helper()
	sources, err := j.Sources([]string{tab})
	if err != nil || len(sources) != 1 {
		j.T.Fatal(len(sources), err)
	}
	return seen.ID(sources[0].Name, tab)
}

// judged is the decision to reap a tab.
func (w *world) judged(tab string) decision.Decision {
	w.t.Helper()
	w.wait(tab)
	j := w.judge()
	return j.Until(decision.Reap, j.id(tab), tab)
}

// decided is what is decided of a tab whose shells wait for input.
func (w *world) decided(j *sessionJudge, tab string) decision.Decision {
	w.t.Helper()
	w.wait(tab)
	d, err := j.One(w.t.Context(), j.id(tab), tab)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// wait waits until a tab's shells wait for input.
func (w *world) wait(tab string) {
	w.t.Helper()
	for _, p := range w.s.Panes(tab) {
		if p.PID > 0 {
			settled(w.t, p.PID)
		}
	}
	for _, sh := range w.shells {
		settled(w.t, sh.pid)
	}
}

func objections(d decision.Decision) string {
	var out []string
	for _, o := range d.Objections {
		out = append(out, fmt.Sprintf("%s: %s %v", o.Rule, o.Message, o.Evidence))
	}
	return fmt.Sprintf("%s %s: %s", d.ID, d.Verdict, strings.Join(out, "; "))
}

// TestWindow has a tab get another name, or a key in its shell, in the last moments of an act.
func TestWindow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *world, *decision.Tab){
		"its name": func(_ *testing.T, w *world, d *decision.Tab) { w.s.Rename(d.ID, "mine") },
		"a key": func(t *testing.T, w *world, d *decision.Tab) {
			awake(t, d.Panes[0].PID, func(text string) { w.s.Type(d.Panes[0].ID, text) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge.Window(t, func(t *testing.T) judge.Trial {
				w := fresh(t, herdr.Options{})
				d := w.judged(w.husk)
				if strings.HasSuffix(t.Name(), "nothing_changes") {
					w.s.Expect("tab.close", w.husk)
				}
				return judge.Trial{Judge: w.judge().Judge, Actuator: actuator(t, Options{}), Decision: d,
					Change: func() { change(t, w, d.Identity.Tab) }, There: func() bool { return w.s.HasTab(w.husk) }}
			})
		})
	}
}
