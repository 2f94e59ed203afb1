package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/localapi"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// times is what differs from one look to the next: when something was, and how long it took or lasts.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?|"?[0-9.]+"? ?(ms|s|seconds|second|minutes|m)\b|listed \d+|among the \d+|"[a-z_]*(took|age|idle|up|awake|since|until|_at|uptime)[a-z_]*": ?[0-9.]+`)

// apiText is openapi.yaml, as its schemas are compiled.
type apiText struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func newAPIText(t *testing.T) *apiText {
	t.Helper()
	d := &apiText{compiler: jsonschema.NewCompiler()}
	musts.Do(t, yaml.Unmarshal(client.OpenAPI, &d.doc))
	data := musts.Get(json.Marshal(d.doc))(t)
	doc := musts.Get(jsonschema.UnmarshalJSON(bytes.NewReader(data)))(t)
	d.compiler.AssertFormat()
	musts.Do(t, d.compiler.AddResource("openapi.json", doc))
	return d
}

// operation is one method of one path; nil where it is not described.
func (d *apiText) operation(method, path string) map[string]any {
	at, _ := d.doc["paths"].(map[string]any)[path].(map[string]any)
	op, _ := at[strings.ToLower(method)].(map[string]any)
	return op
}

// holds demands that an answer is one that is described.
func (d *apiText) holds(t *testing.T, method, path string, status int, body []byte) {
	t.Helper()
	op := d.operation(method, path)
	answer, _ := op["responses"].(map[string]any)[fmt.Sprint(status)].(map[string]any)
	place := fmt.Sprintf("#/paths/%s/%s/responses/%d", strings.NewReplacer("~", "~0", "/", "~1").Replace(path), strings.ToLower(method), status)
	if to, ok := answer["$ref"].(string); ok {
		place = to
		answer = d.doc["components"].(map[string]any)["responses"].(map[string]any)[filepath.Base(to)].(map[string]any)
	}
	if answer == nil {
		t.Errorf("%s %s: the status %d is not described: %s", method, path, status, body)
		return
	}
	for kind := range content(answer) {
		if kind != "application/json" && kind != "application/x-ndjson" {
			return
		}
		at := "openapi.json" + place + "/content/" + strings.ReplaceAll(kind, "/", "~1") + "/schema"
		schema := musts.Get(d.compiler.Compile(at))(t)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s %s: %v\n%s", method, path, err, body)
		}
	}
}

func content(answer map[string]any) map[string]any {
	c, _ := answer["content"].(map[string]any)
	return c
}

// TestEveryRouteIsDescribed holds openapi.yaml and what is served against each other.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	var served, told []string
	for pattern := range localapi.New(&daemon.Daemon{}).Handlers() {
		served = append(served, pattern)
	}
	for path, at := range newAPIText(t).doc["paths"].(map[string]any) {
		for method := range at.(map[string]any) {
			told = append(told, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(told)
	if diff := cmp.Diff(told, served); diff != "" {
		t.Errorf("described and served (-described +served):\n%s", diff)
	}
}

// TestEveryFieldIsDescribed holds the documents that are served and openapi.yaml against each other: a field that it does not have would be refused by who reads by it.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	schemas := newAPIText(t).doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, v := range map[string]any{
		"State": document.State{}, "Swept": document.SweptOnce{}, "Count": report.Count{}, "Brake": brakes.Brake{}, "Pause": lock.Pause{}, "Hold": snapshot.Hold{}, "Released": document.Released{}, "Lease": client.Lease{},
		"Event": client.Event{}, "Error/properties/error": client.Error{},
		"Look": document.Look{}, "History": document.History{}, "Act": ledger.Act{}, "SetAside": document.SetAside{}, "Policies": document.Policies{}, "Rule": document.Rule{},
		"State/properties/alarms/items": report.Alarm{}, "Stats": document.Stats{}, "Share": document.Share{},
		"Running": report.Running{}, "Owner": report.Owner{}, "Place": report.Place{}, "Process": report.Process{},
	} {
		at, _ := schemas[strings.Split(name, "/")[0]].(map[string]any)
		for _, step := range strings.Split(name, "/")[1:] {
			at, _ = at[step].(map[string]any)
		}
		described, _ := at["properties"].(map[string]any)
		told := slices.Sorted(maps.Keys(described))
		served := fieldsOf(reflect.TypeOf(v))
		slices.Sort(served)
		if diff := cmp.Diff(told, served); diff != "" || at["additionalProperties"] != false {
			t.Errorf("%s: described and served (-described +served):\n%s", name, diff)
		}
	}
}

