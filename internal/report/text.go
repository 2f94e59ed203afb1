package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// page writes a report as text.
type page struct {
	text.Paint
	// left is how many rows of groups are still listed without --all.
	left *int
}

// write is the report for a person: what could not be read on top, then by kind what goes and why, and what stays by reason.
func (p page) write(out io.Writer, r *Report, all bool) error {
	w := bufio.NewWriter(out)
	p.sourcesText(w, r.Sources)
	protect, reap := Levels(r.Levels)
	if protect != "" {
		fmt.Fprintln(w, p.Bold(p.Red(text.Clean(protect))))
	}
	if reap != "" {
		fmt.Fprintln(w, p.Yellow(text.Clean(reap)))
	}
	fmt.Fprintln(w, p.Bold(Headline(r)))
	for _, kind := range snapshot.Kinds {
		if c, ok := r.Census[kind.Name]; ok {
			p.kindText(w, r, kind, c, all)
		}
	}
	if all {
		p.workersText(w, r.Workers)
	}
	Acts(w, p.Paint, "acts", slices.DeleteFunc(slices.Clone(r.Acts), r.capSays), all)
	Acts(w, p.Paint, "settled: acts that an earlier sweep was cut short in", r.Settled, all)
	p.purgedText(w, r.Purged)
	p.spaceText(w, r)
	p.projectsText(w, r.Config.Projects, all)
	p.exceptionsText(w, r.Exceptions, all)
	for _, al := range r.Alarms {
		fmt.Fprintln(w)
		p.Rows(w, text.Row{Lead: "alarm", Color: p.Red, Label: al.Rule, Text: r.alarmText(al)})
	}
	p.capsText(w, r)
	if all || len(r.Config.Files) > 0 {
		p.filesText(w, r.Config.Files)
	}
	p.closing(w, r)
	return w.Flush()
}

const noneSelected = "nothing was found that --repo, --owner, --older and --larger ask for"

// Headline says in one line what the sweep came to.
func Headline(r *Report) string {
	var reap, after, wait int
	for _, d := range r.Decisions {
		switch {
		case d.Verdict == decision.Reap:
			reap++
		case d.Follows():
			after++
		case d.Waits():
			wait++
		}
	}
	if r.Mode == Apply {
		done := 0
		for _, a := range r.Acts {
			if a.Outcome.Outcome == decision.Done {
				done++
			}
		}
		rest := len(r.Acts) - done
		s := fmt.Sprintf("%s done", text.Plural(done, "act"))
		if rest > 0 {
			s += fmt.Sprintf(", %d not", rest)
		}
		if wait > 0 {
			s += fmt.Sprintf(", %d waiting for a second look", wait)
		}
		if len(r.Decisions) == 0 && r.Selection.narrows() {
			s += "; " + noneSelected
		}
		return s
	}
	s := fmt.Sprintf("%d would go", reap)
	if r.Space != nil && r.Space.Proposed > 0 {
		s += " (" + text.Size(r.Space.Proposed) + ")"
	}
	s += r.heldBack(reap)
	if after > 0 {
		s += fmt.Sprintf(", %d more once what uses them has gone", after)
	}
	if wait > 0 {
		s += fmt.Sprintf(", %d would wait for a second look", wait)
	}
	s += fmt.Sprintf(", %d would stay", len(r.Decisions)-reap-after-wait)
	if len(r.Decisions) == 0 {
		if s = "nothing in scope was found"; r.Selection.narrows() {
			s = noneSelected
		}
		if r.Code(false) == exit.Part {
			s += " in what could be read"
		}
	}
	return s
}

// sourcesText lists what could not be read. An absent source is only worth a line if the configuration names it.
func (p page) sourcesText(w io.Writer, sources map[string]snapshot.Source) {
	var bad []text.Row
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		s := sources[name]
		if s.Status == snapshot.Failed || s.Status == snapshot.Absent && (s.Kind == "spawns" || s.Kind == "registry") {
			bad = append(bad, text.Row{Lead: s.Status, Color: p.Red, Label: name, Text: s.Error})
		}
	}
	if len(bad) == 0 {
		return
	}
	fmt.Fprintln(w, p.Bold(p.Red("could not be read: everything that rests on it is kept")))
	p.Rows(w, bad...)
	fmt.Fprintln(w)
}

