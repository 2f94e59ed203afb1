package dirs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The kinds of what leads into a folder from outside of it.
const (
	byLink     = "link"     // a symbolic link
	byInstall  = "install"  // an editable install of Python's
	byUnit     = "unit"     // a unit of systemd
	byCron     = "cron"     // a crontab
	byGit      = "git"      // a path in git's configuration
	byHook     = "hook"     // a git hook
	byScript   = "script"   // a program in ~/bin or ~/.local/bin
	byShell    = "shell"    // what a shell reads when it starts
	byCheckout = "checkout" // a folder whose .git leads to the same entry: a copy, or the worktree itself where it was moved by hand
)

// lead is one thing that leads to places elsewhere: to what it says itself, or, where it is a text, to each path that stands in it.
type lead struct {
	kind, path string
	to         []string
	text       string
}

// leadList is what was found in some places, and the folders there whose .git file leads to an entry of a repository, by that entry.
type leadList struct {
	list  []lead
	trees map[string][]string
	// err is why not all of it was read.
	err error
}

// pointing is what a look knows of what leads into folders: on the machine, and of each repository by its git folder.
type pointing struct {
	mu      sync.Mutex
	machine *leadList
	repos   map[string]*leadList
}

// points finds out what leads from outside into each candidate that is known to be unused.
func (l *look) points(ctx context.Context) {
	if l.o.Holders == nil || l.o.Places {
		return
	}
	var stuck error // one place that does not answer holds up the look once
	for _, c := range l.candidates {
		if c.dir.HoldersKnown == nil || !*c.dir.HoldersKnown || len(c.dir.Holders) > 0 {
			continue
		}
		var found []*leadList
		err := stuck
		if err == nil {
			own, cancel := context.WithTimeoutCause(ctx, l.o.Timeout, errTimeout)
			found, err = git.Await(own, func() []*leadList { return l.leadsOf(own, c) })
			stuck = err
			cancel()
		}
		for _, some := range found {
			if err == nil {
				err = some.err
			}
		}
		if err != nil {
			c.fail(fmt.Errorf("look what leads into it: %w", err))
			continue
		}
		c.dir.Pointers = new(c.pointers(l.o.Home, found))
	}
}

// leadsOf are what is to be asked of one candidate: that of the machine, and that of its repository where it has one. In one look at everything each
// is read once.
func (l *look) leadsOf(ctx context.Context, c *candidate) []*leadList {
	p := &l.pointing
	if l.o.wholeLook() {
		p = &l.o.Cache.pointing
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.machine == nil {
		p.machine = l.o.machineLeads(ctx)
	}
	common := c.place.CommonDir
	if c.around != nil { // it is in the repository of the worktree around it
		common = c.around.place.CommonDir
	}
	if common == "" {
		return []*leadList{p.machine}
	}
	if p.repos == nil {
		p.repos = map[string]*leadList{}
	}
	if p.repos[common] == nil {
		p.repos[common] = l.o.repositoryLeads(ctx, common)
	}
	return []*leadList{p.machine, p.repos[common]}
}

// pointers are those of the leads that end in the candidate and begin elsewhere. Into a folder that is gone only a checkout of its entry leads: it was moved by hand.
func (c *candidate) pointers(home string, found []*leadList) []snapshot.Pointer {
	out := []snapshot.Pointer{}
	own := c.dir.Path
	if c.around != nil {
		own = c.around.dir.Path
	}
	spellings := spellings(c.dir.Path, home)
	for _, some := range found {
		for _, lead := range some.list {
			if c.gone == nil && !proc.IsBelow(lead.path, own) && lead.into(c.dir.Path, spellings) {
				out = append(out, snapshot.Pointer{Kind: lead.kind, Path: lead.path})
			}
		}
		for _, tree := range some.trees[c.place.AdminDir] {
			if c.place.Linked && tree != c.dir.Path {
				out = append(out, snapshot.Pointer{Kind: byCheckout, Path: tree})
			}
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Pointer) int { return strings.Compare(a.Path+a.Kind, b.Path+b.Kind) })
	return slices.Compact(out)
}

// into reports whether it leads to a folder or to anything in it.
func (d lead) into(path string, spellings []string) bool {
	return slices.ContainsFunc(d.to, func(to string) bool { return proc.IsBelow(to, path) }) ||
		slices.ContainsFunc(spellings, func(name string) bool { return names(d.text, name) })
}

// spellings are the ways in which a text may write a path: units write %h for the home folder, shells and crontabs ~ and $HOME.
func spellings(path, home string) []string {
	all := []string{path}
	real, err := filepath.EvalSymlinks(home)
	if err != nil || home == "" || path == real || !proc.IsBelow(path, real) {
		return all
	}
	for _, start := range []string{home, "~", "$HOME", "${HOME}", "%h"} {
		all = append(all, start+path[len(real):])
	}
	return all
}

// names reports whether a path stands in a text, and not the beginning of a longer name.
func names(text, path string) bool {
	for {
		i := strings.Index(text, path)
		if i < 0 {
			return false
		}
		if text = text[i+len(path):]; text == "" || !strings.ContainsRune(nameSigns, rune(text[0])) {
			return true
		}
	}
}

// nameSigns are those that go on a name.
const nameSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+@"
