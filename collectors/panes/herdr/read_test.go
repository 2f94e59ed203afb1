package herdr

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	wire "github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var profiles = []herdr.Profile{herdr.V071, herdr.V074, herdr.V075, herdr.V080, herdr.V082, herdr.V091, herdr.Future}

// idle is a pane without a process that the server reports as an idle shell.
func idle(pid int) herdr.Pane {
	return herdr.Pane{Fake: &herdr.Info{ShellPID: pid, ForegroundPGID: pid, Foreground: []herdr.Proc{{PID: pid, Name: "sh"}}}}
}

// seen is how a server's pane is read before anything is known of its processes.
func seen(s *herdr.Server, tab string, n int, status string) snapshot.Pane {
	p := s.Panes(tab)[n]
	return snapshot.Pane{ID: p.ID, Terminal: p.Terminal, AgentStatus: status, Error: new("")}
}

func TestReadTellsOfTabs(t *testing.T) {
	t.Parallel()
	for _, profile := range profiles {
		for _, shape := range []struct {
			name string
			o    herdr.Options
		}{{"left out", herdr.Options{}}, {"null", herdr.Options{Nulls: true}}, {"labelled", herdr.Options{Labels: true}}} {
			t.Run(string(profile)+"/"+shape.name, func(t *testing.T) {
				t.Parallel()
				o := shape.o
				o.Profile = profile
				s := herdr.Start(t, o)
				w1, w2 := s.Workspace("one"), s.Workspace("two")
				working := idle(30)
				working.AgentStatus = "working"
				first, helper, alone := s.Tab(w1, "", idle(10)), s.Tab(w1, "rundown", idle(20), working), s.Tab(w2, "", idle(40))
				part := reading(t, Options{Inspect: func(label string) bool { return label == "rundown" }}, s.Socket())

				status := "working"
				if profile == herdr.Future {
					status = "pondering"
				}
				running := func(p snapshot.Pane, pid int) snapshot.Pane {
					p.ShellPID, p.ForegroundPGID, p.Foreground = &pid, &pid, []snapshot.PaneProc{{PID: pid, Name: "sh"}}
					return p
				}
				want := map[string]snapshot.Tab{
					first: {Label: "1", Workspace: w1, LastInWorkspace: new(false), Focused: new(true), PaneCount: new(1),
						Panes: []snapshot.Pane{seen(s, first, 0, "unknown")}},
					helper: {Label: "rundown", Workspace: w1, LastInWorkspace: new(false), Focused: new(false), PaneCount: new(2),
						Panes: []snapshot.Pane{running(seen(s, helper, 0, "unknown"), 20), running(seen(s, helper, 1, status), 30)}},
					alone: {Label: "1", Workspace: w2, LastInWorkspace: new(true), Focused: new(false), PaneCount: new(1),
						Panes: []snapshot.Pane{seen(s, alone, 0, "unknown")}},
				}
				for id, x := range want {
					x.Source, x.ID, x.GroupParent, x.Own = "herdr/s", id, new(false), new(false)
					want[id] = x
				}
				got := tabsOf(t, part)
				for id, x := range got {
					if (x.State != "") != (id == helper) {
						t.Errorf("the state of %s is %q", id, x.State)
					}
					x.State = ""
					got[id] = x
				}
				must.Equal(t, want, got, "tabs")
				server := &snapshot.Server{Socket: s.Socket(), PID: os.Getpid(), StartTicks: part.Server.StartTicks, Version: s.Version(), Protocol: new(s.Protocol())}
				if profile == herdr.Future { // which alone is newer than what is known
					server.Lacks = &[]string{}
				}
				if diff := cmp.Diff(server, part.Server); diff != "" || part.Server.StartTicks == nil || *part.Server.StartTicks == 0 {
					t.Errorf("server (-want +got):\n%s", diff)
				}
				counts := map[string]int{"ping": 1, "session.snapshot": 1, "pane.process_info " + want[helper].Panes[0].ID: 1, "pane.process_info " + want[helper].Panes[1].ID: 1}
				if profile == herdr.V071 {
					maps.Copy(counts, map[string]int{"workspace.list": 2, "tab.list": 2, "pane.list": 2})
				}
				if profile == herdr.Future {
					counts["winnow.unknown"] = 1
				}
				must.Equal(t, counts, asked(s), "requests")
			})
		}
	}
}

// TestReadAsksANewerServerWhatItHas: a method that it does not have is named, and where it does not list them nothing is known of it.
func TestReadAsksANewerServerWhatItHas(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{Profile: herdr.Future, Lacks: []string{"tab.close"}})
	s.Tab(s.Workspace("w"), "rundown", idle(10))
	must.Equal(t, &[]string{"tab.close"}, reading(t, Options{}, s.Socket()).Server.Lacks, "what it lacks")
	s.Fault(func(_ int, c herdr.Call) herdr.Fault {
		if c.Method == "winnow.unknown" {
			return herdr.ErrorReply("invalid_request", "no such method")
		}
		return herdr.Fault{}
	})
	if got := reading(t, Options{}, s.Socket()).Server.Lacks; got != nil {
		t.Errorf("it does not say what it has, and lacks %q", *got)
	}
}

