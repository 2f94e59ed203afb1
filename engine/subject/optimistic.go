package subject

import (
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Optimistic is a snapshot of the folders alone, with the agents' open sessions, as if the dear questions about each had been answered in the way that speaks most for reaping it: no process uses it, git
// says that it holds nothing, no repository lies in it, and its work has landed. All that is cheap to know stands as it was read. So a folder that the shipped rules
// spare here they spare with all answers, and need no question.
//
// A folder in which something may go that can be made again has with it a folder of that kind as a candidate (Part), for which there
// is no other until git was asked.
//
// What it gives is read-only, and shares memory with s. Facts that could not be read stay unknown.
func Optimistic(s *snapshot.Snapshot, c *Config) *snapshot.Snapshot {
	out := &snapshot.Snapshot{
		Schema: s.Schema, TakenAt: s.TakenAt, Host: s.Host, Sources: s.Sources, Spawns: s.Spawns, Registry: s.Registry, Holds: s.Holds,
		OpenSessions: s.OpenSessions, Processes: withSessions(s, c), Asked: s.Asked, Projects: s.Projects, Dirs: make(map[string]snapshot.Dir, len(s.Dirs)),
	}
	for id, d := range s.Dirs {
		best := bestDir(d)
		out.Dirs[id] = best
		if id, part, ok := bestPart(s, best, c); ok {
			out.Dirs[id] = part
		}
	}
	return out
}

// bestDir is a folder with the best answers. Each is the one by which no rule under policies/reap finds less, and none under policies/protect objects more, than by
// any other; a test holds every rule to that.
func bestDir(d snapshot.Dir) snapshot.Dir {
	d.Skipped = ""
	d.SetHolders(nil, true)
	d.Pointers = new([]snapshot.Pointer{})
	if d.Checkout != nil && !*d.Checkout {
		d.Nested = new([]string{})
	}
	if d.Git == nil {
		return d
	}
	g := *d.Git
	none := func() *[]string { return new([]string{}) }
	g.Dirty, g.Untracked, g.Ignored, g.Staged = new(0), new(0), new(0), new(0)
	g.Same, g.LeftOut, g.Scaffold, g.Reports = new(0), new(0), new(0), new(0)
	g.UntrackedPaths, g.IgnoredPaths, g.LeftOutPaths, g.DifferingPaths, g.OnlyHerePaths, g.UnmarkedPaths = none(), none(), none(), none(), none(), none()
	g.Nested = none()
	g.Elsewhere, g.LandingError, g.ForgeAsked, g.ForgeError = new(true), "", new(true), ""
	if g.Upstream != "" {
		g.Landing = &snapshot.Landing{By: "tree", Into: g.Upstream, Commits: []string{}}
	}
	d.Git = &g
	return d
}

// Part is the name of the folder that stands, in what Optimistic gives, for all those in a worktree that can be made again: one that no glob is about.
const Part = ".winnow-part"

// PartID is its id, for a worktree by its path.
func PartID(worktree string) string { return snapshot.KindDir + ":" + worktree + "/" + Part }

// bestPart is the folder that may go in a worktree while that stays. It is as old as it can be: as its worktree. Since when nothing has happened in that is git's last use of it; where
// the worktree's own modification hides when that was (a folder that comes or goes in it is no work), it may be as long ago as the worktree is old.
func bestPart(s *snapshot.Snapshot, d snapshot.Dir, c *Config) (string, snapshot.Dir, bool) {
	g := d.Git
	if g == nil || g.Worktree == nil || !*g.Worktree || d.Gone != nil && *d.Gone || len(c.Rebuildable) == 0 {
		return "", snapshot.Dir{}, false
	}
	path, active := d.Path+"/"+Part, d.ActiveAt
	if active != nil && d.ModifiedAt != nil && active.Equal(*d.ModifiedAt) {
		active = d.BornAt
	}
	if active == nil || c.TrimAfter <= 0 || s.TakenAt.Sub(*active).Seconds() < c.TrimAfter {
		return "", snapshot.Dir{}, false // it is looked for nowhere
	}
	part := snapshot.Dir{
		Source: d.Source, Name: Part, Path: path, Root: d.Root, ModifiedAt: d.BornAt, ActiveAt: active, BornAt: d.BornAt, Symlink: new(false),
		SharedOutside: d.SharedOutside, Device: d.Device, Inode: d.Inode, MountID: d.MountID, UID: d.UID, Mounts: new(0), Empty: new(false), Checkout: new(false), Nested: new([]string{}),
		Content: &snapshot.Content{
			Worktree: d.Path, ID: snapshot.KindDir + ":" + d.Path, Name: d.Name, Main: g.Main, Linked: g.Worktree, Registered: g.Registered, Pattern: c.Rebuildable[0],
			Ignored: new(true), Maker: new("a tool"), Tracked: new(0), Bytes: new(int64(1) << 60), Others: new(0),
		},
	}
	part.SetHolders(nil, true)
	part.Pointers = d.Pointers
	if g.Locked != nil {
		part.Content.Locked = new(*g.Locked && !g.Lock.Void())
	}
	return PartID(d.Path), part, true
}
