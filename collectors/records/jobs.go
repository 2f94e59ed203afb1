package records

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// JobsFolder gives the folder of this user's background jobs of Claude Code, as ShepherdStore does: jobs where CLAUDE_CONFIG_DIR says, or in ~/.claude.
func JobsFolder(env func(string) string, home string) (path string, ok bool) {
	return store(filepath.Join(cmp.Or(env("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "jobs"))
}

// short is the name of a job, and of its folder.
var short = regexp.MustCompile(`^[a-f0-9]{8}$`)

// readJobs reads the background jobs of Claude Code (seen with 2.1.332): jobs/<short>/state.json, in jobs/pins.json which of them a person pinned, and in
// daemon/roster.json beside the folder which process works for which. The files are replaced whole. A folder without a state is no job.
//
// A job is over when its state is a word for it, nothing of it is at work or waits, and nothing will wake it or start it again. It can be resumed
// then, but its worktree is one that Claude Code itself removes when it holds nothing. What it asks for is all that it sees: no prompt, no name, no answer.
func readJobs(ctx context.Context, path string, o Options) (all []snapshot.Record, bad int, err error) {
	dir, err := safeopen.Path(path)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = fs.ReadDir(safeopen.DirFS{Dir: dir, Context: ctx, MaxEntries: MaxKept}, ".")
	}
	if err != nil {
		return nil, 0, explain(ctx, path, err)
	}
	var failed Bad
	var pinned []string
	failed.document(ctx, filepath.Join(dir, "pins.json"), func(data []byte) error { return json.Unmarshal(data, &pinned) })
	var roster struct {
		Workers map[string]struct {
			PID int `json:"pid"`
		} `json:"workers"`
	}
	failed.document(ctx, filepath.Join(filepath.Dir(dir), "daemon", "roster.json"), func(data []byte) error { return json.Unmarshal(data, &roster) })
	for _, entry := range entries {
		id := entry.Name()
		if !short.MatchString(id) {
			continue
		}
		failed.document(ctx, filepath.Join(dir, id, "state.json"), func(data []byte) error {
			e, err := ofJob(id, data, o)
			if err != nil {
				return err
			}
			if pid := roster.Workers[id].PID; pid > 0 {
				e.PID = &pid
			}
			if slices.Contains(pinned, id) {
				e.Retained = new(true)
			}
			all = append(all, e)
			return nil
		})
	}
	return all, failed.Count, failed.Err
}

// document reads a file that may be missing.
func (b *Bad) document(ctx context.Context, path string, read func([]byte) error) {
	data, err := Load(ctx, path)
	switch {
	case errors.Is(err, collectors.ErrAbsent):
		return
	case err != nil:
		b.Add("read the jobs", err)
		return
	}
	if err = read(data); err != nil {
		b.Add("read "+path, err)
	}
}

// ofJob reads what a job's state says.
func ofJob(id string, data []byte, o Options) (e snapshot.Record, err error) {
	rec := Record{}
	if rec.Fields, err = Object(data); err != nil {
		return e, err
	}
	works := false
	for _, name := range []string{"selfWake", "routine", "reapedMidWorkAt", "reapedUnsettledAt", "inFlight.tasks", "inFlight.queued", "inFlight.kinds"} {
		found, err := dotted(rec.Fields, name)
		if err != nil {
			return e, err
		}
		works = works || !slices.Contains([]string{"", "null", "false", "0", "[]"}, string(bytes.TrimSpace(found)))
	}
	e = snapshot.Record{
		ID: id, Status: status(readField(&err, rec.Text, "state")), Role: "job", Path: readField(&err, rec.Path, "worktreePath"),
		StartedAt: readField(&err, rec.Time, "createdAt"),
	}
	cwd, last, first := readField(&err, rec.Path, "cwd"), readField(&err, rec.Time, "lastTerminalAt"), readField(&err, rec.Time, "firstTerminalAt")
	works = works || readField(&err, rec.Text, "tempo") == "active"
	if err == nil && (e.Status == "" || cwd == "") {
		err = errors.New("it has no state or no cwd")
	}
	if e.Path == "" && inLinked(cwd) {
		e.Path = cwd
	}
	if e.Path != "" {
		e.Own = new(strings.Contains(e.Path, "/.claude/worktrees/"))
	}
	ended := cmp.Or(last, first)
	e.Terminal = new(o.ended(e.Status) && !works && ended != nil && e.StartedAt != nil && !ended.Before(*e.StartedAt))
	if *e.Terminal {
		e.EndedAt = ended
	}
	return e, err
}

// inLinked reports whether a folder lies in a linked worktree. Nothing ends a main checkout, nor does a job that works in one, or in a person's home, own
// what else does.
func inLinked(folder string) bool {
	for up := folder; ; up = filepath.Dir(up) {
		if info, err := os.Lstat(filepath.Join(up, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return err != nil || !info.IsDir()
		} else if up == filepath.Dir(up) {
			return false
		}
	}
}
