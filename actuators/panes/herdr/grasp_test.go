package herdr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/testkit/herdr"
)

func TestGraspPlansEveryNameAndPlace(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{}, herdr.Pane{Dir: "/"}, herdr.Pane{Dir: "/tmp"})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	g := grasped(t, a, d)
	var got plan
	if err := json.Unmarshal(g.Plan(), &got); err != nil {
		t.Fatal(err)
	}
	want := plan{Act: act, Socket: w.s.Socket(), ServerPID: os.Getpid(), Tab: w.husk, Workspace: w.work, Label: label, Folder: filepath.Join(a.Trash, act)}
	for i, p := range w.s.Panes(w.husk) {
		want.Panes = append(want.Panes, planned{ID: p.ID, Terminal: p.Terminal, File: []string{"pane-0.txt", "pane-1.txt"}[i], Cwd: []string{"/", "/tmp"}[i],
			Members: []panes.Member{{PID: p.PID, StartTicks: settled(t, p.PID)}}})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if _, err := planOf(intent(g, d)); err != nil {
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
	wantErr(t, actuators.ErrRefused, err)
	if n := len(w.s.Calls()) - before; n > 0 {
		t.Errorf("%+v: %d requests", d.Identity.Tab, n)
	}
	w.wantUntouched(a)
}

func clone(t *testing.T, d decision.Decision) decision.Decision {
	t.Helper()
	text, err := json.Marshal(d.Identity)
	if err != nil {
		t.Fatal(err)
	}
	d.Identity = decision.Identity{}
	if err := json.Unmarshal(text, &d.Identity); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGraspRefusesWhatIsNotKnown(t *testing.T) {
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
		wantErr(t, actuators.ErrRefused, err)
	}
}

func TestGraspRefusesAnotherTabThanTheJudgedOne(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	whole := w.judged(w.husk)
	for _, c := range []struct {
		name   string
		change func(*decision.Tab)
		want   error
		word   string
	}{
		{"another label", func(d *decision.Tab) { d.Label = "x" }, actuators.ErrChanged, "is called"},
		{"another terminal", func(d *decision.Tab) { d.Panes[0].Terminal = "term_0" }, actuators.ErrChanged, "another terminal"},
		{"another pane", func(d *decision.Tab) { d.Panes[0].ID = "w2:p9" }, actuators.ErrChanged, "another terminal"},
		{"a tab that is not there", func(d *decision.Tab) { d.ID, d.Panes[0].Terminal = "w2:t9", "term_0" }, actuators.ErrGone, "not there"},
		{"another start", func(d *decision.Tab) { d.Panes[0].StartTicks++ }, actuators.ErrChanged, "not the first process"},
		{"another server", func(d *decision.Tab) { d.ServerPID = 1 }, actuators.ErrChanged, "listens"},
		{"another protocol", func(d *decision.Tab) { d.Protocol = 17 }, actuators.ErrChanged, "protocol"},
		{"no server there", func(d *decision.Tab) { d.Socket += "x" }, actuators.ErrRefused, "no server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := clone(t, whole)
			c.change(d.Identity.Tab)
			a := actuator(t, Options{})
			_, err := a.Hold(t.Context(), act, d)
			wantErr(t, c.want, err, c.word)
			w.wantUntouched(a)
		})
	}
	t.Run("a server that was not known", func(t *testing.T) {
		d := clone(t, whole)
		d.Identity.Tab.ServerPID, d.Identity.Tab.Protocol = 0, -1
		g := grasped(t, actuator(t, Options{}), d)
		if g.client.server != os.Getpid() {
			t.Errorf("the server is %d", g.client.server)
		}
	})
}

