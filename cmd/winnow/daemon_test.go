package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// runs is winnow run in a process of its own.
type runs struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan error
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (r *runs) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *runs) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// daemon starts winnow run in a world. It is ended with the test.
func (w *crashWorld) daemon(t *testing.T, args ...string) *runs {
	t.Helper()
	return w.starts(t, append([]string{"run", "--config", w.config, "--every", "1h"}, args...)...)
}

// starts is winnow with these arguments, until the test ends.
func (w *crashWorld) starts(t *testing.T, args ...string) *runs {
	t.Helper()
	r := &runs{t: t, cmd: exec.Command(itself(), args...), done: make(chan error, 1)}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = w.env, w.dir, r, r
	musts.Do(t, r.cmd.Start())
	ended := make(chan struct{})
	go func() { r.done <- r.cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the daemon wrote:\n%s", r.output())
		}
	})
	return r
}

// says waits until what the daemon has written matches.
func (r *runs) says(pattern string) {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	wait.Eventually(r.t, pattern, func() bool { return re.MatchString(r.output()) })
}

func (r *runs) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits for the end, and demands that it is a good one.
func (r *runs) ends() {
	r.t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Fatalf("it ended with %v", err)
		}
	case <-time.After(wait.Patience):
		r.t.Fatal("it does not end")
	}
}

func (w *crashWorld) here() bool {
	_, err := os.Lstat(w.worktree)
	return err == nil
}

// TestTheDaemonIsPausedBrakedAndResumed follows one worktree: it stays under a pause, goes after it, comes back, and stays until a person has released the brake.
func TestTheDaemonIsPausedBrakedAndResumed(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 500ms", 1)+"run: {rest: 100ms}\n")

	w.mustRun(t, "winnow", "pause", "--config", w.config, "--reason", "a migration")
	d := w.daemon(t, "--apply")
	d.says(`paused: .*\b1 candidate to go`)
	if out, err := w.run(nil, "winnow", "run", "--config", w.config); err == nil || !strings.Contains(string(out), "another winnow run has the state folder") {
		t.Errorf("a second daemon: %v: %s", err, out)
	}
	if out, _ := w.run(nil, "winnow", "sweep", "--config", w.config, "--apply"); !strings.Contains(string(out), "a migration") {
		t.Errorf("a sweep under the pause does not say why nothing goes: %s", out)
	}
	if !w.here() {
		t.Fatal("it went under a pause")
	}

	w.mustRun(t, "winnow", "resume", "--config", w.config)
	d.signal(syscall.SIGUSR1)
	d.says(`done: dir:`)
	if w.here() {
		t.Fatal("it is said to be gone, and is here")
	}

	w.mustRun(t, "git", "-C", "project", "worktree", "prune")
	w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", w.worktree)
	d.signal(syscall.SIGUSR1)
	d.says(`alarm brake_came_back: .*something brings it back`)
	d.says(`braked: 1 candidate to go`)
	d.signal(syscall.SIGTERM)
	d.ends()
	d.says(`stopped: interrupted by SIGTERM`)
	if !w.here() {
		t.Fatal("it went although the brake tripped")
	}

	// The brake holds over a start.
	if out := w.mustRun(t, "winnow", "brakes", "--config", w.config); !strings.Contains(out, "came_back") || !strings.Contains(out, "winnow brakes release") {
		t.Errorf("brakes: %s", out)
	}
	d = w.daemon(t, "--apply")
	d.says(`braked: 1 candidate to go`)
	if out, err := w.run(nil, "winnow", "brakes", "release", "--config", w.config, "cameback"); err == nil || !strings.Contains(string(out), `unknown brake "cameback"`) {
		t.Errorf("release of a brake that there is not: %v: %s", err, out)
	}
	if !w.here() {
		t.Fatal("it went under a brake")
	}
	w.mustRun(t, "winnow", "brakes", "release", "--config", w.config)
	if out := w.mustRun(t, "winnow", "brakes", "--config", w.config); !strings.Contains(out, "no brake holds") {
		t.Errorf("brakes after the release: %s", out)
	}
	d.signal(syscall.SIGUSR1)
	d.says(`done: dir:`)
	if w.here() {
		t.Error("it is still here")
	}
}