// kindText is one kind's group.
func (p page) kindText(w io.Writer, r *Report, kind snapshot.Kind, c Count, all bool) {
	ds := r.decisionsOf(kind)
	slices.SortStableFunc(ds, func(x, y decision.Decision) int { return cmp.Compare(rank(x), rank(y)) })
	fmt.Fprintf(w, "\n%s  %s\n", p.Bold(kind.Plural), p.Dim(c.seen()))

	var goes, stays []decision.Decision
	for _, d := range ds {
		switch {
		case slices.ContainsFunc(r.Acts, func(x decision.Act) bool { return x.Candidate == d.ID && !r.capSays(x) }): // the acts say it
		case rank(d) <= rankWait:
			goes = append(goes, d)
		case all:
			stays = append(stays, d)
		}
	}
	p.groupsText(w, kind, p.groupsOf(goes, r.TakenAt, r.Selection != nil && r.Selection.Sort != ""), all)
	rows := text.Map(stays, func(d decision.Decision) text.Row { return p.decisionRow(d, r.TakenAt) })
	if s := Stays(ds); s != "" && !all {
		rows = append(rows, text.Row{Lead: "stay", Color: p.Dim, Text: s})
	}
	if kind.Name == snapshot.KindProcess && r.PossibleAgent != nil && slices.ContainsFunc(ds, func(d decision.Decision) bool { return len(d.Findings) == 0 }) {
		rows = append(rows, text.Row{Lead: "note", Color: p.Yellow, Text: PossibleAgentText(r.PossibleAgent)})
	}
	for _, note := range append(sharedNotes(ds), UnheardNotes(ds)...) {
		rows = append(rows, text.Row{Lead: "note", Color: p.Yellow, Text: note})
	}
	p.Rows(w, rows...)
}

// decisionsOf are the decisions about candidates of a kind.
func (r *Report) decisionsOf(kind snapshot.Kind) []decision.Decision {
	return slices.DeleteFunc(slices.Clone(r.Decisions), func(d decision.Decision) bool { return d.Kind != kind.Name })
}

// group is what has one fate, in one place and for one reason.
type group struct {
	text.Row // of the whole group: its place and the reason
	members  []decision.Decision
	place    string
	rows     []text.Row
	bytes    int64
}

// passed is what a reason says of times: for how long nothing has happened, when it may go. They stand beside each name.
var passed = regexp.MustCompile(`,? and \w+ has (?:happened in it|happened in its worktree|touched it|printed nothing) for \d\w*|; it may go at [0-9:]+`)

// groupsOf gathers what goes or waits, those with the most bytes first where they are not sorted.
func (p page) groupsOf(ds []decision.Decision, taken time.Time, sorted bool) (all []*group) {
	by := map[[3]string]*group{}
	if !sorted {
		slices.SortStableFunc(ds, func(x, y decision.Decision) int { return cmp.Compare(freed(y), freed(x)) })
	}
	for _, d := range ds {
		row := p.decisionRow(d, taken)
		row.Text = passed.ReplaceAllString(row.Text, "")
		place, name := PlaceOf(d)
		key := [3]string{row.Lead, place, row.Text}
		g := by[key]
		if g == nil {
			g = &group{Row: row, place: place}
			g.Label = text.Home(place)
			by[key], all = g, append(all, g)
		}
		g.members, g.bytes = append(g.members, d), g.bytes+freed(d)
		g.rows = append(g.rows, text.Row{Label: name, Cells: cells(d, taken), Text: row.Rest})
	}
	slices.SortStableFunc(all, func(x, y *group) int {
		if sorted {
			return 0
		}
		return cmp.Or(cmp.Compare(rank(x.members[0]), rank(y.members[0])), cmp.Compare(y.bytes, x.bytes), cmp.Compare(len(y.rows), len(x.rows)))
	})
	return all
}

