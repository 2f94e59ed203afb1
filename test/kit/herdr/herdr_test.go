package herdr

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// ask sends text in one write and gives what came back until the server closed.
func ask(t testing.TB, s *Server, text string) string {
	t.Helper()
	c := dial(t, s)
	if _, err := io.WriteString(c, text); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("after %q: %v", out, err)
	}
	return string(out)
}

func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(wait.Patience))
	return c
}

// answer is a reply.
type answer struct {
	ID     string
	Result map[string]any
	Error  struct{ Code, Message string }
}

func line(method, params string) string {
	return fmt.Sprintf(`{"id":"q","method":%q,"params":%s}`+"\n", method, params)
}

func call(t testing.TB, s *Server, method, params string) answer {
	t.Helper()
	text := ask(t, s, line(method, params))
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%s: %q: %v", method, text, err)
	}
	return a
}

// must is a call that succeeds.
func must(t testing.TB, s *Server, method, params string) map[string]any {
	t.Helper()
	a := call(t, s, method, params)
	if a.Error.Code != "" {
		t.Fatalf("%s %s: %v", method, params, a.Error)
	}
	return a.Result
}

// refused is a call that fails with the code.
func refused(t testing.TB, s *Server, code, method, params string) {
	t.Helper()
	if a := call(t, s, method, params); a.Error.Code != code {
		t.Fatalf("%s %s: want %s, got %+v", method, params, code, a)
	}
}

// closes announces a close and makes it.
func closes(t testing.TB, s *Server, id string) {
	t.Helper()
	s.Expect("tab.close", id)
	must(t, s, "tab.close", params("tab_id", id))
}

// tabOf is what a list says of a tab.
func tabOf(t testing.TB, s *Server, id string) map[string]any {
	t.Helper()
	for _, x := range must(t, s, "tab.list", "{}")["tabs"].([]any) {
		if tab := x.(map[string]any); tab["tab_id"] == id {
			return tab
		}
	}
	t.Fatalf("there is no tab %s", id)
	return nil
}

func params(key, value string) string { return fmt.Sprintf("{%q:%q}", key, value) }

// column gives one field of each of a reply's list.
func column(list any, field string) (out []any) {
	for _, x := range list.([]any) {
		out = append(out, x.(map[string]any)[field])
	}
	return out
}

// still is a pane that costs no process.
var still = Pane{Fake: &Info{}}

// witness is a test that only remembers its failures.
type witness struct {
	testing.TB
	cleanup func()
	failed  []string
}

func (w *witness) Helper()          {}
func (w *witness) Cleanup(f func()) { w.cleanup = f }
func (w *witness) Error(a ...any)   { w.failed = append(w.failed, fmt.Sprint(a...)) }
func (w *witness) Errorf(f string, a ...any) {
	w.failed = append(w.failed, fmt.Sprintf(f, a...))
}

func TestAnUnannouncedCloseFailsTheTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		expect []string
		method string
		params string
		want   string
	}{
		{"announced", []string{"tab.close", "w1:t1"}, "tab.close", `{"tab_id":"w1:t1"}`, ""},
		{"not announced", nil, "tab.close", `{"tab_id":"w1:t1"}`, `tab.close of "w1:t1"`},
		{"another tab", []string{"tab.close", "w1:t2"}, "tab.close", `{"tab_id":"w1:t1"}`, `tab.close of "w1:t1"`},
		{"the same tab by its position", []string{"tab.close", "w1:t1"}, "tab.close", `{"tab_id":"w1:1"}`, `tab.close of "w1:1"`},
		{"another method", []string{"tab.close", "w1:p1"}, "pane.close", `{"pane_id":"w1:p1"}`, `pane.close of "w1:p1"`},
		{"one that is refused", nil, "workspace.close", `{"workspace_id":"w9"}`, `workspace.close of "w9"`},
		{"one that is not served", nil, "pane.send_text", `{"pane_id":"w1:p1","text":"x"}`, `pane.send_text of "w1:p1"`},
		{"a read", nil, "tab.list", `{}`, ""},
		{"no method at all", nil, "tab.destroy", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &witness{TB: t}
			s := Start(w, Options{})
			s.Tab(s.Workspace("work"), "", still)
			if c.expect != nil {
				s.Expect(c.expect[0], c.expect[1])
			}
			call(t, s, c.method, c.params)
			w.cleanup()
			if got := strings.Join(w.failed, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestAnAnnouncementIsForOneRequest(t *testing.T) {
	t.Parallel()
	w := &witness{TB: t}
	s := Start(w, Options{})
	work := s.Workspace("work")
	s.Tab(work, "", still)
	gone := s.Tab(work, "", still)
	closes(t, s, gone)
	if len(s.Outstanding()) != 0 {
		t.Errorf("announced and not come: %v", s.Outstanding())
	}
	refused(t, s, "tab_not_found", "tab.close", params("tab_id", gone))
	if len(s.Unexpected()) != 1 || len(s.Mutations()) != 2 || len(s.Calls()) != 2 {
		t.Errorf("%d of %d of %d", len(s.Unexpected()), len(s.Mutations()), len(s.Calls()))
	}
	w.cleanup()
	if len(w.failed) != 1 {
		t.Errorf("failures: %q", w.failed)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	dir := t.TempDir()
	tab := s.Tab(s.Workspace("work"), "", Pane{Dir: dir})
	p := s.Panes(tab)[0]
	s.Type(p.ID, "env -i sh -c 'echo $$ >cleared; exec /bin/sleep 1000' &\n")
	s.Type(p.ID, "setsid sh -c 'echo $$ >away; exec sleep 1000' &\n")
	pids := append(started(t, dir, "cleared", "away"), p.PID)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		wait.Eventually(t, "dead", func() bool { return !procs.Lives(pid) })
	}
	for _, path := range []string{s.Socket(), s.home} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Profile: "0.6.9"}); err == nil {
		t.Error("a profile that there is not was accepted")
	}
	dir := t.TempDir()
	if _, err := New(Options{Socket: dir + "/" + strings.Repeat("x", 108)}); err == nil {
		t.Error("a path that no socket can have was accepted")
	}
	s := Start(t, Options{Version: "0.8.0-preview.7", Protocol: 20})
	if got := must(t, s, "ping", "{}"); got["version"] != "0.8.0-preview.7" || got["protocol"] != 20.0 {
		t.Error(got)
	}
	if _, err := New(Options{Socket: s.Socket()}); err == nil {
		t.Error("a socket with a server behind it was taken")
	}
}
