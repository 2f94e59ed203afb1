package worker_test

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
)

var now = time.Unix(1769882400, 0).UTC()

func ago(d time.Duration) *time.Time { return new(now.Add(-d)) }

const (
	reg  = "registry/kapi"
	tmux = "tmux/default"
	id   = "session:tmux/default/$4"
)

// world has one worker of Kapi's, w7, that has ended, and its session worker-7, an hour old and at its prompt.
func world() *snapshot.Snapshot {
	return &snapshot.Snapshot{
		Host:    snapshot.Host{Asleep: &[]snapshot.Asleep{}},
		TakenAt: now,
		Sources: map[string]snapshot.Source{
			reg: {Kind: "registry", Format: "kapi", Status: snapshot.OK}, tmux: {Kind: "tmux", Status: snapshot.OK},
			snapshot.Ledger: {Kind: "ledger", Status: snapshot.OK},
		},
		Registry: []snapshot.Entry{{Source: reg, ID: "w7", Status: "completed", Terminal: new(true), Session: "worker-7"}},
		Sessions: map[string]snapshot.Session{id: session("worker-7", "$4")},
	}
}

func session(name, native string) snapshot.Session {
	return snapshot.Session{
		Source: tmux, ID: native, Name: name, CreatedAt: ago(time.Hour), Attached: new(0), Server: &snapshot.Server{Socket: "/t/default", PID: 9},
		Panes: []snapshot.Pane{{ID: "%1", ShellPID: new(7), ForegroundPGID: new(7), Dead: new(false), SessionPIDs: []int{7},
			Foreground: []snapshot.PaneProc{{PID: 7, Name: "sh"}}, Session: []snapshot.PaneProc{{PID: 7, Name: "sh", Interactive: new(true), Rest: &snapshot.Rest{Seconds: 7000, Woke: new(false)}}},
			Descendants: []snapshot.PaneProc{}, Carriers: []snapshot.PaneProc{}}},
	}
}

func config() worker.Config {
	return worker.Config{Rules: &subject.Config{
		Shells: []string{"sh"}, OverStatuses: []subject.OverStatuses{{Format: "kapi", Statuses: []string{"completed"}}},
		PromptDaemons: []string{"gitstatusd"}, TerminalStatuses: []string{"archived"},
		SessionNames: subject.Names{Exact: []string{"mine", ""}, Prefix: []string{"worker-", ""}}, Grace: subject.Grace{Session: 600},
	}}
}

func see(t *testing.T, s *snapshot.Snapshot, c worker.Config) []worker.Seen {
	t.Helper()
	return worker.New(policies.Observing, c).See(t.Context(), s)
}

func observe(t *testing.T, s *snapshot.Snapshot, c worker.Config) []snapshot.Worker {
	var out []snapshot.Worker
	for _, w := range see(t, s, c) {
		out = append(out, w.Worker)
	}
	return out
}

// The ways in which a world may be another one.
type change func(*snapshot.Snapshot, *worker.Config)

func entry(f func(*snapshot.Entry)) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) { f(&s.Registry[0]) }
}

func live(f func(*snapshot.Session)) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) {
		t := s.Sessions[id]
		f(&t)
		s.Sessions[id] = t
	}
}

func pane(f func(*snapshot.Pane)) change {
	return live(func(t *snapshot.Session) { f(&t.Panes[0]) })
}

func source(name string, src snapshot.Source) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) { s.Sources[name] = src }
}

func more(e snapshot.Entry) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) { s.Registry = append(s.Registry, e) }
}

func another(id string, t snapshot.Session) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) { s.Sessions[id] = t }
}

func held(until *time.Time) change {
	return func(s *snapshot.Snapshot, _ *worker.Config) {
		s.Holds = append(s.Holds, snapshot.Hold{ID: id, Until: until})
	}
}

var (
	running = entry(func(e *snapshot.Entry) { e.Status, e.Terminal = "running", new(false) })
	gone    = func(s *snapshot.Snapshot, _ *worker.Config) { delete(s.Sessions, id) }
	busy    = pane(func(p *snapshot.Pane) {
		p.ForegroundPGID, p.Foreground = new(8), []snapshot.PaneProc{{PID: 8, Name: "claude"}}
		p.SessionPIDs, p.Session = []int{7, 8}, append(p.Session, p.Foreground...)
	})
	retained = entry(func(e *snapshot.Entry) { e.Retained = new(true) })
	json     = source(reg, snapshot.Source{Kind: "registry", Format: "json", Status: snapshot.OK})
)

