package subject

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
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

// tie is something that records name, such as the label review or the marker's value r7.
type tie struct{ by, value string }

// records leads from what records name to those records. Paths are looked up by walking up from the deeper of the two, so that the cost is
// a path's depth and never the number of records.
type records struct {
	// all are the records of the snapshot, those of spawn ledgers first: so many as spawns says.
	all    []*snapshot.Record
	spawns int
	// tied has the records by what they name, those of registries by their own id too (bySpawn).
	tied map[tie][]int
	// at has the records by their own path, under those at or below the path of a candidate folder.
	at, under map[string][]int
	// placed and labelled say whether any spawn, and any entry, names a folder and a label.
	placed, labelled naming
	// bear counts the sessions by their names and native ids, nameless those without a known name.
	bear     map[string]int
	nameless int
}

func indexRecords(s *snapshot.Snapshot) records {
	r := records{spawns: len(s.Spawns), tied: map[tie][]int{}, at: map[string][]int{}, under: map[string][]int{}, bear: map[string]int{}}
	for _, t := range s.Sessions {
		if t.Name == "" {
			r.nameless++
		}
		for _, name := range slices.Compact([]string{t.Name, t.ID}) {
			r.bear[name]++
		}
	}
	dirs := make(map[string]bool, len(s.Dirs))
	for _, d := range s.Dirs {
		dirs[path.Clean(d.Path)] = true
		if d.Content != nil {
			dirs[path.Clean(d.Content.Worktree)] = true
		}
	}
	for i := range s.Spawns {
		r.index(&s.Spawns[i], "", dirs)
	}
	for i := range s.Registry {
		r.index(&s.Registry[i], s.Registry[i].ID, dirs)
	}
	return r
}

// index enters a record; id is that of a registry's.
func (r *records) index(rec *snapshot.Record, id string, dirs map[string]bool) {
	i := len(r.all)
	r.all = append(r.all, rec)
	pid := ""
	if rec.PID != nil {
		pid = strconv.Itoa(*rec.PID)
	}
	for _, t := range [...]tie{
		{bySession, rec.Session}, {byLabel, rec.Label}, {byMarker, rec.Marker}, {byPane, rec.Pane}, {byTab, rec.Tab}, {byPID, pid}, {bySpawn, id},
	} {
		if t.value != "" {
			r.tied[t] = append(r.tied[t], i)
		}
	}
	where := clean(rec.Path)
	r.placed.note(i < r.spawns, where != "")
	r.labelled.note(i < r.spawns, rec.Label != "")
	if where == "" {
		return
	}
	r.at[where] = append(r.at[where], i)
	for up := range upwards(where) {
		if dirs[up] {
			r.under[up] = append(r.under[up], i)
		}
	}
}

// hits adds the records that name a value.
func (r *records) hits(into []hit, by, value string) []hit {
	return merge(into, r.tied[tie{by, value}], by)
}

// inFolder gives the records that name a folder or something in it.
func (r *records) inFolder(dir string) []hit {
	return unique(merge(nil, r.under[clean(dir)], byPath))
}

// ofTab goes by what names the tab or something in it, and not by where its shells stand: who works in a folder does not own every
// shell that was left there.
func (r *records) ofTab(t *snapshot.Tab) []hit {
	hits := r.hits(nil, byLabel, t.Label)
	for _, p := range t.Panes {
		hits = merge(hits, r.forTab(t, tie{byPane, p.Terminal}), byPane)
	}
	return unique(merge(hits, r.forTab(t, tie{byTab, t.ID}), byTab))
}

// forTab gives the records with a tie that do not name another server than the tab's.
func (r *records) forTab(t *snapshot.Tab, with tie) []int {
	return slices.DeleteFunc(slices.Clone(r.tied[with]), func(i int) bool {
		name := r.all[i].Server
		return name != "" && t.Source != "herdr/"+name
	})
}

func (r *records) ofSession(s *snapshot.Session) []hit {
	hits := r.hits(r.hits(nil, bySession, s.Name), bySession, s.ID)
	for _, p := range s.Panes {
		hits = r.ancestors(hits, p.Cwd)
	}
	return unique(hits)
}

func (r *records) ofProcess(p *snapshot.Process) []hit {
	var hits []hit
	if p.Markers != nil {
		for _, value := range *p.Markers {
			hits = r.hits(hits, byMarker, value)
		}
	}
	for _, i := range r.tied[tie{byPID, strconv.Itoa(p.PID)}] {
		if lived(r.all[i], p) {
			hits = append(hits, hit{i, byPID})
		}
	}
	return unique(r.ancestors(hits, cwdOf(p)))
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
			all = r.hits(all, bySpawn, r.all[h.record].Owner)
		}
	}
	return unique(all)
}

