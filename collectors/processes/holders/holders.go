// Package holders finds out who uses a folder: the processes of the machine by all that they show, and the kernel itself.
package holders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Options says where to look for holders.
type Options struct {
	// Root is where procfs is mounted.
	Root string
	// Opaque are the names (comm) of this user's processes that hide what they use on purpose, and are not taken for users of a
	// folder. Any other that hides it makes the answer unknown.
	Opaque []string
	// Servers are the names (comm) of processes that keep the command line and the environment of the process that started
	// them, as the servers of multiplexers do: what those name is not in use by them.
	Servers []string
	// Daemons are what agents' vendors run for all of their agents together: a folder in which such a daemon was started is not in use by it.
	Daemons []processes.Daemon
	// Sys is where sysfs is mounted; empty is /sys.
	Sys string
	// Home is this user's home folder, as a real path. What shows all of it shows no one folder in it.
	Home string
	// Thorough asks what takes long as well: what is mapped, single threads, environments, other network namespaces, the folder git
	// keeps for a worktree, and all that is known by an inode somewhere below a folder, for which each folder is walked. It is meant for
	// one folder, right before an act on it.
	Thorough bool
	// Asker is the command for which this program looks, 0 for itself, and Asked what it was asked about: a folder that the command or its ancestors name for that is not
	// in use by them.
	Asker int
	Asked []string
	// Table is what the same look has read of all processes; nil reads everything.
	Table *processes.Table
}

// moment is long for a process to end in, or to execute another program.
const moment = 2 * time.Millisecond

// Find says which living processes use each of paths (absolute, without symbolic links), in one of the ways of Kinds:
// also under a deleted name, through another mount of the same folder or from another mount namespace. Each is listed once, with
// the strongest way, ascending by pid; what the kernel itself does there (a loop device, a swap file) has pid 0. A path without holders
// has no entry. This process counts by its working directory, executable and root, and not by its descriptors, which the look
// itself opens.
//
// Known is false when a process of this user or the own mounts could not be read, or others are hidden altogether: that a path has no
// holder proves nothing then. Processes of other users are not counted in that: to a plain user they never show what they use, so that counting
// them would leave nothing known on any machine. A folder that another user's process works in is for its owner and mode to tell.
// The same holds for process 1 where it has capabilities that this process lacks, as in containers whose root is not the machine's.
func Find(ctx context.Context, o Options, paths []string) (holders map[string][]snapshot.Holder, known bool, err error) {
	r, err := host.Open(o.Root)
	if err != nil {
		return nil, false, fmt.Errorf("look for holders: %w", err)
	}
	defer r.Close()
	h := newScan(r, o, paths)
	if err := h.all(ctx); err != nil {
		return nil, false, fmt.Errorf("look for holders: %w", err)
	}
	holders = map[string][]snapshot.Holder{}
	for i, path := range paths {
		if list := h.held[i]; len(list) > 0 {
			slices.SortFunc(list, func(a, b snapshot.Holder) int { return cmp.Or(a.PID-b.PID, strings.Compare(a.Name, b.Name)) })
			holders[path] = list
		}
	}
	return holders, h.unread == 0 && h.translated && !h.machine.unknown && r.CheckVisible() == nil, nil
}

// scan is one look for holders.
type scan struct {
	host.Reader
	root *host.Root
	o    Options
	uid  int
	// views are the folders as each mount namespace names them, own is this process's namespace.
	views map[string]*places
	own   string
	// mounts are those of this process's own namespace, and first is the line that tells them from those of another.
	mounts []proc.Mount
	first  string
	// spots are the folders, and behind them other names for them.
	spots spots
	ids   map[fileID][]int
	nodes map[node][]int
	held  [][]snapshot.Holder
	// unread counts this user's processes that could not be read, and translated is true when the own mounts could be.
	unread     int
	translated bool
	// refusing are those that refused something just now, and left how often these are asked again.
	refusing []int
	left     int
	// machine is what is asked for once.
	machine machine
	// ancestors are this process and those that it descends from.
	ancestors []int
	// askers are Asker and those that it descends from.
	askers []int
	// best is the strongest way in which the process at hand holds each folder, as an index of kinds.
	best map[int]int
	// at is the process at hand.
	at subject
	// seen is what the processes had that says something about folders only when all of it is there.
	seen seen
}

// subject is a process that is being read.
type subject struct {
	pid  int
	comm string
	// cwd is its working directory as its own namespace names it, "" where unknown.
	cwd string
	// view is how its mount namespace names the folders, nil where its links do not tell.
	view *places
	// names is true when what it was started with is its own.
	names bool
	// daemon is true for a configured one of an agent's vendor.
	daemon bool
	// exe is what it was started from, nil where it does not show it.
	exe *string
}