func TestGraspRefusesTheFloor(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	d := w.judged(w.husk)
	shell, pane := d.Identity.Tab.Panes[0].PID, d.Identity.Tab.Panes[0].ID
	inside := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	keep := w.s.Panes(w.keep)[0].ID
	link := filepath.Join(t.TempDir(), "s")
	if err := os.Symlink(w.s.Socket(), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options Options
		word    string // nothing where it is not refused
	}{
		{"Winnow runs in it", Options{Self: []int{os.Getpid(), shell}}, "Winnow"},
		{"it inherits orphans", Options{OrphanParents: []int{shell}}, "orphans"},
		{"it is a multiplexer", Options{Multiplexers: []string{"s*"}}, "multiplexer"},
		{"it is never signalled", Options{Never: []string{"sh"}}, "never"},
		{"it is no shell", Options{Shells: []string{"zsh"}}, "no shell"},
		{"no status is idle", Options{AgentIdle: []string{}}, "agent status"},
		{"a protocol that was not tried", Options{Protocols: []int{17, 18}}, "add 19 to rules.herdr_protocols"},
		{"no protocol was tried", Options{Protocols: []int{}}, "add 19 to rules.herdr_protocols"},
		{"its pane is ours", Options{Env: inside("HERDR_ENV", "1", "HERDR_SOCKET_PATH", w.s.Socket(), "HERDR_PANE_ID", pane)}, "Winnow itself"},
		{"its pane is ours, by another path", Options{Env: inside("HERDR_SOCKET_PATH", link, "HERDR_PANE_ID", pane)}, "Winnow itself"},
		{"its pane is ours, on a socket that is not said", Options{Env: inside("HERDR_PANE_ID", pane)}, "Winnow itself"},
		{"our pane is nowhere", Options{Env: inside("HERDR_SOCKET_PATH", w.s.Socket(), "HERDR_PANE_ID", "w2:p9")}, "not known"},
		{"our pane is no id", Options{Env: inside("HERDR_SOCKET_PATH", w.s.Socket(), "HERDR_PANE_ID", "1-1")}, "not known"},
		{"our pane is not said", Options{Env: inside("HERDR_ENV", "1", "HERDR_SOCKET_PATH", w.s.Socket())}, "not known"},
		{"our pane is another", Options{Env: inside("HERDR_SOCKET_PATH", w.s.Socket(), "HERDR_PANE_ID", keep, "HERDR_TAB_ID", w.husk)}, ""},
		{"our pane is on another server", Options{Env: inside("HERDR_SOCKET_PATH", link+"x", "HERDR_PANE_ID", pane)}, ""},
		{"only a server is chosen", Options{Env: inside("HERDR_SOCKET_PATH", w.s.Socket())}, ""},
		{"nothing speaks against it", Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := actuator(t, c.options)
			g, err := a.Hold(t.Context(), act, d)
			if c.word == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = g.Close()
			} else if err == nil || !strings.Contains(err.Error(), c.word) {
				t.Errorf("want it refused for %q: %v", c.word, err)
			}
			w.wantUntouched(a)
		})
	}
}

// TestGraspFollowsAMovedPane says that Winnow runs in a tab that its environment does not name: its pane was moved there.
func TestGraspFollowsAMovedPane(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	old := w.s.Split(w.home, herdr.Pane{})
	now := w.s.MovePane(old, w.husk)
	if now == old {
		t.Fatal("it has the same id in another workspace")
	}
	a := actuator(t, Options{Env: func(name string) string {
		return map[string]string{"HERDR_ENV": "1", "HERDR_SOCKET_PATH": w.s.Socket(), "HERDR_TAB_ID": w.home, "HERDR_PANE_ID": old}[name]
	}})
	_, err := a.Hold(t.Context(), act, w.judged(w.husk))
	wantErr(t, actuators.ErrRefused, err, "Winnow itself")
}

