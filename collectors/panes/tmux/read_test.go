package tmux

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// read gives what the reader of one socket finds, by session names.
func read(t testing.TB, socket, only string) map[string]snapshot.Session {
	t.Helper()
	var asked []string
	if only != "" {
		asked = []string{only}
	}
	part, err := newReader(Options{Only: asked}, "tmux/s", socket).Read(testkit.Within(t, wait.Patience))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]snapshot.Session{}
	for id, s := range part.Sessions {
		if want := ID("tmux/s", s.ID); id != want {
			t.Errorf("session %q has the id %q, want %q", s.Name, id, want)
		}
		out[s.Name] = s
	}
	return out
}

// program is a script that goes by the name of tmux.
func program(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tmux")
	executable.Write(t, path, "#!/bin/sh\nPATH="+os.Getenv("PATH")+"\n"+script+"\n")
	return path
}

func fails(t testing.TB, o Options, socket string, ctx context.Context) error {
	t.Helper()
	part, err := newReader(o, "tmux/s", socket).Read(ctx)
	if err == nil {
		t.Fatalf("want an error, got %d sessions", len(part.Sessions))
	}
	if len(part.Sessions) > 0 {
		t.Errorf("an error came with %d sessions", len(part.Sessions))
	}
	return err
}

func ids(panes []snapshot.Pane) (out []string) {
	for _, p := range panes {
		out = append(out, p.ID)
	}
	return out
}

func TestReadTellsOfSessions(t *testing.T) {
	t.Parallel()
	begin := time.Now().Add(-2 * time.Second)
	s := testkit.Fresh(t, "vie")
	s.Run("new-session", "-d", "-s", "viewer")
	s.Run("split-window", "-d", "-t", "=viewer:")
	s.Run("new-window", "-d", "-t", "=viewer:")
	got := read(t, s.Socket, "")
	if len(got) != 2 {
		t.Fatalf("want 2 sessions, got %d", len(got))
	}
	viewer := got["viewer"]
	if viewer.ID != s.ID("viewer") || viewer.Source != "tmux/s" {
		t.Errorf("viewer is %q of %q", viewer.ID, viewer.Source)
	}
	wantPanes := strings.Split(s.Run("list-panes", "-s", "-t", "=viewer:", "-F", "#{pane_id} #{pane_pid} #{s|/dev/||:pane_tty}"), "\n")
	var gotPanes []string
	for _, p := range viewer.Panes {
		gotPanes = append(gotPanes, p.ID+" "+strconv.Itoa(*p.ShellPID)+" "+p.TTY)
		if *p.Dead || len(p.Linked) > 0 {
			t.Errorf("pane %s: dead %v, linked %v", p.ID, *p.Dead, p.Linked)
		}
	}
	must.Equal(t, wantPanes, gotPanes, "panes")
	for name, at := range map[string]*time.Time{"created": viewer.CreatedAt, "activity": viewer.LastActivityAt, "server": viewer.Server.StartedAt} {
		if at == nil || at.Before(begin) || at.After(time.Now()) || at.Location() != time.UTC {
			t.Errorf("%s is %v", name, at)
		}
	}
	if *viewer.Attached != 0 || viewer.ClientActivityAt != nil || viewer.Group != "" || *viewer.GroupSize != 0 {
		t.Errorf("attached %d, client activity %v, group %q of %d", *viewer.Attached, viewer.ClientActivityAt, viewer.Group, *viewer.GroupSize)
	}
	host := must.Get(proc.StatOf("/proc", s.PID()))(t)
	want := snapshot.Server{Socket: s.Socket, PID: s.PID(), StartTicks: &host.Start, StartedAt: viewer.Server.StartedAt, Version: s.Run("display", "-p", "#{version}")}
	must.Equal(t, want, *viewer.Server, "server")
}

func TestReadKeepsOddNames(t *testing.T) {
	t.Parallel()
	odd := []string{"ünï 火 🦀", `two  "quotes" 'both'`, "#{pid} #(true) $HOME %d", "}, ,{", "semi;colon", "`back` \\slash", "-dash", "glob*?[a]"}
	s := testkit.Fresh(t, "plain")
	for i, name := range odd {
		name = strings.ReplaceAll(name, "#", "##") // -s expands formats
		s.Run("new-session", "-d", "-s"+name, "-n", "w"+strconv.Itoa(i))
	}
	s.Run("new-session", "-d", "-s", "tab\there\nline")
	got := read(t, s.Socket, "")
	// tmux itself escapes backslashes, variables and control characters.
	for _, want := range append(odd, `tab\there\nline`) {
		want = strings.NewReplacer(`\slash`, `\\slash`, "$HOME", `\$HOME`).Replace(want)
		if _, ok := got[want]; !ok {
			t.Errorf("no session is called %q; there are %q", want, slices.Sorted(maps.Keys(got)))
		}
	}
	if len(got) != len(odd)+2 {
		t.Errorf("want %d sessions, got %d", len(odd)+2, len(got))
	}
}

