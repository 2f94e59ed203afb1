package look

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sources"
)

// prefilter says of each folder of a look whether the dear questions about it (who uses it, what git says of its content, how its work has landed, how large it is) are
// worth asking: see eval.Engine.Prejudge.
//
// It is nil where the rules are not such that this is known (thrifty), where no engine judges the look, and where what it saw is recorded, so that any rules
// may judge it later: then the folders themselves say what most rules keep.
func (l *Looker) prefilter(ctx context.Context, e *eval.Engine, s *snapshot.Snapshot) func(id string) dirs.Prefiltered {
	if e == nil || l.Cfg.Record > 0 || !mayPrefilter(l.Policy) {
		return nil
	}
	settled, err := e.Prejudge(ctx, s, &l.Cfg.Rules.Config, l.Shipped())
	if err != nil {
		return nil // the look was interrupted
	}
	working := working(s)
	return func(id string) dirs.Prefiltered {
		f := settled[id]
		if f.Why == "" {
			return dirs.Prefiltered{}
		}
		return dirs.Prefiltered{Skip: f.Why, Part: f.Part, Users: working[strings.TrimPrefix(id, snapshot.KindDir+":")]}
	}
}

// mayPrefilter reports whether all rules that may find a reason to reap a folder are shipped ones, in the packages that they are shipped with. What others bring may then keep more,
// and be about other kinds; whether what it keeps is worth a question is not taken from it.
func mayPrefilter(p *policy.Policy) bool {
	if p == nil {
		return false
	}
	own := map[string]bool{} // by package
	for _, f := range p.Files {
		if f.Tree == ruleset.EmbeddedName {
			own[path.Dir(f.Path)] = true
		}
	}
	if len(own) == 0 {
		return false
	}
	for _, f := range p.Files {
		if f.Tree == ruleset.EmbeddedName || strings.HasSuffix(f.Path, "_test.rego") {
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

// InFull asks all about one folder of a look, also of one that is kept: a person asked for it by name.
func (l *Looker) InFull(ctx context.Context, s *snapshot.Snapshot, id string) error {
	d, ok := s.Dirs[id]
	if !ok || d.Symlink != nil && *d.Symlink {
		return nil
	}
	again, err := l.folder(ctx, sources.ScopeOf(s, id))
	if d, ok := again[id]; ok && err == nil {
		s.Dirs[id] = d
	}
	return err
}

// PartInFull adds to a look the folder that a person asked for by its whole id, where it can be made again and lies in a worktree that was not looked into.
func (l *Looker) PartInFull(ctx context.Context, s *snapshot.Snapshot, id string) error {
	at, ok := strings.CutPrefix(id, snapshot.KindDir+":")
	if _, there := s.Dirs[id]; there || !ok || !path.IsAbs(at) {
		return nil
	}
	for up := path.Dir(path.Clean(at)); up != "/"; up = path.Dir(up) {
		around, there := s.Dirs[snapshot.KindDir+":"+up]
		if !there || around.Skipped == "" {
			continue
		}
		again, err := l.folder(ctx, sources.Scope{ID: id, Kind: snapshot.KindDir, Source: around.Source, Native: at})
		if d, ok := again[id]; ok && err == nil && d.Content != nil && d.Content.Pattern != "" && d.Content.Ignored != nil && *d.Content.Ignored {
			s.Dirs[id] = d
		}
		return err
	}
	return nil
}

// folder reads all about the folder that a look is narrowed to.
func (l *Looker) folder(ctx context.Context, sc sources.Scope) (map[string]snapshot.Dir, error) {
	sc.Full = true
	s := collectors.Run(ctx, collectors.RunOptions{Sources: l.Sources().Folder(sc), Timeout: l.Cfg.Collect.Timeout, Log: l.Log.Named("collectors")})
	return s.Dirs, ctx.Err()
}
