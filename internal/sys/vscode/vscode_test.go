package vscode

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/editor"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// A process that listens for another stands for a window in another pid namespace: see TestMain.
const listenAt = "WINNOW_TEST_LISTEN_AT"

func TestMain(m *testing.M) {
	attack.Play()
	if path := os.Getenv(listenAt); path != "" {
		_, err := net.Listen("unix", path)
		fmt.Println(err)
		select {}
	}
	os.Exit(m.Run())
}

func of(w *editor.Window) Window {
	return Window{Socket: w.Socket(), UID: os.Geteuid(), Patience: wait.Patience}
}

func TestListGivesWhatAWindowSays(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{Folders: []string{"/work tree"}, Focused: true, Extension: "1.2.3", Editor: "1.106.0"})
	at := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)
	must.Get(w.Open(editor.Tab{Name: "Codev: x", CreationName: new(""), Shape: "task", Program: new("make"), Cwd: "/a", Variables: []string{"A", "B"}, Whole: true, PID: 7, Ticks: new(uint64(8)),
		ExitCode: new(0), Typed: new(false), Opened: at, Shown: &at}))(t)
	must.Get(w.Open(editor.Tab{Shape: "pty", Opened: at, Shown: &at}))(t)
	hello, all, err := List(t.Context(), of(w), []string{"B", "C"})
	must.Do(t, err)
	must.Equal(t, []Terminal{
		{N: 1, Name: "Codev: x", CreationName: new(""), Shape: Task, Program: new("make"), Cwd: "/a", Markers: &[]string{"B"}, PID: new(7), StartTicks: new(uint64(8)), ExitCode: new(0), Typed: new(false),
			OpenedAt: at, ShownAt: &at},
		{N: 2, Shape: Pty, Active: true, OpenedAt: at, ShownAt: &at},
	}, all, "tabs")
	must.Equal(t, []any{1, "1.2.3", "Visual Studio Code", "1.106.0", w.ID(), os.Getpid(), w.Ticks(), []string{"/work tree"}, true},
		[]any{hello.Protocol, hello.Extension, hello.Editor.Name, hello.Editor.Version, hello.Window, hello.PID, hello.StartTicks, hello.Folders, hello.Focused}, "hello")
	_, all, err = List(t.Context(), of(w), nil)
	if err != nil || all[0].Markers == nil || len(*all[0].Markers) != 0 || all[1].Markers != nil {
		t.Errorf("without markers: %+v, %v", all, err)
	}
	must.Equal(t, 3, len(entries(t, w.Dir()))+2, "files beside the socket, which has no proof left")
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	return must.Get(os.ReadDir(dir))(t)
}

func TestAWindowWithoutTabs(t *testing.T) {
	t.Parallel()
	_, all, err := List(t.Context(), of(editor.Start(t, editor.Options{})), nil)
	if err != nil || all == nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestWindowsThatAreGone tells a window that is positively gone from one that does not answer.
func TestWindowsThatAreGone(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	last := of(w)
	w.Vanish(true)
	_, _, err := List(t.Context(), last, nil)
	if !errors.Is(err, ErrNoServer) || !errors.Is(err, ErrNotSent) {
		t.Errorf("a socket without a listener: %v", err)
	}
	must.Do(t, os.Remove(last.Socket))
	if _, _, err := List(t.Context(), last, nil); !errors.Is(err, ErrNoServer) || !errors.Is(err, ErrNotSent) {
		t.Errorf("no socket: %v", err)
	}
	must.Do(t, os.WriteFile(last.Socket, nil, 0o600))
	if _, _, err := List(t.Context(), last, nil); errors.Is(err, ErrNoServer) || !errors.Is(err, peercred.ErrNotSocket) {
		t.Errorf("a file: %v", err)
	}
}

// TestAnswersThatNeverCome bounds how long a window may take, by its own patience and by the caller's.
func TestAnswersThatNeverCome(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"hello", "prove", "terminals.list"} {
		for name, fault := range map[string]editor.Fault{"at first": editor.HangAfterAccept, "at last": editor.HangBeforeReply} {
			slow, w := failing(t, method, fault), failing(t, method, fault) // one that gave up may still be heard by its window
			short := of(slow)
			short.Patience = 50 * time.Millisecond
			if _, _, err := List(t.Context(), short, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s hangs %s: %v", method, name, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			w.Before(func(_ int, c editor.Call) {
				if c.Method == method {
					cancel()
				}
			})
			if _, _, err := List(ctx, of(w), nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), method) {
				t.Errorf("%s hangs %s: %v", method, name, err)
			}
			if left := append(proofs(t, slow), proofs(t, w)...); len(left) > 0 {
				t.Errorf("%s hangs %s: %v is left", method, name, left)
			}
		}
	}
}

