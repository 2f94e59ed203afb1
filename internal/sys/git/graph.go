package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// maxStray is how many commits that nothing keeps are looked at in one repository; with more, which worktree has which stays
// unknown.
const maxStray = 200_000

// MeasureAhead finds out for all of these worktrees at once what the upstream reaches and what only they have. It runs git twice, or three more
// times where a HEAD names a commit that does not exist. What it cannot find out stays nil.
//
// Branches, tags, remote branches and the stash keep what they reach. So does the reflog of the branch that is checked out, which
// stays in the repository when the worktree goes, and the stash's. Other worktrees' HEADs do not: they can go next, so git's own
// --all, which counts them, is not used. For a main checkout or a clone Unreachable stays unknown, since its branches go with it.
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
			w.Ahead = answer.ahead.count(w.Head, state)
		}
		if !there && w.Head != "" {
			w.ownErr = errors.New("read HEAD: its commit does not exist")
			w.fail(w.ownErr)
		}
		if answer.strayErr == nil && w.Linked && w.ownErr == nil {
			w.Unreachable = new(answer.stray.count(w.own))
		}
	}
	r.ahead = answer.ahead
	if answer.strayErr != nil {
		return fmt.Errorf("ask git what nothing else reaches: %w", answer.strayErr)
	}
	return nil
}

// question is what is asked about a repository: which heads have landed, and what of what the worktrees own nothing else keeps.
type question struct{ heads, own, kept map[string]bool }

type answer struct {
	landed   map[string]bool
	ahead    ahead
	err      error
	stray    graph
	strayErr error
}

