// Package wake says that something may have changed: a process ended, a folder's entries came or went, a file was written. It says no more than that, and decides nothing; who is
// woken looks.
package wake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The sources of events, as Watch tells them.
const (
	Process = "process"
	Folder  = "folder"
	File    = "file"
)

// Targets are what is watched. What is over the bounds is left out, the last first: the schedule finds what happens there.
type Targets struct {
	// Folders are those whose entries matter, and Files those whose content does. One that is not there is waited for.
	Folders, Files []string
	// Processes are those whose end matters.
	Processes []Target
}

// Target is a process: a pid, and when it began, in ticks since boot.
type Target struct {
	PID   int
	Start uint64
}

// maxWatches and maxProcesses bound what is watched. The kernel lets a user have so many inotify watches in all (fs.inotify.max_user_watches), which editors need too, and a process so many
// descriptors, of which each process that is watched takes one.
const (
	maxWatches   = 1024
	maxProcesses = 512
)

// Watch watches until it is closed. Set and Close may be called from any goroutine, and neither waits for a file system.
type Watch struct {
	root string
	wake func(source string)
	log  hclog.Logger

	// asked is what Set was given and is not watched yet; setting is whether a goroutine begins to watch it.
	asking  sync.Mutex
	asked   *Targets
	setting bool
	closing bool

	mu sync.Mutex
	// epoll waits for inotify, for the pidfds of processes, and for stop.
	epoll, inotify, stop int
	closed               bool
	want                 Targets
	// byPath are the watches by folder, byWD the same by the kernel's number.
	byPath map[string]*watched
	byWD   map[int32]*watched
	// processes are the pidfds by what they are of, byFD the same by descriptor.
	processes map[Target]int
	byFD      map[int]Target
	done      chan struct{}
	// full is whether the kernel allows no more watches. It is asked while mu is held by who waits for a file system.
	full atomic.Bool
	// err is why it ended by itself, for who has seen done closed.
	err error
}

// watched is a folder under watch, and why.
type watched struct {
	path string
	wd   int32
	// all is true where every entry matters. names are the files in it that matter. waits are the entries by which something that is not there would come.
	all   bool
	names map[string]bool
	waits map[string]bool
}

// Start begins to watch; nothing is watched before Set. root is /proc. wake is called from one goroutine, and must not wait for the Watch.
func Start(root string, wake func(source string), log hclog.Logger) (*Watch, error) {
	w := &Watch{root: root, wake: wake, log: log, epoll: -1, inotify: -1, stop: -1, byPath: map[string]*watched{}, byWD: map[int32]*watched{},
		processes: map[Target]int{}, byFD: map[int]Target{}, done: make(chan struct{})}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if w.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		err = os.NewSyscallError("eventfd", err)
	} else if w.inotify, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		err = fmt.Errorf("%w; fs.inotify.max_user_instances says how many a user may have", os.NewSyscallError("inotify_init1", err))
	}
	for _, fd := range []int{w.stop, w.inotify} {
		if err == nil {
			err = w.add(fd)
		}
	}
	if err != nil {
		w.free()
		return nil, err
	}
	go w.loop()
	return w, nil
}

func (w *Watch) add(fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
}

// ends is how long Close waits at most: only a file system that does not answer takes so long.
const ends = time.Second

// Close ends the watch, and returns when nothing of it is left, or after a second.
func (w *Watch) Close() {
	w.asking.Lock()
	if !w.closing {
		w.closing = true
		go w.end()
	}
	w.asking.Unlock()
	select {
	case <-w.done:
	case <-time.After(ends):
	}
}