func TestReadCountsGroupsAndLinks(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "first")
	s.Run("new-session", "-d", "-s", "twin", "-t", "=first")
	s.Run("new-session", "-d", "-s", "alone")
	s.Run("new-session", "-d", "-s", "borrower")
	s.Run("link-window", "-d", "-s", "=alone:", "-t", "=borrower:7")
	s.Run("link-window", "-d", "-s", "=alone:", "-t", "=borrower:8") // and twice into one session
	got := read(t, s.Socket, "")
	for _, c := range []struct {
		name   string
		size   int
		linked string
	}{{"first", 2, got["twin"].ID}, {"twin", 2, got["first"].ID}, {"alone", 0, got["borrower"].ID}} {
		session := got[c.name]
		if *session.GroupSize != c.size || (session.Group != "") != (c.size > 0) {
			t.Errorf("%s is in group %q of %d, want %d", c.name, session.Group, *session.GroupSize, c.size)
		}
		must.Equal(t, []string{c.linked}, session.Panes[0].Linked, "%s's pane is shown by", c.name)
	}
	borrower := got["borrower"]
	if diff := cmp.Diff(ids(borrower.Panes)[1:], ids(got["alone"].Panes)); diff != "" || len(borrower.Panes) != 2 {
		t.Errorf("borrower has panes %v", ids(borrower.Panes))
	}
	for name, all := range got {
		one := read(t, s.Socket, all.ID)
		if all.State = one[name].State; !strings.Contains(all.State, " "+all.ID+" ") {
			t.Errorf("the state of %s is %q", name, all.State)
		}
		if diff := cmp.Diff(map[string]snapshot.Session{name: all}, one); diff != "" {
			t.Errorf("%s alone (-in all, +alone):\n%s", name, diff)
		}
	}
	some, err := newReader(Options{Only: []string{got["first"].ID, "$99", got["alone"].ID}}, "tmux/s", s.Socket).Read(testkit.Within(t, wait.Patience))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]snapshot.Session{}
	for _, name := range []string{"first", "alone"} {
		want[ID("tmux/s", got[name].ID)] = read(t, s.Socket, got[name].ID)[name]
	}
	if diff := cmp.Diff(want, some.Sessions); diff != "" {
		t.Errorf("two together (-want +got):\n%s", diff)
	}
	if none := read(t, s.Socket, "$99"); len(none) != 0 {
		t.Errorf("a session that is not there gave %v", none)
	}
	s.Attach("=twin")
	s.Run("kill-session", "-t", "=twin") // a person looked at first through it
	if after := read(t, s.Socket, ""); after["first"].EverAttached != nil || *after["alone"].EverAttached {
		t.Errorf("a client was ever attached: first %v, alone %v", after["first"].EverAttached, *after["alone"].EverAttached)
	}
}

func TestReadCountsClients(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "watched")
	s.Run("new-session", "-d", "-s", "scripted")
	keys := s.Attach("=watched")
	s.Control("=scripted")
	before := read(t, s.Socket, "")
	for name, control := range map[string]int{"watched": 0, "scripted": 1} {
		if got := before[name]; *got.Attached != 1 || *got.ControlClients != control || got.ClientActivityAt == nil {
			t.Fatalf("%s: want 1 client with its activity, %d of them in control mode, got %d, %d and %v", name, control, *got.Attached, *got.ControlClients, got.ClientActivityAt)
		}
	}
	watched := before["watched"]
	testkit.Eventually(t, "a key moves the client's activity", func() bool {
		_, _ = keys.Write([]byte(" "))
		now := read(t, s.Socket, "")["watched"]
		return now.ClientActivityAt.After(*watched.ClientActivityAt) && now.LastActivityAt.After(*watched.LastActivityAt)
	})
}