func TestObservations(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	for _, tc := range []struct {
		name    string
		changes []change
		want    string
		next    string
	}{
		// Over and alive.
		{"ended, its session is live, and nothing keeps it", nil, snapshot.WorkerSafeToClose, "winnow cleanup 'session:tmux/default/$4' --safe"},
		{"recorded by tmux's own id", []change{entry(func(e *snapshot.Entry) { e.Session = "$4" })}, snapshot.WorkerSafeToClose, ""},
		{"a longer-named neighbour does not belong to it", []change{another("session:tmux/default/$5", session("worker-70", "$5"))}, snapshot.WorkerSafeToClose, ""},
		{"not marked as retained", []change{entry(func(e *snapshot.Entry) { e.Retained = new(false) })}, snapshot.WorkerSafeToClose, ""},
		{"over by the configured words", []change{json, entry(func(e *snapshot.Entry) { e.Status, e.Terminal = "archived", nil })}, snapshot.WorkerSafeToClose, ""},
		{"ended after its session was made", []change{entry(func(e *snapshot.Entry) { e.EndedAt = ago(time.Minute) })}, snapshot.WorkerSafeToClose, ""},
		{"another server is positively not there", []change{source("tmux/x", snapshot.Source{Kind: "tmux", Status: snapshot.Absent})}, snapshot.WorkerSafeToClose, ""},
		{"a client is attached", []change{live(func(t *snapshot.Session) { t.Attached = new(1) })}, snapshot.WorkerSafeToClose, "winnow explain 'session:tmux/default/$4'"},
		{"whether a client is attached is not known", []change{live(func(t *snapshot.Session) { t.Attached = nil })}, snapshot.WorkerSafeToClose, "winnow explain 'session:tmux/default/$4'"},
		{"another worker that has ended shares it", []change{more(snapshot.Entry{Source: reg, ID: "w6", Status: "failed", Terminal: new(true), Session: "worker-7"})},
			snapshot.WorkerSafeToClose, ""},

		// Kept.
		{"held", []change{held(nil)}, snapshot.WorkerRetained, "winnow release 'session:tmux/default/$4'"},
		{"held until later", []change{held(ago(-time.Minute))}, snapshot.WorkerRetained, ""},
		{"the hold has lapsed", []change{held(ago(0))}, snapshot.WorkerSafeToClose, ""},
		{"marked by Kapi", []change{retained}, snapshot.WorkerRetained, "kapi release w7"},
		{"marked by Kapi and held", []change{retained, held(nil)}, snapshot.WorkerRetained, "kapi release w7"},
		{"marked by a registry whose command is not known", []change{json, retained}, snapshot.WorkerRetained, "winnow explain 'session:tmux/default/$4'"},
		{"marked for another worker", []change{more(snapshot.Entry{Source: reg, ID: "w6", Status: "failed", Terminal: new(true), Session: "$4", Retained: new(true)})},
			snapshot.WorkerRetained, "kapi release w6"},
		{"not ended, although it is held", []change{running, busy, held(nil), retained}, snapshot.WorkerActive, ""},

		// Not ended.
		{"at work", []change{running, busy}, snapshot.WorkerActive, "tmux -S /t/default attach -t '=worker-7'"},
		{"at work, where the server is not known", []change{running, busy, live(func(t *snapshot.Session) { t.Server = nil })}, snapshot.WorkerActive, "tmux attach -t '=worker-7'"},
		{"a word that no list has", []change{json, busy, entry(func(e *snapshot.Entry) { e.Status, e.Terminal = "done", nil })}, snapshot.WorkerActive, ""},
		{"plainly not ended", []change{json, busy, entry(func(e *snapshot.Entry) { e.Status, e.Terminal = "", new(false) })}, snapshot.WorkerActive, ""},
		{"it has only just begun", []change{running, live(func(t *snapshot.Session) { t.CreatedAt = ago(599 * time.Second) })}, snapshot.WorkerActive, ""},
		{"since when it lives is not known", []change{running, live(func(t *snapshot.Session) { t.CreatedAt = nil })}, snapshot.WorkerActive, ""},
		{"what stands in front is not known", []change{running, pane(func(p *snapshot.Pane) { p.Foreground = nil })}, snapshot.WorkerActive, ""},
		{"its panes are not known", []change{running, live(func(t *snapshot.Session) { t.Panes = nil })}, snapshot.WorkerActive, ""},
		{"whether its pane is dead is not known", []change{running, pane(func(p *snapshot.Pane) { p.Dead = nil })}, snapshot.WorkerActive, ""},
		{"a script", []change{running, pane(func(p *snapshot.Pane) { p.Session[0].Interactive = new(false) })}, snapshot.WorkerActive, ""},
		{"a shell that does not show what it does", []change{running, pane(func(p *snapshot.Pane) { p.Session[0].Interactive = nil })}, snapshot.WorkerActive, ""},
		{"something was left behind", []change{running, pane(func(p *snapshot.Pane) { p.Descendants = []snapshot.PaneProc{{PID: 11, Name: "x"}} })}, snapshot.WorkerActive, ""},
		{"something runs behind the shell", []change{running, pane(func(p *snapshot.Pane) {
			p.SessionPIDs, p.Session = []int{7, 8}, append(p.Session, snapshot.PaneProc{PID: 8, Name: "make"})
		})}, snapshot.WorkerActive, ""},
		{"a process without a name is behind the shell", []change{running, pane(func(p *snapshot.Pane) { p.SessionPIDs = []int{7, 8} })}, snapshot.WorkerActive, ""},
		{"no shell", []change{running, pane(func(p *snapshot.Pane) { p.Foreground[0].Name = "claude" })}, snapshot.WorkerActive, ""},

		// Contradictions.
		{"not ended, and nothing is live", []change{running, gone}, snapshot.WorkerStale, "kapi report w7"},
		{"not ended, and only a longer name is live", []change{running, gone, another("session:tmux/default/$5", session("worker-70", "$5"))}, snapshot.WorkerStale, ""},
		{"the same of a registry whose command is not known", []change{json, running, gone}, snapshot.WorkerStale, "winnow doctor"},
		{"not ended, and only a shell is left", []change{running}, snapshot.WorkerStale, "winnow explain 'session:tmux/default/$4'"},
		{"a prompt's helper is nothing", []change{running, pane(func(p *snapshot.Pane) {
			p.SessionPIDs, p.Session = []int{7, 8}, append(p.Session, snapshot.PaneProc{PID: 8, Name: "gitstatusd"})
		})}, snapshot.WorkerStale, ""},
		{"not ended, and its pane is dead", []change{running, pane(func(p *snapshot.Pane) {
			*p = snapshot.Pane{ID: "%1", Dead: new(true), SessionPIDs: []int{}, Session: []snapshot.PaneProc{}, Descendants: p.Descendants, Carriers: p.Carriers}
		})}, snapshot.WorkerStale, ""},
		{"what a dead pane leaves is not known", []change{running, pane(func(p *snapshot.Pane) { *p = snapshot.Pane{ID: "%1", Dead: new(true)} })}, snapshot.WorkerActive, ""},
		{"whether something was left behind is not known", []change{running, pane(func(p *snapshot.Pane) { p.Descendants = nil })}, snapshot.WorkerActive, ""},
		{"whether something runs elsewhere is not known", []change{running, pane(func(p *snapshot.Pane) { p.Carriers = nil })}, snapshot.WorkerActive, ""},
		{"not ended by its status, and it ended", []change{running, busy, entry(func(e *snapshot.Entry) { e.EndedAt = ago(time.Minute) })}, snapshot.WorkerStale, ""},
		{"a session of that name was made since", []change{entry(func(e *snapshot.Entry) { e.EndedAt = ago(2 * time.Hour) })}, snapshot.WorkerStale, ""},
		{"even a kept one", []change{retained, held(nil), entry(func(e *snapshot.Entry) { e.EndedAt = ago(2 * time.Hour) })}, snapshot.WorkerStale, ""},
		{"another worker works in it", []change{more(snapshot.Entry{Source: reg, ID: "w8", Status: "running", Terminal: new(false), Session: "$4"})}, snapshot.WorkerStale, ""},

		// Over and gone.
		{"over and gone", []change{gone}, snapshot.WorkerClosed, "winnow history"},
		{"over and gone, and marked", []change{gone, retained}, snapshot.WorkerClosed, "kapi release w7"},
		{"over and gone, and marked elsewhere", []change{gone, json, retained}, snapshot.WorkerClosed, "winnow doctor"},
		{"over, and there is no server", []change{gone, source(tmux, snapshot.Source{Kind: "tmux", Status: snapshot.Absent})}, snapshot.WorkerClosed, ""},

		// What it takes to say so is not known.
		{"a server failed", []change{gone, source(tmux, snapshot.Source{Kind: "tmux", Status: snapshot.Failed})}, snapshot.WorkerUnknown, "winnow doctor"},
		{"another server failed", []change{source("tmux/x", snapshot.Source{Kind: "tmux", Status: snapshot.Failed})}, snapshot.WorkerUnknown, ""},
		{"tmux is not read", []change{gone, func(_ *snapshot.Snapshot, c *worker.Config) { c.NoTmux = true }}, snapshot.WorkerUnknown, ""},
		{"its registry failed", []change{source(reg, snapshot.Source{Kind: "registry", Format: "kapi", Status: snapshot.Failed})}, snapshot.WorkerUnknown, ""},
		{"its registry is not among what was read", []change{func(s *snapshot.Snapshot, _ *worker.Config) { delete(s.Sources, reg) }}, snapshot.WorkerUnknown, ""},
		{"another registry failed, which may own it", []change{source("registry/x", snapshot.Source{Kind: "registry", Format: "jsonl", Status: snapshot.Failed})}, snapshot.WorkerUnknown, ""},
		{"a registry failed that records no sessions", []change{source("registry/x", snapshot.Source{Kind: "registry", Format: "shepherd", Status: snapshot.Failed})}, snapshot.WorkerSafeToClose, ""},
		{"a server of another kind failed", []change{source("herdr/x", snapshot.Source{Kind: "herdr", Status: snapshot.Failed})}, snapshot.WorkerSafeToClose, ""},
		{"the holds could not be read", []change{source(snapshot.Ledger, snapshot.Source{Kind: "ledger", Status: snapshot.Failed})}, snapshot.WorkerUnknown, ""},
		{"the holds could not be read, but it is marked", []change{retained, source(snapshot.Ledger, snapshot.Source{Kind: "ledger", Status: snapshot.Failed})},
			snapshot.WorkerRetained, ""},
		{"its status is missing", []change{entry(func(e *snapshot.Entry) { e.Status, e.Terminal = "", new(false) })}, snapshot.WorkerUnknown, "kapi report w7"},
		{"no session is recorded", []change{entry(func(e *snapshot.Entry) { e.Session = "" })}, snapshot.WorkerUnknown, "kapi report w7"},
		{"two servers have one of that name", []change{another("session:tmux/x/$0", session("worker-7", "$0"))}, snapshot.WorkerUnknown, "winnow sweep --all --kind session"},
		{"when its session was made is not known", []change{entry(func(e *snapshot.Entry) { e.EndedAt = ago(time.Minute) }), live(func(t *snapshot.Session) { t.CreatedAt = nil })},
			snapshot.WorkerUnknown, ""},
	} {
		s, c := world(), config()
		for _, f := range tc.changes {
			f(s, &c)
		}
		all := observe(t, s, c)
		i := slices.IndexFunc(all, func(w snapshot.Worker) bool { return w.ID == "w7" })
		if i < 0 {
			t.Errorf("%s: no worker w7 in %+v", tc.name, all)
			continue
		}
		w := all[i]
		if w.Observation != tc.want || tc.next != "" && w.NextCommand != tc.next {
			t.Errorf("%s: it is %s, next %s; want %s, next %s", tc.name, w.Observation, w.NextCommand, tc.want, tc.next)
		}
		if w.Why == "" || w.NextCommand == "" || w.Source != reg {
			t.Errorf("%s: %+v", tc.name, w)
		}
	}
}

