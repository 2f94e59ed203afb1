package opensessions

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

const (
	// maxChat is more than the chat of any session has, maxStart more than stands in it before the folder of its first message.
	maxChat  = 4 << 30
	maxStart = 64 << 10
	// qwenWorktrees is where Qwen Code makes worktrees, below a repository, and qwenMarker the file in each that names the session which made it.
	qwenWorktrees = ".qwen/worktrees"
	qwenMarker    = ".qwen-session"
)

// Qwen is Qwen Code, which keeps a folder for each project.
//
// It (seen with 0.24.4) keeps projects/<folder>/chats/<session>.jsonl, to which it appends with each message, each with
// the folder in which the session was begun (cwd), and rewrites <session>.runtime.json beside it when a session opens in
// a terminal. A session that goes into a worktree (its tool enter_worktree) writes that into <session>.worktree.json
// (worktreePath) while its process stays where it was started; qwen --acp and qwen serve have sessions of any folder. A
// worktree that a session made for itself or for a subagent has the session's id in .qwen-session. Only sessions in a
// terminal write down their process (~/.qwen/sessions/PID.json), so that is not read.
var Qwen = Agent{
	"qwen", []string{"QWEN_RUNTIME_DIR", "QWEN_HOME"}, ".qwen", "projects", readWritten(projects(qwenProject)),
}

// qwenProject are the sessions of one project: the one that was written last in the folder that all of them began in, and those that work in worktrees.
func qwenProject(ctx context.Context, d safeopen.DirFS, project string, files map[string]time.Time) (all []session, err error) {
	chats := filepath.Join(project, "chats")
	ids := map[string]time.Time{}
	for file, at := range files {
		id, _, _ := strings.Cut(file, ".")
		if at.After(ids[id]) {
			ids[id] = at
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	latest := slices.SortedFunc(maps.Keys(ids), func(a, b string) int { return ids[b].Compare(ids[a]) })
	root := ""
	for _, id := range latest {
		if root = begun(filepath.Join(d.Dir, chats, id+".jsonl")); root == "" { // a session without a message yet
			root = text(d, filepath.Join(chats, id+".runtime.json"), "work_dir")
		}
		if root != "" {
			break
		}
	}
	all = append(all, session{latest[0], root, ids[latest[0]]})
	for _, id := range latest {
		if at := text(d, filepath.Join(chats, id+".worktree.json"), "worktreePath"); at != "" {
			all = append(all, session{id, at, ids[id]})
		}
	}
	made, err := qwenMade(ctx, root, ids)
	return append(all, made...), err
}

// qwenMade are the worktrees of a repository that open sessions made.
func qwenMade(ctx context.Context, root string, ids map[string]time.Time) (all []session, err error) {
	if !filepath.IsAbs(root) {
		return nil, nil
	}
	d := safeopen.DirFS{Dir: filepath.Join(root, qwenWorktrees), Want: safeopen.Want{Max: maxFile}, Context: ctx, MaxEntries: maxFiles}
	entries, err := fs.ReadDir(d, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		id, err := fs.ReadFile(d, filepath.Join(e.Name(), qwenMarker))
		if at := ids[string(id)]; err == nil && !at.IsZero() {
			all = append(all, session{string(id), filepath.Join(d.Dir, e.Name()), at})
		}
	}
	return all, err
}

// text is a text of a small file's document, "" where that could not be read.
func text(d safeopen.DirFS, file, key string) string {
	data, err := fs.ReadFile(d, file)
	record := map[string]any{}
	if err != nil || json.Unmarshal(data, &record) != nil {
		return ""
	}
	value, _ := record[key].(string)
	return value
}

// begun is the folder in which a chat's first message was written, "" where that could not be read. The message itself stands behind it, and may be long.
func begun(path string) string {
	f, err := safeopen.Open(path, safeopen.Want{Max: maxChat})
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	in := json.NewDecoder(io.LimitReader(f, maxStart))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for in.More() {
		key, err := in.Token()
		var value any
		if err != nil || in.Decode(&value) != nil {
			return ""
		}
		if at, is := value.(string); is && key == "cwd" {
			return at
		}
	}
	return ""
}
