package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/internal/plain"
)

// maxLabel is how wide the column of names may become before a name stands on a line of its own.
const maxLabel = 34

// writeText is the report for a person: what could not be read on top, then by kind what goes and why, and what stays by reason.
func (a *app) writeText(r *Report, all bool) error {
	w := bufio.NewWriter(a.out)
	p := a.paint
	p.sourcesText(w, r.Sources)
	fmt.Fprintln(w, p.bold(headline(r)))
	for _, kind := range snapshot.Kinds {
		if c, ok := r.Census[kind.Name]; ok {
			p.kindText(w, r, kind, c, all)
		}
	}
	if all {
		p.workersText(w, r.Workers)
	}
	p.actsText(w, "acts", r.Acts)
	p.actsText(w, "settled: acts that an earlier sweep was cut short in", r.Settled)
	p.purgedText(w, r.Purged)
	p.projectsText(w, r.Config.Projects, all)
	for _, al := range r.Alarms {
		fmt.Fprintln(w)
		p.row(w, "alarm", p.red, al.Rule, r.said(al), ansi.StringWidth(clean(al.Rule)))
	}
	if all || len(r.Config.Files) > 0 {
		p.filesText(w, r.Config.Files)
	}
	a.closing(w, r)
	return w.Flush()
}

// headline says in one line what the sweep came to.
func headline(r *Report) string {
	var reap, wait int
	for _, d := range r.Decisions {
		switch {
		case d.Verdict == decision.Reap:
			reap++
		case d.Waits():
			wait++
		}
	}
	if r.Mode == modeApply {
		done := count(r.Acts, decision.Done)
		rest := len(r.Acts) - done
		s := fmt.Sprintf("%s done", plural(done, "act"))
		if rest > 0 {
			s += fmt.Sprintf(", %d not", rest)
		}
		if wait > 0 {
			s += fmt.Sprintf(", %d waiting for a second look", wait)
		}
		return s
	}
	s := fmt.Sprintf("%d would be reaped, %d stay", reap, len(r.Decisions)-reap)
	if wait > 0 {
		s += fmt.Sprintf(" (%d of them wait for a second look)", wait)
	}
	if len(r.Decisions) == 0 {
		s = "nothing in scope was found"
	}
	return s
}

func count(acts []decision.Act, outcome string) int {
	n := 0
	for _, a := range acts {
		if a.Outcome.Outcome == outcome {
			n++
		}
	}
	return n
}

// sourcesText lists what could not be read. An absent source is only worth a line where somebody named it.
func (p paint) sourcesText(w io.Writer, sources map[string]snapshot.Source) {
	var bad []string
	width := 0
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		s := sources[name]
		if s.Status == snapshot.Failed || s.Status == snapshot.Absent && (s.Kind == "spawns" || s.Kind == "registry") {
			bad = append(bad, name)
			width = max(width, ansi.StringWidth(clean(name)))
		}
	}
	if len(bad) == 0 {
		return
	}
	fmt.Fprintln(w, p.bold(p.red("could not be read: everything that rests on it is kept")))
	for _, name := range bad {
		p.row(w, sources[name].Status, p.red, name, sources[name].Error, min(width, maxLabel))
	}
	fmt.Fprintln(w)
}

