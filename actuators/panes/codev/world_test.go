package codev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
	"winnow/testkit/tower"
)

// world is a Tower with a workspace, and everything that was said about what was done to it.
type world struct {
	t testing.TB
	*tower.Server
	ws  string
	env map[string]string
	o   Options
	log bytes.Buffer
}

// newWorld starts a Tower. At the end nothing that was said may hold its key, or what a shellper's command line has.
func newWorld(t testing.TB) *world {
	t.Helper()
	s := tower.Start(t, tower.Options{})
	w := &world{t: t, Server: s, ws: s.Workspace(t.TempDir()), env: map[string]string{"SHELLPER_SOCKET_DIR": s.SocketDir(), "HOME": "/nowhere"}}
	w.o = Options{Env: func(name string) string { return w.env[name] }, Timeout: 10 * time.Second, TermGrace: 10 * time.Second, UID: os.Getuid(),
		Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &w.log})}
	key := s.Key()
	t.Cleanup(func() {
		for _, secret := range []string{key, s.Key(), w.env["CODEV_TOWER_KEY"], tower.Secret} {
			if secret != "" && strings.Contains(w.log.String(), secret) {
				t.Error("a secret was told")
			}
		}
	})
	return w
}

// short has acts wait no longer than a test can, where a time has to run out.
func (w *world) short() *world {
	w.o.Timeout, w.o.TermGrace = 500*time.Millisecond, 200*time.Millisecond
	return w
}

// builder opens a terminal of a builder.
func (w *world) builder(spec tower.Terminal) tower.TerminalState {
	if spec.RoleID == "" {
		spec.RoleID = "builder-pir-883"
	}
	return w.Terminal(w.ws, spec)
}

func (w *world) identity(st tower.TerminalState, kind, status string) decision.Terminal {
	w.t.Helper()
	p := identify(w.t, st.PID)
	id := decision.Terminal{Source: "codev/default", Folder: w.Home(), Tower: w.URL(), ID: st.ID, Role: "builder-pir-883", RoleKind: kind,
		Status: status, Listed: true, Process: &p}
	if kind == shellper {
		id.ID, id.Role, id.Status, id.Listed = "pid-"+strconv.Itoa(st.PID), "", "", false
	}
	return id
}

func decide(id decision.Terminal) decision.Decision {
	return decision.Decision{ID: "terminal:" + id.Source + "/" + id.ID, Kind: "terminal", Verdict: decision.Reap,
		Identity: decision.Identity{Key: "k", Terminal: &id}}
}

func intent(id decision.Terminal) decision.Intent {
	return decision.Intent{ID: "A1", Kind: "terminal", Candidate: decide(id).ID, Identity: decision.Identity{Key: "k", Terminal: &id}, At: time.Now()}
}

// expect announces the closing of a terminal, once.
func (w *world) expect(id string) { w.Expect(http.MethodDelete, "/api/terminals/"+id) }

// grasp takes hold of a terminal until the test is over.
func (w *world) grasp(id decision.Terminal) (actuators.Held, error) {
	w.t.Helper()
	g, err := New(w.o).Hold(context.Background(), "A1", decide(id))
	if err != nil {
		fmt.Fprintln(&w.log, err)
		return nil, err
	}
	w.log.Write(g.Plan())
	w.t.Cleanup(func() { g.Close() })
	return g, nil
}

func (w *world) held(id decision.Terminal) actuators.Held {
	w.t.Helper()
	g, err := w.grasp(id)
	if err != nil {
		w.t.Fatalf("grasp: %v", err)
	}
	return g
}

func (w *world) do(ctx context.Context, g actuators.Held, id decision.Terminal) decision.Outcome {
	out := g.Act(ctx, intent(id))
	fmt.Fprintf(&w.log, "%+v\n", out)
	return out
}

// act grasps and acts, as the carrier does. A refusal is an outcome here.
func (w *world) act(id decision.Terminal) decision.Outcome {
	w.t.Helper()
	g, err := w.grasp(id)
	if err != nil {
		return actuators.OutcomeOf(err)
	}
	return w.do(context.Background(), g, id)
}

func (w *world) settle(id decision.Terminal) decision.Outcome {
	out := New(w.o).Settle(context.Background(), intent(id))
	fmt.Fprintf(&w.log, "%+v\n", out)
	return out
}

