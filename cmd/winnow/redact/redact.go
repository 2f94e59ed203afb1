// Package redact makes a copy of a snapshot that can be shown to strangers.
package redact

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// redacter replaces what names a person, a machine or a project by stand-ins. Equal things get equal stand-ins within one document,
// so that it still joins; the salt is thrown away, so that nobody can try names against it.
type redacter struct {
	salt [16]byte
	// known are names that say what a thing is and not whose: shells, agents and the like.
	known map[string]bool
	// shaped finds the end of a folder's name by which it is disposable.
	shaped []*regexp.Regexp
	// helpers are the labels that say what a tab is for.
	helpers subject.Names
}

// Snapshot is a copy of s that can be shown to strangers.
func Snapshot(s *snapshot.Snapshot, helpers subject.Names) *snapshot.Snapshot {
	return newRedacter(helpers).snapshot(s)
}

func newRedacter(helpers subject.Names) *redacter {
	r := &redacter{helpers: helpers, known: map[string]bool{"": true, ".git": true, "worktrees": true, ".claude": true, "tmp": true, "proc": true, "usr": true, "bin": true}}
	rand.Read(r.salt[:])
	r.shaped = []*regexp.Regexp{regexp.MustCompile(`(?i)-[a-z]+-([0-9a-f-]{36}-)?[0-9a-f]{8}$`)}
	return r
}

func (r *redacter) word(w string) string {
	if r.known[w] || w == "" {
		return w
	}
	tail := ""
	for _, re := range r.shaped {
		if m := re.FindString(w); m != "" {
			tail = m
		}
	}
	sum := sha256.Sum256(append(r.salt[:], strings.TrimSuffix(w, tail)...))
	return "x" + hex.EncodeToString(sum[:4]) + tail
}

// label leaves of a tab's label what puts the tab in scope, so that the document is still decided alike.
func (r *redacter) label(l string) string {
	if slices.Contains(r.helpers.Exact, l) {
		return l
	}
	for _, prefix := range r.helpers.Prefix {
		if rest, ok := strings.CutPrefix(l, prefix); ok && prefix != "" {
			return prefix + r.word(rest)
		}
	}
	return r.word(l)
}

func (r *redacter) path(p string) string {
	parts := strings.Split(p, "/")
	for i, w := range parts {
		parts[i] = r.word(w)
	}
	return strings.Join(parts, "/")
}

// id rewrites a candidate's or a source's name: what stands before the first path or name is ours.
func (r *redacter) id(id string) string {
	kind, rest, ok := strings.Cut(id, ":")
	switch {
	case ok && kind == snapshot.KindDir:
		return kind + ":" + r.path(rest)
	case ok && kind == snapshot.KindProcess:
		return id
	case ok:
		return kind + ":" + r.path(rest)
	}
	return r.source(id)
}

func (r *redacter) source(name string) string {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return kind + "/" + r.path(rest)
}

func (r *redacter) snapshot(s *snapshot.Snapshot) *snapshot.Snapshot {
	out := *s
	out.Host.Name, out.Host.User = r.word(s.Host.Name), r.word(s.Host.User)
	out.Host.Home, out.Host.Cwd = r.path(s.Host.Home), r.path(s.Host.Cwd)
	out.Sources = rekey(s.Sources, r.source, func(v snapshot.Source) snapshot.Source {
		v.Path = r.path(v.Path)
		if v.Error != "" {
			v.Error = "redacted"
		}
		if v.Server != nil {
			server := *v.Server
			server.Socket = r.path(server.Socket)
			v.Server = &server
		}
		return v
	})
	out.Sessions = rekey(s.Sessions, r.id, r.session)
	out.Tabs = rekey(s.Tabs, r.id, func(v snapshot.Tab) snapshot.Tab {
		v.Source, v.Label, v.Panes = r.source(v.Source), r.label(v.Label), r.panes(v.Panes)
		return v
	})
	out.Terminals = rekey(s.Terminals, r.id, func(v snapshot.Terminal) snapshot.Terminal {
		v.Source, v.Role, v.Label = r.source(v.Source), r.word(v.Role), r.word(v.Label)
		v.Workspace, v.Cwd = r.path(v.Workspace), r.path(v.Cwd)
		if v.Owner != nil {
			owner := *v.Owner
			owner.ID, owner.Worktree = r.word(owner.ID), r.path(owner.Worktree)
			v.Owner = &owner
		}
		v.Error = redacted(v.Error)
		return v
	})
	out.Owners = nil
	for _, v := range s.Owners {
		v.Source, v.Builder = r.source(v.Source), r.word(v.Builder)
		v.Workspace, v.Worktree = r.path(v.Workspace), r.path(v.Worktree)
		out.Owners = append(out.Owners, v)
	}
	out.Dirs = rekey(s.Dirs, r.id, r.dir)
	out.Processes = rekey(s.Processes, r.id, r.process)
	out.Spawns = nil
	for _, v := range s.Spawns {
		v.Source, v.ID, v.Path = r.source(v.Source), r.word(v.ID), r.path(v.Path)
		v.Label, v.Session, v.Owner = r.word(v.Label), r.word(v.Session), r.word(v.Owner)
		out.Spawns = append(out.Spawns, v)
	}
	out.Registry = nil
	for _, v := range s.Registry {
		v.Source, v.ID, v.Path = r.source(v.Source), r.word(v.ID), r.path(v.Path)
		v.Session, v.Role, v.Marker = r.word(v.Session), r.word(v.Role), r.word(v.Marker)
		v.Server, v.Pane = r.word(v.Server), r.word(v.Pane)
		out.Registry = append(out.Registry, v)
	}
	out.Workers = nil
	for _, v := range s.Workers {
		v.ID, v.Source, v.Name, v.Why, v.NextCommand = r.word(v.ID), r.source(v.Source), r.word(v.Name), "redacted", "redacted"
		if v.Session != "" {
			v.Session = r.id(v.Session)
		}
		out.Workers = append(out.Workers, v)
	}
	out.Holds = nil
	for _, v := range s.Holds {
		v.ID, v.Owner, v.Reason = r.id(v.ID), r.word(v.Owner), "redacted"
		out.Holds = append(out.Holds, v)
	}
	if s.Asked != nil {
		asked := *s.Asked
		asked.ID = r.id(asked.ID)
		out.Asked = &asked
	}
	out.Projects = nil
	for _, v := range s.Projects {
		out.Projects = append(out.Projects, r.project(v))
	}
	out.Sightings = rekey(s.Sightings, r.id, func(v snapshot.Sighting) snapshot.Sighting {
		// The identity is made of paths and names: it cannot match any more, so the sighting keeps its times only.
		v.Identity = "redacted"
		return v
	})
	return &out
}

