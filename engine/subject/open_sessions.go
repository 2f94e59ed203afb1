package subject

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// openByPID are the records that agents keep of the sessions that they have open, by the pid that they name.
type openByPID map[int][]snapshot.OpenSession

func openSessions(all []snapshot.OpenSession) openByPID {
	by := make(openByPID, len(all))
	for _, s := range all {
		by[s.PID] = append(by[s.PID], s)
	}
	return by
}

// written is how much later than its record a process may seem to have begun: clocks are read one after the other.
const written = 2 * time.Second

// sessionsOf are the sessions that a living process of this user has open, "" for one without a known id. A record that was left behind names a
// number that may be another process's by now: the other process began at another tick, or after the record was written.
// agent is whose records they are, "" where that is not known of all or differs.
// last is when the latest of these records was written, nil where that is not known of all, and where it may have had other sessions beside these.
func (o openByPID) sessionsOf(p *snapshot.Process, uid *int) (ids []string, agent string, last *time.Time) {
	known := true
	for _, s := range o[p.PID] {
		if !opened(&s, p, uid) {
			continue
		}
		if len(ids) == 0 {
			agent = s.Agent
		} else if agent != s.Agent {
			agent = ""
		}
		ids = append(ids, s.ID)
		known = known && s.WrittenAt != nil && s.ID != "" && s.Sole != nil && *s.Sole
		if s.WrittenAt != nil && (last == nil || last.Before(*s.WrittenAt)) {
			last = s.WrittenAt
		}
	}
	if !known {
		return ids, agent, nil
	}
	return ids, agent, last
}

// opened reports whether a record that names a process's number is of that process.
func opened(s *snapshot.OpenSession, p *snapshot.Process, uid *int) bool {
	switch {
	case p.UID != nil && uid != nil && *p.UID != *uid:
		return false
	case s.StartTicks != nil:
		return *s.StartTicks == p.StartTicks
	}
	return s.WrittenAt == nil || p.StartedAt == nil || !p.StartedAt.After(s.WrittenAt.Add(written))
}
