package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// watches begins to listen for events; the function that it gives ends that. Without events the schedule finds everything, later.
func (d *daemon) watches() (stop func()) {
	w, err := wake.Start(d.cfg.Collect.Processes.Root, d.Wake, d.log.Named("wake"))
	if err != nil {
		d.log.Warn("events cannot be heard, and sweeps come on schedule alone", "error", err)
		return func() {}
	}
	d.events = w
	return w.Close
}

// targets are what may change something of what a sweep saw: folders of candidates, records and sockets, and the processes that matter, agents first.
func (a *app) targets(s *snapshot.Snapshot, b *baseline) wake.Targets {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, root := range a.cfg.Collect.Dirs.Roots {
		if !strings.ContainsAny(root, "*?[") {
			folders[root] = true
		}
	}
	for _, d := range s.Dirs {
		if d.Root != "" {
			folders[d.Root] = true
		}
		if d.Git != nil && d.Git.CommonDir != "" {
			folders[filepath.Join(d.Git.CommonDir, "worktrees")] = true
		}
	}
	for _, src := range s.Sources {
		switch src.Kind {
		case "ledger", "processes", "dirs":
		case "tmux":
			if src.Path != "" {
				folders[filepath.Dir(src.Path)] = true
			}
		default:
			if filepath.IsAbs(src.Path) {
				files[src.Path] = true
			}
		}
	}
	t := wake.Targets{Folders: slices.Sorted(maps.Keys(folders)), Files: slices.Sorted(maps.Keys(files))}
	if b == nil {
		return t
	}
	first := func(pid int) int {
		if b.agents[pid] {
			return 0
		}
		return 1
	}
	for _, pid := range slices.SortedFunc(maps.Keys(b.known), func(x, y int) int { return cmp.Or(first(x)-first(y), x-y) }) {
		t.Processes = append(t.Processes, wake.Target{PID: pid, Start: b.known[pid].Start})
	}
	return t
}
