package dirs

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// LockReason is what a tool writes as the reason of `git worktree lock` while one of its agents works in the worktree.
type LockReason struct {
	Tool string
	// Pattern is matched with the whole reason. Its group pid is the agent's process, start when that began in clock ticks since boot, and owner
	// what the tool calls the agent; the last two may be missing.
	Pattern *regexp.Regexp
	// Names are what such a process is called, by comm.
	Names []string
}

// maxLockText is how much of a reason that people wrote is shown, in bytes.
const maxLockText = 100

// lock says what a worktree's lock says, and whether the process that it names is alive. What is not known for certain stays unknown.
func (l *look) lock(c *candidate) *snapshot.Lock {
	w := c.worktree
	if w.Lock == nil {
		return nil
	}
	text := strings.TrimSpace(w.Lock.Text)
	out := &snapshot.Lock{WrittenAt: known(w.Lock.Mod)}
	if shown := termsafe.Line(text); len(shown) > maxLockText {
		out.Text = new(strings.ToValidUTF8(shown[:maxLockText], "") + " ...")
	} else {
		out.Text = new(shown)
	}
	for _, r := range l.o.LockReasons {
		groups := r.Pattern.FindStringSubmatch(text)
		if groups == nil {
			continue
		}
		group := func(name string) string {
			if i := r.Pattern.SubexpIndex(name); i >= 0 {
				return groups[i]
			}
			return ""
		}
		pid, err := strconv.Atoi(group("pid"))
		if err != nil || pid <= 1 {
			continue
		}
		out.Tool, out.Owner, out.PID = r.Tool, termsafe.Line(group("owner")), pid
		if start := group("start"); start != "" {
			ticks, err := strconv.ParseUint(start, 10, 64)
			if err != nil {
				return out
			}
			out.StartTicks = &ticks
		}
		if int(w.Lock.UID) == os.Geteuid() || os.Geteuid() == 0 {
			out.Alive = l.o.Cache.table(l.o.ProcRoot).lives(out, w.Lock.Mod, r.Names, l.o.outside(c.place.AdminDir))
		}
		return out
	}
	// git worktree add locks what it makes until it is done.
	if text == "initializing" && l.cutShort(c, w.Lock.Mod, git.MakingTime) {
		out.Tool, out.Alive = "git worktree add", new(false)
	}
	return out
}

// cutShort says whether a file in a worktree's entry is left from a git command that was cut short.
func (l *look) cutShort(c *candidate, written time.Time, least time.Duration) bool {
	return !l.o.outside(c.place.AdminDir) && git.CutShort(l.o.ProcRoot, c.place.AdminDir, l.o.Now().Sub(written), least)
}

// atRest takes note of a git command that is writing to a worktree's entry, or that was cut short lately: an act refuses it.
func (l *look) atRest(c *candidate) {
	w := c.worktree
	if w.Operation == nil || *w.Operation != "" || w.Writing == "" || l.cutShort(c, w.WrittenAt, git.WritingTime) {
		return
	}
	c.dir.Git.Operation = new("a git command, or one that was cut short (" + w.Writing + ")")
}

// processTable is what one look asks of processes for the locks that name one.
type processTable struct {
	root string
	// inner are the processes of pid namespaces below this one, by each number that they have there. It costs a look at every process.
	inner func() (map[int][]proc.Stat, error)
	boot  func() (time.Time, error)
}

// table gives the processes of the look.
func (s *LookCache) table(root string) *processTable {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.processes == nil {
		s.processes = &processTable{
			root:  root,
			inner: sync.OnceValues(func() (map[int][]proc.Stat, error) { return proc.Inner(root) }),
			boot:  sync.OnceValues(func() (time.Time, error) { return proc.BootedAt(root) }),
		}
	}
	return s.processes
}

// lives says whether the process that a lock names is alive: true, false where it positively is not, nil where that is not known. The process is
// read again for each lock, which may be younger than all else that the look has read.
func (t *processTable) lives(lock *snapshot.Lock, written time.Time, names []string, shared bool) *bool {
	boot, err := t.boot()
	if err != nil || shared {
		return nil
	}
	s, err := proc.StatOf(t.root, lock.PID)
	there := err == nil && !s.Ended()
	// A process that began after the lock was written is not the one for which it was: a number is given again. The clock may have been set in
	// between, so that one of the tool's own programs is not told apart like this.
	after := func(s proc.Stat) bool { return s.Began(boot).After(written.Add(clockSlack)) }
	later := func(s proc.Stat) bool { return after(s) && !slices.Contains(names, s.Comm) }
	switch {
	case err != nil && !proc.Ended(err):
		return nil
	case !there && t.root == "/proc" && !errors.Is(unix.Kill(lock.PID, 0), unix.ESRCH):
		return nil // procfs hides it, or it began just now
	case there && !leads(t.root, lock.PID):
		return nil // a thread has that number
	case there && lock.StartTicks != nil && s.Start == *lock.StartTicks:
		return new(true)
	case there && lock.StartTicks == nil && !later(s):
		if slices.Contains(names, s.Comm) && after(s) {
			return nil
		}
		return new(true)
	}
	inner, err := t.inner()
	if err != nil {
		return nil
	}
	// Where the clock was set or a time namespace counts otherwise, the ticks of one in a container say nothing.
	for _, s := range inner[lock.PID] {
		if !later(s) {
			return nil
		}
	}
	return new(false)
}

// leads reports whether a number is known to be a process's and not a thread's.
func leads(root string, pid int) bool {
	is, err := proc.Leads(root, pid)
	return err == nil && is
}

// clockSlack is how far the times of a file and of a process may lie apart that are of the same moment.
const clockSlack = 5 * time.Second