// freed is what comes free with a folder, in bytes.
func freed(d decision.Decision) int64 {
	if d.Size == nil {
		return 0
	}
	return d.Size.Bytes - d.Size.Shared
}

// PlaceOf is the repository or the folder that a folder lies in, and its name there; "" and a label for all else.
func PlaceOf(d decision.Decision) (place, name string) {
	if d.Kind != snapshot.KindDir {
		return "", Label(d)
	}
	at := strings.TrimPrefix(d.ID, snapshot.KindDir+":")
	place = filepath.Dir(at)
	if d.About != nil && d.About.Repository != "" {
		place = d.About.Repository
	}
	if i := strings.LastIndex(at, "worktrees/"); i > 0 {
		return place, at[i+len("worktrees/"):]
	}
	return place, strings.TrimPrefix(text.Home(at), text.Home(place)+"/")
}

// How much of a report is listed without --all: rows of a group, and groups of a kind.
const mostRows, mostGroups = 10, 8

// groupsText writes groups: one thing in a line with its reason, several below the reason that they have in common.
func (p page) groupsText(w io.Writer, kind snapshot.Kind, groups []*group, all bool) {
	for i, g := range groups {
		n := len(g.rows)
		if i == mostGroups && !all {
			left := 0
			for _, g := range groups[i:] {
				left += len(g.rows)
			}
			p.Rows(w, text.Row{Color: p.Dim, Text: fmt.Sprintf("%d more, for other reasons or in other places: winnow sweep --all", left)})
			return
		}
		if n == 1 {
			g.Text = withSize(g.Text, g.members[0])
			if g.Label = Label(g.members[0]); p.Width > 0 && ansi.StringWidth(g.Label) > p.Width-beside {
				g.Label = ansi.TruncateLeft(g.Label, ansi.StringWidth(g.Label)-p.Width+beside, "…")
			}
			for _, c := range g.rows[0].Cells {
				if strings.Contains(c, " ") && (c == g.rows[0].Cells[0] || strings.HasPrefix(c, "from ")) {
					g.Text += "; " + c
				}
			}
			p.Rows(w, g.Row)
			continue
		}
		things := Things(n, kind.Name)
		if g.Label != "" {
			things += " of " + g.Label
		}
		if p.Width > 0 {
			things = ansi.Truncate(things, p.Width-beside, "…")
		}
		head := g.Row
		if head.Label = things; g.bytes > 0 {
			head.Text += "; " + text.Size(g.bytes)
		}
		p.Rows(w, head)
		rows, most := g.rows, n
		if !all {
			most = min(n, mostRows, *p.left)
			*p.left -= most
		}
		if most == 0 {
			continue
		}
		if rows = rows[:most:most]; most < n {
			rows = append(rows, text.Row{Text: fmt.Sprintf("and %d more: winnow sweep --all", n-most)})
		}
		p.fit(rows)
		p.Rows(w, rows...)
	}
}

// beside is how many columns a row of a group has beside its name and cells.
const beside = 10

// fit indents rows. Where a terminal is too narrow for each to be one line, it leaves out the last cell, and shortens the names.
func (p page) fit(rows []text.Row) {
	const least = 24 // columns of a name
	widths := func() (sum int) {
		most := map[int]int{}
		for _, r := range rows {
			for i, c := range r.Cells {
				most[i] = max(most[i], ansi.StringWidth(c)+2)
			}
		}
		for _, n := range most {
			sum += n
		}
		return sum
	}
	room := p.Width - beside - widths()
	for i := range rows {
		if n := len(rows[i].Cells); room < least && n > 1 && p.Width > 0 {
			rows[i].Cells = rows[i].Cells[:n-1]
		}
		rows[i].Lead, rows[i].Color = "      ", p.Dim
	}
	room = max(p.Width-beside-widths(), least)
	for i := range rows {
		if p.Width > 0 {
			rows[i].Label = ansi.Truncate(rows[i].Label, room, "…")
		}
	}
}

