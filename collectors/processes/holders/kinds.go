package holders

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The ways to hold a folder, as indices of kinds: the strongest first.
const (
	byCwd = iota
	byExe
	byRoot
	byThread
	byFD
	byMap
	bySocket
	byLock
	byAdmin
	byArgv
	byEnviron
	byWatch
	byLink
	byOverlay
	byMount
	byLoop
	bySwap
)

// kinds are the words for them.
var kinds = [...]string{
	byCwd:     "cwd",     // it works in it
	byExe:     "exe",     // it was started from it
	byRoot:    "root",    // its root folder is in it
	byThread:  "thread",  // one of its threads works in it, or has a file there open that the others have not
	byFD:      "fd",      // it has a file or folder in it open
	byMap:     "map",     // it has a file in it mapped, such as a library
	bySocket:  "socket",  // it has a unix socket that is bound in it
	byLock:    "lock",    // it has a lock on a file in it
	byAdmin:   "admin",   // it uses the folder that git keeps for the worktree, or works in another checkout that leads there
	byArgv:    "argv",    // its command line names what lies in it, such as a script
	byEnviron: "env",     // its environment leads git, or the search for programs and libraries, into it
	byWatch:   "watch",   // it asked the kernel to report changes in it
	byLink:    "link",    // it has a file open that has another name in it
	byOverlay: "overlay", // a mount that it sees is made of what lies in it
	byMount:   "mount",   // a mount that it sees leads into it
	byLoop:    "loop",    // a loop device shows a file in it
	bySwap:    "swap",    // the kernel swaps to a file in it
}

// Kinds lists the words for how a folder is used, the strongest first.
func Kinds() []string { return slices.Clone(kinds[:]) }

// idle reports whether a way of holding a folder says nothing of a daemon: it was started there, or asked to be notified of changes. What it
// has open is in use, and what works for it below is a process of its own.
func idle(how int) bool {
	return slices.Contains([]int{byCwd, byThread, byArgv, byEnviron, byWatch}, how)
}

// mapped marks the folders in which files lie that a process has mapped. The file that lists them is read under the lock of the
// process's memory, so it is asked for in a thorough look alone.
func (h *scan) mapped(dir int, base string, v *places) error {
	text, err := proc.Read(dir, base+"maps", h.Environ, proc.MaxTable)
	if errors.Is(err, unix.ENOENT) && !h.root.Procfs {
		return nil
	}
	if err != nil {
		return err
	}
	var last []byte
	for line := range bytes.Lines(text) {
		at := bytes.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		// The parts of one file stand one after the other.
		if path := bytes.TrimSuffix(line[at:], []byte("\n")); !bytes.Equal(path, last) {
			last = path
			h.note(v, proc.Unescape(string(path)), byMap)
		}
	}
	return nil
}

// noteFile claims an open file that has another name besides the one it was opened by. Nothing is asked of a server for that.
func (h *scan) noteFile(dir int, name string, text []byte) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO, &st)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	if st.Nlink > 1 || st.Nlink == 1 && bytes.HasSuffix(text, []byte(proc.Deleted)) {
		n := node{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
		h.seen.claims = append(h.seen.claims, claim{holder: h.at.as(byLink), nodes: []node{n}, stat: true})
	}
}

// readSockets reads the unix sockets of this network namespace that are bound, by the name they were bound with, in one of the folders.
func (h *scan) readSockets(m *machine) error {
	text, err := h.table("net/unix")
	if err != nil {
		return err
	}
	m.addSockets(text, h.views[h.own])
	return nil
}

// addSockets takes bound sockets out of the text of a net/unix file.
func (m *machine) addSockets(text []byte, v *places) {
	for s, ok := range processes.UnixSockets(text) {
		switch {
		case !ok || s.Inode == 0 || len(s.Name) == 0 || s.Name[0] == '@':
		case s.Name[0] != '/':
			m.relative[s.Inode] = string(s.Name)
		default:
			v.visit(path.Clean(string(s.Name)), func(numbers []int) { m.sockets[s.Inode] = append(m.sockets[s.Inode], numbers...) })
		}
	}
}

// noteSocket marks where a socket that the process at hand has is bound.
func (h *scan) noteSocket(v *places, inode uint64) {
	numbers, named := h.machine.sockets[inode]
	h.mark(numbers, bySocket)
	if name, ok := h.machine.relative[inode]; ok && h.at.cwd != "" {
		v.visit(path.Clean(h.at.cwd+"/"+name), func(numbers []int) { h.mark(numbers, bySocket) })
	}
	if named || h.machine.bound != nil {
		h.seen.owners[inode] = h.at
	}
}

// otherSockets reads the unix sockets of another network namespace, once. The file that lists them has one inode a namespace.
func (h *scan) otherSockets(dir int, v *places) {
	var st, own unix.Stat_t
	if unix.Fstatat(dir, "net/unix", &st, 0) != nil || unix.Fstatat(h.root.FD, "self/net/unix", &own, 0) != nil || st.Ino == own.Ino ||
		h.seen.nets[st.Ino] {
		return
	}
	h.seen.nets[st.Ino] = true
	if text, err := proc.Read(dir, "net/unix", make([]byte, 16<<10), proc.MaxTable); err == nil {
		h.machine.addSockets(text, v)
	}
}

// unclaimed adds the sockets that are bound in a folder and that no process showed: they live, so some process has them.
func (h *scan) unclaimed() {
	for inode, numbers := range h.machine.sockets {
		if _, ok := h.seen.owners[inode]; ok {
			continue
		}
		for _, i := range numbers {
			h.add(i, snapshot.Holder{Name: "a unix socket", How: kinds[bySocket]})
		}
	}
}

// threads looks at those of a process's threads that have a working directory, a root or a table of open files of their own (unshare(2)
// with CLONE_FS or CLONE_FILES).
func (h *scan) threads(pid, dir int, st proc.Stat) error {
	if st.Threads < 2 {
		return nil
	}
	numbers, err := proc.List(dir, "task", h.Environ)
	if err != nil {
		return err
	}
	var failed error
	for _, t := range numbers {
		if t == pid {
			continue
		}
		if err := h.thread(pid, dir, t); err != nil && !proc.Ended(err) {
			failed = err
		}
	}
	return failed
}

func (h *scan) thread(pid, dir, tid int) error {
	base := "task/" + strconv.Itoa(tid) + "/"
	apart := !h.shares(pid, tid, kcmpFS)
	if !apart && h.shares(pid, tid, kcmpFiles) {
		return nil
	}
	v, foreign, err := h.viewOf(dir, base)
	if err != nil {
		return err
	}
	var failed error
	if apart {
		for _, name := range []string{"cwd", "root"} {
			_, err := h.noteLink(v, dir, base+name, byThread, foreign)
			failed = errors.Join(failed, err)
		}
	}
	if pid == h.root.Self || h.shares(pid, tid, kcmpFiles) {
		return failed
	}
	return errors.Join(failed, h.descriptors(dir, base, v, byThread))
}

// What kcmp(2) compares: the table of open files; working directory and root (linux/kcmp.h).
const (
	kcmpFiles = 2
	kcmpFS    = 3
)

// shares reports whether two threads share something. Where the kernel does not say, they may not.
func (h *scan) shares(pid, tid int, what uintptr) bool {
	if !h.root.Own {
		return false
	}
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(tid), what, 0, 0, 0)
	return errno == 0 && order == 0
}