// kindText is one kind's group.
func (p paint) kindText(w io.Writer, r *Report, kind snapshot.Kind, c Count, all bool) {
	var ds []decision.Decision
	for _, d := range r.Decisions {
		if d.Kind == kind.Name {
			ds = append(ds, d)
		}
	}
	slices.SortStableFunc(ds, func(x, y decision.Decision) int { return cmp.Compare(rank(x), rank(y)) })
	fmt.Fprintf(w, "\n%s  %s\n", p.bold(kind.Plural), p.dim(fmt.Sprintf("%d seen, %d in scope", c.Seen, c.InScope)))

	shown := ds
	if !all {
		shown = slices.DeleteFunc(slices.Clone(ds), func(d decision.Decision) bool { return rank(d) > rankWait })
	}
	var labels []string
	for _, d := range shown {
		labels = append(labels, clean(label(d)))
	}
	width := min(widest(labels), maxLabel)
	for _, d := range shown {
		p.decisionText(w, d, r.TakenAt, width, all)
	}
	if !all {
		if s := stays(ds); s != "" {
			p.row(w, "keep", p.dim, s, "", 0)
		}
	}
	if kind.Name == snapshot.KindProcess && r.Veil != nil && slices.ContainsFunc(ds, func(d decision.Decision) bool { return len(d.Findings) == 0 }) {
		p.row(w, "note", p.yellow, "", veiling(r.Veil), 0)
	}
}

// veiling says why nothing that began after a process is an orphan.
func veiling(v *snapshot.PaneProc) string {
	return fmt.Sprintf("%s (pid %d) may be an agent: what it was started from, or what it runs, cannot be read; while it lives, nothing that began after it is taken for an orphan",
		v.Name, v.PID)
}

// The order of decisions in a group.
const (
	rankReap = iota
	rankWait
	rankKeep
)

func rank(d decision.Decision) int {
	switch {
	case d.Verdict == decision.Reap:
		return rankReap
	case d.Waits():
		return rankWait
	}
	return rankKeep
}

func label(d decision.Decision) string {
	switch {
	case d.Kind == snapshot.KindDir:
		return home(strings.TrimPrefix(d.ID, "dir:"))
	case d.Kind == snapshot.KindProcess:
		return fmt.Sprintf("%s (%s)", d.Label, strings.TrimPrefix(d.ID, "process:"))
	case d.Label != "":
		return d.Label
	}
	return d.ID
}

func (p paint) decisionText(w io.Writer, d decision.Decision, taken time.Time, width int, all bool) {
	switch rank(d) {
	case rankReap:
		p.row(w, "reap", p.green, label(d), messages(d.Findings), width)
	case rankWait:
		why := messages(d.Findings) + "; " + messages(d.Objections)
		if at, ok := due(d, taken); ok {
			why += ", not before " + clock(at)
		}
		p.row(w, "wait", p.yellow, label(d), why, width)
	default:
		why := messages(d.Objections)
		switch {
		case len(d.Objections) == 0:
			why = "no rule found a reason to reap it"
		case all && len(d.Findings) > 0:
			why += "; although " + messages(d.Findings)
		}
		p.row(w, "keep", p.dim, label(d), why, width)
	}
}

func messages(rs []decision.Reason) string {
	var out []string
	for _, r := range rs {
		out = append(out, strings.TrimSuffix(r.Message, "."))
	}
	return strings.Join(out, "; ")
}

// stays counts what is kept by reason: each candidate under every objection that it met, so the numbers may add up to more.
func stays(ds []decision.Decision) string {
	kept, none := 0, 0
	by := map[string]int{}
	for _, d := range ds {
		if rank(d) != rankKeep {
			continue
		}
		kept++
		if len(d.Findings) == 0 {
			none++
		}
		for _, o := range d.Objections {
			by[strings.TrimPrefix(o.Rule, "protect.")]++
		}
	}
	if kept == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(by), func(x, y string) int {
		return cmp.Or(cmp.Compare(by[y], by[x]), cmp.Compare(x, y))
	})
	var parts []string
	if none > 0 {
		parts = append(parts, fmt.Sprintf("%d no reason found", none))
	}
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%d %s", by[n], strings.ReplaceAll(n, "_", " ")))
	}
	return fmt.Sprintf("%d: %s", kept, strings.Join(parts, ", "))
}

