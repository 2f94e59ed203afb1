package processes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
)

// fixture is a folder laid out like /proc.
type fixture struct {
	tb   testing.TB
	root string
}

func newFixture(tb testing.TB) fixture {
	f := fixture{tb, tb.TempDir()}
	f.machine()
	return f
}

// bootedAt is btime of every fixture.
const bootedAt = 1_700_000_000

func (f fixture) machine() {
	f.write("stat", fmt.Sprintf("cpu  1 2 3\nintr 0\nctxt 5\nbtime %d\nprocesses 9\n", bootedAt))
	f.write("sys/kernel/random/boot_id", "0b0ae5c1-0000-4000-8000-000000000000\n")
	f.write("sys/kernel/hostname", "fixture\n")
}

// entry is one process of a fixture. Zero values leave out what they stand for.
type entry struct {
	pid, ppid, session int
	comm               string
	state              string
	tty                int
	flags              uint64
	threads            int
	start              uint64
	cwd, exe, chroot   string
	environ, cmdline   string
	fds                map[int]string
	// wchan and call are where it sleeps, as two files say it; there is no such file where they are empty.
	wchan, call string
	// front is true of one in front of its terminal.
	front bool
}

func (f fixture) process(e entry) {
	f.tb.Helper()
	dir := strconv.Itoa(e.pid)
	if e.state == "" {
		e.state = "S"
	}
	if e.session == 0 {
		e.session = e.pid
	}
	if e.threads == 0 {
		e.threads = 1
	}
	foreground := -1
	if e.front {
		foreground = e.session
	}
	f.write(dir+"/stat", fmt.Sprintf("%d (%s) %s %d %d %d %d %d %d 10 0 0 0 150 50 30 20 20 0 %d 0 %d 1000000 25 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		e.pid, e.comm, e.state, e.ppid, e.session, e.session, e.tty, foreground, e.flags, e.threads, e.start))
	uid := os.Getuid()
	f.write(dir+"/status", fmt.Sprintf("Name:\tx\nState:\t%s\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nUid:\t%d\t%d\t%d\t%d\nGid:\t0\t0\t0\t0\nThreads:\t%d\n",
		e.state, e.pid, e.pid, e.ppid, uid, uid, uid, uid, e.threads))
	for name, text := range map[string]string{"wchan": e.wchan, "syscall": e.call} {
		if text != "" {
			f.write(dir+"/"+name, text)
		}
	}
	f.write(dir+"/environ", e.environ)
	f.write(dir+"/cmdline", e.cmdline)
	for name, target := range map[string]string{"cwd": e.cwd, "exe": e.exe, "root": e.chroot} {
		if target != "" {
			f.link(dir+"/"+name, target)
		}
	}
	for fd, target := range e.fds {
		f.link(dir+"/fd/"+strconv.Itoa(fd), target)
	}
}

func (f fixture) write(name, text string) { files.Write(f.tb, filepath.Join(f.root, name), text) }

func (f fixture) link(name, target string) { files.Link(f.tb, filepath.Join(f.root, name), target) }

// all reads the fixture, and gives the processes by their ids.
func (f fixture) all(o processes.Options) map[string]*snapshot.Process {
	f.tb.Helper()
	got, err := f.read(o)
	if err != nil {
		f.tb.Fatal(err)
	}
	return got.Processes
}