func rekey[V any](m map[string]V, key func(string) string, value func(V) V) map[string]V {
	if m == nil {
		return nil
	}
	out := make(map[string]V, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[key(k)] = value(m[k])
	}
	return out
}

// project keeps which rules are turned off. A pattern is a path, of which what is special stays.
func (r *redacter) project(v snapshot.Project) snapshot.Project {
	v.Path, v.File, v.SHA256 = r.path(v.Path), r.path(v.File), ""
	if v.Why != "" {
		v.Why = "redacted"
	}
	v.Worktrees = slices.Clone(v.Worktrees)
	for i := range v.Worktrees {
		v.Worktrees[i] = r.path(v.Worktrees[i])
	}
	if v.Protected != nil {
		globs := slices.Clone(*v.Protected)
		for i, g := range globs {
			parts := strings.Split(g, "/")
			for k, part := range parts {
				if strings.ContainsAny(part, "*?") { // a part of a name cannot be replaced alike: any name stands for it
					parts[k] = strings.Repeat("*", min(2, max(1, strings.Count(part, "**")+1)))
				} else {
					parts[k] = r.word(part)
				}
			}
			globs[i] = strings.Join(parts, "/")
		}
		v.Protected = &globs
	}
	if v.Holds != nil {
		holds := slices.Clone(*v.Holds)
		for i := range holds {
			holds[i] = snapshot.ProjectHold{Path: r.path(holds[i].Path), Reason: "redacted"}
		}
		v.Holds = &holds
	}
	return v
}

func (r *redacter) session(v snapshot.Session) snapshot.Session {
	v.Source, v.Name, v.Group = r.source(v.Source), r.word(v.Name), r.word(v.Group)
	if v.Server != nil {
		srv := *v.Server
		srv.Socket = r.path(srv.Socket)
		v.Server = &srv
	}
	v.Panes, v.Error = r.panes(v.Panes), redacted(v.Error)
	return v
}

func (r *redacter) panes(list []snapshot.Pane) []snapshot.Pane {
	out := slices.Clone(list)
	for i := range out {
		out[i].Cwd = r.path(out[i].Cwd)
		out[i].Error = redacted(out[i].Error)
	}
	return out
}

// redacted leaves of an error only whether there is one.
func redacted(text *string) *string {
	if text == nil || *text == "" {
		return text
	}
	return new("redacted")
}

// paths redacts a list that may be unknown.
func (r *redacter) paths(list *[]string) *[]string {
	if list == nil {
		return nil
	}
	out := slices.Clone(*list)
	for i := range out {
		out[i] = r.path(out[i])
	}
	return &out
}

func (r *redacter) dir(v snapshot.Dir) snapshot.Dir {
	v.Source, v.Name, v.Path, v.Root = r.source(v.Source), r.word(v.Name), r.path(v.Path), r.path(v.Root)
	v.Nested = r.paths(v.Nested)
	if v.Error != "" {
		v.Error = "redacted"
	}
	if v.Git != nil {
		g := *v.Git
		g.Main, g.CommonDir, g.AdminDir = r.path(g.Main), r.path(g.CommonDir), r.path(g.AdminDir)
		g.Branch, g.Upstream = r.path(g.Branch), r.path(g.Upstream)
		g.UntrackedPaths, g.IgnoredPaths = r.paths(g.UntrackedPaths), r.paths(g.IgnoredPaths)
		g.LeftOutPaths, g.Nested = r.paths(g.LeftOutPaths), r.paths(g.Nested)
		v.Git = &g
	}
	return v
}

func (r *redacter) process(v snapshot.Process) snapshot.Process {
	v.Argv, v.ArgvDigest = nil, ""
	if v.Exe != nil {
		// The program's own name stays, its folder does not.
		v.Exe = new(filepath.Join(r.path(filepath.Dir(*v.Exe)), filepath.Base(*v.Exe)))
	}
	if v.Cwd != nil {
		v.Cwd = new(r.path(*v.Cwd))
	}
	if v.Markers != nil {
		m := make(map[string]string, len(*v.Markers))
		for k, val := range *v.Markers {
			m[k] = r.word(val)
		}
		v.Markers = &m
	}
	return v
}