// cells are short facts beside a name: of a process its age, memory and folder, else for how long nothing has happened in it, when it may go where it waits,
// and its size; "-" for what is not known.
func cells(d decision.Decision, taken time.Time) []string {
	a := d.About
	if a == nil {
		a = &decision.About{}
	}
	span := func(seconds *float64, form string) string {
		if seconds == nil {
			return "-"
		}
		return fmt.Sprintf(form, text.Span(config.Seconds(*seconds)))
	}
	var due []string
	if at, ok := Due(d, taken); ok && rank(d) == rankWait {
		due = []string{"from " + Clock(at)}
	}
	if d.Kind != snapshot.KindProcess {
		out := append([]string{span(a.Idle, "idle %s")}, due...)
		if b := freed(d); b > 0 {
			out = append(out, text.Size(b))
		}
		return out
	}
	out := append(append([]string{span(a.Age, "%s old"), "-"}, due...), cmp.Or(text.Home(a.Folder), "-"))
	if a.Memory != nil {
		out[1] = text.Size(*a.Memory)
	}
	if a.Gone && a.Folder != "" {
		out[len(out)-1] += " (deleted)"
	}
	return out
}

// Short is an owner as a column shows it: the first eight characters of what is a long id, and the end of a path.
func Short(owner string) string {
	if strings.HasPrefix(owner, "/") {
		return text.Home(owner)
	}
	if r := []rune(owner); len(r) > 20 {
		return string(r[:8])
	}
	return owner
}

// seen says what the look found of a kind, and where it could not look.
func (c Count) seen() string {
	s := fmt.Sprintf("%d seen, %d in scope", c.Seen, c.InScope)
	if len(c.Failed) > 0 {
		s += "; " + strings.Join(c.Failed, ", ") + " could not be read"
	}
	return text.Clean(s)
}

// PossibleAgentText says why nothing that began after a process is an orphan.
func PossibleAgentText(v *snapshot.PaneProc) string {
	return fmt.Sprintf("%s (pid %d) may be an agent: what it was started from, or what it runs, cannot be read. While it lives, nothing that began after it is taken for an orphan",
		v.Name, v.PID)
}

// The order of decisions in a group.
const (
	rankReap = iota
	rankAfter
	rankLevel
	rankWait
	rankKeep
)

func rank(d decision.Decision) int {
	switch {
	case d.Verdict == decision.Reap:
		return rankReap
	case d.Follows():
		return rankAfter
	case d.Level != "":
		return rankLevel
	case d.Waits():
		return rankWait
	}
	return rankKeep
}

// Label is what a person calls a candidate.
func Label(d decision.Decision) string {
	switch {
	case d.Kind == snapshot.KindDir:
		return text.Home(strings.TrimPrefix(d.ID, "dir:"))
	case d.Kind == snapshot.KindProcess:
		name, pid := d.Label, strings.TrimPrefix(d.ID, "process:")
		if d.About != nil {
			name = cmp.Or(d.About.Command, name)
		}
		pid, _, _ = strings.Cut(pid, "@")
		return fmt.Sprintf("%s (%s)", name, pid)
	case d.Label != "":
		return d.Label
	}
	return d.ID
}

// Listed reports whether a report lists a decision in a line of its own: all lists also what is spared.
func Listed(d decision.Decision, all bool) bool { return all || rank(d) <= rankWait }

func (p page) decisionRow(d decision.Decision, taken time.Time) text.Row {
	row := text.Row{Label: Label(d)}
	main := MainOf(d)
	row.Rest = PlainCounterfactual(d.WouldChange)
	row.Text, row.Next = main.Message, main.Next
	if row.Next != "" {
		row.Next = "next: " + row.Next
	}
	switch rank(d) {
	case rankReap:
		row.Lead, row.Color = cmp.Or(d.Action, "go"), p.Yellow
		if d.Kind == snapshot.KindDir && d.About != nil && d.About.Gone { // of a worktree whose folder is gone
			row.Text += "; only its entry in " + cmp.Or(text.Home(d.About.Repository), "the repository") + " goes, into the trash"
		}
	case rankAfter:
		row.Lead, row.Color, row.Next = "after", p.Yellow, ""
		row.Text += ", which goes first; " + Messages(d.Findings)
	case rankLevel:
		row.Lead, row.Color, row.Text = d.Level, p.Yellow, leveled(d)
	case rankWait:
		row.Lead, row.Color = "wait", p.Yellow
		row.Text += "; " + Messages(d.Objections)
		if at, ok := Due(d, taken); ok {
			row.Text += "; it may go at " + Clock(at)
		}
	default:
		row.Lead, row.Color = "stay", p.Dim
		if len(d.Findings) > 0 {
			row.Text += "; although " + Messages(d.Findings)
		}
	}
	return row
}