func (p paint) actsText(w io.Writer, title string, acts []decision.Act) {
	if len(acts) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold(title))
	acts = once(acts)
	var labels []string
	for _, x := range acts {
		labels = append(labels, clean(actLabel(x)))
	}
	width := min(widest(labels), maxLabel)
	for _, x := range acts {
		color := p.yellow
		switch x.Outcome.Outcome {
		case decision.Done, decision.Gone:
			color = p.green
		case decision.Failed:
			color = p.red
		}
		detail := x.Detail
		if x.RestoreUntil != nil && !strings.Contains(detail, "winnow restore") && !strings.Contains(detail, "nothing brings it back") {
			detail = strings.TrimSuffix(detail, ".") + "; winnow restore " + x.ID + " brings it back"
		}
		p.row(w, x.Outcome.Outcome, color, actLabel(x), detail, width)
	}
}

// once has one line stand for all that a cap held, with the reason that is the same for each. Which they are stands among what is to go.
func once(acts []decision.Act) []decision.Act {
	type reason struct{ kind, detail string }
	held := map[reason]int{}
	for _, x := range acts {
		if x.Outcome.Outcome == decision.Capped {
			held[reason{x.Kind, x.Detail}]++
		}
	}
	var out []decision.Act
	for _, x := range acts {
		n := held[reason{x.Kind, x.Detail}]
		switch {
		case x.Outcome.Outcome != decision.Capped || n == 1:
			out = append(out, x)
		case n > 1:
			kind, _ := snapshot.KindOf(x.Kind)
			out = append(out, decision.Act{Label: fmt.Sprintf("%d %s", n, kind.Plural), Outcome: x.Outcome})
			held[reason{x.Kind, x.Detail}] = 0
		}
	}
	return out
}

// said leaves out of an alarm the reason of a cap that stands with the acts of the same report.
func (r *Report) said(al Alarm) string {
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
	return label(decision.Decision{ID: x.Candidate, Kind: x.Kind, Label: x.Label})
}

// workersText is what became of the workers that registries record, and the command to run next about each.
func (p paint) workersText(w io.Writer, ws []snapshot.Worker) {
	if len(ws) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("workers"))
	for _, x := range ws {
		name, color := cmp.Or(x.ID, x.Name, x.Session), p.dim
		if x.ID != "" && x.Name != "" && x.Name != x.ID {
			name += " (" + x.Name + ")"
		}
		switch x.Observation {
		case snapshot.WorkerSafeToClose:
			color = p.green
		case snapshot.WorkerStale, snapshot.WorkerUnknown, snapshot.WorkerUnregistered:
			color = p.yellow
		}
		fmt.Fprintf(w, "  %s  %s\n", color(clean(strings.ReplaceAll(x.Observation, "_", " "))), clean(name))
		p.indented(w, 4, p.dim(clean(x.Why)))
		fmt.Fprintf(w, "    %s\n", clean(x.NextCommand))
	}
}

func (p paint) purgedText(w io.Writer, ps []Purged) {
	if len(ps) == 0 {
		return
	}
	var sum int64
	for _, x := range ps {
		sum += x.Bytes
	}
	fmt.Fprintf(w, "\n%s\n  %s whose time in the trash was over, %s freed\n", p.bold("purged"), plural(len(ps), "act"), size(sum))
}