// as is the process as a holder.
func (s subject) as(how int) snapshot.Holder {
	return snapshot.Holder{PID: s.pid, Name: s.comm, How: kinds[how]}
}

func newScan(r *host.Root, o Options, paths []string) *scan {
	h := &scan{
		Reader: host.NewReader(), root: r, o: o, uid: os.Geteuid(), own: r.Namespace("mnt"),
		views: map[string]*places{}, ids: map[fileID][]int{}, nodes: map[node][]int{}, held: make([][]snapshot.Holder, len(paths)),
		best: map[int]int{}, seen: newSeen(),
	}
	// Without the own mounts it is unknown under which names others know the folders: then nothing is known for sure.
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil {
		h.mounts, h.translated = proc.ParseMounts(text)
		h.first = headOf(text)
	}
	h.spots = locate(paths, h.mounts)
	if o.Thorough {
		h.spots = h.spots.withNames()
	}
	for i, s := range h.spots {
		if s.id != (fileID{}) {
			h.ids[s.id] = append(h.ids[s.id], i)
		}
		if s.node != (node{}) && s.of == i {
			h.nodes[s.node] = append(h.nodes[s.node], i)
		}
	}
	h.views[h.own] = view(h.spots, h.mounts, true)
	h.ancestors, _ = proc.Lineage(r.Path, r.Self) // as much of the line as could be read
	if o.Asker > 0 {
		h.askers, _ = proc.Lineage(r.Path, o.Asker)
	}
	h.machine = h.askMachine()
	return h
}

// fork is the same look with buffers and results of its own.
func (h *scan) fork() *scan {
	f := *h
	f.Reader, f.views, f.best, f.seen = host.NewReader(), maps.Clone(h.views), map[int]int{}, newSeen()
	f.machine.sockets, f.machine.relative = maps.Clone(h.machine.sockets), maps.Clone(h.machine.relative)
	f.held, f.refusing, f.unread = make([][]snapshot.Holder, len(h.held)), nil, 0
	return &f
}

func (h *scan) all(ctx context.Context) error {
	pids, err := h.root.PIDs()
	if err != nil {
		return err
	}
	h.left = attempts
	if err := h.pass(ctx, pids); err != nil {
		return err
	}
	// A process that executes another program, or ends, refuses some of its links for a moment; so it is asked again before it counts as one that hides
	// them. All that refused share the moments, of which the last ones are longer.
	for len(h.refusing) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(moment << max(0, attempts-h.left-fewAttempts+1)):
		}
		h.left--
		pids, h.refusing = h.refusing, nil
		if err := h.pass(ctx, pids); err != nil {
			return err
		}
	}
	h.spaces()
	for _, f := range h.machine.files {
		h.addNamed(f.path, snapshot.Holder{Name: f.name, How: kinds[f.how]})
	}
	for _, l := range h.machine.locks {
		for _, i := range h.nodes[l.node] { // those on a folder itself
			h.add(i, h.locker(l))
		}
	}
	if h.o.Thorough {
		h.walkFolders(ctx)
	}
	h.unclaimed()
	return ctx.Err()
}

// attempts is how often a process is asked again at most: a child of this program's that has not begun, which on a busy machine waits for a processor; 2 s in all.
// One that refuses something is asked fewer times, and one whose permissions deny it the fewest.
const attempts = 12

// fewAttempts is how often one is asked again whose permissions deny it.
const fewAttempts = 3

// pass notes what processes hold, and which of them are to be asked again.
func (h *scan) pass(ctx context.Context, pids []int) error {
	forks, err := host.EachPinned(ctx, h.root, pids, h.fork, (*scan).process)
	for _, f := range forks {
		h.unread += f.unread
		h.refusing = append(h.refusing, f.refusing...)
		for i := range h.held {
			h.held[i] = append(h.held[i], f.held[i]...)
		}
		h.seen.join(f.seen)
		maps.Copy(h.views, f.views)
		maps.Copy(h.machine.sockets, f.machine.sockets)
	}
	return err
}

// add enters a holder that no process's own links showed, unless the process is one already.
func (h *scan) add(i int, holder snapshot.Holder) {
	i = h.spots[i].of
	if !slices.ContainsFunc(h.held[i], func(have snapshot.Holder) bool {
		return have.PID == holder.PID && (have.PID != 0 || have == holder)
	}) {
		h.held[i] = append(h.held[i], holder)
	}
}

