// Package fakeproc makes folders that are laid out like /proc, for tests of what reads it.
package fakeproc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/files"
)

// Root is a folder laid out like /proc.
type Root struct {
	Path string
	tb   testing.TB
}

// New is one without processes, on a machine that booted at BootedAt.
func New(tb testing.TB) Root { return At(tb, tb.TempDir()) }

// At is New in a given folder.
func At(tb testing.TB, path string) Root {
	f := Root{path, tb}
	f.machine()
	return f
}

// BootedAt is when the machine of every fixture booted, in seconds.
const BootedAt = 1_700_000_000

func (f Root) machine() {
	f.Write("stat", fmt.Sprintf("cpu  1 2 3\nintr 0\nctxt 5\nbtime %d\nprocesses 9\n", BootedAt))
	f.Write("sys/kernel/random/boot_id", "0b0ae5c1-0000-4000-8000-000000000000\n")
	f.Write("sys/kernel/hostname", "fixture\n")
}

// Entry is one process of a fixture. Zero values leave out what they stand for.
type Entry struct {
	PID, PPID, Session int
	Comm               string
	State              string
	TTY                int
	Flags              uint64
	Threads            int
	Start              uint64
	Cwd, Exe, Chroot   string
	Environ, Cmdline   string
	FDs                map[int]string
	// Wchan and Call are where it sleeps, as two files say it; there is no such file where they are empty.
	Wchan, Call string
	// Front is true of one in front of its terminal.
	Front bool
}

// Process adds one, with what its files say.
func (f Root) Process(e Entry) {
	f.tb.Helper()
	dir := strconv.Itoa(e.PID)
	if e.State == "" {
		e.State = "S"
	}
	if e.Session == 0 {
		e.Session = e.PID
	}
	if e.Threads == 0 {
		e.Threads = 1
	}
	foreground := -1
	if e.Front {
		foreground = e.Session
	}
	f.Write(dir+"/stat", fmt.Sprintf("%d (%s) %s %d %d %d %d %d %d 10 0 0 0 150 50 30 20 20 0 %d 0 %d 1000000 25 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		e.PID, e.Comm, e.State, e.PPID, e.Session, e.Session, e.TTY, foreground, e.Flags, e.Threads, e.Start))
	uid := os.Getuid()
	f.Write(dir+"/status", fmt.Sprintf("Name:\tx\nState:\t%s\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nUid:\t%d\t%d\t%d\t%d\nGid:\t0\t0\t0\t0\nThreads:\t%d\n",
		e.State, e.PID, e.PID, e.PPID, uid, uid, uid, uid, e.Threads))
	for name, text := range map[string]string{"wchan": e.Wchan, "syscall": e.Call} {
		if text != "" {
			f.Write(dir+"/"+name, text)
		}
	}
	f.Write(dir+"/environ", e.Environ)
	f.Write(dir+"/cmdline", e.Cmdline)
	for name, target := range map[string]string{"cwd": e.Cwd, "exe": e.Exe, "root": e.Chroot} {
		if target != "" {
			f.Link(dir+"/"+name, target)
		}
	}
	for fd, target := range e.FDs {
		f.Link(dir+"/fd/"+strconv.Itoa(fd), target)
	}
}

// Write writes a file of the fixture.
func (f Root) Write(name, text string) { files.Write(f.tb, filepath.Join(f.Path, name), text) }

// Link makes a link in the fixture.
func (f Root) Link(name, target string) { files.Link(f.tb, filepath.Join(f.Path, name), target) }
