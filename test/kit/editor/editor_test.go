package editor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// caller is a client that sends what it is told.
type caller struct {
	t     testing.TB
	w     *Window
	conn  net.Conn
	lines *bufio.Scanner
	next  int
}

func dial(t testing.TB, w *Window) *caller {
	t.Helper()
	conn := must.Get(net.Dial("unix", w.Socket()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	must.Do(t, conn.SetDeadline(time.Now().Add(wait.Patience)))
	s := bufio.NewScanner(conn)
	s.Buffer(nil, 4<<20)
	return &caller{t: t, w: w, conn: conn, lines: s}
}

// line sends a line and gives the next one, "" where the connection ended.
func (c *caller) line(text string) string {
	c.t.Helper()
	_, _ = fmt.Fprintln(c.conn, text)
	if !c.lines.Scan() {
		return ""
	}
	return c.lines.Text()
}

type answer struct {
	ID     string
	Result map[string]any
	Error  struct{ Code, Message string }
}

func (c *caller) ask(method, params string) answer {
	c.t.Helper()
	c.next++
	var a answer
	id := strconv.Itoa(c.next)
	text := c.line(fmt.Sprintf(`{"id":%q,"method":%q,"params":%s}`, id, method, params))
	if text == "" {
		return a
	}
	must.Do(c.t, json.Unmarshal([]byte(text), &a))
	must.Equal(c.t, id, a.ID, "the id of the answer to %s", method)
	return a
}

// greet gives where the proof has to be.
func (c *caller) greet() string {
	c.t.Helper()
	a := c.ask("hello", `{"protocol":1}`)
	return filepath.Join(c.w.Dir(), fmt.Sprintf("%s.%s.proof", a.Result["window"], a.Result["challenge"]))
}

func proved(t testing.TB, w *Window) *caller {
	t.Helper()
	c := dial(t, w)
	proof := c.greet()
	must.Do(t, os.WriteFile(proof, nil, 0o600))
	if a := c.ask("prove", "{}"); a.Error.Code != "" {
		t.Fatal(a.Error)
	}
	if _, err := os.Lstat(proof); !os.IsNotExist(err) {
		t.Errorf("the proof is still there: %v", err)
	}
	return c
}

// TestNothingIsAnsweredWithoutAProof has every kind of file that is no proof.
func TestNothingIsAnsweredWithoutAProof(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	for name, leave := range map[string]func(proof string) error{
		"no file":     func(string) error { return nil },
		"a full file": func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		"a file that others may read": func(p string) error {
			return os.WriteFile(p, nil, 0o644)
		},
		"a link": func(p string) error {
			if err := os.WriteFile(p+".x", nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(p+".x", p)
		},
		"a second name": func(p string) error {
			if err := os.WriteFile(p+".x", nil, 0o600); err != nil {
				return err
			}
			return os.Link(p+".x", p)
		},
		"a folder": func(p string) error { return os.Mkdir(p, 0o600) },
	} {
		c := dial(t, w)
		must.Do(t, leave(c.greet()))
		must.Equal(t, "not_proved", c.ask("prove", "{}").Error.Code, "%s: code", name)
		must.Equal(t, "", c.line(`{"id":"9","method":"terminals.list"}`), "%s: what comes after it", name)
	}
	for _, method := range []string{"prove", "terminals.list", "events"} {
		c := dial(t, w)
		must.Equal(t, "not_proved", c.ask(method, "{}").Error.Code, "%s as the first request", method)
		must.Equal(t, "", c.line(""), "what comes after %s", method)
	}
}

func TestAProofHasItsTime(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{ProofWithin: 20 * time.Millisecond})
	c := dial(t, w)
	must.Equal(t, false, c.lines.Scan(), "a line came")
}

// TestWhatTheSchemaForbidsIsRefusedAndNoted also holds the schema itself: what it lets through here would be let through of the client.
func TestWhatTheSchemaForbidsIsRefusedAndNoted(t *testing.T) {
	t.Parallel()
	w := must.Get(New(Options{}))(t)
	defer func() { must.Do(t, w.Close()) }()
	c := proved(t, w)
	bad := []string{
		`[]`, `{"id":1,"method":"prove"}`, `{"id":"","method":"prove"}`, `{"id":"1","method":"terminals.close"}`, `{"id":"1","method":"prove","x":1}`,
		`{"id":"1","method":"hello","params":{"protocol":2}}`, `{"id":"1","method":"prove","params":{"a":1}}`,
		`{"id":"1","method":"terminals.list","params":{"markers":["A=b"]}}`, `{"id":"1","method":"terminal.dispose","params":{"n":1,"name":"x"}}`,
		`{"id":"1","method":"terminal.dispose","params":{"n":0,"name":"x","shape":"shell"}}`,
		`{"id":"1","method":"terminal.dispose","params":{"n":1,"name":"x","shape":"pane"}}`,
		`{"id":"1","method":"terminal.open","params":{"cwd":"/"}}`, `{"id":"1","method":"terminal.open","params":{"name":"` + strings.Repeat("x", 257) + `"}}`,
	}
	for _, text := range bad {
		if got := c.line(text); !strings.Contains(got, `"bad_request"`) {
			t.Errorf("%s: %s", text, got)
		}
	}
	must.Equal(t, len(bad), len(w.Invalid()), "requests that were noted")
}

func TestABadReplyIsNoted(t *testing.T) {
	t.Parallel()
	w := must.Get(New(Options{}))(t)
	defer func() { must.Do(t, w.Close()) }()
	must.Get(w.Open(Tab{Name: "x", Shape: "pane"}))(t)
	proved(t, w).ask("terminals.list", "{}")
	if got := w.Invalid(); len(got) != 1 || !strings.Contains(got[0], "terminals.list") {
		t.Errorf("noted: %q", got)
	}
}

// TestAWholeTab has every field that a tab can have.
func TestAWholeTab(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Folders: []string{"/a"}, Focused: true})
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	n := must.Get(w.Open(Tab{Name: "now", CreationName: new("then"), Shape: "task", Program: new("make"), Cwd: "/a", Variables: []string{"A", "B"}, Whole: true, PID: 7, Ticks: new(uint64(8)),
		ExitCode: new(1), Typed: new(true), Opened: at, Shown: &at}))(t)
	must.Get(w.Open(Tab{Shape: "pty", Opened: at, Shown: &at}))(t)
	c := proved(t, w)
	list := c.ask("terminals.list", `{"markers":["B","C"]}`).Result["terminals"]
	want := []any{
		map[string]any{"n": float64(n), "name": "now", "creation_name": "then", "shape": "task", "program": "make", "cwd": "/a", "markers": []any{"B"}, "pid": 7., "start_ticks": 8., "exit_code": 1.,
			"typed": true, "active": false, "opened_at": "2026-03-04T05:06:07Z", "shown_at": "2026-03-04T05:06:07Z"},
		map[string]any{"n": float64(n + 1), "name": "", "shape": "pty", "active": true, "opened_at": "2026-03-04T05:06:07Z", "shown_at": "2026-03-04T05:06:07Z"},
	}
	must.Equal(t, any(want), list, "terminals")
}

