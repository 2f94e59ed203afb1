package tmux

import (
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestAnswers reads what real servers of several versions said, testdata/answers/README.md tells of what.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "up")
	const quoted, escaped, plain = "q\"'`\\$HOME\\\\x", "q\"'`$HOME\\\\x", "q\"'`$HOME\\x"
	common := []string{"worker-1", "seen", "grüß 火 a|b;c", "second"}
	for version, c := range map[string]struct {
		names, odd []string
		group      string
		size       int
	}{
		"3.1c": {append([]string{"first", plain}, common...), []string{"tab\ufffdhere", "nl\ufffdhere"}, "g?t", 2},
		"3.3a": {append([]string{"first", quoted, `tab\there`, `nl\nhere`}, common...), nil, "g?t", 2},
		"3.5a": {append([]string{"first", escaped, `tab\there`, `nl\nhere`}, common...), nil, "g?t", 2},
		"3.7c": {append([]string{escaped}, common...), nil, "first", 1},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			answer := must.Get(filepath.Abs(filepath.Join("testdata", "answers", version+".txt")))(t)
			part, err := newReader(Options{Tmux: program(t, "exec cat "+answer)}, "tmux/s", s.Socket).Read(testkit.Within(t, wait.Patience))
			if err != nil {
				t.Fatal(err)
			}
			if part.Server.Version != version || len(*part.Server.Panes) == 0 {
				t.Errorf("version %q, panes %v", part.Server.Version, *part.Server.Panes)
			}
			got := map[string]snapshot.Session{}
			for _, s := range part.Sessions {
				got[s.Name] = s
			}
			fine := map[string]bool{}
			for _, name := range c.names {
				fine[name] = true
			}
			for _, name := range c.odd {
				fine[name] = false
			}
			read := map[string]bool{}
			for name, s := range got {
				read[name] = *s.Error == ""
			}
			must.Equal(t, fine, read, "sessions, and whether they could be read")
			for name, want := range map[string][3]int{"worker-1": {1, 1, 1}, "seen": {2, 1, 0}, "second": {0, 0, 0}} {
				s := got[name]
				if have := [3]int{*s.Attached, *s.ControlClients, *s.ProgramClients}; have != want || (s.ClientActivityAt != nil) != (want[0] > 0) {
					t.Errorf("%s: clients, control clients and those without a terminal %v, want %v; active at %v", name, have, want, s.ClientActivityAt)
				}
				if (s.EverAttached == nil) != (s.Group != "") || s.EverAttached != nil && *s.EverAttached != (want[0] > 0) || s.UsedAt == nil {
					t.Errorf("%s: ever attached %v, used at %v", name, s.EverAttached, s.UsedAt)
				}
			}
			if s := got["second"]; s.Group != c.group || *s.GroupSize != c.size {
				t.Errorf("second is in group %q of %d, want %q of %d", s.Group, *s.GroupSize, c.group, c.size)
			}
			if panes := got["seen"].Panes; len(panes) != 2 || panes[0].ShellPID == nil || panes[1].ShellPID != nil {
				t.Errorf("seen has the panes %v", panes)
			}
		})
	}
}