// fieldsOf are the names of a struct's fields in JSON.
func fieldsOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, fieldsOf(f.Type)...)
		case f.IsExported() && name != "-":
			out = append(out, name)
		}
	}
	return out
}

// TestEventsSayWhatTheStateSays of the same sweep.
func TestEventsSayWhatTheStateSays(t *testing.T) {
	t.Parallel()
	full := &document.SweptOnce{Sweep: "s", At: time.Now(), Why: "start", Took: 1.5, Short: true, Census: map[string]report.Count{"dir": {Seen: 5, InScope: 4, Reap: 3, Spare: 2, Unknown: 1}}}
	var byState client.Swept
	musts.Do(t, json.Unmarshal(musts.Get(json.Marshal(full))(t), &byState))
	if diff := cmp.Diff(&byState, localapi.InShort(full), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("the state and the event (-state +event):\n%s", diff)
	}
}

// apiWorld is a world with the real daemon, and a client of its API.
type apiWorld struct {
	*crashWorld
	t      *testing.T
	d      *runs
	socket string
	c      *client.Client
	told   *apiText
}

func newAPIWorld(t *testing.T, args ...string) *apiWorld {
	t.Helper()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 100ms", 1)+"run: {rest: 100ms}\n")
	a := &apiWorld{crashWorld: w, t: t, socket: filepath.Join(w.dir, "state", "api.sock"), told: newAPIText(t)}
	a.d = w.daemon(t, args...)
	// A look during which a process ended does not know who uses the folder: the next one is asked for.
	asked, found := time.Now(), regexp.MustCompile(`\b1 candidate to go|1 that may go`)
	wait.Eventually(t, found.String(), func() bool {
		if time.Since(asked) > 10*time.Second {
			a.d.signal(syscall.SIGUSR1)
			asked = time.Now()
		}
		return found.MatchString(a.d.output())
	})
	a.c = client.New(a.socket)
	t.Cleanup(a.c.Close)
	return a
}

// call asks, and holds the answer to its description.
func (w *apiWorld) call(method, path string, query url.Values, body any) (int, []byte) {
	w.t.Helper()
	ctx := wait.Within(w.t, wait.Patience)
	res := musts.Get(w.c.Do(ctx, method, path, query, body))(w.t)
	defer res.Body.Close()
	data := musts.Get(io.ReadAll(res.Body))(w.t)
	w.told.holds(w.t, method, path, res.StatusCode, data)
	return res.StatusCode, data
}

// raw asks with a body of any bytes, and gives the status and the answer.
func (w *apiWorld) raw(route, body string) (int, string) {
	w.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.socket)
	}}
	defer transport.CloseIdleConnections()
	req := musts.Get(http.NewRequestWithContext(wait.Within(w.t, wait.Patience), method, "http://winnow"+path, strings.NewReader(body)))(w.t)
	res := musts.Get(transport.RoundTrip(req))(w.t)
	defer res.Body.Close()
	return res.StatusCode, string(musts.Get(io.ReadAll(res.Body))(w.t))
}

func (w *apiWorld) candidate() string { return "dir:" + w.worktree }

