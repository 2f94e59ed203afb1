package decisionlog_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/winnow-reaper/winnow/engine/mask"
	"github.com/winnow-reaper/winnow/internal/decisionlog"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// said are masks by what they say.
type said []any

func (s said) Rules(context.Context, any) ([]any, error) { return s, nil }

type broken struct{}

func (broken) Rules(context.Context, any) ([]any, error) { return nil, errors.New("no answer") }

func event() decisionlog.Event {
	return decisionlog.Event{
		Labels: map[string]string{"id": "x"}, DecisionID: "d1", Path: decisionlog.Path, Timestamp: time.Unix(0, 0).UTC(),
		Input:  map[string]any{"host": map[string]any{"home": "/home/u", "uid": 1}, "list": []any{"a", "b", map[string]any{"c": "d"}}},
		Result: decisionlog.Result{Verdict: "reap", Findings: []decisionlog.Reason{{Rule: "reap.dirs.landed"}}},
	}
}

func encoded(t *testing.T, m decisionlog.Masker) (map[string]any, error) {
	t.Helper()
	data, err := decisionlog.Encode(t.Context(), event(), m)
	var out map[string]any
	must.Do(t, json.Unmarshal(data, &out))
	return out, err
}

// TestMasks does what OPA does with the same masks (v1/plugins/logs/mask.go).
func TestMasks(t *testing.T) {
	t.Parallel()
	object := func(op, path string, value any) map[string]any {
		return map[string]any{"op": op, "path": path, "value": value}
	}
	for name, c := range map[string]struct {
		rule           any
		input          string // as JSON
		erased, masked string
	}{
		"a key":             {"/input/host/home", `{"host":{"uid":1},"list":["a","b",{"c":"d"}]}`, "/input/host/home", ""},
		"an element":        {"/input/list/0", `{"host":{"home":"/home/u","uid":1},"list":["b",{"c":"d"}]}`, "/input/list/0", ""},
		"below an element":  {"/input/list/2/c", `{"host":{"home":"/home/u","uid":1},"list":["a","b",{}]}`, "/input/list/2/c", ""},
		"all of it":         {"/input", `null`, "/input", ""},
		"nothing there":     {"/input/other/thing", `{"host":{"home":"/home/u","uid":1},"list":["a","b",{"c":"d"}]}`, "", ""},
		"past the end":      {"/input/list/9", `{"host":{"home":"/home/u","uid":1},"list":["a","b",{"c":"d"}]}`, "", ""},
		"an object removes": {object("remove", "/input/host", nil), `{"list":["a","b",{"c":"d"}]}`, "/input/host", ""},
		"another value":     {object("upsert", "/input/host/home", "***"), `{"host":{"home":"***","uid":1},"list":["a","b",{"c":"d"}]}`, "", "/input/host/home"},
		"a value that is new": {object("upsert", "/input/new/key", 1.0), `{"host":{"home":"/home/u","uid":1},"list":["a","b",{"c":"d"}],"new":{"key":1}}`,
			"", "/input/new/key"},
		"an element's value": {object("upsert", "/input/list/1", "x"), `{"host":{"home":"/home/u","uid":1},"list":["a","x",{"c":"d"}]}`, "", "/input/list/1"},
		"what OPA has more":  {"/nd_builtin_cache", `{"host":{"home":"/home/u","uid":1},"list":["a","b",{"c":"d"}]}`, "", ""},
	} {
		out, err := encoded(t, said{c.rule})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := string(must.Get(json.Marshal(out["input"]))(t)); got != c.input {
			t.Errorf("%s: input %s\nwant %s", name, got, c.input)
		}
		for key, want := range map[string]string{"erased": c.erased, "masked": c.masked} {
			got := ""
			if list, ok := out[key].([]any); ok && len(list) == 1 {
				got = fmt.Sprint(list[0])
			}
			if got != want {
				t.Errorf("%s: %s %q, want %q", name, key, got, want)
			}
		}
	}
}

// TestAMaskThatCannotBeReadHidesAll logs neither input nor result where it is not known what of them may be told.
func TestAMaskThatCannotBeReadHidesAll(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]decisionlog.Masker{
		"no answer": broken{}, "another op": said{map[string]any{"op": "replace", "path": "/input"}}, "no path": said{map[string]any{"op": "remove"}},
		"not below input": said{"/labels/id"}, "no pointer": said{"input"}, "a number": said{json.Number("1")}, "one is wrong": said{"/input/host/home", ""},
	} {
		out, err := encoded(t, m)
		if err == nil || !strings.Contains(err.Error(), "without its input and its result") {
			t.Errorf("%s: %v", name, err)
		}
		if out["input"] != nil || out["result"] != nil || out["decision_id"] != "d1" || fmt.Sprint(out["erased"]) != "[/input /result]" {
			t.Errorf("%s: %v", name, out)
		}
	}
}

