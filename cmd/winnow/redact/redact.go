// Package redact makes a copy of a snapshot that can be shown to strangers.
package redact

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// redacter replaces what names a person, a machine or a project by stand-ins. Equal things get equal stand-ins within one document,
// so that it still joins; the salt is thrown away, so that names cannot be tried against it.
type redacter struct {
	salt [16]byte
	// known are names that say what a thing is and not whose: shells, agents and the like.
	known map[string]bool
	// helpers are the labels that say what a tab is for.
	helpers subject.Names
}

// Snapshot is a copy of s that can be shown to strangers.
func Snapshot(s *snapshot.Snapshot, helpers subject.Names) *snapshot.Snapshot {
	r := &redacter{helpers: helpers, known: map[string]bool{"": true, ".git": true, "worktrees": true, ".claude": true, "tmp": true, "proc": true, "usr": true, "bin": true}}
	rand.Read(r.salt[:])
	return r.snapshot(s)
}

// shaped finds the end of a folder's name by which it is disposable.
var shaped = regexp.MustCompile(`(?i)-[a-z]+-([0-9a-f-]{36}-)?[0-9a-f]{8}$`)

func (r *redacter) word(w string) string {
	if r.known[w] || w == "" {
		return w
	}
	tail := shaped.FindString(w)
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
	case !ok:
		return r.source(id)
	case kind == snapshot.KindProcess:
		return id
	}
	return kind + ":" + r.path(rest)
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
	r.words(&out.Host.Name, &out.Host.User)
	r.paths(&out.Host.Home, &out.Host.Cwd)
	out.Sources = rekey(s.Sources, r.source, func(v *snapshot.Source) {
		r.paths(&v.Path)
		hide(&v.Error)
		v.Refused, v.Fetch = each(v.Refused, hide), each(v.Fetch, hide)
		v.Server = changed(v.Server, func(x *snapshot.Server) { r.paths(&x.Socket) })
	})
	out.Sessions = rekey(s.Sessions, r.id, func(v *snapshot.Session) {
		v.Source, v.Panes, v.Error = r.source(v.Source), r.panes(v.Panes), changed(v.Error, hide)
		r.words(&v.Name, &v.Group)
		v.Server = changed(v.Server, func(x *snapshot.Server) { r.paths(&x.Socket) })
	})
	out.Tabs = rekey(s.Tabs, r.id, func(v *snapshot.Tab) {
		v.Source, v.Label, v.Panes = r.source(v.Source), r.label(v.Label), r.panes(v.Panes)
	})
	out.Terminals = rekey(s.Terminals, r.id, func(v *snapshot.Terminal) {
		v.Source, v.Error = r.source(v.Source), changed(v.Error, hide)
		r.words(&v.Role, &v.Label)
		r.paths(&v.Workspace, &v.Cwd)
		v.Owner = changed(v.Owner, func(x *snapshot.TerminalOwner) {
			r.words(&x.ID)
			r.paths(&x.Worktree)
		})
	})
	out.Owners = each(s.Owners, func(v *snapshot.Owner) {
		v.Source = r.source(v.Source)
		r.words(&v.Builder)
		r.paths(&v.Workspace, &v.Worktree)
	})
	out.AgentSessions = each(s.AgentSessions, func(v *snapshot.AgentSession) { v.ID = r.id(v.ID) })
	out.Dirs = rekey(s.Dirs, r.id, r.dir)
	out.Processes = rekey(s.Processes, r.id, r.process)
	out.Spawns, out.Registry = each(s.Spawns, r.record), each(s.Registry, r.record)
	out.Workers = each(s.Workers, func(v *snapshot.Worker) {
		v.Source = r.source(v.Source)
		r.words(&v.ID, &v.Name)
		v.Why, v.NextCommand = redacted, redacted
		if v.Session != "" {
			v.Session = r.id(v.Session)
		}
	})
	out.Holds = each(s.Holds, func(v *snapshot.Hold) {
		v.ID, v.Reason = r.id(v.ID), redacted
		r.words(&v.Owner)
	})
	out.Asked = changed(s.Asked, func(x *snapshot.Asked) { x.ID = r.id(x.ID) })
	out.Projects = each(s.Projects, r.project)
	// The identity is made of paths and names: it cannot match any more, so the sighting keeps its times only.
	out.Sightings = rekey(s.Sightings, r.id, func(v *snapshot.Sighting) { v.Identity = redacted })
	return &out
}

// redacted stands for a text that may name anything.
const redacted = "redacted"

// hide leaves of a text only whether there is one.
func hide(s *string) {
	if *s != "" {
		*s = redacted
	}
}

