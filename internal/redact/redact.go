// Package redact makes a copy of a snapshot that can be shown to strangers, and that is decided like the original.
package redact

import (
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Snapshot is a copy of s in which names, paths, labels and values are replaced by stand-ins, and that says what of them was kept. The patterns of
// the configuration and of policies match in it what they match in s.
func (r *Redacter) Snapshot(s *snapshot.Snapshot) *snapshot.Snapshot {
	r.reset(s)
	out := r.snapshot(s)
	r.sightings(s, out)
	out.Redaction = r.header()
	return out
}

// Secrets is a copy of s with its names, in which only the values of variables of the environment, and what records say of them, are replaced, and without
// command lines.
func (r *Redacter) Secrets(s *snapshot.Snapshot) *snapshot.Snapshot {
	r.reset(s)
	out := *s
	out.Processes = processes(s.Processes, func(id string) string { return id }, func(v *snapshot.Process) {
		v.Argv = nil
		r.digest(&v.ArgvDigest)
		r.markers(v)
	})
	marker := func(v *snapshot.Record) { v.Marker = r.value(v.Marker) }
	out.Spawns, out.Registry = mapEach(s.Spawns, marker), mapEach(s.Registry, marker)
	out.OpenSessions = mapEach(s.OpenSessions, func(v *snapshot.OpenSession) { r.words(&v.ID) })
	return &out
}

// Config is a copy of c whose exceptions say neither why nor who. What they match is a pattern of the configuration, and stays.
func (r *Redacter) Config(c *subject.Config) *subject.Config {
	out := *c
	out.Exceptions = mapEach(c.Exceptions, func(e *subject.Exception) {
		e.Why = redacted
		r.words(&e.Who)
		r.paths(&e.Tree, &e.File)
	})
	return &out
}

// reset begins a document: what a name needs depends on the projects that are in it.
func (r *Redacter) reset(s *snapshot.Snapshot) {
	r.shapes = patternsOf(r.o.Config, s.Projects, r.o.Literals, r.o.Own)
	r.kept, r.whole, r.parts = map[string]bool{}, map[string]bool{}, map[string]int{}
	clear(r.made)
}

// Begin does what Snapshot does before it copies: ID then gives the stand-ins of a copy of s, or of what s is a copy of.
func (r *Redacter) Begin(s *snapshot.Snapshot) { r.reset(s) }

// ID is the stand-in of the id of a candidate that is in the last snapshot.
func (r *Redacter) ID(id string) string { return r.id(id) }

// sightings gives the sightings of what is still the same thing the identity that it has in the copy; that of all others matches nothing.
func (r *Redacter) sightings(s, out *snapshot.Snapshot) {
	if len(s.Sightings) == 0 {
		return
	}
	config := r.o.Config
	if config == nil {
		config = &subject.Config{}
	}
	before, after := subject.Join(s, config), subject.Join(out, config)
	for id, v := range s.Sightings {
		if was := before.Identity(id).Key; was != "" && was == v.Identity {
			v.Identity = after.Identity(r.id(id)).Key
		} else {
			r.digest(&v.Identity)
		}
		out.Sightings[r.id(id)] = v
	}
}

func (r *Redacter) snapshot(s *snapshot.Snapshot) *snapshot.Snapshot {
	out := *s
	r.words(&out.Host.Name, &out.Host.User)
	r.paths(&out.Host.Home, &out.Host.Cwd)
	out.Sources = rekey(s.Sources, r.source, func(v *snapshot.Source) {
		r.paths(&v.Path)
		hide(&v.Error)
		v.Refused, v.Fetch = mapEach(v.Refused, hide), mapEach(v.Fetch, hide)
		v.Server = changed(v.Server, r.server)
	})
	out.Sessions = rekey(s.Sessions, r.id, func(v *snapshot.Session) {
		v.Source, v.Panes, v.Error = r.source(v.Source), r.panes(v.Panes), changed(v.Error, hide)
		r.words(&v.ID, &v.Name, &v.Group)
		r.digest(&v.State)
		v.Server = changed(v.Server, r.server)
		v.Popups = eachOf(v.Popups, r.member)
	})
	out.Tabs = rekey(s.Tabs, r.id, func(v *snapshot.Tab) {
		v.Source, v.Panes = r.source(v.Source), r.panes(v.Panes)
		r.words(&v.Label, &v.Workspace)
		if _, err := strconv.Atoi(v.ID); err != nil { // the number of a tab of an editor names nobody
			r.words(&v.ID)
		}
		r.digest(&v.State)
		v.Editor = changed(v.Editor, r.editor)
	})
	out.Workspaces = mapEach(s.Workspaces, func(v *snapshot.Workspace) {
		v.Source = r.source(v.Source)
		r.paths(&v.Path)
		v.Builders, v.Worktrees = mapEach(v.Builders, r.builder), mapEach(v.Worktrees, r.builder)
	})
	out.Terminals = rekey(s.Terminals, r.id, func(v *snapshot.Terminal) {
		v.Source, v.Error = r.source(v.Source), changed(v.Error, hide)
		r.words(&v.ID, &v.Role, &v.Label)
		r.paths(&v.Workspace, &v.Cwd)
		r.digest(&v.State)
		v.Below = eachOf(v.Below, r.member)
		v.Owner = changed(v.Owner, func(x *snapshot.TerminalOwner) {
			r.words(&x.ID, &x.Key)
			r.paths(&x.Worktree)
		})
	})
	out.Owners = mapEach(s.Owners, func(v *snapshot.Owner) {
		v.Source = r.source(v.Source)
		r.words(&v.Builder, &v.Terminal)
		r.paths(&v.Workspace, &v.Worktree)
	})
	out.Dirs = rekey(s.Dirs, r.id, r.dir)
	out.Processes = processes(s.Processes, r.id, r.process)
	out.Spawns, out.Registry = mapEach(s.Spawns, r.record), mapEach(s.Registry, r.record)
	out.Workers = mapEach(s.Workers, func(v *snapshot.Worker) {
		v.Source = r.source(v.Source)
		r.words(&v.ID, &v.Name)
		v.Why, v.NextCommand = redacted, redacted
		if v.Session != "" {
			v.Session = r.id(v.Session)
		}
	})
	out.Holds = mapEach(s.Holds, func(v *snapshot.Hold) {
		v.ID, v.Reason = r.id(v.ID), redacted
		r.words(&v.Owner)
	})
	out.Asked = changed(s.Asked, func(x *snapshot.Asked) { x.ID = r.id(x.ID) })
	out.Labels = rekey(s.Labels, r.id, func(*string) {})
	out.Projects = mapEach(s.Projects, r.project)
	out.OpenSessions = mapEach(s.OpenSessions, func(v *snapshot.OpenSession) {
		v.Source = r.source(v.Source)
		r.words(&v.ID, &v.Agent)
		r.paths(&v.Folder)
	})
	out.Ancestries = mapEach(s.Ancestries, func(v *snapshot.Ancestry) {
		v.Agents = mapEach(v.Agents, func(a *snapshot.AncestryAgent) { r.words(&a.Name) })
	})
	out.Sightings = rekey(s.Sightings, r.id, func(v *snapshot.Sighting) { v.Identity = redacted }) // see sightings
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

func (r *Redacter) words(all ...*string) {
	for _, s := range all {
		*s = r.word(*s)
	}
}

func (r *Redacter) paths(all ...*string) {
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

// mapEach is a changed copy of a list.
func mapEach[T any](list []T, change func(*T)) []T {
	out := slices.Clone(list)
	for i := range out {
		change(&out[i])
	}
	return out
}

// eachOf is a changed copy of a list that may be unknown.
func eachOf[T any](list *[]T, change func(*T)) *[]T {
	return changed(list, func(l *[]T) { *l = mapEach(*l, change) })
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

// processes is rekey for processes, each of which is copied before it is changed.
func processes(m map[string]*snapshot.Process, key func(string) string, change func(*snapshot.Process)) map[string]*snapshot.Process {
	return rekey(m, key, func(v **snapshot.Process) {
		changed := **v
		change(&changed)
		*v = &changed
	})
}

func (r *Redacter) record(v *snapshot.Record) {
	v.Source = r.source(v.Source)
	r.words(&v.ID, &v.Role, &v.Owner, &v.Session, &v.Server, &v.Pane, &v.Tab, &v.Label)
	v.Marker = r.value(v.Marker)
	r.paths(&v.Path)
}

// project keeps which rules are turned off, the digest of its exceptions, by which they are found again, and of its globs the parts that stand for more than one name: the others are names.
func (r *Redacter) project(v *snapshot.Project) {
	r.digest(&v.SHA256)
	r.paths(&v.Path, &v.File)
	hide(&v.Why)
	path := func(s *string) { r.paths(s) }
	v.Worktrees = mapEach(v.Worktrees, path)
	v.Protected = eachOf(v.Protected, func(glob *string) {
		parts := strings.Split(*glob, "/")
		for i, part := range parts {
			if !wildcard(part) {
				parts[i] = r.word(part)
			}
		}
		*glob = strings.Join(parts, "/")
	})
	v.Holds = eachOf(v.Holds, func(h *snapshot.ProjectHold) { *h = snapshot.ProjectHold{Path: r.path(h.Path), Reason: redacted} })
}

func (r *Redacter) server(v *snapshot.Server) { r.paths(&v.Socket) }

func (r *Redacter) member(v *snapshot.PaneProc) { r.words(&v.Name) }

func (r *Redacter) panes(list []snapshot.Pane) []snapshot.Pane {
	return mapEach(list, func(v *snapshot.Pane) {
		r.paths(&v.Cwd)
		r.words(&v.ID, &v.Terminal)
		v.Linked = mapEach(v.Linked, func(s *string) { r.words(s) })
		v.StartedAs = changed(v.StartedAs, func(s *string) { r.words(s) })
		v.Foreground, v.Session = mapEach(v.Foreground, r.member), mapEach(v.Session, r.member)
		v.Descendants, v.Carriers = mapEach(v.Descendants, r.member), mapEach(v.Carriers, r.member)
		v.Error = changed(v.Error, hide)
	})
}

// editor keeps the names of markers, as those of a process.
func (r *Redacter) editor(v *snapshot.EditorTab) {
	r.words(&v.Window, &v.Name)
	word := func(s *string) { r.words(s) }
	v.Folders = mapEach(v.Folders, func(s *string) { r.paths(s) })
	v.CreationName, v.Program = changed(v.CreationName, word), changed(v.Program, word)
	v.Codev = changed(v.Codev, func(c *snapshot.CodevTab) { r.words(&c.ID, &c.Key) })
	v.Session = mapEach(v.Session, func(p *snapshot.EditorProc) { r.words(&p.Name) })
	v.Error = changed(v.Error, hide)
}

func (r *Redacter) builder(v *snapshot.Builder) { r.words(&v.ID, &v.Key) }

func (r *Redacter) dir(v *snapshot.Dir) {
	v.Source = r.source(v.Source)
	r.words(&v.Name)
	r.paths(&v.Path, &v.Root)
	hide(&v.Error)
	hide(&v.Skipped)
	r.digest(&v.State)
	v.Holders = mapEach(v.Holders, func(h *snapshot.Holder) { r.words(&h.Name) })
	v.Pointers = eachOf(v.Pointers, func(p *snapshot.Pointer) { r.paths(&p.Path) })
	path := func(s *string) { r.paths(s) }
	v.Nested = eachOf(v.Nested, path)
	v.Content = changed(v.Content, func(c *snapshot.Content) {
		r.paths(&c.Worktree, &c.Main)
		r.words(&c.Name)
		c.ID = r.id(c.ID)
		c.Maker = changed(c.Maker, func(s *string) { r.words(s) })
	})
	v.Git = changed(v.Git, func(g *snapshot.Git) {
		r.paths(&g.Main, &g.CommonDir, &g.AdminDir, &g.Branch, &g.Upstream, &g.Followed)
		hide(&g.LandingError)
		g.Landing = changed(g.Landing, func(l *snapshot.Landing) { r.paths(&l.Into) })
		g.UntrackedPaths, g.IgnoredPaths = eachOf(g.UntrackedPaths, path), eachOf(g.IgnoredPaths, path)
		g.UnmarkedPaths = eachOf(g.UnmarkedPaths, path)
		g.DifferingPaths, g.OnlyHerePaths = eachOf(g.DifferingPaths, path), eachOf(g.OnlyHerePaths, path)
		g.Lock = changed(g.Lock, func(k *snapshot.Lock) {
			k.Text = changed(k.Text, func(s *string) { hide(s) })
			r.words(&k.Owner)
		})
		g.LeftOutPaths, g.Nested = eachOf(g.LeftOutPaths, path), eachOf(g.Nested, path)
	})
}

func (r *Redacter) process(v *snapshot.Process) {
	v.Argv = nil
	r.words(&v.Name)
	r.digest(&v.ArgvDigest)
	word, path := func(s *string) { r.words(s) }, func(s *string) { r.paths(s) }
	v.Script, v.Package = changed(v.Script, word), changed(v.Package, word)
	v.Exe, v.Cwd = changed(v.Exe, path), changed(v.Cwd, path)
	v.UnixSockets = eachOf(v.UnixSockets, func(s *string) { *s = r.path(*s) })
	r.markers(v)
}

func (r *Redacter) markers(v *snapshot.Process) {
	v.Markers = changed(v.Markers, func(m *map[string]string) {
		*m = rekey(*m, func(name string) string { return name }, func(s *string) { *s = r.value(*s) })
	})
}
