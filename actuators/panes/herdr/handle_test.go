package herdr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestHoldPlansEveryNameAndPlace(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{}, herdr.Pane{Dir: "/"}, herdr.Pane{Dir: "/tmp"})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	g := holdTab(t, a, d)
	var got plan
	must.Do(t, json.Unmarshal(g.Plan(), &got))
	want := plan{Act: act, Socket: w.s.Socket(), ServerPID: os.Getpid(), Tab: w.husk, Workspace: w.work, Label: label, Folder: filepath.Join(a.Trash, act)}
	live := w.s.Panes(w.husk)
	slices.SortFunc(live, func(a, b herdr.PaneState) int { return strings.Compare(a.Terminal, b.Terminal) })
	for i, p := range live {
		want.Panes = append(want.Panes, planned{ID: p.ID, Terminal: p.Terminal, File: []string{"pane-0.txt", "pane-1.txt"}[i], Cwd: map[bool]string{true: "/", false: "/tmp"}[p.ID == w.s.Panes(w.husk)[0].ID],
			Members: []panes.Member{{PID: p.PID, StartTicks: settled(t, p.PID)}}})
	}
	must.Equal(t, want, got, "plan")
	if _, err := panes.ReadPlan(a.Trash, intent(g, d), &plan{}); err != nil {
		t.Errorf("its own plan is refused: %v", err)
	}
	w.wantUntouched(a)
}

// TestNoIdIsSentThatIsNotExactlyOne has ids that herdr itself takes for a tab or a pane by its place.
func TestNoIdIsSentThatIsNotExactlyOne(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	whole := w.judged(w.husk)
	for _, id := range []string{"", "1", "w2", "w_2", "w2:2", "2:2", "t_2_2", "w2:t", "w2:t2 ", " w2:t2", "w2:t2\n", "w2:tI", "w2:t2:t2", "w1:t2", "W2:t2", "w2:T2", "w2:p2", "2-2"} {
		d := clone(t, whole)
		d.Identity.Tab.ID = id
		wantRefused(t, w, d)
	}
	for _, id := range []string{"", "1-1", "w2-2", "p_2", "w2:2", "w2:t2", "w2:p", "w2:p2\n", "w2:pO"} {
		d := clone(t, whole)
		d.Identity.Tab.Panes[0].ID = id
		wantRefused(t, w, d)
	}
	for _, id := range []string{"", "2", "w_2", "w1", "w2 ", "w2\n"} {
		d := clone(t, whole)
		d.Identity.Tab.Workspace = id
		wantRefused(t, w, d)
	}
}

// wantRefused checks that a decision is refused before anything is asked.
func wantRefused(t *testing.T, w *world, d decision.Decision) {
	t.Helper()
	before := len(w.s.Calls())
	a := actuator(t, Options{})
	_, err := a.Hold(t.Context(), act, d)
	judge.WantErr(t, actuators.ErrRefused, err)
	if n := len(w.s.Calls()) - before; n > 0 {
		t.Errorf("%+v: %d requests", d.Identity.Tab, n)
	}
	w.wantUntouched(a)
}

func clone(t *testing.T, d decision.Decision) decision.Decision {
	t.Helper()
	text := must.Get(json.Marshal(d.Identity))(t)
	d.Identity = decision.Identity{}
	must.Do(t, json.Unmarshal(text, &d.Identity))
	return d
}

func TestHoldRefusesWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{}, herdr.Pane{}, herdr.Pane{})
	whole := w.judged(w.husk)
	for name, change := range map[string]func(*decision.Tab){
		"no socket":                  func(d *decision.Tab) { d.Socket = "" },
		"a relative socket":          func(d *decision.Tab) { d.Socket = "s" },
		"no panes":                   func(d *decision.Tab) { d.Panes = nil },
		"no terminal":                func(d *decision.Tab) { d.Panes[0].Terminal = "" },
		"one terminal twice":         func(d *decision.Tab) { d.Panes[0].Terminal = d.Panes[1].Terminal },
		"one pane twice":             func(d *decision.Tab) { d.Panes[0].ID = d.Panes[1].ID },
		"one shell twice":            func(d *decision.Tab) { d.Panes[0].PID = d.Panes[1].PID },
		"no shell":                   func(d *decision.Tab) { d.Panes[0].PID = 0 },
		"no start":                   func(d *decision.Tab) { d.Panes[0].StartTicks = 0 },
		"no members":                 func(d *decision.Tab) { d.Panes[0].Members = nil },
		"members without the shell":  func(d *decision.Tab) { d.Panes[0].Members = []int{os.Getpid()} },
		"a member that is pid 1":     func(d *decision.Tab) { d.Panes[0].Members = append(d.Panes[0].Members, 1) },
		"a member that is no pid":    func(d *decision.Tab) { d.Panes[0].Members = append(d.Panes[0].Members, -1) },
		"a member that is a group's": func(d *decision.Tab) { d.Panes[0].Members = append(d.Panes[0].Members, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			d := clone(t, whole)
			change(d.Identity.Tab)
			wantRefused(t, w, d)
		})
	}
	// What herdr takes besides the ids that it writes.
	for _, id := range []string{"1:t1", "w_1:t2", "w1:+2", "+1:2", "w2:+t1", "2:t1", "w2:1", "t_2_1"} {
		d := clone(t, whole)
		d.Identity.Tab.ID = id
		wantRefused(t, w, d)
	}
	for _, id := range []string{"1:p1", "w_1:p1", "w1:+p1", "1-1", "w1-1", "p_1", "w2:p+1"} {
		d := clone(t, whole)
		d.Identity.Tab.Panes[0].ID = id
		wantRefused(t, w, d)
	}
	for _, id := range []string{"1", "w_1", "+1", "w+1"} {
		d := clone(t, whole)
		d.Identity.Tab.Workspace, d.Identity.Tab.ID = id, id+":t1"
		wantRefused(t, w, d)
	}
	wantRefused(t, w, decision.Decision{ID: "tab:herdr/default/w1:t1"})
	for _, id := range []string{"", "..", "../x", "a/b", "a\n"} {
		a := actuator(t, Options{})
		_, err := a.Hold(t.Context(), id, whole)
		judge.WantErr(t, actuators.ErrRefused, err)
	}
}

func TestActRefusesAnotherTabThanTheJudgedOne(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	whole := w.judged(w.husk)
	for _, c := range []struct {
		name   string
		change func(*decision.Tab)
		want   string
		word   string
	}{
		{"another terminal", func(d *decision.Tab) { d.Panes[0].Terminal = "term_0" }, decision.Changed, "another terminal"},
		{"another pane", func(d *decision.Tab) { d.Panes[0].ID = "w2:p9" }, decision.Changed, "another terminal"},
		{"another shell", func(d *decision.Tab) { d.Panes[0].PID++ }, decision.Changed, "shell"},
		{"another start", func(d *decision.Tab) { d.Panes[0].StartTicks++ }, decision.Changed, "shell"},
		{"a pane more", func(d *decision.Tab) { d.Panes = append(d.Panes, d.Panes[0]) }, decision.Changed, "other panes"},
		{"another server", func(d *decision.Tab) { d.ServerPID++ }, decision.Changed, "another server"},
		{"another state", func(d *decision.Tab) { d.State += "\nx" }, decision.Changed, "says now: nothing"},
		{"no state", func(d *decision.Tab) { d.State = "" }, decision.Refused, "not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := actuator(t, Options{})
			h := holdTab(t, a, whole)
			must.Do(t, h.Save(t.Context()))
			last := clone(t, whole)
			c.change(last.Identity.Tab)
			judge.WantOutcome(t, c.want, h.Act(t.Context(), intent(h, last)), c.word)
			_ = h.Close()
			w.wantUntouched(a)
		})
	}
	for _, c := range []struct {
		name   string
		change func(*decision.Tab)
		want   error
		word   string
	}{
		{"another start", func(d *decision.Tab) { d.Panes[0].StartTicks++ }, actuators.ErrChanged, "no longer the first process"},
		{"a server that is not known", func(d *decision.Tab) { d.ServerPID = 0 }, actuators.ErrRefused, "pid namespace"},
		{"a tab that is not there", func(d *decision.Tab) { d.ID, d.Panes[0].Terminal, d.Panes[0].StartTicks = "w2:t9", "term_0", 1 }, actuators.ErrGone, "no longer exists"},
	} {
		d := clone(t, whole)
		c.change(d.Identity.Tab)
		_, err := actuator(t, Options{}).Hold(t.Context(), act, d)
		judge.WantErr(t, c.want, err, c.word)
	}
}

