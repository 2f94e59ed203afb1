package opensessions

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Copilot keeps a folder for each session. It (seen with 1.0.102) makes session-state/<id>/inuse.<pid>.lock while its process <pid> has the session open, and writes the folder in which the
// session works into workspace.yaml beside it (cwd). With --worktree that is a worktree, while the process stays where it was started.
var Copilot = Agent{
	"copilot", []string{"COPILOT_HOME"}, ".copilot", "session-state",
	func(r reader) collectors.Reader { return copilot{r} },
}

type copilot struct{ reader }

var copilotLock = regexp.MustCompile(`^inuse\.([1-9][0-9]{0,9})\.lock$`)

func (c copilot) Read(ctx context.Context) (collectors.Part, error) {
	d, entries, err := c.list(ctx)
	if err != nil {
		return collectors.Part{}, err
	}
	var part collectors.Part
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		open, err := c.session(ctx, d, e.Name())
		if err != nil {
			return collectors.Part{}, c.failed(err)
		}
		part.Open = append(part.Open, open...)
	}
	return part, ctx.Err()
}

// session gives one record for each process that has the session open, none for a session that is closed.
func (c copilot) session(ctx context.Context, d safeopen.DirFS, id string) (open []snapshot.OpenSession, err error) {
	files, err := fs.ReadDir(d, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		lock := copilotLock.FindStringSubmatch(f.Name())
		var st unix.Stat_t
		if lock == nil || !isOwnFile(filepath.Join(d.Dir, id, f.Name()), &st) {
			continue
		}
		pid, err := strconv.Atoi(lock[1])
		if err != nil {
			continue
		}
		open = append(open, snapshot.OpenSession{Source: c.source, Agent: c.agent, ID: id, PID: pid, WrittenAt: modified(&st)})
	}
	if len(open) == 0 {
		return nil, nil
	}
	f, err := safeopen.Read(ctx, filepath.Join(d.Dir, id, "workspace.yaml"), safeopen.Want{Max: maxFile})
	var record struct {
		Cwd string `yaml:"cwd"`
	}
	if err != nil || yaml.Unmarshal(f.Data, &record) != nil {
		return open, nil // without the folder, which could not be read
	}
	at := folder(record.Cwd)
	for i := range open {
		open[i].Folder = at
	}
	return open, nil
}
