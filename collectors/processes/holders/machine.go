package holders

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// machine is what the kernel is asked for once a look.
type machine struct {
	// files are files that the kernel itself uses.
	files []kernelFile
	locks []lock
	// sockets are the numbers of the spots that each unix socket, by inode, is bound in.
	sockets map[uint64][]int
	// relative are the names of those that were bound by a relative one.
	relative map[uint64]string
	// bound are the unix sockets that are bound anywhere, by the last 32 bits of the inode of what they are bound to.
	bound map[uint32][]processes.BoundSocket
	// unknown is true when one of these could not be read although there is something to be read.
	unknown bool
}

// kernelFile is a file that the kernel has in use: by name, and as how.
type kernelFile struct {
	name, path string
	how        int
}

// lock is a line of /proc/locks: a process and the file that it locked. Pid is below 1 for a lock of an open file (OFD).
type lock struct {
	pid  int
	node node
}

func (h *scan) askMachine() machine {
	m := machine{sockets: map[uint64][]int{}, relative: map[uint64]string{}}
	for _, ask := range []func(*machine) error{h.swaps, h.loops, h.readLocks, h.readSockets} {
		if err := ask(&m); err != nil {
			m.unknown = true
		}
	}
	if h.o.Thorough && h.root.Procfs {
		// Without the module that answers, the names are left, which were read above.
		m.bound, _ = processes.BoundSockets()
	}
	return m
}

// table reads a file below the root of procfs; "" is one that this kernel or fixture does not have.
func (h *scan) table(name string) ([]byte, error) {
	text, err := proc.Read(h.root.FD, name, make([]byte, 16<<10), proc.MaxTable)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return text, err
}

// swaps reads /proc/swaps: a heading, then path and kind, see proc(5).
func (h *scan) swaps(m *machine) error {
	text, err := h.table("swaps")
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 2 && string(f[1]) == "file" {
			path, _ := strings.CutSuffix(proc.Unescape(string(f[0])), proc.Deleted)
			m.files = append(m.files, kernelFile{"swap file", path, bySwap})
		}
	}
	return err
}

// loops reads which files loop devices show. Partitions lists those that show one; where the folder that tells which is not there, as
// in some sandboxes, it is unknown.
func (h *scan) loops(m *machine) error {
	text, err := h.table("partitions")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 4 || !bytes.HasPrefix(f[3], []byte("loop")) {
			continue
		}
		if _, ok := proc.Number(f[3][len("loop"):]); !ok {
			continue // a partition of one
		}
		at := filepath.Join(cmp.Or(h.o.Sys, "/sys"), "block", string(f[3]))
		file, err := os.ReadFile(filepath.Join(at, "loop", "backing_file"))
		if errors.Is(err, fs.ErrNotExist) {
			// The device is there and has no such file: it let go of what it showed, or never had any.
			if _, there := os.Lstat(at); there == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		path, _ := strings.CutSuffix(strings.TrimSuffix(string(file), "\n"), proc.Deleted)
		m.files = append(m.files, kernelFile{string(f[3]), path, byLoop})
	}
	return nil
}

// readLocks reads /proc/locks.
func (h *scan) readLocks(m *machine) error {
	text, err := h.table("locks")
	for _, l := range proc.Locks(text) {
		if n, ok := lockedNode(l.File); ok && l.PID != h.root.Self {
			m.locks = append(m.locks, lock{l.PID, n})
		}
	}
	return err
}

// lockedNode reads major:minor:inode, the first two in hexadecimal.
func lockedNode(text string) (node, bool) {
	end := max(0, strings.LastIndexByte(text, ':'))
	dev, ok := nodeDevice(text[:end], 16)
	ino, err := strconv.ParseUint(strings.TrimPrefix(text[end:], ":"), 10, 64)
	return node{dev, ino}, ok && err == nil
}

