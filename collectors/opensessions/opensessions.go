// Package opensessions reads what agents themselves write down of the sessions that they have open: Claude Code keeps a file for each
// in ~/.claude/sessions, named by its pid, with the session's id and when the process began. A file stays behind after a crash, so it
// says of a process only that it is an agent while the process is live. Codex keeps a locked file for each thread.
package opensessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Kind is the kind of the sources.
const Kind = "agents"

const (
	// maxFile is more than a file with one session's particulars has, and maxFiles more than the sessions of any user.
	maxFile  = 64 << 10
	maxFiles = 10000
)

// Agent is an agent that writes down its sessions.
type Agent struct {
	// Name is what its sessions are called by.
	Name string
	// below is what it keeps them in: below the first folder that one of the variables names, or else below home in the
	// user's home folder.
	variables   []string
	home, below string
	read        func(reader) collectors.Reader
}

// Claude is Claude Code.
var Claude = Agent{
	"claude", []string{"CLAUDE_CONFIG_DIR"}, ".claude", "sessions", func(r reader) collectors.Reader { return r },
}

// Place is where the agent keeps its sessions, and false where there is no such thing.
func (a Agent) Place(env func(string) string, home string) (string, bool) {
	dir := filepath.Join(home, a.home)
	if i := slices.IndexFunc(a.variables, func(v string) bool { return filepath.IsAbs(env(v)) }); i >= 0 {
		dir = env(a.variables[i])
	}
	path := filepath.Join(dir, a.below)
	_, err := os.Stat(path)
	return path, filepath.IsAbs(path) && !errors.Is(err, fs.ErrNotExist)
}

// Source is the source agents/<name> for the sessions at path.
func (a Agent) Source(name, path string) collectors.Source {
	full := Kind + "/" + name
	return collectors.Source{Name: full, Kind: Kind, Path: path, Reader: a.read(reader{full, a.Name, path})}
}

type reader struct{ source, agent, path string }

func (r reader) Read(ctx context.Context) (collectors.Part, error) {
	d, entries, err := r.list(ctx)
	if err != nil {
		return collectors.Part{}, err
	}
	var part collectors.Part
	for _, e := range entries {
		if s, ok := r.session(ctx, d.Dir, e.Name()); ok {
			part.Open = append(part.Open, s)
		}
	}
	return part, ctx.Err()
}

// list gives what lies in the folder of the sessions.
func (r reader) list(ctx context.Context) (d safeopen.DirFS, entries []fs.DirEntry, err error) {
	d = safeopen.DirFS{Want: safeopen.Want{Max: maxFile}, Context: ctx, MaxEntries: maxFiles}
	if d.Dir, err = safeopen.Path(r.path); err == nil {
		entries, err = fs.ReadDir(d, ".")
	}
	return d, entries, r.failed(err)
}

func (r reader) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: no folder %s", collectors.ErrAbsent, r.path)
	}
	return fmt.Errorf("read the open sessions in %s: %w", r.path, err)
}

// session is what one file says. A file that cannot be read says only that the process is an agent, by its name.
func (r reader) session(ctx context.Context, dir, name string) (snapshot.OpenSession, bool) {
	number, ok := strings.CutSuffix(name, ".json")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || pid <= 0 {
		return snapshot.OpenSession{}, false
	}
	s := snapshot.OpenSession{Source: r.source, Agent: r.agent, PID: pid, Sole: new(true)}
	f, err := safeopen.Read(ctx, filepath.Join(dir, name), safeopen.Want{Max: maxFile})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safeopen.ErrOwner) {
		return snapshot.OpenSession{}, false
	}
	if err != nil {
		return s, true
	}
	s.WrittenAt = new(f.Mod.UTC())
	var record struct {
		SessionID string          `json:"sessionId"`
		ProcStart json.RawMessage `json:"procStart"`
		Cwd       string          `json:"cwd"`
	}
	if json.Unmarshal(f.Data, &record) != nil {
		return s, true
	}
	s.ID, s.Folder = strings.ToValidUTF8(record.SessionID, ""), folder(record.Cwd)
	if ticks, err := strconv.ParseUint(strings.Trim(string(record.ProcStart), `"`), 10, 64); err == nil {
		s.StartTicks = &ticks
	}
	return s, true
}

// folder is the real path of a folder that a record names, so that it can be held against those of worktrees; "" where it cannot be one.
func folder(path string) string {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) || !utf8.ValidString(path) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
