package herdr_test

import (
	"os"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	server "github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestLacks asks servers what they lack by their own lists, and looks for it in what they answer.
func TestLacks(t *testing.T) {
	t.Parallel()
	refusal := func(message string) func(int, server.Call) server.Fault {
		return func(_ int, c server.Call) server.Fault {
			if c.Method == "winnow.unknown" {
				return server.ErrorReply("invalid_request", message)
			}
			return server.Fault{}
		}
	}
	for name, c := range map[string]struct {
		o     server.Options
		fault func(int, server.Call) server.Fault
		leave func(*herdr.World)
		want  []string
	}{
		"one to come":              {o: server.Options{Profile: server.Future}, want: []string{}},
		"0.9.1":                    {o: server.Options{Profile: server.V091}, want: []string{}},
		"one without a snapshot":   {o: server.Options{Profile: server.V071}, want: []string{"session.snapshot"}},
		"one that closes no tabs":  {o: server.Options{Profile: server.Future, Lacks: []string{"tab.close", "pane.read"}}, want: []string{"pane.read", "tab.close"}},
		"one that leaves out more": {o: server.Options{Profile: server.Future}, leave: func(w *herdr.World) { w.Tabs[0].Label, w.Panes[0].Terminal = nil, "" }, want: []string{"pane.terminal_id", "tab.label"}},
		"as 0.8.2 says it":         {fault: refusal("invalid request: unknown variant `winnow.unknown`, expected one of `ping`, `session.snapshot`, `pane.current`, `pane.process_info`, `pane.read`, `tab.close` at line 1 column 52"), want: []string{"tab.create"}},
		"one that lists nothing":   {fault: refusal("invalid request: unknown method"), want: nil},
		"a list about another":     {fault: refusal("invalid request: unknown variant `x`, expected one of `tab.close`"), want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.Start(t, c.o)
			s.Tab(s.Workspace("w"), "a", server.Pane{Fake: &server.Info{}})
			client := &herdr.Client{Socket: s.Socket(), UID: os.Geteuid(), Patience: wait.Patience}
			w := must.Get(client.Look(t.Context()))(t)
			if c.leave != nil {
				c.leave(w)
			}
			s.Fault(c.fault)
			must.Equal(t, c.want, must.Get(client.Lacks(t.Context(), w))(t), "what it lacks")
		})
	}
	s := server.Start(t, server.Options{})
	client := &herdr.Client{Socket: s.Socket(), UID: os.Geteuid(), Patience: wait.Patience}
	s.Fault(func(int, server.Call) server.Fault { return server.CloseWithoutReply })
	if list, err := client.Lacks(t.Context(), &herdr.World{}); err == nil {
		t.Errorf("a server that hangs up lacks %q", list)
	}
}