func proofs(t *testing.T, w *editor.Window) (left []string) {
	t.Helper()
	for _, e := range entries(t, w.Dir()) {
		if strings.HasSuffix(e.Name(), ".proof") {
			left = append(left, e.Name())
		}
	}
	return left
}

// failing is a window of one tab that has a fault at one method.
func failing(t *testing.T, method string, fault editor.Fault) *editor.Window {
	t.Helper()
	w := editor.Start(t, editor.Options{})
	must.Get(w.Open(editor.Tab{Name: "x"}))(t)
	w.Fault(func(_ int, c editor.Call) editor.Fault {
		if c.Method == method {
			return fault
		}
		return editor.Fault{}
	})
	return w
}

// TestConversationsThatBreak holds that nothing is taken for an answer but an answer, and that no proof is left.
func TestConversationsThatBreak(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]editor.Fault{
		"no reply": editor.CloseWithoutReply, "a lost reply": editor.LostReply, "half a reply": editor.PartialLine, "a huge reply": editor.HugeReply,
		"a refusal": editor.ErrorReply("failed", "no"),
	} {
		for _, method := range []string{"hello", "prove", "terminals.list"} {
			w := failing(t, method, fault)
			_, all, err := List(t.Context(), of(w), nil)
			if err == nil || all != nil || errors.Is(err, ErrNoServer) {
				t.Errorf("%s to %s: %v, %v", name, method, all, err)
			}
			if early := method != "terminals.list"; errors.Is(err, ErrNotSent) != early {
				t.Errorf("%s to %s: %v: nothing was sent: want %t", name, method, err, early)
			}
			if left := proofs(t, w); len(left) > 0 {
				t.Errorf("%s to %s: %v is left", name, method, left)
			}
		}
	}
	if _, all, err := List(t.Context(), of(failing(t, "terminals.list", editor.SplitReply)), nil); err != nil || len(all) != 1 {
		t.Errorf("a reply in pieces: %v, %v", all, err)
	}
}

func TestRefusalsHaveTheirCode(t *testing.T) {
	t.Parallel()
	_, _, err := List(t.Context(), of(failing(t, "prove", editor.ErrorReply("not_proved", "the proof is not an empty file of this user"))), nil)
	must.Equal(t, "not_proved", Code(err), "code of %v", err)
	must.Equal(t, "", Code(ErrNoServer), "code of another error")
	both := editor.Another(func([]byte) []byte {
		return []byte(`{"id":"2","result":{},"error":{"code":"failed","message":""}}` + "\n")
	})
	_, _, err = List(t.Context(), of(failing(t, "prove", both)), nil)
	must.Equal(t, "", Code(err), "code of an answer that is a result as well")
	_, _, err = List(t.Context(), of(failing(t, "hello", editor.ErrorReply("bad_request", "this window speaks protocol 2"))), nil)
	if err == nil || !strings.Contains(err.Error(), "run winnow editor install and load the window again, or update winnow") {
		t.Errorf("another protocol: %v", err)
	}
}

// rewritten has a window of one tab answer a method with something else.
func rewritten(t *testing.T, method string, change func(line []byte) []byte) error {
	t.Helper()
	w := failing(t, method, editor.Another(change))
	_, all, err := List(t.Context(), of(w), []string{"A"})
	if err == nil || all != nil || errors.Is(err, ErrNoServer) {
		t.Errorf("%v, %v", all, err)
	}
	return err
}

