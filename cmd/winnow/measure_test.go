package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// freePort is a port of this machine's that nothing listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l := musts.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

func metricsOf(address, token string) (int, string) {
	req, err := http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// TestTheDaemonAnswersPrometheus scrapes the real daemon: before and after an act, after a reload to another address with a token, and after a reload that is refused.
func TestTheDaemonAnswersPrometheus(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	base := strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 500ms", 1)
	first, second := freePort(t), freePort(t)
	files.Write(t, w.config, base+fmt.Sprintf("run: {rest: 100ms, metrics: {listen: %q}}\n", first))
	d := w.daemon(t, "--apply")
	d.says(`done: dir:`)
	lines := []string{`winnow_acts_total{kind="dir",outcome="done"} 1`, `winnow_mode{mode="acting"} 1`, `winnow_sweeps_total{result="whole",why="start"} 1`, `winnow_policy_info{`, `winnow_sources{kind="dirs",status="ok"}`, `winnow_event_sources{kind="files",state="listening"} 1`, `winnow_disagreed_total 0`,
		"winnow_last_good_sweep_timestamp_seconds 1"}
	var text, missing string
	if !wait.Until(wait.Patience, func() bool {
		_, text = metricsOf(first, "")
		i := slices.IndexFunc(lines, func(line string) bool { return !strings.Contains(text, line) })
		if missing = ""; i >= 0 {
			missing = lines[i]
		}
		return i < 0
	}) {
		t.Fatalf("no %s in %s", missing, text)
	}
	for _, secret := range []string{w.dir, w.worktree, filepath.Base(w.worktree)} {
		if strings.Contains(text, secret) {
			t.Errorf("the name of a thing, %s, is told", secret)
		}
	}
	if path, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(path, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v: %s", err, out)
		}
	}

	token := filepath.Join(w.dir, "token")
	files.Write(t, token, "s3cret\n")
	musts.Do(t, os.Chmod(token, 0o600))
	files.Write(t, w.config, base+fmt.Sprintf("run: {rest: 100ms, metrics: {listen: %q, token_file: %q}}\n", second, token))
	d.signal(syscall.SIGHUP)
	wait.Eventually(t, "the new address answers", func() bool { code, _ := metricsOf(second, "s3cret"); return code == http.StatusOK })
	if code, _ := metricsOf(second, ""); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d", code)
	}
	if code, _ := metricsOf(first, ""); code != 0 {
		t.Errorf("the old address still answers: %d", code)
	}
	if _, text := metricsOf(second, "s3cret"); !strings.Contains(text, `winnow_acts_total{kind="dir",outcome="done"} 1`) {
		t.Error("a reload lost what was counted")
	}

	// Another token holds at once: the old one may have been seen by others. While it cannot be trusted no request is answered.
	files.Write(t, token, "an0ther\n")
	if code, _ := metricsOf(second, "s3cret"); code != http.StatusUnauthorized {
		t.Errorf("the token of before: %d", code)
	}
	if code, _ := metricsOf(second, "an0ther"); code != http.StatusOK {
		t.Errorf("the token of now: %d", code)
	}
	musts.Do(t, os.Chmod(token, 0o644))
	for _, with := range []string{"an0ther", ""} {
		if code, text := metricsOf(second, with); code != http.StatusServiceUnavailable || strings.Contains(text, "winnow_") {
			t.Errorf("a token that others can read, with %q: %d %s", with, code, text)
		}
	}
	d.says("the token cannot be read, and no scrape is answered until it can .*other users can read it")
	musts.Do(t, os.Chmod(token, 0o600))
	files.Write(t, token, "s3cret\n")

	files.Write(t, w.config, base+"run: {rest: 100ms, metrics: {listen: '0.0.0.0:9479'}}\n")
	d.signal(syscall.SIGHUP)
	d.says(`not reloaded.*can be reached by others: give a token_file`)
	wait.Eventually(t, "the refused reload is counted", func() bool {
		_, text := metricsOf(second, "s3cret")
		return strings.Contains(text, `winnow_reloads_total{result="failed"} 1`)
	})
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestTheDaemonDoesNotStartWithoutItsMetrics: who configured an address wants it, and learns at the start that it cannot be had.
func TestTheDaemonDoesNotStartWithoutItsMetrics(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	taken := musts.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	files.Write(t, w.config, w.configuration(t)+fmt.Sprintf("run: {metrics: {listen: %q}}\n", taken.Addr()))
	if out, err := w.run(nil, "winnow", "run", "--config", w.config); err == nil || !strings.Contains(string(out), "run.metrics") || !strings.Contains(string(out), "address already in use") {
		t.Errorf("%v: %s", err, out)
	}
}

// supervisor is a service manager that hears what a service says (sd_notify(3)).
type supervisor struct {
	conn *net.UnixConn
	path string
	got  []string
}

func newSupervisor(t *testing.T) *supervisor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	c := musts.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return &supervisor{conn: c, path: path}
}

// hears waits for a message that begins so.
func (s *supervisor) hears(t *testing.T, begins string) string {
	t.Helper()
	buf := make([]byte, 4096)
	musts.Do(t, s.conn.SetReadDeadline(time.Now().Add(wait.Patience)))
	for {
		n, err := s.conn.Read(buf)
		if err != nil {
			t.Fatalf("nothing begins with %q: %v; it said %q", begins, err, s.got)
		}
		s.got = append(s.got, string(buf[:n]))
		if strings.HasPrefix(string(buf[:n]), begins) {
			return string(buf[:n])
		}
	}
}

func TestTheDaemonTellsItsManager(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	s := newSupervisor(t)
	w.env = append(w.env, "NOTIFY_SOCKET="+s.path, "WATCHDOG_USEC=200000")
	d := w.daemon(t)
	s.hears(t, "READY=1\nSTATUS=observing")
	s.hears(t, "STATUS=observing, 1 candidate to go")
	s.hears(t, "WATCHDOG=1")
	d.signal(syscall.SIGHUP)
	if got := s.hears(t, "RELOADING=1"); !strings.Contains(got, "\nMONOTONIC_USEC=") {
		t.Errorf("%q", got)
	}
	s.hears(t, "READY=1")
	s.hears(t, "WATCHDOG=1")
	// One that hangs shows nothing.
	d.signal(syscall.SIGSTOP)
	musts.Do(t, s.conn.SetReadDeadline(time.Now().Add(time.Second)))
	for n := 0; ; n++ {
		if _, err := s.conn.Read(make([]byte, 4096)); err != nil {
			break
		}
		if n > 50 {
			t.Fatal("a daemon that was stopped says that it lives")
		}
	}
	d.signal(syscall.SIGCONT)
	s.hears(t, "WATCHDOG=1")
	d.signal(syscall.SIGTERM)
	s.hears(t, "STOPPING=1")
	d.ends()
}

// TestALoopThatHangsShowsNothing: the watchdog goes by the loop, and not by the goroutine that speaks.
func TestALoopThatHangsShowsNothing(t *testing.T) {
	t.Parallel()
	m := &daemon.Manager{D: &daemon.Daemon{}}
	m.Moves()
	if !m.Lives(time.Minute) {
		t.Error("a loop that just moved is dead")
	}
	m.Moved.Add(-int64(2 * time.Minute))
	if m.Lives(time.Minute) {
		t.Error("a loop that hangs lives")
	}
	m.D.Sweeping(true)
	if !m.Lives(time.Minute) {
		t.Error("a sweep of two minutes is taken for one that hangs")
	}
	m.Moved.Add(-int64(daemon.Longest))
	if m.Lives(time.Minute) {
		t.Error("a sweep that hangs for more than an hour lives")
	}
}