// iTerm2 is such a client: what its user types comes as commands, for which tmux moves no client_activity.
func TestReadSeesThatAControlClientIsUsed(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "typed")
	s.Run("new-session", "-d", "-s", "asked")
	keys := s.Attach("=asked", "-CC")
	s.Control("=typed")
	before := read(t, s.Socket, "")
	testkit.Eventually(t, "what came to a control client's terminal is its activity", func() bool {
		_, _ = keys.Write([]byte("list-windows\n"))
		now := read(t, s.Socket, "")["asked"]
		return *now.ControlClients == 1 && now.ClientActivityAt.After(*before["asked"].ClientActivityAt) && now.ClientActivityAt.After(*now.LastActivityAt)
	})
	testkit.Eventually(t, "what a session shows is the activity of a control client without a terminal", func() bool {
		s.Run("send-keys", "-t", "=typed:", "x")
		now := read(t, s.Socket, "")["typed"]
		return now.ClientActivityAt.After(*before["typed"].ClientActivityAt) && now.ClientActivityAt.Equal(*now.LastActivityAt)
	})
}

// A person wants the sessions gone that a tool has watched for weeks.
func TestAControlClientThatOnlyWatchesGrowsOld(t *testing.T) {
	t.Parallel()
	old := time.Unix(1700000000, 0).UTC()
	row := wire.Session{ID: "$4", Created: old, Activity: old}
	watching := wire.Client{Session: "$4", Control: true, Activity: old}
	got := session(row, []wire.Pane{{Session: "$4", ID: "%5", PID: 77, Activity: old.Add(time.Hour)}}, []wire.Client{watching}, nil, nil)
	if want := old.Add(time.Hour); !got.ClientActivityAt.Equal(want) {
		t.Errorf("active at %v, want %v", got.ClientActivityAt, want)
	}
	watching.Control = false
	if got := session(row, []wire.Pane{{Session: "$4", ID: "%5", PID: 77, Activity: old.Add(time.Hour)}}, []wire.Client{watching}, nil, nil); !got.ClientActivityAt.Equal(old) {
		t.Errorf("what a pane shows counted as a key: active at %v, want %v", got.ClientActivityAt, old)
	}
}

func TestReadLeavesOutTheProcessOfADeadPane(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "kept")
	s.Run("set-option", "-g", "remain-on-exit", "on")
	s.Run("new-window", "-d", "-t", "=kept:", "true")
	testkit.Eventually(t, "a dead pane", func() bool {
		panes := read(t, s.Socket, "")["kept"].Panes
		i := slices.IndexFunc(panes, func(p snapshot.Pane) bool { return *p.Dead })
		return len(panes) == 2 && i == 1 && panes[1].ShellPID == nil && panes[0].ShellPID != nil && panes[1].Cwd != ""
	})
}

// A process that showed nothing for long may have ended just now.
func TestTheEndOfADeadPaneIsActivity(t *testing.T) {
	t.Parallel()
	old := time.Unix(1700000000, 0).UTC()
	row, dead := wire.Session{ID: "$4", Created: old, Activity: old}, wire.Pane{Session: "$4", ID: "%5", Dead: true, Activity: old}
	if got := session(row, []wire.Pane{dead}, nil, nil, nil); got.LastActivityAt != nil || got.Panes[0].Cwd != "" {
		t.Errorf("it ended at an unknown time: active at %v, in %q", got.LastActivityAt, got.Panes[0].Cwd)
	}
	dead.Died, dead.StartPath = old.Add(time.Hour), "/proc/self/root/"
	if got := session(row, []wire.Pane{dead}, nil, nil, nil); !got.LastActivityAt.Equal(dead.Died) || got.Panes[0].Cwd != "/" {
		t.Errorf("active at %v, want %v; in %q, want /", got.LastActivityAt, dead.Died, got.Panes[0].Cwd)
	}
}

func TestReadAServerWithoutSessions(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "only")
	s.Run("set-option", "-s", "exit-empty", "off")
	s.Run("kill-session", "-t", s.ID("only"))
	if got := read(t, s.Socket, ""); len(got) != 0 {
		t.Errorf("want no session, got %v", got)
	}
}

// 3.1c gives nothing at all where there is no session.
func TestReadAnOldServerWithoutSessions(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "only")
	for script, want := range map[string]bool{
		"echo no current target >&2; exit 1":              true,
		"echo server; echo no current target >&2; exit 1": false,
		"echo no other target >&2; exit 1":                false,
	} {
		part, err := newReader(Options{Tmux: program(t, script)}, "tmux/s", s.Socket).Read(testkit.Within(t, wait.Patience))
		if (err == nil) != want || len(part.Sessions) > 0 || part.Server != nil {
			t.Errorf("%q gave %v and %v", script, part, err)
		}
	}
}

