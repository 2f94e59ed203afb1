package look

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Targets are what may change something of what a sweep saw: folders of candidates, records and sockets, and the processes that matter, agents first.
func (l *Looker) Targets(s *snapshot.Snapshot, b *Fingerprint) wake.Targets {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, root := range l.Cfg.Collect.Dirs.Roots {
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
	up := host.Now().Up
	first := func(pid int) int {
		if b.agents[pid] {
			return 0
		}
		return 1
	}
	for _, pid := range slices.SortedFunc(maps.Keys(b.Known), func(x, y int) int { return cmp.Or(first(x)-first(y), x-y) }) {
		if b.Tells(pid, up) {
			t.Processes = append(t.Processes, wake.Target{PID: pid, Start: b.Known[pid].Start})
		}
	}
	return t
}

// Passing is for how long a process must have run, in seconds, to be worth a sweep when it ends while what started it lives.
const Passing = 60

// Tells reports whether the end of a process that matters is worth a sweep, at that many seconds since boot: that of an agent, of what a pane was opened with, of what nothing else
// here started, and of what has run for a while. An agent at work starts and ends a process every few seconds, and none of these ends is news while it lives.
func (b *Fingerprint) Tells(pid int, up *float64) bool {
	st := b.Known[pid]
	_, below := b.Known[st.Parent]
	return b.agents[pid] || b.shells[pid] || !below || up == nil || *up-float64(st.Start)/proc.UserHZ >= Passing
}
