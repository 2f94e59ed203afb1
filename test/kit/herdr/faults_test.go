package herdr

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// under asks to close a tab, with the fault, and gives what came. What hangs is waited for only as long as an answer would take.
func under(t *testing.T, f Fault, hangs bool) (got string, gone func() bool) {
	t.Helper()
	s := Start(t, Options{})
	s.Tab(s.Workspace("work"), "", still)
	tab := s.Tab("w1", "", still)
	s.Fault(func(n int, c Call) Fault {
		if n == 1 && c.Method == "tab.close" && c.Target == tab {
			return f
		}
		return Fault{}
	})
	s.Expect("tab.close", tab)
	c := dial(t, s)
	if _, err := io.WriteString(c, line("tab.close", params("tab_id", tab))); err != nil {
		t.Fatal(err)
	}
	if hangs {
		_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	}
	out, err := io.ReadAll(c)
	if hangs != errors.Is(err, os.ErrDeadlineExceeded) || !hangs && err != nil {
		t.Fatalf("%.200q, %v", out, err)
	}
	return string(out), func() bool { return !s.HasTab(tab) }
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		fault       Fault
		gone, hangs bool
		right       func(string) bool
	}{
		{"none", Fault{}, true, false, reply},
		{"HangAfterAccept", HangAfterAccept, false, true, nothing},
		{"HangBeforeReply", HangBeforeReply, true, true, nothing},
		{"PartialLine", PartialLine, true, false, func(s string) bool { return s != "" && !json.Valid([]byte(s)) && !strings.Contains(s, "\n") }},
		{"SplitReply", SplitReply, true, false, reply},
		{"Garbage", Garbage, true, false, func(s string) bool { return strings.HasSuffix(s, "\n") && !json.Valid([]byte(s)) }},
		{"HugeReply", HugeReply, true, false, func(s string) bool { return len(s) > 5<<20 && reply(s) }},
		{"ErrorReply", ErrorReply("tab_close_failed", "no"), false, false, func(s string) bool { return strings.Contains(s, `"code":"tab_close_failed"`) }},
		{"LostReply", LostReply, true, false, nothing},
		{"CloseWithoutReply", CloseWithoutReply, false, false, nothing},
		{"Wedged", Wedged, false, true, nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, gone := under(t, c.fault, c.hangs)
			if c.gone {
				wait.Eventually(t, "done", gone)
			}
			if gone() != c.gone || !c.right(got) {
				t.Errorf("%.200q, gone %v", got, gone())
			}
		})
	}
}

func nothing(text string) bool { return text == "" }

func reply(text string) bool {
	var a answer
	return json.Unmarshal([]byte(text), &a) == nil && a.Result["type"] == "ok" && strings.Count(text, "\n") == 1
}

func TestPingIsOkWhileTheAppIsWedged(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	s.Wedge(true)
	must(t, s, "ping", "{}")
	c := dial(t, s)
	if _, err := io.WriteString(c, line("workspace.list", "{}")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if out, err := io.ReadAll(c); len(out) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", out, err)
	}
	s.Wedge(false)
	must(t, s, "workspace.list", "{}")
}

func TestHooksChangeTheWorld(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "one", still)
	var seen sync.Mutex
	var order []string
	s.Before(func(n int, c Call) {
		seen.Lock()
		defer seen.Unlock()
		order = append(order, "before "+itoa(n)+" "+c.Method)
		if n == 2 {
			s.Rename(tab, "two")
		}
	})
	s.After(func(n int, c Call) {
		seen.Lock()
		defer seen.Unlock()
		order = append(order, "after "+itoa(n)+" "+c.Method)
		if n == 2 {
			s.Rename(tab, "three")
		}
	})
	for i, want := range []string{"one", "two", "three"} {
		if got := tabOf(t, s, tab)["label"]; got != want {
			t.Errorf("request %d: want %s, got %s", i+1, want, got)
		}
	}
	want := "before 1 tab.list,after 1 tab.list,before 2 tab.list,after 2 tab.list,before 3 tab.list,after 3 tab.list"
	if got := strings.Join(order, ","); got != want {
		t.Errorf("got %s", got)
	}
	// A hook may even restart the server under the request that it is called for.
	back := make(chan bool)
	s.After(func(n int, _ Call) {
		if n == 4 {
			s.Restart()
			close(back)
		}
	})
	if got := ask(t, s, line("tab.list", "{}")); got != "" {
		t.Errorf("%q", got)
	}
	<-back
	must(t, s, "tab.list", "{}")
}
