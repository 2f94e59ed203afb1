package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func refused(ids ...string) []decision.Act {
	var acts []decision.Act
	for _, id := range ids {
		acts = append(acts, decision.Act{Candidate: id, Kind: "dir", Label: "a", Outcome: decision.Outcome{Outcome: decision.Refused, Detail: "git said no"}})
	}
	return acts
}

func TestAlarmMemoryIsKept(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	memory := alarm.Memory{
		Rules: "r1",
		Scope: map[string]alarm.Scoped{
			"dir:/w/a":        {Source: "dirs//w", Born: t0, OutSince: t0.Add(1), UnseenSince: t0.Add(2)},
			"process:1@2":     {Source: "proc"},
			"session:tmux/$1": {Source: "tmux/default", Born: t0},
		},
		Peaks:    map[string]alarm.Peak{"tab": {At: t0, Seen: 60, InScope: 40, LowSince: t0.Add(3)}, "dir": {At: t0, Seen: 12, InScope: 11}},
		Sources:  map[string]alarm.Source{"proc": {OKAt: t0}, "tmux/default": {BadSince: t0, Looks: 2}},
		Refusals: map[string]alarm.Refusal{"dir:/w/a": {Kind: "dir", Label: "a", Identity: "k", Outcome: "refused", Detail: "no", FirstAt: t0, LastAt: t0.Add(4), Count: 2}},
		Capped:   map[string]alarm.Capped{"tab": {Detail: "too many", FirstAt: t0, LastAt: t0.Add(5), Count: 3}},
	}
	must.Do(t, l.ChangeAlarmMemory(ctx, constant(memory)))
	is := func(want alarm.Memory) {
		t.Helper()
		got := must.Get(l.AlarmMemory(ctx))(t)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("memory (-want +got):\n%s", d)
		}
	}
	is(memory)
	next := alarm.Memory{
		Rules: "r2", Scope: map[string]alarm.Scoped{"process:1@2": {Source: "proc", OutSince: t0}},
		Sources: map[string]alarm.Source{"tmux/default": {BadSince: t0, Looks: 2}},
	}
	must.Do(t, l.ChangeAlarmMemory(ctx, constant(next)))
	is(next)
}

// constant changes any memory to this one.
func constant(next alarm.Memory) func(alarm.Memory) alarm.Memory {
	return func(alarm.Memory) alarm.Memory { return next }
}

// Memories of many sizes are written and forgotten whole.
func TestAlarmMemoryOfEverySize(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	for _, n := range []int{1, 63, 64, 65, 128, 200} {
		all := map[string]alarm.Scoped{}
		for i := range n {
			all[fmt.Sprintf("dir:/w/%d", i)] = alarm.Scoped{Source: "dirs//w", Born: t0.Add(time.Duration(i))}
		}
		for _, want := range []map[string]alarm.Scoped{all, all, nil} {
			must.Do(t, l.ChangeAlarmMemory(ctx, constant(alarm.Memory{Scope: want})))
			got := must.Get(l.AlarmMemory(ctx))(t)
			if d := cmp.Diff(want, got.Scope, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%d (-want +got):\n%s", n, d)
			}
		}
	}
}

