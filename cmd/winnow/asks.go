package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"winnow/cmd/winnow/sources"
	"winnow/collectors"
	"winnow/collectors/dirs"
	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// thrift says of each folder of a look whether the dear questions about it (who uses it, what git says of its content, how its work has landed, how large it is) are
// worth asking: whether the engine, if all of them were answered in the way that speaks most for reaping it, would reap it or a folder in it that can be made
// again, or leave it for a person or report it by a rule at ask or observe. Without an answer of the policies they are asked.
//
// It is nil where the rules are not such that this is known (thrifty), where no engine judges the look, and where what it saw is recorded, so that any rules
// may judge it later: then the folders themselves say what most rules keep.
func (a *app) thrift(ctx context.Context, e *eval.Engine, s *snapshot.Snapshot) func(id string) dirs.Decided {
	if e == nil || a.cfg.Record > 0 || !thrifty(a.policy) {
		return nil
	}
	res, err := e.Decide(ctx, subject.Best(s, &a.cfg.Rules.Config), &a.cfg.Rules.Config)
	if err != nil {
		return nil // the look was interrupted
	}
	keeps := map[string]string{}
	for _, d := range res.Decisions {
		keeps[d.ID] = a.keeps(d)
	}
	working := working(s)
	return func(id string) dirs.Decided {
		why, ok := keeps[id]
		if !ok {
			why = unclaimed
		}
		if why == "" {
			return dirs.Decided{}
		}
		at := strings.TrimPrefix(id, snapshot.KindDir+":")
		part, ok := keeps[subject.PartID(at)]
		return dirs.Decided{Skip: why, Part: ok && part == "", Users: working[at]}
	}
}

// unclaimed is why nothing is asked of a folder that no rule would find a reason for.
const unclaimed = "no rule gives a reason to reap it, whatever it holds"

// keeps is what keeps the candidate of a decision that was made with the best answers to all dear questions; "" where nothing does.
func (a *app) keeps(d decision.Decision) string {
	for _, o := range d.Objections {
		if !fewer(o.Rule) && a.shipped(o.Rule) {
			return o.Message
		}
	}
	if len(d.Findings) == 0 && !slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == decision.PolicyError }) {
		return unclaimed
	}
	return ""
}

// fewer reports whether a rule may object less when another one finds less: with the true answers, which give fewer reasons, it may keep silent.
func fewer(rule string) bool {
	return slices.Contains([]string{decision.RuleSeenOnce, "protect.excepted", "protect.project"}, rule)
}

// shipped reports whether a rule is one of those that the program brings. Of those it is known, and tested, that no answer to a dear question makes them object less than the
// best answer does.
func (a *app) shipped(rule string) bool {
	of := a.policy.Rule(rule).File
	return slices.ContainsFunc(a.policy.Files, func(f policy.File) bool { return f.Name == of && f.Tree == embeddedTree })
}

// thrifty reports whether all rules that may find a reason to reap a folder are shipped ones, in the packages that they are shipped with. What others bring may then keep more,
// and be about other kinds; whether what it keeps is worth a question is not taken from it.
func thrifty(p *policy.Policy) bool {
	if p == nil {
		return false
	}
	own := map[string]bool{} // by package
	for _, f := range p.Files {
		if f.Tree == embeddedTree {
			own[path.Dir(f.Path)] = true
		}
	}
	if len(own) == 0 {
		return false
	}
	for _, f := range p.Files {
		if f.Tree == embeddedTree || strings.HasSuffix(f.Path, "_test.rego") {
			continue
		}
		parts := strings.Split(f.Path, "/")
		if own[path.Dir(f.Path)] || len(parts) < 3 {
			return false
		}
		k, known := snapshot.KindOfRules(parts[1])
		if parts[0] != "protect" && (parts[0] != "reap" || !known || k.Name == snapshot.KindDir) {
			return false
		}
	}
	return true
}

// working are the processes that are known to work in a folder, or in one below it, by the folder's path, by what the look has read of them anyway. What an agent's vendor runs for
// all of its agents together works in no folder.
func working(s *snapshot.Snapshot) map[string][]snapshot.Holder {
	at := map[string]bool{}
	for _, d := range s.Dirs {
		at[d.Path] = true
	}
	out := map[string][]snapshot.Holder{}
	for _, p := range s.Processes {
		if p.Cwd == nil || p.CwdDeleted == nil || *p.CwdDeleted || p.Daemon != nil && *p.Daemon != "" || !path.IsAbs(*p.Cwd) {
			continue
		}
		for dir := path.Clean(*p.Cwd); ; dir = path.Dir(dir) {
			if at[dir] {
				out[dir] = append(out[dir], snapshot.Holder{PID: p.PID, Name: p.Name, How: "cwd"})
			}
			if dir == "/" {
				break
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b snapshot.Holder) int { return a.PID - b.PID })
	}
	return out
}

// inFull asks all about one folder of a look, whatever keeps it: a person asked for it by name.
func (a *app) inFull(ctx context.Context, s *snapshot.Snapshot, id string) error {
	d, ok := s.Dirs[id]
	if !ok || d.Symlink != nil && *d.Symlink {
		return nil
	}
	sc := sources.ScopeOf(s, id)
	sc.Full = true
	again := collectors.Run(ctx, collectors.RunOptions{Sources: a.sources().Folder(sc), Timeout: a.cfg.Collect.Timeout, Log: a.log.Named("collectors")})
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := again.Dirs[id]; ok {
		s.Dirs[id] = d
	}
	return nil
}
