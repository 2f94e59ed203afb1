package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestAConfigurationThatIsMissingIsNotReloaded: without the user's file the defaults would rule, and nothing that it protects would be protected.
func TestAConfigurationThatIsMissingIsNotReloaded(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	home := filepath.Join(w.dir, "xdg")
	place := filepath.Join(home, "winnow", "config.yaml")
	files.Write(t, place, w.configuration(t)+"run: {rest: 100ms}\n")
	w.env = append(w.env, "XDG_CONFIG_HOME="+home)
	d := w.starts(t, "run", "--every", "1h")
	d.says(`observing: 1 candidate to go`)
	musts.Do(t, os.Rename(place, place+".new"))
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: not reloaded, and what ran before goes on: the configuration ` + regexp.QuoteMeta(place) + ` is missing: put it back`)
	musts.Do(t, os.Rename(place+".new", place))
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: reloaded`)
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestReportsAndLines: where stdout has reports, what a person has to know is on stderr.
func TestReportsAndLines(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	conf := w.configuration(t)
	var reports bytes.Buffer
	d := &runs{t: t, cmd: exec.Command(itself(), "run", "--config", w.config, "--every", "1h", "--format", "ndjson"), done: make(chan error, 1)}
	d.cmd.Env, d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = w.env, w.dir, &reports, d
	musts.Do(t, d.cmd.Start())
	go func() { d.done <- d.cmd.Wait() }()
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	d.says(`observing, every`)
	files.Write(t, w.config, conf+"act: {enabld: true}\n")
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: not reloaded, and what ran before goes on: .*enabld`)
	files.Write(t, w.config, conf)
	d.signal(syscall.SIGHUP)
	d.says(`SIGHUP: reloaded`)
	d.signal(syscall.SIGTERM)
	d.ends()
	if reports.Len() == 0 {
		t.Error("stdout has no report")
	}
	for line := range strings.Lines(reports.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stdout has a line that is no report: %s", line)
		}
	}
}

// TestStatusOfAStateFolderThatCannotBeAsked says so, and makes no folder.
func TestStatusOfAStateFolderThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	w := newCrashFolder(t)
	state := filepath.Join(w.dir, "state")
	status := func() (string, error) {
		out, err := w.run(nil, "winnow", "status", "--config", w.config)
		return string(out), err
	}
	if out, err := status(); err == nil || !strings.Contains(out, "no winnow run has the state folder") {
		t.Errorf("without it: %v: %s", err, out)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("the question made the state folder")
	}
	files.Folder(t, state)
	musts.Do(t, os.Chmod(state, 0o777))
	if out, err := status(); err == nil || !strings.Contains(out, "it is not known whether a winnow run has the state folder") || strings.Contains(out, "no winnow run") {
		t.Errorf("where others may write: %v: %s", err, out)
	}
}

// TestEveryIsBounded as run.every is: without a pause between its sweeps a daemon would take a whole core.
func TestEveryIsBounded(t *testing.T) {
	t.Parallel()
	w := newCrashFolder(t)
	for _, every := range []string{"1ns", "0s", "-5m", "999ms", "25h"} {
		if out, err := w.run(nil, "winnow", "run", "--once", "--config", w.config, "--every", every); err == nil || !strings.Contains(string(out), "give a time from 1s to 24h") {
			t.Errorf("--every %s: %v: %s", every, err, out)
		}
	}
}

// TestADaemonWaitsForAQuestion: winnow status has the daemon's lock for a moment, which keeps no daemon from its start. Another daemon has it for longer.
func TestADaemonWaitsForAQuestion(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 301)
	asks, err := lock.Take(w.d.RunLock())
	musts.Do(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = asks() })
	has, err := w.d.Alone(t.Context())
	musts.Do(t, err)
	if _, err := w.d.Alone(t.Context()); err == nil || !strings.Contains(err.Error(), "another winnow run has the state folder") {
		t.Errorf("two daemons: %v", err)
	}
	musts.Do(t, has())
}

// TestTheDaemonSaysThatItIsKeptOff by another sweep that does not end. A short one is nothing to tell of.
func TestTheDaemonSaysThatItIsKeptOff(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, w.configuration(t)+"run: {rest: 100ms}\n")
	unlock, err := lock.Take(filepath.Join(w.dir, "state", "lock"))
	musts.Do(t, err)
	d := w.daemon(t, "--every", "1s")
	d.says(`the sweep failed: nothing could be looked at since .*process \d+ has been sweeping since .*Look whether that process hangs`)
	musts.Do(t, unlock())
	d.says(`observing: 1 candidate to go`)
	d.signal(syscall.SIGTERM)
	d.ends()

	s := newSteadyWorld(t, 302)
	held := &lock.Held{Path: "lock", PID: 1}
	now := time.Now()
	if err := s.d.Locked(now, now, held); err != error(held) {
		t.Errorf("a sweep that runs is told as a failure: %v", err)
	}
	long := s.d.Locked(now.Add(time.Hour), now.Add(time.Hour), held)
	if event, tells := daemon.EventOf(daemon.Ended{Err: long}); !tells || len(event.Standing) != 1 {
		t.Errorf("no notification tells of a sweep that runs for an hour: %v", long)
	}
	if err := s.d.Locked(now, now, nil); err != nil {
		t.Error(err)
	}
	if err := s.d.Locked(now.Add(2*time.Hour), now.Add(2*time.Hour), held); err != error(held) {
		t.Errorf("after a sweep that looked the time does not begin again: %v", err)
	}
}

// TestOnceSaysWhatItDid: a timer's log has the acts.
func TestOnceSaysWhatItDid(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	if out := w.mustRun(t, "winnow", "run", "--once", "--config", w.config); !strings.Contains(out, "observing: 1 candidate to go") {
		t.Errorf("it says not what would go: %q", out)
	}
	if out := w.mustRun(t, "winnow", "run", "--once", "--apply", "--config", w.config); !strings.Contains(out, "done: dir:") || w.here() {
		t.Errorf("it says not what went: %q", out)
	}
}

// TestTheStateFolderIsRemoved under a daemon: it is found again, and is still the only one. Where another one has the folder by then, the first one ends.
func TestTheStateFolderIsRemoved(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, w.configuration(t)+"run: {rest: 100ms}\n")
	state := filepath.Join(w.dir, "state")
	first := w.daemon(t)
	first.says(`observing: 1 candidate to go`)
	musts.Do(t, os.RemoveAll(state))
	first.signal(syscall.SIGUSR1)
	first.says(`the state folder .* was removed, with all that was remembered, and is made again`)
	wait.Eventually(t, "it answers again", func() bool {
		out, err := w.run(nil, "winnow", "status", "--config", w.config)
		return err == nil && strings.Contains(string(out), fmt.Sprintf("process %d", first.cmd.Process.Pid))
	})
	if out, err := w.run(nil, "winnow", "run", "--config", w.config); err == nil || !strings.Contains(string(out), "another winnow run has the state folder") {
		t.Errorf("a second daemon: %v: %s", err, out)
	}

	musts.Do(t, os.RemoveAll(state))
	second := w.daemon(t)
	second.says(`observing: 1 candidate to go`)
	first.signal(syscall.SIGUSR1)
	first.says(`was removed while winnow run had it: another winnow run has the state folder`)
	select {
	case err := <-first.done:
		if err == nil {
			t.Error("it ended well")
		}
	case <-time.After(wait.Patience):
		t.Error("two daemons run")
	}
	if out := w.mustRun(t, "winnow", "status", "--config", w.config); !strings.Contains(out, fmt.Sprintf("process %d", second.cmd.Process.Pid)) {
		t.Errorf("the second one does not answer: %s", out)
	}
	second.signal(syscall.SIGTERM)
	second.ends()
}

// TestOnceWaits for another sweep: a timer's unit does not fail because a person sweeps.
func TestOnceWaits(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 305)
	w.sweep(pace.Start)
	unlock, err := lock.Take(filepath.Join(w.d.Cfg.State, "lock"))
	musts.Do(t, err)
	time.AfterFunc(300*time.Millisecond, func() { _ = unlock() })
	if err := w.d.Once(t.Context()); errors.As(err, new(*lock.Held)) {
		t.Errorf("it did not wait: %v", err)
	}
}

// TestASweepThatCouldNotBeRecorded counts for the brakes all the same, if it acted.
func TestASweepThatCouldNotBeRecorded(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 303)
	w.sweep(pace.Start) // makes the ledger
	w.d.Options.Apply = true
	db, err := sql.Open("sqlite", w.d.LedgerPath()+"?_pragma=busy_timeout(10000)")
	musts.Do(t, err)
	t.Cleanup(func() { _ = db.Close() })
	// Its record is taken away under it, between its first act and its end.
	gone := make(chan error, 1)
	go func() {
		gone <- func() error {
			acts := 0
			var err error
			wait.Until(wait.Patience, func() bool {
				err = db.QueryRowContext(t.Context(), "SELECT count(*) FROM acts").Scan(&acts)
				return acts > 0 || err != nil
			})
			if err == nil {
				_, err = db.ExecContext(t.Context(), "DELETE FROM sweeps WHERE finished IS NULL")
			}
			return err
		}()
	}()
	if _, err := w.d.Sweep(t.Context(), pace.Request); err == nil || !strings.Contains(err.Error(), "record the end of the sweep") {
		t.Fatalf("the end was recorded: %v; %v", err, <-gone)
	}
	musts.Do(t, <-gone)
	if w.here() {
		t.Fatal("it did not act")
	}
	w.mustRun(t, "git", "-C", "project", "worktree", "prune")
	w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", w.worktree)
	r, err := w.d.Sweep(t.Context(), pace.Request)
	musts.Do(t, err)
	if len(w.d.Status().Brakes) != 1 || w.d.Status().Brakes[0].Rule != brakes.CameBack {
		t.Errorf("it came back, and no brake tripped: %+v", w.d.Status().Brakes)
	}
	for _, a := range r.Acts {
		if a.Outcome.Outcome == decision.Done {
			t.Errorf("it went again: %+v", a)
		}
	}
}

// TestAReleaseIsSeen by the next sweep, also where nothing else is new.
func TestAReleaseIsSeen(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 304)
	w.sweep(pace.Start)
	l, err := ledger.Open(w.d.LedgerPath())
	musts.Do(t, err)
	musts.Do(t, l.SaveBrakes(t.Context(), brakes.Memory{Tripped: []brakes.Brake{{Rule: brakes.ReadBack, Message: "it is still there"}}}))
	musts.Do(t, l.Close())
	w.sweep(pace.Schedule)
	if s := w.d.Status(); len(s.Brakes) != 1 {
		t.Fatalf("brakes: %+v", s.Brakes)
	}
	w.mustRun(t, "winnow", "brakes", "release", "--config", w.config)
	w.sweep(pace.Schedule)
	if s := w.d.Status(); len(s.Brakes) != 0 || s.Mode == document.Braked {
		t.Errorf("after the release: %s, %+v", s.Mode, s.Brakes)
	}
}

// TestDoctorSaysWhichEventsWork of the daemon's, which do not and why, and which are off.
func TestDoctorSaysWhichEventsWork(t *testing.T) {
	t.Parallel()
	startsOften(t)
	s := herdr.Start(t, herdr.Options{})
	s.Tab(s.Workspace("acme"), "main")
	var refuses atomic.Bool
	refuses.Store(true)
	s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "events.subscribe" && refuses.Load() {
			return herdr.ErrorReply("invalid_request", "no events today")
		}
		return herdr.Fault{}
	})
	mux := tmux.Fresh(t, "keeper")
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "tmux: {sockets: []}", fmt.Sprintf("tmux: {sockets: [%s]}, herdr: {sockets: [%s]}", mux.Socket, s.Socket()), 1)+"run: {rest: 100ms}\n")
	events := func() ops.Check {
		out, _ := w.run(nil, "winnow", "doctor", "--config", w.config, "--format", "json") // what is wrong with this machine is not tested here
		var all struct{ Checks []ops.Check }
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, c := range all.Checks {
			if c.Name == "events" {
				return c
			}
		}
		t.Fatalf("doctor has no line for events: %s", out)
		return ops.Check{}
	}
	if c := events(); c.Status != ops.Healthy || !strings.Contains(c.Detail, "used by the daemon, which is not running") {
		t.Errorf("without a daemon: %+v", c)
	}
	d := w.daemon(t)
	d.says(`observing: 1 candidate to go`)
	var c ops.Check
	wait.Eventually(t, "a source of events that fails", func() bool { c = events(); return strings.Contains(c.Detail, "invalid_request") })
	for _, want := range []string{"does not hear herdr/", "hears ", "files", "off: ", "tmux (run.tmux_hooks)", "found on schedule"} {
		if c.Status != ops.Limited || !strings.Contains(c.Detail, want) {
			t.Errorf("want %q: %+v", want, c)
		}
	}
	refuses.Store(false)
	wait.Eventually(t, "all that is on is heard", func() bool { c = events(); return c.Status == ops.Healthy })
	if !strings.Contains(c.Detail, ", herdr/") && !strings.Contains(c.Detail, "hears herdr/") {
		t.Errorf("%+v", c)
	}
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestWhatAPersonBroughtBack trips no brake: restore has said that it goes again, and how to keep it.
func TestWhatAPersonBroughtBack(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, w.configuration(t)+"run: {rest: 100ms}\n")
	d := w.daemon(t, "--apply")
	d.says(`done: dir:`)
	w.restoreAll(t)
	if !w.here() {
		t.Fatal("it was not brought back")
	}
	d.signal(syscall.SIGUSR1)
	d.says(`(?s)done: dir:.*done: dir:|came_back`)
	if out := w.mustRun(t, "winnow", "brakes", "--config", w.config); !strings.Contains(out, "no brake holds") {
		t.Errorf("brakes: %s", out)
	}
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestActsAreToldOnce: what a cap holds back is one line a kind, and what comes to the same at each sweep is told when it begins.
func TestActsAreToldOnce(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 306)
	var out bytes.Buffer
	w.d.Options.Line = func(line string) { fmt.Fprintln(&out, line) }
	act := func(id, outcome string) decision.Act {
		return decision.Act{Candidate: id, Kind: snapshot.KindProcess, Outcome: decision.Outcome{Outcome: outcome, Detail: "for a reason"}}
	}
	lines := func(acts, settled []decision.Act) (said []string) {
		out.Reset()
		w.d.News(&report.Report{Acts: acts, Settled: settled})
		for line := range strings.Lines(out.String()) {
			if _, line, _ := strings.Cut(strings.TrimSpace(line), ": "); strings.Contains(line, "for a reason") {
				said = append(said, line)
			}
		}
		return said
	}
	acts := []decision.Act{act("process:1@1", decision.Refused)}
	for range 300 {
		acts = append(acts, act("process:2@2", decision.Capped))
	}
	both := []string{"process:1@1 for a reason", "300 acts of kind process: for a reason"}
	if diff := cmp.Diff(both, lines(acts, nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string(nil), lines(acts, nil)); diff != "" {
		t.Errorf("again: %s", diff)
	}
	if diff := cmp.Diff([]string{"299 acts of kind process: for a reason"}, lines(acts[:300], nil)); diff != "" {
		t.Errorf("one less: %s", diff)
	}
	if diff := cmp.Diff([]string{"process:3@3 for a reason"}, lines(nil, []decision.Act{act("process:3@3", decision.Done)})); diff != "" {
		t.Errorf("an act that was cut short: %s", diff)
	}
	if diff := cmp.Diff(both, lines(acts, nil)); diff != "" {
		t.Errorf("after a time without them: %s", diff)
	}
}

// TestAnAlarmIsToldOnce, though the times and counts in it change, and again with what it is about.
func TestAnAlarmIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 307)
	var out bytes.Buffer
	w.d.Options.Line = func(line string) { fmt.Fprintln(&out, line) }
	tells := func(message string) bool {
		out.Reset()
		w.d.News(&report.Report{Alarms: []report.Alarm{{Rule: "unclaimed", Message: message}}})
		return strings.Contains(out.String(), message)
	}
	for i, c := range []struct {
		message string
		tells   bool
	}{
		{"40 processes of an agent that ended 12m ago", true}, {"41 processes of an agent that ended 17m ago", false}, {"41 sessions of an agent that ended 22m ago", true},
	} {
		if got := tells(c.message); got != c.tells {
			t.Errorf("%d: told: %v, want %v", i, got, c.tells)
		}
	}
}
