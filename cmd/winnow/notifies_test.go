package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// outside is what listens to a daemon: a webhook's server at /hook.
type outside struct {
	*httptest.Server
	mu       sync.Mutex
	messages []notify.Document
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		o.mu.Lock()
		defer o.mu.Unlock()
		switch r.URL.Path {
		case "/hook":
			var d notify.Document
			if err == nil {
				err = json.Unmarshal(body, &d)
			}
			o.messages = append(o.messages, d)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// told waits for a message that is so.
func (o *outside) told(t *testing.T, what string, so func(notify.Document) bool) (found notify.Document) {
	t.Helper()
	wait.Eventually(t, "a message with "+what, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, d := range o.messages {
			if so(d) {
				found = d
				return true
			}
		}
		return false
	})
	return found
}

func (o *outside) count(so func(notify.Document) bool) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.messages {
		if so(d) {
			n++
		}
	}
	return n
}

func asks(d notify.Document) bool { return d.Asks != nil }

// TestTheDaemonTellsOutside follows one worktree: it waits to be asked, which is told once, also over a start; then it goes, which is told.
func TestTheDaemonTellsOutside(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w, o := newCrashFolder(t), newOutside(t)
	quick := strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 200ms", 1) +
		fmt.Sprintf("notify: {rest: 100ms, webhooks: [{url: %s/hook}]}\nrun: {rest: 100ms}\n", o.URL)
	asking := strings.Replace(quick, "confirm_after: 200ms", "confirm_after: 200ms, levels: {reap.dirs.landed: ask, reap.dirs.disposable: ask, reap.dirs.unused: ask, reap.dirs.owner_ended: ask}", 1)

	files.Write(t, w.config, asking)
	if out := w.mustRun(t, "winnow", "notify", "test", "--config", w.config); !strings.Contains(out, "sent: webhook 127.0.0.1") {
		t.Errorf("notify test: %s", out)
	}
	o.told(t, "a test", func(d notify.Document) bool { return d.Test })
	w.mustRun(t, "winnow", "run", "--once", "--config", w.config)
	m := o.told(t, "what waits to be asked", asks)
	if m.Asks.Count != 1 || !strings.HasPrefix(m.Asks.First[0].Rule, "reap.dirs.") || !strings.Contains(m.Asks.First[0].Name, "project-review-1a2b3c4d") {
		t.Errorf("asks: %+v", m.Asks)
	}
	d := w.daemon(t, "--apply")
	d.says(`acting: 0 candidates to go`)
	d.signal(syscall.SIGTERM)
	d.ends()
	if n := o.count(asks); n != 1 || !w.here() {
		t.Errorf("it was told %d times, also over a start", n)
	}

	files.Write(t, w.config, quick)
	d = w.daemon(t, "--apply")
	m = o.told(t, "an act", func(d notify.Document) bool { return d.Acts != nil })
	if m.Acts.Done != 1 || m.Acts.Kinds["dir"] != 1 || !strings.HasPrefix(m.Acts.First[0].ID, "dir:") || w.here() {
		t.Errorf("acts: %+v", m.Acts)
	}
	d.signal(syscall.SIGTERM)
	d.ends()
}