func TestDisposeComparesEverything(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	n := must.Get(w.Open(Tab{Name: "x", CreationName: new("y"), PID: 7, Ticks: new(uint64(8))}))(t)
	right := `{"n":1,"name":"x","shape":"shell","creation_name":"y","pid":7,"start_ticks":8}`
	c := proved(t, w)
	for old, now := range map[string]string{`"name":"x"`: `"name":"z"`, `"shell"`: `"task"`, `"creation_name":"y"`: `"creation_name":""`, `,"creation_name":"y"`: ``, `"pid":7`: `"pid":9`,
		`,"pid":7`: ``, `"start_ticks":8`: `"start_ticks":9`, `,"start_ticks":8`: ``} {
		w.Expect("terminal.dispose", "1")
		if a := c.ask("terminal.dispose", strings.Replace(right, old, now, 1)); a.Error.Code != "changed" {
			t.Errorf("%q instead of %q: %+v", now, old, a)
		}
	}
	must.Equal(t, []int{n}, w.Tabs(), "tabs")
	w.Expect("terminal.dispose", "2")
	must.Equal(t, "not_found", c.ask("terminal.dispose", strings.Replace(right, `"n":1`, `"n":2`, 1)).Error.Code, "code for another number")
	w.Expect("terminal.dispose", "1")
	must.Equal(t, true, c.ask("terminal.dispose", right).Result["gone"], "gone")
	must.Equal(t, []int(nil), w.Tabs(), "tabs")
}

// TestDisposeHangsUp closes a tab with a shell that has one child which pays no heed to a hangup.
func TestDisposeHangsUp(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	n := must.Get(w.Open(Tab{Name: "x", Argv: []string{"sh", "-c", "trap '' HUP; sleep 1000 & trap - HUP; echo $! > left; read x"}, Cwd: t.TempDir()}))(t)
	tab := w.Tab(n)
	var left int
	wait.Eventually(t, "the child runs", func() bool {
		text, _ := os.ReadFile(filepath.Join(tab.Cwd, "left"))
		left, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return procs.Name(left) == "sleep"
	})
	w.Expect("terminal.dispose", strconv.Itoa(n))
	proved(t, w).ask("terminal.dispose", fmt.Sprintf(`{"n":%d,"name":"x","shape":"shell","pid":%d,"start_ticks":%d}`, n, tab.PID, *tab.Ticks))
	wait.Eventually(t, "the shell ends", func() bool { return !procs.Lives(tab.PID) })
	if !procs.Lives(left) {
		t.Error("the child that pays no heed to a hangup has ended")
	}
}