// TestTheDaemonReloads: what is wrong changes nothing, and what is right counts from then on.
func TestTheDaemonReloads(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	conf := strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 200ms", 1) + "run: {rest: 100ms}\n"
	files.Write(t, w.config, conf)
	d := w.daemon(t)
	d.says(`observing: 1 candidate to go`)
	if !w.here() {
		t.Fatal("it went while the daemon observes")
	}
	for _, wrong := range []string{"version: [", conf + "act: {enabld: true}\n", strings.Replace(conf, "/state\n", "/elsewhere\n", 1) + "act: {enabled: true}\n"} {
		before := strings.Count(d.output(), "not reloaded")
		files.Write(t, w.config, wrong)
		d.signal(syscall.SIGHUP)
		wait.Eventually(t, "not reloaded", func() bool { return strings.Count(d.output(), "not reloaded") > before })
	}
	policies := filepath.Join(w.dir, "rules")
	files.Write(t, filepath.Join(policies, "mine.rego"), "package winnow.protect.mine\n\nthis is no rule\n")
	files.Write(t, w.config, strings.Replace(conf, "policy: {", "policy: {paths: ["+policies+"], ", 1)+"act: {enabled: true}\n")
	d.signal(syscall.SIGHUP)
	d.says(`not reloaded, and what ran before goes on: .*mine\.rego`)
	d.signal(syscall.SIGUSR1)
	time.Sleep(500 * time.Millisecond)
	if !w.here() {
		t.Fatal("it went by a configuration that was refused")
	}
	files.Write(t, w.config, conf+"act: {enabled: true}\n")
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: reloaded; policies .*, acting`)
	d.says(`done: dir:`)
	d.signal(syscall.SIGINT)
	d.ends()
}

// TestTheDaemonIsWoken by what happens to folders, records and processes, long before its schedule.
func TestTheDaemonIsWoken(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, w.configuration(t)+"run: {rest: 100ms, settle: 50ms, burst: 1s, share: 1}\n")
	d := w.daemon(t)
	d.says(`observing: 1 candidate to go`)
	w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", filepath.Join(w.dir, "wt", "project-review-00000002"))
	wait.Eventually(t, "it is woken", func() bool { // what is changed before the folder is watched wakes no daemon
		at := filepath.Join(w.dir, "wt", "stirs")
		_ = errors.Join(os.Mkdir(at, 0o755), os.Remove(at))
		return strings.Contains(d.output(), "observing: 2 candidates to go")
	})
	user := exec.Command("sleep", "300")
	user.Dir = w.worktree
	musts.Do(t, user.Start())
	t.Cleanup(func() { _ = user.Process.Kill(); _ = user.Wait() })
	d.signal(syscall.SIGUSR1) // a process that begins wakes no daemon
	d.says(`observing: 1 candidate to go(?s:.*)observing: 2 candidates to go(?s:.*)observing: 1 candidate to go`)
	_ = user.Process.Kill()
	_ = user.Wait()
	d.says(`(?s:(observing: 1 .*?observing: 2 .*?){2})`)
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestTheDaemonHurries while a machine is short of something: here of a disk, which is never all free.
func TestTheDaemonHurries(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	conf := w.configuration(t)
	files.Write(t, w.config, conf+"run: {pressure: {disk_free: 1, hurry: 7}}\n")
	d := w.daemon(t)
	d.says(`this machine is short of something \([0-9.]+ % of a disk left.*\): sweeps come 7 times as often`)
	if out := w.mustRun(t, "winnow", "doctor", "--config", w.config); !strings.Contains(strings.Join(strings.Fields(out), " "), "this machine is short of something: ") {
		t.Errorf("doctor says nothing of it: %s", out)
	}
	files.Write(t, w.config, conf+"run: {pressure: {disk_free: 0, inodes_free: 0, memory: 0}}\n")
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: reloaded`)
	d.says(`short of nothing any more`)
	d.signal(syscall.SIGTERM)
	d.ends()
}

// configuration is the text of the file that a world's winnow reads.
func (w *crashWorld) configuration(t *testing.T) string {
	t.Helper()
	text := musts.Get(os.ReadFile(w.config))(t)
	return string(text)
}

// steadyWorld is a daemon within the test, on a world of worktrees, sessions of tmux and processes that changes at random.
type steadyWorld struct {
	*crashWorld
	t     *testing.T
	d     *daemon.Daemon
	tmux  *tmux.Server
	rnd   *rand.Rand
	trees []string
	procs []*exec.Cmd
	n     int
}