func TestHoldRefusesTheFloor(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	d := w.judged(w.husk)
	shell := d.Identity.Tab.Panes[0].PID
	for _, c := range []struct {
		name    string
		options Options
		word    string // nothing where it is not refused
	}{
		{"Winnow runs in it", Options{Never: actuators.NeverProcess{Self: []int{os.Getpid(), shell}}}, "Winnow"},
		{"it inherits orphans", Options{Never: actuators.NeverProcess{OrphanParents: []int{shell}}}, "orphans"},
		{"it is a multiplexer", Options{Never: actuators.NeverProcess{Multiplexers: []string{"s*"}}}, "multiplexer"},
		{"it is never signalled", Options{Never: actuators.NeverProcess{Names: []string{"sh"}}}, "never"},
		{"nothing speaks against it", Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := actuator(t, c.options)
			h, err := a.Hold(t.Context(), act, d)
			if c.word == "" {
				must.Do(t, err)
				_ = h.Close()
			} else if err == nil || !strings.Contains(err.Error(), c.word) {
				t.Errorf("want it refused for %q: %v", c.word, err)
			}
			w.wantUntouched(a)
		})
	}
}

// ruled is what is done with a tab that a rule would keep, or give away: by the shipped rules, without one of them, and with one more.
type ruled struct {
	name string
	o    herdr.Options
	make func(*testing.T, *world) (tab string) // nil is the husk
	// rules changes what the policies are given.
	rules func(*world, *sessionJudge)
	// objection is of the shipped rules; "" where they let it go. Without it, it is carried out.
	objection string
}

// askedFor is a tab that herdr closes only after a question to its user.
const askedFor = "the last tab of a group's main checkout"

var main = herdr.Worktree{RepoKey: "r", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}

func checkout(o herdr.Options, linked bool, others ...herdr.Worktree) ruled {
	return ruled{o: o, make: func(_ *testing.T, w *world) string {
		for _, other := range others {
			w.s.Tab(w.s.Workspace("other", other), "", quiet)
		}
		own := main
		own.Linked = linked
		work := w.s.Workspace("checkout", own)
		w.s.Tab(work, "keep", quiet)
		return w.s.Tab(work, label)
	}}
}

func (r ruled) called(name, objection string) ruled {
	r.name, r.objection = name, objection
	return r
}

func inside(pairs ...string) func(*world, *sessionJudge) {
	return func(w *world, j *sessionJudge) {
		j.env = func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return strings.NewReplacer("SOCKET", w.s.Socket(), "OWN", w.s.Panes(w.husk)[0].ID, "KEEP", w.s.Panes(w.keep)[0].ID).Replace(pairs[i+1])
				}
			}
			return ""
		}
	}
}

