package dirs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// reasons are the forms that these tests know: that of the shipped configuration.
func reasons() []dirs.LockReason {
	return []dirs.LockReason{{Tool: "claude", Names: []string{"claude"},
		Pattern: regexp.MustCompile(`^claude (?:agent|session) (?P<owner>.{1,255}) \(pid (?P<pid>[0-9]{1,10})(?: start (?P<start>[0-9]{1,20}))?\)$`)}}
}

// child is a process that lives as long as the test, with when it began. Its number is one that no process in a namespace below has there.
func child(t *testing.T) (pid int, start uint64) {
	t.Helper()
	for {
		cmd := exec.Command("sleep", "3600")
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		pid, inner := cmd.Process.Pid, regexp.MustCompile(fmt.Sprintf(`(?m)^NSpid:.*\t.*\t%d$`, cmd.Process.Pid))
		files, taken := must.Get(filepath.Glob("/proc/[0-9]*/status"))(t), false
		for _, f := range files {
			text, _ := os.ReadFile(f)
			taken = taken || inner.Match(text)
		}
		if !taken {
			return pid, must.Get(proc.StatOf("/proc", pid))(t).Start
		}
	}
}

// thread is the number of a thread of this process that is not the process's own.
func thread(t *testing.T) int {
	t.Helper()
	for _, task := range must.Get(os.ReadDir("/proc/self/task"))(t) {
		if tid := must.Get(strconv.Atoi(task.Name()))(t); tid != os.Getpid() {
			return tid
		}
	}
	t.Fatal("this process has no further thread")
	return 0
}

// never is a number that no process has: it is above the kernel's greatest (PID_MAX_LIMIT).
const never = 4_194_999

// TestLocks has locks of all forms, of processes that live and of some that do not.
func TestLocks(t *testing.T) {
	t.Parallel()
	live, start := child(t)
	gone := never
	agent := func(pid int, rest string) string { return fmt.Sprintf("claude agent agent-7f3a (pid %d%s)", pid, rest) }
	session := func(pid int, rest string) string {
		return fmt.Sprintf("claude session fix/the login (pid %d%s)", pid, rest)
	}
	yes, no := new(true), new(false)
	for name, tt := range map[string]struct {
		reason string
		age    time.Duration // of the lock file
		tool   string
		alive  *bool
	}{
		"a process that lives":                      {reason: agent(live, ""), tool: "claude", alive: yes},
		"a process that has ended":                  {reason: agent(gone, ""), tool: "claude", alive: no},
		"one that lives, with its start":            {reason: agent(live, fmt.Sprintf(" start %d", start)), tool: "claude", alive: yes},
		"another one with that number":              {reason: agent(live, fmt.Sprintf(" start %d", start-1)), tool: "claude", alive: no},
		"one that has ended, with its start":        {reason: agent(gone, " start 12"), tool: "claude", alive: no},
		"one that began after the lock was written": {reason: agent(live, ""), age: time.Hour, tool: "claude", alive: no},
		"a number that a thread has":                {reason: agent(thread(t), ""), age: time.Hour, tool: "claude"},
		"the very first process":                    {reason: agent(1, "")},
		"no process":                                {reason: agent(0, "")},
		"an impossible number":                      {reason: "claude agent agent-7f3a (pid 99999999999999999999)"},
		"an impossible start":                       {reason: agent(gone, " start 99999999999999999999"), tool: "claude"},
		"a session that lives":                      {reason: session(live, fmt.Sprintf(" start %d", start)), tool: "claude", alive: yes},
		"a session that has ended":                  {reason: session(gone, " start 12"), tool: "claude", alive: no},
		"a session whose number another has now":    {reason: session(live, fmt.Sprintf(" start %d", start-1)), tool: "claude", alive: no},
		"a session without a start, with its own":   {reason: session(live, ""), tool: "claude", alive: yes},
		"a session without a start that has ended":  {reason: session(gone, ""), tool: "claude", alive: no},
		"a session whose start is a date":           {reason: session(gone, " start Thu Nov 26 18:30:41 2026")},
		"a session whose start is too great":        {reason: session(gone, " start 99999999999999999999"), tool: "claude"},
		"a session without a process":               {reason: "claude session fix/the login"},
		"a session that quotes one that has ended":  {reason: fmt.Sprintf("claude session a (pid %d start 12) (pid %d start %d)", gone, live, start), tool: "claude", alive: yes},
		"a person's reason":                         {reason: "on my laptop until Friday"},
		"a person's reason that quotes one":         {reason: "see " + agent(gone, "")},
		"one with more behind it":                   {reason: agent(gone, "") + " and mine"},
		"two lines":                                 {reason: agent(gone, "") + "\n" + agent(live, "")},
		"none":                                      {reason: ""},
		"another tool's":                            {reason: fmt.Sprintf("codex thread 1 (pid %d)", gone)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := newWorld(t), options()
			o.LockReasons = reasons()
			p := w.landed("x")
			w.git(w.main, "worktree", "lock", "--reason", tt.reason, p)
			if tt.age > 0 {
				at := time.Now().Add(-tt.age)
				must.Do(t, os.Chtimes(filepath.Join(w.admin(p), "locked"), at, at))
			}
			d := one(t, o, p)
			lock := d.Git.Lock
			if d.Git.Locked == nil || !*d.Git.Locked || lock == nil || lock.Text == nil || lock.WrittenAt == nil {
				t.Fatalf("%+v %+v", d.Git, lock)
			}
			must.Equal(t, tt.alive, lock.Alive, "alive")
			must.Equal(t, tt.tool, lock.Tool, "tool")
			void := tt.alive != nil && !*tt.alive
			if lock.Void() != void || (d.Skipped == "it is locked") == void {
				t.Errorf("void: %v, skipped: %q; want %v", lock.Void(), d.Skipped, void)
			}
			if want := strings.ReplaceAll(strings.TrimSpace(tt.reason), "\n", `\u{a}`); *lock.Text != want {
				t.Errorf("reason %q; want %q", *lock.Text, want)
			}
		})
	}
}