// TestNotifyTestSaysWhatFails.
func TestNotifyTestSaysWhatFails(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w, o := newCrashFolder(t), newOutside(t)
	plain := w.configuration(t)
	token := filepath.Join(w.dir, "token")
	files.Write(t, token, "t0ken")
	musts.Do(t, os.Chmod(token, 0o644))
	for name, c := range map[string]struct{ conf, says string }{
		"no place":           {"", "notify names no place"},
		"not found":          {"notify: {webhooks: [{url: " + o.URL + "/else}]}\n", "answers 404 Not Found"},
		"a readable token":   {"notify: {webhooks: [{url: " + o.URL + "/hook, token_file: token}]}\n", "other users can read it"},
		"no desktop":         {"notify: {desktop: true}\n", "not sent: desktop: no session bus"},
		"http to elsewhere":  {"notify: {webhooks: [{url: http://hooks.example.com/x}]}\n", "http goes to this machine only"},
		"an unknown form":    {"notify: {webhooks: [{url: https://hooks.example.com/x, format: slak}]}\n", `unknown format "slak"; the nearest is "slack"`},
		"an unknown word":    {"notify: {on: [alarm]}\n", `unknown word "alarm"; the nearest is "alarms"`},
		"twice":              {"notify: {webhooks: [{url: https://hooks.example.com/x}, {url: https://hooks.example.com/x}]}\n", "the same address"},
		"a header of others": {"notify: {webhooks: [{url: https://hooks.example.com/x, header: Host, token_file: token}]}\n", "no name of a header for a token"},
	} {
		files.Write(t, w.config, plain+c.conf)
		out, err := w.run([]string{"DBUS_SESSION_BUS_ADDRESS="}, "winnow", "notify", "test", "--config", w.config)
		if err == nil || !strings.Contains(string(out), c.says) || strings.Contains(string(out), "t0ken") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// TestWhatASweepTells says of reports, brakes and pauses what is told, and by which key.
func TestWhatASweepTells(t *testing.T) {
	t.Parallel()
	keys := func(e daemon.Ended) (out []string) {
		event, tells := daemon.EventOf(e)
		if !tells {
			return []string{"nothing"}
		}
		for _, s := range event.Standing {
			out = append(out, s.Group+" "+s.Key)
		}
		slices.Sort(out)
		return out
	}
	one := func(al report.Alarm) daemon.Ended {
		return daemon.Ended{Report: &report.Report{Alarms: []report.Alarm{al}}}
	}
	for _, c := range []struct{ a, b string }{
		{"tmux/default has failed for 15m (3 looks)", "tmux/default has failed for 1h5m (14 looks)"},
		{"it gave 12 of 40, since 2026-11-25 10:00:01", "it gave 7 of 40, since 2026-11-25 10:05:01"},
		{"less than 5% is free: 120 MB.", "less than 4% is free: 90.5 MB."},
	} {
		if a, b := keys(one(report.Alarm{Rule: "r", Message: c.a})), keys(one(report.Alarm{Rule: "r", Message: c.b})); !slices.Equal(a, b) {
			t.Errorf("it is told twice: %q, %q", a, b)
		}
	}
	for _, c := range []struct{ a, b report.Alarm }{
		{report.Alarm{Rule: "r", Message: "tab w1:t3 is gone"}, report.Alarm{Rule: "r", Message: "tab w1:t4 is gone"}},
		{report.Alarm{Rule: "r", Message: "/w/acme-1a2b is full"}, report.Alarm{Rule: "r", Message: "/w/acme-1a2c is full"}},
		{report.Alarm{Rule: "r", Candidate: "process:1@1", Message: "process 1"}, report.Alarm{Rule: "r", Candidate: "process:2@1", Message: "process 2"}},
		{report.Alarm{Rule: "r"}, report.Alarm{Rule: "q"}},
	} {
		if a, b := keys(one(c.a)), keys(one(c.b)); slices.Equal(a, b) {
			t.Errorf("another alarm is not told: %q", a)
		}
	}
	if a, b := keys(daemon.Ended{Err: fmt.Errorf("one")}), keys(daemon.Ended{Err: fmt.Errorf("other")}); !slices.Equal(a, b) || a[0] != "problems sweep_failed" {
		t.Errorf("sweeps that fail: %q, %q", a, b)
	}
	if got := keys(daemon.Ended{Err: fmt.Errorf("wrapped: %w", &lock.Held{})}); got[0] != "nothing" {
		t.Errorf("another sweep has the lock: %q", got)
	}
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	e := daemon.Ended{Status: document.Status{Paused: &lock.Pause{Since: since}, Brakes: []brakes.Brake{{Rule: brakes.CameBack, Sweep: "S", Candidate: "dir:/x"}}}, Report: &report.Report{
		Alarms: []report.Alarm{{Rule: report.Paused}, {Rule: "brake_came_back"}},
		Acts: []decision.Act{
			{Candidate: "dir:/y", Kind: "dir", Outcome: decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{Bytes: 7}}},
			{Candidate: "dir:/z", Kind: "dir", Outcome: decision.Outcome{Outcome: decision.Refused, Detail: "no"}},
			{Candidate: "dir:/c", Kind: "dir", Outcome: decision.Outcome{Outcome: decision.Capped}},
		},
		Purged: []report.Purged{{Bytes: 5}},
		Decisions: []decision.Decision{
			{ID: "dir:/a", Level: decision.Ask, Verdict: decision.Spare, Findings: []decision.Reason{{Rule: "mine", Level: decision.Ask}}},
			{ID: "dir:/o", Level: decision.Observe, Verdict: decision.Spare}, {ID: "dir:/r", Verdict: decision.Reap},
		},
	}}
	want := []string{"acts refused dir:/z", "asks dir:/a  mine", "problems brake came_back S dir:/x", "problems paused 2026-11-20T12:00:00Z"}
	if got := keys(e); !slices.Equal(got, want) {
		t.Errorf("it tells %q", got)
	}
	event, _ := daemon.EventOf(e)
	if len(event.Done) != 1 || event.FreedBytes != 12 || event.Purged != 1 || !slices.Equal(event.Speaks, []string{"problems", "acts", "alarms", "asks"}) {
		t.Errorf("%+v", event)
	}
}

// TestTellingIsConfiguredAgain has a daemon within the test tell, and stop telling, as a reload configures it.
func TestTellingIsConfiguredAgain(t *testing.T) {
	t.Parallel()
	w, o := newCrashFolder(t), newOutside(t)
	plain := w.configuration(t)
	load := func(extra string) *config.Config {
		files.Write(t, w.config, plain+extra)
		cfg, err := config.Load(w.config, []string{"HOME=" + w.dir})
		musts.Do(t, err)
		return cfg
	}
	cfg := load(fmt.Sprintf("notify: {rest: 0s, names: 0, webhooks: [{url: %s/hook}]}\n", o.URL))
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger(), Hands: &stop.Inflight{}, Acting: lock.Acting{Name: "winnow-telling", Home: w.dir}}), out: io.Discard, errOut: io.Discard}).watched()
	d, err := daemon.New(t.Context(), &a.Ops, daemon.Options{Components: []daemon.Component{daemon.Notify}, Line: func(string) {}})
	musts.Do(t, err)
	t.Cleanup(d.Close)
	end := musts.Get(d.StartAll(t.Context(), true))(t)
	sweep := func(failed error) {
		began := time.Now()
		r := musts.Get(d.Sweep(t.Context(), pace.Request))(t)
		if failed != nil {
			r = nil
		}
		d.Swept(t.Context(), pace.Request, began, r, failed)
	}
	sweep(fmt.Errorf("no space in %s", w.dir))
	m := o.told(t, "a sweep that failed", func(d notify.Document) bool { return d.Problems != nil })
	if m.Problems.Rules["sweep_failed"] != 1 || len(m.Problems.First) != 0 || strings.Contains(m.Title+m.Text, w.dir) {
		t.Errorf("problems: %+v\n%s", m.Problems, m.Text)
	}
	d.Cfg = load("")
	d.RestartChanged(t.Context())
	o.mu.Lock()
	messages := len(o.messages)
	o.mu.Unlock()
	sweep(fmt.Errorf("another reason"))
	end()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.messages) != messages {
		t.Errorf("it tells although it is not to: %d messages", len(o.messages)-messages)
	}
}

