// Package wake says that something may have changed: a process ended, a folder's entries came or went, a file was written. It says no more than that, and decides nothing; who is
// woken looks.
package wake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// The sources of events, as Files tells them.
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

// Files hears of what happens to folders, files and processes, while it runs. It may run again once it has ended. Set may be called from any goroutine at any time, and does not
// wait for a file system.
type Files struct {
	root string
	wake func(source string)
	log  hclog.Logger

	// asked is what Set was given last and is not watched yet; ended are processes whose end was seen, and waiting is for who waits for one.
	asked   chan Targets
	ended   chan Target
	waiting sync.WaitGroup

	mu    sync.Mutex
	files *fsnotify.Watcher
	want  Targets
	// folders are those under watch, by the paths that links lead to. lost is true where they have to be looked for again.
	folders map[string]*watched
	lost    bool
	// processes are the pidfds, each with a goroutine that waits for its end.
	processes map[Target]*os.File
	// full is whether the kernel allows no more watches. It is asked while mu is held by who waits for a file system.
	full atomic.Bool
}

// watched is why a folder is under watch.
type watched struct {
	// all is true where every entry matters. names are the files in it that matter. waits are the entries by which something that is not there would come.
	all   bool
	names map[string]bool
	waits map[string]bool
}

// NewFiles makes one that watches nothing before Run. root is /proc. wake is called from one goroutine, and must not wait for it.
func NewFiles(root string, wake func(source string), log hclog.Logger) *Files {
	return &Files{root: root, wake: wake, log: log, asked: make(chan Targets, 1), processes: map[Target]*os.File{}}
}

// Set makes t what is watched soon, and whenever the watch begins again. What changes before is not told. What has ended, or is not there, is no error.
func (w *Files) Set(t Targets) {
	for {
		select {
		case w.asked <- t:
			return
		case <-w.asked: // what was asked for before
		}
	}
}

// Limited says why not all is watched that Set asked for, "" where it is.
func (w *Files) Limited() string {
	if w.full.Load() {
		return "not all folders can be watched: fs.inotify.max_user_watches says how many watches this user may have"
	}
	return ""
}

func (w *Files) set(t Targets) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want = t
	w.setFolders()
	w.setProcesses()
}

// rounds is how often the folders are looked at again that came or went while the watches were made.
const rounds = 8

// setFolders adds and removes watches, so that they are those of what is wanted.
func (w *Files) setFolders() {
	w.lost = false
	for n := 0; n < rounds && !w.tryFolders(); n++ {
	}
}

