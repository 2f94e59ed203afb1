package opensessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir, at := filepath.Join(t.TempDir(), "sessions"), time.Unix(1_790_000_000, 0).UTC()
	must.Do(t, os.Mkdir(dir, 0o700))
	for name, text := range map[string]string{
		"1200.json": `{"pid":1200,"sessionId":"s-1","cwd":"/w","procStart":"93211","more":{}}`,
		"1201.json": `{"sessionId":"s-2","procStart":93212}`,
		"1202.json": `{"sessionId":"s-3"}`,
		"1203.json": `{"sess`,
		"x.json":    `{"sessionId":"s-4"}`,
		"1204.lock": ``,
		"0.json":    `{}`,
	} {
		path := filepath.Join(dir, name)
		must.Do(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)))
	}
	must.Do(t, os.Symlink("1200.json", filepath.Join(dir, "1205.json")))
	part := must.Get(opensessions.Claude.Source("claude", dir).Reader.Read(t.Context()))(t)
	const source = "agents/claude"
	want := []snapshot.OpenSession{
		{Source: source, Agent: "claude", PID: 1200, Sole: new(true), ID: "s-1", StartTicks: new(uint64(93211)), WrittenAt: &at, Folder: "/w"},
		{Source: source, Agent: "claude", PID: 1201, Sole: new(true), ID: "s-2", StartTicks: new(uint64(93212)), WrittenAt: &at},
		{Source: source, Agent: "claude", PID: 1202, Sole: new(true), ID: "s-3", WrittenAt: &at},
		{Source: source, Agent: "claude", PID: 1203, Sole: new(true), WrittenAt: &at},
		{Source: source, Agent: "claude", PID: 1205, Sole: new(true)}, // a link is not followed
	}
	must.Equal(t, want, part.Open, "result")
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	none := func(string) string { return "" }
	if path, ok := opensessions.Claude.Place(none, home); ok {
		t.Errorf("%s is there", path)
	}
	if _, err := opensessions.Claude.Source("claude", filepath.Join(home, "none")).Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want absent", err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(home, "else", "sessions"), 0o700))
	path, ok := opensessions.Claude.Place(func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "else")}[name]
	}, home)
	if want := filepath.Join(home, "else", "sessions"); !ok || path != want {
		t.Errorf("%s, %v, want %s", path, ok, want)
	}
}

// TestAFolderThatOthersCanWriteIsNone: a user who can put a file there could keep everything, or take away what keeps.
func TestAFolderThatOthersCanWriteIsNone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	must.Do(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(filepath.Dir(dir), 0o777)))
	_, err := opensessions.Claude.Source("claude", dir).Reader.Read(t.Context())
	if err == nil || errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want a failure", err)
	}
}