// Messages are what reasons say, in one line.
func Messages(rs []decision.Reason) string {
	return text.Join(rs, "; ", func(r decision.Reason) string { return strings.TrimSuffix(r.Message, ".") })
}

// Stays counts in one line what is kept, by the main reason of each; "" where everything goes.
func Stays(ds []decision.Decision) string {
	kept, by := 0, map[string]int{}
	for _, d := range ds {
		if rank(d) == rankKeep {
			kept++
			by[MainOf(d).Group]++
		}
	}
	if kept == 0 {
		return ""
	}
	groups := slices.SortedFunc(maps.Keys(by), func(x, y string) int {
		return cmp.Or(cmp.Compare(by[y], by[x]), cmp.Compare(x, y))
	})
	var parts []string
	for _, g := range groups {
		said := g
		if rest, ok := strings.CutPrefix(g, "hold "); ok && by[g] == 1 {
			said = "holds " + rest
		}
		parts = append(parts, fmt.Sprintf("%d %s", by[g], said))
	}
	return fmt.Sprintf("%d: %s", kept, strings.Join(parts, ", "))
}

// Acts lists acts under a title, those that went alike below one line. all lists each of them.
func Acts(w io.Writer, p text.Paint, title string, acts []decision.Act, all bool) {
	alike := map[[3]string][]decision.Act{}
	key := func(x decision.Act) [3]string {
		return [3]string{x.Kind, x.Outcome.Outcome, strings.ReplaceAll(Aside(x), x.ID, "")}
	}
	for _, x := range acts {
		alike[key(x)] = append(alike[key(x)], x)
	}
	var rows []text.Row
	for _, x := range acts {
		same := alike[key(x)]
		if len(same) == 0 {
			continue // the line of the first one says it
		}
		color := p.Yellow
		switch x.Outcome.Outcome {
		case decision.Done, decision.Gone:
			color = p.Green
		case decision.Failed:
			color = p.Red
		}
		row := text.Row{Lead: x.Outcome.Outcome, Color: color, Label: actLabel(x), Text: Aside(x)}
		back := x.RestoreUntil != nil && !strings.Contains(row.Text, "winnow restore") && !strings.Contains(row.Text, "nothing brings it back")
		if back {
			row.Text = strings.TrimSuffix(row.Text, ".") + "; winnow restore " + x.ID + " brings it back"
		}
		if rows = append(rows, row); len(same) == 1 {
			continue
		}
		head := &rows[len(rows)-1]
		head.Label = Things(len(same), x.Kind)
		head.Text = strings.Replace(head.Text, x.ID+" brings it back", "NAME brings one back", 1)
		back = strings.HasSuffix(head.Text, "NAME brings one back")
		delete(alike, key(x))
		for i, x := range same {
			if i == mostRows && !all {
				rows = append(rows, text.Row{Lead: "    ", Color: p.Dim, Text: fmt.Sprintf("and %d more: winnow history", len(same)-mostRows)})
				break
			}
			row := text.Row{Lead: "    ", Color: p.Dim, Label: actLabel(x)}
			if back {
				row.Text = x.ID
			}
			rows = append(rows, row)
		}
	}
	p.Section(w, title, rows...)
}

