package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/collectors/panes/herdr"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	hooked "github.com/winnow-reaper/winnow/internal/sys/tmux/watch"
)

// The sources of events that are there at all times, by their names in Status.Events. Those of herdr servers are named as the sources of the snapshot are.
const (
	fileEvents = "files"
	exitEvents = "exits"
)

// maxServers is how many servers of herdr and tmux are listened to at most: each takes a connection. The schedule finds what happens in others.
const maxServers = 32

// maxFolders is how many folders of sockets are remembered.
const maxFolders = 64

// events are the sources of events. Its methods but states belong to the daemon's loop.
type events struct {
	keeper *wake.Keeper
	files  *wake.Files
	exits  *wake.Exits
	wake   func(source string)
	// owner is whose the entries in tmux's hooks are: one daemon runs for a state folder.
	owner string
	// patience is how long a server has for its first answer.
	patience time.Duration
	// servers are the herdr servers that are listened to: the sockets by the sources' names.
	servers map[string]string
	// folders had a socket once: a server that comes back there has no source in the meantime.
	folders map[string]bool
}

// watches begins to listen for events; the function that it gives ends that. Without events the schedule finds everything, later.
func (d *daemon) watches() (stop func()) {
	log := d.Log.Named("wake")
	e := &events{keeper: wake.NewKeeper(d.Wake, log), files: wake.NewFiles(d.Cfg.Collect.Processes.Root, d.Wake, log), exits: wake.NewExits(d.Wake), wake: d.Wake, owner: d.Cfg.State, patience: d.Cfg.Collect.Timeout,
		servers: map[string]string{}, folders: map[string]bool{}}
	e.keeper.Keep(fileEvents, wake.Folder, e.files.Run)
	if filepath.Clean(d.Cfg.Collect.Processes.Root) == "/proc" { // the kernel's pids are those of this process's own namespace
		e.keeper.Keep(exitEvents, wake.Exit, e.exits.Run)
	}
	d.mu.Lock()
	d.events = e
	d.mu.Unlock()
	return e.keeper.Close
}

// states says how every source stands; none before there are any.
func (e *events) states() map[string]wake.State {
	if e == nil {
		return map[string]wake.State{}
	}
	all := e.keeper.States()
	if s := all[fileEvents]; s.Listening {
		s.Why = e.files.Limited()
		all[fileEvents] = s
	}
	return all
}

// set listens to what may change something of what a sweep saw.
func (e *events) set(t wake.Targets, seen *snapshot.Snapshot, hooks bool) {
	for _, src := range seen.Sources {
		if (src.Kind == "tmux" || src.Kind == herdr.Kind) && filepath.IsAbs(src.Path) && len(e.folders) < maxFolders {
			e.folders[filepath.Dir(src.Path)] = true
		}
	}
	for dir := range e.folders {
		if !slices.Contains(t.Folders, dir) {
			t.Folders = append(t.Folders, dir)
		}
	}
	e.files.Set(t)
	e.exits.Set(t.Processes)
	e.listenTo(seen, hooks)
}

// listenTo has each herdr server, and with hooks each tmux server, tell what happens there. One that answers now, and did not when it was last asked for its events, is asked again.
func (e *events) listenTo(seen *snapshot.Snapshot, hooks bool) {
	now := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(seen.Sources)) {
		if src := seen.Sources[name]; (src.Kind == herdr.Kind || src.Kind == "tmux" && hooks) && src.Status != snapshot.Absent && filepath.IsAbs(src.Path) && len(now) < maxServers {
			now[name] = src.Path
		}
	}
	for name, socket := range e.servers {
		if now[name] != socket {
			e.keeper.End(name)
			delete(e.servers, name)
		}
	}
	for name, socket := range now {
		if e.servers[name] != "" {
			if seen.Sources[name].Status == snapshot.OK {
				e.keeper.Again(name)
			}
			continue
		}
		e.servers[name] = socket
		if seen.Sources[name].Kind == "tmux" {
			e.keeper.Keep(name, "tmux", func(ctx context.Context, listening func()) error {
				return hooked.Watch(ctx, socket, e.owner, e.patience, listening, func() { e.wake("tmux") })
			})
			continue
		}
		client := &wire.Client{Socket: socket, UID: os.Getuid(), Patience: e.patience}
		e.keeper.Keep(name, herdr.Kind, func(ctx context.Context, listening func()) error {
			return client.Watch(ctx, listening, func() { e.wake(herdr.Kind) })
		})
	}
}

// targets are what may change something of what a sweep saw: folders of candidates, records and sockets, and the processes that matter, agents first.
func (a *looker) targets(s *snapshot.Snapshot, b *baseline) wake.Targets {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, root := range a.Cfg.Collect.Dirs.Roots {
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
	up := processes.Now().Up
	first := func(pid int) int {
		if b.agents[pid] {
			return 0
		}
		return 1
	}
	for _, pid := range slices.SortedFunc(maps.Keys(b.known), func(x, y int) int { return cmp.Or(first(x)-first(y), x-y) }) {
		if b.tells(pid, up) {
			t.Processes = append(t.Processes, wake.Target{PID: pid, Start: b.known[pid].Start})
		}
	}
	return t
}

// passing is for how long a process must have run, in seconds, to be worth a sweep when it ends while what started it lives.
const passing = 60

// tells reports whether the end of a process that matters is worth a sweep, at that many seconds since boot: that of an agent, of what a pane was opened with, of what nothing else
// here started, and of what has run for a while. An agent at work starts and ends a process every few seconds, and none of these ends is news while it lives.
func (b *baseline) tells(pid int, up *float64) bool {
	st := b.known[pid]
	_, below := b.known[st.Parent]
	return b.agents[pid] || b.shells[pid] || !below || up == nil || *up-float64(st.Start)/proc.UserHZ >= passing
}