var (
	linked = herdr.Worktree{RepoKey: "r", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r2", Linked: true}
	other  = herdr.Worktree{RepoKey: "other", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}
	last   = func(_ *testing.T, w *world) string { return w.s.Tab(w.s.Workspace("alone"), label) }
)

var rulings = []ruled{
	{name: "nothing speaks against it"},
	{name: "it has the focus", make: func(_ *testing.T, w *world) string { w.s.Focus(w.husk); return w.husk }, objection: "protect.attached"},
	{name: "the last tab", make: last, objection: "protect.workspace"},
	{name: "the last tab of an old server", o: herdr.Options{Profile: herdr.V071}, make: last, objection: "protect.workspace"},
	checkout(herdr.Options{ConfirmCloseOff: true}, false, linked).called("a group's main checkout", "protect.workspace"),
	checkout(herdr.Options{Profile: herdr.V071}, false, linked).called("a group's main checkout, of an old server", "protect.workspace"),
	{name: askedFor, make: func(_ *testing.T, w *world) string {
		w.s.Tab(w.s.Workspace("other", linked), "", quiet)
		return w.s.Tab(w.s.Workspace("checkout", main), label)
	}, objection: "protect.workspace"},
	checkout(herdr.Options{}, true, main).called("a group's worktree", ""),
	checkout(herdr.Options{}, false, other).called("a main checkout alone", ""),
	{name: "a protocol that was not tried", rules: func(_ *world, j *sessionJudge) { j.Rules.HerdrProtocols = []int{17, 18} }, objection: "protect.untested_protocol"},
	{name: "a server to come", o: herdr.Options{Profile: herdr.Future}, objection: "protect.untested_protocol"},
	{name: "no status is idle", rules: func(_ *world, j *sessionJudge) { j.Rules.AgentIdle = []string{} }, objection: "protect.live"},
	{name: "an agent is in it", make: func(_ *testing.T, w *world) string { w.s.SetStatus(w.s.Panes(w.husk)[0].ID, "working"); return w.husk }, objection: "protect.live"},
	{name: "its pane is ours", rules: inside("HERDR_ENV", "1", "HERDR_SOCKET_PATH", "SOCKET", "HERDR_PANE_ID", "OWN"), objection: "protect.winnow"},
	{name: "our pane is nowhere", rules: inside("HERDR_SOCKET_PATH", "SOCKET", "HERDR_PANE_ID", "w2:p9"), objection: "protect.winnow"},
	{name: "our pane is no id", rules: inside("HERDR_SOCKET_PATH", "SOCKET", "HERDR_PANE_ID", "1-1"), objection: "protect.winnow"},
	{name: "our pane is not named", rules: inside("HERDR_ENV", "1", "HERDR_SOCKET_PATH", "SOCKET"), objection: "protect.winnow"},
	{name: "on a socket that is not named", rules: inside("HERDR_PANE_ID", "OWN"), objection: "protect.winnow"},
	{name: "our pane is another", rules: inside("HERDR_SOCKET_PATH", "SOCKET", "HERDR_PANE_ID", "KEEP")},
	{name: "our pane is on another server", rules: inside("HERDR_SOCKET_PATH", "SOCKETx", "HERDR_PANE_ID", "OWN")},
	{name: "only a server is chosen", rules: inside("HERDR_SOCKET_PATH", "SOCKET")},
}

// TestOnlyThePoliciesJudge has tabs that the actuator itself once refused: they are kept by the rule that says so and by nothing else,
// and carried out by an operator's policies that lack it.
func TestOnlyThePoliciesJudge(t *testing.T) {
	t.Parallel()
	for _, c := range rulings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := fresh(t, c.o)
			tab := w.husk
			if c.make != nil {
				tab = c.make(t, w)
			}
			j := w.judge()
			if c.rules != nil {
				c.rules(w, j)
			}
			d := w.decided(j, tab)
			for _, o := range d.Objections {
				if o.Rule != c.objection {
					t.Errorf("kept by another rule than %q: %s", c.objection, objections(d))
				}
			}
			if kept := d.Verdict != decision.Reap; kept != (c.objection != "") || len(d.Findings) == 0 {
				t.Fatalf("want the objection %q: %s", c.objection, objections(d))
			}
			a := actuator(t, Options{})
			if c.objection != "" {
				wanted := d
				wanted.Verdict = decision.Reap // as an earlier look may have found
				judge.WantOutcome(t, decision.Changed, j.Carry(t.Context(), a, wanted), "must stay")
				w.wantUntouched(a)
				if n := w.s.Dialogs(); n > 0 {
					t.Errorf("the user was asked %d times", n)
				}
				j.Without([]string{strings.ReplaceAll(c.objection, ".", "/")}, nil)
				if d = w.decided(j, tab); d.Verdict != decision.Reap {
					t.Fatalf("without the rule: %s", objections(d))
				}
			} else {
				j.Without(nil, map[string]string{"protect/mine/mine.rego": strictly})
				judge.WantOutcome(t, decision.Changed, j.Carry(t.Context(), a, d), "mine keeps it")
				w.wantUntouched(a)
				j.By(judge.Shipped)
			}
			w.s.Expect("tab.close", tab)
			if c.o.Profile == herdr.V071 && c.name == "the last tab of an old server" { // which says no by itself
				judge.WantOutcome(t, decision.Refused, j.Carry(t.Context(), a, d), "last tab")
				return
			}
			if c.name == askedFor {
				judge.WantOutcome(t, decision.Failed, j.Carry(t.Context(), a, d), "IN A DIALOG NOW")
				return
			}
			judge.WantOutcome(t, decision.Done, j.Carry(t.Context(), a, d))
			if w.s.HasTab(tab) {
				t.Error("it is there still")
			}
		})
	}
}