// TestAttackALocksReason has unreadable reasons, and such that are made to mislead who reads them.
func TestAttackALocksReason(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	o.LockReasons = reasons()
	at := func(name string, put func(lock string)) snapshot.Dir {
		p := w.branch(name)
		w.git(w.main, "worktree", "lock", p)
		put(filepath.Join(w.admin(p), "locked"))
		return one(t, o, p)
	}
	long := at("long", func(lock string) { w.write(lock, "\x1b[2J\r"+strings.Repeat("é", 500)) })
	if text := *long.Git.Lock.Text; len(text) > 110 || strings.ContainsAny(text, "\x1b\r") || !strings.HasSuffix(text, " ...") {
		t.Errorf("%q", text)
	}
	for name, put := range map[string]func(lock string){
		"huge": func(lock string) { w.write(lock, strings.Repeat("x", 5<<10)) },
		"link": func(lock string) {
			w.remove(lock)
			w.write(lock+"-to", "claude agent agent-1 (pid 999999)")
			w.link(lock+"-to", lock)
		},
		"folder": func(lock string) { w.remove(lock); w.mkdir(lock) },
	} {
		d := at(name, put)
		if d.Git.Locked == nil || !*d.Git.Locked || d.Git.Lock != nil || d.Skipped != "it is locked" || !strings.Contains(d.Error, "why it is locked") {
			t.Errorf("%s: %+v %q %q", name, d.Git.Lock, d.Skipped, d.Error)
		}
	}
}

// TestALockOfAnotherPidNamespaceKeeps has a lock whose number a process has in a namespace below this one, as an agent's in a container.
func TestALockOfAnotherPidNamespaceKeeps(t *testing.T) {
	t.Parallel()
	// Numbers in a new namespace begin at 1; those up to 300 are taken here by something that began long before, or by nothing.
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "sh", "-c", "for i in $(seq 20); do true & done; sleep 60 & echo $!; wait")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var inner int
	if _, err := fmt.Fscan(out, &inner); err != nil {
		t.Skipf("no pid namespace can be made here (%v), so that a lock from inside of one is not tried", err)
	}
	w, o := newWorld(t), options()
	o.LockReasons = reasons()
	p := w.landed("x")
	w.git(w.main, "worktree", "lock", "--reason", fmt.Sprintf("claude agent agent-1 (pid %d start 99)", inner), p)
	if d := one(t, o, p); d.Git.Lock.Tool != "claude" || d.Git.Lock.Alive != nil || d.Skipped != "it is locked" {
		t.Errorf("pid %d: %+v", inner, d.Git.Lock)
	}
}