// TestMasksInRego asks rules as they are written for OPA.
func TestMasksInRego(t *testing.T) {
	t.Parallel()
	load := func(text string, limit time.Duration) (*mask.Mask, error) {
		files, err := mask.Read(t.Context(), fstest.MapFS{"mask.rego": {Data: []byte(text)}, "mask_test.rego": {Data: []byte("no rego")}})
		if err != nil {
			return nil, err
		}
		return files.Compile(t.Context(), limit)
	}
	m, err := load(`package system.log

mask contains "/input/list" if input.input.host.uid == 1

mask contains {"op": "upsert", "path": "/input/host/home", "value": upper(input.input.host.home)} if input.labels.id == "x"
`, time.Second)
	must.Do(t, err)
	out, err := encoded(t, m)
	if got := string(must.Get(json.Marshal(out["input"]))(t)); err != nil || got != `{"host":{"home":"/HOME/U","uid":1}}` {
		t.Errorf("input %s, %v", got, err)
	}
	none, err := load("package system.log\n\nmask := {x | x := input.no}\n", time.Second)
	must.Do(t, err)
	if out, err := encoded(t, none); err != nil || out["input"] == nil {
		t.Errorf("nothing is masked: %v, %v", out, err)
	}
	for name, text := range map[string]string{
		"no such rule": "package system.log\n\nmine := 1\n", "the network": `package system.log

mask contains x if x := http.send({"method": "get", "url": "http://localhost"}).body`,
		"no rego": "mask", "deep": "package system.log\n\nmask := " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		if _, err := load(text, time.Second); err == nil {
			t.Errorf("%s: it was loaded", name)
		}
	}
	for name, text := range map[string]string{"a text": "package system.log\n\nmask := \"/input\"\n", "no end": `package system.log

words := {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}

mask contains x if {
	some a in words
	some b in words
	some c in words
	some d in words
	some e in words
	some f in words
	some g in words
	some h in words
	x := concat("", [a, b, c, d, e, f, g, h])
	x == "never"
}`} {
		m := must.Get(load(text, 100*time.Millisecond))(t)
		if out, err := encoded(t, m); err == nil || out["input"] != nil {
			t.Errorf("%s: %v, %v", name, out["input"], err)
		}
	}
}

func lines(n int) (all [][]byte) {
	for i := range n {
		all = append(all, fmt.Appendf(nil, `{"decision_id":"d%02d"}`, i))
	}
	return all
}

// TestAFileIsRotated keeps as many files as it may, each within its size, and the latest events in their order.
func TestAFileIsRotated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	f := decisionlog.File{Path: filepath.Join(dir, "decisions.jsonl"), MaxSize: 100, MaxFiles: 3}
	all := lines(20)
	must.Do(t, f.Write(all[:1]))
	must.Do(t, f.Write(all[1:]))
	must.Do(t, f.Write(nil))
	files := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	if len(files) != 3 {
		t.Errorf("files: %v", files)
	}
	got := ""
	for _, name := range []string{f.Path + ".2", f.Path + ".1", f.Path} {
		data := must.Get(os.ReadFile(name))(t)
		if len(data) > 100 || len(data) == 0 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
		if st := must.Get(os.Stat(name))(t); st.Mode().Perm() != 0o600 {
			t.Errorf("%s has the rights %v", name, st.Mode())
		}
		got += string(data)
	}
	whole := ""
	for _, l := range all {
		whole += string(l) + "\n"
	}
	if !strings.HasSuffix(whole, got) || len(got) < 150 {
		t.Errorf("the files hold:\n%s", got)
	}
}

// TestAFileAfterACrash begins a new line behind one that was cut short.
func TestAFileAfterACrash(t *testing.T) {
	t.Parallel()
	f := decisionlog.File{Path: filepath.Join(t.TempDir(), "log"), MaxSize: 1000, MaxFiles: 1}
	must.Do(t, os.WriteFile(f.Path, []byte(`{"decision_id":"cut sh`), 0o600))
	must.Do(t, f.Write(lines(1)))
	if got := string(must.Get(os.ReadFile(f.Path))(t)); got != "{\"decision_id\":\"cut sh\n{\"decision_id\":\"d00\"}\n" {
		t.Errorf("the file holds %q", got)
	}
}