// closing says what to do next.
func (a *app) closing(w io.Writer, r *Report) {
	var next []string
	reap, wait, keep, later := false, false, "", time.Time{}
	for _, d := range r.Decisions {
		reap = reap || d.Verdict == decision.Reap
		if rank(d) == rankWait {
			if d.Kind != snapshot.KindProcess {
				wait = true
			} else if at, ok := due(d, r.TakenAt); ok && at.After(later) {
				later = at
			}
		}
		if keep == "" && rank(d) == rankKeep {
			keep = d.ID
		}
	}
	if r.Mode == modeDryRun {
		switch {
		case reap && wait:
			next = append(next, "nothing was changed; winnow sweep --apply carries this out, --apply --confirm also what waits")
		case reap:
			next = append(next, "nothing was changed; winnow sweep --apply carries this out")
		case wait:
			next = append(next, "nothing was changed; winnow sweep --apply --confirm looks twice and carries this out")
		case len(r.Decisions) == 0:
			next = append(next, "nothing was changed; winnow doctor says what can be seen and reaped here, winnow demo shows it on a made-up world")
		default:
			next = append(next, "nothing was changed")
		}
	}
	if !later.IsZero() {
		next = append(next, "processes take two looks: winnow sweep --apply after "+clock(later)+" ends those that wait and have done nothing until then")
	}
	if keep != "" {
		next = append(next, "winnow explain "+quote(keep)+" says why one stays, --all lists them")
	}
	if len(next) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, n := range next {
		for _, l := range wrap(clean(n), a.paint.width) {
			fmt.Fprintln(w, a.paint.dim(l))
		}
	}
}

// clock is a time of this day for a person, to the second after.
func clock(at time.Time) string { return at.Add(time.Second - 1).Local().Format(time.TimeOnly) }

// quote makes s safe to paste into a shell. What a terminal should not get is written in the way that bash, zsh and ksh read back, so
// that the command still means s.
func quote(s string) string {
	if clean(s) != s {
		return quoteHidden(s)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_~", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteHidden(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func widest(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, ansi.StringWidth(s))
	}
	return n
}

// writeMarkdown is the report for a pull request or a chat.
func writeMarkdown(out io.Writer, r *Report, all bool) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "# winnow %s: %s\n\n%s, policy %s\n", r.Mode, headline(r), r.TakenAt.Format(time.RFC3339), plain.Code(cmp.Or(r.Policy.Revision, r.Policy.Digest)))
	for _, f := range r.Config.Files {
		fmt.Fprintf(w, "\nruled by %s\n", plain.Code(f))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		if s := r.Sources[name]; s.Status == snapshot.Failed {
			fmt.Fprintf(w, "\n> %s **could not be read:** %s\n", plain.Code(name), plain.Cell(s.Error))
		}
	}
	for _, kind := range snapshot.Kinds {
		c, ok := r.Census[kind.Name]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "\n## %s\n\n%d seen, %d in scope, %d reap, %d spare, %d unknown\n", kind.Plural, c.Seen, c.InScope, c.Reap, c.Spare, c.Unknown)
		head := false
		for _, d := range r.Decisions {
			if d.Kind != kind.Name || !all && rank(d) > rankWait {
				continue
			}
			if !head {
				fmt.Fprint(w, "\n| verdict | candidate | why |\n|---|---|---|\n")
				head = true
			}
			why := messages(d.Findings)
			if d.Verdict == decision.Spare {
				why = messages(d.Objections)
			}
			fmt.Fprintf(w, "| %s | %s | %s |\n", plain.Cell(d.Verdict), plain.Code(d.ID), plain.Cell(why))
		}
	}
	for i, x := range once(r.Acts) {
		if i == 0 {
			fmt.Fprint(w, "\n## acts\n\n| outcome | candidate | detail |\n|---|---|---|\n")
		}
		candidate := plain.Cell(x.Label)
		if x.Candidate != "" {
			candidate = plain.Code(x.Candidate)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", plain.Cell(x.Outcome.Outcome), candidate, plain.Cell(x.Detail))
	}
	for i, x := range r.Workers {
		if !all {
			break
		}
		if i == 0 {
			fmt.Fprint(w, "\n## workers\n\n| observation | worker | why | next |\n|---|---|---|---|\n")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", plain.Cell(x.Observation), plain.Cell(cmp.Or(x.ID, x.Name, x.Session)), plain.Cell(x.Why), plain.Code(x.NextCommand))
	}
	for _, al := range r.Alarms {
		fmt.Fprintf(w, "\n> **alarm** %s %s\n", plain.Code(al.Rule), plain.Cell(r.said(al)))
	}
	return w.Flush()
}
