package sweep

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
)

// maxDependents is how many folders, and how many tabs, a sweep asks about again because all that uses or keeps them goes.
const maxDependents = 50

// Showing are the tabs that nothing keeps but what they show, where all of that goes, each with what it shows.
func Showing(ds []decision.Decision, goes func(id string) bool) map[string][]string {
	out := map[string][]string{}
	for _, d := range ds {
		if d.Kind != snapshot.KindTab || d.Verdict != decision.Spare || !d.Shows() || len(out) == maxDependents {
			continue
		}
		if shown := shownBy(d); len(shown) > 0 && !slices.ContainsFunc(shown, func(id string) bool { return !goes(id) }) {
			out[d.ID] = shown
		}
	}
	return out
}

// shownBy are the ids of what a tab shows, as the objection that waits for it names them.
func shownBy(d decision.Decision) []string {
	var out []string
	for _, o := range d.Objections {
		list, _ := o.Evidence["sessions"].([]any)
		for _, v := range list {
			if id, ok := v.(string); ok && o.Rule == decision.RuleShowing {
				out = append(out, id)
			}
		}
	}
	return out
}

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

// goers gives the candidates that all users of a folder go with, and false where one of them stays, or is not known.
func (g going) goers(d snapshot.Dir) ([]string, bool) {
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
		if d.Kind != snapshot.KindDir || d.Verdict != decision.Spare || len(out) == maxDependents {
			continue
		}
		if after, ok := g.goers(s.Dirs[d.ID]); ok {
			out[d.ID] = after
		}
	}
	return out
}

// kept are worktrees that only candidates use, and these candidates: a server keeps its worktree, and the worktree keeps the server.
type kept struct {
	users     going
	worktrees []decision.Decision
	by        map[string][]string
}

// Decide decides on a look, and once more where worktrees go as soon as what was left in them has gone.
func (s *Sweeper) Decide(ctx context.Context, snap *snapshot.Snapshot, mem look.PriorState) (eval.Result, error) {
	res, err := s.Engine.Decide(ctx, snap, &s.Cfg.Rules.Config)
	if err != nil {
		return res, err
	}
	g := goingWith(snap, res.Decisions, func(d decision.Decision) bool {
		return d.Verdict == decision.Reap || d.Waits() || d.Kind == snapshot.KindProcess
	})
	listens := map[int]bool{}
	for _, p := range snap.Processes {
		listens[p.PID] = p.Listening != nil && len(*p.Listening) > 0 || p.UnixSockets != nil && len(*p.UnixSockets) > 0
	}
	s.kept = kept{users: g, by: g.followers(snap, res.Decisions)}
	_, s.kept.worktrees = indexed(res.Decisions, func(d decision.Decision) bool {
		w := snap.Dirs[d.ID] // what can be made again in a worktree is a folder too, and the worktree stays
		return s.kept.by[d.ID] != nil && w.Git != nil && w.Content == nil && slices.ContainsFunc(w.Holders, func(h snapshot.Holder) bool { return listens[h.PID] })
	})
	for whole := res; s.judgeOn(snap, mem).markDone(ctx, snap, whole.Decisions); { // until all users of each worktree that is left may go
		if res, err = s.Engine.Decide(ctx, snap, &s.Cfg.Rules.Config); err != nil {
			return res, err
		}
		_, stay := indexed(res.Decisions, func(d decision.Decision) bool { return d.Verdict != decision.Reap && !d.Waits() })
		_, rest := indexed(s.kept.worktrees, func(w decision.Decision) bool {
			return !slices.ContainsFunc(stay, func(d decision.Decision) bool { return slices.Contains(s.kept.by[w.ID], d.ID) })
		})
		if len(rest) == len(s.kept.worktrees) {
			return res, nil
		}
		s.kept.worktrees, res = rest, whole
	}
	return res, nil
}

// markDone marks the processes among some candidates whose worktree goes as soon as all that uses it has gone, as a look of now says that takes
// all of that for gone. It reports whether it marked any.
func (j *judge) markDone(ctx context.Context, s *snapshot.Snapshot, among []decision.Decision) (marked bool) {
	_, worktrees := indexed(j.kept.worktrees, func(w decision.Decision) bool {
		return slices.ContainsFunc(among, func(d decision.Decision) bool { return slices.Contains(j.kept.by[w.ID], d.ID) })
	})
	for _, p := range s.Processes {
		if p.WorktreeDone != nil {
			p.WorktreeDone = nil
		}
	}
	for n, then := range j.without(ctx, j.kept.users, worktrees) {
		for _, id := range j.kept.by[worktrees[n].ID] {
			p, at := s.Processes[id], j.last.Dirs[worktrees[n].ID].Path
			if p != nil && p.Cwd != nil && strings.HasPrefix(*p.Cwd+"/", at+"/") && then.Err == nil && then.Decision.Verdict == decision.Reap {
				p.WorktreeDone, marked = new(true), true
			}
		}
	}
	return marked
}