func (h *scan) locker(l lock) snapshot.Holder {
	holder := snapshot.Holder{Name: "a lock", How: kinds[byLock]}
	if l.pid < 1 {
		return holder
	}
	holder.PID, holder.Name = l.pid, "?"
	if text, err := proc.ReadSome(h.root.FD, strconv.Itoa(l.pid)+"/comm", h.Text); err == nil {
		holder.Name = headOf(text)
	}
	return holder
}

// seen is what processes have that is joined with more when all were read.
type seen struct {
	spaces map[string]space
	// nets are the network namespaces whose sockets were read.
	nets   map[uint64]bool
	layers map[string][]relative
	// claims are inodes that processes have something to do with.
	claims []claim
	// owners are the processes that have each unix socket.
	owners map[uint64]subject
}

// claim is that a process, or the kernel, has to do with inodes.
type claim struct {
	holder snapshot.Holder
	nodes  []node
	// stat is true for nodes whose device is stat's.
	stat bool
}

func newSeen() seen {
	return seen{spaces: map[string]space{}, nets: map[uint64]bool{}, layers: map[string][]relative{}, owners: map[uint64]subject{}}
}

// drop forgets what a process claimed that is read again.
func (s *seen) drop(pid int) {
	for n := len(s.claims); n > 0 && s.claims[n-1].holder.PID == pid; n-- {
		s.claims = s.claims[:n-1]
	}
}

func (s *seen) join(o seen) {
	for key, space := range o.spaces {
		if have, ok := s.spaces[key]; !ok || space.pid < have.pid {
			s.spaces[key] = space
		}
	}
	s.claims = append(s.claims, o.claims...)
	maps.Copy(s.owners, o.owners)
}

// remote are the beginnings of the kinds of file systems that may not answer.
var remote = []string{"nfs", "cifs", "smb", "9p", "afs", "ceph", "fuse", "autofs", "lustre", "gluster", "virtiofs"}

// noteCheckout marks what the git folder belongs to of the checkout that a process works in: a worktree that was moved by hand, or a copy of one, still leads to the
// folder that git keeps for it. Where the file system may not answer, and no folder that is asked about lies on it, it is not looked at.
func (h *scan) noteCheckout(dir int) {
	if h.at.daemon || h.at.view == nil {
		return
	}
	at, _ := strings.CutSuffix(h.at.cwd, proc.Deleted)
	asked := false
	for fd := range foldersAround(dir, "cwd") {
		if !asked && !h.answers(fd) {
			return
		}
		asked = true
		if admin, there := gitFile(fd); there {
			if admin != "" && !path.IsAbs(admin) {
				admin = path.Join(at, admin)
			}
			h.note(h.at.view, admin, byAdmin)
			return
		}
		at = path.Dir(at)
	}
}

// answers reports whether the file system of an open folder is a local one, or one on which a folder that is asked about lies.
func (h *scan) answers(fd int) bool {
	var st unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MNT_ID, &st) != nil {
		return false
	}
	number := unix.Mkdev(st.Dev_major, st.Dev_minor)
	if st.Dev_major != 0 || slices.ContainsFunc(h.spots, func(s spot) bool { return s.id.dev == number }) {
		return true
	}
	device := fmt.Sprintf("%d:%d", st.Dev_major, st.Dev_minor)
	for _, m := range h.mounts {
		if m.Device == device || st.Mask&unix.STATX_MNT_ID != 0 && uint64(m.ID) == st.Mnt_id {
			return !slices.ContainsFunc(remote, func(kind string) bool { return strings.HasPrefix(m.Kind, kind) })
		}
	}
	return false
}

// gitFile reads the .git of an open folder: where it leads, "" where it is a folder or says nothing.
func gitFile(fd int) (admin string, there bool) {
	file, err := unix.Openat(fd, ".git", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err != unix.ENOENT
	}
	defer func() { _ = unix.Close(file) }()
	var st unix.Stat_t
	if unix.Fstat(file, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", true
	}
	text := make([]byte, maxGitFile)
	n, err := unix.Read(file, text)
	if err != nil {
		return "", true
	}
	admin, _ = strings.CutPrefix(string(text[:max(n, 0)]), "gitdir:")
	return strings.TrimSpace(admin), true
}
