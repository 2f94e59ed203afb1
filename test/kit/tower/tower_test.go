package tower

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var client = &http.Client{Timeout: wait.Patience, Transport: &http.Transport{DisableKeepAlives: true}}

// reply is what came back, and whether anything did.
type reply struct {
	status int
	body   string
	header http.Header
	err    error
}

func ask(t *testing.T, s *Server, method, path string, change ...func(*http.Request)) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("codev-tower-key", s.Key())
	for _, f := range change {
		f(r)
	}
	response, err := client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, string(body), response.Header, err}
}

// must is a call that is answered with this status, and gives its body.
func must(t *testing.T, s *Server, status int, method, path string, change ...func(*http.Request)) map[string]any {
	t.Helper()
	got := ask(t, s, method, path, change...)
	if got.err != nil || got.status != status {
		t.Fatalf("%s %s: %d %q, %v; want %d", method, path, got.status, got.body, got.err, status)
	}
	var out map[string]any
	if status == http.StatusNoContent {
		if got.body != "" {
			t.Errorf("%s %s: 204 with a body: %q", method, path, got.body)
		}
		return nil
	}
	if err := json.Unmarshal([]byte(got.body), &out); err != nil {
		t.Fatalf("%s %s: %q: %v", method, path, got.body, err)
	}
	return out
}

// open starts a Tower whose unannounced calls are the test's own business.
func open(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listed gives the Tower's list by id.
func listed(t *testing.T, s *Server) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, one := range must(t, s, 200, "GET", "/api/terminals")["terminals"].([]any) {
		o := one.(map[string]any)
		out[o["id"].(string)] = o
	}
	return out
}

func TestDeleteTakesAll(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	ws := s.Workspace(t.TempDir())
	a := s.Terminal(ws, Terminal{RoleID: "builder-pir-883"})
	b := s.Terminal(ws, Terminal{RoleID: "builder-pir-884", Deaf: true})
	for _, one := range []TerminalState{a, b} {
		if !s.Registered(one.ID) || !s.HasRow(one.ID) || !s.Alive(one.ID) || !procs.Lives(one.Agent) || !answers(one.Socket) || s.Gone(one.ID) {
			t.Fatalf("%+v is not there", one)
		}
		path := "/api/terminals/" + one.ID
		s.Expect("DELETE", path)
		must(t, s, 204, "DELETE", path)
		if !s.Gone(one.ID) || procs.Lives(one.PID) {
			t.Errorf("%+v is still there", one)
		}
		wait.Eventually(t, "hung up on the agent", func() bool { return !procs.Lives(one.Agent) })
		s.Expect("DELETE", path)
		if got := must(t, s, 404, "DELETE", path); got["message"] != "Session "+one.ID+" not found" {
			t.Errorf("a second time: %v", got)
		}
	}
	if got := s.Outstanding(); len(got) > 0 {
		t.Errorf("announced and not come: %v", got)
	}
}

func TestStoreIsInTheLog(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "a b%c", "home")
	s := Start(t, Options{Home: home})
	ws := s.Workspace(t.TempDir())
	s.Builder(ws, Builder{ID: "builder-pir-883", Issue: "883"})
	s.Terminal(ws, Terminal{RoleID: "builder-pir-883"})
	for name, want := range map[string]int64{"global.db": 4096, "local-key": 64} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil || info.Size() != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want %d bytes for its owner alone", name, info, err, want)
		}
	}
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home is %v, %v", info.Mode(), err)
	}
	db := sql.OpenDB(connector{"file://" + strings.ReplaceAll(strings.ReplaceAll(filepath.Join(home, "global.db"), "%", "%25"), " ", "%20") + "?mode=ro"})
	defer db.Close()
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM builders JOIN terminal_sessions ON terminal_id = terminal_sessions.id`).Scan(&n); err != nil || n != 1 {
		t.Errorf("read it from beside: %d, %v", n, err)
	}
	copied := filepath.Join(t.TempDir(), "global.db")
	text, err := os.ReadFile(filepath.Join(home, "global.db"))
	if err != nil || os.WriteFile(copied, text, 0o600) != nil {
		t.Fatal(err)
	}
	alone := sql.OpenDB(connector{"file://" + copied})
	defer alone.Close()
	if err := alone.QueryRow(`SELECT count(*) FROM builders`).Scan(&n); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("a copy of the main file alone: %v", err)
	}
}
