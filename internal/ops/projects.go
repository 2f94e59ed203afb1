package ops

import (
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/project"
)

// checkProjects says of each project's own file whether it rules.
func checkProjects(s *snapshot.Snapshot) []Check {
	var out []Check
	for _, x := range s.Projects {
		c := Check{"config", x.File, Healthy, "trusted: what it asks to keep stays"}
		if x.Exceptions != "" {
			c.Detail += ", and what its exceptions match"
		}
		if x.State != project.StateTrusted {
			c.Status, c.Detail = Limited, x.State+": "+x.Why
		}
		out = append(out, c)
	}
	return out
}
