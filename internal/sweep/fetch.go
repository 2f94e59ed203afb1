package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

const (
	// fetchTime is how long the fetching of one repository may take.
	fetchTime = 30 * time.Second
	// maxFetches is how many are fetched at a time.
	maxFetches = 4
)

// remoteBranch is a branch of a repository's remote on which work lands.
type remoteBranch struct{ common, ref string }

// fetched brings the remotes' branches up to date on which work lands, for which a look has found linked worktrees, and looks again where one of them
// moved. What could not be fetched is said in the source of those worktrees, and changes nothing else.
func (s *Sweeper) fetched(ctx context.Context, snap *snapshot.Snapshot, mem look.PriorState) (*snapshot.Snapshot, error) {
	branches := map[remoteBranch]string{} // with what it stands for
	for _, d := range snap.Dirs {
		g := d.Git
		if g == nil || g.Worktree == nil || !*g.Worktree || !strings.HasPrefix(g.Upstream, "refs/remotes/") {
			continue
		}
		for _, ref := range append(g.Bases, g.Upstream) {
			branches[remoteBranch{g.CommonDir, ref}] = tip(remoteBranch{g.CommonDir, ref})
		}
	}
	failed, moved := fetchAll(ctx, slices.Collect(maps.Keys(branches))), false
	for b, before := range branches {
		moved = moved || tip(b) != before
	}
	if moved {
		var err error
		if snap, err = s.LookFor(ctx, sources.Scope{}, mem, s.Engine); err != nil {
			return nil, err
		}
	}
	for b, err := range failed {
		text := fmt.Sprintf("%s of %s was not fetched: %v; it was judged by what had been fetched before", b.ref, b.common, err)
		s.Log.Warn("fetch", "repository", b.common, "branch", b.ref, "error", err)
		said := map[string]bool{}
		for _, d := range snap.Dirs {
			if d.Git == nil || d.Git.CommonDir != b.common || said[d.Source] {
				continue
			}
			said[d.Source] = true
			src := snap.Sources[d.Source]
			src.Fetch = append(src.Fetch, text)
			slices.Sort(src.Fetch)
			snap.Sources[d.Source] = src
		}
	}
	return snap, nil
}

// tip is what a remote branch stands for, "" where that is not known.
func tip(b remoteBranch) string {
	oid, err := git.NewRefs(b.common).Resolve(b.common, b.ref)
	if err != nil {
		return ""
	}
	return oid
}

// fetchAll fetches branches, a few at a time, and gives why some of them were not.
func fetchAll(ctx context.Context, branches []remoteBranch) map[remoteBranch]error {
	var mu sync.Mutex
	failed := map[remoteBranch]error{}
	places := make(chan struct{}, maxFetches)
	var all sync.WaitGroup
	for _, b := range branches {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if err := act.Fetch(ctx, gitsafe.Program{}, b.common, b.ref, fetchTime); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[b] = err
			}
		})
	}
	all.Wait()
	return failed
}
