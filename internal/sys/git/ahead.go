package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// MeasureAhead finds out for all of these worktrees at once what the upstream reaches and what only they have. It runs
// git twice, or three more times where a HEAD names a commit that does not exist. What it cannot find out stays nil.
//
// Branches, tags, remote branches and the stash keep what they reach. So does the reflog of the branch that is checked
// out, which stays in the repository when the worktree goes, and the stash's. Other worktrees' HEADs do not: they can
// go next, so git's own --all, which counts them, is not used. For a main checkout or a clone Unreachable stays
// unknown, since its branches go with it.
func (r *Repository) MeasureAhead(ctx context.Context, git Program, worktrees []*Worktree) error {
	q := question{heads: map[string]bool{}, own: map[string]bool{}, kept: map[string]bool{}}
	for _, w := range worktrees {
		if w.Head != "" {
			q.heads[w.Head] = true
		}
		if w.Linked && w.ownErr == nil {
			add(q.own, w.own)
			add(q.kept, w.kept)
		}
	}
	answer, err := Await(ctx, func() answer { return r.answer(ctx, git, q) })
	if err = cmp.Or(err, answer.err); err != nil {
		return fmt.Errorf("ask git what has landed: %w", err)
	}
	for _, w := range worktrees {
		state, there := answer.landed[w.Head]
		if there && r.upstream != "" {
			w.Landed = new(state)
			w.Ahead = answer.ahead.Count(w.Head, state)
		}
		if !there && w.Head != "" {
			w.ownErr = errors.New("read HEAD: its commit does not exist")
			w.fail(w.ownErr)
		}
		if answer.strayErr == nil && w.Linked && w.ownErr == nil {
			w.Unreachable = new(len(answer.stray.Reach(w.own...)))
		}
	}
	r.ahead = answer.ahead
	if answer.strayErr != nil {
		return fmt.Errorf("ask git what nothing else reaches: %w", answer.strayErr)
	}
	return nil
}

// question is what is asked about a repository: which heads have landed, and what of what the worktrees own nothing
// else keeps.
type question struct{ heads, own, kept map[string]bool }

type answer struct {
	landed   map[string]bool
	ahead    landing.Ahead
	err      error
	stray    landing.Graph
	strayErr error
}

func (r *Repository) answer(ctx context.Context, git Program, q question) (a answer) {
	sealed, err := r.seal(ctx, git, gitsafe.View{})
	if err != nil {
		return answer{err: err}
	}
	defer func() { a.err = errors.Join(a.err, sealed.Close()) }()
	var both sync.WaitGroup
	both.Go(func() { a.stray, a.strayErr = r.stray(ctx, sealed, q) })
	a.landed, a.ahead, a.err = landing.Landed(ctx, sealed, r.upstream, q.heads)
	both.Wait()
	if a.empty() {
		// A program that is not git, and says nothing, gives these answers too.
		a.err = errors.Join(a.err, git.Answers(ctx))
	}
	return a
}

// empty says whether git had nothing to print: everything has landed, and nothing is kept by the worktrees alone.
func (a answer) empty() bool {
	for _, state := range a.landed {
		if !state {
			return false
		}
	}
	return len(a.stray) == 0
}

// stray gives everything that linked worktrees reach and nothing that is kept does.
func (r *Repository) stray(ctx context.Context, sealed *gitsafe.Sandbox, q question) (landing.Graph, error) {
	if len(q.own) == 0 {
		return landing.Graph{}, nil
	}
	add(q.kept, r.stashed)
	keepers, err := r.refs.reachableFrom(r.hashSize(), nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(q.kept, keepers)
	return landing.Unkept(ctx, sealed, q.own, q.kept)
}

func add(set map[string]bool, oids []string) {
	for _, oid := range oids {
		if !gitsafe.IsZero(oid) {
			set[oid] = true
		}
	}
}

// ProveMerged finds out for all of these worktrees at once how their work got into the upstream where MeasureAhead has
// found that the upstream does not reach them, and whether the heads of those in which nothing was committed are kept
// by another branch. What it cannot find out stays nil. Package landing says what a proof is.
func (r *Repository) ProveMerged(ctx context.Context, git Program, worktrees []*Worktree) error {
	heads, fresh := map[string]bool{}, map[string]bool{}
	for _, w := range worktrees {
		switch {
		case w.Head == "" || w.Commits == nil || w.Landed != nil && *w.Landed:
			continue
		case *w.Commits == 0:
			fresh[w.Head] = true
		}
		// A branch that was brought here, as somebody's pull request is, lands too.
		if w.Landed != nil && !r.ahead.Many {
			heads[w.Head] = true
		}
	}
	if len(heads)+len(fresh) == 0 {
		return nil
	}
	found, err := Await(ctx, func() landings { return r.landings(ctx, git, heads, fresh) })
	if err == nil {
		err = found.err
	}
	for _, w := range worktrees {
		if l, ok := found.by[w.Head]; ok && heads[w.Head] {
			w.Landing = &l
		}
		if kept, ok := found.kept[w.Head]; ok && fresh[w.Head] {
			w.Elsewhere = &kept
		}
	}
	if err != nil {
		return fmt.Errorf("ask git whether the work is on %s: %w", r.Upstream, err)
	}
	return nil
}

// landings is what was found, and what of it failed.
type landings struct {
	by   map[string]landing.Proof
	kept map[string]bool
	err  error
}

func (r *Repository) landings(ctx context.Context, git Program, heads, fresh map[string]bool) (found landings) {
	sealed, err := r.seal(ctx, git, gitsafe.View{Scratch: true})
	if err != nil {
		return landings{err: err}
	}
	defer func() { found.err = errors.Join(found.err, sealed.Close()) }()
	if len(fresh) > 0 {
		found.kept, found.err = r.reachedElsewhere(ctx, sealed, fresh)
	}
	if len(heads) > 0 {
		found.by, err = landing.Prove(ctx, sealed, r.upstream, r.ahead, slices.Sorted(maps.Keys(heads)))
		found.err = errors.Join(found.err, err)
	}
	return found
}

// reachedElsewhere tells which of the heads a branch, a tag or a remote branch reaches that no linked worktree has
// checked out.
func (r *Repository) reachedElsewhere(ctx context.Context, sealed *gitsafe.Sandbox, heads map[string]bool) (map[string]bool, error) {
	used, err := r.checkedOut()
	if err != nil {
		return nil, err
	}
	keepers, err := r.refs.reachableFrom(r.hashSize(), used)
	if err != nil {
		return nil, err
	}
	return landing.KeptHeads(ctx, sealed, heads, keepers)
}
