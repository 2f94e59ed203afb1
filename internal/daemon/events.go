package daemon

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/collectors/panes/herdr"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	hooked "github.com/winnow-reaper/winnow/internal/sys/tmux/watch"
)

// The sources of events that are there at all times, by their names in Status.Events. Those of herdr servers are named as the sources of the snapshot are.
const (
	FileEvents = "files"
	ExitEvents = "exits"
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

// Watches begins to listen for events; the function that it gives ends that. Without events the schedule finds everything, later.
func (d *Daemon) Watches() (stop func()) {
	log := d.Log.Named("wake")
	e := &events{keeper: wake.NewKeeper(d.Wake, log), files: wake.NewFiles(d.Cfg.Collect.Processes.Root, d.Wake, log), exits: wake.NewExits(d.Wake), wake: d.Wake, owner: d.Cfg.State, patience: d.Cfg.Collect.Timeout,
		servers: map[string]string{}, folders: map[string]bool{}}
	e.keeper.Keep(FileEvents, wake.Folder, e.files.Run)
	if filepath.Clean(d.Cfg.Collect.Processes.Root) == "/proc" { // the kernel's pids are those of this process's own namespace
		e.keeper.Keep(ExitEvents, wake.Exit, e.exits.Run)
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
	if s := all[FileEvents]; s.Listening {
		s.Why = e.files.Limited()
		all[FileEvents] = s
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
				e.keeper.Retry(name)
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
