package herdr

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// quick is a tick for tests.
const quick = 5 * time.Millisecond

// subscribe subscribes, and gives the connection and what reads its lines after the answer.
func subscribe(t *testing.T, s *Server, kinds ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	var list []string
	for _, k := range kinds {
		list = append(list, fmt.Sprintf(`{"type":%q}`, k))
	}
	c := dial(t, s)
	if _, err := io.WriteString(c, line("events.subscribe", `{"subscriptions":[`+strings.Join(list, ",")+`]}`)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if got, err := r.ReadString('\n'); err != nil || !strings.Contains(got, "subscription_started") {
		t.Fatalf("%q, %v", got, err)
	}
	return c, r
}

// next gives the kind of the next event and the one thing that it is about.
func next(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadBytes('\n')
	var e struct {
		Event string
		Data  struct {
			Type string
			Pane struct {
				ID string `json:"pane_id"`
			}
			Tab struct {
				ID string `json:"tab_id"`
			}
			TabID     string `json:"tab_id"`
			PaneID    string `json:"pane_id"`
			Workspace string `json:"workspace_id"`
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil || e.Event != e.Data.Type {
		t.Fatalf("%q: %v", text, err)
	}
	for _, id := range []string{e.Data.Pane.ID, e.Data.Tab.ID, e.Data.TabID, e.Data.PaneID, e.Data.Workspace} {
		if id != "" {
			return e.Event + " " + id
		}
	}
	return e.Event
}

// TestEvents: what is told of what happens, and what is not. All kinds come on one connection each, for between kinds there is no order.
func TestEvents(t *testing.T) {
	t.Parallel()
	kinds := []string{"workspace.created", "workspace.closed", "tab.created", "tab.closed", "tab.renamed", "pane.created", "pane.closed", "pane.exited", "pane.moved", "pane.agent_detected"}
	for name, c := range map[string]struct {
		do   func(s *Server, w, first, second string)
		want []string
	}{
		"a new tab":          {func(s *Server, w, _, _ string) { s.Tab(w, "new", Pane{Fake: &Info{}}) }, []string{"pane_created w1:p3", "tab_created w1:t3"}},
		"a split":            {func(s *Server, _, first, _ string) { s.Split(first, Pane{Fake: &Info{}}) }, []string{"pane_created w1:p3"}},
		"a closed tab":       {func(s *Server, _, first, _ string) { s.CloseTab(first) }, []string{"tab_closed w1:t1"}},
		"a workspace closed": {func(s *Server, _, first, second string) { s.CloseTab(first); s.CloseTab(second) }, []string{"tab_closed w1:t1", "tab_closed w1:t2", "workspace_closed w1"}},
		"a name":             {func(s *Server, _, first, _ string) { s.Rename(first, "x") }, []string{"tab_renamed w1:t1"}},
		"an agent":           {func(s *Server, _, _, second string) { s.SetStatus(s.Panes(second)[0].ID, "idle") }, []string{"pane_agent_detected w1:p2"}},
		"an agent's status": {func(s *Server, _, _, second string) {
			s.SetStatus(s.Panes(second)[0].ID, "idle")
			s.SetStatus(s.Panes(second)[0].ID, "working")
		}, []string{"pane_agent_detected w1:p2"}},
		"a pane that moves": {func(s *Server, _, first, second string) { s.MovePane(s.Panes(first)[0].ID, second) }, []string{"pane_moved w1:p1", "tab_closed w1:t1"}},
		"a program's end":   {func(s *Server, _, _, second string) { s.Type(s.Panes(second)[0].ID, "exit\n") }, []string{"pane_exited w1:p2"}},
		"output":            {func(s *Server, _, first, _ string) { s.Retitle(s.Panes(first)[0].ID, 9) }, nil},
		"the focus":         {func(s *Server, _, _, second string) { s.Focus(second) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Tick: quick})
			w := s.Workspace("w")
			first, second := s.Tab(w, "a", Pane{Fake: &Info{}}), s.Tab(w, "b")
			before := 5 // a workspace, and two tabs with a pane each
			_, r := subscribe(t, s, kinds...)
			for range before {
				next(t, r)
			}
			c.do(s, w, first, second)
			var got []string
			for range c.want {
				got = append(got, next(t, r))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			// The end of it all comes after all else.
			s.Tab(s.Workspace("end"), "end", Pane{Fake: &Info{}})
			for {
				e := next(t, r)
				if strings.HasPrefix(e, "tab_created w2") {
					break
				}
				if !strings.Contains(e, " w2") && e != "workspace_created" {
					t.Errorf("also: %s", e)
				}
			}
		})
	}
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	old, newer := Start(t, Options{Profile: V071}), Start(t, Options{Profile: V074})
	subscribing := func(kind string) string { return `{"subscriptions":[{"type":"tab.closed"},{"type":"` + kind + `"}]}` }
	refused(t, newer, "invalid_request", "events.subscribe", subscribing("tab.vanished"))
	refused(t, newer, "invalid_request", "events.subscribe", subscribing("tab_closed"))
	refused(t, newer, "invalid_request", "events.subscribe", `{}`)
	refused(t, old, "invalid_request", "events.subscribe", subscribing("pane.updated"))
	refused(t, newer, "invalid_request", "events.subscribe", subscribing("workspace.reordered"))
	subscribe(t, newer, "pane.updated")
}

// TestWhoSubscribesIsTold the past, one of a kind at a time, as far as it is remembered.
func TestWhoSubscribesIsTold(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Tick: quick})
	tab := s.Tab(s.Workspace("w"), "a", Pane{Fake: &Info{}})
	s.Rename(tab, "one")
	_, r := subscribe(t, s, "tab.renamed", "tab.created")
	if a, b := next(t, r), next(t, r); a != "tab_renamed w1:t1" || b != "tab_created w1:t1" {
		t.Errorf("%s, %s", a, b)
	}
	s.Retitle(s.Panes(tab)[0].ID, ringSize)
	s.Rename(tab, "two")
	_, r = subscribe(t, s, "tab.created", "tab.renamed")
	if got := next(t, r); got != "tab_renamed w1:t1" {
		t.Errorf("%s: more is remembered than fits", got)
	}
}