// strictly is a rule that keeps every tab.
const strictly = `# METADATA
# title: Mine
# description: Keeps every tab.
package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "mine keeps it", "evidence": {}} if input.kind == "tab"
`

// TestARuleOfOnesOwn is about a tab that the shipped rules ignore, in which a command is in front.
func TestARuleOfOnesOwn(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	tab := w.s.Tab(w.work, "mine", herdr.Pane{Argv: []string{"sh", "-c", "sleep 1000; true"}})
	pid := w.s.Panes(tab)[0].PID
	wait.Eventually(t, "its command", func() bool { return hasChild(pid) })
	j := w.judge()
	if d := w.decided(j, tab); d.InScope {
		t.Fatalf("the shipped rules do not ignore it: %s", objections(d))
	}
	j.Without([]string{"protect/live"}, map[string]string{"reap/tabs/mine/mine.rego": `# METADATA
# title: Mine
# description: Takes the tabs that are called mine.
package policies.reap.tabs.mine

in_scope if input.tab.label == "mine"

findings contains {"rule": "reap.tabs.mine", "message": "it is mine", "evidence": {}} if in_scope
`})
	d := w.decided(j, tab)
	if d.Verdict != decision.Reap {
		t.Fatal(objections(d))
	}
	w.s.Expect("tab.close", tab)
	judge.WantOutcome(t, decision.Done, j.Carry(t.Context(), actuator(t, Options{}), d), "2 of its 2 processes")
}

// TestThePoliciesBelieveTheKernelAboutTheForeground has a server that says of a pane that its shell is in front, and a command that is.
func TestThePoliciesBelieveTheKernelAboutTheForeground(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	w := fresh(t, herdr.Options{}, sh.pane())
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	sh.typeIn(t, "sleep 1000\n")
	wait.Eventually(t, "a command in front", func() bool { return len(procs.SessionPIDs(sh.pid)) == 2 && procs.State(sh.pid) == 'S' })
	judge.WantOutcome(t, decision.Changed, w.judge().Carry(t.Context(), a, d), "must stay")
	w.wantUntouched(a)
}

// TestActSurvivesEveryFault lets each request go wrong in each way: it ends in time, and nothing is closed.
func TestActSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]herdr.Fault{
		"hangs": herdr.HangAfterAccept, "half a line": herdr.PartialLine, "garbage": herdr.Garbage, "no reply": herdr.LostReply,
		"an error": herdr.ErrorReply("server_unavailable", "later"), "wedged": herdr.Wedged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= 3; n++ {
				w := fresh(t, herdr.Options{})
				d := w.judged(w.husk)
				base := len(w.s.Calls())
				w.s.Fault(func(i int, _ herdr.Call) herdr.Fault {
					if i-base == n {
						return f
					}
					return herdr.Fault{}
				})
				a := actuator(t, Options{})
				a.patience = 100 * time.Millisecond
				judge.WantOutcome(t, decision.Refused, attempt(t, a, d))
				w.wantUntouched(a)
			}
		})
	}
}