// Aside is what an act says of how it went. That a thing was set aside stands without the two paths, which a person can read nothing from: the
// label names it, and the trash lists it.
func Aside(x decision.Act) string {
	head, tail, _ := strings.Cut(x.Detail, "; ")
	what, place, ok := strings.Cut(head, " was moved to ")
	if x.Outcome.Outcome != decision.Done || !ok || !strings.HasSuffix(place, "/"+x.ID) {
		return x.Detail
	}
	said := "moved into the trash"
	if strings.HasPrefix(what, "the entry ") {
		said = "its entry went into the trash"
	}
	if tail != "" {
		said += "; " + tail
	}
	return said
}

// once has one line stand for all that a cap held, with the reason that is the same for each. Which they are stands among what is to go.
func once(acts []decision.Act) (out []decision.Act) {
	type reason struct{ kind, detail string }
	held := map[reason]int{}
	for _, x := range acts {
		if x.Outcome.Outcome == decision.Capped {
			held[reason{x.Kind, x.Detail}]++
		}
	}
	for _, x := range acts {
		n := held[reason{x.Kind, x.Detail}]
		switch {
		case x.Outcome.Outcome != decision.Capped || n == 1:
			out = append(out, x)
		case n > 1:
			out = append(out, decision.Act{Label: Things(n, x.Kind), Outcome: x.Outcome})
			held[reason{x.Kind, x.Detail}] = 0
		}
	}
	return out
}

// capSays is true for an act that a cap held back: the line of the cap says so of all of them.
func (r *Report) capSays(x decision.Act) bool {
	return x.Outcome.Outcome == decision.Capped && len(r.Caps) > 0
}

// alarmText leaves out of an alarm the reason of a cap that stands with the acts of the same report.
func (r *Report) alarmText(al Alarm) string {
	for _, x := range r.Acts {
		if x.Outcome.Outcome == decision.Capped {
			if short, ok := strings.CutSuffix(al.Message, ": "+x.Detail); ok {
				return short + " (said above)"
			}
		}
	}
	return al.Message
}

func actLabel(x decision.Act) string {
	return Label(decision.Decision{ID: x.Candidate, Kind: x.Kind, Label: x.Label})
}

// workersText is what became of the workers that registries record, and the command to run next about each.
func (p page) workersText(w io.Writer, ws []snapshot.Worker) {
	if len(ws) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("workers"))
	for _, x := range ws {
		name, color := cmp.Or(x.ID, x.Name, x.Session), p.Dim
		if x.ID != "" && x.Name != "" && x.Name != x.ID {
			name += " (" + x.Name + ")"
		}
		switch x.Observation {
		case snapshot.WorkerSafeToClose:
			color = p.Green
		case snapshot.WorkerStale, snapshot.WorkerUnknown, snapshot.WorkerUnregistered:
			color = p.Yellow
		}
		fmt.Fprintf(w, "  %s  %s\n", color(text.Clean(strings.ReplaceAll(x.Observation, "_", " "))), text.Clean(name))
		p.Indented(w, 4, p.Dim(text.Clean(x.Why)))
		fmt.Fprintf(w, "    %s\n", text.Clean(x.NextCommand))
	}
}

func (p page) purgedText(w io.Writer, ps []Purged) {
	if len(ps) == 0 {
		return
	}
	acts, freed := map[string]int{}, map[string]int64{}
	for _, x := range ps {
		acts[x.Why]++
		freed[x.Why] += x.Bytes
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("purged"))
	for _, why := range slices.Sorted(maps.Keys(acts)) {
		p.Indented(w, 2, fmt.Sprintf("%s removed from the trash for good, %s freed%s", text.Plural(acts[why], "act"), text.Size(freed[why]), purgedFor[why]))
	}
}

// purgedFor says to a person why something was removed for good.
var purgedFor = map[string]string{
	PurgedExpired:  ": the time to bring them back has passed (act.trash_ttl)",
	PurgedMax:      " before their time, the oldest first: more than act.trash_max lay there",
	PurgedPressure: " before their time, the oldest first: less of the file system was free than act.trash_pressure",
}