func TestUnregistered(t *testing.T) {
	t.Parallel()
	unrecorded := func(s *snapshot.Snapshot, _ *worker.Config) { s.Registry = nil }
	for _, tc := range []struct {
		name    string
		changes []change
		want    string
	}{
		{"no entry records it", []change{unrecorded}, snapshot.WorkerUnregistered},
		{"in scope by its whole name", []change{unrecorded, live(func(t *snapshot.Session) { t.Name = "mine" })}, snapshot.WorkerUnregistered},
		{"recorded", nil, ""},
		{"recorded by its id", []change{entry(func(e *snapshot.Entry) { e.Session = "$4" })}, ""},
		{"not in scope", []change{unrecorded, live(func(t *snapshot.Session) { t.Name = "other" })}, ""},
		{"its name is not known", []change{unrecorded, live(func(t *snapshot.Session) { t.Name = "" })}, ""},
		{"the registry could not be read", []change{unrecorded, source(reg, snapshot.Source{Kind: "registry", Format: "kapi", Status: snapshot.Failed})}, snapshot.WorkerUnknown},
		{"the registry does not exist yet", []change{unrecorded, source(reg, snapshot.Source{Kind: "registry", Format: "kapi", Status: snapshot.Absent})}, snapshot.WorkerUnregistered},
		{"there is no registry of sessions", []change{unrecorded, source(reg, snapshot.Source{Kind: "registry", Format: "shepherd", Status: snapshot.OK})}, ""},
	} {
		s, c := world(), config()
		for _, f := range tc.changes {
			f(s, &c)
		}
		got := ""
		for _, w := range observe(t, s, c) {
			if w.ID == "" {
				got = w.Observation
				if w.Session != id || w.Name != s.Sessions[id].Name || w.Why == "" || w.NextCommand == "" {
					t.Errorf("%s: %+v", tc.name, w)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%s: it is %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Which entries are workers: all that record a session, and all of Kapi's. One that stands twice is one worker.
func TestWhoIsAWorker(t *testing.T) {
	t.Parallel()
	s := world()
	s.Sources["registry/s"] = snapshot.Source{Kind: "registry", Format: "shepherd", Status: snapshot.OK}
	s.Sources["registry/j"] = snapshot.Source{Kind: "registry", Format: "json", Status: snapshot.OK}
	s.Registry = append(s.Registry,
		snapshot.Entry{Source: "registry/s", ID: "task", Status: "archived", Path: "/w"},
		snapshot.Entry{Source: "registry/j", ID: "b", Status: "archived", Session: "worker-7", Path: "/w/a"},
		snapshot.Entry{Source: "registry/j", ID: "b", Status: "archived", Session: "worker-7", Path: "/w/b"},
		snapshot.Entry{Source: "registry/j", ID: "a", Status: "archived", Path: "/w"},
		snapshot.Entry{Source: reg, ID: "w1", Status: "completed", Terminal: new(true)},
	)
	s.Sessions["session:tmux/default/$6"] = session("worker-9", "$6")
	var got []string
	for _, w := range observe(t, s, config()) {
		got = append(got, w.Source+" "+w.ID+" "+w.Name+" "+w.Observation)
	}
	if d := cmp.Diff([]string{
		"registry/j b worker-7 safe_to_close", "registry/kapi w1  unknown", "registry/kapi w7 worker-7 safe_to_close", "  worker-9 unregistered",
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What rests below an observation is reported apart for those who act on it.
func TestSee(t *testing.T) {
	t.Parallel()
	s, c := world(), config()
	s.Registry[0].EndedAt, s.Registry[0].Retained = ago(2*time.Hour), new(true)
	s.Holds = []snapshot.Hold{{ID: id}}
	w := see(t, s, c)[0]
	if !w.Another || !w.Retained || w.Release != "kapi release w7" || w.Cleanup == nil || w.Cleanup.Reason != "retained" || !slices.Equal(w.Live, []string{id}) {
		t.Errorf("it is %+v", w)
	}
	s.Registry[0].EndedAt = nil
	s.Sources[tmux] = snapshot.Source{Kind: "tmux", Status: snapshot.Failed}
	if w := see(t, s, c)[0]; w.Another || w.Retain == nil || w.Retain.Reason != "unreadable" {
		t.Errorf("it is %+v", w)
	}
	s = world()
	s.Sessions["session:tmux/x/$0"] = session("worker-7", "$0")
	if w := see(t, s, c)[0]; w.Session != "" || w.Name != "worker-7" || len(w.Live) != 2 {
		t.Errorf("one of two is taken for its own: %+v", w)
	}
}

// The order in which things were read is not part of what is observed.
func TestObserveIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	s := world()
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Registry = append(s.Registry, snapshot.Entry{Source: reg, ID: name, Status: "completed", Terminal: new(true), Session: "worker-" + name})
		s.Sessions["session:tmux/default/$"+name] = session("worker-"+name+name, "$"+name)
	}
	want := observe(t, s, config())
	for range 20 {
		rand.Shuffle(len(s.Registry), func(i, j int) { s.Registry[i], s.Registry[j] = s.Registry[j], s.Registry[i] })
		if d := cmp.Diff(want, observe(t, s, config())); d != "" {
			t.Fatalf("in another order (-want +got):\n%s", d)
		}
	}
}

// A name from the world is one word to a shell, with any characters.
func TestNextCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"w", "a b", "$(touch x)", "it's", "~root", "=ls", "a;b", "`c`", "", "é"} {
		s, c := world(), config()
		s.Registry[0].ID, s.Registry[0].Retained = name, new(true)
		out, err := exec.Command("sh", "-c", "kapi() { printf '%s|' \"$@\"; }; "+observe(t, s, c)[0].NextCommand).Output()
		if want := "release|" + name + "|"; err != nil || string(out) != want {
			t.Errorf("%q: the shell reads %q, %v; want %q", name, out, err, want)
		}
		if cmd := observe(t, s, c)[0].NextCommand; strings.Contains(cmd, " =") || strings.Contains(cmd, " ~") {
			t.Errorf("%q: %s is another word to some shells", name, cmd)
		}
	}
}
