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
	"path/filepath"
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

// Folder is where Claude Code keeps its files, and false where there is no such folder.
func Folder(env func(string) string, home string) (string, bool) {
	return place(env, "CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"), "sessions")
}

// Source is the source agents/<name> for a folder of such files.
func Source(name, path string) collectors.Source {
	return agentSource(name, path, func(r reader) collectors.Reader { return r })
}

// agentSource is the source agents/<name>, with what reads the sessions there.
func agentSource(name, path string, read func(reader) collectors.Reader) collectors.Source {
	full := Kind + "/" + name
	return collectors.Source{Name: full, Kind: Kind, Path: path, Reader: read(reader{full, path})}
}

type reader struct{ source, path string }

func (r reader) Read(ctx context.Context) (collectors.Part, error) {
	dir, err := safeopen.Path(r.path)
	if err != nil {
		return collectors.Part{}, r.failed(err)
	}
	d := safeopen.DirFS{Dir: dir, Want: safeopen.Want{Max: maxFile}, Context: ctx, MaxEntries: maxFiles}
	entries, err := fs.ReadDir(d, ".")
	if err != nil {
		return collectors.Part{}, r.failed(err)
	}
	var part collectors.Part
	for _, e := range entries {
		if s, ok := r.session(ctx, dir, e.Name()); ok {
			part.Open = append(part.Open, s)
		}
	}
	return part, ctx.Err()
}

func (r reader) failed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
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
	s := snapshot.OpenSession{Source: r.source, Agent: "claude", PID: pid, Sole: new(true)}
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
