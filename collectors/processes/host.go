package processes

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"winnow/engine/snapshot"
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

// Host fills what a root and the clocks say of the machine and of this process. What cannot be read stays absent; only a root that
// cannot be opened is an error. LastResumeAt and SteadySince need a memory and are left to others.
func Host(path string, names Names) (snapshot.Host, error) {
	r, err := openRoot(path)
	if err != nil {
		return snapshot.Host{}, fmt.Errorf("read host: %w", err)
	}
	defer r.close()
	s := newScan(r, Options{})
	h := snapshot.Host{
		Name: firstLine(r, "sys/kernel/hostname"), BootID: s.salt, BootedAt: s.boot, UID: new(s.uid), PID: new(r.self),
		PIDNamespace: namespace(ownLink(r, "pid")),
	}
	if r.self == 0 {
		h.PID = new(os.Getpid())
	}
	if h.Name == "" {
		h.Name, _ = os.Hostname()
	}
	h.User, h.Home = whoami(s.uid)
	h.Cwd = workingDir()
	if r.self != 0 || !r.procfs {
		h.Ancestors = s.ancestors(*h.PID)
	}
	h.Container = s.container(names.Inits, h.PIDNamespace)
	h.OrphanParents = s.orphanParents(h.Ancestors, names.Subreapers)
	return h, nil
}

// namespace takes the inode out of a link such as pid:[4026531836].
func namespace(text string) *uint64 {
	_, rest, ok := bytes.Cut([]byte(text), []byte(":["))
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSuffix(rest, []byte("]"))), 10, 64)
	if err != nil {
		return nil
	}
	return &n
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

// workingDir is the kernel's own word and not $PWD, so that no part of it is a symbolic link. "" for one that is not reachable.
func workingDir() string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil || n < 1 || buf[0] != '/' {
		return ""
	}
	return string(bytes.TrimRight(buf[:n], "\x00"))
}

func (s *scan) statOf(pid int) (stat, int, error) {
	dir, err := s.root.open(pid)
	if err != nil {
		return stat{}, 0, err
	}
	defer unix.Close(dir)
	var owner unix.Stat_t
	if err := unix.Fstat(dir, &owner); err != nil {
		return stat{}, 0, err
	}
	st, err := s.stat(dir)
	return st, int(owner.Uid), err
}

// ancestors are the parents of pid, nearest first, up to the one that has none in this pid namespace: process 1, or one that was
// put into the namespace from outside, which has none itself. A parent that ends meanwhile hands its child to another, so the walk starts over.
// Where it finds no end, all are unknown, which is nil.
func (s *scan) ancestors(pid int) []int {
	for range tries {
		if up, ok := s.walkUp(pid); ok {
			return up
		}
	}
	return nil
}

func (s *scan) walkUp(pid int) ([]int, bool) {
	up := []int{}
	for {
		st, _, err := s.statOf(pid)
		if err != nil || slices.Contains(up, st.ppid) {
			return nil, false
		}
		if st.ppid == 0 {
			return up, true
		}
		pid = st.ppid
		up = append(up, pid)
	}
}

// firstNamespace is the inode of the machine's own pid namespace (PROC_PID_INIT_INO of the kernel's proc_ns.h).
const firstNamespace = 0xEFFFFFFC

// container is true where process 1 is no known init, so that having it for a parent proves nothing. In the machine's own pid
// namespace process 1 is its init whatever it is called.
func (s *scan) container(inits []string, namespace *uint64) *bool {
	if s.root.procfs && namespace != nil && *namespace == firstNamespace {
		return new(false)
	}
	st, _, err := s.statOf(1)
	if err != nil {
		return nil
	}
	return new(!slices.Contains(inits, st.comm))
}

// orphanParents are the processes that inherit orphans, and positively so. Process 1 does by the kernel's own rule. A service
// manager of this user (systemd below process 1, owned by this user) makes itself a subreaper. Other subreapers count by name, and
// only where they are ancestors of this process and belong to this user or to root: a name alone is anybody's to take.
func (s *scan) orphanParents(ancestors []int, subreapers []string) []int {
	pids, err := s.childrenOf(1)
	if err != nil {
		return nil
	}
	found := []int{}
	for _, pid := range append(slices.Concat(pids, ancestors), 1) {
		st, uid, err := s.statOf(pid)
		if err != nil {
			continue
		}
		manager := st.comm == "systemd" && uid == s.uid && st.ppid == 1
		reaper := slices.Contains(ancestors, pid) && slices.Contains(subreapers, st.comm) && (uid == s.uid || uid == 0)
		if pid == 1 || manager || reaper {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// childrenOf asks the kernel for the children of a process's first thread. A kernel without that file, and a fixture, give all
// processes instead, which costs a look at each.
func (s *scan) childrenOf(pid int) ([]int, error) {
	n := strconv.Itoa(pid)
	text, err := read(s.root.fd, n+"/task/"+n+"/children", make([]byte, 16<<10), 16<<20)
	if err != nil {
		return list(s.root.fd, ".", s.environ)
	}
	var found []int
	for word := range bytes.FieldsSeq(text) {
		if child, ok := number(word); ok {
			found = append(found, child)
		}
	}
	return found, nil
}