// TestAFileThatIsNone is refused, and what it leads to stays as it was.
func TestAFileThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	must.Do(t, os.WriteFile(other, nil, 0o600))
	must.Do(t, os.Symlink(other, filepath.Join(dir, "link")))
	for _, name := range []string{"link", "."} {
		f := decisionlog.File{Path: filepath.Join(dir, name), MaxSize: 1000, MaxFiles: 1}
		if err := f.Write(lines(1)); err == nil || !strings.Contains(err.Error(), "waits for the next sweep") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data := must.Get(os.ReadFile(other))(t); len(data) != 0 {
		t.Errorf("what a link leads to was written: %q", data)
	}
}

// server keeps what it was sent; answer says what it does with the n-th request.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	calls int
	got   []string
	sizes []int64
	auth  []string
}

func serve(t *testing.T, answer func(n int, ids []string) int) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		z, err := gzip.NewReader(r.Body)
		var events []struct {
			ID string `json:"decision_id"`
		}
		if err == nil {
			err = json.NewDecoder(z).Decode(&events)
		}
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/opa/logs" || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		var ids []string
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		s.calls++
		code := answer(s.calls, ids)
		if code == http.StatusOK {
			s.got = append(s.got, ids...)
		}
		s.sizes, s.auth = append(s.sizes, r.ContentLength), append(s.auth, r.Header.Get("Authorization"))
		if code == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) service() decisionlog.Service {
	return decisionlog.Service{URL: s.URL + "/opa/", Token: "secret", Limit: 1 << 15, Wait: time.Millisecond, Within: time.Minute}
}

type told struct{ delivered, refused []int }

func (o *told) send(ctx context.Context, s decisionlog.Service, events [][]byte) error {
	span := func(into *[]int) func(from, to int) error {
		return func(from, to int) error {
			for i := from; i < to; i++ {
				*into = append(*into, i)
			}
			return nil
		}
	}
	return s.Send(ctx, events, span(&o.delivered), span(&o.refused))
}

func TestAServiceGetsBatches(t *testing.T) {
	t.Parallel()
	s := serve(t, func(int, []string) int { return http.StatusOK })
	service, o := s.service(), told{}
	service.Limit = 100
	must.Do(t, o.send(t.Context(), service, lines(40)))
	if len(s.got) != 40 || !slices.IsSorted(s.got) || len(o.delivered) != 40 || s.calls < 2 {
		t.Errorf("%d requests with %v; delivered %v", s.calls, s.got, o.delivered)
	}
	for i, size := range s.sizes {
		if size > 100 || s.auth[i] != "Bearer secret" {
			t.Errorf("request %d has %d bytes and %q", i, size, s.auth[i])
		}
	}
}

func TestAServiceThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	s := serve(t, func(n int, _ []string) int { return []int{503, 500, 429, 200, 200}[min(n, 5)-1] })
	o := told{}
	must.Do(t, o.send(t.Context(), s.service(), lines(3)))
	if len(s.got) != 3 || s.calls != 4 || len(o.delivered) != 3 {
		t.Errorf("%d requests with %v; delivered %v", s.calls, s.got, o.delivered)
	}
}

// TestAServiceThatDoesNotAnswer leaves what it did not take, in time.
func TestAServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"down": 503, "another token": 401, "elsewhere": 302} {
		s := serve(t, func(int, []string) int { return code })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		o := told{}
		if err := o.send(ctx, s.service(), lines(3)); err == nil || strings.Contains(err.Error(), "secret") || len(o.delivered)+len(o.refused) > 0 {
			t.Errorf("%s: %v; delivered %v, refused %v", name, err, o.delivered, o.refused)
		}
	}
}

// TestAnEventThatAServiceRefuses is left out alone.
func TestAnEventThatAServiceRefuses(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ int, ids []string) int {
		if slices.Contains(ids, "d05") {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	o := told{}
	must.Do(t, o.send(t.Context(), s.service(), lines(9)))
	if len(s.got) != 8 || slices.Contains(s.got, "d05") || !slices.Equal(o.refused, []int{5}) || len(o.delivered) != 8 {
		t.Errorf("%v; delivered %v, refused %v", s.got, o.delivered, o.refused)
	}
}