func (r *redacter) words(all ...*string) {
	for _, s := range all {
		*s = r.word(*s)
	}
}

func (r *redacter) paths(all ...*string) {
	for _, s := range all {
		*s = r.path(*s)
	}
}

// changed is a changed copy of what may be unknown.
func changed[T any](v *T, change func(*T)) *T {
	if v == nil {
		return nil
	}
	out := *v
	change(&out)
	return &out
}

// each is a changed copy of a list.
func each[T any](list []T, change func(*T)) []T {
	out := slices.Clone(list)
	for i := range out {
		change(&out[i])
	}
	return out
}

// eachOf is a changed copy of a list that may be unknown.
func eachOf[T any](list *[]T, change func(*T)) *[]T {
	return changed(list, func(l *[]T) { *l = each(*l, change) })
}

func rekey[V any](m map[string]V, key func(string) string, change func(*V)) map[string]V {
	if m == nil {
		return nil
	}
	out := make(map[string]V, len(m))
	for k, v := range m {
		change(&v)
		out[key(k)] = v
	}
	return out
}

func (r *redacter) record(v *snapshot.Record) {
	v.Source, v.Label = r.source(v.Source), r.label(v.Label)
	r.words(&v.ID, &v.Role, &v.Owner, &v.Session, &v.Server, &v.Pane, &v.Marker)
	r.paths(&v.Path)
}

// project keeps which rules are turned off. A pattern is a path, of which what is special stays.
func (r *redacter) project(v *snapshot.Project) {
	v.SHA256 = ""
	r.paths(&v.Path, &v.File)
	hide(&v.Why)
	path := func(s *string) { r.paths(s) }
	v.Worktrees = each(v.Worktrees, path)
	v.Protected = eachOf(v.Protected, func(glob *string) {
		parts := strings.Split(*glob, "/")
		for k, part := range parts {
			if strings.ContainsAny(part, "*?") { // a part of a name cannot be replaced alike: any name stands for it
				parts[k] = strings.Repeat("*", min(2, max(1, strings.Count(part, "**")+1)))
			} else {
				parts[k] = r.word(part)
			}
		}
		*glob = strings.Join(parts, "/")
	})
	v.Holds = eachOf(v.Holds, func(h *snapshot.ProjectHold) { *h = snapshot.ProjectHold{Path: r.path(h.Path), Reason: redacted} })
}

func (r *redacter) panes(list []snapshot.Pane) []snapshot.Pane {
	return each(list, func(v *snapshot.Pane) {
		r.paths(&v.Cwd)
		v.Error = changed(v.Error, hide)
	})
}

func (r *redacter) dir(v *snapshot.Dir) {
	v.Source = r.source(v.Source)
	r.words(&v.Name)
	r.paths(&v.Path, &v.Root)
	hide(&v.Error)
	path := func(s *string) { r.paths(s) }
	v.Nested = eachOf(v.Nested, path)
	v.Content = changed(v.Content, func(c *snapshot.Content) {
		r.paths(&c.Worktree, &c.Main)
		r.words(&c.Name)
		c.ID = r.id(c.ID)
	})
	v.Git = changed(v.Git, func(g *snapshot.Git) {
		r.paths(&g.Main, &g.CommonDir, &g.AdminDir, &g.Branch, &g.Upstream)
		hide(&g.LandingError)
		g.Landing = changed(g.Landing, func(l *snapshot.Landing) { r.paths(&l.Into) })
		g.UntrackedPaths, g.IgnoredPaths = eachOf(g.UntrackedPaths, path), eachOf(g.IgnoredPaths, path)
		g.DifferingPaths, g.OnlyHerePaths = eachOf(g.DifferingPaths, path), eachOf(g.OnlyHerePaths, path)
		g.Lock = changed(g.Lock, func(k *snapshot.Lock) {
			k.Text = changed(k.Text, func(s *string) { hide(s) })
			r.words(&k.Owner)
		})
		g.LeftOutPaths, g.Nested = eachOf(g.LeftOutPaths, path), eachOf(g.Nested, path)
	})
}

func (r *redacter) process(v *snapshot.Process) {
	v.Argv, v.ArgvDigest = nil, ""
	// The program's own name stays, its folder does not.
	v.Exe = changed(v.Exe, func(s *string) { *s = filepath.Join(r.path(filepath.Dir(*s)), filepath.Base(*s)) })
	v.Cwd = changed(v.Cwd, func(s *string) { r.paths(s) })
	v.Markers = changed(v.Markers, func(m *map[string]string) {
		*m = rekey(*m, func(name string) string { return name }, func(s *string) { r.words(s) })
	})
}