// ancestors adds the records that name a folder, or one that it lies in.
func (r *records) ancestors(hits []hit, cwd string) []hit {
	if len(r.at) == 0 {
		return hits
	}
	for up := range upwards(clean(cwd)) {
		hits = merge(hits, r.at[up], byPath)
	}
	return hits
}

// naming says whether any spawn, and any entry, names a thing of some kind.
type naming struct{ spawns, entries bool }

func (f *naming) note(spawn, names bool) {
	f.spawns, f.entries = f.spawns || spawn && names, f.entries || !spawn && names
}

// known gives for spawns and for entries whether those that mean a candidate are known: what they would name it by is known, or none of them names any.
func (f naming) known(named bool) (spawns, entries *bool) {
	return triIf(named || !f.spawns).ifWhole(false), triIf(named || !f.entries).ifWhole(false)
}

// byFolder is for what works in these folders.
func (r *records) byFolder(folders ...string) (spawns, entries *bool) {
	return r.placed.known(!slices.ContainsFunc(folders, func(at string) bool { return clean(at) == "" }))
}

// byName is for a tab. One of an editor may have been opened without a name.
func (r *records) byName(t *snapshot.Tab) (spawns, entries *bool) {
	return r.labelled.known(t.Label != "" || t.Editor != nil && t.Editor.CreationName != nil && *t.Editor.CreationName == "")
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
	if known(p.CwdDeleted) {
		return bareCwd(p)
	}
	return known(p.Cwd)
}

// clean is the path in its shortest form, or "" for a relative one: its place is unknown.
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

// fillTies says what keeps a process and all below it at work although what started it has ended: that it was meant to outlive that, whom they are
// connected to, and what they write.
func (x *processes) fillTies(l *Lineage, i int) {
	tree := x.descendants(i)
	whole := tree != nil
	tree = append(tree, &x.nodes[i])
	l.Intent = x.intent(i, tree, whole)
	if !whole {
		return
	}
	l.Connections = countOutside(tree)
	if l.Connections != nil && *l.Connections > 0 {
		l.Connected = x.connected(tree)
	}
	l.WritesFiles, l.Output = x.output(tree)
}

// intent is what shows that a process, or one of those below it, was meant to outlive its starter; nil where nothing shows it and not all is known.
func (x *processes) intent(i int, tree []*node, whole bool) *[]string {
	found := []string{}
	if above := x.keeper(i); above != "" {
		found = append(found, above)
	}
	for _, n := range tree {
		ignores, by := triOf(n.p.IgnoresHangup), n.p.StartedBy
		if ignores == yes {
			found = append(found, "hangup")
		}
		if by != nil && *by != "" {
			found = append(found, *by)
		}
		whole = whole && ignores == no && by != nil
	}
	if len(found) == 0 && !whole {
		return nil
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return &found
}

// keeper is the nearest multiplexer or atd above a process, "" where there is no such process or an agent is nearer.
func (x *processes) keeper(i int) string {
	for up, steps := x.nodes[i].parent, 0; up >= 0 && steps < len(x.nodes); up, steps = x.nodes[up].parent, steps+1 {
		switch n := &x.nodes[up]; {
		case n.agent || n.daemon:
			return ""
		case n.multiplexer:
			return "multiplexer"
		case n.p.Name == "atd":
			return "at"
		}
	}
	return ""
}

// countOutside counts the connections of processes that lead elsewhere than to one of them; nil where those of one are not known.
func countOutside(tree []*node) *int {
	count := 0
	for _, n := range tree {
		p := n.p
		if p.Connections == nil || *p.Connections > 0 && p.ConnectedTo == nil {
			return nil
		}
		count += *p.Connections
		if *p.Connections == 0 {
			continue
		}
		for _, pid := range *p.ConnectedTo {
			if slices.ContainsFunc(tree, func(other *node) bool { return other.p.PID == pid }) {
				count--
			}
		}
	}
	return &count
}

// connected is for how many seconds one of these processes has had connections; nil where no look before saw them.
func (x *processes) connected(tree []*node) (seconds *float64) {
	for _, n := range tree {
		if age := Awake(x.snap, n.p.ConnectedSince); age != nil && (seconds == nil || *age > *seconds) {
			seconds = age
		}
	}
	return seconds
}

// output counts the regular files that processes can write to, and says for how many seconds none of these has changed.
func (x *processes) output(tree []*node) (count *int, seconds *float64) {
	count, known := new(0), true
	for _, n := range tree {
		if n.p.WritesFiles == nil {
			return nil, nil
		}
		*count += *n.p.WritesFiles
		if *n.p.WritesFiles == 0 {
			continue
		}
		age := Awake(x.snap, n.p.OutputAt)
		if known = known && age != nil; known && (seconds == nil || *age < *seconds) {
			seconds = age
		}
	}
	if !known {
		seconds = nil
	}
	return count, seconds
}