// TestTheEndOfAStream: a stop, a handoff and a restart cut it, and so does anything that the client says.
func TestTheEndOfAStream(t *testing.T) {
	t.Parallel()
	for _, end := range map[string]func(*Server, net.Conn) error{
		"stop":    func(s *Server, _ net.Conn) error { s.Stop(true); return nil },
		"handoff": func(s *Server, _ net.Conn) error { s.Handoff(); return nil },
		"restart": func(s *Server, _ net.Conn) error { s.Restart(); return nil },
		"a byte":  func(_ *Server, c net.Conn) error { _, err := c.Write([]byte{'x'}); return err },
		"no more": func(_ *Server, c net.Conn) error { return c.(*net.UnixConn).CloseWrite() },
	} {
		s := Start(t, Options{Tick: quick})
		s.Tab(s.Workspace("w"), "a", Pane{Fake: &Info{}})
		c, r := subscribe(t, s, "tab.closed")
		wait.Eventually(t, "there", func() bool { return s.Subscribers() == 1 }) // a moment after its answer
		if err := end(s, c); err != nil {
			t.Fatal(err)
		}
		if text, err := r.ReadString('\n'); err == nil {
			t.Errorf("after its end: %q", text)
		}
		wait.Eventually(t, "left", func() bool { return s.Subscribers() == 0 })
	}
}

// TestEventsFromNowOn: since 0.9 a subscriber is told of nothing that was before.
func TestEventsFromNowOn(t *testing.T) {
	t.Parallel()
	for profile, past := range map[Profile]bool{V082: true, V091: false, Future: false} {
		s := Start(t, Options{Tick: quick, Profile: profile})
		tab := s.Tab(s.Workspace("w"), "a", Pane{Fake: &Info{}})
		s.Rename(tab, "before")
		_, r := subscribe(t, s, "tab.renamed", "tab.closed")
		s.CloseTab(tab)
		want := "tab_closed " + tab
		if past {
			want = "tab_renamed " + tab
		}
		if got := next(t, r); got != want {
			t.Errorf("%s: first told of %s, want %s", profile, got, want)
		}
	}
}

// TestUnknownMethods: the refusal of a method that a server does not know lists those that it knows.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	for profile, knows := range map[Profile]string{V071: "workspace.list", V074: "session.snapshot", V080: "workspace.move_block", V082: "pane.input.set", V091: "tab.close"} {
		s := Start(t, Options{Profile: profile, Lacks: []string{"tab.list"}})
		said := ask(t, s, line("no.such", "{}"))
		if !strings.Contains(said, `"id":""`) || !strings.Contains(said, "unknown variant `no.such`, expected one of `agent.") || !strings.Contains(said, "`"+knows+"`") || strings.Contains(said, "`tab.list`") {
			t.Errorf("%s: %s", profile, said)
		}
		if has := strings.Contains(said, "`session.snapshot`"); has != (profile != V071) {
			t.Errorf("%s: %s", profile, said)
		}
		if said := ask(t, s, line("tab.list", "{}")); !strings.Contains(said, "unknown variant `tab.list`") {
			t.Errorf("%s: %s", profile, said)
		}
	}
}