// TestTheAPI asks the real daemon everything there is, and what is wrong.
func TestTheAPI(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx := wait.Within(t, 2*wait.Patience)
	s := musts.Get(w.c.State(ctx))(t)
	if s.Mode != document.Observing || s.PID != w.d.cmd.Process.Pid || s.Last == nil || s.Last.Census["dir"].Seen != 1 {
		t.Errorf("%+v", s)
	}
	something := url.Values{"candidate": {w.candidate()}}
	thread := furtherThread(t)
	for _, ask := range []struct {
		method, path string
		query        url.Values
		body         any
		status       int
		says         string
	}{
		{"GET", "/v1/openapi.yaml", nil, nil, 200, "openapi: 3.1.0"},
		{"GET", "/v1/alive", nil, nil, 204, ""},
		{"GET", "/v1/state", nil, nil, 200, `"mode": "observing"`},
		{"GET", "/v1/report", nil, nil, 200, w.worktree},
		{"GET", "/v1/explain", something, nil, 200, `"reap.dirs.disposable"`},
		{"GET", "/v1/explain", url.Values{"candidate": {"nothing"}}, nil, 400, "nothing"},
		{"GET", "/v1/explain", nil, nil, 400, "candidate is missing"},
		{"GET", "/v1/explain", url.Values{"candidate": {w.candidate()}, "latest": {"true"}}, nil, 200, `"reap.dirs.disposable"`},
		{"GET", "/v1/explain", url.Values{"candidate": {w.candidate()[:10]}, "latest": {"true"}}, nil, 400, "not there any more"},
		{"GET", "/v1/explain", url.Values{"candidate": {w.candidate()}, "latest": {"maybe"}}, nil, 400, "true or false"},
		{"POST", "/v1/look", nil, map[string]string{}, 200, `"mode": "dry-run"`},
		{"GET", "/v1/look", nil, nil, 200, w.worktree},
		{"GET", "/v1/look", url.Values{"candidate": {"x"}}, nil, 400, "it takes stamp"},
		{"GET", "/v1/history", nil, nil, 200, `"mode": "dry-run"`},
		{"GET", "/v1/history", url.Values{"since": {"7"}}, nil, 400, "give a time"},
		{"GET", "/v1/history", url.Values{"since": {"-1d"}}, nil, 400, "give a time"},
		{"GET", "/v1/stats", url.Values{"since": {"1d"}}, nil, 200, `"winnow.stats/v1"`},
		{"GET", "/v1/top", nil, nil, 200, `"winnow.top/v1"`},
		{"GET", "/v1/trash", nil, nil, 200, "[]"},
		{"GET", "/v1/policies", nil, nil, 200, `"reap.dirs.disposable"`},
		{"GET", "/v1/why-alive", url.Values{"what": {w.worktree}}, nil, 200, `"not-alive"`},
		{"GET", "/v1/why-alive", url.Values{"what": {"./here"}}, nil, 400, "give the folder's whole path"},
		{"GET", "/v1/why-alive", url.Values{"what": {w.worktree}, "as": {"fodler"}}, nil, 400, "want one of"},
		{"GET", "/v1/holds", nil, nil, 200, "[]"},
		{"POST", "/v1/holds", nil, map[string]string{"candidate": w.candidate()}, 400, "reason"},
		{"POST", "/v1/holds", nil, map[string]any{"candidate": w.candidate(), "reason": "mine", "for": "-3h"}, 400, "give a time"},
		{"POST", "/v1/holds", nil, map[string]any{"what": "?", "nonsense": 1}, 400, "nonsense"},
		{"POST", "/v1/holds", nil, map[string]any{"candidate": "dir:/nowhere", "reason": "mine"}, 400, "nowhere"},
		{"POST", "/v1/holds", nil, map[string]any{"candidate": w.candidate(), "reason": "mine", "for": "2h"}, 200, `"reason": "mine"`},
		{"GET", "/v1/holds", nil, nil, 200, w.worktree},
		{"POST", "/v1/holds", nil, map[string]any{"candidate": w.worktree, "reason": "mine", "whole": true}, 400, "not there any more"},
		{"DELETE", "/v1/holds", url.Values{"candidate": {w.candidate()[:20]}, "whole": {"true"}}, nil, 400, "not held any more"},
		{"DELETE", "/v1/holds", something, nil, 200, "released"},
		{"DELETE", "/v1/holds", something, nil, 400, "there is no hold"},
		{"DELETE", "/v1/holds", nil, nil, 400, "candidate is missing"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": "relative", "reason": "x"}, 400, "whole path"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": w.candidate()}, 400, "reason is missing"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": "process:1", "reason": "x"}, 400, "start in clock ticks since boot"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": "process:1@", "reason": "x"}, 400, "start in clock ticks since boot"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": "session:tmux/default/", "reason": "x"}, 400, "the whole id"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": "session:worker", "reason": "x"}, 400, "the whole id"},
		{"GET", "/v1/why-alive", url.Values{"what": {fmt.Sprint(thread)}}, nil, 400, "is a thread, not a process"},
		{"POST", "/v1/leases", nil, map[string]string{"candidate": w.candidate() + "/\ufffd", "reason": "x"}, 400, "as answers do"},
		{"POST", "/v1/leases", nil, map[string]any{"candidate": w.candidate(), "reason": "x", "for": "2h"}, 400, `takes no \"for\"; it takes candidate, reason`},
		{"GET", "/v1/brakes", nil, nil, 200, "[]"},
		{"GET", "/v1/brakes", url.Values{"brake": {"came_back"}}, nil, 400, `takes no \"brake\"; it takes nothing`},
		{"DELETE", "/v1/brakes", url.Values{"brakes": {"came_back"}}, nil, 400, `takes no \"brakes\"; it takes brake`},
		{"DELETE", "/v1/brakes", nil, map[string]string{"brake": "came_back"}, 400, "takes no body"},
		{"DELETE", "/v1/brakes", url.Values{"brake": {"came_back", "read_back"}}, nil, 200, "[]"},
		{"GET", "/v1/why-alive", url.Values{"what": {w.worktree, "/"}}, nil, 400, "more than once"},
		{"GET", "/v1/why-alive", url.Values{"what": {w.worktree}, "exit_code": {"true"}}, nil, 400, "exit_code"},
		{"POST", "/v1/pause", url.Values{"for": {"2h"}}, nil, 400, "takes no query"},
		{"POST", "/v1/pause", nil, map[string]string{"For": "2h"}, 400, `takes no \"For\"`},
		{"POST", "/v1/pause", nil, map[string]string{"candidate": w.candidate()}, 400, `takes no \"candidate\"`},
		{"POST", "/v1/pause", nil, map[string]string{"reason": strings.Repeat("a", localapi.MaxBody)}, 400, "longer than"},
		{"DELETE", "/v1/brakes", url.Values{"brake": {"hand"}}, nil, 400, "unknown brake"},
		{"DELETE", "/v1/brakes", nil, nil, 200, "[]"},
		{"POST", "/v1/pause", nil, map[string]string{"for": "2h", "reason": "a migration"}, 200, "a migration"},
		{"DELETE", "/v1/pause", nil, nil, 200, `"resumed": true`},
		{"POST", "/v1/sweep", nil, map[string]bool{"wait": true}, 200, `"why": "request"`},
		{"POST", "/v1/sweep", nil, map[string]bool{}, 200, `"winnow.state/v1"`},
	} {
		status, text := w.call(ask.method, ask.path, ask.query, ask.body)
		if status != ask.status || !strings.Contains(strings.ReplaceAll(string(text), "\\u0026", "&"), ask.says) {
			t.Errorf("%s %s %v %v: %d, want %d and %q: %s", ask.method, ask.path, ask.query, ask.body, status, ask.status, ask.says, text)
		}
	}
	for body, says := range map[string]string{`{"reason":"x"}{"for":"2h"}`: "JSON", `{"reason":"x"} garbage`: "JSON", "{\"reason\":\"\xff\"}": "not UTF-8", `["reason"]`: "JSON", `{"reason":7}`: "JSON"} {
		if status, text := w.raw("POST /v1/pause", body); status != 400 || !strings.Contains(text, says) {
			t.Errorf("%q: %d, want 400 and %q: %s", body, status, says, text)
		}
	}
	for _, acts := range []string{"POST /v1/restore", "DELETE /v1/trash", "POST /v1/trash"} { // what acts on things is not done for who asks here
		if status, text := w.raw(acts, ""); status != 404 && status != 405 {
			t.Errorf("%s: %d %s", acts, status, text)
		}
	}
	if status, text := w.raw("DELETE /v1/brakes?brake=came_back;brake=read_back", ""); status != 400 || !strings.Contains(text, "query cannot be read") {
		t.Errorf("a query that is wrong: %d %s", status, text)
	}
	if s := musts.Get(w.c.State(ctx))(t); s.Mode != document.Observing {
		t.Errorf("what was refused was done: %+v", s)
	}
	var no *client.Error
	if err := w.c.Release(ctx, "dir:/nowhere"); !errors.As(err, &no) || no.Code != 2 {
		t.Errorf("%v", err)
	}
	res := musts.Get(w.c.Do(ctx, "PUT", "/v1/state", nil, nil))(t)
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", res.StatusCode)
	}
}

