package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/text"
)

// projects writes into a snapshot which projects the user trusts and what these keep. A list that cannot be read is a source that
// failed: what it keeps is not known then.
func (a *Looker) projects(ctx context.Context, s *snapshot.Snapshot, sc sources.Scope) {
	store := project.Store{State: a.Cfg.State}
	trusted, err := store.All(ctx)
	for _, t := range trusted {
		p := inForce(ctx, t)
		worktrees, e := project.Worktrees(ctx, t.Path)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w; winnow trust --revoke %s does without it", t.Path, e, text.Quote(t.Path)))
		}
		p.Worktrees = worktrees
		s.Projects = append(s.Projects, p)
	}
	if err != nil || len(trusted) > 0 {
		s.Sources[snapshot.Projects] = snapshot.Source{Kind: snapshot.Projects, Status: snapshot.OK, Path: filepath.Join(a.Cfg.State, "trusted"), Seen: len(trusted)}
	}
	if err != nil {
		a.fail(s, snapshot.Projects, snapshot.Projects, err)
	}
	if sc.ID == "" {
		s.Projects = append(s.Projects, untrusted(s)...)
	}
	slices.SortFunc(s.Projects, func(a, b snapshot.Project) int { return strings.Compare(a.Path, b.Path) })
}

// inForce is a trusted project as a snapshot has it: what was trusted, and how the file is by now.
func inForce(ctx context.Context, t project.Trusted) snapshot.Project {
	keeps, off := append([]snapshot.Keep{}, t.Says.Protected...), t.Says.Off()
	p := snapshot.Project{Path: t.Path, File: ProjectFile(t.Path), SHA256: t.SHA256, Keeps: &keeps, Off: &off}
	p.State, p.Why = t.State(ctx)
	return p
}

// untrusted are the repositories of folders in the snapshot that bring a file which was never trusted. It is not opened.
func untrusted(s *snapshot.Snapshot) []snapshot.Project {
	mains := map[string]bool{}
	for _, d := range s.Dirs {
		if d.Git != nil && d.Git.Main != "" {
			mains[d.Git.Main] = true
		}
	}
	var out []snapshot.Project
	for _, main := range slices.Sorted(maps.Keys(mains)) {
		if slices.ContainsFunc(s.Projects, func(p snapshot.Project) bool { return p.Path == main }) {
			continue
		}
		if _, err := os.Lstat(ProjectFile(main)); errors.Is(err, fs.ErrNotExist) || err != nil {
			continue
		}
		out = append(out, snapshot.Project{Path: main, File: ProjectFile(main), State: snapshot.ProjectUntrusted,
			Why: "its file is not trusted, so it has no effect; winnow trust shows it"})
	}
	return out
}

// ProjectFile is where the file of a repository's own lies, by the path of its main checkout.
func ProjectFile(main string) string { return filepath.Join(main, project.Folder, project.Name) }

// Targets are what may change something of what a sweep saw: folders of candidates, records and sockets, and the processes that matter, agents first.
func (l *Looker) Targets(s *snapshot.Snapshot, b *Fingerprint) wake.Targets {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, root := range l.Cfg.Collect.Dirs.Roots {
		if !strings.ContainsAny(root, "*?[") {
			folders[root] = true
		}
	}
	for _, d := range s.Dirs {
		if d.Root != "" {
			folders[d.Root] = true
		}
		if d.Git != nil && d.Git.CommonDir != "" {
			folders[filepath.Join(d.Git.CommonDir, "worktrees")] = true
		}
	}
	for _, src := range s.Sources {
		switch src.Kind {
		case "ledger", "processes", "dirs":
		case "tmux":
			if src.Path != "" {
				folders[filepath.Dir(src.Path)] = true
			}
		default:
			if filepath.IsAbs(src.Path) {
				files[src.Path] = true
			}
		}
	}
	t := wake.Targets{Folders: slices.Sorted(maps.Keys(folders)), Files: slices.Sorted(maps.Keys(files))}
	if b == nil {
		return t
	}
	up := host.Now().Up
	first := func(pid int) int {
		if b.agents[pid] {
			return 0
		}
		return 1
	}
	for _, pid := range slices.SortedFunc(maps.Keys(b.Known), func(x, y int) int { return cmp.Or(first(x)-first(y), x-y) }) {
		if b.Tells(pid, up) {
			t.Processes = append(t.Processes, wake.Target{PID: pid, Start: b.Known[pid].Start})
		}
	}
	return t
}

// Passing is for how long a process must have run, in seconds, to be worth a sweep when it ends while what started it lives.
const Passing = 60

// Tells reports whether the end of a process that matters is worth a sweep, at that many seconds since boot: that of an agent, of what a pane was opened with, of what nothing else
// here started, and of what has run for a while. An agent at work starts and ends a process every few seconds, and none of these ends is news while it lives.
func (b *Fingerprint) Tells(pid int, up *float64) bool {
	st := b.Known[pid]
	_, below := b.Known[st.Parent]
	return b.agents[pid] || b.shells[pid] || !below || up == nil || *up-float64(st.Start)/proc.UserHZ >= Passing
}