func (w *Watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed { // after that the descriptor may be another file's
		_, _ = unix.Write(w.stop, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

func (w *Watch) free() {
	for _, fd := range []int{w.epoll, w.inotify, w.stop} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	for fd := range w.byFD {
		_ = unix.Close(fd)
	}
}

// Set makes t what is watched soon, in the place of what was. What changes before is not told. What has ended, or is not there, is no error.
func (w *Watch) Set(t Targets) {
	w.asking.Lock()
	defer w.asking.Unlock()
	if w.asked = &t; !w.setting {
		w.setting = true
		go w.follow()
	}
}

// follow begins to watch what was asked for last, until nothing new is asked for.
func (w *Watch) follow() {
	for {
		w.asking.Lock()
		t := w.asked
		w.asked, w.setting = nil, t != nil
		w.asking.Unlock()
		if t == nil {
			return
		}
		w.set(*t)
	}
}

func (w *Watch) set(t Targets) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.want = t
	w.setFolders()
	w.setProcesses()
}

// masks: what happens to entries, and to the folder itself.
const (
	entries = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	itself  = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	written = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
)

// rounds is how often the folders are looked at again that came or went while the watches were made.
const rounds = 8

// setFolders adds and removes watches, so that they are those of what is wanted.
func (w *Watch) setFolders() {
	for range rounds {
		if w.tryFolders() {
			return
		}
	}
}

// tryFolders reports whether nothing came or went between the question whether it is there and the watch.
func (w *Watch) tryFolders() (settled bool) {
	settled = true
	var missing []string
	next := map[string]*watched{}
	at := func(path string) *watched {
		if next[path] == nil && len(next) < maxWatches {
			next[path] = &watched{path: path, names: map[string]bool{}, waits: map[string]bool{}}
		}
		return next[path]
	}
	// await watches the nearest folder that is there for the entry that leads to a path that is not.
	await := func(path string) {
		for parent := filepath.Dir(path); ; path, parent = parent, filepath.Dir(parent) {
			if st, err := os.Stat(parent); err == nil && st.IsDir() {
				if x := at(parent); x != nil {
					x.waits[filepath.Base(path)] = true
					missing = append(missing, path)
				}
				return
			}
			if parent == path {
				return
			}
		}
	}
	isFolder := func(path string) bool {
		st, err := os.Stat(path)
		return err == nil && st.IsDir()
	}
	for _, path := range w.want.Folders {
		if path = filepath.Clean(path); !filepath.IsAbs(path) {
			continue
		}
		if !isFolder(path) {
			await(path)
		} else if x := at(path); x != nil {
			x.all = true
		}
	}
	for _, path := range w.want.Files {
		if path = filepath.Clean(path); !filepath.IsAbs(path) {
			continue
		}
		if dir := filepath.Dir(path); !isFolder(dir) {
			await(path)
		} else if x := at(dir); x != nil {
			x.names[filepath.Base(path)] = true
		}
	}
	for path, x := range w.byPath {
		if next[path] == nil {
			w.drop(x)
		}
	}
	full := false
	for path, x := range next {
		mask := uint32(entries | itself)
		if len(x.names) > 0 {
			mask |= written
		}
		// Added to what is asked of it already: two paths may lead to one folder. What is too much is dropped when it comes.
		wd, err := unix.InotifyAddWatch(w.inotify, path, mask|unix.IN_MASK_ADD)
		switch {
		case err == nil:
		case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM):
			if full = true; !w.full.Swap(true) {
				w.log.Warn("not all folders can be watched; what happens in the others is found on schedule", "folder", path, "error", err, "limit", "fs.inotify.max_user_watches")
			}
			continue
		case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
			settled = false
			continue
		default:
			w.log.Debug("watch a folder", "folder", path, "error", err)
			continue
		}
		x.wd = int32(wd)
		if old := w.byWD[x.wd]; old != nil && old.path != path { // two names of one folder
			for name := range old.names {
				x.names[name] = true
			}
			for name := range old.waits {
				x.waits[name] = true
			}
			x.all = x.all || old.all
			delete(w.byPath, old.path)
		}
		if old := w.byPath[path]; old != nil && old.wd != x.wd && w.byWD[old.wd] == old { // the path leads to another folder by now
			w.drop(old)
		}
		w.byPath[path], w.byWD[x.wd] = x, x
	}
	w.full.Store(full)
	for _, path := range missing {
		if _, err := os.Lstat(path); err == nil {
			settled = false
		}
	}
	return settled
}

func (w *Watch) drop(x *watched) {
	_, _ = unix.InotifyRmWatch(w.inotify, uint32(x.wd))
	delete(w.byPath, x.path)
	delete(w.byWD, x.wd)
}

func (w *Watch) setProcesses() {
	want := w.want.Processes[:min(len(w.want.Processes), maxProcesses)]
	for t := range w.processes {
		if !slices.Contains(want, t) {
			w.forget(t)
		}
	}
	for _, t := range want {
		if _, has := w.processes[t]; has || t.PID <= 0 {
			continue
		}
		fd, err := unix.PidfdOpen(t.PID, 0)
		if err != nil {
			continue // it has ended, which the next look finds
		}
		// The pid may have become another process's; from here on the descriptor is of one.
		if st, err := proc.StatOf(w.root, t.PID); err != nil || st.Start != t.Start || w.add(fd) != nil {
			_ = unix.Close(fd)
			continue
		}
		w.processes[t], w.byFD[fd] = fd, t
	}
}

// forget closes a process's descriptor, which takes it out of epoll.
func (w *Watch) forget(t Target) {
	fd := w.processes[t]
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	_ = unix.Close(fd)
	delete(w.processes, t)
	delete(w.byFD, fd)
}

// loop waits for events until the watch is closed.
func (w *Watch) loop() {
	defer close(w.done)
	defer func() { // from here on its numbers may be other files'
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closed = true
		w.free()
	}()
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			w.err = os.NewSyscallError("epoll_wait", err)
			return
		}
		said := map[string]bool{}
		w.mu.Lock()
		for _, e := range events[:n] {
			switch fd := int(e.Fd); fd {
			case w.stop:
				w.mu.Unlock()
				return
			case w.inotify:
				if w.err = w.read(said); w.err != nil {
					w.mu.Unlock()
					return
				}
			default:
				if t, ok := w.byFD[fd]; ok {
					w.forget(t)
					said[Process] = true
				}
			}
		}
		w.mu.Unlock()
		for source := range said {
			w.wake(source)
		}
		if w.settle() {
			return
		}
	}
}

