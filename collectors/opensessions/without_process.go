package opensessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// maxChats is more than the chats of one project, or the projects, of any user.
const maxChats = 100_000

// written reads the sessions of an agent whose records name no process. Such a session counts as open while a process of the agent lives that began before
// the record was last written (snapshot.OpenSession.AnyProcess). What was last written before the machine started is left out.
type written struct {
	reader
	read func(ctx context.Context, path string, since time.Time) ([]session, error)
}

// session is what a record says: when it was last written, and in which folder the session works, "" where that could not be read.
type session struct {
	id, folder string
	at         time.Time
}

func readWritten(read func(ctx context.Context, path string, since time.Time) ([]session, error)) func(reader) collectors.Reader {
	return func(r reader) collectors.Reader { return written{r, read} }
}

func (w written) Read(ctx context.Context) (collectors.Part, error) {
	booted, err := boot()
	if err != nil {
		return collectors.Part{}, fmt.Errorf("read when the machine started: %w: no session in %s was read", err, w.path)
	}
	all, err := w.read(ctx, w.path, booted)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safeopen.ErrAbsent) {
		return collectors.Part{}, fmt.Errorf("%w: no %s", collectors.ErrAbsent, w.path)
	}
	if err != nil {
		return collectors.Part{}, fmt.Errorf("read the sessions in %s: %w", w.path, err)
	}
	return collectors.Part{Open: w.newest(all, booted)}, ctx.Err()
}

// newest are the sessions that were written last, one for each folder.
func (w written) newest(all []session, booted time.Time) (open []snapshot.OpenSession) {
	slices.SortStableFunc(all, func(a, b session) int { return b.at.Compare(a.at) })
	had := map[string]bool{}
	for _, s := range all {
		at := folder(s.folder)
		if s.at.Before(booted) || had[at] {
			continue
		}
		had[at] = true
		open = append(open, snapshot.OpenSession{
			Source: w.source, Agent: w.agent, ID: strings.ToValidUTF8(s.id, ""), WrittenAt: new(s.at.UTC()), Folder: at, AnyProcess: true,
		})
	}
	return open
}

// boot is when the machine started, a minute early: no process that lives is older. Time asleep counts as time up.
func boot() (time.Time, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(-time.Duration(t.Nano()) - time.Minute), nil
}

// chats are the files in a project's folder of chats that were written since a time, by the name of each.
func chats(d safeopen.DirFS, project string, since time.Time) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	entries, err := fs.ReadDir(d, filepath.Join(project, "chats"))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(since) {
			out[e.Name()] = info.ModTime()
		}
	}
	return out, err
}

// projects reads a folder of projects. read gives the sessions of one, by the files of its chats and when each was written.
func projects(read func(ctx context.Context, d safeopen.DirFS, project string, files map[string]time.Time) ([]session, error),
) func(context.Context, string, time.Time) ([]session, error) {
	return func(ctx context.Context, path string, since time.Time) (all []session, err error) {
		dir, err := safeopen.Path(path)
		if err != nil {
			return nil, err
		}
		d := safeopen.DirFS{Dir: dir, Want: safeopen.Want{Max: maxFile}, Context: ctx, MaxEntries: maxChats}
		entries, err := fs.ReadDir(d, ".")
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			files, err := chats(d, e.Name(), since)
			if err == nil {
				var more []session
				more, err = read(ctx, d, e.Name(), files)
				all = append(all, more...)
			}
			if err != nil {
				return nil, err
			}
		}
		return all, err
	}
}

// Gemini is Gemini CLI, which keeps a folder for each project. It (seen with 0.61.0) appends to tmp/<project>/chats/session-*.jsonl with each message, from the moment a session opens. The folder in which the
// session works is in tmp/<project>/.project_root. gemini --worktree goes into its worktree; gemini --acp has sessions of any folder, and stays where it
// was started. No record names a process.
var Gemini = Agent{"gemini", []string{"GEMINI_CLI_HOME"}, "", ".gemini/tmp", readWritten(projects(gemini))}

func gemini(_ context.Context, d safeopen.DirFS, project string, files map[string]time.Time) ([]session, error) {
	var last session
	for file, at := range files {
		if at.After(last.at) {
			last = session{id: file, at: at}
		}
	}
	if last.at.IsZero() {
		return nil, nil
	}
	root, err := fs.ReadFile(d, filepath.Join(project, ".project_root"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []session{{project, string(root), last.at}}, nil
}

// OpenCode has a store. In it OpenCode (seen with 1.18.33) has a row in session for each session, with the folder in which it works (directory) and when it last began or ended a turn
// (time_updated, milliseconds). One process has sessions of many folders (opencode serve, an editor's opencode acp), and stands in the folder in which it
// was started. No row says which process has a session open, nor whether any has.
var OpenCode = Agent{
	"opencode", []string{"XDG_DATA_HOME"}, ".local/share", "opencode/opencode.db", readWritten(openCode),
}

func openCode(ctx context.Context, path string, _ time.Time) (all []session, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	rows, err := sqlite.Read(ctx, path, "session", "id", "directory", "time_updated", "time_archived")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		id, _ := row.Text("id")
		at, err := row.Millis("time_updated")
		if !row.Null("time_archived") {
			continue
		}
		if err != nil || at == nil { // when it worked is not known: it may be now
			at = new(time.Now())
		}
		directory, _ := row.Text("directory")
		all = append(all, session{id, directory, *at})
	}
	return all, nil
}