// TestAProgramShortensNoPause of a person or of another program. A person may.
func TestAProgramShortensNoPause(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx := wait.Within(t, 2*wait.Patience)
	paused := func() lock.Pause {
		t.Helper()
		var s document.State
		_, text := w.call("GET", "/v1/state", nil, nil)
		musts.Do(t, json.Unmarshal(text, &s))
		if s.Paused == nil {
			t.Fatal("nothing is paused")
		}
		return *s.Paused
	}
	pause := func(long time.Duration, reason, stands string) lock.Pause {
		t.Helper()
		musts.Do(t, w.c.Pause(ctx, long, reason))
		p := paused()
		if p.Reason != stands {
			t.Errorf("%s: %q holds, want %q", reason, p.Reason, stands)
		}
		return p
	}
	pause(2*time.Hour, "two hours", "two hours")
	pause(time.Minute, "a minute", "two hours")
	pause(4*time.Hour, "four hours", "four hours")
	w.mustRun(t, "winnow", "pause", "--config", w.config, "--reason", "mine")
	if p := pause(2*time.Hour, "two hours", "mine"); p.Until != nil {
		t.Errorf("a program gave a person's pause an end: %+v", p)
	}
	w.mustRun(t, "winnow", "pause", "--config", w.config, "--reason", "mine", "--for", "1h")
	if p := pause(0, "for good", "for good"); p.Until != nil {
		t.Errorf("a person's shorter pause stands: %+v", p)
	}
}