func TestGraspLeavesTheWorkspaceItsTabs(t *testing.T) {
	t.Parallel()
	main := herdr.Worktree{RepoKey: "r", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}
	linked := main
	linked.CheckoutPath, linked.Linked = "/r2", true
	other := main
	other.RepoKey = "other"
	for _, c := range []struct {
		name   string
		o      herdr.Options
		own    []herdr.Worktree
		others []herdr.Worktree
		alone  bool
		word   string
	}{
		{"the last tab", herdr.Options{}, nil, nil, true, "last tab"},
		{"the last tab of an old server", herdr.Options{Profile: herdr.V071}, nil, nil, true, "last tab"},
		{"a group's main checkout", herdr.Options{}, []herdr.Worktree{main}, []herdr.Worktree{linked}, false, "main checkout of a group"},
		{"a group's main checkout, where nobody is asked", herdr.Options{ConfirmCloseOff: true}, []herdr.Worktree{main}, []herdr.Worktree{linked}, false, "main checkout of a group"},
		{"a group's main checkout, of an old server", herdr.Options{Profile: herdr.V071}, []herdr.Worktree{main}, []herdr.Worktree{linked}, false, "main checkout of a group"},
		{"the last tab of a group's main checkout", herdr.Options{}, []herdr.Worktree{main}, []herdr.Worktree{linked}, true, "last tab"},
		{"a group's worktree", herdr.Options{}, []herdr.Worktree{linked}, []herdr.Worktree{main}, false, ""},
		{"a main checkout alone", herdr.Options{}, []herdr.Worktree{main}, []herdr.Worktree{other}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, s: herdr.Start(t, c.o)}
			w.s.Tab(w.s.Workspace("home"), "home", quiet)
			for _, o := range c.others {
				w.s.Tab(w.s.Workspace("other", o), "", quiet)
			}
			work := w.s.Workspace("work", c.own...)
			if !c.alone {
				w.s.Tab(work, "keep", quiet)
			}
			husk := w.s.Tab(work, label)
			a := actuator(t, Options{})
			g, err := a.Hold(t.Context(), act, w.judged(husk))
			if c.word == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = g.Close()
				return
			}
			wantErr(t, actuators.ErrRefused, err, c.word)
			w.wantUntouched(a)
			if n := w.s.Dialogs(); n > 0 {
				t.Errorf("the user was asked %d times", n)
			}
		})
	}
}

func TestAFutureServerIsReadAndNotClosed(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{Profile: herdr.Future})
	a := actuator(t, Options{})
	d := w.judged(w.husk)
	_, err := a.Hold(t.Context(), act, d)
	wantErr(t, actuators.ErrRefused, err, "add 99 to rules.herdr_protocols", "1.2.0")
	w.wantUntouched(a)
	w.s.Expect("tab.close", w.husk)
	wantOutcome(t, decision.Done, attempt(t, actuator(t, Options{Protocols: []int{99}}), d))
}

