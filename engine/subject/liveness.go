package subject

import (
	"fmt"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Dead is true for a process that has ended and was not waited for yet. One with a second thread is alive: its leader has ended.
func Dead(p *snapshot.Process) bool { return dead(p) }

// Has reports whether a record of an open session is of that very process, by its number, its user and when it began.
func (j *Index) Has(o *snapshot.OpenSession, p *snapshot.Process) bool {
	return o.PID == p.PID && opened(o, p, j.snap.Host.UID)
}

// Ended reports whether a record of a registry says that its owner has ended, by its format or by its word.
func (c *Config) Ended(r *snapshot.Record) bool { return c.ended(r.Terminal, r.Status) }

func (c *Config) ended(terminal *bool, status string) bool {
	if terminal != nil {
		return *terminal
	}
	return c != nil && slices.Contains(c.TerminalStatuses, status)
}

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