// furtherThread is the number of a thread of this process that is not its first.
func furtherThread(t *testing.T) int {
	t.Helper()
	for _, e := range musts.Get(os.ReadDir("/proc/self/task"))(t) {
		if n, err := strconv.Atoi(e.Name()); err == nil && n != os.Getpid() {
			return n
		}
	}
	t.Fatal("this process has one thread alone")
	return 0
}

// TestWhoAsksIsNotAlive: the process that asks about the folder in which it works does not count, and another that works there does.
func TestWhoAsksIsNotAlive(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ask := func() string {
		cmd := exec.Command(itself(), "why-alive", "--config", w.config, "--format", "json", "--log-level", "debug", ".")
		cmd.Env, cmd.Dir = w.env, w.worktree
		var notes bytes.Buffer
		cmd.Stderr = &notes
		out := musts.Get(cmd.Output())(t)
		if strings.Contains(notes.String(), "done by this command itself") {
			t.Fatalf("the daemon was not asked: %s", notes.String())
		}
		var a alive.Answer
		musts.Do(t, json.Unmarshal(out, &a))
		return a.State
	}
	if got := ask(); got != alive.NotAlive {
		t.Errorf("who asks counts: %s", got)
	}
	other := exec.Command("sleep", "600")
	other.Dir = w.worktree
	musts.Do(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	if got := ask(); got != alive.Alive {
		t.Errorf("another process in it does not count: %s", got)
	}
	// An orchestrator asks by the API about what it started itself, as this test did.
	if a, err := w.c.WhyAlive(wait.Within(t, wait.Patience), w.worktree, ""); err != nil || a.State != alive.Alive {
		t.Errorf("what the asking program started does not count: %s, %v", a.State, err)
	}
}

// TestAHoldOnANameThatIsNotUTF8 is on that name, also where a daemon answers: JSON would carry it as another one's.
func TestAHoldOnANameThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	name := "dir:" + filepath.Join(w.dir, "wt", "bad\xff-review-00000001")
	other := strings.ReplaceAll(name, "\xff", "\ufffd")
	for _, id := range []string{name, other} {
		musts.Do(t, os.Mkdir(strings.TrimPrefix(id, "dir:"), 0o700))
	}
	w.mustRun(t, "winnow", "retain", name, "--reason", "mine", "--config", w.config)
	l := musts.Get(ledger.Open(filepath.Join(w.dir, "state", "ledger.db")))(t)
	defer l.Close()
	holds := musts.Get(l.Holds(t.Context()))(t)
	if len(holds) != 1 || holds[0].ID != name {
		t.Errorf("held is %+v, want %q", holds, name)
	}
	if status, said := w.call("POST", "/v1/holds", nil, client.Params{Candidate: name, Reason: "mine", Whole: true}); status != 400 || !strings.Contains(string(said), "as answers do") {
		t.Errorf("a name that JSON has changed: %d %s", status, said)
	}
	written := client.EscapeID(name)
	for path, words := range map[string]url.Values{"/v1/holds": nil, "/v1/explain": {"candidate": {written}}} {
		if status, said := w.call("GET", path, words, nil); status != 200 || !strings.Contains(string(said), `"id": "`+written) {
			t.Errorf("%s: %d %s", path, status, said)
		}
	}
	ctx := wait.Within(t, wait.Patience)
	musts.Do(t, w.c.Release(ctx, name))
	if all := musts.Get(w.c.Holds(ctx))(t); len(all) != 0 {
		t.Errorf("after the release: %+v", all)
	}
	for _, id := range []string{name, other} {
		h := musts.Get(w.c.Hold(ctx, client.Hold{Candidate: id, Reason: "by the API"}))(t)
		if h.ID != id {
			t.Errorf("held is %q, want %q", h.ID, id)
		}
		lease := musts.Get(w.c.Lease(ctx, id, "by the API"))(t)
		if lease.Candidate != id {
			t.Errorf("leased is %q, want %q", lease.Candidate, id)
		}
		musts.Do(t, lease.Close())
	}
}

