package soak_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
)

// fault is something that the daemon has to live with.
type fault struct {
	name string
	do   func()
}

func (w *world) faults() []fault {
	return []fault{
		{"tmux ends and begins", w.tmuxEnds},
		{"herdr begins again", func() { w.forget("tab "); w.herdr.Restart(); w.wakes() }},
		{"herdr ends and another begins", w.herdrEnds},
		{"a folder is made again", w.folderEnds},
		{"all of its watches are taken away", w.watchesEnd},
		{"it has no descriptors left", w.noDescriptors},
		{"wrong policies", func() { w.reload("rules/reap/dirs/scratch/scratch.rego", badRules, goodRules) }},
		{"other policies", func() {
			w.reloads("rules/reap/dirs/scratch/scratch.rego", otherRules)
			w.reloads("rules/reap/dirs/scratch/scratch.rego", goodRules)
		}},
		{"a wrong configuration", func() {
			w.reload("config.yaml", "version: [\n", fmt.Sprintf(configuration, w.home, "0s"))
		}},
		{"another configuration", func() {
			w.reloads("config.yaml", fmt.Sprintf(configuration, w.home, "1s"))
			w.reloads("config.yaml", fmt.Sprintf(configuration, w.home, "0s"))
		}},
		{"the disk is full", w.diskFills},
		{"it is stopped for a while", w.stopped},
		{"the clock is set", w.clockSet},
		{"a pause", func() {
			w.mustWinnow("pause", "--reason", "a test")
			w.d.sweepNow()
			time.Sleep(300 * time.Millisecond)
			w.mustWinnow("resume")
		}},
	}
}

// wakes holds that an event is heard: a folder that comes among the worktrees.
func (w *world) wakes() {
	w.t.Helper()
	before := w.d.of("winnow_wakes_total")
	n := 0
	w.eventually("an event is heard", func() bool {
		n++
		dir := filepath.Join(w.home, "wt", fmt.Sprintf("event-%d-%d", w.n, n))
		w.must(os.Mkdir(dir, 0o700))
		w.must(os.Remove(dir))
		return w.d.of("winnow_wakes_total") > before
	})
}

func (w *world) tmuxEnds() {
	w.forget("session ")
	old := w.tmux.PID()
	w.tmux.Run("kill-server")
	w.eventually("tmux has ended", func() bool { return !procs.Lives(old) })
	w.d.sweepNow()
	w.tmux = tmux.Start(w.t, w.tmux.Socket, "keep")
	w.wakes()
}

func (w *world) herdrEnds() {
	w.forget("tab ")
	w.must(w.herdr.Close())
	w.d.sweepNow()
	time.Sleep(500 * time.Millisecond)
	w.serveHerdr()
	w.wakes()
}

func (w *world) folderEnds() {
	dir := filepath.Join(w.home, "more")
	w.forget(dir)
	w.eventually("the folder is empty", func() bool { // the daemon may be about to take something out of it
		return os.RemoveAll(dir) == nil && !exists(dir)
	})
	w.git("-C", "project", "worktree", "prune")
	w.must(os.Mkdir(dir, 0o700))
	w.wakes()
}

// watchesEnd takes all watches from the daemon's inotify, as only the kernel, or who may trace the daemon, can.
func (w *world) watchesEnd() {
	w.t.Helper()
	pidfd, err := unix.PidfdOpen(w.d.pid, 0)
	w.must(err)
	defer unix.Close(pidfd)
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", w.d.pid))
	w.must(err)
	taken := 0
	for _, name := range names {
		if to, _ := os.Readlink(name); to != "anon_inode:inotify" {
			continue
		}
		var number int
		if _, err := fmt.Sscan(filepath.Base(name), &number); err != nil {
			w.fail("%v", err)
		}
		fd, err := unix.PidfdGetfd(pidfd, number, 0)
		if errors.Is(err, unix.EPERM) {
			w.skipped["all of its watches are taken away"] = "this machine gives out no descriptor of another process: " + err.Error()
			return
		}
		w.must(err)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", w.d.pid, number))
		w.must(err)
		for line := range strings.Lines(string(text)) {
			var wd int
			if n, _ := fmt.Sscanf(line, "inotify wd:%x", &wd); n == 1 {
				if _, err := unix.InotifyRmWatch(fd, uint32(wd)); err == nil {
					taken++
				}
			}
		}
		_ = unix.Close(fd)
	}
	if taken == 0 {
		w.fail("the daemon watches nothing")
	}
	w.wakes()
}

