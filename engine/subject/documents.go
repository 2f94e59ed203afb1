package subject

import "github.com/winnow-reaper/winnow/engine/snapshot"

// write gives the records that were hit as they stand in the document: those of spawn ledgers, and those of registries.
func (j *Joined) write(hits []hit) (spawns, entries []Record) {
	for _, h := range hits {
		r := j.records.all[h.record]
		out := Record{
			Source: r.Source, ID: r.ID, Kind: r.Kind, Status: r.Status, Terminal: r.Terminal, Role: r.Role, Path: r.Path, Own: r.Own,
			Session: r.Session, Retained: r.Retained, Owner: r.Owner, Marker: r.Marker, By: h.by,
			Age: j.since(r.SpawnedAt), Completed: j.since(r.CompletedAt), Started: j.before(r.StartedAt), Ended: j.before(r.EndedAt), Endless: r.Endless,
			PullRequest: r.PullRequest,
		}
		if h.by == bySession {
			out.Shared = new(j.records.bear[r.Session] > 1 || j.records.nameless > 0)
		}
		if h.record < j.records.spawns {
			spawns = append(spawns, out)
		} else {
			entries = append(entries, out)
		}
	}
	return spawns, entries
}

// indexHolds leads from a candidate to the hold on it that lasts longest, of those that have not lapsed.
func indexHolds(s *snapshot.Snapshot) map[string]*Hold {
	held := make(map[string]*Hold, len(s.Holds))
	for _, h := range s.Holds {
		hold := &Hold{Owner: h.Owner, Reason: h.Reason}
		if h.Until != nil {
			if !h.Until.After(s.TakenAt) {
				continue
			}
			hold.Left = new(h.Until.Sub(s.TakenAt).Seconds())
		}
		if before := held[h.ID]; before == nil || longer(hold, before) {
			held[h.ID] = hold
		}
	}
	return held
}

func longer(a, b *Hold) bool {
	return b.Left != nil && (a.Left == nil || *a.Left > *b.Left)
}
