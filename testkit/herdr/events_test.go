package herdr

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// all are the events that tell of what comes and goes.
var all = []string{
	"workspace.created", "workspace.closed", "workspace.focused", "tab.created", "tab.closed", "tab.focused", "tab.renamed",
	"pane.created", "pane.closed", "pane.exited", "pane.moved", "pane.focused", "pane.agent_detected", "layout.updated",
}

// stream is a subscription.
type stream struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func listen(t *testing.T, s *Server, kinds ...string) *stream {
	t.Helper()
	c := dial(t, s)
	var list []string
	for _, kind := range kinds {
		list = append(list, fmt.Sprintf("{%q:%q}", "type", kind))
	}
	if _, err := io.WriteString(c, line("events.subscribe", `{"subscriptions":[`+strings.Join(list, ",")+`]}`)); err != nil {
		t.Fatal(err)
	}
	l := &stream{t, c, bufio.NewReader(c)}
	if got, err := l.in.ReadString('\n'); err != nil || !strings.Contains(got, `"type":"subscription_started"`) {
		t.Fatalf("%q, %v", got, err)
	}
	return l
}

// next is the name of the next event.
func (l *stream) next() string {
	l.t.Helper()
	text, err := l.in.ReadString('\n')
	if err != nil {
		l.t.Fatalf("%q, %v", text, err)
	}
	var e struct {
		Event string
		Data  map[string]any
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Data["type"] != e.Event {
		l.t.Errorf("%q, %v", text, err)
	}
	return e.Event
}

// happening gives the names of the events that a change makes, in alphabetical order.
func happening(t *testing.T, s *Server, change func()) string {
	t.Helper()
	s.events.Lock()
	s.events.list = nil
	s.events.Unlock()
	change()
	s.events.Lock()
	defer s.events.Unlock()
	var out []string
	for _, e := range s.events.list {
		var named struct{ Event string }
		if err := json.Unmarshal(e.line, &named); err != nil {
			t.Fatal(err)
		}
		out = append(out, named.Event)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestWhatIsToldOf(t *testing.T) {
	t.Parallel()
	shut := func(method, target string) func(t *testing.T, s *Server) {
		return func(t *testing.T, s *Server) {
			s.Expect(method, target)
			must(t, s, method, params(strings.TrimSuffix(method, ".close")+"_id", target))
		}
	}
	exit := func(pane string) func(t *testing.T, s *Server) {
		return func(t *testing.T, s *Server) {
			s.Type(pane, "exit\n")
			eventually(t, "gone", func() bool {
				s.turn.Lock()
				defer s.turn.Unlock()
				return s.m.findPane(pane) == nil
			})
		}
	}
	for _, c := range []struct {
		name   string
		o      Options
		change func(t *testing.T, s *Server)
		want   string
	}{
		{"tab.close", Options{}, shut("tab.close", "w1:t2"), "tab_closed"},
		{"tab.close of the last", Options{}, shut("tab.close", "w2:t1"), "tab_closed workspace_closed"},
		{"pane.close", Options{}, shut("pane.close", "w1:p2"), "layout_updated pane_closed"},
		{"pane.close, the tab goes", Options{}, shut("pane.close", "w1:p1"), "pane_closed"},
		{"pane.close, the workspace goes", Options{}, shut("pane.close", "w2:p1"), "pane_closed workspace_closed"},
		{"workspace.close of a group", Options{}, shut("workspace.close", "w3"), "workspace_closed"},
		{"workspace.close of the last", Options{TUI: true}, func(t *testing.T, s *Server) {
			for _, id := range []string{"w2", "w3", "w1"} {
				shut("workspace.close", id)(t, s)
			}
		}, "pane_focused tab_focused workspace_closed workspace_closed workspace_closed workspace_focused"},
		{"exit", Options{}, exit("w1:p2"), "layout_updated pane_exited"},
		{"exit, the workspace goes", Options{}, exit("w2:p1"), "pane_exited"},
		{"exit of an agent", Options{}, func(t *testing.T, s *Server) {
			s.SetStatus("w1:p2", "working")
			exit("w1:p2")(t, s)
		}, "layout_updated pane_agent_detected pane_agent_detected pane_exited"},
		{"exit of an agent, before 0.7.5", Options{Profile: V074}, func(t *testing.T, s *Server) {
			s.SetStatus("w1:p2", "working")
			exit("w1:p2")(t, s)
		}, "layout_updated pane_agent_detected pane_exited"},
		{"exit, without layouts", Options{Profile: V071}, exit("w1:p2"), "pane_exited"},
		{"tab opened", Options{}, func(_ *testing.T, s *Server) { s.Tab("w1", "", still) }, "layout_updated pane_created tab_created"},
		{"split", Options{}, func(_ *testing.T, s *Server) { s.Split("w1:t1", still) }, "layout_updated pane_created"},
		{"moved", Options{}, func(_ *testing.T, s *Server) { s.MovePane("w2:p1", "w1:t1") }, "pane_moved"},
		{"status", Options{}, func(_ *testing.T, s *Server) {
			s.SetStatus("w1:p1", "idle")
			s.SetStatus("w1:p1", "working")
			s.SetStatus("w1:p1", "unknown")
		}, "pane_agent_detected pane_agent_detected"},
		{"launched again", Options{}, func(_ *testing.T, s *Server) { s.LaunchAgain("w2:p1") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, c.o)
			work, other := s.Workspace("work"), s.Workspace("other")
			s.Tab(work, "", still)
			s.Tab(work, "", Pane{}, still)
			s.Tab(other, "")
			tree := Worktree{RepoKey: "k", RepoName: "r", RepoRoot: "/r", CheckoutPath: "/r"}
			s.Tab(s.Workspace("main", tree), "", still)
			tree.Linked = true
			s.Tab(s.Workspace("linked", tree), "", still)
			if got := happening(t, s, func() { c.change(t, s) }); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestHistoryIsReplayed(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", still)
	s.Rename(tab, "one")
	s.Rename(tab, "two")
	l := listen(t, s, "tab.renamed", "tab.created")
	var got []string
	for range 3 {
		got = append(got, l.next())
	}
	s.Rename(tab, "three")
	got = append(got, l.next())
	if want := []string{"tab_renamed", "tab_created", "tab_renamed", "tab_renamed"}; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

func TestOneEventOfAKindAtATime(t *testing.T) {
	t.Parallel()
	const pace = 20 * time.Millisecond
	s := Start(t, Options{Poll: pace})
	tab := s.Tab(s.Workspace("work"), "", still)
	for range 4 {
		s.Rename(tab, "x")
	}
	l := listen(t, s, "tab.renamed")
	start := time.Now()
	for range 4 {
		l.next()
	}
	if d := time.Since(start); d < 2*pace {
		t.Errorf("four came within %v", d)
	}
}

func TestTheRingDropsTheOldest(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", still)
	for i := range ringSize {
		s.Rename(tab, itoa(i))
	}
	l := listen(t, s, "tab.created", "tab.renamed")
	if got := l.next(); got != "tab_renamed" {
		t.Errorf("%s is still told of", got)
	}
	for range ringSize - 1 {
		l.next()
	}
	_ = l.conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if text, err := l.in.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Server, *stream){
		"restart":      func(s *Server, _ *stream) { s.Restart(RestartOptions{}) },
		"handoff":      func(s *Server, _ *stream) { s.Handoff() },
		"stop":         func(s *Server, _ *stream) { s.Stop(false) },
		"another byte": func(_ *Server, l *stream) { _, _ = l.conn.Write([]byte{'\n'}) },
		"half closed":  func(_ *Server, l *stream) { _ = l.conn.(*net.UnixConn).CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{})
			l := listen(t, s, "tab.closed")
			end(s, l)
			if text, err := l.in.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestARestartForgetsEvents(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	tab := s.Tab(s.Workspace("work"), "", still)
	s.Restart(RestartOptions{})
	l := listen(t, s, "tab.created", "tab.renamed")
	s.Rename(tab, "x")
	if got := l.next(); got != "tab_renamed" {
		t.Errorf("%s of the life before", got)
	}
}

func TestOnePanesStatus(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	s.Tab(s.Workspace("work"), "", still)
	subscribe := func(pane string) *bufio.Reader {
		c := dial(t, s)
		text := line("events.subscribe", `{"subscriptions":[{"type":"pane.agent_status_changed","pane_id":"`+pane+`"}]}`)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(c)
	}
	in := subscribe("w1:p1")
	if got, err := in.ReadString('\n'); err != nil || !strings.Contains(got, "subscription_started") {
		t.Fatalf("%q, %v", got, err)
	}
	s.SetStatus("w1:p1", "blocked")
	got, err := in.ReadString('\n')
	if err != nil || !strings.Contains(got, `"event":"pane.agent_status_changed"`) || !strings.Contains(got, `"blocked"`) || strings.Contains(got, `"type"`) {
		t.Errorf("%q, %v", got, err)
	}
	in = subscribe("w1:p9")
	if got, err := io.ReadAll(in); err != nil || !strings.Contains(string(got), `"code":"pane_not_found"`) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEveryEventGoesOutAsItsSchemaSays(t *testing.T) {
	t.Parallel()
	for _, nulls := range []bool{false, true} {
		s := Start(t, Options{Nulls: nulls})
		l := listen(t, s, all...)
		work := s.Workspace("work")
		first, second := s.Tab(work, "", still, still), s.Tab(s.Workspace("other"), "")
		s.Focus(first)
		s.Rename(first, "x")
		s.SetStatus("w1:p1", "working")
		s.MovePane("w1:p2", second)
		s.Expect("pane.close", "w2:p2")
		must(t, s, "pane.close", params("pane_id", "w2:p2"))
		s.Type("w2:p1", "exit\n")
		eventually(t, "gone", func() bool { return !s.HasTab(second) })
		closes(t, s, first)
		missing := slices.Clone(all)
		for len(missing) > 0 {
			dotted := strings.Replace(l.next(), "_", ".", 1)
			missing = slices.DeleteFunc(missing, func(kind string) bool { return kind == dotted })
		}
	}
}
