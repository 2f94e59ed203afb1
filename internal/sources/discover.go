package sources

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/workplaces"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Discover says what a folder that some record names leads to: its repository, and the folder in which worktrees lie beside it.
func (set Set) Discover(sc Scope) func(path string) []collectors.Source {
	o := set.dirOptions(sc) // for all paths: making them costs more than most paths do
	return func(path string) []collectors.Source { return set.discover(o, path) }
}

func (set Set) discover(o dirs.Options, path string) []collectors.Source {
	var out []collectors.Source
	if s, ok := dirs.Repository(o, path); ok {
		out = append(out, s)
	}
	if real, err := dirs.Real(path); err == nil {
		path = real
	}
	for _, name := range set.Config.Rules.WorktreeFolders {
		around := filepath.Dir(path)
		if filepath.Base(around) != name {
			around = filepath.Join(around, name)
		}
		// One that may be there and cannot be looked at is a source that fails, and says why.
		if st, err := os.Stat(around); err == nil && st.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			out = append(out, dirs.Roots(o, []string{around})...)
		}
	}
	return out
}

// Around says which repository a place of work lies in, where that has linked worktrees and the configuration lets it be found so.
func (set Set) Around(sc Scope) func(from, path string) []collectors.Source {
	o := set.dirOptions(sc)
	return func(from, path string) []collectors.Source {
		if !slices.Contains(set.Config.Collect.Dirs.DiscoverFrom, from) {
			return nil
		}
		if s, ok := dirs.Linked(o, path); ok {
			return []collectors.Source{s}
		}
		return nil
	}
}

// Searches look for places of work; repositories are those that the ledger remembers.
func (set Set) Searches(repositories []string) []collectors.Search {
	c := set.Config.Collect.Dirs
	log := set.Log.Named("discover")
	records := text.Map(c.Projects, func(p config.Project) workplaces.Record { return workplaces.Record(p) })
	var out []collectors.Search
	for _, s := range []collectors.Search{
		{Name: "the ledger", From: config.FromLedger, Find: func(context.Context) []string { return repositories }},
		{Name: "agents' records", From: config.FromAgents, Find: func(ctx context.Context) []string { return workplaces.Recorded(ctx, records, log) }},
		{Name: "discover_under", From: config.FromUnder, Find: func(ctx context.Context) []string { return workplaces.FindRepositories(ctx, c.DiscoverUnder, log) }},
	} {
		if slices.Contains(c.DiscoverFrom, s.From) {
			out = append(out, s)
		}
	}
	return out
}