// A change that cannot be written whole is not written at all.
func TestAlarmMemoryIsAllOrNothing(t *testing.T) {
	t.Parallel()
	l := open(t)
	must.Do(t, l.ChangeAlarmMemory(t.Context(), constant(alarm.Memory{Rules: "r1", Scope: map[string]alarm.Scoped{"dir:/w/a": {Source: "dirs//w"}}})))
	db := must.Get(sql.Open("sqlite", l.Path()))(t)
	defer db.Close()
	must.Get(db.Exec("CREATE TRIGGER no BEFORE INSERT ON remembered BEGIN SELECT raise(ROLLBACK, 'no room'); END"))(t)
	err := l.ChangeAlarmMemory(t.Context(), constant(alarm.Memory{
		Rules: "r2", Peaks: map[string]alarm.Peak{"tab": {At: t0}}, Capped: map[string]alarm.Capped{"tab": {FirstAt: t0, LastAt: t0, Count: 1}},
	}))
	if err == nil || !strings.Contains(err.Error(), l.Path()) {
		t.Errorf("got %v; want an error that names the file", err)
	}
	m := must.Get(l.AlarmMemory(t.Context()))(t)
	if m.Rules != "r1" || len(m.Scope) != 1 || len(m.Capped) != 0 {
		t.Errorf("half of it was written: %+v", m)
	}
	acts := append(refused("dir:/w/a"), decision.Act{Candidate: "tab:x", Kind: "tab", Outcome: decision.Outcome{Outcome: decision.Capped}})
	if err := l.NoteActs(t.Context(), t0, acts, nil); err == nil {
		t.Error("no error")
	}
	if m, err = l.AlarmMemory(t.Context()); err != nil || len(m.Capped)+len(m.Refusals) != 0 {
		t.Errorf("half of it was written: %+v, %v", m, err)
	}
}

// Refusals are kept of acts whose intent never was.
func TestNoteActs(t *testing.T) {
	t.Parallel()
	l := open(t)
	over, cancel := context.WithCancel(t.Context())
	cancel() // it has happened, also where the sweep is being interrupted
	keys := map[string]string{"dir:/w/a": "k"}
	capped := decision.Act{Candidate: "tab:x", Kind: "tab", Outcome: decision.Outcome{Outcome: decision.Capped, Detail: "too many"}}
	for i := range 2 {
		must.Do(t, l.NoteActs(over, t0.Add(time.Duration(i)), append(refused("dir:/w/a"), capped), keys))
	}
	want := map[string]alarm.Refusal{"dir:/w/a": {
		Kind: "dir", Label: "a", Identity: "k", Outcome: "refused", Detail: "git said no", FirstAt: t0, LastAt: t0.Add(1), Count: 2,
	}}
	got := must.Get(l.Refusals(t.Context()))(t)
	must.Equal(t, want, got, "refusals")
	m := must.Get(l.AlarmMemory(t.Context()))(t)
	if d := cmp.Diff(map[string]alarm.Capped{"tab": {Detail: "too many", FirstAt: t0, LastAt: t0.Add(1), Count: 2}}, m.Capped); d != "" {
		t.Errorf("capped (-want +got):\n%s", d)
	}
	if acts, err := l.Acts(t.Context(), time.Time{}); err != nil || len(acts) != 0 {
		t.Errorf("got acts %v, %v; want none", acts, err)
	}
	done := refused("dir:/w/a")
	done[0].Outcome.Outcome = decision.Done
	must.Do(t, l.NoteActs(t.Context(), t0, done, keys))
	if got, err := l.Refusals(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v; want no refusals", got, err)
	}
}