// want checks an outcome, and that its detail says everything that it has to.
func want(t testing.TB, out decision.Outcome, outcome string, says ...string) {
	t.Helper()
	if out.Outcome != outcome {
		t.Errorf("outcome %+v, want %s", out, outcome)
	}
	for _, s := range says {
		if !strings.Contains(out.Detail, s) {
			t.Errorf("detail %q does not say %q", out.Detail, s)
		}
	}
}

// untouched checks that the Tower was told nothing and that the terminal's shellper lives.
func (w *world) untouched(st tower.TerminalState) {
	w.t.Helper()
	if told := w.Mutations(); len(told) != 0 {
		w.t.Errorf("the Tower was told %v", told)
	}
	if !w.Alive(st.ID) {
		w.t.Error("the shellper was ended")
	}
}

// answered has the Tower answer calls of that method in that way.
func (w *world) answered(method string, f tower.Fault) {
	w.Fault(func(_ int, c tower.Call) tower.Fault {
		if c.Method == method {
			return f
		}
		return tower.Fault{}
	})
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come about", what)
		}
	}
}

// end kills a process that the test started, and waits until it is over.
func end(t testing.TB, pid int) {
	t.Helper()
	h, err := panes.Hold("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := panes.Await(context.Background(), []*panes.Held{h}, 10*time.Second); len(left) > 0 {
		t.Fatalf("pid %d outlives SIGKILL", pid)
	}
}

const rss = 4096 * 7

// identify reads a process's identity the way a collector would, by paths and not by the code under test.
func identify(t testing.TB, pid int) decision.Process {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	text, err2 := os.ReadFile(filepath.Join(dir, "stat"))
	comm, err3 := os.ReadFile(filepath.Join(dir, "comm"))
	argv, err4 := os.ReadFile(filepath.Join(dir, "cmdline"))
	exe, err5 := os.Readlink(filepath.Join(dir, "exe"))
	cwd, err6 := os.Readlink(filepath.Join(dir, "cwd"))
	var ns, owner unix.Stat_t
	if err := errors.Join(err1, err2, err3, err4, err5, err6, unix.Stat("/proc/self/ns/pid", &ns), unix.Stat(dir, &owner)); err != nil {
		t.Fatal(err)
	}
	ticks, err := strconv.ParseUint(string(bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])[19]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := decision.Process{BootID: string(bytes.TrimSpace(boot)), PIDNamespace: ns.Ino, PID: pid, StartTicks: ticks, UID: int(owner.Uid),
		Name: string(bytes.TrimSpace(comm)), Exe: exe, Cwd: cwd, RSS: rss}
	sum := sha256.Sum256(append([]byte(p.BootID), argv...))
	p.ArgvDigest = hex.EncodeToString(sum[:])
	return p
}

// words is a body that names an error.
func words(word string) string {
	text, err := json.Marshal(map[string]string{"error": word, "message": "m"})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// listing is what the Tower says of its terminals, changed.
func (w *world) listing(change func(all []map[string]any) any) tower.Fault {
	w.t.Helper()
	text, err := json.Marshal(change(w.list()))
	if err != nil {
		w.t.Fatal(err)
	}
	return tower.Status(http.StatusOK, string(text))
}

// ended ends a terminal's shellper, and waits until the Tower knows.
func (w *world) ended(st tower.TerminalState) {
	w.t.Helper()
	end(w.t, st.PID)
	eventually(w.t, "the Tower knows", func() bool {
		return slices.ContainsFunc(w.list(), func(one map[string]any) bool { return one["id"] == st.ID && one["status"] == exited })
	})
}

// list is what the Tower says of its terminals.
func (w *world) list() []map[string]any {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.URL()+"/api/terminals", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set(keyHeader, w.Key())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct{ Terminals []map[string]any }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		w.t.Fatal(err)
	}
	return body.Terminals
}

// with is the list with one field of its only terminal changed.
func with(field string, value any) func([]map[string]any) any {
	return func(all []map[string]any) any {
		one := maps.Clone(all[0])
		one[field] = value
		return map[string]any{"terminals": []any{one}}
	}
}
