package subject

import (
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// project is one whose file was trusted, with what all its candidates have in common.
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
		one := project{main: clean(p.Path), says: Project{Path: p.Path, File: p.File, Exceptions: p.Exceptions, Off: p.Off}}
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
func (j *Index) projectsOf(sub *Subject, placesOf func(*Index, *Subject) []string) []Project {
	if len(j.projects) == 0 {
		return nil
	}
	places := placesOf(j, sub)
	for i := range places {
		places[i] = clean(places[i])
	}
	known := !slices.Contains(places, "") // what is known of it says where else it is
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

func (j *Index) dirPlaces(sub *Subject) []string { return []string{sub.Dir.Path} }

// processPlaces has those of the processes below it too: they end with it.
func (j *Index) processPlaces(sub *Subject) []string {
	places := []string{bareCwd(sub.Process)}
	for _, n := range j.procs.underID(sub.ID) {
		places = append(places, bareCwd(n.p))
	}
	return places
}

func bareCwd(p *snapshot.Process) string { return strings.TrimSuffix(known(p.Cwd), deleted) }

func (j *Index) sessionPlaces(sub *Subject) []string { return panePlaces(sub.Session.Panes) }

func (j *Index) tabPlaces(sub *Subject) []string {
	if sub.Tab.Editor != nil {
		return editorPlaces(sub.Tab.Editor)
	}
	return panePlaces(sub.Tab.Panes)
}

// panePlaces has one that is not known where no pane is.
func panePlaces(panes []snapshot.Pane) (places []string) {
	for i := range panes {
		places = append(places, panes[i].Cwd)
	}
	if places == nil {
		places = []string{""}
	}
	return places
}

// terminalPlaces are where a terminal is (what its store says, or else its own process), its workspace, and its builder's worktree.
func (j *Index) terminalPlaces(sub *Subject) []string {
	t := sub.Terminal
	cwd := t.Cwd
	if cwd == "" && t.PID != nil && t.StartTicks != nil {
		if p := j.snap.Processes[snapshot.ProcessID(*t.PID, *t.StartTicks)]; p != nil {
			cwd = bareCwd(p)
		}
	}
	places := []string{cwd}
	if t.Workspace != "" {
		places = append(places, t.Workspace)
	}
	if t.Owner != nil && t.Owner.Worktree != "" {
		places = append(places, t.Owner.Worktree)
	}
	return places
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