// What herdr says of real shells is what /proc shows, and everything else in their sessions comes from there.
func TestReadWithTheProcessesHere(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	w := s.Workspace("w")
	husk := s.Tab(w, "husk")
	busy := s.Tab(w, "busy", herdr.Pane{Argv: []string{"sh", "-c", "sleep 600; :"}})
	background := s.Tab(w, "background")
	s.Type(s.Panes(background)[0].ID, "sleep 600 &\necho started\n")
	wait.Eventually(t, "a job in the background", func() bool { return strings.Contains(s.Output(s.Panes(background)[0].ID), "started\n") })
	wait.Eventually(t, "a sleep below each shell, which no longer has the shell's name", func() bool {
		now := look(t, reading(t, Options{}, s.Socket()))
		sleeps := func(tab string) bool {
			return slices.ContainsFunc(now[tab].Panes[0].Session, func(p snapshot.PaneProc) bool { return p.Name == "sleep" })
		}
		return sleeps(busy) && sleeps(background)
	})
	part := reading(t, Options{}, s.Socket())
	for id, x := range tabsOf(t, part) {
		if got, want := *x.Panes[0].ShellPID, s.Panes(id)[0].PID; got != want {
			t.Errorf("%s: herdr's shell is %d, want %d", x.Label, got, want)
		}
	}
	got := look(t, part)
	names := func(ps []snapshot.PaneProc) (out []string) {
		for _, p := range ps {
			out = append(out, p.Name)
		}
		return out
	}
	for _, c := range []struct {
		tab                 string
		foreground, session []string
	}{
		{husk, []string{"sh"}, []string{"sh"}},
		{busy, []string{"sh", "sleep"}, []string{"sh", "sleep"}},
		{background, []string{"sh"}, []string{"sh", "sleep"}},
	} {
		p, pane := got[c.tab].Panes[0], s.Panes(c.tab)[0]
		if *p.Error != "" || p.ShellPID == nil || *p.ShellPID != pane.PID || p.ShellStartTicks == nil || p.Dead == nil || *p.Dead ||
			p.TTY != strings.TrimPrefix(pane.TTY, "/dev/") || p.ForegroundPGID == nil || *p.ForegroundPGID != pane.PID || p.Cwd == "" {
			t.Errorf("%s: pane %+v, want pid %d on %s", got[c.tab].Label, p, pane.PID, pane.TTY)
		}
		must.Equal(t, c.foreground, names(p.Foreground), "%s: in the foreground", got[c.tab].Label)
		// They come by pid, and pids begin again at some time.
		must.Equal(t, slices.Sorted(slices.Values(c.session)), slices.Sorted(slices.Values(names(p.Session))), "%s: in the session", got[c.tab].Label)
	}
}

// A tunnel leads to a server whose pids are here, for it is this very machine: they count as another machine's all the same.
func TestReadThroughATunnel(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	tab := s.Tab(s.Workspace("w"), "husk")
	socket, pid := tunnel(t, s.Socket())
	part := reading(t, Options{}, socket)
	if part.Server.PID != pid {
		t.Errorf("the server is pid %d, want the tunnel's %d", part.Server.PID, pid)
	}
	if p := tabsOf(t, part)[tab].Panes[0]; p.ShellPID == nil || *p.ShellPID != s.Panes(tab)[0].PID {
		t.Fatalf("the tunnel did not lead to the server: %+v", p)
	}
	want := seen(s, tab, 0, "unknown")
	want.Error = new(fmt.Sprintf("pid %d is not a process of this server here: the socket may lead to another machine or pid namespace", s.Panes(tab)[0].PID))
	must.Equal(t, want, look(t, part)[tab].Panes[0], "pane")
}

func TestReadOneTab(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	w := s.Workspace("w")
	for range 3 {
		s.Tab(w, "rundown", idle(10), idle(20))
	}
	inspect := func(string) bool { return false }
	for id, all := range tabsOf(t, reading(t, Options{}, s.Socket())) {
		before := len(s.Calls())
		one := tabsOf(t, reading(t, Options{Only: []string{id}, Inspect: inspect}, s.Socket()))
		if diff := cmp.Diff(map[string]snapshot.Tab{id: all}, one); diff != "" {
			t.Errorf("%s alone (-in all, +alone):\n%s", id, diff)
		}
		if n := len(s.Calls()) - before; n != 4 {
			t.Errorf("%s alone took %d requests, want 4", id, n)
		}
	}
	if none := tabsOf(t, reading(t, Options{Only: []string{"w1:t9"}}, s.Socket())); len(none) != 0 {
		t.Errorf("a tab that is not there gave %v", none)
	}
	// herdr would take these for positions.
	for _, only := range []string{"1", "w1:1", "w1:2", "1:2", "t_1_2", "1:t1", "w_1:t2", "w1:+2", "+1:2", "1:p1", "+1:t1", "w1:+t1", "w_1:2", "w1:01", "1-1", "p_1", "w1:t", "w1:tO", "w1:t1\n", "w1:p1", " w1:t1"} {
		if err := fails(t, Options{Only: []string{only}}, "/nonexistent; ", wait.Within(t, time.Second)); errors.Is(err, collectors.ErrAbsent) {
			t.Errorf("%q was asked for: %v", only, err)
		}
	}
}

func TestReadAServerWithoutTabs(t *testing.T) {
	t.Parallel()
	for _, profile := range profiles {
		s := herdr.Start(t, herdr.Options{Profile: profile})
		if part := reading(t, Options{}, s.Socket()); len(part.Tabs) != 0 || part.Server == nil {
			t.Errorf("%s: want no tab of a server, got %v", profile, part)
		}
	}
}

func TestReadCountsHiddenPanes(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	w := s.Workspace("w")
	half, none := s.Tab(w, "half", idle(10), idle(20)), s.Tab(w, "none", idle(30))
	s.Hide(s.Panes(half)[0].ID)
	s.Hide(s.Panes(none)[0].ID)
	got := tabsOf(t, reading(t, Options{}, s.Socket()))
	if x := got[half]; *x.PaneCount != 2 || len(x.Panes) != 1 || x.Panes[0].ID != s.Panes(half)[1].ID {
		t.Errorf("half: %d panes are counted and %v listed", *x.PaneCount, x.Panes)
	}
	if x := got[none]; *x.PaneCount != 1 || len(x.Panes) != 0 {
		t.Errorf("none: %d panes are counted and %v listed", *x.PaneCount, x.Panes)
	}
}

func TestReadTellsOfFocus(t *testing.T) {
	t.Parallel()
	for _, profile := range profiles {
		s := herdr.Start(t, herdr.Options{Profile: profile})
		a, b := s.Tab(s.Workspace("a"), "", idle(10)), s.Tab(s.Workspace("b"), "", idle(20))
		s.Focus(b)
		got := tabsOf(t, reading(t, Options{}, s.Socket()))
		if *got[a].Focused || !*got[b].Focused {
			t.Errorf("%s: focused are %v and %v, want the second", profile, *got[a].Focused, *got[b].Focused)
		}
	}
}