// closing says what to do next.
func (p page) closing(w io.Writer, r *Report) {
	var next []string
	reap, wait, keep, later := false, false, "", time.Time{}
	for _, d := range r.Decisions {
		reap = reap || d.Verdict == decision.Reap
		if rank(d) == rankWait {
			if d.Kind != snapshot.KindProcess {
				wait = true
			} else if at, ok := Due(d, r.TakenAt); ok && at.After(later) {
				later = at
			}
		}
		if keep == "" && rank(d) == rankKeep {
			keep = shortID(r.Decisions, d)
		}
	}
	if r.Mode == DryRun {
		switch {
		case reap && r.HeldBack > 0:
			next = append(next, "nothing was changed; winnow sweep --apply carries out what the caps let through")
		case reap && wait:
			next = append(next, "nothing was changed; winnow sweep --apply carries this out, --apply --confirm also what waits")
		case reap:
			next = append(next, "nothing was changed; winnow sweep --apply carries this out")
		case wait:
			next = append(next, "nothing was changed; winnow sweep --apply --confirm looks twice and carries this out")
		case len(r.Decisions) == 0 && !r.Selection.narrows():
			next = append(next, "nothing was changed. winnow doctor says what can be seen here, winnow demo shows a made-up world")
		default:
			next = append(next, "nothing was changed")
		}
	}
	if !later.IsZero() {
		next = append(next, "processes take two looks: winnow sweep --apply after "+Clock(later)+" ends those that wait and have done nothing until then")
	}
	if keep != "" {
		next = append(next, "winnow sweep --all lists what stays; winnow explain "+text.Quote(keep)+" says all about one of them")
	}
	if len(next) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, n := range next {
		for _, l := range text.Wrap(text.Clean(n), p.Width) {
			fmt.Fprintln(w, p.Dim(l))
		}
	}
}

// shortID is the name of a folder where no other candidate ends so, else the id.
func shortID(ds []decision.Decision, d decision.Decision) string {
	name := filepath.Base(d.ID)
	alike := func(other decision.Decision) bool {
		return other.ID != d.ID && (strings.HasSuffix(other.ID, name) || other.Label == name)
	}
	if d.Kind != snapshot.KindDir || strings.HasPrefix(name, "-") || slices.ContainsFunc(ds, alike) {
		return d.ID
	}
	return name
}

// Clock is a time of this day for a person, to the second after.
func Clock(at time.Time) string { return at.Add(time.Second - 1).Local().Format(time.TimeOnly) }

