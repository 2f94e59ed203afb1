// Package dirs sets folders aside: a plain folder, or a linked worktree with its entry in the repository, is moved into a trash on
// the same mount, from where it can be brought back until its time has passed. What would not come back whole is not touched.
package dirs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Holding says who uses folders or anything in them, in one look at all processes: one word or phrase a process, by the folder's path. known is
// false when that could not be found out for every process that could be one; a folder without users then proves nothing.
type Holding interface {
	Holding(ctx context.Context, paths []string) (who map[string][]string, known bool, err error)
}

// Options says where folders may be taken from and where they go.
type Options struct {
	// StateTrash is the folder of what is set aside. It serves folders on its own mount; for others there is .winnow-trash in
	// their root.
	StateTrash string
	// Roots are the folders below which anything may be touched, as real paths.
	Roots []string
	Home  string
	// Self are this process and its ancestors, and ProcRoot where procfs is mounted; empty is /proc.
	Self     []int
	ProcRoot string
	Holders  Holding
	// Sessions, when set, says which agents have a session open that works in a folder, or may, by its own record and wherever its process stands: a
	// phrase for each, by the folder's path. It is asked once a folder has been moved, for a session may have opened since it was judged.
	Sessions func(ctx context.Context, folders []decision.Dir) (map[string][]string, error)
	// Git is the git program; empty is git.
	Git string
	// GitTimeout bounds each run of it; 0 is 30 seconds.
	GitTimeout time.Duration
	// Step, when set, is called with the name of each step right before it is taken.
	Step func(string)
	Log  hclog.Logger
}

// Actuator sets folders aside, and brings them back. It is an actuators.Together and an actuators.Restorer.
type Actuator struct{ o Options }

var (
	_ actuators.Together = (*Actuator)(nil)
	_ actuators.Restorer = (*Actuator)(nil)
)

// New makes an Actuator.
func New(o Options) *Actuator {
	with := actuators.Options{ProcRoot: o.ProcRoot, Step: o.Step, Log: o.Log}.WithDefaults()
	o.ProcRoot, o.Step, o.Log = with.ProcRoot, with.Step, with.Log
	o.GitTimeout = cmp.Or(o.GitTimeout, 30*time.Second)
	return &Actuator{o}
}

// users is one answer to who uses some folders.
type users struct {
	asked []string
	who   map[string][]string
	known bool
	err   error
	// sessions are the open sessions that work in a folder by its path from before the move.
	sessions map[string][]string
	// outside says whether processes that this pid namespace does not show may use a path.
	outside func(path string) bool
}

func (a *Actuator) sharedOutside() func(path string) bool {
	return proc.SharedOutside(a.o.ProcRoot, "/proc/self/mountinfo")
}

// sharedOutside refuses what processes outside of this pid namespace may use.
func sharedOutside(path string) error {
	return actuators.Refused("%s lies on a mount that processes outside of this container may use, and those are not seen from here: run winnow on the host", path)
}

// usersOf asks who uses the folders that were moved, and which open sessions work in them, once for all.
func (a *Actuator) usersOf(ctx context.Context, moved ...*site) users {
	var paths []string
	var folders []decision.Dir
	for _, s := range moved {
		paths, folders = append(paths, s.userPaths()...), append(folders, *s.in.Identity.Dir)
	}
	u := a.users(ctx, paths...)
	if a.o.Sessions != nil && u.err == nil && len(folders) > 0 {
		u.sessions, u.err = a.o.Sessions(ctx, folders)
	}
	return u
}

// users asks who uses these folders, once for all of them.
func (a *Actuator) users(ctx context.Context, paths ...string) users {
	u := users{asked: paths, outside: a.sharedOutside()}
	if a.o.Holders == nil {
		u.err = errors.New("there is no way to ask")
	} else if len(paths) > 0 {
		u.who, u.known, u.err = a.o.Holders.Holding(ctx, paths)
	}
	return u
}

// unopened fails if an agent's open session works in a folder that was moved.
func (u users) unopened(d *decision.Dir) error {
	if who := u.sessions[d.Path]; len(who) > 0 {
		return actuators.Refused("an agent's session works in it, by its own record: %s", list(who))
	}
	return nil
}

// refuseUsed fails if a process uses path, or if that is not known.
func (u users) refuseUsed(path string) error {
	switch who := u.who[path]; {
	case u.err != nil:
		return actuators.Refused("find out who uses %s: %w", path, u.err)
	case len(who) > 0:
		return actuators.Refused("it is in use: %s", list(who))
	case u.outside(path):
		return sharedOutside(path)
	case !u.known || !slices.Contains(u.asked, path):
		return actuators.Refused("who uses %s is not known for every process", path)
	}
	return nil
}

// list names the first few of many.
func list(who []string) string {
	const most = 3
	if len(who) > most {
		return strings.Join(who[:most], ", ") + " and others"
	}
	return strings.Join(who, ", ")
}

// repo is the repository with that common folder, seen from the git folder admin.
func (a *Actuator) repo(common, admin string) act.Repo {
	return act.Repo{Git: gitsafe.Program{Path: a.o.Git}, Timeout: a.o.GitTimeout, Common: common, Admin: admin}
}

// refPrefix is where an act's refs lie: outside of branches and tags, so that no listing shows them unasked, and git gc keeps them.
func refPrefix(act string) string { return "refs/winnow/" + act + "/" }

// mounted refuses path when anything is mounted at it or below: a rename would carry the mount along, and a walk would go
// into it.
func mounted(path string) error {
	all, err := proc.ReadMounts("/proc/self/mountinfo")
	if err != nil {
		return actuators.Refused("find out what is mounted in %s: %w", path, err)
	}
	for _, m := range all {
		if actuators.IsBelow(m.Point, path) {
			return actuators.Refused("something is mounted at %s", m.Point)
		}
	}
	return nil
}
