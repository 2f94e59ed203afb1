package ops

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
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
			return sweep.Target{}, config.Usagef("%q is ambiguous: it is %s; give the registry before it, or the session's id", arg, strings.Join(where, " and "))
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

// ThingDiffers says why a candidate may be another thing to the program that asks than it is to the daemon, "" where it is not.
func ThingDiffers(asker listen.Conn, id string) string {
	switch kind, _ := snapshot.KindOf(id); kind.Name {
	case snapshot.KindDir:
		return FolderDiffers(asker, filepath.Clean(strings.TrimPrefix(id, snapshot.KindDir+":")))
	case snapshot.KindProcess:
		return PIDDiffers(asker)
	}
	return ""
}

// FolderDiffers says why a path (absolute and clean) may lead the program that asks to another folder than it leads the daemon, "" where it does not.
func FolderDiffers(asker listen.Conn, path string) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID <= 0 {
		return "the program that asks is outside of this pid namespace, so whether the path leads it to the same folder is not known"
	}
	v, err := proc.ViewOf("/proc", asker.PID)
	if err == nil && v.Mounts {
		return ""
	}
	same := false
	if err == nil {
		same, err = proc.SameThere("/proc", asker.PID, path)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("whether the path leads the program that asks to the same folder is not known: %v", err)
	case same:
		return ""
	}
	return fmt.Sprintf("the program that asks (pid %d) has other mounts than the daemon, and the path leads it to another folder", asker.PID)
}

// PIDDiffers says why a pid may be another process to the program that asks, "" where it is the same.
func PIDDiffers(asker listen.Conn) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID > 0 {
		switch v, err := proc.ViewOf("/proc", asker.PID); {
		case err != nil:
			return fmt.Sprintf("whether the number is the same process to the program that asks is not known: %v", err)
		case v.PIDs:
			return ""
		}
	}
	return "the program that asks is in another pid namespace, where that number is another process"
}