// The name of a group may hold a tab where a session's may not.
func TestReadAGroupWithATab(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "plain")
	if err := s.Command("new-session", "-d", "-s", "member", "-t", "a\tb").Run(); err != nil {
		t.Skip("this tmux takes no such name")
	}
	got := read(t, s.Socket, "")
	if len(got) != 2 || got["member"].Group != "a?b" || *got["member"].Error != "" {
		t.Errorf("sessions %v", got)
	}
}

func TestReadTellsAbsentFromFailed(t *testing.T) {
	t.Parallel()
	dir := testkit.Folder(t)
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, socket := range []string{filepath.Join(dir, "none"), stale, file} {
		if err := fails(t, Options{}, socket, testkit.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrAbsent) {
			t.Errorf("%s: want absent, got %v", filepath.Base(socket), err)
		}
	}
	if c, err := net.Dial("unix", stale); err == nil {
		_ = c.Close()
		t.Error("reading a stale socket started a server")
	}
	if err := fails(t, Options{}, filepath.Join(dir, strings.Repeat("x", 120)), testkit.Within(t, wait.Patience)); errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("a path that the kernel does not take counts as absent: %v", err)
	}
}

func TestReadFailsWithoutTmux(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "up")
	err := fails(t, Options{Tmux: "no-such-tmux-here"}, s.Socket, testkit.Within(t, wait.Patience))
	if errors.Is(err, collectors.ErrAbsent) || !strings.Contains(err.Error(), "install tmux") {
		t.Errorf("want a failure that says to install tmux, got %v", err)
	}
}

func TestReadFailsWhenTheServerIsStopped(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	s := testkit.Fresh(t, "frozen")
	pid := s.PID()
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	if err := fails(t, Options{}, s.Socket, testkit.Within(t, 300*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want a deadline, got %v", err)
	}
}

func TestReadFailsOnAnAnswerThatIsCutShort(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "up")
	// It speaks to the real server and loses what comes after the sessions.
	err := fails(t, Options{Tmux: program(t, `tmux "$@" | sed '/^pane/,$d'`)}, s.Socket, testkit.Within(t, wait.Patience))
	if !strings.Contains(err.Error(), "cut short") {
		t.Errorf("want an answer that is cut short, got %v", err)
	}
}

// Root may connect to every socket, so a plain user shows what a mode does.
func TestReadWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may connect to any socket; run as a plain user")
	}
	s := testkit.Fresh(t, "closed")
	must.Do(t, os.Chmod(s.Socket, 0))
	t.Cleanup(func() { _ = os.Chmod(s.Socket, 0o700) })
	if err := fails(t, Options{}, s.Socket, testkit.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("want no permission, got %v", err)
	}
}

// The server itself turns a user away whom the socket's mode lets in, with exit code 0 and an empty answer.
func TestReadAServerThatDoesNotAllowIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	s := testkit.Fresh(t, "guarded")
	must.Do(t, errors.Join(os.Chmod(filepath.Dir(s.Socket), 0o755), os.Chmod(s.Socket, 0o777)))
	as := program(t, `exec setpriv --reuid=65534 --clear-groups tmux "$@"`)
	must.Do(t, os.Chmod(filepath.Dir(filepath.Dir(as)), 0o755))
	if err := fails(t, Options{Tmux: as}, s.Socket, testkit.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("want no permission, got %v", err)
	}
}

func TestServerOfAnotherPIDNamespaceHasNoStart(t *testing.T) {
	t.Parallel()
	r := newReader(Options{}, "tmux/s", "/s")
	for _, c := range []struct {
		name     string
		pid      int
		peer     int
		wantTick bool
	}{
		{"the process that listens", os.Getpid(), os.Getpid(), true},
		{"another one listens, and the pid is no tmux here", os.Getpid(), 1 << 22, false},
		{"no such process here", 1<<22 + 1, 1<<22 + 1, false},
	} {
		got := r.identify(&wire.Listing{PID: c.pid, Listener: c.peer})
		if (got.StartTicks != nil) != c.wantTick {
			t.Errorf("%s: start ticks %v, want known: %v", c.name, got.StartTicks, c.wantTick)
		}
	}
}

func TestReadRefusesAStrangeID(t *testing.T) {
	t.Parallel()
	for _, only := range []string{"4", "$", "$4}", "$+4", "$-1", "%4"} {
		err := fails(t, Options{Only: []string{only}}, "/nonexistent", testkit.Within(t, time.Second))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, collectors.ErrAbsent) {
			t.Errorf("%q was asked for: %v", only, err)
		}
	}
}