// TestAnswersThatAreNone has every part of an answer missing, or another one, once.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	result := func(change func(map[string]any)) func([]byte) []byte {
		return func(line []byte) []byte {
			var a map[string]any
			if err := json.Unmarshal(line, &a); err != nil {
				return nil
			}
			change(a["result"].(map[string]any))
			text, _ := json.Marshal(a)
			return append(text, '\n')
		}
	}
	set := func(key string, v any) func([]byte) []byte {
		return result(func(r map[string]any) { r[key] = v })
	}
	drop := func(key string) func([]byte) []byte {
		return result(func(r map[string]any) { delete(r, key) })
	}
	tab := func(change func(map[string]any)) func([]byte) []byte {
		return result(func(r map[string]any) { change(r["terminals"].([]any)[0].(map[string]any)) })
	}
	settab := func(key string, v any) func([]byte) []byte {
		return tab(func(r map[string]any) { r[key] = v })
	}
	droptab := func(key string) func([]byte) []byte {
		return tab(func(r map[string]any) { delete(r, key) })
	}
	text := func(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s + "\n") } }
	long := strings.Repeat("x", 4097)
	for method, cases := range map[string]map[string]func([]byte) []byte{
		"hello": {
			"no JSON": text("{]]"), "a number": text("7"), "null": text("null"), "nothing": text(""), "not UTF-8": func(line []byte) []byte {
				return []byte(strings.Replace(string(line), `"result":{`, "\"result\":{\"later\":\"\xff\",", 1))
			},
			"another id": text(`{"id":"9","result":{}}`), "no id": text(`{"result":{}}`), "neither": text(`{"id":"1"}`), "both": text(`{"id":"1","result":{},"error":{"code":"failed","message":""}}`),
			"a result that is null": text(`{"id":"1","result":null}`), "a list": text(`{"id":"1","result":[]}`),
			"protocol 2": set("protocol", 2), "no protocol": drop("protocol"), "no window": drop("window"),
			"another window": set("window", "0a0b0c0d"), "a window that is a path": set("window", "../../aa"), "no pid": drop("pid"), "pid 0": set("pid", 0), "another pid": set("pid", 1),
			"no start": drop("start_ticks"), "a negative start": set("start_ticks", -1),
			"no challenge": drop("challenge"), "a short challenge": set("challenge", "ab"),
			"a challenge that is a path": set("challenge", "../"+strings.Repeat("a", 29)),
		},
		"prove": {
			"a result that is null": text(`{"id":"2","result":null}`), "an answer to hello": text(`{"id":"1","result":{}}`), "nothing in it": text(`{"id":"2","result":{}}`),
			"no extension": drop("extension"), "no editor": drop("editor"), "no folders": drop("folders"), "folders that are null": set("folders", nil),
			"no focus": drop("focused"), "focus that is a text": set("focused", "yes"), "a long folder": set("folders", []string{long}),
			"a long version": set("extension", long), "too many folders": set("folders", make([]string, 1001)),
		},
		"terminals.list": {
			"no list": drop("terminals"), "null": set("terminals", nil), "no list but an object": set("terminals", map[string]any{}), "a tab that is a number": set("terminals", []any{7}),
			"a tab that is null": set("terminals", []any{nil}), "no number": droptab("n"), "number 0": settab("n", 0), "half a number": settab("n", 1.5), "no name": droptab("name"), "no shape": droptab("shape"),
			"another shape": settab("shape", "pane"), "no focus": droptab("active"), "no time": droptab("opened_at"), "an impossible time": settab("opened_at", "today"),
			"year 1": settab("opened_at", "0001-01-01T00:00:00Z"), "shown in year 1": settab("shown_at", "0001-01-01T00:00:00Z"), "pid 0": settab("pid", 0),
			"a pid that is a text": settab("pid", "7"), "a start without a pid": settab("start_ticks", 7), "a negative start": tab(func(r map[string]any) { r["pid"], r["start_ticks"] = 7, -7 }),
			"a program with its path": settab("program", "/bin/sh"), "a marker that was not asked for": settab("markers", []string{"A", "A=secret"}), "a long name": settab("name", long),
			"a long folder": settab("cwd", long), "a long first name": settab("creation_name", long), "a long program": settab("program", long),
			"a tab twice": result(func(r map[string]any) { r["terminals"] = append(r["terminals"].([]any), r["terminals"].([]any)[0]) }),
			"too many tabs": result(func(r map[string]any) {
				var all []any
				for n := range 1001 {
					all = append(all, map[string]any{"n": n + 1, "name": "", "shape": "pty", "active": false, "opened_at": "2026-01-01T00:00:00Z"})
				}
				r["terminals"] = all
			}),
			"too many members": set("extra", slices.Repeat([]int{1}, 50_001)),
		},
	} {
		for name, change := range cases {
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				if err := rewritten(t, method, change); !strings.Contains(fmt.Sprint(err), method) && !strings.Contains(fmt.Sprint(err), "window says") && !strings.Contains(fmt.Sprint(err), "protocol") {
					t.Errorf("%v does not say what was asked", err)
				}
			})
		}
	}
}

