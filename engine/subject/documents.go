package subject

import (
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// write gives the records that were hit as they stand in the document: those of spawn ledgers, and those of registries.
func (j *Index) write(hits []hit) (spawns, entries []Record) {
	for _, h := range hits {
		r := j.records.all[h.record]
		out := Record{
			Source: r.Source, ID: r.ID, Kind: r.Kind, Status: r.Status, Terminal: r.Terminal, Role: r.Role, Path: r.Path, Own: r.Own,
			Session: r.Session, Retained: r.Retained, Owner: r.Owner, Marker: r.Marker, By: h.by,
			Age: j.since(r.SpawnedAt), Completed: j.since(r.CompletedAt), Started: j.secondsBefore(r.StartedAt), Ended: j.secondsBefore(r.EndedAt), Endless: r.Endless,
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
		held[h.ID] = longest(held[h.ID], hold)
	}
	return held
}

// heldPaths are holds on folders by their paths: on the folder itself, and on the nearest of those that lie in it, by every folder around them.
type heldPaths struct{ at, below map[string]*Hold }

func indexHeld(holds map[string]*Hold) heldPaths {
	h := heldPaths{at: map[string]*Hold{}, below: map[string]*Hold{}}
	for id, hold := range holds {
		held, ok := strings.CutPrefix(id, snapshot.KindDir+":")
		if held = clean(held); !ok || held == "" {
			continue
		}
		h.at[held] = hold
		for up := range upwards(held) {
			if up != held {
				h.below[up] = longest(h.below[up], hold)
			}
		}
	}
	return h
}

// holdOn is the hold on a folder: on a folder that lies in it, which would go with it, or on one that it lies in.
func (h heldPaths) holdOn(folder string) *Hold {
	if len(h.at) == 0 {
		return nil
	}
	if hold := h.below[clean(folder)]; hold != nil {
		return hold
	}
	for up := range upwards(clean(folder)) {
		if hold := h.at[up]; hold != nil {
			return hold
		}
	}
	return nil
}

// indexHeldBelow leads from a process to the longest hold on it or on a process below it, which ends with it.
func indexHeldBelow(s *snapshot.Snapshot, holds map[string]*Hold) map[int]*Hold {
	out := map[int]*Hold{}
	var byPID map[int]*snapshot.Process
	for id, hold := range holds {
		rest, ok := strings.CutPrefix(id, snapshot.KindProcess+":")
		number, _, _ := strings.Cut(rest, "@")
		pid, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		if byPID == nil {
			byPID = make(map[int]*snapshot.Process, len(s.Processes))
			for _, p := range s.Processes {
				byPID[p.PID] = p
			}
		}
		if p := byPID[pid]; p != nil && p != s.Processes[id] { // the number is another process's now
			continue
		}
		for seen := map[int]bool{}; pid > 0 && !seen[pid]; pid = parent(byPID[pid]) {
			seen[pid] = true
			out[pid] = longest(out[pid], hold)
		}
	}
	return out
}

// parent is the one of a process, 0 where it is not known.
func parent(p *snapshot.Process) int {
	if p == nil || p.PPID == nil {
		return 0
	}
	return *p.PPID
}

// heldBelow is the longest hold on a process that ends with a candidate.
func (j *Index) heldBelow(id string) (held *Hold) {
	if len(j.heldPIDs) == 0 {
		return nil
	}
	for _, pid := range j.snap.PIDs(id) {
		held = longest(held, j.heldPIDs[pid])
	}
	return held
}

// longest is the one of two holds that lasts longer, the first one where both last as long; nil where both are nil.
func longest(a, b *Hold) *Hold {
	if a == nil || b != nil && a.Left != nil && (b.Left == nil || *b.Left > *a.Left) {
		return b
	}
	return a
}