// A refusal that one process notes while another counts up is not lost, and a reader sees whole changes.
func TestNoteActsBesideOthers(t *testing.T) {
	t.Parallel()
	first := open(t)
	second := must.Get(ledger.Open(first.Path()))(t)
	defer second.Close()
	reader := must.Get(ledger.OpenReadOnly(first.Path()))(t)
	defer reader.Close()
	const times = 20
	errs := make(chan error, 3)
	done := make(chan struct{})
	for _, l := range []*ledger.Ledger{first, second} {
		go func() {
			for range times {
				if err := l.NoteActs(t.Context(), t0, refused("dir:/w/a", "dir:/w/b"), nil); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	go func() {
		for {
			rs, err := reader.Refusals(t.Context())
			if err == nil && rs["dir:/w/a"].Count != rs["dir:/w/b"].Count {
				err = fmt.Errorf("half of a change: %v", rs)
			}
			select {
			case <-done:
				errs <- err
				return
			default:
			}
			if err != nil {
				errs <- err
				return
			}
		}
	}()
	must.Do(t, <-errs)
	must.Do(t, <-errs)
	close(done)
	must.Do(t, <-errs)
	rs := must.Get(reader.Refusals(t.Context()))(t)
	if n := rs["dir:/w/a"].Count; n != 2*times {
		t.Errorf("counted %d; want %d", n, 2*times)
	}
}

// rememberForever says of each generation of the memory when it is durably written.
func rememberForever(path string) error {
	l, err := ledger.Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	m, err := l.AlarmMemory(ctx)
	if err != nil {
		return err
	}
	for g := m.Peaks["tab"].Seen + 1; ; g++ {
		if err := l.ChangeAlarmMemory(ctx, constant(generation(g))); err != nil {
			return err
		}
		fmt.Println("saved", g)
	}
}

// generation is a memory whose every part can be known.
func generation(g int) alarm.Memory {
	scope := map[string]alarm.Scoped{}
	for i := range 100 {
		scope[fmt.Sprintf("tab:x/%d", i)] = alarm.Scoped{Source: fmt.Sprint(g)}
	}
	return alarm.Memory{Rules: fmt.Sprint(g), Scope: scope, Peaks: map[string]alarm.Peak{"tab": {At: t0, Seen: g}}}
}

func TestKilledWhileRememberingTheMemoryIsWhole(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	said := 0
	for range 8 {
		cmd, lines := again(t, rememberEnv+"="+path)
		for left := 1 + rand.IntN(10); lines.Scan(); left-- {
			if _, err := fmt.Sscanf(lines.Text(), "saved %d", &said); err != nil {
				t.Fatal(lines.Text())
			}
			if left == 0 {
				must.Do(t, cmd.Process.Kill())
			}
		}
		if cmd.Wait(); cmd.ProcessState.Success() {
			t.Fatal("the process ended by itself")
		}
		l := must.Get(ledger.Open(path))(t)
		must.Do(t, l.Check(t.Context()))
		m := must.Get(l.AlarmMemory(t.Context()))(t)
		must.Do(t, l.Close())
		g := m.Peaks["tab"].Seen
		if g != said && g != said+1 {
			t.Fatalf("generation %d is there, and %d was acknowledged", g, said)
		}
		if m.Rules != fmt.Sprint(g) || len(m.Scope) != 100 {
			t.Fatalf("rules %s and %d in scope beside generation %d", m.Rules, len(m.Scope), g)
		}
		for id, x := range m.Scope {
			if x.Source != fmt.Sprint(g) {
				t.Fatalf("%s is of generation %s beside %d", id, x.Source, g)
			}
		}
	}
	if said < 8 {
		t.Errorf("only %d generations were written", said)
	}
}

// A collapse is found by the process after the one that saw the scope.
func TestACollapseAcrossRestarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	limits := alarm.Limits{Min: 3, Collapse: 0.8, Remember: time.Hour}
	s := &snapshot.Snapshot{TakenAt: t0, Sources: map[string]snapshot.Source{"tmux/default": {Kind: "tmux", Status: snapshot.OK}}, Sessions: map[string]snapshot.Session{}}
	var ds []decision.Decision
	for i := range 5 {
		id := fmt.Sprintf("session:tmux/default/$%d", i)
		s.Sessions[id] = snapshot.Session{Source: "tmux/default", CreatedAt: new(t0), Panes: []snapshot.Pane{{SessionPIDs: []int{1}}}}
		ds = append(ds, decision.Decision{ID: id, Kind: "session", InScope: true})
	}
	for i, want := range []int{0, 1, 1, 0} {
		l := must.Get(ledger.Open(path))(t)
		var alarms []alarm.Alarm
		must.Do(t, l.ChangeAlarmMemory(t.Context(), func(m alarm.Memory) (next alarm.Memory) {
			next, alarms = alarm.Look(m, s, ds, "r", limits)
			return next
		}))
		must.Do(t, l.Close())
		if len(alarms) != want {
			t.Errorf("look %d gave %v; want %d alarms", i, alarms, want)
		}
		ds = nil
		s.TakenAt = s.TakenAt.Add(31 * time.Minute)
	}
}
