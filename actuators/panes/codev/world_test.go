package codev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/must"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// world is a Tower with a workspace, and all that was reported of what was done to it.
type world struct {
	t testing.TB
	*kit.Server
	ws  string
	env map[string]string
	o   Options
	log bytes.Buffer
	// judge judges, known is what earlier looks remember, and decided what was decided.
	judge   *judge.Judge
	known   []snapshot.Owner
	decided map[string]decision.Decision
}

// newWorld starts a Tower. At the end no report may hold its key, or what a shellper's command line has.
func newWorld(t testing.TB) *world {
	t.Helper()
	s := kit.Start(t, kit.Options{})
	w := &world{t: t, Server: s, decided: map[string]decision.Decision{}, ws: s.Workspace(t.TempDir()), env: map[string]string{"SHELLPER_SOCKET_DIR": s.SocketDir(), "HOME": "/nowhere"}}
	w.o = Options{Env: func(name string) string { return w.env[name] }, Timeout: wait.Patience, TermGrace: wait.Patience, Never: actuators.NeverProcess{UID: os.Getuid()},
		Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &w.log})}
	w.judging()
	key := s.Key()
	t.Cleanup(func() {
		for _, secret := range []string{key, s.Key(), w.env["CODEV_TOWER_KEY"], kit.Secret} {
			if secret != "" && strings.Contains(w.log.String(), secret) {
				t.Error("a secret was revealed")
			}
		}
	})
	return w
}

// short has acts wait no longer than a test can, where a time has to run out. What does come in such a test has to come within it.
func (w *world) short() *world {
	w.o.Timeout, w.o.TermGrace = 5*time.Second, 5*time.Second
	return w
}

// deaf has acts wait only a moment for a process that does not listen to TERM.
func (w *world) deaf() *world {
	w.o.TermGrace = 200 * time.Millisecond
	return w
}

// builder opens a terminal of a builder that is gone, row, worktree and all.
func (w *world) builder(spec kit.Terminal) (st kit.TerminalState) {
	if spec.RoleID == "" {
		spec.RoleID = "builder-pir-883"
	}
	w.worktree(func(path string) {
		spec.Cwd = path
		st = w.Terminal(w.ws, spec)
	})
	return st
}

// identity is that of a terminal which is to be reaped, as the policies decided it.
func (w *world) identity(st kit.TerminalState) decision.Terminal {
	w.t.Helper()
	native := st.ID
	if !w.Registered(st.ID) && !w.HasRow(st.ID) {
		native = "pid-" + strconv.Itoa(st.PID)
	}
	return *w.decide(native).Identity.Terminal
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

// hold takes hold of a terminal until the test has ended.
func (w *world) hold(id decision.Terminal) (actuators.Held, error) {
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
	g, err := w.hold(id)
	if err != nil {
		w.t.Fatalf("hold: %v", err)
	}
	return g
}

func (w *world) do(ctx context.Context, g actuators.Held, id decision.Terminal) decision.Outcome {
	out := g.Act(ctx, intent(id))
	fmt.Fprintf(&w.log, "%+v\n", out)
	return out
}

// act carries out what was decided, as a sweep does.
func (w *world) act(id decision.Terminal) decision.Outcome {
	w.t.Helper()
	d, ok := w.decided[id.ID]
	if !ok {
		w.t.Fatalf("%s was not decided on", id.ID)
	}
	return w.carry(w.t.Context(), d, nil)
}

// direct has the actuator hold and act alone, without a judge in between: it shows what its own last reading keeps from.
func (w *world) direct(id decision.Terminal) decision.Outcome {
	w.t.Helper()
	g, err := w.hold(id)
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

// untouched checks that the Tower got no request and that the terminal's shellper lives.
func (w *world) untouched(st kit.TerminalState) {
	w.t.Helper()
	if told := w.Mutations(); len(told) != 0 {
		w.t.Errorf("the Tower was asked to do %v", told)
	}
	if !w.Alive(st.ID) {
		w.t.Error("the shellper was ended")
	}
}

// answered has the Tower answer calls of that method in that way.
func (w *world) answered(method string, f kit.Fault) {
	w.Fault(func(_ int, c kit.Call) kit.Fault {
		if c.Method == method && (method != http.MethodGet || c.Path == "/api/terminals") {
			return f
		}
		return kit.Fault{}
	})
}

// end kills a process that the test started, and waits until it has ended.
func end(t testing.TB, pid int) {
	t.Helper()
	h := must.Get(procact.Hold("/proc", pid))(t)
	defer h.Close()
	must.Do(t, h.Signal(unix.SIGKILL))
	if left := procact.Await(context.Background(), []*procact.Held{h}, wait.Patience); len(left) > 0 {
		t.Fatalf("pid %d outlives SIGKILL", pid)
	}
}

// rss is the memory of a terminal's process, 0 where it has none.
func rss(id decision.Terminal) int64 {
	if id.Process == nil {
		return 0
	}
	return id.Process.RSS
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
func (w *world) listing(change func(all []map[string]any) any) kit.Fault {
	w.t.Helper()
	text, err := json.Marshal(change(w.list()))
	if err != nil {
		w.t.Fatal(err)
	}
	return kit.Status(http.StatusOK, string(text))
}

// ended ends a terminal's shellper, and waits until the Tower knows.
func (w *world) ended(st kit.TerminalState) {
	w.t.Helper()
	end(w.t, st.PID)
	wait.Eventually(w.t, "the Tower knows", func() bool {
		return slices.ContainsFunc(w.list(), func(one map[string]any) bool { return one["id"] == st.ID && one["status"] == "exited" })
	})
}

// list is what the Tower says of its terminals.
func (w *world) list() []map[string]any {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.URL()+"/api/terminals", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("codev-tower-key", w.Key())
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