// without judges folders again by a look that takes some processes for gone.
func (j *judge) without(ctx context.Context, g going, folders []decision.Decision) []actuators.Judgement {
	if len(folders) == 0 || ctx.Err() != nil {
		return nil
	}
	sc := sources.ScopeOf(j.last, folders[0].ID, candidates(folders[1:])...)
	sc.Gone = func(pid int) bool { _, goes := g[pid]; return goes }
	judged, _ := j.rejudgeScope(ctx, sc, folders)
	return judged
}

// Foresee marks the folders that go as soon as what uses them has gone: they are looked at as if it had. It also marks the tabs that go as soon as what
// they show has gone: nothing else keeps those.
func (s *Sweeper) Foresee(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, mem look.PriorState, res eval.Result) {
	g := goingWith(snap, res.Decisions, func(d decision.Decision) bool { return d.Verdict == decision.Reap || d.Waits() })
	goes := map[string]bool{}
	for _, d := range res.Decisions {
		goes[d.ID] = d.Verdict == decision.Reap
	}
	tabs := Showing(res.Decisions, func(id string) bool { return goes[id] })
	for i, d := range r.Decisions {
		if after, ok := tabs[d.ID]; ok {
			r.Decisions[i].After = after
		}
	}
	followers := g.followers(snap, res.Decisions)
	at, ds := indexed(r.Decisions, func(d decision.Decision) bool { return followers[d.ID] != nil })
	for n, then := range s.judgeOn(snap, mem).without(ctx, g, ds) {
		switch d := ds[n]; {
		case then.Err != nil:
			s.Log.Debug("look at a folder without what uses it", "candidate", d.ID, "error", then.Err)
		case then.Decision.Verdict == decision.Reap:
			r.Decisions[at[n]].Findings, r.Decisions[at[n]].After = then.Decision.Findings, followers[d.ID]
		}
	}
}

// indexed are the decisions that some reports true of, each with where it is.
func indexed(ds []decision.Decision, some func(decision.Decision) bool) (at []int, out []decision.Decision) {
	for i, d := range ds {
		if some(d) {
			at, out = append(at, i), append(out, d)
		}
	}
	return at, out
}

func candidates(ds []decision.Decision) []string {
	return text.Map(ds, func(d decision.Decision) string { return d.ID })
}

// reapDependents judges the folders again that nothing used but what has gone now, and the tabs that nothing kept but what has gone now, and gives the decisions of
// those that may go, of the kinds that may be acted on. Each is a fresh look, and each act looks again, as ever.
func (s *Sweeper) reapDependents(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, mem look.PriorState, res eval.Result, may func(kind string) bool) []decision.Decision {
	done := map[string]bool{}
	for _, a := range r.Acts {
		done[a.Candidate] = a.Outcome.Outcome == decision.Done || a.Outcome.Outcome == decision.Gone
	}
	followers := goingWith(snap, res.Decisions, func(d decision.Decision) bool { return done[d.ID] }).followers(snap, res.Decisions)
	maps.Copy(followers, Showing(res.Decisions, func(id string) bool { return done[id] }))
	var out []decision.Decision
	for _, kind := range snapshot.KindNames() {
		at, ds := indexed(r.Decisions, func(d decision.Decision) bool { return d.Kind == kind && followers[d.ID] != nil })
		if len(ds) == 0 || !may(kind) || ctx.Err() != nil {
			continue
		}
		for n, now := range s.judgeOn(snap, mem).Rejudge(ctx, ds) {
			switch {
			case now.Err != nil:
				s.Log.Warn("look again at what waited for others to end", "candidate", ds[n].ID, "error", now.Err)
			case now.Decision.Verdict == decision.Reap:
				now.Decision.After = followers[ds[n].ID]
				r.Replace(at[n], now.Decision)
				out = append(out, now.Decision)
			}
		}
	}
	return out
}