func TestOpenAndEvents(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	events, c := proved(t, w), proved(t, w)
	events.ask("events", "{}")
	w.Expect("terminal.open", "again")
	w.Expect("terminal.open", "again")
	dir := t.TempDir()
	a := c.ask("terminal.open", fmt.Sprintf(`{"name":"again","cwd":%q}`, dir))
	tab := w.Tab(1)
	must.Equal(t, map[string]any{"n": 1., "pid": float64(tab.PID)}, a.Result, "result")
	must.Equal(t, dir, tab.Cwd, "folder")
	must.Equal(t, true, procs.Lives(tab.PID), "its shell lives")
	must.Equal(t, "refused", c.ask("terminal.open", `{"name":"again","cwd":"/missing"}`).Error.Code, "code where the folder is missing")
	events.lines.Scan()
	must.Equal(t, `{"event":"opened","n":1}`, events.lines.Text(), "event")
}

func TestReload(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	must.Get(w.Open(Tab{Name: "drawn", Shape: "pty"}))(t)
	must.Get(w.Open(Tab{Name: "x", CreationName: new("y"), Whole: true, PID: 7}))(t)
	was, id := w.Socket(), w.ID()
	must.Do(t, w.Reload(false))
	if _, err := os.Lstat(was); !os.IsNotExist(err) || w.Socket() == was || w.ID() == id {
		t.Errorf("%s is %s after the window was loaded again: %v", was, w.Socket(), err)
	}
	must.Equal(t, []int{1}, w.Tabs(), "tabs")
	must.Equal(t, (*string)(nil), w.Tab(1).CreationName, "creation name")
	file := w.Socket()
	w.Vanish(true)
	if _, err := net.Dial("unix", file); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a window that vanished: %v", err)
	}
}

// TestFaults has each fault once, and says what is done.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault Fault
		want  string // the answer's beginning
		done  bool
	}{
		{"CloseWithoutReply", CloseWithoutReply, "", false}, {"LostReply", LostReply, "", true}, {"PartialLine", PartialLine, `{"id":"3","re`, true},
		{"SplitReply", SplitReply, `{"id":"3","result":{"gone":true}}`, true}, {"HugeReply", HugeReply, `{"padding":"xxx`, true},
		{"ErrorReply", ErrorReply("failed", "no"), `{"error":{"code":"failed","message":"no"},"id":"3"}`, false}, {"Idle", Idle, `{"id":"3","result":{"gone":true}}`, false},
		{"Another", Another(func(line []byte) []byte { return []byte("\x00{]]\n") }), "\x00{]]", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{})
			n := must.Get(w.Open(Tab{Name: "x"}))(t)
			w.Fault(func(_ int, call Call) Fault {
				if call.Method == "terminal.dispose" {
					return c.fault
				}
				return Fault{}
			})
			w.Expect("terminal.dispose", "1")
			got := proved(t, w).line(fmt.Sprintf(`{"id":"3","method":"terminal.dispose","params":{"n":%d,"name":"x","shape":"shell"}}`, n))
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("want %q, got %.80q", c.want, got)
			}
			must.Equal(t, c.done, len(w.Tabs()) == 0, "done")
		})
	}
	for name, f := range map[string]Fault{"HangAfterAccept": HangAfterAccept, "HangBeforeReply": HangBeforeReply} {
		w := Start(t, Options{})
		w.Fault(func(int, Call) Fault { return f })
		c := dial(t, w)
		must.Do(t, c.conn.SetDeadline(time.Now().Add(30*time.Millisecond)))
		must.Equal(t, "", c.line(`{"id":"1","method":"hello","params":{"protocol":1}}`), "%s: answer", name)
	}
}

// witness takes what Start would fail a test for.
type witness struct {
	testing.TB
	failed   []string
	cleanups []func()
}

func (w *witness) Helper()                      {}
func (w *witness) Cleanup(f func())             { w.cleanups = append(w.cleanups, f) }
func (w *witness) Errorf(f string, args ...any) { w.failed = append(w.failed, fmt.Sprintf(f, args...)) }

func TestWhatWasNotAnnouncedFailsTheTest(t *testing.T) {
	t.Parallel()
	tb := &witness{TB: t}
	w := Start(tb, Options{})
	must.Get(w.Open(Tab{Name: "x"}))(t)
	c := proved(t, w)
	c.ask("terminal.dispose", `{"n":1,"name":"x","shape":"shell"}`)
	c.ask("terminals.list", `{"markers":7}`)
	for _, f := range tb.cleanups {
		f()
	}
	if len(tb.failed) != 2 || !strings.Contains(tb.failed[0], `terminal.dispose of "1"`) || !strings.Contains(tb.failed[1], "schema") {
		t.Errorf("said: %q", tb.failed)
	}
}
