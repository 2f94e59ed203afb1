package subject

import (
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// project is one whose file was trusted, with what all its candidates have in common.
type project struct {
	main      string
	worktrees []string
	keeps     []exception
	says      Project
	known     bool // what keeps things of it
}

func indexProjects(s *snapshot.Snapshot) []project {
	var out []project
	for i := range s.Projects {
		p := &s.Projects[i]
		if p.State == snapshot.ProjectUntrusted {
			continue
		}
		one := project{main: clean(p.Path), says: Project{Path: p.Path, File: p.File, Off: p.Off}, known: p.Keeps != nil}
		for _, w := range p.Worktrees {
			one.worktrees = append(one.worktrees, clean(w))
		}
		if one.known {
			one.keeps = indexExceptions(s, p.Entries())
		}
		out = append(out, one)
	}
	return out
}

// projectsOf are the projects in which a candidate lies, or may lie because where it is, or where the project is, is not known.
func (j *Index) projectsOf(sub *Subject, called func() keep.Names) []Project {
	var out []Project
	for i := range j.projects {
		p, names := &j.projects[i], called()
		known := p.main != "" && !slices.Contains(names.Paths, "") // what is known of it says where else it is
		var places []string
		for _, at := range names.Paths {
			places = append(places, p.names(at)...)
		}
		if d := sub.Dir; d != nil && d.Git != nil && d.Git.Main != "" && clean(d.Git.Main) == p.main && d.Path != "" && len(places) == 0 {
			places = append(places, path.Base(clean(d.Path)))
		}
		if len(places) == 0 && known {
			continue
		}
		one := p.says
		if known && p.known {
			names.Paths = places
			one.Keeps = new(excepted(p.keeps, sub.Kind, func() keep.Names { return names }))
		}
		out = append(out, one)
	}
	return out
}

func (j *Index) dirPlaces(sub *Subject) []string { return []string{sub.Dir.Path} }

// processPlaces leaves out those of the processes below it: they may be many.
func (j *Index) processPlaces(sub *Subject) []string { return []string{bareCwd(sub.Process)} }

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

// mainsOf leads from each checkout that was found to its repository: from a worktree, and from the main checkout itself.
func mainsOf(s *snapshot.Snapshot) map[string]string {
	mains := map[string]string{}
	for _, d := range s.Dirs {
		if d.Git != nil && clean(d.Git.Main) != "" {
			mains[clean(d.Path)], mains[clean(d.Git.Main)] = d.Git.Main, d.Git.Main
		}
	}
	return mains
}

// Groups are what the candidate has in common with others that one mistake may concern together, sorted: its owner, the repositories
// in whose checkouts it works (a folder outside of those stands for itself), and the registries and spawn ledgers that record it.
func (j *Index) Groups(sub *Subject) []string {
	groups := []string{sub.Owner}
	for _, r := range slices.Concat(sub.Entries, sub.Spawns) {
		groups = append(groups, r.Source, j.repository(clean(r.Path)))
	}
	for _, at := range kinds[sub.Kind].places(j, sub) {
		groups = append(groups, j.repository(clean(at)))
	}
	slices.Sort(groups)
	return slices.DeleteFunc(slices.Compact(groups), func(name string) bool { return name == "" })
}

// repository is that of the innermost checkout around a folder, or else the folder itself; "" for the home folder, where everything begins.
func (j *Index) repository(at string) string {
	for up := range upwards(at) {
		if main := j.mains[up]; main != "" {
			return main
		}
	}
	if at == clean(j.snap.Host.Home) {
		return ""
	}
	return at
}
