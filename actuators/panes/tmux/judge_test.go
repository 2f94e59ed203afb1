package tmux

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

const act = judge.Act

// Policies that a judge decides by. loose is the shipped tree of an operator who lets every session go, also one that is attached or at work, and
// strict the shipped tree with one objection more.
var (
	loose = sync.OnceValues(func() (*judge.Policies, error) {
		return judge.Tree([]string{"protect/attached", "protect/live"}, map[string]string{"reap/sessions/all/all.rego": `package policies.reap.sessions.all

in_scope if input.kind == "session"

findings contains {"rule": "reap.sessions.all", "message": "every session goes", "evidence": {}} if input.kind == "session"
`})
	})
	strict = sync.OnceValues(func() (*judge.Policies, error) {
		return judge.Tree(nil, map[string]string{"protect/mine/mine.rego": `package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "its name says that it is kept", "evidence": {}} if {
	input.kind == "session"
	not _other
}

_other if startswith(input.session.name, "keep") == false
`})
	})
)

func (s *server) judge(policies func() (*judge.Policies, error)) *judge.Judge {
	s.T.Helper()
	j := judge.New(s.T, "session", policies,
		func(only []string) ([]collectors.Source, error) {
			return tmux.Sources(tmux.Options{Sockets: []string{s.Socket}, Only: only})
		},
		func(d decision.Decision) string { return d.Identity.Session.ID })
	j.Rules.SessionNames.Prefix = []string{"w", "i", "k", "o"}
	return j
}

// decide is what is decided of the session of that name, once that is so and its panes run their programs.
func (s *server) decide(j *judge.Judge, name, verdict string) decision.Decision {
	s.T.Helper()
	id := s.ID(name)
	d := j.Until(verdict, tmux.ID("tmux/"+filepath.Base(s.Socket), id), id)
	for _, p := range d.Identity.Session.Panes {
		wait.Eventually(s.T, "the pane's own program", func() bool { return procs.Name(p.PID) != "tmux: server" })
	}
	return d
}

// carry carries out a decision that the loose policy made.
func (s *server) carry(ctx context.Context, a *Actuator, d decision.Decision) decision.Outcome {
	s.T.Helper()
	return s.judge(loose).Carry(ctx, a, d)
}

// A looser policy is carried out up to the floor: a session that is used, and shares its window. What another session shows goes on.
func TestCarryALooserPolicy(t *testing.T) {
	t.Parallel()
	s := fresh(t, "bystander")
	for _, name := range []string{"watched", "worker"} {
		s.Run("new-session", "-d", "-s", name, "exec sleep 1000")
		s.Attach("=" + name)
	}
	s.Run("new-session", "-d", "-s", "twin", "-t", "=worker")
	s.Run("link-window", "-d", "-s", "=bystander:", "-t", "=worker:7")
	j := s.judge(loose)
	for _, name := range []string{"watched", "worker"} {
		s.decide(s.judge(judge.Shipped), name, decision.Spare)
		d := s.decide(j, name, decision.Reap)
		out := j.Carry(t.Context(), actuator(t, Options{Shells: shells, TermGrace: 200 * time.Millisecond}), d)
		judge.WantOutcome(t, decision.Done, out, "is gone")
		if s.Has(name) || !s.Has("twin") || !s.Has("bystander") {
			t.Errorf("%s is there: %v, its twin: %v, the bystander: %v", name, s.Has(name), s.Has("twin"), s.Has("bystander"))
		}
		for _, p := range d.Identity.Session.Panes {
			if name == "worker" != procs.Lives(p.PID) {
				t.Errorf("pane %s of %s lives: %v", p.ID, name, procs.Lives(p.PID))
			}
		}
		if name == "worker" && strings.Count(out.Detail, "another session shows its pane") != 2 {
			t.Errorf("the detail is %s", out.Detail)
		}
	}
}

// A stricter policy keeps, at each time that it is asked.
func TestCarryAStricterPolicy(t *testing.T) {
	t.Parallel()
	for times := range 2 {
		s := fresh(t, "worker")
		j := s.judge(strict)
		d := s.decide(j, "worker", decision.Reap)
		j.Before = func(n int) {
			if n == times {
				s.Run("rename-session", "-t", d.Identity.Session.ID, "keep")
			}
		}
		a := actuator(t, Options{Shells: shells})
		judge.WantOutcome(t, decision.Changed, j.Carry(t.Context(), a, d), "its name says that it is kept")
		wantUntouched(t, a, s, "keep")
	}
}

// TestWindow has a window shown by another session too in the last moments of an act. The policies let it go all the same.
func TestWindow(t *testing.T) {
	t.Parallel()
	judge.Window(t, func(t *testing.T) judge.Trial {
		s := fresh(t, "worker")
		s.Run("new-session", "-d", "-s", "bystander")
		j := s.judge(loose)
		d := s.decide(j, "worker", decision.Reap)
		return judge.Trial{Judge: j, Actuator: actuator(t, Options{Shells: shells}), Decision: d, There: func() bool { return s.Has("worker") },
			Change: func() { s.Run("link-window", "-d", "-s", d.Identity.Session.ID+":", "-t", "=bystander:7") }}
	})
}