// TestGraspRefusesWhatIsMissingInAnAnswer takes each fact out of a server's answer that the close rests on.
func TestGraspRefusesWhatIsMissingInAnAnswer(t *testing.T) {
	t.Parallel()
	w := fresh(t, herdr.Options{})
	d := w.judged(w.husk)
	g := grasped(t, actuator(t, Options{}), d)
	for name, take := range map[string]func(*view){
		"label":      func(v *view) { v.tab(w.husk).Label = nil },
		"focused":    func(v *view) { v.tab(w.husk).Focused = nil },
		"pane count": func(v *view) { v.tab(w.husk).PaneCount = nil },
		"status":     func(v *view) { v.terminal(d.Identity.Tab.Panes[0].Terminal).AgentStatus = "" },
		"tab count":  func(v *view) { v.workspace(w.work).TabCount = nil },
		"workspace":  func(v *view) { v.Workspaces = v.Workspaces[:1] },
		"linked":     func(v *view) { v.workspace(w.work).Worktree = &worktree{RepoKey: "r"} },
		"repository": func(v *view) { v.workspace(w.work).Worktree = &worktree{Linked: new(false)} },
		"panes":      func(v *view) { v.Panes = []pane{} },
		"more tabs":  func(v *view) { v.workspace(w.work).TabCount = new(3) },
		"less tabs":  func(v *view) { v.workspace(w.work).TabCount = new(1) },
		"more panes": func(v *view) { v.tab(w.husk).PaneCount = new(2) },
		"focus":      func(v *view) { v.FocusedTab = w.husk },
		"pane focus": func(v *view) { v.FocusedPane = d.Identity.Tab.Panes[0].ID },
		"move":       func(v *view) { v.tab(w.husk).Workspace = "w1" },
		"nothing":    func(*view) {},
	} {
		v, err := g.client.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		take(v)
		if err := firstError(g.same(v), g.nobodyLooks(v), g.roomLeft(v)); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, take := range map[string]func(*view){
		"no tabs":                  func(v *view) { v.Tabs = nil },
		"no workspaces":            func(v *view) { v.Workspaces = nil },
		"no panes":                 func(v *view) { v.Panes = nil },
		"a tab without an id":      func(v *view) { v.Tabs[0].ID = "" },
		"a tab in no workspace":    func(v *view) { v.Tabs[0].Workspace = "" },
		"a tab twice":              func(v *view) { v.Tabs = append(v.Tabs, v.Tabs[0]) },
		"a pane without an id":     func(v *view) { v.Panes[0].ID = "" },
		"a pane in no tab":         func(v *view) { v.Panes[0].Tab = "" },
		"a pane without terminal":  func(v *view) { v.Panes[0].Terminal = "" },
		"a terminal twice":         func(v *view) { v.Panes[0].Terminal = v.Panes[1].Terminal },
		"a workspace without id":   func(v *view) { v.Workspaces[0].ID = "" },
		"a workspace listed twice": func(v *view) { v.Workspaces = append(v.Workspaces, v.Workspaces[0]) },
	} {
		v, err := g.client.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if take(v); v.whole() == nil {
			t.Errorf("%s: it is taken for a whole answer", name)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestGraspBelievesTheKernelAboutTheForeground has a server that says of a pane that its shell is in front, a command in front
// of it, and a judgement that knew of the command.
func TestGraspBelievesTheKernelAboutTheForeground(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	w := fresh(t, herdr.Options{}, sh.pane())
	d := w.judged(w.husk)
	sh.typeIn(t, "sleep 1000\n")
	eventually(t, "a command in front", func() bool { return len(sessionOf(t, sh.pid)) == 2 && state(sh.pid) == 'S' })
	d.Identity.Tab.Panes[0].Members = sessionOf(t, sh.pid)
	a := actuator(t, Options{})
	_, err := a.Hold(t.Context(), act, d)
	wantErr(t, actuators.ErrChanged, err, "not in front of its terminal")
	w.wantUntouched(a)
}

// TestGraspSurvivesEveryFault lets each request go wrong in each way: it ends in time, and nothing is closed.
func TestGraspSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]herdr.Fault{
		"hangs": herdr.HangAfterAccept, "half a line": herdr.PartialLine, "garbage": herdr.Garbage, "no reply": herdr.LostReply,
		"an error": herdr.ErrorReply("server_unavailable", "later"), "wedged": herdr.Wedged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= 7; n++ {
				w := fresh(t, herdr.Options{})
				d := w.judged(w.husk)
				base := len(w.s.Calls())
				w.s.Fault(func(i int, c herdr.Call) herdr.Fault {
					if i-base == n && !(c.Method == "ping" && name == "wedged") {
						return f
					}
					return herdr.Fault{}
				})
				a := actuator(t, Options{})
				a.patience = 100 * time.Millisecond
				if name == "wedged" && (n == 1 || n == 5) {
					continue // pings are answered then
				}
				wantOutcome(t, decision.Refused, attempt(t, a, d))
				w.wantUntouched(a)
			}
		})
	}
}