// TestWhatWasDoneIsToldAlthoughTheSweepFailed has the ledger refuse the end of a sweep whose act was done: the act is counted and told, and that the sweep failed.
func TestWhatWasDoneIsToldAlthoughTheSweepFailed(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w, o := newCrashFolder(t), newOutside(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 1ms", 1)+
		fmt.Sprintf("notify: {rest: 0s, webhooks: [{url: %s/hook}]}\nrun: {metrics: {listen: 'unix:%s/m'}}\n", o.URL, w.dir))
	cfg, err := config.Load(w.config, []string{"HOME=" + w.dir})
	musts.Do(t, err)
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger(), Hands: &stop.Inflight{}, Acting: lock.Acting{Name: "winnow-failing", Home: w.dir}}), out: io.Discard, errOut: io.Discard}).watched()
	d, err := daemon.New(t.Context(), &a.Ops, daemon.Options{Apply: true, Components: []daemon.Component{daemon.Metrics, daemon.Notify}, Line: func(string) {}})
	musts.Do(t, err)
	t.Cleanup(d.Close)
	end := musts.Get(d.StartAll(t.Context(), false))(t)
	t.Cleanup(end)
	w.mustRun(t, "winnow", "sweep", "--config", w.config) // makes the ledger
	db := musts.Get(sql.Open("sqlite", a.LedgerPath()+"?_pragma=busy_timeout(20000)"))(t)
	t.Cleanup(func() { _ = db.Close() })
	musts.Do(t, db.Ping())
	refuses := make(chan error, 1)
	go func() { // once the act is in hand: a ledger that has this when it is opened is not trusted
		wait.Until(wait.Patience, d.Hands.Busy)
		_, err := db.Exec("CREATE TRIGGER never BEFORE UPDATE OF finished ON sweeps BEGIN SELECT raise(ROLLBACK, 'no room'); END")
		refuses <- err
	}()
	began := time.Now()
	r, err := d.Sweep(t.Context(), pace.Request)
	d.Swept(t.Context(), pace.Request, began, r, err)
	if refused := <-refuses; refused != nil || err == nil || !strings.Contains(err.Error(), "no room") || w.here() {
		t.Fatalf("want an act, and a sweep that fails at its end: %v, %v, the folder is here: %v", refused, err, w.here())
	}
	m := o.told(t, "an act", func(d notify.Document) bool { return d.Acts != nil })
	if m.Acts.Done != 1 || m.Problems == nil || m.Problems.First[0].Rule != "sweep_failed" {
		t.Errorf("acts %+v, problems %+v", m.Acts, m.Problems)
	}
	text := scraped(t, w.dir+"/m")
	for _, line := range []string{`winnow_acts_total{kind="dir",outcome="done"} 1`, `winnow_sweeps_total{result="failed",why="request"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in %s", line, text)
		}
	}
}

// TestASweepThatAnotherOneKeepsOutIsNoFailure: it is neither counted as failed, of which an alert would tell, nor told.
func TestASweepThatAnotherOneKeepsOutIsNoFailure(t *testing.T) {
	t.Parallel()
	d, path := &daemon.Daemon{Ops: new(ops.New(state.Folder{Cfg: &config.Config{}, Log: hclog.NewNullLogger()}))}, filepath.Join(t.TempDir(), "m")
	d.Cfg.Run.Metrics.Listen = "unix:" + path
	end := musts.Get(daemon.Metrics.Begin(t.Context(), d))(t)
	t.Cleanup(end)
	for want, failed := range []error{fmt.Errorf("wrapped: %w", &lock.Held{}), fmt.Errorf("no space")} {
		d.TellAll(daemon.Ended{Why: pace.Schedule, Err: failed})
		if line := fmt.Sprintf("winnow_sweeps_total{result=\"failed\",why=\"schedule\"} %d\n", want); !strings.Contains(scraped(t, path), line) {
			t.Errorf("%v: want %s", failed, line)
		}
	}
}

// scraped are the metrics that are served on a unix socket.
func scraped(t *testing.T, socket string) string {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	res := musts.Get(c.Get("http://winnow/metrics"))(t)
	defer res.Body.Close()
	text := musts.Get(io.ReadAll(res.Body))(t)
	return string(text)
}
