package ops

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sweep"
)

// FindTarget finds what arg names: a whole id of a candidate, else a worker by its registry's id, whole or with the registry before it,
// else a candidate by a part of its id. An error may be a *document.Declined.
func (o *Ops) FindTarget(ctx context.Context, s *snapshot.Snapshot, arg string) (sweep.Target, error) {
	seen := o.Observer().See(ctx, s)
	all := Ids(s)
	if !slices.Contains(all, arg) {
		named := slices.DeleteFunc(slices.Clone(seen), func(w worker.Seen) bool { return w.ID == "" || w.ID != arg && w.Source+"/"+w.ID != arg })
		if len(named) == 1 {
			t := sweep.Target{ID: named[0].Session, Worker: &named[0], Records: sweep.Recording(seen, named[0].Session)}
			if t.ID == "" {
				t.Records = named
			}
			return t, nil
		}
		if len(named) > 1 {
			var where []string
			for _, w := range named {
				where = append(where, w.Source+"/"+w.ID+" with session "+w.Name)
			}
			return sweep.Target{}, config.Mistakef("%q is ambiguous: it is %s; give the registry before it, or the session's id", arg, strings.Join(where, " and "))
		}
		fits := func(id string) bool { return strings.Contains(id, arg) }
		if blind := unread(s); blind != "" && !slices.ContainsFunc(all, fits) && len(idsOf(s, arg)) == 0 {
			return sweep.Target{}, decline(&document.Declined{Refused: arg, Reason: sweep.Unreadable, NextCommand: "winnow doctor",
				Message: fmt.Sprintf("there is no candidate or worker %q among what was read, and %s could not be read", arg, blind)})
		}
	}
	id, err := findID(s, arg)
	return sweep.Target{ID: id, Records: sweep.Recording(seen, id)}, err
}

// unread is the first registry, or else the first tmux server, that could not be read.
func unread(s *snapshot.Snapshot) string {
	for _, kind := range []string{"registry", "tmux"} {
		if name := sweep.UnreadOf(s, kind); name != "" {
			return name
		}
	}
	return ""
}

// AskerName is who places a hold.
func (o *Ops) AskerName() string {
	if o.Asker.Conn != nil && o.Asker.UID != os.Getuid() {
		return "root"
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// decline is the error of an operation that does not do what it was asked to.
func decline(no *document.Declined) error { return exit.Error{Code: exit.Part, Err: no} }