// TestWhatIsNotKnownIsPassedOver has fields that a later protocol may have.
func TestWhatIsNotKnownIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"hello", "prove", "terminals.list"} {
		w := failing(t, method, editor.Another(func(line []byte) []byte {
			text := strings.Replace(string(line), `"result":{`, `"future":[{}],"result":{"later":{"a":null},`, 1)
			return []byte(strings.NewReplacer(`,}`, `}`, `"n":1`, `"n":1,"colour":"red"`).Replace(text))
		}))
		if _, all, err := List(t.Context(), of(w), nil); err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", method, all, err)
		}
	}
}

func TestOnlyTheWindowThatWasMeant(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	meant := of(w)
	hello, _, err := List(t.Context(), meant, nil)
	must.Do(t, err)
	meant.Is = &hello
	_, _, err = List(t.Context(), meant, nil)
	must.Do(t, err)
	for name, change := range map[string]func(*Hello){
		"id": func(h *Hello) { h.Window = "00000000" }, "pid": func(h *Hello) { h.PID++ }, "start": func(h *Hello) { h.StartTicks++ },
	} {
		other := hello
		change(&other)
		meant.Is = &other
		if _, _, err := List(t.Context(), meant, nil); !errors.Is(err, ErrAnother) || !errors.Is(err, ErrNotSent) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	var asked []string
	for _, c := range w.Calls() {
		asked = append(asked, c.Method)
	}
	must.Equal(t, []string{"hello", "prove", "terminals.list", "hello", "prove", "terminals.list", "hello", "hello", "hello"}, asked, "requests")
	before := len(w.Calls())
	meant.UID++
	if _, _, err := List(t.Context(), meant, nil); !errors.Is(err, peercred.ErrOther) || len(w.Calls()) != before {
		t.Errorf("another user: %v, %d requests", err, len(w.Calls())-before)
	}
}

// TestWhoListensIsTheKernelsWord has a window whose socket another process listens on: its hello names a pid that the kernel does not give.
func TestWhoListensIsTheKernelsWord(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("", "editor"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "0a0b0c0d.sock")
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), listenAt+"="+path), &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatal(line, err)
	}
	// That process answers nothing, so nothing but the hello goes there, and the call ends with its patience.
	if _, _, err := List(t.Context(), Window{Socket: path, UID: os.Geteuid(), Patience: 50 * time.Millisecond}, nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestTheProofIsLeftNowhereElse has folders that could lead a proof astray.
func TestTheProofIsLeftNowhereElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  error
	}{
		"others can write":                      {func(dir string) error { return os.Chmod(dir, 0o770) }, safeopen.ErrWritable},
		"others can write beside what is there": {func(dir string) error { return os.Chmod(dir, os.ModeSticky|0o777) }, safeopen.ErrWritable},
	} {
		w := editor.Start(t, editor.Options{})
		must.Do(t, c.spoil(w.Dir()))
		if _, _, err := List(t.Context(), of(w), nil); !errors.Is(err, c.want) || !errors.Is(err, ErrNotSent) {
			t.Errorf("%s: %v", name, err)
		}
		if slices.ContainsFunc(w.Calls(), func(c editor.Call) bool { return c.Method == "prove" }) {
			t.Errorf("%s: a proof was offered", name)
		}
	}
	// A name that is taken is not written to, and not removed.
	w := editor.Start(t, editor.Options{})
	var taken string
	w.Fault(func(_ int, c editor.Call) editor.Fault {
		return editor.Another(func(line []byte) []byte {
			var a struct {
				Result struct{ Window, Challenge string }
			}
			if json.Unmarshal(line, &a) == nil && a.Result.Challenge != "" {
				taken = filepath.Join(w.Dir(), a.Result.Window+"."+a.Result.Challenge+".proof")
				_ = os.WriteFile(taken, []byte("precious"), 0o600)
			}
			return line
		})
	})
	if _, _, err := List(t.Context(), of(w), nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if text, err := os.ReadFile(taken); string(text) != "precious" {
		t.Errorf("a name that is taken: %q, %v", text, err)
	}
}