func newSteadyWorld(t *testing.T, seed uint64) *steadyWorld {
	w := &steadyWorld{crashWorld: newCrashFolder(t), t: t, rnd: rand.New(rand.NewPCG(seed, 1))}
	w.tmux = tmux.Fresh(t, "keeper")
	w.trees = []string{w.worktree}
	text := w.configuration(t)
	text = strings.Replace(text, "sockets: []", "sockets: ["+w.tmux.Socket+"]", 1)
	// Nothing waits for its time here: what differs between two looks then is what happened to the world.
	text = strings.Replace(text, "{dir: 0s}, steady_for: 0s", "{dir: 0s, session: 0s, process: 0s}, steady_for: 0s, confirm_after: 1ms, session_idle: 0s, session_names: {prefix: [job-]}", 1)
	files.Write(t, w.config, text+"run: {full_every: 1000}\n")
	cfg, err := config.Load(w.config, []string{"HOME=" + w.dir})
	musts.Do(t, err)
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger(), Hands: &stop.Inflight{}, Acting: lock.Acting{Name: "winnow-steady-" + fmt.Sprint(seed), Home: w.dir}}), out: io.Discard, errOut: io.Discard}).watched()
	w.d, err = daemon.New(t.Context(), &a.Ops, daemon.Options{Line: func(string) {}})
	musts.Do(t, err)
	t.Cleanup(w.d.Close)
	return w
}

// change does one thing to the world at random, and says what.
func (w *steadyWorld) change() string {
	w.n++
	some := w.trees[w.rnd.IntN(len(w.trees))]
	git := func(args ...string) { w.mustRun(w.t, "git", args...) }
	switch w.rnd.IntN(9) {
	case 0:
		path := filepath.Join(w.dir, "wt", fmt.Sprintf("project-review-%08x", w.n))
		git("-C", "project", "worktree", "add", "-q", "--detach", path)
		w.trees = append(w.trees, path)
		return "a new worktree"
	case 1:
		files.Write(w.t, filepath.Join(some, fmt.Sprintf("new-%d", w.n)), "work")
		return "a new file"
	case 2:
		git("-C", some, "commit", "-q", "--allow-empty", "-m", "work")
		return "a commit"
	case 3:
		_, _ = w.run(nil, "git", "-C", "project", "worktree", "lock", some) // where it is locked already, nothing changes
		return "a lock"
	case 4:
		w.tmux.Run("new-session", "-d", "-s", fmt.Sprintf("job-%d", w.n), "sleep", "900")
		return "a session"
	case 5:
		w.tmux.Run("new-session", "-d", "-s", fmt.Sprintf("job-%d", w.n))
		return "a session with a shell"
	case 6:
		cmd := exec.Command("sleep", "900")
		cmd.Dir = some
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		w.procs = append(w.procs, cmd)
		return "a process in a worktree"
	case 7:
		if len(w.procs) > 0 {
			_ = w.procs[0].Process.Kill()
			_ = w.procs[0].Wait()
			w.procs = w.procs[1:]
			return "the end of a process"
		}
	case 8:
		w.mustRun(w.t, "winnow", "retain", "--config", w.config, "dir:"+some, "--reason", "later")
		return "a hold"
	}
	return "nothing"
}

// verdicts are what was decided on each candidate of this world, with the rules by which. Processes of other tests come and go between two looks, and are none of it.
func (w *steadyWorld) verdicts(ds []decision.Decision) map[string]string {
	out := map[string]string{}
	for _, d := range ds {
		if !d.InScope || d.Kind == snapshot.KindProcess && !w.began(d.Identity) {
			continue
		}
		verdict, rules := d.Verdict, []string(nil)
		if d.Waits() { // the next look confirms it
			verdict = decision.Reap
		}
		for _, r := range append(slices.Clone(d.Findings), d.Objections...) {
			if r.Rule != decision.RuleDebounce {
				rules = append(rules, r.Rule)
			}
		}
		slices.Sort(rules)
		out[d.ID] = verdict + " " + strings.Join(slices.Compact(rules), " ")
	}
	return out
}

// began reports whether a process is one that this world began.
func (w *steadyWorld) began(x decision.Identity) bool {
	return x.Process != nil && slices.ContainsFunc(w.procs, func(c *exec.Cmd) bool { return c.Process.Pid == x.Process.PID })
}

func (w *steadyWorld) sweep(why string) *report.Report {
	w.t.Helper()
	r, err := w.d.Sweep(w.t.Context(), why)
	if err != nil {
		w.t.Fatal(err)
	}
	for name, s := range r.Sources {
		if s.Status == snapshot.Failed {
			w.t.Fatalf("%s was not read: %s", name, s.Error)
		}
	}
	return r
}