// settle waits for a moment, in which the kernel puts together what is written again and again, and reports whether the watch is to end. Beside a file that matters there may be a log
// that is written a thousand times a second.
func (w *Watch) settle() (ends bool) {
	stop := []unix.PollFd{{Fd: int32(w.stop), Events: unix.POLLIN}}
	n, _ := unix.Poll(stop, int(between/time.Millisecond)) // a signal makes it shorter
	return n > 0
}

// read takes in what inotify says.
func (w *Watch) read(said map[string]bool) error {
	buf := make([]byte, 64<<10)
	again := false
	for {
		n, err := unix.Read(w.inotify, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err == nil && n <= 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read inotify: %w", err)
		}
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
			end := min(len(rest), unix.SizeofInotifyEvent+int(e.Len))
			name := strings.TrimRight(string(rest[unix.SizeofInotifyEvent:end]), "\x00")
			again = w.event(e.Wd, e.Mask, name, said) || again
			rest = rest[end:]
		}
	}
	if again {
		w.setFolders()
	}
	return nil
}

// event is one of inotify's. It reports whether what is watched has to be looked for again.
func (w *Watch) event(wd int32, mask uint32, name string, said map[string]bool) (again bool) {
	if mask&unix.IN_Q_OVERFLOW != 0 { // some were lost, and it is not known of what
		said[Folder] = true
		return true
	}
	x := w.byWD[wd]
	if x == nil {
		return false
	}
	switch {
	case mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0:
		delete(w.byWD, wd)
		delete(w.byPath, x.path)
		said[Folder] = true
		return true
	case mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0:
		w.drop(x)
		said[Folder] = true
		return true
	}
	if x.all && mask&entries != 0 {
		said[Folder] = true
	}
	if x.names[name] {
		said[File] = true
	}
	if x.waits[name] && mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
		said[Folder] = true
		return true
	}
	return false
}