// process notes what one pinned process holds, or that it is to be asked again.
func (h *scan) process(pid, dir int) {
	var owner unix.Stat_t
	if unix.Fstat(dir, &owner) != nil {
		return
	}
	exe := h.Exe(dir)
	st, known := h.o.Table.Lookup(pid, owner.Ino, exe)
	if !known {
		var err error
		if st, err = h.Stat(dir); err != nil {
			if proc.Ended(err) || h.retried(pid, err) {
				return
			}
			h.refused(pid, dir, int(owner.Uid), "", err)
			return
		}
	}
	if st.Gone() || st.Kernel {
		return
	}
	h.at = subject{pid: pid, comm: st.Comm, exe: exe, names: pid != h.root.Self && !slices.Contains(h.o.Servers, st.Comm)}
	daemon := processes.NameDaemon(&h.Reader, h.o.Daemons, dir, st.Comm, exe)
	h.at.daemon = daemon != nil && *daemon != ""
	clear(h.best)
	if err := h.links(pid, dir, st); err != nil {
		if !h.excused(int(owner.Uid), st.Comm, err) && h.retried(pid, err) {
			h.seen.drop(pid)
			return
		}
		h.refused(pid, dir, int(owner.Uid), st.Comm, err)
	}
	if len(h.best) > 0 && h.begins(dir) && h.retried(pid, errBegins) {
		h.seen.drop(pid)
		return
	}
	h.shown(pid, dir)
	for i, how := range h.best {
		h.held[i] = append(h.held[i], h.at.as(how))
	}
}

var errBegins = errors.New("it has not begun its own program")

// begins reports whether the process at hand may be a child that this program has just made for another one (git, tmux): until it executes that, it has
// this program's own descriptors, which count for nothing. It keeps this program's name until the kernel has closed them, when it already has the other's
// file (begin_new_exec). One that stays so is taken at its word.
func (h *scan) begins(dir int) bool {
	own, err := os.ReadFile("/proc/self/comm")
	if err != nil || strings.TrimSuffix(string(own), "\n") != h.at.comm || h.at.pid == h.root.Self {
		return false
	}
	st, err := h.Stat(dir)
	return proc.Ended(err) || err == nil && st.Parent == h.root.Self // what has ended holds nothing, and is not there when it is asked again
}

// retried reports whether a process that refused something is asked again, and takes note of it.
func (h *scan) retried(pid int, err error) bool {
	asks := 2 * fewAttempts
	switch {
	case errors.Is(err, errBegins):
		asks = attempts
	case proc.Denied(err):
		asks = fewAttempts
	}
	if h.left <= attempts-asks {
		return false
	}
	h.refusing = append(h.refusing, pid)
	return true
}

// shown notes what everybody may read of a process, also of one that hides its links: its mounts, its command line and the sockets
// of its network. A process that has gone in between shows nothing any more.
func (h *scan) shown(pid, dir int) {
	v := h.at.view
	if v == nil {
		var err error
		if v, err = h.closedView(dir); err != nil {
			return
		}
		if h.o.Thorough {
			h.otherSockets(dir, v)
		}
	}
	if h.at.names {
		h.arguments(pid, dir, v)
	}
}

// excused reports whether a process could not be read for a reason that says nothing: it is another user's, hides on purpose, or has ended.
func (h *scan) excused(uid int, comm string, err error) bool {
	return uid != h.uid && h.uid != 0 || slices.Contains(h.o.Opaque, comm) || errors.Is(err, unix.ESRCH)
}

// dying reports whether all threads of a process have begun to end. On a machine that has much to do it takes them long to come to
// it, and what they had is given back already.
func (h *scan) dying(dir int, first proc.Stat) bool {
	if !first.Exiting {
		return false
	}
	threads, err := proc.List(dir, "task", h.Environ)
	if err != nil {
		return proc.Ended(err)
	}
	for _, t := range threads {
		text, err := proc.ReadOnce(dir, "task/"+strconv.Itoa(t)+"/stat", h.Text)
		if err != nil {
			if proc.Ended(err) {
				continue
			}
			return false
		}
		if st, err := h.Names.ParseStat(text); err != nil || !st.Exiting {
			return false
		}
	}
	return true
}

// refused counts a process that could not be read whole, unless it is another user's, hides on purpose, or ends. One that is
// ending has given things back before it shows that it ends.
func (h *scan) refused(pid, dir, uid int, comm string, err error) {
	if h.excused(uid, comm, err) {
		return
	}
	if st, now := h.Stat(dir); proc.Ended(now) || now == nil && (st.Gone() || h.dying(dir, st)) {
		return
	}
	if pid == 1 && proc.Denied(err) && h.root.Stronger() {
		return
	}
	h.unread++
}