// TestALeaseLastsAsLongAsItsConnection: what is leased stays under a daemon that acts, and goes after the lease. A process that dies leases nothing.
func TestALeaseLastsAsLongAsItsConnection(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t) // it observes
	ctx := wait.Within(t, 3*wait.Patience)
	l := musts.Get(w.c.Lease(ctx, w.worktree, "a build"))(t)
	must2 := musts.Get(w.c.Lease(ctx, w.candidate(), "a second one"))(t)
	if l.Candidate != w.candidate() || time.Until(l.Until) < time.Minute || time.Until(l.Until) > 3*time.Minute {
		t.Errorf("%+v", l)
	}
	holds := func() int { return len(musts.Get(w.c.Holds(ctx))(t)) }
	if n := holds(); n != 2 {
		t.Errorf("%d holds", n)
	}
	apply := func() string {
		out, _ := w.run(nil, "winnow", "sweep", "--config", w.config, "--apply")
		return string(out)
	}
	apply() // another winnow honours it
	if apply(); !w.here() {
		t.Fatal("it went under a lease")
	}
	musts.Do(t, l.Close())
	wait.Eventually(t, "the first lease is over", func() bool { return holds() == 1 })
	if apply(); !w.here() {
		t.Fatal("it went under the second lease")
	}
	musts.Do(t, must2.Close())
	wait.Eventually(t, "the second lease is over", func() bool { return holds() == 0 })
	wait.Eventually(t, "it goes without a lease", func() bool { apply(); return !w.here() })

	// The end of a client's process ends its lease, and so does no other's end.
	curl := exec.Command("curl", "-sN", "--unix-socket", w.socket, "-d", `{"candidate":"/somewhere/else","reason":"curl"}`, "http://winnow/v1/leases")
	if err := curl.Start(); err != nil {
		t.Skip("there is no curl: ", err)
	}
	wait.Eventually(t, "curl's lease", func() bool { return holds() == 1 })
	_ = curl.Process.Kill()
	_ = curl.Wait()
	wait.Eventually(t, "the lease of a dead process is over", func() bool { return holds() == 0 })
}

// TestALeaseOutlivesTheDaemonForAWhile: a daemon that is killed, or stopped, leaves the hold to its end.
func TestALeaseOutlivesTheDaemonForAWhile(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAPIWorld(t)
			l := musts.Get(w.c.Lease(wait.Within(t, wait.Patience), w.worktree, "a build"))(t)
			w.d.signal(sig)
			select {
			case <-l.Done():
			case <-time.After(wait.Patience):
				t.Fatal("the client does not hear that the daemon ended")
			}
			if out := w.mustRun(t, "winnow", "holds", "--config", w.config); !strings.Contains(out, l.ID) {
				t.Errorf("the hold ended with the daemon: %s", out)
			}
			w.d = w.daemon(t) // a socket that was left behind is no obstacle
			wait.Eventually(t, "the next daemon answers", func() bool { _, err := w.c.State(context.Background()); return err == nil })
		})
	}
}

// TestAPauseThatEndedByItself is no pause in the status any more, although nothing has swept since.
func TestAPauseThatEndedByItself(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx := wait.Within(t, 2*wait.Patience)
	musts.Do(t, w.c.Pause(ctx, 1500*time.Millisecond, "a moment"))
	mode := func() string { return musts.Get(w.c.State(ctx))(t).Mode }
	wait.Eventually(t, "paused", func() bool { return mode() == document.Paused })
	wait.Eventually(t, "no longer paused", func() bool { return mode() == document.Observing })
}