// TestShortAndWholeSweepsAgree on worlds that change at random: what stands after a scheduled sweep, short or not, is what a whole one decides right after it.
func TestShortAndWholeSweepsAgree(t *testing.T) {
	t.Parallel()
	startsOften(t)
	short := 0
	for seed := range uint64(stage.Trials(1, 3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newSteadyWorld(t, seed)
			w.sweep(pace.Start)
			var done []string
			for range 12 {
				for range w.rnd.IntN(3) {
					done = append(done, w.change())
				}
				// What has just been written has a stamp that proves nothing; a while later it does.
				time.Sleep(time.Duration(w.rnd.IntN(40)) * time.Millisecond)
				got := w.sweep(pace.Schedule)
				if got.NothingNew {
					short++
				}
				want := w.sweep(pace.Request)
				if want.NothingNew {
					t.Fatal("a sweep that was asked for was a short one")
				}
				if !got.NothingNew { // two whole looks at a shell that still starts may differ
					wait.Eventually(t, "two whole looks agree", func() bool {
						got, want = want, w.sweep(pace.Request)
						return cmp.Equal(w.verdicts(want.Decisions), w.verdicts(got.Decisions))
					})
				}
				if diff := cmp.Diff(w.verdicts(want.Decisions), w.verdicts(got.Decisions)); diff != "" {
					t.Fatalf("after %s, nothing new: %v (-whole +stood):\n%s", strings.Join(done, ", "), got.NothingNew, diff)
				}
			}
			if n := w.d.Status().Disagreed; n > 0 {
				t.Errorf("%d times something was decided otherwise than had stood", n)
			}
			// Where other tests begin and end agents all the time, a quiet moment may have to be waited for.
			if short == 0 && wait.Until(wait.Patience, func() bool { return w.sweep(pace.Schedule).NothingNew }) {
				short++
			}
		})
	}
	if !t.Failed() && short == 0 {
		t.Error("no sweep was short")
	}
}

// TestASweepWakesNobody: what the daemon itself does to folders and records while it looks, it does not hear as an event.
func TestASweepWakesNobody(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 100)
	defer w.d.Watches()()
	w.sweep(pace.Start)
	heard := func() int {
		n := w.d.Status().Wakes
		return n[wake.Folder] + n[wake.File]
	}
	before := heard()
	for range 3 {
		w.sweep(pace.Request)
		w.sweep(pace.Schedule)
	}
	time.Sleep(300 * time.Millisecond)
	if after := heard(); after != before {
		t.Errorf("woken %d times by its own sweeps", after-before)
	}
	w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", filepath.Join(w.dir, "wt", "project-review-00000002"))
	wait.Eventually(t, "woken by a new worktree", func() bool { return heard() > before })
}

// TestASweepThatFailsAfterItsActs says what it did; one that failed before, or did nothing, says no more than why.
func TestASweepThatFailsAfterItsActs(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*report.Report{
		"done: dir:/w":  {Acts: []decision.Act{{Candidate: "dir:/w", Outcome: decision.Outcome{Outcome: decision.Done}}}},
		"purged: A1 ":   {Purged: []report.Purged{{Act: "A1", Candidate: "dir:/w"}}},
		"nothing":       {},
		"not even that": nil,
	} {
		var out bytes.Buffer
		d := &daemon.Daemon{Options: daemon.Options{Line: func(line string) { fmt.Fprintln(&out, line) }}}
		d.DoneBefore(r)
		if has := r != nil && len(r.Acts)+len(r.Purged) > 0; has != strings.Contains(out.String(), want) || !has && out.Len() > 0 {
			t.Errorf("%s: %q", want, out.String())
		}
	}
}

// TestAServiceIsStartedAgainForABundle: where a bundle was never got because its server is down, as when a machine starts for the first time, the daemon ends with another code than for a
// wrong configuration, after which its unit is started no more.
func TestAServiceIsStartedAgainForABundle(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "policy: {", "policy: {bundles: [{name: team, from: 'https://"+freePort(t)+"/b', insecure: true}], ", 1))
	for _, c := range []struct {
		code int
		args []string
	}{{1, []string{"run"}}, {1, []string{"run", "--once"}}, {2, []string{"sweep"}}, {2, []string{"run", "--every", "0s"}}} {
		out, err := w.run(nil, "winnow", append(c.args, "--config", w.config)...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || c.code == 1 && !strings.Contains(string(out), `there is no good copy of "team"`) {
			t.Errorf("%q: want exit %d, got %v: %s", c.args, c.code, err, out)
		}
	}
}
