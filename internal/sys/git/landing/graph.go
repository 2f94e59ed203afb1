// Package landing tells what of the work in a repository is in its upstream, and how it got there. It asks git in a
// folder of our own (gitsafe), writes nothing that stays, and reads no configuration.
package landing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// MaxCommits is how many commits are looked at in one repository that the upstream does not reach, or that nothing
// keeps; with more, which worktree has which stays unknown.
const MaxCommits = 200_000

// Graph is a part of the history: each commit with its parents.
type Graph map[string][]string

// Reach gives the commits of g that can be reached from these.
func (g Graph) Reach(from ...string) map[string]bool {
	seen := map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0 && len(g) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if parents, ok := g[oid]; ok && !seen[oid] {
			seen[oid] = true
			todo = append(todo, parents...)
		}
	}
	return seen
}

// Ahead is the part of the history that the upstream does not reach.
type Ahead struct {
	Commits Graph
	// Edge are the commits of the upstream's history that are parents of one of them.
	Edge map[string]bool
	// Many says that there are more than MaxCommits, and that the rest was left out.
	Many bool
}

// Count counts the commits that head reaches and the upstream does not; nil where this is not known.
func (a Ahead) Count(head string, landed bool) *int {
	if a.Many && !landed {
		return nil
	}
	return new(len(a.Commits.Reach(head)))
}

// Landed tells for each head that exists whether the upstream reaches it. Without an upstream it only tells which
// exist.
func Landed(ctx context.Context, sealed *gitsafe.Sandbox, upstream string, heads map[string]bool) (
	map[string]bool, Ahead, error,
) {
	if len(heads) == 0 {
		return nil, Ahead{}, nil
	}
	if upstream == "" {
		there, err := existing(ctx, sealed, heads)
		return there, Ahead{}, err
	}
	landed, over, err := listed(ctx, sealed, upstream, heads)
	if err == nil || ctx.Err() != nil {
		return landed, over, err
	}
	// One head without a commit fails the whole list.
	there, cerr := existing(ctx, sealed, heads)
	if cerr != nil || len(there) == len(heads) {
		return nil, Ahead{}, err
	}
	if len(there) == 0 {
		return nil, Ahead{}, nil
	}
	return listed(ctx, sealed, upstream, there)
}

// listed asks for everything that the upstream does not reach: a head that is not in the answer has landed. Without
// --ignore-missing a head that does not exist fails the run, and is never taken for one that is reached.
func listed(ctx context.Context, sealed *gitsafe.Sandbox, upstream string, heads map[string]bool) (
	map[string]bool, Ahead, error,
) {
	landed := make(map[string]bool, len(heads))
	for oid := range heads {
		landed[oid] = true
	}
	over := Ahead{Commits: Graph{}, Edge: map[string]bool{}}
	in := revisions(heads, map[string]bool{upstream: true})
	err := revList(ctx, sealed, in, func(oids []string, edge bool) error {
		switch {
		case over.Many:
		case edge:
			over.Edge[oids[0]] = true
		case len(over.Commits) >= MaxCommits:
			over = Ahead{Many: true}
		default:
			over.Commits[oids[0]] = oids[1:]
		}
		if landed[oids[0]] && !edge {
			landed[oids[0]] = false
		}
		return nil
	}, "--parents", "--boundary")
	if err != nil {
		return nil, Ahead{}, err
	}
	return landed, over, nil
}

// existing tells which of the commits exist.
func existing(ctx context.Context, sealed *gitsafe.Sandbox, oids map[string]bool) (map[string]bool, error) {
	there := map[string]bool{}
	in := revisions(oids, nil)
	call := lines(in, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	_, err := sealed.Run(ctx, call, func(line []byte) error {
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

// Unkept gives everything that these commits reach and nothing that is kept does. What does not exist any more is lost
// already and passed over (--ignore-missing).
func Unkept(ctx context.Context, sealed *gitsafe.Sandbox, own, kept map[string]bool) (Graph, error) {
	g := Graph{}
	err := revList(ctx, sealed, revisions(own, kept), func(oids []string, _ bool) error {
		if len(g) >= MaxCommits {
			return fmt.Errorf("more than %d commits are reached by nothing else", MaxCommits)
		}
		g[oids[0]] = oids[1:]
		return nil
	}, "--parents", "--ignore-missing")
	if err != nil {
		return nil, err
	}
	return g, nil
}

// FirstUnkept gives one object that these objects lead to and nothing that is kept does, head where that is such a one, ""
// if there is none. Tags stand for what they name. An object that does not exist fails the run.
func FirstUnkept(ctx context.Context, sealed *gitsafe.Sandbox, head string, own, kept map[string]bool) (first string, err error) {
	var in bytes.Buffer
	for oid := range own {
		in.WriteString(oid + "^{}\n")
	}
	in.Write(revisions(nil, kept).Bytes())
	call := lines(&in, "rev-list", "--objects", "--no-object-names", "--stdin")
	stderr, err := sealed.Run(ctx, call, func(line []byte) error {
		if !gitsafe.IsOID(string(line)) {
			return gitsafe.ErrAnswer
		}
		if first == "" || string(line) == head {
			first = string(line)
		}
		return nil
	})
	if err == nil && stderr != "" {
		err = fmt.Errorf("git complained: %.200q", stderr)
	}
	return first, err
}

// KeptHeads tells which of the heads one of the keepers reaches. A head, or a keeper, that does not exist fails the
// run: then it is not known.
func KeptHeads(ctx context.Context, sealed *gitsafe.Sandbox, heads, keepers map[string]bool) (map[string]bool, error) {
	kept := maps.Clone(heads)
	err := revList(ctx, sealed, revisions(heads, keepers), func(oids []string, _ bool) error {
		if kept[oids[0]] {
			kept[oids[0]] = false
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for other branches: %w", err)
	}
	return kept, nil
}

// revisions writes commits, and those whose history is left out, as git reads them from its standard input.
func revisions(oids, but map[string]bool) *bytes.Buffer {
	var in bytes.Buffer
	for oid := range oids {
		in.WriteString(oid + "\n")
	}
	for oid := range but {
		in.WriteString("^" + oid + "\n")
	}
	return &in
}

func lines(in io.Reader, args ...string) gitsafe.Call {
	return gitsafe.Call{Args: args, Stdin: in, Until: '\n'}
}

// revList lists commits with what stands behind them, such as their parents. edge says that one is at the boundary.
func revList(
	ctx context.Context, sealed *gitsafe.Sandbox, in io.Reader, each func(oids []string, edge bool) error, args ...string,
) error {
	call := lines(in, append(append([]string{"rev-list"}, args...), "--stdin")...)
	_, err := sealed.Run(ctx, call, func(line []byte) error {
		text, edge := strings.CutPrefix(string(line), "-")
		oids := strings.Fields(text)
		if len(oids) == 0 || slices.ContainsFunc(oids, func(oid string) bool { return !gitsafe.IsOID(oid) }) {
			return gitsafe.ErrAnswer
		}
		return each(oids, edge)
	})
	return err
}