func TestReadTellsOfWorktreeGroups(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	tree := func(key string, linked bool) herdr.Worktree {
		return herdr.Worktree{RepoKey: key, RepoName: key, RepoRoot: "/r/" + key, CheckoutPath: "/c", Linked: linked}
	}
	want := map[string]bool{
		s.Tab(s.Workspace("parent", tree("a", false)), "", idle(10)): true,
		s.Tab(s.Workspace("member", tree("a", true)), "", idle(20)):  false,
		s.Tab(s.Workspace("alone", tree("b", false)), "", idle(30)):  false,
		s.Tab(s.Workspace("orphan", tree("c", true)), "", idle(40)):  false,
		s.Tab(s.Workspace("none"), "", idle(50)):                     false,
	}
	for id, x := range tabsOf(t, reading(t, Options{}, s.Socket())) {
		if x.GroupParent == nil || *x.GroupParent != want[id] {
			t.Errorf("%s is a group's parent: %v, want %v", id, x.GroupParent, want[id])
		}
	}
}

func TestReadAPaneThatHerdrCannotTellAbout(t *testing.T) {
	t.Parallel()
	other := func(_ int, real herdr.Info) herdr.Info { real.ShellPID = 0; return real }
	for name, c := range map[string]struct {
		mode herdr.Mode
		want string
	}{
		"left out":         {herdr.Omitted, "process_info: herdr does not say what is in the foreground"},
		"empty":            {herdr.EmptyList, "process_info: herdr does not say what is in the foreground"},
		"not found":        {herdr.NotFound, `process_info: herdr answers "pane_not_found"`},
		"an error":         {herdr.Erring, `process_info: herdr answers "internal_error"`},
		"no shell":         {other, "process_info: herdr does not say which process is the pane's shell"},
		"an invalid pid":   {func(_ int, real herdr.Info) herdr.Info { real.Foreground[0].PID = 0; return real }, "process_info: herdr does not say the pid of a process in the foreground"},
		"unknown to herdr": {func(int, herdr.Info) herdr.Info { return herdr.Info{Code: "invalid_request"} }, `process_info: herdr answers "invalid_request"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := herdr.Start(t, herdr.Options{NoSchema: true})
			tab := s.Tab(s.Workspace("w"), "rundown", idle(10), idle(20))
			s.ProcessInfo(s.Panes(tab)[0].ID, c.mode)
			part := reading(t, Options{}, s.Socket())
			want := seen(s, tab, 0, "unknown")
			want.Error = &c.want
			got := tabsOf(t, part)[tab].Panes
			must.Equal(t, want, got[0], "pane")
			if *got[1].Error != "" || got[1].ShellPID == nil || part.Unreadable != 1 {
				t.Errorf("the other pane is %+v, and %d are unreadable", got[1], part.Unreadable)
			}
		})
	}
}

func TestReadAGroupThatHerdrDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	tab := s.Tab(s.Workspace("w"), "rundown", herdr.Pane{Fake: &herdr.Info{ShellPID: 10, Foreground: []herdr.Proc{{PID: 11, Name: "sh"}}}})
	p := tabsOf(t, reading(t, Options{}, s.Socket()))[tab].Panes[0]
	if p.ForegroundPGID != nil || *p.Error != "" || *p.ShellPID != 10 || len(p.Foreground) != 1 || p.Foreground[0].PID != 11 {
		t.Errorf("pane %+v", p)
	}
}

// askers are the requests that a reading makes, by the profile that makes them.
var askers = map[herdr.Profile][]string{
	herdr.V080: {"ping", "session.snapshot", "pane.current", "pane.process_info"},
	herdr.V071: {"workspace.list", "tab.list", "pane.list"}, // among others
	// Newer than what is known here.
	herdr.Future: {"winnow.unknown"},
}

// inPane is the environment of a process in a pane of s.
func inPane(s *herdr.Server, tab string) func(string) string {
	return env("HERDR_ENV", "1", "HERDR_SOCKET_PATH", s.Socket(), "HERDR_TAB_ID", tab, "HERDR_PANE_ID", s.Panes(tab)[0].ID)
}

// every runs f for each request of a reading, and for the second such request where there is one; at says whether a call is this request.
func every(t *testing.T, f func(t *testing.T, s *herdr.Server, o Options, at func(herdr.Call) bool)) {
	for profile, methods := range askers {
		s := herdr.Start(t, herdr.Options{Profile: profile})
		w := s.Workspace("w")
		mine := s.Tab(w, "mine", idle(10))
		s.Tab(w, "rundown", idle(20), idle(30))
		for _, method := range methods {
			for nth := 1; nth <= 2; nth++ {
				if nth == 2 && !strings.HasSuffix(method, ".list") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", profile, method, nth), func(t *testing.T) {
					var mu sync.Mutex
					count := 0
					f(t, s, Options{Env: inPane(s, mine)}, func(c herdr.Call) bool {
						mu.Lock()
						defer mu.Unlock()
						if c.Method == method {
							count++
						}
						return c.Method == method && count == nth
					})
				})
			}
		}
	}
}

func TestReadFailsOnHalfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]herdr.Fault{
		"half a line": herdr.PartialLine, "garbage": herdr.Garbage, "lost": herdr.LostReply, "hung up": herdr.CloseWithoutReply,
		"unavailable": herdr.ErrorReply("server_unavailable", "shutting down"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			every(t, func(t *testing.T, s *herdr.Server, o Options, at func(herdr.Call) bool) {
				s.Fault(func(_ int, c herdr.Call) herdr.Fault {
					if at(c) {
						return fault
					}
					return herdr.Fault{}
				})
				err := fails(t, o, s.Socket(), wait.Within(t, wait.Patience))
				if errors.Is(err, collectors.ErrAbsent) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("want a failure of its own, got %v", err)
				}
			})
		})
	}
}

func TestReadFailsInTime(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]herdr.Fault{"accepted": herdr.HangAfterAccept, "done": herdr.HangBeforeReply} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			every(t, func(t *testing.T, s *herdr.Server, o Options, at func(herdr.Call) bool) {
				ctx, cancel := context.WithCancelCause(wait.Within(t, wait.Patience))
				defer cancel(nil)
				s.Fault(func(_ int, c herdr.Call) herdr.Fault {
					if at(c) {
						time.AfterFunc(10*time.Millisecond, func() { cancel(nil) })
						return fault
					}
					return herdr.Fault{}
				})
				if err := fails(t, o, s.Socket(), ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("want the context's error, got %v", err)
				}
			})
		})
	}
}

// That it answers a ping says nothing.
func TestReadFailsWhenTheServerIsWedged(t *testing.T) {
	t.Parallel()
	for _, profile := range profiles {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			s := herdr.Start(t, herdr.Options{Profile: profile})
			s.Tab(s.Workspace("w"), "", idle(10))
			s.Wedge(true)
			ctx, cancel := context.WithCancel(wait.Within(t, wait.Patience))
			defer cancel()
			s.Before(func(_ int, c herdr.Call) {
				if c.Method != "ping" {
					time.AfterFunc(10*time.Millisecond, cancel)
				}
			})
			if err := fails(t, Options{}, s.Socket(), ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "session.snapshot: ") {
				t.Errorf("want the context's error, got %v", err)
			}
			must.Equal(t, map[string]int{"ping": 1, "session.snapshot": 1}, asked(s), "requests")
		})
	}
	s := herdr.Start(t, herdr.Options{})
	s.Fault(func(int, herdr.Call) herdr.Fault { return herdr.HangAfterAccept })
	if err := fails(t, Options{}, s.Socket(), wait.Within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want a deadline, got %v", err)
	}
}

func TestReadTakesAnAnswerInPiecesAndALongOne(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]herdr.Fault{"pieces": herdr.SplitReply, "long": herdr.HugeReply} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, profile := range []herdr.Profile{herdr.V071, herdr.V080} {
				s := herdr.Start(t, herdr.Options{Profile: profile, NoSchema: true})
				mine := s.Tab(s.Workspace("w"), "mine", idle(10), idle(20))
				o := Options{Env: inPane(s, mine)}
				want := reading(t, o, s.Socket())
				s.Fault(func(_ int, c herdr.Call) herdr.Fault {
					if name == "long" && c.Method != "session.snapshot" && c.Method != "pane.list" || profile == herdr.V071 && c.Method == "session.snapshot" {
						return herdr.Fault{} // the longest answers, and the one that is a refusal
					}
					return fault
				})
				if diff := cmp.Diff(want, reading(t, o, s.Socket())); diff != "" || len(want.Tabs) != 1 {
					t.Errorf("%s: part (-without +with):\n%s", profile, diff)
				}
			}
		})
	}
}

func TestReadTellsAbsentFromFailed(t *testing.T) {
	t.Parallel()
	dir := folderOf(t)
	s := herdr.Start(t, herdr.Options{Socket: filepath.Join(dir, "stale")})
	s.Stop(true)
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, socket := range []string{filepath.Join(dir, "none"), s.Socket(), file} {
		if err := fails(t, Options{}, socket, wait.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrAbsent) {
			t.Errorf("%s: want absent, got %v", filepath.Base(socket), err)
		}
	}
	if _, err := os.Stat(s.Socket()); err != nil {
		t.Errorf("reading took the stale file away: %v", err)
	}
	if err := fails(t, Options{UID: os.Getuid() + 1}, herdr.Start(t, herdr.Options{}).Socket(), wait.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("another user's server: want no permission, got %v", err)
	}
}

// Root may connect to every socket, so a plain user shows what a mode does.
func TestReadWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may connect to any socket; run as a plain user")
	}
	s := herdr.Start(t, herdr.Options{})
	must.Do(t, os.Chmod(s.Socket(), 0))
	if err := fails(t, Options{}, s.Socket(), wait.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("want no permission, got %v", err)
	}
}

func TestReadOldAndOddVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version  string
		protocol int
		want     bool
	}{
		{"0.6.9", 13, false}, {"0.6.9", 19, false}, {"0.8.0", 13, false}, {"0.7.0", 14, true}, {"0.7.1", 14, true}, {"0.8.0-preview.12", 19, true},
		{"0.10.1", 31, true}, {"1.0.0", 40, true}, {"nightly", 40, true}, {"0.x.1", 40, true}, {"nightly", 13, false},
	} {
		s := herdr.Start(t, herdr.Options{Version: c.version, Protocol: c.protocol})
		if c.want {
			reading(t, Options{}, s.Socket())
			continue
		}
		if err := fails(t, Options{}, s.Socket(), wait.Within(t, wait.Patience)); !strings.Contains(err.Error(), "positional ids") {
			t.Errorf("%s, %d: want a refusal of its ids, got %v", c.version, c.protocol, err)
		}
		must.Equal(t, map[string]int{"ping": 1}, asked(s), "%s: requests", c.version)
	}
}

// Without session.snapshot, nothing that changes between the lists goes unseen.
func TestReadListsThatChange(t *testing.T) {
	t.Parallel()
	type world struct {
		s           *herdr.Server
		w, tab, two string
	}
	for name, c := range map[string]struct {
		change func(world)
		calm   bool
	}{
		"a tab opens":           {func(x world) { x.s.Tab(x.w, "new", idle(50)) }, false},
		"a tab closes":          {func(x world) { x.s.CloseTab(x.two) }, false},
		"a workspace opens":     {func(x world) { x.s.Tab(x.s.Workspace("new"), "", idle(50)) }, false},
		"a label changes":       {func(x world) { x.s.Rename(x.tab, "other") }, false},
		"the focus moves":       {func(x world) { x.s.Focus(x.two) }, false},
		"a pane opens":          {func(x world) { x.s.Split(x.tab, idle(50)) }, false},
		"a pane moves":          {func(x world) { x.s.MovePane(x.s.Panes(x.two)[0].ID, x.tab) }, false},
		"the server restarts":   {func(x world) { x.s.Handoff() }, false},
		"a pane is left out":    {func(x world) { x.s.Hide(x.s.Panes(x.two)[0].ID) }, false},
		"an agent goes to work": {func(x world) { x.s.SetStatus(x.s.Panes(x.tab)[0].ID, "working") }, true},
	} {
		// In the middle of the first round, between the two, and before the last list.
		for _, at := range []int{2, 3, 5} {
			t.Run(fmt.Sprintf("%s/%d", name, at), func(t *testing.T) {
				t.Parallel()
				s := herdr.Start(t, herdr.Options{Profile: herdr.V071})
				w := s.Workspace("w")
				x := world{s, w, s.Tab(w, "rundown", idle(10)), s.Tab(w, "two", idle(20), idle(30))}
				before := reading(t, Options{}, s.Socket())
				var lists int
				changed := make(chan struct{})
				s.Before(func(_ int, call herdr.Call) { // lists are asked for one after the other
					if strings.HasSuffix(call.Method, ".list") {
						if lists++; lists == at+1 {
							c.change(x)
							close(changed)
						}
					}
				})
				part, err := newReader(Options{UID: os.Getuid()}, "herdr/s", s.Socket()).Read(wait.Within(t, wait.Patience))
				<-changed
				if err == nil {
					// What was read must be what was there at one moment: before the change, or after it.
					s.Before(nil)
					after := reading(t, Options{}, s.Socket())
					status := cmpopts.IgnoreFields(snapshot.Pane{}, "AgentStatus", "ShellPID", "ForegroundPGID", "Foreground", "Error")
					if !cmp.Equal(before.Tabs, part.Tabs, status) && !cmp.Equal(after.Tabs, part.Tabs, status) {
						t.Errorf("neither failed nor whole: got %v, want %v or %v", part.Tabs, before.Tabs, after.Tabs)
					}
					if !c.calm && at == 3 {
						t.Errorf("a change between the rounds was not seen: %v", part.Tabs)
					}
					return
				}
				if c.calm {
					t.Fatalf("want it read, got %v", err)
				}
				if errors.Is(err, collectors.ErrAbsent) {
					t.Errorf("want a failure, got %v", err)
				}
			})
		}
	}
}

func TestReadAChangeBetweenTheRequests(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) (s *herdr.Server, tab, pane string, after func(method string, f func())) {
		s = herdr.Start(t, herdr.Options{})
		w := s.Workspace("w")
		s.Tab(w, "first")
		tab = s.Tab(w, "rundown")
		pane = s.Panes(tab)[0].ID
		var once sync.Once
		return s, tab, pane, func(method string, f func()) {
			s.After(func(_ int, c herdr.Call) {
				if c.Method == method {
					once.Do(f)
				}
			})
		}
	}
	t.Run("the tab closes", func(t *testing.T) {
		t.Parallel()
		s, tab, _, after := open(t)
		after("session.snapshot", func() { s.CloseTab(tab) })
		p := tabsOf(t, reading(t, Options{}, s.Socket()))[tab].Panes[0]
		if *p.Error == "" || p.ShellPID != nil || p.Foreground != nil {
			t.Errorf("pane %+v", p)
		}
	})
	t.Run("another shell starts", func(t *testing.T) {
		t.Parallel()
		s, tab, pane, after := open(t)
		old := s.Panes(tab)[0].PID
		after("session.snapshot", func() { s.LaunchAgain(pane) })
		p := look(t, reading(t, Options{}, s.Socket()))[tab].Panes[0]
		if now := s.Panes(tab)[0].PID; p.ShellPID == nil || *p.ShellPID != now || now == old {
			t.Errorf("the shell is %v, want %d and not %d", p.ShellPID, now, old)
		}
	})
	t.Run("the shell ends after it was reported", func(t *testing.T) {
		t.Parallel()
		s, tab, pane, _ := open(t)
		part := reading(t, Options{}, s.Socket())
		s.LaunchAgain(pane)
		p := look(t, part)[tab].Panes[0]
		if p.ShellPID != nil || p.Foreground != nil || !strings.Contains(*p.Error, "is not here") {
			t.Errorf("pane %+v", p)
		}
	})
	t.Run("a restart before the snapshot", func(t *testing.T) {
		t.Parallel()
		s, tab, _, _ := open(t)
		old := s.Panes(tab)[0]
		back := make(chan struct{})
		s.Before(func(n int, c herdr.Call) {
			if n == 2 {
				s.Restart()
				close(back)
			}
		})
		if err := fails(t, Options{}, s.Socket(), wait.Within(t, wait.Patience)); errors.Is(err, collectors.ErrAbsent) {
			t.Errorf("a server that restarts is no absent one: %v", err)
		}
		<-back
		p := tabsOf(t, reading(t, Options{}, s.Socket()))[tab].Panes[0]
		if p.ID != old.ID || p.Terminal == old.Terminal || *p.ShellPID == old.PID {
			t.Errorf("after the restart the pane is %+v, and was %+v", p, old)
		}
	})
}

// The process that listens on the path at one request must also listen at the next.
func TestReadAServerThatIsReplaced(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"ping", "session.snapshot", "pane.current"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := herdr.Start(t, herdr.Options{})
			tab := s.Tab(s.Workspace("w"), "rundown", idle(10))
			other, _ := tunnel(t, s.Socket())
			path := filepath.Join(folderOf(t), "herdr.sock")
			must.Do(t, os.Symlink(s.Socket(), path))
			s.After(func(_ int, c herdr.Call) {
				if c.Method == at {
					_ = os.Symlink(other, path+".new")
					_ = os.Rename(path+".new", path)
				}
			})
			o := Options{Env: env("HERDR_ENV", "1", "HERDR_SOCKET_PATH", path, "HERDR_TAB_ID", tab, "HERDR_PANE_ID", s.Panes(tab)[0].ID)}
			if err := fails(t, o, path, wait.Within(t, wait.Patience)); !strings.Contains(err.Error(), "restarted") {
				t.Errorf("want a restart, got %v", err)
			}
		})
	}
}

func TestReadKnowsItsOwnTab(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	w := s.Workspace("w")
	mine, moved, other := s.Tab(w, "mine", idle(10), idle(20)), s.Tab(w, "moved", idle(30), idle(40)), s.Tab(s.Workspace("v"), "other", idle(50))
	pane := s.Panes(mine)[1].ID
	was := s.Panes(moved)[0].ID
	s.MovePane(was, other)
	alias := filepath.Join(folderOf(t), "alias.sock")
	must.Do(t, os.Symlink(s.Socket(), alias))
	in := func(kv ...string) func(string) string { return env(append([]string{"HERDR_ENV", "1"}, kv...)...) }
	here := []string{"HERDR_SOCKET_PATH", s.Socket()}
	only := func(tab string) map[string]*bool {
		out := map[string]*bool{mine: new(false), moved: new(false), other: new(false)}
		if tab != "" {
			out[tab] = new(true)
		}
		return out
	}
	perhaps := func(tab string) map[string]*bool {
		out := map[string]*bool{mine: nil, moved: nil, other: nil}
		if tab != "" {
			out[tab] = new(true)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		env   func(string) string
		fault herdr.Fault
		want  map[string]*bool
		asked int
	}{
		{"no environment", nil, herdr.Fault{}, only(""), 0},
		{"a socket that was set, and no pane", env(here...), herdr.Fault{}, only(""), 0},
		{"one of its panes", in(append(here, "HERDR_TAB_ID", mine, "HERDR_PANE_ID", pane)...), herdr.Fault{}, only(mine), 1},
		{"by another path", in("HERDR_SOCKET_PATH", alias, "HERDR_TAB_ID", mine, "HERDR_PANE_ID", pane), herdr.Fault{}, only(mine), 1},
		{"a pane that moved", in(append(here, "HERDR_TAB_ID", moved, "HERDR_PANE_ID", was)...), herdr.Fault{}, only(other), 1},
		{"another server's", in("HERDR_SOCKET_PATH", "/elsewhere.sock", "HERDR_TAB_ID", mine, "HERDR_PANE_ID", pane), herdr.Fault{}, only(""), 0},
		{"a pane that is gone", in(append(here, "HERDR_TAB_ID", mine, "HERDR_PANE_ID", "w1:p9")...), herdr.Fault{}, perhaps(mine), 1},
		{"a pane and a tab that are gone", in(append(here, "HERDR_TAB_ID", "w1:t9", "HERDR_PANE_ID", "w1:p9")...), herdr.Fault{}, perhaps(""), 1},
		{"herdr cannot say", in(append(here, "HERDR_TAB_ID", mine, "HERDR_PANE_ID", pane)...), herdr.ErrorReply("internal_error", "x"), perhaps(mine), 1},
		{"herdr does not know the method", in(append(here, "HERDR_PANE_ID", pane)...), herdr.ErrorReply("invalid_request", "x"), perhaps(""), 1},
		{"which server is not known", in("HERDR_TAB_ID", mine, "HERDR_PANE_ID", pane), herdr.Fault{}, perhaps(mine), 0},
		{"which pane is not known", in(here...), herdr.Fault{}, perhaps(""), 0},
		{"an id that herdr would take for a position", in(append(here, "HERDR_TAB_ID", mine, "HERDR_PANE_ID", "1-1")...), herdr.Fault{}, perhaps(mine), 0},
	} {
		before := asked(s)["pane.current"] // the cases share a server, one after the other
		s.Fault(func(_ int, call herdr.Call) herdr.Fault {
			if call.Method == "pane.current" {
				return c.fault
			}
			return herdr.Fault{}
		})
		got := map[string]*bool{}
		for id, x := range tabsOf(t, reading(t, Options{Env: c.env}, s.Socket())) {
			got[id] = x.Own
		}
		must.Equal(t, c.want, got, "%s: own", c.name)
		if n := asked(s)["pane.current"] - before; n != c.asked {
			t.Errorf("%s: asked %d times, want %d", c.name, n, c.asked)
		}
	}
	// It moves into a new tab while we look.
	s.Fault(nil)
	s.Before(func(_ int, call herdr.Call) {
		if call.Method == "pane.current" {
			s.MovePane(pane, s.Tab(w, "new", idle(60)))
		}
	})
	for id, x := range tabsOf(t, reading(t, Options{Env: in(append(here, "HERDR_PANE_ID", pane)...)}, s.Socket())) {
		if x.Own != nil {
			t.Errorf("%s is our own: %v, want not known", id, *x.Own)
		}
	}
}

// It asks about several panes at a time, and never about more.
func TestReadAsksOfAFewPanesAtATime(t *testing.T) {
	t.Parallel()
	s := herdr.Start(t, herdr.Options{})
	w := s.Workspace("w")
	for range 5 * besides {
		s.Tab(w, "rundown", idle(10))
	}
	var mu sync.Mutex
	var now, most int
	var once sync.Once
	full := make(chan struct{})
	s.Before(func(_ int, c herdr.Call) {
		if c.Method != "pane.process_info" {
			return
		}
		mu.Lock()
		now++
		if most = max(most, now); most == besides {
			once.Do(func() { time.AfterFunc(100*time.Millisecond, func() { close(full) }) }) // time for one more to come, if it will
		}
		mu.Unlock()
		select {
		case <-full:
		case <-t.Context().Done():
		}
	})
	s.After(func(_ int, c herdr.Call) {
		if c.Method == "pane.process_info" {
			mu.Lock()
			now--
			mu.Unlock()
		}
	})
	reading(t, Options{}, s.Socket())
	if most != besides {
		t.Errorf("%d at once, want %d", most, besides)
	}
}

// A request is one line that ends in a newline, with text for an id and parameters, and nothing comes after it.
func TestReadAsksAsHerdrWants(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(folderOf(t), "s")
	l := must.Get(net.Listen("unix", socket))(t)
	t.Cleanup(func() { _ = l.Close() })
	said := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			said <- err
			return
		}
		defer func() { _ = c.Close() }()
		buf := make([]byte, 4096)
		n, err := c.Read(buf)
		if want := `{"id":"winnow","method":"ping","params":{}}` + "\n"; string(buf[:n]) != want {
			said <- fmt.Errorf("one read gave %q and %v, want %q", buf[:n], err, want)
			return
		}
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			said <- fmt.Errorf("then came %q and %v, want nothing", buf[:n], err)
			return
		}
		said <- nil
	}()
	fails(t, Options{}, socket, wait.Within(t, wait.Patience))
	if err := <-said; err != nil {
		t.Error(err)
	}
}

func TestReadAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	tab := func(id, w string) map[string]any {
		return map[string]any{"tab_id": id, "workspace_id": w, "label": "rundown"}
	}
	pane := func(id, tab, terminal string) map[string]any {
		return map[string]any{"pane_id": id, "tab_id": tab, "terminal_id": terminal}
	}
	w1 := map[string]any{"workspace_id": "w1"}
	list := func(x ...map[string]any) []map[string]any { return append([]map[string]any{}, x...) }
	world := func(change func(map[string]any)) func(n int, req map[string]any) string {
		return func(n int, req map[string]any) string {
			switch req["method"] {
			case "ping":
				return pong(req)
			case "pane.process_info":
				return answer(req, "pane_process_info", map[string]any{"process_info": map[string]any{"pane_id": req["params"].(map[string]any)["pane_id"]}})
			}
			w := map[string]any{"version": "0.8.0", "protocol": 19, "workspaces": list(w1), "tabs": list(tab("w1:t1", "w1")), "panes": list(pane("w1:p1", "w1:t1", "x"))}
			change(w)
			return state(req, w)
		}
	}
	set := func(key string, value any) func(n int, req map[string]any) string {
		return world(func(w map[string]any) { w[key] = value })
	}
	drop := func(key string) func(n int, req map[string]any) string {
		return world(func(w map[string]any) { delete(w, key) })
	}
	for name, f := range map[string]func(n int, req map[string]any) string{
		"a number": func(int, map[string]any) string { return "7\n" },
		"null":     func(int, map[string]any) string { return "null\n" },
		"an id that is not ours": func(_ int, req map[string]any) string {
			req["id"] = "2"
			return pong(req)
		},
		"no id":                         func(_ int, req map[string]any) string { delete(req, "id"); return pong(req) },
		"an id that is no text":         func(_ int, req map[string]any) string { req["id"] = 1; return pong(req) },
		"neither a result nor an error": func(_ int, req map[string]any) string { return `{"id":"winnow"}` + "\n" },
		"another type":                  func(_ int, req map[string]any) string { return answer(req, "ok", nil) },
		"no type":                       func(_ int, req map[string]any) string { return answer(req, "", map[string]any{"protocol": 19}) },
		"a refusal without an id":       func(int, map[string]any) string { return `{"id":"","error":{"code":"pane_not_found"}}` + "\n" },
		"a refusal of no pane's": func(n int, req map[string]any) string {
			if req["method"] == "pane.process_info" {
				return `{"id":"","error":{"code":"pane_not_found"}}` + "\n"
			}
			return world(func(map[string]any) {})(n, req)
		},
		"another type with what was asked for": func(n int, req map[string]any) string {
			return strings.Replace(world(func(map[string]any) {})(n, req), `"session_snapshot"`, `"workspace_list"`, 1)
		},
		"a refused ping": func(int, map[string]any) string { return `{"id":"","error":{"code":"invalid_request"}}` + "\n" },
		"no protocol":    func(_ int, req map[string]any) string { return answer(req, "pong", map[string]any{"version": "0.8.0"}) },
		"no snapshot": func(n int, req map[string]any) string {
			return map[bool]string{true: pong(req), false: answer(req, "session_snapshot", nil)}[n == 1]
		},
		"another version than at first":           set("version", "0.7.5"),
		"another protocol than at first":          set("protocol", 17),
		"no workspaces":                           drop("workspaces"),
		"no tabs":                                 drop("tabs"),
		"no panes":                                drop("panes"),
		"tabs that are null":                      set("tabs", nil),
		"a tab that is null":                      set("tabs", []any{nil}),
		"a tab's count that is a text":            set("tabs", list(map[string]any{"tab_id": "w1:t1", "pane_count": "2"})),
		"a tab twice":                             set("tabs", list(tab("w1:t1", "w1"), tab("w1:t1", "w1"))),
		"a tab's position":                        set("tabs", list(tab("w1:1", "w1"), tab("w1:t1", "w1"))),
		"a tab's id with a letter that no id has": set("tabs", list(tab("w1:tI", "w1"), tab("w1:t1", "w1"))),
		"a workspace twice":                       set("workspaces", list(w1, w1)),
		"a workspace without an id":               set("workspaces", list(map[string]any{})),
		"a tab's id without its workspace's w":    set("tabs", list(tab("1:t1", "w1"), tab("w1:t1", "w1"))),
		"a tab's id by its workspace's position":  set("tabs", list(tab("w_1:t2", "w1"), tab("w1:t1", "w1"))),
		"a tab's position with a plus":            set("tabs", list(tab("w1:+2", "w1"), tab("w1:t1", "w1"))),
		"two positions":                           set("tabs", list(tab("+1:2", "w1"), tab("w1:t1", "w1"))),
		"a pane's id without its workspace's w":   set("panes", list(pane("1:p1", "w1:t1", "x"))),
		"a pane twice":                            set("panes", list(pane("w1:p1", "w1:t1", "x"), pane("w1:p1", "w1:t1", "y"))),
		"a pane's id is invalid":                  set("panes", list(pane("p_75", "w1:t1", "x"))),
		"a pane without a tab":                    set("panes", list(pane("w1:p1", "w1:t2", "x"))),
		"a terminal twice":                        set("panes", list(pane("w1:p1", "w1:t1", "x"), pane("w1:p2", "w1:t1", "x"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := fails(t, Options{}, liar(t, f), wait.Within(t, wait.Patience)); errors.Is(err, collectors.ErrAbsent) {
				t.Errorf("want a failure, got %v", err)
			}
		})
	}
	// And what the cases above change is taken as it is.
	whole := func(n int, req map[string]any) string {
		if req["method"] == "pane.process_info" {
			return answer(req, "pane_process_info", map[string]any{"process_info": map[string]any{"pane_id": "w1:p2", "shell_pid": 10}})
		}
		return world(func(map[string]any) {})(n, req)
	}
	got := tabsOf(t, reading(t, Options{}, liar(t, whole)))
	want := map[string]snapshot.Tab{"w1:t1": {Source: "herdr/s", ID: "w1:t1", Label: "rundown", Workspace: "w1", LastInWorkspace: new(true), GroupParent: new(false),
		Own: new(false), Panes: []snapshot.Pane{{ID: "w1:p1", Terminal: "x", Error: new("process_info: herdr does not say what runs in this pane: it answers about another one")}}}}
	must.Equal(t, want, got, "tabs")
}

// A server that hangs up for good between two requests is not known to be gone: it may be restarting.
func TestReadAServerThatEndsWhileItIsRead(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(folderOf(t), "s")
	l := must.Get(net.Listen("unix", socket))(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = bufio.NewReader(c).ReadBytes('\n')
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
		_, _ = io.WriteString(c, pong(map[string]any{"id": "winnow"}))
		_ = c.Close()
	}()
	if err := fails(t, Options{}, socket, wait.Within(t, wait.Patience)); errors.Is(err, collectors.ErrAbsent) || !strings.Contains(err.Error(), "while it was read") {
		t.Errorf("want a failure, got %v", err)
	}
}

func TestTabsThatAreHalfKnown(t *testing.T) {
	t.Parallel()
	tree := func(key string, linked *bool) *wire.Worktree { return &wire.Worktree{Repository: key, Linked: linked} }
	two := []wire.Tab{{ID: "w1:t1", Workspace: "w1"}, {ID: "w1:t2", Workspace: "w1"}}
	for _, c := range []struct {
		name         string
		w            wire.World
		last, parent *bool
		focused      *bool
	}{
		{"two tabs", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: two}, new(false), new(false), nil},
		{"two, and no count", wire.World{Workspaces: []wire.Workspace{{ID: "w1"}}, Tabs: two}, nil, new(false), nil},
		{"two, and three are counted", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(3)}}, Tabs: two}, nil, new(false), nil},
		{"one, and no count", wire.World{Workspaces: []wire.Workspace{{ID: "w1"}}, Tabs: two[:1]}, new(true), new(false), nil},
		{"two, and one is counted", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(1)}}, Tabs: two}, new(true), new(false), nil},
		{"one, and two are counted", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: two[:1]}, new(true), new(false), nil},
		{"a workspace that is not listed", wire.World{Workspaces: []wire.Workspace{{ID: "w2"}}, Tabs: two}, nil, nil, nil},
		{"a main checkout with a worktree", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2), Worktree: tree("k", new(false))}, {ID: "w2", Worktree: tree("k", new(true))}}, Tabs: two},
			new(false), new(true), nil},
		{"a main checkout alone", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2), Worktree: tree("k", new(false))}, {ID: "w2", Worktree: tree("l", new(true))}}, Tabs: two},
			new(false), new(false), nil},
		{"and another whose repository is not known", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2), Worktree: tree("k", new(false))}, {ID: "w2", Worktree: tree("", new(true))}}, Tabs: two},
			new(false), nil, nil},
		{"a checkout whose repository is not known", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2), Worktree: tree("", new(false))}}, Tabs: two}, new(false), nil, nil},
		{"a checkout that may be the main one", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2), Worktree: tree("k", nil)}}, Tabs: two}, new(false), nil, nil},
		{"the focus is here", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: two, FocusedTab: "w1:t1"}, new(false), new(false), new(true)},
		{"the focus is elsewhere, and the tab does not say", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: two, FocusedTab: "w1:t2"}, new(false), new(false), nil},
		{"two tabs have the focus", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: []wire.Tab{{ID: "w1:t1", Workspace: "w1", Focused: new(true)}, two[1]}, FocusedTab: "w1:t2"},
			new(false), new(false), new(true)},
		{"the focus is nowhere", wire.World{Workspaces: []wire.Workspace{{ID: "w1", TabCount: new(2)}}, Tabs: []wire.Tab{{ID: "w1:t1", Workspace: "w1", Focused: new(false)}, two[1]}}, new(false), new(false), new(false)},
	} {
		got := tabs(&c.w, "s", place{})["w1:t1"]
		want := &snapshot.Tab{Source: "s", ID: "w1:t1", Workspace: "w1", LastInWorkspace: c.last, GroupParent: c.parent, Focused: c.focused}
		must.Equal(t, want, got, "%s: tab", c.name)
	}
}

// BenchmarkRead reads a server of 500 tabs, of which 40 are to be inspected, as fast as it answers and as slowly as herdr may.
func BenchmarkRead(b *testing.B) {
	for _, poll := range []time.Duration{0, 100 * time.Millisecond} {
		for _, profile := range []herdr.Profile{herdr.V071, herdr.V080} {
			b.Run(fmt.Sprintf("herdr=%s/poll=%s", profile, poll), func(b *testing.B) {
				s := herdr.Start(b, herdr.Options{Profile: profile, Poll: poll, NoSchema: true})
				for range 20 {
					w := s.Workspace("w")
					for i := range 25 {
						label := ""
						if i < 2 {
							label = "rundown"
						}
						s.Tab(w, label, idle(10))
					}
				}
				o := Options{UID: os.Getuid(), Inspect: func(label string) bool { return label == "rundown" }}
				before, n := len(s.Calls()), 0
				for b.Loop() {
					n++
					part, err := newReader(o, "herdr/s", s.Socket()).Read(b.Context())
					if err != nil || len(part.Tabs) != 500 {
						b.Fatalf("%d tabs, %v", len(part.Tabs), err)
					}
				}
				b.ReportMetric(float64(len(s.Calls())-before)/float64(n), "requests")
			})
		}
	}
}
