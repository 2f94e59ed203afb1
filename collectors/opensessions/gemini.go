package opensessions

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// GeminiFolder is where Gemini CLI keeps a folder for each project, and false where there is no such folder.
func GeminiFolder(env func(string) string, home string) (string, bool) {
	return place(env, "GEMINI_CLI_HOME", home, ".gemini/tmp")
}

// GeminiSource is the source agents/<name> for such a folder.
//
// Gemini CLI (seen with 0.61.0) appends to tmp/<project>/chats/session-*.jsonl with each message, from the moment a session opens. The folder in which the
// session works is in tmp/<project>/.project_root. gemini --worktree goes into its worktree; gemini --acp has sessions of any folder, and stays where it
// was started. No record names a process.
func GeminiSource(name, path string) collectors.Source {
	return writtenSource("gemini", name, path, projects(gemini))
}

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
