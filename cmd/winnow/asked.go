package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Refused is what retain, release and cleanup print as JSON when they do not do what they were asked to.
type Refused struct {
	// Refused is the candidate's id, or the registry's for a worker without one; Reason a word that scripts may branch on.
	Refused string `json:"refused"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Worker and Source are the registry entry's id and where it stands, where it is about one.
	Worker      string `json:"worker,omitempty"`
	Source      string `json:"source,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
	// Objections are those of the policies, Act what came of the act where one was begun.
	Objections []decision.Reason `json:"objections,omitempty"`
	Act        *decision.Act     `json:"act,omitempty"`
	// code is the exit code, 3 unless it is set.
	code int
}

// The reasons of a Refused that are not those of policies/observe. An act that was begun and not done gives its outcome for a reason.
const (
	notTerminal  = "not_terminal"
	alreadyDone  = "closed"
	notRecorded  = "not_recorded"
	unreadable   = "unreadable"
	isAttached   = "attached"
	isKept       = "kept"
	notAllowed   = "kind_not_allowed"
	keptThere    = "kept_by_registry"
	beingTaken   = "act_begun"
	nothingHeld  = "nothing was held"
	nothingShut  = "nothing was closed"
	nothingFreed = "nothing was released"
)

// refuse says no.
func (a *app) refuse(r Refused) error {
	code := cmp.Or(r.code, exit.Part)
	if a.json() {
		if err := text.JSON(a.out, r, ""); err != nil {
			return err
		}
		return exit.Error{Code: code}
	}
	msg := r.Message
	if r.NextCommand != "" {
		msg += ". Next: " + r.NextCommand
	}
	return exit.Error{Code: code, Err: errors.New(msg)}
}

// asked is what a person named: a candidate, or a worker by the id that its registry gives it.
type asked struct {
	// id is the candidate's, empty for a worker of which none lives.
	id string
	// worker is the one that was named, nil where a candidate was. records are the workers that record the candidate's session,
	// worker among them.
	worker  *worker.Seen
	records []worker.Seen
	// mine is true when they declared that it is theirs and may go.
	mine bool
}

// word is what the policies get of it.
func (t asked) word() *snapshot.Asked {
	if t.id == "" {
		return nil
	}
	return &snapshot.Asked{ID: t.id, By: "user", UID: os.Getuid(), Mine: t.mine}
}

// hint says how to be the reason, where no rule found one.
func (t asked) hint() string {
	if t.mine || !strings.HasPrefix(t.id, snapshot.KindDir+":") {
		return ""
	}
	return " (where it is a worktree of yours that may go, say so with --mine)"
}

// find finds what arg names: a whole id of a candidate, else a worker by its registry's id, whole or with the registry before it,
// else a candidate by a part of its id.
func (a *core) find(ctx context.Context, s *snapshot.Snapshot, arg string) (asked, *Refused, error) {
	seen := a.Observer().See(ctx, s)
	all := ids(s)
	if !slices.Contains(all, arg) {
		named := slices.DeleteFunc(slices.Clone(seen), func(w worker.Seen) bool { return w.ID == "" || w.ID != arg && w.Source+"/"+w.ID != arg })
		if len(named) == 1 {
			t := asked{id: named[0].Session, worker: &named[0], records: recording(seen, named[0].Session)}
			if t.id == "" {
				t.records = named
			}
			return t, nil, nil
		}
		if len(named) > 1 {
			var where []string
			for _, w := range named {
				where = append(where, w.Source+"/"+w.ID+" with session "+w.Name)
			}
			return asked{}, nil, config.Mistakef("%q is ambiguous: it is %s; give the registry before it, or the session's id", arg, strings.Join(where, " and "))
		}
		fits := func(id string) bool { return strings.Contains(id, arg) }
		if blind := unread(s); blind != "" && !slices.ContainsFunc(all, fits) && len(idsOf(s, arg)) == 0 {
			return asked{}, &Refused{Refused: arg, Reason: unreadable, NextCommand: "winnow doctor",
				Message: fmt.Sprintf("there is no candidate or worker %q among what was read, and %s could not be read", arg, blind)}, nil
		}
	}
	id, err := findID(s, arg)
	return asked{id: id, records: recording(seen, id)}, nil, err
}

// recording are the workers that record a session.
func recording(seen []worker.Seen, id string) []worker.Seen {
	return slices.DeleteFunc(slices.Clone(seen), func(w worker.Seen) bool { return w.ID == "" || id == "" || !slices.Contains(w.Live, id) })
}

// unread is the first registry, or else the first tmux server, that could not be read.
func unread(s *snapshot.Snapshot) string {
	for _, kind := range []string{"registry", "tmux"} {
		if name := unreadOf(s, kind); name != "" {
			return name
		}
	}
	return ""
}

func unreadOf(s *snapshot.Snapshot, kind string) string {
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		if src := s.Sources[name]; src.Kind == kind && src.Status == snapshot.Failed {
			return name
		}
	}
	return ""
}

// session reports whether what was asked for is a session, or a worker's.
func (t asked) session() bool {
	return t.worker != nil || strings.HasPrefix(t.id, snapshot.KindSession+":")
}

// refused begins an answer about w.
func (t asked) refused(w *worker.Seen, reason, left, next string, format string, args ...any) *Refused {
	r := &Refused{Refused: t.id, Reason: reason, NextCommand: next, Message: fmt.Sprintf(format, args...) + "; " + left}
	if w != nil {
		r.Worker, r.Source = w.ID, w.Source
		if r.Refused == "" {
			r.Refused = w.ID
		}
	}
	return r
}

// called names a worker in a sentence.
func called(w *worker.Seen) string { return "worker " + w.ID + " of " + w.Source }

// own is the worker whose session it is: the one that was named, else the first that records it.
func (t asked) own() *worker.Seen {
	if t.worker != nil {
		return t.worker
	}
	for i := range t.records {
		if !t.records[i].Another {
			return &t.records[i]
		}
	}
	return nil
}