// TestTheProofHasItsRights also under a umask that takes them. It runs while no other test does: a umask is the whole process's.
func TestTheProofHasItsRights(t *testing.T) {
	w := editor.Start(t, editor.Options{})
	was := syscall.Umask(0o277)
	_, _, err := List(t.Context(), of(w), nil)
	syscall.Umask(was)
	must.Do(t, err)
}

// TestASocketByALink proves itself where the socket is, and not where the link to it is.
func TestASocketByALink(t *testing.T) {
	t.Parallel()
	w := editor.Start(t, editor.Options{})
	link := of(w)
	link.Socket = filepath.Join(t.TempDir(), "window")
	must.Do(t, os.Symlink(w.Socket(), link.Socket))
	if _, _, err := List(t.Context(), link, nil); err != nil {
		t.Error(err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	h := Hello{Window: "0a0b0c0d", Folders: []string{"/a"}, Focused: true}
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	whole := Terminal{N: 1, Name: "x", CreationName: new("y"), Shape: Shell, Program: new("sh"), Cwd: "/a", Markers: &[]string{"A"}, PID: new(7), StartTicks: new(uint64(8)), ExitCode: new(0),
		Typed: new(false), OpenedAt: at, ShownAt: &at}
	state := whole.State(h)
	for name, change := range map[string]func(*Terminal, *Hello){
		"name": func(t *Terminal, _ *Hello) { t.Name = "z" }, "creation name": func(t *Terminal, _ *Hello) { t.CreationName = nil }, "empty creation name": func(t *Terminal, _ *Hello) { t.CreationName = new("") },
		"shape": func(t *Terminal, _ *Hello) { t.Shape = Task }, "program": func(t *Terminal, _ *Hello) { t.Program = nil }, "folder": func(t *Terminal, _ *Hello) { t.Cwd = "" },
		"pid": func(t *Terminal, _ *Hello) { t.PID = new(9) }, "start": func(t *Terminal, _ *Hello) { t.StartTicks = nil }, "exit code": func(t *Terminal, _ *Hello) { t.ExitCode = nil },
		"typed": func(t *Terminal, _ *Hello) { t.Typed = new(true) }, "not known whether typed": func(t *Terminal, _ *Hello) { t.Typed = nil }, "front": func(t *Terminal, _ *Hello) { t.Active = true },
		"time": func(t *Terminal, _ *Hello) { t.OpenedAt = at.Add(time.Millisecond) }, "number": func(t *Terminal, _ *Hello) { t.N = 2 },
		"window": func(_ *Terminal, h *Hello) { h.Window = "00000000" }, "folders": func(_ *Terminal, h *Hello) { h.Folders = nil },
	} {
		other, window := whole, h
		change(&other, &window)
		was, is := termsafe.Differ(state, other.State(window))
		if was == is {
			t.Errorf("another %s gives the same state:\n%s", name, state)
		}
	}
	same, window := whole, h
	same.OpenedAt, same.Markers, same.ShownAt, window.Focused = at.In(time.FixedZone("", 3600)), nil, nil, false
	must.Equal(t, state, same.State(window), "state where nothing that counts is another")
	same.Active = true
	must.Equal(t, state, same.State(window), "state of the active tab of a window without the focus")
	must.Equal(t, "one|nothing", strings.Join(both(termsafe.Differ("a\none", "a")), "|"), "difference")
	must.Equal(t, "|", strings.Join(both(termsafe.Differ("a\nb", "a\nb")), "|"), "difference")
}

func both(a, b string) []string { return []string{a, b} }

func FuzzTerminal(f *testing.F) {
	f.Add([]byte(`{"n":1,"name":"x","shape":"shell","active":true,"opened_at":"2026-03-04T05:06:07Z","pid":7,"start_ticks":8,"markers":["A"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list := []json.RawMessage{data}
		all, err := terminals(&list, []string{"A"})
		if err != nil && all != nil || err == nil && (all[0].N <= 0 || all[0].OpenedAt.IsZero()) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
