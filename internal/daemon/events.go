package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/collectors/panes/herdr"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/report"
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

// Notify tells people of what sweeps bring.
var Notify = Component{
	Name:  "notify",
	Once:  true,
	By:    func(c *config.Config) any { return c.Notify },
	Begin: func(ctx context.Context, d *Daemon) (func(), error) { return d.notify(ctx), nil },
}

// notified is the file in the state folder that says what was told.
const notified = "notified.json"

// notify starts what tells people; nil where nothing is to be told.
func (d *Daemon) notify(ctx context.Context) (end func()) {
	if !d.Cfg.Notify.Enabled() {
		return nil
	}
	log := d.Log.Named("notify")
	o := d.NotifyOptions()
	o.File = filepath.Join(d.Cfg.State, notified)
	o.Log = func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) }
	if err := d.TrustState(); err != nil {
		o.Log("what was told is not remembered: %v", err)
		o.File = ""
	}
	n := notify.New(o)
	deaf := d.Listen(func(e Ended) {
		if ctx.Err() != nil {
			if e.Report == nil {
				return
			}
			e.Err = nil // it was interrupted, which is no failure; what it did is told
		}
		if event, tells := EventOf(e); tells {
			n.Hear(event)
		}
	})
	return func() {
		deaf()
		n.End()
	}
}

// EventOf is what a sweep has to tell; false where it says nothing of how things are, because another sweep had the lock.
func EventOf(e Ended) (notify.Event, bool) {
	event := notify.Event{At: e.At, Speaks: []string{notify.GroupProblems}}
	if errors.As(e.Err, new(*lock.Held)) {
		return event, false
	}
	problem := func(rule, key, message string) {
		event.Standing = append(event.Standing, notify.Standing{Group: notify.GroupProblems, Key: key, Item: notify.Item{Rule: rule, Message: message}})
	}
	if e.Err != nil {
		problem("sweep_failed", "sweep_failed", e.Err.Error()+"; it is tried again")
	}
	if e.Status.Reload != "" {
		problem("reload_failed", "reload_failed "+e.Status.Reload, "SIGHUP changed nothing, and what ran before goes on: "+e.Status.Reload)
	}
	for _, b := range e.Status.Brakes {
		problem("brake_"+b.Rule, "brake "+b.Rule+" "+b.Sweep+" "+b.Candidate, b.Message+"; the daemon only observes until winnow brakes release")
	}
	if p := e.Status.Paused; p != nil {
		problem(report.Paused, "paused "+p.Since.UTC().Format(time.RFC3339Nano), p.Error()+"; winnow resume ends it")
	}
	if e.Report != nil {
		fillEvent(&event, e.Report)
	}
	return event, true
}

// fillEvent adds what a report says.
func fillEvent(e *notify.Event, r *report.Report) {
	e.Speaks = append(e.Speaks, notify.GroupActs, notify.GroupAlarms, notify.GroupAsks)
	for _, acts := range [][]decision.Act{r.Settled, r.Acts} {
		for _, a := range acts {
			name := cmp.Or(a.Label, a.Candidate)
			i := notify.Item{Kind: a.Kind, ID: a.Candidate, Name: name, Outcome: a.Outcome.Outcome}
			switch a.Outcome.Outcome {
			case decision.Done:
				e.Done = append(e.Done, i)
				e.FreedBytes += a.Freed.Bytes
			case decision.Failed, decision.Refused: // which may be so again at each sweep
				i.Message = a.Detail
				e.Standing = append(e.Standing, notify.Standing{Group: notify.GroupActs, Key: a.Outcome.Outcome + " " + a.Candidate, Item: i})
			}
		}
	}
	for _, p := range r.Purged {
		e.Purged++
		e.FreedBytes += p.Bytes
	}
	for _, al := range r.Alarms {
		if al.Rule == report.Paused || strings.HasPrefix(al.Rule, "brake_") {
			continue // problems
		}
		e.Standing = append(e.Standing, notify.Standing{
			Group: notify.GroupAlarms, Key: al.Rule + " " + al.Candidate + " " + lasting(al),
			Item: notify.Item{Rule: al.Rule, ID: al.Candidate, Message: al.Message},
		})
	}
	for _, d := range r.Decisions {
		if d.Level != decision.Ask {
			continue
		}
		i := notify.Item{Kind: d.Kind, ID: d.ID, Name: cmp.Or(d.Label, d.ID)}
		if _, counting := d.Counting(); len(counting) > 0 {
			i.Rule, i.Message = counting[0].Rule, counting[0].Message
		}
		e.Standing = append(e.Standing, notify.Standing{Group: notify.GroupAsks, Key: d.ID + " " + d.Identity.Key + " " + i.Rule, Item: i})
	}
}

// counted is a number that stands by itself in a sentence, with its unit: a count, a time, a size.
var counted = regexp.MustCompile(`(^|[ (])\d[\d.,:-]*([a-z%]{1,3}\d[\d.,]*)*[a-zA-Z%]{0,3}($|[ ),.;:])`)

// lasting is what of an alarm's message is the same as long as it is about the same: counts and times in it grow from sweep to sweep. Where it is about one thing, that thing is.
func lasting(al report.Alarm) string {
	if al.Candidate != "" {
		return ""
	}
	s := al.Message
	for { // a space is the end of one and the beginning of the next
		next := counted.ReplaceAllString(s, "$1#$3")
		if next == s {
			return s
		}
		s = next
	}
}
