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
			w.failOwn(errors.New("read HEAD: its commit does not exist"))
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
	// Git has nothing to print where everything has landed, and nothing is kept by the worktrees alone.
	if len(a.stray) == 0 && !slices.Contains(slices.Collect(maps.Values(a.landed)), false) {
		// A program that is not git, and says nothing, gives these answers too.
		a.err = errors.Join(a.err, git.Answers(ctx))
	}
	return a
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

// ProveMerged finds out for all of these worktrees at once how their work got into the upstream, or into one of their Bases, where
// MeasureAhead has found that the upstream does not reach them, and whether the heads of those in which nothing was committed are kept
// by another branch. What it cannot find out stays nil. Package landing says what a proof is.
func (r *Repository) ProveMerged(ctx context.Context, git Program, worktrees []*Worktree) error {
	q := merged{fresh: map[string]bool{}, into: map[string]map[string]bool{}, tips: map[string]map[string]bool{}, cuts: map[string]map[string]bool{}}
	for _, w := range worktrees {
		switch {
		case w.Head == "" || w.Commits == nil || w.Landed != nil && *w.Landed:
			continue
		case *w.Commits == 0:
			q.fresh[w.Head] = true
		}
		// A branch that was brought here, as somebody's pull request is, lands too.
		if w.Landed == nil || r.ahead.Many {
			continue
		}
		for _, ref := range append(w.Bases, r.Upstream) {
			include(q.into, ref, w.Head)
		}
		include(q.tips, w.Head, w.Branch)
		for oid := range r.stack(w) {
			include(q.cuts, w.Head, oid)
		}
	}
	if len(q.into)+len(q.fresh) == 0 {
		return nil
	}
	found, err := Await(ctx, func() landings { return r.landings(ctx, git, q) })
	err = cmp.Or(err, found.err)
	for _, w := range worktrees {
		for _, ref := range append([]string{r.Upstream}, w.Bases...) {
			if l, ok := found.by[ref][w.Head]; ok && q.into[ref][w.Head] && (l.By != "" || w.Landing == nil && ref == r.Upstream) {
				l.Into, w.Landing = ref, &l
			}
			if w.Landing != nil && w.Landing.By != "" {
				break
			}
		}
		if kept, ok := found.kept[w.Head]; ok && q.fresh[w.Head] {
			w.Elsewhere = &kept
		}
	}
	if err != nil {
		return fmt.Errorf("ask git whether the work is on %s: %w", r.Upstream, err)
	}
	return nil
}

func include(sets map[string]map[string]bool, name, member string) {
	if sets[name] == nil {
		sets[name] = map[string]bool{}
	}
	sets[name][member] = true
}

// merged is what ProveMerged asks: whether another branch keeps the fresh heads, and of each branch whether it has the work of these heads.
// Of the heads, tips are the branches that stand there, and cuts where those may have been made from other ones.
type merged struct {
	fresh            map[string]bool
	into, tips, cuts map[string]map[string]bool
}

// landings is what was found, by branch and head, and what of it failed.
type landings struct {
	by   map[string]map[string]landing.Proof
	kept map[string]bool
	err  error
}

func (r *Repository) landings(ctx context.Context, git Program, q merged) (found landings) {
	sealed, err := r.seal(ctx, git, gitsafe.View{Scratch: true})
	if err != nil {
		return landings{err: err}
	}
	defer func() { found.err = errors.Join(found.err, sealed.Close()) }()
	if len(q.fresh) > 0 {
		var used map[string]bool
		if used, found.err = r.checkedOut(); found.err == nil { // a branch that a linked worktree has checked out may go with it
			found.kept, found.err = r.keptHeads(ctx, sealed, q.fresh, used)
		}
	}
	found.by = map[string]map[string]landing.Proof{}
	for ref, heads := range q.into {
		found.by[ref], err = r.proofs(ctx, sealed, ref, heads, q)
		found.err = errors.Join(found.err, err)
	}
	return found
}

// proofs tells of the heads how their work is on a branch.
func (r *Repository) proofs(ctx context.Context, sealed *gitsafe.Sandbox, ref string, heads map[string]bool, q merged) (map[string]landing.Proof, error) {
	at, over := r.upstream, r.ahead
	reached := map[string]bool{}
	if ref != r.Upstream {
		var err error
		if at, err = r.refs.Resolve(r.CommonDir, ref); err != nil {
			return nil, err
		}
		if reached, over, err = landing.Landed(ctx, sealed, at, heads); err != nil || over.Many {
			return nil, err
		}
	}
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(heads)), func(head string) bool { return reached[head] })
	found, err := landing.Prove(ctx, sealed, at, over, open, q.cuts)
	for head := range heads {
		if reached[head] {
			found[head] = landing.Proof{By: landing.ByAncestry}
		}
		// What came before the latest part is another branch's, as long as that has it, or it has landed as well.
		if l := found[head]; l.Since != "" && !l.Before {
			kept, kerr := r.keptHeads(ctx, sealed, map[string]bool{l.Since: true}, q.tips[head])
			if err = errors.Join(err, kerr); !kept[l.Since] {
				found[head] = landing.Proof{}
			}
		}
	}
	return found, err
}

// keptHeads tells which of the heads a branch, a tag or a remote branch reaches, but for those refs.
func (r *Repository) keptHeads(ctx context.Context, sealed *gitsafe.Sandbox, heads, but map[string]bool) (map[string]bool, error) {
	keepers, err := r.refs.reachableFrom(r.hashSize(), but)
	if err != nil {
		return nil, err
	}
	return landing.KeptHeads(ctx, sealed, heads, keepers)
}
