package tower

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"github.com/google/go-cmp/cmp"
)

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	shortUUID = regexp.MustCompile(`^terminal-[0-9a-f]{8}$`)
	isoTime   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	plainTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)
)

// measured are the numbers that no two runs share.
var measured = []string{"pid", "shellper_pid", "shellper_start_time", "rssKb", "ageMs", "uptime", "memoryUsage", "fleetRssKb", "lastDataAt", "pids"}

// normal replaces what no two runs share, and says what kind of thing was there; all else stays.
func normal(key string, v any, workspace, sockets string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = normal(k, x, workspace, sockets)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, normal(key, x, workspace, sockets))
		}
		return out
	case float64:
		for _, name := range measured {
			if key == name {
				return "<number>"
			}
		}
		return v
	case string:
		switch {
		case isoTime.MatchString(v):
			return "<time>"
		case plainTime.MatchString(v):
			return "<time in UTC>"
		case shortUUID.MatchString(v):
			return "terminal-<uuid>"
		}
		v = uuid.ReplaceAllString(v, "<uuid>")
		v = strings.ReplaceAll(v, sockets, "<sockets>")
		return strings.ReplaceAll(v, workspace, "<workspace>")
	}
	return v
}

// captured reads what a real Tower answered.
func captured(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return normal("", v, "/home/dev/acme", "/home/dev/.codev/run")
}

// same holds an answer against what a real Tower gave: everything but what no two runs share.
func (w *acme) same(t *testing.T, name, path string) {
	t.Helper()
	w.hold(t, name, must(t, w.s, 200, "GET", path))
}

func (w *acme) hold(t *testing.T, name string, got any) {
	t.Helper()
	if diff := cmp.Diff(captured(t, name), normal("", got, w.path, w.s.SocketDir())); diff != "" {
		t.Errorf("%s (-captured +got):\n%s", name, diff)
	}
}

// acme is the world in which the answers were captured.
type acme struct {
	s                                        *Server
	path                                     string
	architect, pir, bugfix, task, dev, shell TerminalState
}

func newAcme(t *testing.T) *acme {
	t.Helper()
	w := &acme{s: open(t, Options{}), path: filepath.Join(t.TempDir(), "acme")}
	below := filepath.Join(w.path, ".builders")
	for _, name := range []string{"pir-883-demo-slug", "bugfix-799-fix", "task-AbCd"} {
		if err := os.MkdirAll(filepath.Join(below, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.path = w.s.Workspace(w.path)
	bash := []string{"/bin/bash", "-c", "read -r x"}
	w.architect = w.s.Terminal(w.path, Terminal{Type: "architect", Command: []string{"sh", "-c", "read -r x"}})
	w.pir = w.s.Terminal(w.path, Terminal{RoleID: "builder-pir-883", Cwd: filepath.Join(below, "pir-883-demo-slug"), Command: bash})
	w.bugfix = w.s.Terminal(w.path, Terminal{RoleID: "builder-bugfix-799", Cwd: filepath.Join(below, "bugfix-799-fix"), Command: bash})
	w.task = w.s.Terminal(w.path, Terminal{RoleID: "builder-task-abcd", Cwd: filepath.Join(below, "task-AbCd"), Command: bash})
	w.dev = w.s.Terminal(w.path, Terminal{RoleID: "builder-pir-883", Dev: true, Command: bash})
	w.shell = w.s.Terminal(w.path, Terminal{Type: "shell", Command: bash})
	return w
}

// rows gives a table as a list of objects.
func (w *acme) rows(t *testing.T, table string) (out []any) {
	t.Helper()
	rows, err := w.s.db.Query("SELECT * FROM " + table + " ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		o := map[string]any{}
		for i, name := range names {
			if o[name] = *values[i].(*any); reflect.TypeOf(o[name]) == reflect.TypeFor[int64]() {
				o[name] = float64(o[name].(int64))
			}
		}
		out = append(out, o)
	}
	return out
}

func TestAnswersAreAsCaptured(t *testing.T) {
	t.Parallel()
	w := newAcme(t)
	s := w.s
	w.same(t, "version.captured", "/api/version")
	w.same(t, "terminals.captured", "/api/terminals")
	w.hold(t, "terminal-sessions-rows.captured", w.rows(t, "terminal_sessions"))
	w.same(t, "husks-none.captured", "/api/shellpers/husks")

	must(t, s, 204, "DELETE", "/api/terminals/"+w.bugfix.ID)
	w.hold(t, "terminal-delete-404.captured", must(t, s, 404, "DELETE", "/api/terminals/"+w.bugfix.ID))
	s.Type(w.pir.ID, "\n")
	s.Exit(w.architect.ID, 2)
	wait.Eventually(t, "the builder's end", func() bool { return listed(t, s)[w.pir.ID]["status"] == "exited" })
	if err := os.Remove(filepath.Join(w.path, ".builders", "task-AbCd")); err != nil {
		t.Fatal(err)
	}
	w.same(t, "terminals-after-agent-exit.captured", "/api/terminals")

	s.Restart()
	w.same(t, "terminals-after-tower-restart.captured", "/api/terminals")
	w.same(t, "husks-none.captured", "/api/shellpers/husks")
	s.Exit(w.dev.ID, 0)
	w.same(t, "husks-candidate.captured", "/api/shellpers/husks")
	if s.sweepHusks(); procs.Lives(w.dev.PID) {
		t.Errorf("%d was not swept", w.dev.PID)
	}
}

func TestBuildersRowsAreAsCaptured(t *testing.T) {
	t.Parallel()
	w := &acme{s: open(t, Options{}), path: t.TempDir()}
	w.path = w.s.Workspace(w.path)
	below := filepath.Join(w.path, ".builders")
	w.s.Builder(w.path, Builder{ID: "builder-bugfix-799", Name: "Bugfix #799: fix", Type: "bugfix", Issue: "799", Worktree: filepath.Join(below, "bugfix-799-fix")})
	w.s.Builder(w.path, Builder{ID: "builder-pir-883", Name: "883-demo-slug", Issue: "883", Worktree: filepath.Join(below, "pir-883-demo-slug")})
	for _, id := range []string{"builder-bugfix-799", "builder-pir-883"} {
		w.s.Terminal(w.path, Terminal{RoleID: id})
	}
	w.hold(t, "builders-rows.captured", w.rows(t, "builders"))
	sessions := w.rows(t, "terminal_sessions")
	if got := sessions[1].(map[string]any)["cwd"]; got != filepath.Join(below, "pir-883-demo-slug") {
		t.Errorf("a builder's terminal is in %v, not in its worktree", got)
	}
	none := open(t, Options{})
	none.SetReady(false)
	w.hold(t, "starting-up-503.derived", must(t, none, 503, "GET", "/api/terminals"))
}
