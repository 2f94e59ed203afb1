package subject

import "winnow/engine/snapshot"

// spawns writes the records that were hit as they stand in the document.
func (j *Joined) spawns(hs []hit) []Spawn {
	if len(hs) == 0 {
		return nil
	}
	out := make([]Spawn, len(hs))
	for i, h := range hs {
		s := &j.snap.Spawns[h.record]
		out[i] = Spawn{
			Source: s.Source, ID: s.ID, Kind: s.Kind, Path: s.Path, Owner: s.Owner, By: h.by,
			Age: j.since(s.SpawnedAt), Completed: j.since(s.CompletedAt),
		}
	}
	return out
}

func (j *Joined) entries(hs []hit) []Entry {
	if len(hs) == 0 {
		return nil
	}
	out := make([]Entry, len(hs))
	for i, h := range hs {
		e := &j.snap.Registry[h.record]
		out[i] = Entry{
			Source: e.Source, ID: e.ID, Status: e.Status, Terminal: e.Terminal, Role: e.Role, Path: e.Path, Own: e.Own,
			Session: e.Session, Retained: e.Retained, Marker: e.Marker, By: h.by, Started: j.before(e.StartedAt), Ended: j.before(e.EndedAt),
		}
		if h.by == bySession && (j.records.bear[e.Session] > 1 || j.records.nameless > 0) {
			out[i].Shared = new(true)
		}
	}
	return out
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