// noDescriptors lets the daemon have no more than it has, for a moment.
func (w *world) noDescriptors() {
	w.t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.d.pid))
	w.must(err)
	var was unix.Rlimit
	w.must(unix.Prlimit(w.d.pid, unix.RLIMIT_NOFILE, nil, &was))
	w.must(unix.Prlimit(w.d.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(open)), Max: was.Max}, nil))
	w.d.sweepNow()
	time.Sleep(600 * time.Millisecond)
	w.must(unix.Prlimit(w.d.pid, unix.RLIMIT_NOFILE, &was, nil))
	w.wakes()
}

// The policies that are put under the daemon.
const (
	goodRules = `# METADATA
# title: Scratch folders
# description: A scratch folder that has not changed for a day.
# custom:
#   needs: [dirs]
package policies.reap.dirs.scratch

in_scope if startswith(input.dir.name, "scratch-")

findings contains {
	"rule": "reap.dirs.scratch",
	"message": "a scratch folder that has not changed for a day",
	"evidence": {"idle": input.idle},
} if {
	in_scope
	input.idle >= 86400
}
`
	badRules = "package policies.reap.dirs.scratch\n\nthis is no rule\n"
)

var otherRules = strings.ReplaceAll(goodRules, "86400", "172800")

// reloads puts a file in place of another and has the daemon take it.
func (w *world) reloads(name, text string) {
	w.t.Helper()
	before := w.d.count("SIGHUP: reloaded")
	w.write(name, text)
	w.d.signal(unix.SIGHUP)
	w.eventually("reloaded", func() bool { return w.d.count("SIGHUP: reloaded") > before })
}

// reload puts a wrong file in place of a good one, which the daemon must not take, and then the good one again.
func (w *world) reload(name, bad, good string) {
	w.t.Helper()
	before := w.d.count("SIGHUP: not reloaded")
	w.write(name, bad)
	w.d.signal(unix.SIGHUP)
	w.eventually("not reloaded", func() bool { return w.d.count("SIGHUP: not reloaded") > before })
	w.reloads(name, good)
}

// diskFills fills the file system of the world, with the state folder and the trash, and has the daemon sweep.
func (w *world) diskFills() {
	w.t.Helper()
	if !w.mounted {
		return
	}
	path := filepath.Join(w.home, "filler")
	f, err := os.Create(path)
	w.must(err)
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, unix.ENOSPC) {
				w.fail("fill the disk: %v", err)
			}
			block = block[:len(block)/2]
		}
	}
	for range 4 {
		w.d.sweepNow()
		time.Sleep(150 * time.Millisecond)
	}
	w.must(f.Close())
	w.must(os.Remove(path))
	w.wakes()
}

// stopped has the daemon not run for a while: in a long run for so long that its waits begin again.
func (w *world) stopped() {
	while := time.Second
	if w.rnd.IntN(10) == 0 && os.Getenv(durationVar) != "" {
		while = 65 * time.Second
	}
	w.d.signal(unix.SIGSTOP)
	time.Sleep(while)
	w.d.signal(unix.SIGCONT)
	w.wakes()
}

// clockSet has a sweep on the same state folder see another time since the boot, by a time namespace: to the daemon's next sweep the clock was set back. The machine's own clock is left
// alone.
func (w *world) clockSet() {
	w.t.Helper()
	const offset = "1000000" // seconds
	if out, err := w.try("unshare", "--time", "--boottime", offset, "true"); err != nil {
		w.skipped["the clock is set"] = "no time namespace: " + strings.TrimSpace(out)
		return
	}
	w.eventually("a sweep under another clock", func() bool { // the daemon has the lock while it sweeps itself
		_, err := w.try("unshare", "--time", "--boottime", offset, "--monotonic", offset, w.program, "sweep", "--config", w.config)
		return err == nil
	})
	w.wakes()
}
