package subject

import (
	"path"
	"slices"
	"strings"

	"winnow/engine/snapshot"
)

// What ties a record to a candidate.
const (
	bySession = "session"
	byPane    = "pane"
	byTab     = "tab"
	byLabel   = "label"
	byMarker  = "marker"
	byPID     = "pid"
	byPath    = "path"
	bySpawn   = "spawn"
)

// hit is a record, by its place in the snapshot, and what ties it to the candidate.
type hit struct {
	record int
	by     string
}

// records leads from a path, the name of a session, pane, tab or label, a marker's value or a pid to the records that name it. Paths are looked up by
// walking up from the deeper of the two, so that the cost is a path's depth and never the number of records.
type records struct {
	// all are the records of the snapshot, those of spawn ledgers first: so many as spawns says.
	all    []*snapshot.Record
	spawns int
	// at has the records by their own path, under those at or below the path of a candidate folder.
	at, under map[string][]int
	// The records by what they name.
	session, marker, label, pane, tab map[string][]int
	pid                               map[int][]int
	// id has those of registries by their own id.
	id map[string][]int
	// bear counts the sessions by their names and native ids, nameless those of which the name is not known.
	bear     map[string]int
	nameless int
}

func indexRecords(s *snapshot.Snapshot) records {
	r := records{
		spawns: len(s.Spawns), at: map[string][]int{}, under: map[string][]int{}, session: map[string][]int{}, marker: map[string][]int{},
		label: map[string][]int{}, pane: map[string][]int{}, tab: map[string][]int{}, pid: map[int][]int{}, id: map[string][]int{},
		bear: map[string]int{},
	}
	for _, t := range s.Sessions {
		if t.Name == "" {
			r.nameless++
		}
		for _, name := range slices.Compact([]string{t.Name, t.ID}) {
			r.bear[name]++
		}
	}
	dirs := make(map[string]struct{}, len(s.Dirs))
	for _, d := range s.Dirs {
		dirs[path.Clean(d.Path)] = struct{}{}
	}
	for i := range s.Spawns {
		r.index(&s.Spawns[i], dirs)
	}
	for i := range s.Registry {
		put(r.id, s.Registry[i].ID, len(r.all))
		r.index(&s.Registry[i], dirs)
	}
	return r
}

func put(in map[string][]int, key string, record int) {
	if key != "" {
		in[key] = append(in[key], record)
	}
}

func (r *records) index(rec *snapshot.Record, dirs map[string]struct{}) {
	i := len(r.all)
	r.all = append(r.all, rec)
	put(r.session, rec.Session, i)
	put(r.label, rec.Label, i)
	put(r.marker, rec.Marker, i)
	put(r.pane, rec.Pane, i)
	put(r.tab, rec.Tab, i)
	if rec.PID != nil {
		r.pid[*rec.PID] = append(r.pid[*rec.PID], i)
	}
	where := clean(rec.Path)
	put(r.at, where, i)
	for up := range upwards(where) {
		if _, ok := dirs[up]; ok {
			put(r.under, up, i)
		}
	}
}

// below gives the records that name a folder or something in it.
func (r *records) below(dir string) []hit {
	return unique(merge(nil, r.under[clean(dir)], byPath))
}

// ofTab goes by what names the tab or something in it, and not by where its shells stand: who works in a folder does not own every
// shell that was left there.
func (r *records) ofTab(t *snapshot.Tab) []hit {
	hits := merge(nil, r.label[t.Label], byLabel)
	for _, p := range t.Panes {
		hits = merge(hits, r.of(t, r.pane[p.Terminal]), byPane)
	}
	return unique(merge(hits, r.of(t, r.tab[t.ID]), byTab))
}

// of keeps those of the records that do not name another server than the tab's.
func (r *records) of(t *snapshot.Tab, records []int) []int {
	return slices.DeleteFunc(slices.Clone(records), func(i int) bool {
		name := r.all[i].Server
		return name != "" && t.Source != "herdr/"+name
	})
}

func (r *records) ofSession(s *snapshot.Session) []hit {
	var hits []hit
	for _, name := range []string{s.Name, s.ID} {
		hits = merge(hits, r.session[name], bySession)
	}
	for _, p := range s.Panes {
		hits = r.above(hits, p.Cwd)
	}
	return unique(hits)
}

func (r *records) ofProcess(p *snapshot.Process) []hit {
	var hits []hit
	if p.Markers != nil {
		for _, value := range *p.Markers {
			hits = merge(hits, r.marker[value], byMarker)
		}
	}
	for _, i := range r.pid[p.PID] {
		if lived(r.all[i], p) {
			hits = append(hits, hit{i, byPID})
		}
	}
	return unique(r.above(hits, cwdOf(p)))
}

// lived is false only when the record's owner had ended before the process with its pid began, so that it meant another one. A record
// that began earlier or later than the process may well mean it: records are kept across a resume, and written late.
func lived(e *snapshot.Record, p *snapshot.Process) bool {
	return e.EndedAt == nil || p.StartedAt == nil || !p.StartedAt.After(*e.EndedAt)
}

// withOwners adds the entries that the spawns were started for. An entry that concerns the candidate by itself stays that.
func (r *records) withOwners(hits []hit) []hit {
	all := hits
	for _, h := range hits {
		if h.record < r.spawns {
			all = merge(all, r.id[r.all[h.record].Owner], bySpawn)
		}
	}
	return unique(all)
}

// above adds the records that name a folder, or one that it lies in.
func (r *records) above(hits []hit, cwd string) []hit {
	if len(r.at) == 0 {
		return hits
	}
	for up := range upwards(clean(cwd)) {
		hits = merge(hits, r.at[up], byPath)
	}
	return hits
}

func merge(into []hit, records []int, by string) []hit {
	for _, i := range records {
		into = append(into, hit{i, by})
	}
	return into
}

// unique puts the hits in the snapshot's order and keeps the first tie of each record.
func unique(hs []hit) []hit {
	slices.SortStableFunc(hs, func(a, b hit) int { return a.record - b.record })
	return slices.CompactFunc(hs, func(a, b hit) bool { return a.record == b.record })
}

func cwdOf(p *snapshot.Process) string {
	if p.Cwd == nil {
		return ""
	}
	if p.CwdDeleted != nil && *p.CwdDeleted {
		return strings.TrimSuffix(*p.Cwd, " (deleted)")
	}
	return *p.Cwd
}

// clean is the path in its shortest form, or "" for one that is not absolute: nothing can be said of where that is.
func clean(p string) string {
	if !strings.HasPrefix(p, "/") {
		return ""
	}
	return path.Clean(p)
}

// upwards yields a clean absolute path and each folder above it, down to the root folder; nothing for "".
func upwards(p string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for p != "" && yield(p) && p != "/" {
			if p = p[:strings.LastIndexByte(p, '/')]; p == "" {
				p = "/"
			}
		}
	}
}