// tryFolders reports whether nothing came or went between the question whether it is there and the watch.
func (w *Files) tryFolders() (settled bool) {
	settled = true
	var missing []string
	next := map[string]*watched{}
	// at is what is watched of the folder that a path leads to, nil where there is no such folder.
	at := func(path string) *watched {
		path, err := filepath.EvalSymlinks(path)
		if st, unread := os.Stat(path); err != nil || unread != nil || !st.IsDir() || !filepath.IsAbs(path) {
			return nil
		}
		x := next[path]
		if x == nil {
			x = &watched{names: map[string]bool{}, waits: map[string]bool{}}
			if len(next) < maxWatches {
				next[path] = x
			}
		}
		return x
	}
	// await watches the nearest folder that is there for the entry that leads to a path that is not.
	await := func(path string) {
		for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
			if x := at(parent); x != nil {
				x.waits[filepath.Base(path)] = true
				missing = append(missing, path)
				return
			}
		}
	}
	for _, path := range w.want.Folders {
		if x := at(path); x != nil {
			x.all = true
		} else {
			await(filepath.Clean(path))
		}
	}
	for _, path := range w.want.Files {
		if x := at(filepath.Dir(path)); x != nil {
			x.names[filepath.Base(path)] = true
		} else {
			await(filepath.Clean(path))
		}
	}
	for _, path := range w.files.WatchList() {
		if next[path] == nil {
			_ = w.files.Remove(path) // it may be gone by itself
		}
	}
	full := false
	for path := range next {
		switch err := w.files.Add(path); {
		case err == nil:
			continue
		case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM):
			if full = true; !w.full.Swap(true) {
				w.log.Warn("not all folders can be watched; what happens in the others is found on schedule", "folder", path, "error", err, "limit", "fs.inotify.max_user_watches")
			}
		case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
			settled = false
		default:
			w.log.Debug("watch a folder", "folder", path, "error", err)
		}
		delete(next, path)
	}
	w.folders = next
	w.full.Store(full)
	return settled && !slices.ContainsFunc(missing, func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

func (w *Files) setProcesses() {
	want := w.want.Processes[:min(len(w.want.Processes), maxProcesses)]
	for t := range w.processes {
		if !slices.Contains(want, t) {
			w.forget(t)
		}
	}
	for _, t := range want {
		if w.processes[t] == nil && t.PID > 0 {
			w.await(t)
		}
	}
}

// await watches a process, unless it has ended, which the next look finds.
func (w *Files) await(t Target) {
	fd, err := unix.PidfdOpen(t.PID, 0)
	if err != nil {
		return
	}
	err = unix.SetNonblock(fd, true) // so that no thread waits for it
	file := os.NewFile(uintptr(fd), "pidfd")
	conn, unreadable := file.SyscallConn()
	// The pid may have become another process's; from here on the descriptor is of one.
	st, unread := proc.StatOf(w.root, t.PID)
	if errors.Join(err, unreadable, unread) != nil || st.Start != t.Start {
		_ = file.Close()
		return
	}
	w.processes[t] = file
	w.waiting.Go(func() {
		if conn.Read(func(fd uintptr) bool {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0
		}) == nil { // it was not closed
			w.ended <- t
		}
	})
}

// forget watches a process no more, and reports whether it was watched.
func (w *Files) forget(t Target) bool {
	file := w.processes[t]
	delete(w.processes, t)
	return file != nil && file.Close() == nil
}

// moment is how long it hears more before it wakes; between is how long the kernel then puts together what is written again and again. Beside a file that matters there may be
// a log that is written a thousand times a second.
const moment = time.Millisecond

// Run watches until ctx ends, and then gives its error.
func (w *Files) Run(ctx context.Context, listening func()) error {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("%w; fs.inotify.max_user_instances says how many a user may have", err)
	}
	w.mu.Lock()
	w.files, w.ended = files, make(chan Target)
	w.mu.Unlock()
	defer w.free()
	w.set(w.want)
	listening()
	heard := map[string]bool{}
	var say <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case t := <-w.asked:
			w.set(t)
		case t := <-w.ended:
			w.mu.Lock()
			heard[Process] = w.forget(t) || heard[Process]
			w.mu.Unlock()
		case e := <-files.Events:
			w.event(e, heard)
		case err := <-files.Errors: // nil where it was closed
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("read inotify: %w", cmp.Or(err, fsnotify.ErrClosed))
			}
			w.event(fsnotify.Event{}, heard) // some were lost, and it is not known of what
		case <-say:
			w.say(heard)
			clear(heard)
			say = nil
			select {
			case <-ctx.Done():
			case <-time.After(between):
			}
			continue
		}
		if say == nil { // also after what does not matter: there may be much of it
			say = time.After(moment)
		}
	}
}

// say wakes for what was heard, once what was lost is watched again.
func (w *Files) say(heard map[string]bool) {
	w.mu.Lock()
	if w.lost {
		w.setFolders()
	}
	w.mu.Unlock()
	for source, is := range heard {
		if is {
			w.wake(source)
		}
	}
}

func (w *Files) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.files.Close()
	w.full.Store(false)
	for t := range w.processes {
		w.forget(t)
	}
	go func() { w.waiting.Wait(); close(w.ended) }()
	for range w.ended { // so that none of them waits
	}
}

// event is one of inotify's; one without a name stands for any.
func (w *Files) event(e fsnotify.Event, heard map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := filepath.Clean(e.Name)
	if e.Name == "" || w.folders[path] != nil && e.Has(fsnotify.Remove|fsnotify.Rename) {
		heard[Folder], w.lost = true, true
	}
	x, name := w.folders[filepath.Dir(path)], filepath.Base(path)
	if x == nil {
		return
	}
	if x.all && e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
		heard[Folder] = true
	}
	if x.names[name] && e.Op != fsnotify.Chmod {
		heard[File] = true
	}
	if x.waits[name] && e.Has(fsnotify.Create) {
		heard[Folder], w.lost = true, true
	}
}
