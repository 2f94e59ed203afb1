package host

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Names are the names (comm, at most 15 bytes) of programs whose part in a machine is known.
type Names struct {
	// Inits are those that serve as process 1 on purpose. Any other process 1 is a program in a container.
	Inits []string
	// Subreapers are those that inherit the orphans below them (PR_SET_CHILD_SUBREAPER), which /proc does not show.
	Subreapers []string
}

// KnownNames are the inits and subreapers of common systems.
func KnownNames() Names {
	return Names{
		Inits: []string{"systemd", "init", "launchd", "runit", "runit-init", "s6-svscan", "s6-linux-init", "openrc-init", "dinit", "busybox",
			"tini", "docker-init", "podman-init", "catatonit", "dumb-init"},
		Subreapers: []string{"systemd", "containerd-shim", "conmon", "tini", "docker-init", "podman-init", "catatonit", "dumb-init", "s6-svscan"},
	}
}

// reading is one reading of a host.
type reading struct {
	*Root
	Reader
}

// Read fills what a root and the clocks say of the machine and of this process. What cannot be read stays absent; only a root that
// cannot be opened is an error. LastResumeAt and SteadySince need a memory and are left to others.
func Read(path string, names Names) (snapshot.Host, error) {
	r, err := Open(path)
	if err != nil {
		return snapshot.Host{}, fmt.Errorf("read host: %w", err)
	}
	defer r.Close()
	s := reading{r, NewReader()}
	namespace := r.Namespace("pid")
	h := snapshot.Host{BootedAt: r.BootTime(), UID: new(os.Geteuid()), PID: new(r.Self), PIDNamespace: proc.Namespace(namespace)}
	h.BootID, _ = proc.BootID(path)
	if r.Self == 0 {
		h.PID = new(os.Getpid())
	}
	if text, err := os.ReadFile(filepath.Join(path, "sys/kernel/hostname")); err == nil {
		h.Name, _, _ = strings.Cut(string(text), "\n")
	}
	if h.Name == "" {
		h.Name, _ = os.Hostname()
	}
	h.User, h.Home = whoami(*h.UID)
	h.Cwd, _ = unix.Getwd() // the kernel's own word and not $PWD, so that no part of it is a symbolic link
	if line, err := proc.Lineage(path, *h.PID); err == nil && (r.Self != 0 || !r.Procfs) {
		h.Ancestors = line[1:]
	}
	h.Container = s.container(names.Inits, namespace)
	h.OrphanParents = s.orphanParents(h.Ancestors, names.Subreapers)
	return h, nil
}

// whoami is this user's name and home folder: $HOME where it is absolute, as shells and git read it, else what the user
// database says.
func whoami(uid int) (name, home string) {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name, home = u.Username, u.HomeDir
	}
	if h := os.Getenv("HOME"); filepath.IsAbs(h) {
		home = filepath.Clean(h)
	}
	return name, home
}

// container is true where process 1 is not a known init, so that having it for a parent proves nothing. In the machine's own pid
// namespace process 1 is its init, under any name.
func (s *reading) container(inits []string, namespace string) *bool {
	if s.Procfs && namespace == proc.FirstNamespace {
		return new(false)
	}
	st, _, err := s.StatOf(s.Root, 1)
	if err != nil {
		return nil
	}
	return new(!slices.Contains(inits, st.Comm))
}

// orphanParents are the processes that inherit orphans, and positively so. Process 1 does by the kernel's own rule. A service
// manager of this user (systemd below process 1, owned by this user) makes itself a subreaper. Other subreapers count by name, and
// only where they are ancestors of this process and belong to this user or to root: every program can take such a name.
func (s *reading) orphanParents(ancestors []int, subreapers []string) []int {
	pids, err := s.childrenOf(1)
	if err != nil {
		return nil
	}
	found, own := []int{}, os.Geteuid()
	for _, pid := range append(slices.Concat(pids, ancestors), 1) {
		st, uid, err := s.StatOf(s.Root, pid)
		if err != nil {
			continue
		}
		manager := st.Comm == "systemd" && uid == own && st.Parent == 1
		reaper := slices.Contains(ancestors, pid) && slices.Contains(subreapers, st.Comm) && (uid == own || uid == 0)
		if pid == 1 || manager || reaper {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// childrenOf asks the kernel for the children of a process's first thread. A kernel without that file, and a fixture, give all
// processes instead, which costs a look at each.
func (s *reading) childrenOf(pid int) ([]int, error) {
	n := strconv.Itoa(pid)
	text, err := proc.Read(s.FD, n+"/task/"+n+"/children", make([]byte, 16<<10), 16<<20)
	if err != nil {
		return proc.List(s.FD, ".", s.Environ)
	}
	var found []int
	for word := range bytes.FieldsSeq(text) {
		if child, ok := proc.Number(word); ok {
			found = append(found, child)
		}
	}
	return found, nil
}

// Windows reports whether the kernel of a root is that of the Windows Subsystem for Linux, by its release: "microsoft-standard-WSL2" since
// version 2, "Microsoft" before.
func Windows(path string) bool {
	text, err := os.ReadFile(filepath.Join(path, "sys/kernel/osrelease"))
	return err == nil && strings.Contains(strings.ToLower(string(text)), "microsoft")
}

// BootTime is when the machine booted, to the second; nil is unknown.
func (r *Root) BootTime() *time.Time {
	at, err := proc.BootedAt(r.Path)
	if err != nil || at.Unix() == 0 {
		return nil
	}
	return new(at.UTC())
}

// clock reads one of the kernel's clocks, in seconds.
func clock(id int32) *float64 {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return nil
	}
	return new(float64(t.Sec) + float64(t.Nsec)/1e9)
}

// Moment is one moment by three clocks: the wall's, CLOCK_BOOTTIME as Up and CLOCK_MONOTONIC as Awake, both in seconds since boot and
// nil where the kernel does not have that clock.
type Moment struct {
	At        time.Time
	Up, Awake *float64
}

// closeBy is how far apart the readings of one moment may be, in seconds.
const closeBy = 0.001

// Now reads the clocks together, so that two moments can be compared, however late one is used. It reads again
// when it was held up between them, and takes the closest reading of a few. The time awake is never above the time up.
func Now() Moment {
	var best Moment
	var apart float64
	for i := range 3 {
		before := clock(unix.CLOCK_BOOTTIME)
		m := Moment{Awake: clock(unix.CLOCK_MONOTONIC), At: time.Now().Round(0).UTC()}
		if m.Up = clock(unix.CLOCK_BOOTTIME); before == nil || m.Up == nil {
			return m
		}
		if took := *m.Up - *before; i == 0 || took < apart {
			best, apart = m, took
		}
		if apart <= closeBy {
			break
		}
	}
	return best
}
