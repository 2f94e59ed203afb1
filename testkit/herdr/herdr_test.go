package herdr

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ask sends one line and gives what came back until the server closed, or for a second.
func ask(t *testing.T, s *Server, line string) string {
	t.Helper()
	c, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, line); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("after %q: %v", out, err)
	}
	return string(out)
}

// answer is a reply, and where it says so, its error.
type answer struct {
	ID     string
	Result map[string]any
	Error  struct{ Code, Message string }
}

func call(t *testing.T, s *Server, method, params string) answer {
	t.Helper()
	line := ask(t, s, `{"id":"q","method":"`+method+`","params":`+params+"}\n")
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%s: %q: %v", method, line, err)
	}
	return a
}

// must is a call that succeeds.
func must(t *testing.T, s *Server, method, params string) map[string]any {
	t.Helper()
	a := call(t, s, method, params)
	if a.Error.Code != "" {
		t.Fatalf("%s %s: %v", method, params, a.Error)
	}
	return a.Result
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after ten seconds: not yet %s", what)
		}
	}
}

var _ = bufio.NewReader
var _ = os.Getpid
var _ = slices.Sort[[]int]
var _ = strings.Cut

func TestSmoke(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	w := s.Workspace("work")
	a := s.Tab(w, "", Pane{}, Pane{})
	b := s.Tab(w, "review")
	t.Log(ask(t, s, `{"id":"q","method":"session.snapshot","params":{}}`+"\n"))
	p := s.Panes(b)[0]
	t.Log(call(t, s, "pane.process_info", `{"pane_id":"`+p.ID+`"}`))
	s.Type(p.ID, "sleep 60 &\necho hi\n")
	eventually(t, "output", func() bool { return strings.Contains(s.Output(p.ID), "hi\n") })
	t.Log(call(t, s, "pane.process_info", `{"pane_id":"`+p.ID+`"}`), s.Output(p.ID), members(p.PID))
	s.Expect("tab.close", b)
	start := time.Now()
	t.Log(call(t, s, "tab.close", `{"tab_id":"`+b+`"}`), time.Since(start), members(p.PID))
	s.Restart(RestartOptions{})
	s.Handoff()
	t.Log(call(t, s, "pane.list", `{}`), a)
	t.Log(call(t, s, "pane.lis", `{}`), a)
}
