package subject

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"winnow/engine/snapshot"
)

// project is one whose file somebody trusted, with what all its candidates have in common.
type project struct {
	main      string
	worktrees []string
	says      Project
}

func indexProjects(s *snapshot.Snapshot) []project {
	var out []project
	for i := range s.Projects {
		p := &s.Projects[i]
		if p.State == snapshot.ProjectUntrusted {
			continue
		}
		one := project{main: clean(p.Path), says: Project{Path: p.Path, File: p.File, Off: p.Off}}
		for _, w := range p.Worktrees {
			one.worktrees = append(one.worktrees, clean(w))
		}
		one.says.Keeps, one.says.Above = keeps(p)
		out = append(out, one)
	}
	return out
}

// keeps are a project's globs and holds in one list, and globs over the folders in which what they mean lies; nil where they are not known.
func keeps(p *snapshot.Project) (*[]Keep, *[]string) {
	if p.Protected == nil || p.Holds == nil || slices.Contains(*p.Protected, "") || slices.ContainsFunc(*p.Holds, func(h snapshot.ProjectHold) bool { return h.Path == "" }) {
		return nil, nil
	}
	all, above := []Keep{}, []string{}
	add := func(k Keep) {
		all = append(all, k)
		if rest, ok := strings.CutSuffix(k.Glob, "/**"); ok { // the folder itself with what is in it
			all = append(all, Keep{Glob: rest, Reason: k.Reason})
		}
		parts := strings.Split(k.Glob, "/")
		for n := 1; n < len(parts); n++ {
			above = append(above, strings.Join(parts[:n], "/"))
		}
	}
	for _, glob := range *p.Protected {
		add(Keep{Glob: glob})
	}
	for _, h := range *p.Holds {
		add(Keep{Glob: h.Path, Reason: h.Reason})
	}
	slices.Sort(above)
	above = slices.Compact(above)
	return &all, &above
}

// projectsOf are the projects in which a candidate lies, or may lie because where it is, or where the project is, is not known.
func (j *Joined) projectsOf(sub *Subject) []Project {
	if len(j.projects) == 0 {
		return nil
	}
	places, known := j.placesOf(sub)
	var out []Project
	for i := range j.projects {
		p := &j.projects[i]
		var names []string
		for _, at := range places {
			names = append(names, p.names(at)...)
		}
		if d := sub.Dir; d != nil && d.Git != nil && d.Git.Main != "" && clean(d.Git.Main) == p.main && d.Path != "" && len(names) == 0 {
			names = append(names, path.Base(clean(d.Path)))
		}
		if len(names) == 0 && known && p.main != "" {
			continue
		}
		one := p.says
		if len(names) > 0 {
			slices.Sort(names)
			names = slices.Compact(names)
			one.Places = &names
		}
		if !known || p.main == "" { // what is known of it does not say where else it is
			one.Places = nil
		}
		out = append(out, one)
	}
	return out
}

// placesOf are the folders in which a candidate is, and whether that is all that it could be in.
func (j *Joined) placesOf(sub *Subject) (places []string, known bool) {
	known = true
	add := func(p string) {
		if p = clean(p); p == "" {
			known = false
			return
		}
		places = append(places, p)
	}
	inPanes := func(panes []snapshot.Pane) {
		known = known && len(panes) > 0
		for i := range panes {
			add(panes[i].Cwd)
		}
	}
	switch {
	case sub.Dir != nil:
		add(sub.Dir.Path)
	case sub.Process != nil:
		cwd := sub.Process.Cwd
		if cwd == nil {
			return nil, false
		}
		add(strings.TrimSuffix(*cwd, " (deleted)"))
		for _, n := range j.procs.under(j.procs.byID[sub.ID]) { // they end with it
			add(strings.TrimSuffix(cwdOf(n.p), " (deleted)"))
		}
	case sub.Session != nil:
		inPanes(sub.Session.Panes)
	case sub.Tab != nil:
		inPanes(sub.Tab.Panes)
	case sub.Terminal != nil:
		add(j.cwdOf(sub.Terminal))
		if sub.Terminal.Workspace != "" {
			add(sub.Terminal.Workspace)
		}
		if o := sub.Terminal.Owner; o != nil && o.Worktree != "" {
			add(o.Worktree)
		}
	}
	return places, known
}

// cwdOf is where a terminal is: what its store says, or else the working directory of its own process.
func (j *Joined) cwdOf(t *snapshot.Terminal) string {
	if t.Cwd != "" || t.PID == nil || t.StartTicks == nil {
		return t.Cwd
	}
	if p := j.snap.Processes[fmt.Sprintf("%s:%d@%d", snapshot.KindProcess, *t.PID, *t.StartTicks)]; p.Cwd != nil {
		return strings.TrimSuffix(*p.Cwd, " (deleted)")
	}
	return ""
}

// names are what a place is called in a project: relative to the main checkout, and under the name of the worktree that it lies in.
func (p *project) names(at string) []string {
	var out []string
	if rel, ok := relative(at, p.main); ok && p.main != "" {
		out = append(out, rel)
	}
	for _, w := range p.worktrees {
		if rel, ok := relative(at, w); ok && w != "" {
			out = append(out, path.Join(path.Base(w), rel))
		}
	}
	return out
}

// relative gives the way from a folder to what lies in it, "." for the folder itself.
func relative(at, folder string) (string, bool) {
	if at == folder {
		return ".", true
	}
	return strings.CutPrefix(at, strings.TrimSuffix(folder, "/")+"/")
}
