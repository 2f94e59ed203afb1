package subject

import (
	"fmt"
	"slices"
)

// OwnerAlive says by which record the owner of a candidate is alive, "" where no record says so. It is the floor's own reading, which no policy
// can change: rules that keep object to each such candidate, so that many of them among what is to go mean that a rule is wrong.
func (s *Subject) OwnerAlive() string {
	for _, e := range s.Entries {
		// Who started a spawn does not own the candidate, nor does the owner of a folder own each process that stands in it.
		if e.By != "spawn" && !(s.Kind == "process" && e.By == "path") && !s.Config.ended(e.Terminal, e.Status) {
			return fmt.Sprintf("%s in %s has not ended", e.ID, e.Source)
		}
	}
	for _, x := range s.Spawns {
		owned := slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.ID == x.ID || e.ID == x.Owner })
		if x.Completed == nil && !owned {
			return fmt.Sprintf("spawn %s in %s is open", x.ID, x.Source)
		}
	}
	if l := s.Lineage; s.Kind == "process" && l != nil {
		switch {
		case l.StarterGone != nil && !*l.StarterGone:
			return "a marker names a living agent's process"
		case l.AgentAncestor != nil && *l.AgentAncestor:
			return "an agent is above it"
		}
	}
	for _, m := range s.Members {
		if l := m.Lineage; l != nil && l.IsAgent != nil && *l.IsAgent {
			return fmt.Sprintf("%s (%d) is an agent in it", m.Name, m.PID)
		}
	}
	return ""
}
