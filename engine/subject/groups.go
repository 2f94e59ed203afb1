package subject

import (
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

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
	for _, at := range j.standsIn(sub) {
		groups = append(groups, j.repository(clean(at)))
	}
	slices.Sort(groups)
	return slices.DeleteFunc(slices.Compact(groups), func(name string) bool { return name == "" })
}

// standsIn are the folders in which a candidate is. Those of what is below a process are left out: they may be many.
func (j *Index) standsIn(sub *Subject) []string {
	if sub.Process != nil {
		return []string{bareCwd(sub.Process)}
	}
	return kinds[sub.Kind].places(j, sub)
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