func (r *Repository) answer(ctx context.Context, git Program, q question) (a answer) {
	repo, err := r.sandboxes.open(ctx, git, r.CommonDir)
	if err != nil {
		return answer{err: fmt.Errorf("%w; git was not run", err)}
	}
	sealed, err := repo.Seal(ctx, gitsafe.View{})
	if err != nil {
		return answer{err: fmt.Errorf("%w; git was not run", err)}
	}
	defer func() { a.err = errors.Join(a.err, sealed.Close()) }()
	var both sync.WaitGroup
	both.Go(func() { a.stray, a.strayErr = r.stray(ctx, sealed, q) })
	landed, ahead, err := r.landed(ctx, sealed, q.heads)
	both.Wait()
	a.landed, a.ahead, a.err = landed, ahead, err
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

var errAnswer = errors.New("git's answer was not understood")

// landed tells for each head that exists whether the upstream reaches it. Without an upstream it only tells which exist.
func (r *Repository) landed(ctx context.Context, sealed *gitsafe.Sandbox, heads map[string]bool) (map[string]bool, ahead, error) {
	if len(heads) == 0 {
		return nil, ahead{}, nil
	}
	if r.upstream == "" {
		there, err := existing(ctx, sealed, heads)
		return there, ahead{}, err
	}
	landed, over, err := r.listed(ctx, sealed, heads)
	if err == nil || ctx.Err() != nil {
		return landed, over, err
	}
	// One head without a commit fails the whole list.
	there, cerr := existing(ctx, sealed, heads)
	if cerr != nil || len(there) == len(heads) {
		return nil, ahead{}, err
	}
	if len(there) == 0 {
		return nil, ahead{}, nil
	}
	return r.listed(ctx, sealed, there)
}

// listed asks for everything that the upstream does not reach: a head that is not in the answer has landed. Without
// --ignore-missing a head that does not exist fails the run, and is never taken for one that is reached.
func (r *Repository) listed(ctx context.Context, sealed *gitsafe.Sandbox, heads map[string]bool) (map[string]bool, ahead, error) {
	landed := make(map[string]bool, len(heads))
	over := ahead{commits: graph{}, edge: map[string]bool{}}
	var in bytes.Buffer
	for oid := range heads {
		landed[oid] = true
		in.WriteString(oid + "\n")
	}
	in.WriteString("^" + r.upstream + "\n")
	_, err := sealed.Run(ctx, ask(&in, "rev-list", "--parents", "--boundary", "--stdin"), func(line []byte) error {
		text, edge := strings.CutPrefix(string(line), "-")
		oids := strings.Fields(text)
		if len(oids) == 0 || slices.ContainsFunc(oids, func(oid string) bool { return !IsOID(oid) }) {
			return errAnswer
		}
		over.add(oids, edge)
		if _, ok := landed[oids[0]]; ok && !edge {
			landed[oids[0]] = false
		}
		return nil
	})
	if err != nil {
		return nil, ahead{}, err
	}
	return landed, over, nil
}

// ahead is the part of the history that the upstream does not reach. edge are the commits of the upstream's history that are parents of
// one of them.
type ahead struct {
	commits graph
	edge    map[string]bool
	many    bool // there are more than maxStray, and the rest was left out
}

func (a *ahead) add(oids []string, edge bool) {
	switch {
	case a.many:
	case edge:
		a.edge[oids[0]] = true
	case len(a.commits) >= maxStray:
		*a = ahead{many: true}
	default:
		a.commits[oids[0]] = oids[1:]
	}
}

// count counts the commits that head reaches and the upstream does not; nil where this is not known.
func (a ahead) count(head string, landed bool) *int {
	if a.many && !landed {
		return nil
	}
	return new(a.commits.count([]string{head}))
}

// existing tells which of the commits exist.
func existing(ctx context.Context, sealed *gitsafe.Sandbox, oids map[string]bool) (map[string]bool, error) {
	there := map[string]bool{}
	in := bytes.NewBufferString(strings.Join(slices.Collect(maps.Keys(oids)), "\n") + "\n")
	_, err := sealed.Run(ctx, ask(in, "cat-file", "--batch-check=%(objectname) %(objecttype)"), func(line []byte) error {
		if oid, kind, _ := strings.Cut(string(line), " "); kind == "commit" {
			there[oid] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for commits: %w", err)
	}
	return there, nil
}

func ask(in *bytes.Buffer, args ...string) gitsafe.Call {
	return gitsafe.Call{Args: args, Stdin: in, Until: '\n'}
}

// graph is a part of the history: each commit with its parents.
type graph map[string][]string

// stray gives everything that linked worktrees reach and nothing that is kept does. What a reflog names and no longer exists is
// lost already and passed over (--ignore-missing).
func (r *Repository) stray(ctx context.Context, sealed *gitsafe.Sandbox, q question) (graph, error) {
	own, kept := q.own, q.kept
	if len(own) == 0 {
		return graph{}, nil
	}
	add(kept, r.stashed)
	keepers, err := r.refs.reachableFrom(r.hashSize())
	if err != nil {
		return nil, err
	}
	maps.Copy(kept, keepers)
	var in bytes.Buffer
	for oid := range own {
		in.WriteString(oid + "\n")
	}
	for oid := range kept {
		in.WriteString("^" + oid + "\n")
	}
	g := graph{}
	_, err = sealed.Run(ctx, ask(&in, "rev-list", "--parents", "--ignore-missing", "--stdin"), func(line []byte) error {
		oids := strings.Fields(string(line))
		if len(oids) == 0 || slices.ContainsFunc(oids, func(oid string) bool { return !IsOID(oid) }) {
			return errAnswer
		}
		if len(g) >= maxStray {
			return fmt.Errorf("more than %d commits are reached by nothing else", maxStray)
		}
		g[oids[0]] = oids[1:]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func add(set map[string]bool, oids []string) {
	for _, oid := range oids {
		if !IsZero(oid) {
			set[oid] = true
		}
	}
}

// count counts the commits of g that can be reached from these.
func (g graph) count(from []string) int {
	if len(g) == 0 {
		return 0
	}
	seen := map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		parents, ok := g[oid]
		if !ok || seen[oid] {
			continue
		}
		seen[oid] = true
		todo = append(todo, parents...)
	}
	return len(seen)
}
