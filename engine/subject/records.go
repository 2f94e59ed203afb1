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

type hits struct{ spawns, entries []hit }

// places are the records that one key leads to.
type places struct{ spawns, entries []int }

// records leads from a path, the name of a session, pane, tab or label, a marker's value or a pid to the records that name it. Paths are looked up by
// walking up from the deeper of the two, so that the cost is a path's depth and never the number of records.
type records struct {
	snap *snapshot.Snapshot
	// at has the records by their own path, under those at or below the path of a candidate folder.
	at, under map[string]places
	session   map[string]places
	marker    map[string][]int
	pid       map[int][]int
	// label has the spawns by their label; pane, tab and id the entries by what they name of a multiplexer, and by their own id.
	label, pane, tab, id map[string][]int
	// bear counts the sessions by their names and native ids, nameless those of which the name is not known.
	bear     map[string]int
	nameless int
}

func indexRecords(s *snapshot.Snapshot) records {
	r := records{
		snap: s, at: map[string]places{}, under: map[string]places{}, session: map[string]places{},
		marker: map[string][]int{}, pid: map[int][]int{},
		label: map[string][]int{}, pane: map[string][]int{}, tab: map[string][]int{}, id: map[string][]int{},
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
	for i, sp := range s.Spawns {
		add := func(p places) places { p.spawns = append(p.spawns, i); return p }
		r.index(dirs, sp.Path, sp.Session, add)
		put(r.label, sp.Label, i)
	}
	for i, e := range s.Registry {
		add := func(p places) places { p.entries = append(p.entries, i); return p }
		r.index(dirs, e.Path, e.Session, add)
		put(r.marker, e.Marker, i)
		put(r.pane, e.Pane, i)
		put(r.tab, e.Tab, i)
		put(r.id, e.ID, i)
		if e.PID != nil {
			r.pid[*e.PID] = append(r.pid[*e.PID], i)
		}
	}
	return r
}

func put(in map[string][]int, key string, record int) {
	if key != "" {
		in[key] = append(in[key], record)
	}
}

func (r *records) index(dirs map[string]struct{}, where, session string, add func(places) places) {
	if session != "" {
		r.session[session] = add(r.session[session])
	}
	if where = clean(where); where == "" {
		return
	}
	r.at[where] = add(r.at[where])
	for up := range upwards(where) {
		if _, ok := dirs[up]; ok {
			r.under[up] = add(r.under[up])
		}
	}
}

// below gives the records that name a folder or something in it.
func (r *records) below(dir string) hits {
	var c collected
	c.add(r.under[clean(dir)], byPath)
	return c.sorted()
}

// ofTab goes by what names the tab or something in it, and not by where its shells stand: who works in a folder does not own every
// shell that was left there.
func (r *records) ofTab(t *snapshot.Tab) hits {
	var c collected
	c.add(places{spawns: r.label[t.Label]}, byLabel)
	for _, p := range t.Panes {
		c.add(places{entries: r.of(t, r.pane[p.Terminal])}, byPane)
	}
	c.add(places{entries: r.of(t, r.tab[t.ID])}, byTab)
	return c.sorted()
}

// of keeps those of the entries that do not name another server than the tab's.
func (r *records) of(t *snapshot.Tab, entries []int) []int {
	return slices.DeleteFunc(slices.Clone(entries), func(i int) bool {
		name := r.snap.Registry[i].Server
		return name != "" && t.Source != "herdr/"+name
	})
}

func (r *records) ofSession(s *snapshot.Session) hits {
	var c collected
	for _, name := range []string{s.Name, s.ID} {
		if name != "" {
			c.add(r.session[name], bySession)
		}
	}
	for _, p := range s.Panes {
		c.addAbove(r, p.Cwd)
	}
	return c.sorted()
}

func (r *records) ofProcess(p *snapshot.Process) hits {
	var c collected
	if p.Markers != nil {
		for _, value := range *p.Markers {
			if value != "" {
				c.add(places{entries: r.marker[value]}, byMarker)
			}
		}
	}
	for _, i := range r.pid[p.PID] {
		if lived(&r.snap.Registry[i], p) {
			c.add(places{entries: []int{i}}, byPID)
		}
	}
	c.addAbove(r, cwdOf(p))
	return c.sorted()
}

// lived is false only when the entry was over before the process with its pid began, so that it meant another one. An entry
// that began earlier or later than the process may well mean it: records are kept across a resume, and written late.
func lived(e *snapshot.Entry, p *snapshot.Process) bool {
	return e.EndedAt == nil || p.StartedAt == nil || !p.StartedAt.After(*e.EndedAt)
}

// withOwners adds the entries that the spawns were started for. An entry that concerns the candidate by itself stays that.
func (r *records) withOwners(h hits) hits {
	var c collected
	for _, sp := range h.spawns {
		if owner := r.snap.Spawns[sp.record].Owner; owner != "" {
			c.add(places{entries: r.id[owner]}, bySpawn)
		}
	}
	if len(c.entries) > 0 {
		h.entries = unique(append(h.entries, c.entries...))
	}
	return h
}

// collected gathers hits, each record once, with the first tie that was found.
type collected struct{ hits }

func (c *collected) add(p places, by string) {
	c.spawns = merge(c.spawns, p.spawns, by)
	c.entries = merge(c.entries, p.entries, by)
}

func (c *collected) addAbove(r *records, cwd string) {
	if len(r.at) == 0 {
		return
	}
	for up := range upwards(clean(cwd)) {
		if p, ok := r.at[up]; ok {
			c.add(p, byPath)
		}
	}
}

// sorted puts the hits in the snapshot's order and keeps the first tie of each record.
func (c *collected) sorted() hits {
	return hits{spawns: unique(c.spawns), entries: unique(c.entries)}
}

func merge(into []hit, records []int, by string) []hit {
	for _, i := range records {
		into = append(into, hit{i, by})
	}
	return into
}

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