// writeMarkdown is the report for a pull request or a chat.
func writeMarkdown(out io.Writer, r *Report, all bool) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "# winnow %s: %s\n\n%s, policy %s\n", r.Mode, Headline(r), r.TakenAt.Format(time.RFC3339), termsafe.Code(cmp.Or(r.Policy.Revision, r.Policy.Digest)))
	protect, reap := Levels(r.Levels)
	if protect != "" {
		fmt.Fprintf(w, "\n> **%s**\n", termsafe.Cell(protect))
	}
	if reap != "" {
		fmt.Fprintf(w, "\n%s\n", termsafe.Cell(reap))
	}
	for _, f := range r.Config.Files {
		fmt.Fprintf(w, "\nruled by %s\n", termsafe.Code(f))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		if s := r.Sources[name]; s.Status == snapshot.Failed {
			fmt.Fprintf(w, "\n> %s **could not be read:** %s\n", termsafe.Code(name), termsafe.Cell(s.Error))
		}
	}
	for _, kind := range snapshot.Kinds {
		c, ok := r.Census[kind.Name]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "\n## %s\n\n%s, %d reap, %d spare, %d unknown\n", kind.Plural, termsafe.Cell(c.seen()), c.Reap, c.Spare, c.Unknown)
		ds := r.decisionsOf(kind)
		for _, note := range sharedNotes(ds) {
			fmt.Fprintf(w, "\n%s\n", termsafe.Cell(note))
		}
		ds = slices.DeleteFunc(ds, func(d decision.Decision) bool { return !Listed(d, all) })
		table(w, "\n| verdict | candidate | why |\n|---|---|---|\n", ds, func(d decision.Decision) string {
			row := page{}.decisionRow(d, r.TakenAt)
			why := termsafe.Cell(withSize(row.Text, d))
			if row.Rest != "" {
				why += "; " + termsafe.Code(row.Rest)
			}
			return fmt.Sprintf("| %s | %s | %s |\n", termsafe.Cell(row.Lead), termsafe.Code(d.ID), why)
		})
	}
	for _, l := range r.Space.Lines(r.Mode) {
		fmt.Fprintf(w, "\n%s\n", termsafe.Cell(l))
	}
	table(w, "\n## acts\n\n| outcome | candidate | detail |\n|---|---|---|\n", once(r.Acts), func(x decision.Act) string {
		candidate := termsafe.Cell(x.Label)
		if x.Candidate != "" {
			candidate = termsafe.Code(x.Candidate)
		}
		return fmt.Sprintf("| %s | %s | %s |\n", termsafe.Cell(x.Outcome.Outcome), candidate, termsafe.Cell(x.Detail))
	})
	table(w, "\n## caps\n\n| cap | held | why |\n|---|---|---|\n", r.Caps, func(c decision.Cap) string {
		return fmt.Sprintf("| %s | %s | %s |\n", termsafe.Code(c.Cap), termsafe.Cell(Things(c.Held, c.Kind)), termsafe.Cell(CapText(c)))
	})
	if all {
		head := "\n## workers\n\n| observation | worker | why | next |\n|---|---|---|---|\n"
		table(w, head, r.Workers, func(x snapshot.Worker) string {
			name := termsafe.Cell(cmp.Or(x.ID, x.Name, x.Session))
			return fmt.Sprintf("| %s | %s | %s | %s |\n", termsafe.Cell(x.Observation), name, termsafe.Cell(x.Why), termsafe.Code(x.NextCommand))
		})
	}
	for _, x := range r.Exceptions {
		if x.State != Keeps { // it has expired, or ends soon
			fmt.Fprintf(w, "\n> **exception** %s %s: %s; %s\n", termsafe.Code(x.Place()), termsafe.Cell(x.State), termsafe.Cell(x.Says()), termsafe.Cell(x.Next()))
		}
	}
	for _, al := range r.Alarms {
		fmt.Fprintf(w, "\n> **alarm** %s %s\n", termsafe.Code(al.Rule), termsafe.Cell(r.alarmText(al)))
	}
	return w.Flush()
}

// table writes rows of markdown below their head, and nothing where there are none.
func table[T any](w io.Writer, head string, of []T, row func(T) string) {
	if len(of) > 0 {
		fmt.Fprint(w, head, text.Join(of, "", row))
	}
}

// filesText names the files that ruled.
func (p page) filesText(w io.Writer, files []string) {
	fmt.Fprintf(w, "\n%s\n", p.Bold("ruled by"))
	for _, f := range files {
		fmt.Fprintf(w, "  %s\n", text.Clean(text.Home(f)))
	}
	if len(files) == 0 {
		fmt.Fprintln(w, p.Dim("  the defaults alone"))
	}
}

// projectsText says which projects' own files have changed, with --all also which keep things, and which were never trusted.
func (p page) projectsText(w io.Writer, projects []ProjectRef, all bool) {
	var rows []text.Row
	for _, x := range projects {
		if !all && (x.State == project.StateTrusted || x.State == snapshot.ProjectUntrusted) {
			continue
		}
		color, why := p.Yellow, x.Why
		if x.State == project.StateTrusted {
			color, why = p.Dim, "what it asks to keep stays"
		}
		rows = append(rows, text.Row{Lead: "note", Color: color, Label: text.Home(x.Path), Text: x.State + ": " + why})
	}
	p.Section(w, "projects with a file of their own", rows...)
}

// Due is when a look may let go at the earliest of what waits for it: the wait's own evidence says how many seconds are left.
func Due(d decision.Decision, taken time.Time) (time.Time, bool) {
	for _, o := range d.Objections {
		if o.Rule != decision.RuleDebounce {
			continue
		}
		var left *float64
		data, err := json.Marshal(o.Evidence["left"])
		if err == nil && json.Unmarshal(data, &left) == nil && left != nil {
			return taken.Add(config.Seconds(*left)), true
		}
	}
	return time.Time{}, false
}
