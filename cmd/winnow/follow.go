package main

import (
	"context"
	"slices"

	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/sources"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/snapshot"
)

// maxFollowers is how many folders a sweep asks about again because all that uses them goes.
const maxFollowers = 50

// going are the processes that end with the candidates of some decisions, each with the candidate's id.
type going map[int]string

// goingWith gives the processes that end with those of the decisions that goes says yes to.
func goingWith(s *snapshot.Snapshot, ds []decision.Decision, goes func(decision.Decision) bool) going {
	g := going{}
	var children map[int][]int
	for _, d := range ds {
		if !goes(d) {
			continue
		}
		for _, pid := range s.PIDs(d.ID) {
			if children == nil {
				children = s.Children()
			}
			g.tree(children, pid, d.ID)
		}
	}
	return g
}

func (g going) tree(children map[int][]int, pid int, id string) {
	if _, done := g[pid]; done {
		return
	}
	g[pid] = id
	for _, child := range children[pid] {
		g.tree(children, child, id)
	}
}

// of gives the candidates that all users of a folder go with, and false where one of them stays, or is not known.
func (g going) of(d snapshot.Dir) ([]string, bool) {
	if d.HoldersKnown == nil || !*d.HoldersKnown || len(d.Holders) == 0 {
		return nil, false
	}
	var after []string
	for _, h := range d.Holders {
		id, ok := g[h.PID]
		if !ok {
			return nil, false
		}
		after = append(after, id)
	}
	slices.Sort(after)
	return slices.Compact(after), true
}

// followers are the folders that are spared, and that nothing uses but what goes, with what that is.
func (g going) followers(s *snapshot.Snapshot, ds []decision.Decision) map[string][]string {
	out := map[string][]string{}
	if len(g) == 0 {
		return out
	}
	for _, d := range ds {
		if d.Kind != snapshot.KindDir || d.Verdict != decision.Spare || len(out) == maxFollowers {
			continue
		}
		if after, ok := g.of(s.Dirs[d.ID]); ok {
			out[d.ID] = after
		}
	}
	return out
}

// foresee marks the folders that go as soon as what uses them has gone: they are looked at as if it had.
func (s *sweeper) foresee(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, mem memory, res eval.Result) {
	g := goingWith(snap, res.Decisions, func(d decision.Decision) bool { return d.Verdict == decision.Reap || d.Waits() })
	followers := g.followers(snap, res.Decisions)
	for i, d := range r.Decisions {
		after, ok := followers[d.ID]
		if !ok || ctx.Err() != nil {
			continue
		}
		sc := sources.ScopeOf(snap, d.ID)
		sc.Gone = func(pid int) bool { _, goes := g[pid]; return goes }
		then, _, err := (&judge{app: s.app, engine: s.engine, last: snap, memory: mem}).within(ctx, sc, d)
		switch {
		case err != nil:
			s.log.Debug("look at a folder without what uses it", "candidate", d.ID, "error", err)
		case then.Verdict == decision.Reap:
			r.Decisions[i].Findings, r.Decisions[i].After = then.Findings, after
		}
	}
}

// follow judges the folders again that nothing used but what has gone now, and gives the decisions of those that may go. Each is a fresh look, and
// each act looks again, as ever.
func (s *sweeper) follow(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, mem memory, res eval.Result) []decision.Decision {
	done := map[string]bool{}
	for _, a := range r.Acts {
		done[a.Candidate] = a.Outcome.Outcome == decision.Done || a.Outcome.Outcome == decision.Gone
	}
	followers := goingWith(snap, res.Decisions, func(d decision.Decision) bool { return done[d.ID] }).followers(snap, res.Decisions)
	var out []decision.Decision
	for i, d := range r.Decisions {
		after, ok := followers[d.ID]
		if !ok || ctx.Err() != nil {
			continue
		}
		now, err := (&judge{app: s.app, engine: s.engine, last: snap, memory: mem}).Again(ctx, d)
		switch {
		case err != nil:
			s.log.Warn("look again at a folder whose users have ended", "candidate", d.ID, "error", err)
		case now.Verdict == decision.Reap:
			now.After = after
			r.Replace(i, now)
			out = append(out, now)
		}
	}
	return out
}