// TestAProgramShortensNoHold: a hold without an end that a person placed stands, and so does a longer one of another program. A person may shorten it.
func TestAProgramShortensNoHold(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx := wait.Within(t, 2*wait.Patience)
	hold := func(long time.Duration, reason string) snapshot.Hold {
		t.Helper()
		h := musts.Get(w.c.Hold(ctx, client.Hold{Candidate: w.candidate(), Reason: reason, For: long}))(t)
		if all := musts.Get(w.c.Holds(ctx))(t); len(all) != 1 || cmp.Diff(all[0], h) != "" {
			t.Errorf("%s: answered with %+v, and %+v is held", reason, h, all)
		}
		return h
	}
	if h := hold(2*time.Hour, "two hours"); h.Until == nil || h.Reason != "two hours" {
		t.Errorf("%+v", h)
	}
	if h := hold(time.Minute, "a minute"); h.Reason != "two hours" {
		t.Errorf("a shorter one took the place of a longer: %+v", h)
	}
	if h := hold(4*time.Hour, "four hours"); h.Reason != "four hours" || time.Until(*h.Until) < 3*time.Hour {
		t.Errorf("a longer one did not take its place: %+v", h)
	}
	w.mustRun(t, "winnow", "retain", "--config", w.config, w.candidate(), "--reason", "mine")
	if h := hold(2*time.Hour, "two hours"); h.Until != nil || h.Reason != "mine" {
		t.Errorf("a program gave a person's hold an end: %+v", h)
	}
	w.mustRun(t, "winnow", "retain", "--config", w.config, w.candidate(), "--reason", "mine", "--for", "1h")
	if h := hold(0, "for good"); h.Until != nil || h.Reason != "for good" {
		t.Errorf("a person's shorter hold stands: %+v", h)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx, cancel := context.WithCancel(wait.Within(t, wait.Patience))
	got := make(chan client.Event, 8)
	ends := make(chan error, 1)
	go func() { ends <- w.c.Events(ctx, func(e client.Event) error { got <- e; return nil }) }()
	var e client.Event
	wait.Eventually(t, "an event", func() bool { // the first sweep may end before the stream begins
		musts.Get(w.c.Sweep(ctx, true))(t)
		select {
		case e = <-got:
			return e.Last != nil && e.Last.Why == pace.Request
		default:
			return false
		}
	})
	if e.Mode != document.Observing || e.Last.Census["dir"].Seen != 1 {
		t.Errorf("%+v", e)
	}
	data := musts.Get(json.Marshal(e))(t)
	schema := musts.Get(w.told.compiler.Compile("openapi.json#/components/schemas/Event"))(t)
	musts.Do(t, schema.Validate(musts.Get(jsonschema.UnmarshalJSON(bytes.NewReader(data)))(t)))
	cancel()
	if err := <-ends; err == nil {
		t.Error("the stream ended without a word")
	}
}

// TestTheCommandsSayTheSame with the daemon and without it.
func TestTheCommandsSayTheSame(t *testing.T) {
	stage.NeedSecond(t, "each command twice")
	t.Parallel()
	w := newAPIWorld(t)
	off := []string{"WINNOW_RUN_API_ENABLED=false"}
	// What differs from one look to the next: times, and how long something took or lasts.
	steady := func(out []byte) string {
		var kept []string
		for line := range strings.Lines(string(out)) {
			line = times.ReplaceAllString(line, "T")
			kept = append(kept, line)
		}
		return strings.Join(kept, "")
	}
	for _, command := range [][]string{
		{"holds"}, {"holds", "--format", "json"}, {"brakes"}, {"brakes", "release"}, {"brakes", "release", "hand"},
		{"why-alive", "wt/project-review-1a2b3c4d"}, {"why-alive", w.worktree, "--exit-code"}, {"why-alive", ""}, {"why-alive", "no-such", "--as", "agent"},
		{"explain", "project-review"}, {"explain", "project-review", "--rules", "--color", "always"}, {"explain", w.candidate(), "--format", "markdown"}, {"explain", "nothing"},
		{"retain", "project-review", "--reason", "a \x1b[31mname"}, {"holds"}, {"explain", "project-review"}, {"release", "project-review"}, {"release", "project-review"},
		{"pause", "--reason", "a migration"}, {"resume"}, {"resume"},
	} {
		args := append(slices.Clone(command), "--config", w.config)
		by := func(extra []string) (string, int) {
			cmd := exec.Command(itself(), append(args, "--log-level", "debug")...)
			cmd.Env, cmd.Dir = append(w.env, extra...), w.dir
			var out, notes bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &notes
			err := cmd.Run()
			if itself := strings.Contains(notes.String(), "done by this command itself"); itself != (extra != nil) && !strings.Contains(notes.String(), "unknown brake") {
				t.Fatalf("%v: done by itself: %v: %s", command, itself, notes.String())
			}
			return steady(out.Bytes()) + complaints(notes.String()), exitCodeOf(err)
		}
		undo := func() {
			switch command[0] { // each way begins where the other began
			case "retain":
				w.mustRun(t, "winnow", "release", "--config", w.config, "project-review")
			case "pause":
				w.mustRun(t, "winnow", "resume", "--config", w.config)
			}
		}
		redo := func() {
			switch command[0] {
			case "release":
				_, _ = w.run(nil, "winnow", "retain", "--config", w.config, "project-review", "--reason", "again")
			case "resume":
				_, _ = w.run(nil, "winnow", "pause", "--config", w.config)
			}
		}
		redo()
		here, hereCode := by(off)
		undo()
		redo()
		there, thereCode := by(nil)
		if here != there || hereCode != thereCode {
			t.Errorf("%q: by itself %d, by the daemon %d (-itself +daemon):\n%s", command, hereCode, thereCode, cmp.Diff(here, there))
		}
	}
}

func exitCodeOf(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	return 0
}

// complaints are the lines of a command's stderr that are for a person: those of the log are not.
func complaints(notes string) string {
	var out []string
	for line := range strings.Lines(notes) {
		if !strings.Contains(line, "[DEBUG]") && !strings.Contains(line, "[INFO]") {
			out = append(out, line)
		}
	}
	return times.ReplaceAllString(strings.Join(out, ""), "T")
}

// TestAnotherConfigurationIsNotTheDaemons: a command with another configuration, or of another environment, does its work by itself.
func TestAnotherConfigurationIsNotTheDaemons(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	for name, extra := range map[string][]string{"a variable": {"TMUX_TMPDIR=" + w.dir}, "a tmux server that nothing else finds": {"TMUX=" + w.dir + "/hidden,812,0"}, "a key": {"WINNOW_RULES_CONFIRM_AFTER=3s"}} {
		out, err := w.run(extra, "winnow", "holds", "--config", w.config, "--log-level", "debug")
		if err != nil || !strings.Contains(string(out), "another configuration") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if out := w.mustRun(t, "winnow", "status", "--config", w.config); !strings.Contains(out, "observing since") {
		t.Errorf("status: %s", out)
	}
	// One that hangs holds up no command.
	w.d.signal(syscall.SIGSTOP)
	began := time.Now()
	if out := w.mustRun(t, "winnow", "holds", "--config", w.config); !strings.Contains(out, "nothing is held") || time.Since(began) > wait.Patience/2 {
		t.Errorf("after %s: %s", time.Since(began), out)
	}
	out, err := w.run(nil, "winnow", "status", "--config", w.config)
	if exitCodeOf(err) != 3 || !strings.Contains(string(out), "does not answer") {
		t.Errorf("status of one that hangs: %v: %s", err, out)
	}
	w.d.signal(syscall.SIGCONT)
	musts.Do(t, os.Remove(w.socket))
	out, err = w.run(nil, "winnow", "status", "--config", w.config)
	if exitCodeOf(err) != 3 || !strings.Contains(string(out), "there is no "+w.socket) {
		t.Errorf("status of one without a socket: %v: %s", err, out)
	}
	w.d.signal(syscall.SIGTERM)
	w.d.ends()
	out, err = w.run(nil, "winnow", "status", "--config", w.config)
	if exitCodeOf(err) != 3 || !strings.Contains(string(out), "no winnow run has the state folder") {
		t.Errorf("status without one: %v: %s", err, out)
	}
	if _, err := os.Lstat(w.socket); err == nil {
		t.Error("the socket is still there")
	}
}

// TestAttackTheAPI: what a client sends holds up nothing, and ends nothing.
func TestAttackTheAPI(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	t.Parallel()
	a := attack.New(t, "a program of this user's sends the daemon's API what it likes")
	w := newAPIWorld(t)
	for _, hostile := range []string{
		"GARBAGE\r\n\r\n", "GET /v1/state HTTP/1.1\r\n\r\n", "GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/state HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
		"POST /v1/holds HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{\"reason\":\"" + strings.Repeat("a", 1<<20), "POST /v1/pause HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "\x16\x03\x01", "",
		"GET /v1/explain?candidate=" + strings.Repeat("%00", 1000) + " HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/why-alive?what=" + url.QueryEscape("\x1b]0;x\a/\n") + " HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c := musts.Get(net.Dial("unix", w.socket))(t)
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.WriteString(c, hostile)
		answer, _ := io.ReadAll(io.LimitReader(c, 1<<16))
		_ = c.Close()
		if bytes.Contains(answer, []byte("root:")) || bytes.Contains(answer, []byte("\x1b")) {
			t.Errorf("%.60q was answered with %.200q", hostile, answer)
		}
	}
	idle := make([]net.Conn, 200) // that ask nothing
	for i := range idle {
		idle[i] = musts.Get(net.Dial("unix", w.socket))(t)
		defer idle[i].Close()
	}
	if _, err := w.c.Sweep(wait.Within(t, wait.Patience), true); err != nil {
		a.Lost("after what was sent the daemon does not sweep: %v", err)
	}
	s, err := w.c.State(t.Context())
	if err != nil || s.Problem != "" || s.Mode != document.Observing || !w.here() {
		a.Lost("%+v, %v", s, err)
		return
	}
	a.Held()
}
