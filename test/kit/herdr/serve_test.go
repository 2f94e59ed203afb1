package herdr

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	for name, text := range map[string]string{
		"no JSON":                "tab.list\n",
		"no object":              "[]\n",
		"numeric id":             `{"id":1,"method":"ping","params":{}}` + "\n",
		"no id":                  `{"method":"ping","params":{}}` + "\n",
		"no params":              `{"id":"q","method":"ping"}` + "\n",
		"no method":              `{"id":"q","params":{}}` + "\n",
		"unknown method":         line("tab.destroy", "{}"),
		"wrong type":             line("tab.list", `{"workspace_id":3}`),
		"no pane":                line("pane.read", `{}`),
		"pane source is unknown": line("pane.read", `{"pane_id":"w1:p1","source":"all"}`),
	} {
		got := ask(t, s, text)
		if !strings.Contains(got, `"code":"invalid_request"`) || !strings.Contains(got, `"id":""`) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOldVersionsKnowLess(t *testing.T) {
	t.Parallel()
	old, newer := Start(t, Options{Profile: V071}), Start(t, Options{Profile: V074})
	refused(t, old, "invalid_request", "session.snapshot", "{}")
	must(t, newer, "session.snapshot", "{}")
}

func TestSilentCloses(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	for name, text := range map[string]string{
		"blank line":  "\n",
		"only spaces": "  \n",
		"not UTF-8":   "{\"id\":\"\xff\"}\n",
	} {
		if got := ask(t, s, text); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d calls were counted", n)
	}
}

func TestTheLongestLine(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	head := `{"id":"q","method":"ping","params":{},"x":"`
	fill := strings.Repeat("x", 1<<20-len(head)-2)
	if got := ask(t, s, head+fill+"\"}\n"); !strings.Contains(got, "pong") {
		t.Errorf("the longest: %.80q", got)
	}
	if got := ask(t, s, head+fill+"x\"}\n"); got != "" {
		t.Errorf("one more: %.80q", got)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d calls were counted", n)
	}
}

func TestEndOfInputBeforeTheLineEnds(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	c := dial(t, s)
	if _, err := io.WriteString(c, strings.TrimSpace(line("ping", "{}"))); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOneRequestAConnection(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	got := ask(t, s, `{"id":"first","method":"ping","params":{},"unknown":1}`+"\n"+line("ping", "{}"))
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":"first"`) {
		t.Errorf("%q", got)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d calls were counted", n)
	}
}

func TestTheSocket(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/sessions/x/herdr.sock"
	s := Start(t, Options{Socket: path})
	info, err := os.Stat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	s.Stop(true)
	if _, err := net.Dial("unix", path); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("with the file left: %v", err)
	}
	// A new server takes the path over, and its end removes the file.
	again := Start(t, Options{Socket: path})
	must(t, again, "ping", "{}")
	again.Stop(false)
	if _, err := net.Dial("unix", path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with the file removed: %v", err)
	}
}

func TestPollIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Poll: 30 * time.Millisecond})
	start := time.Now()
	must(t, s, "ping", "{}")
	if d := time.Since(start); d < 30*time.Millisecond {
		t.Errorf("answered after %v", d)
	}
}
