package collectors

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// The words of snapshot.Source.Cause.
const (
	CausePermission = "permission"
	CauseTimeout    = "timeout"
	CauseError      = "error"
)

// maxRefused is how many of what a source refused are named.
const maxRefused = 20

// maxErrorText is how much of an error's text is kept, in bytes.
const maxErrorText = 600

// snapshot puts together what was read, source by source in the order of their names: of a candidate that two sources give,
// the first one's is kept.
func (r *run) snapshot() *snapshot.Snapshot {
	snap := &snapshot.Snapshot{
		Schema:    snapshot.Schema,
		TakenAt:   r.takenAt,
		Sources:   make(map[string]snapshot.Source, len(r.done)),
		Tabs:      map[string]snapshot.Tab{},
		Sessions:  map[string]snapshot.Session{},
		Terminals: map[string]snapshot.Terminal{},
		Dirs:      map[string]snapshot.Dir{},
		Processes: map[string]*snapshot.Process{},
	}
	for _, name := range slices.Sorted(maps.Keys(r.done)) {
		end := r.done[name]
		src := r.state(end)
		src.Duplicates = keepFirst(snap.Tabs, end.part.Tabs) + keepFirst(snap.Sessions, end.part.Sessions) +
			keepFirst(snap.Terminals, end.part.Terminals) + keepFirst(snap.Dirs, end.part.Dirs)
		if len(snap.Processes) == 0 && len(end.part.Processes) > 0 {
			snap.Processes = end.part.Processes // there are many, and most often one source of them
		} else {
			src.Duplicates += keepFirst(snap.Processes, end.part.Processes)
		}
		if src.Duplicates > 0 {
			r.Log.Debug("another source gave the same candidates", "source", name, "count", src.Duplicates)
		}
		snap.Spawns = append(snap.Spawns, end.part.Spawns...)
		snap.Registry = append(snap.Registry, end.part.Registry...)
		snap.OpenSessions = append(snap.OpenSessions, end.part.Open...)
		snap.Workspaces = append(snap.Workspaces, end.part.Workspaces...)
		snap.Sources[name] = src
	}
	return snap
}

// dirs writes the folders of all sources again, and the states of these sources.
func (r *run) dirs(s *snapshot.Snapshot) {
	s.Dirs = map[string]snapshot.Dir{}
	for _, name := range slices.Sorted(maps.Keys(r.done)) {
		end := r.done[name]
		if _, again := r.again[name]; !again && len(end.part.Dirs) == 0 {
			continue
		}
		src := r.state(end)
		src.Duplicates = keepFirst(s.Dirs, end.part.Dirs)
		s.Sources[name] = src
	}
}

// keepFirst adds to all what it does not hold yet and counts what it does.
func keepFirst[T any](all, more map[string]T) int {
	held := 0
	for id, v := range more {
		if _, ok := all[id]; ok {
			held++
			continue
		}
		all[id] = v
	}
	return held
}

// state says how the reading of a source went.
func (r *run) state(end reading) snapshot.Source {
	p := end.part
	src := snapshot.Source{
		Kind: end.Kind, Status: snapshot.OK, Path: end.Path, Format: end.Format, Server: p.Server, Took: end.took.Seconds(),
		Seen: len(p.Tabs) + len(p.Sessions) + len(p.Terminals) + len(p.Dirs) + len(p.Processes) + len(p.Spawns) +
			len(p.Registry) + len(p.Open),
		Unreadable: p.Unreadable, Refused: p.Refused[:min(len(p.Refused), maxRefused)],
	}
	switch {
	case end.err == nil:
	case errors.Is(end.err, ErrAbsent):
		src.Status, src.Error = snapshot.Absent, oneLine(end.err.Error())
	default:
		src.Status = snapshot.Failed
		src.Cause, src.Error = explain(end)
	}
	return src
}

// explain gives the cause of a reading's error and its text in one line. An error that has a "; " in it already says what to do next.
func explain(end reading) (cause, text string) {
	err := end.err
	text = oneLine(err.Error())
	cause, advice := CauseError, ""
	switch {
	case errors.Is(err, ErrPermission), errors.Is(err, fs.ErrPermission):
		cause, advice = CausePermission, "run winnow as the user that owns it, or leave it out of config.yaml"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		within := end.allowed.Round(time.Millisecond).String()
		if errors.Is(err, errStuck) {
			text = "it did not answer within " + within
		} else {
			advice = "it took longer than " + within + "; "
		}
		cause, advice = CauseTimeout, advice+
			"nothing that rests on it is reaped. See what holds it up: a mount or a program that does not answer, or a busy machine, for which raise collect.timeout"
	case errors.Is(err, context.Canceled):
		advice = "the look was stopped before it was read"
	}
	if advice != "" && !strings.Contains(text, "; ") {
		text += "; " + advice
	}
	return cause, text
}

// oneLine makes text fit for one line of a report: no control characters, single spaces, not endless.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + " ..."
	}
	return text
}
