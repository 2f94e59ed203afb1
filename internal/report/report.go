// Package report is what a sweep or a decide says, in every form: the JSON document, text for a person, markdown, and the exit code that follows.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Schema names the report's shape.
const Schema = "winnow.report/v1"

// The modes of a report.
const (
	DryRun = "dry-run"
	Apply  = "apply"
	Decide = "decide"
	// Cleanup is in the ledger only: a cleanup prints no report.
	Cleanup = "cleanup"
)

// Report is what a sweep or a decide says. docs/reference/schemas/report.json is generated from it.
type Report struct {
	Schema  string    `json:"schema" jsonschema:"enum=winnow.report/v1"`
	Sweep   string    `json:"sweep,omitempty"`
	TakenAt time.Time `json:"taken_at"`
	Mode    string    `json:"mode" jsonschema:"enum=dry-run,enum=apply,enum=decide"`
	Policy  PolicyRef `json:"policy"`
	// Config says which files ruled.
	Config ConfigRef `json:"config"`
	// Levels are the rules that are not on, a line a kind.
	Levels []subject.RuleLevel `json:"levels"`
	// Exceptions are those of the policies, each with how it stands.
	Exceptions []Exception `json:"exceptions"`
	// Sources are as in the snapshot.
	Sources map[string]snapshot.Source `json:"sources"`
	// Census counts by kind of candidate.
	Census map[string]Count `json:"census"`
	// Selection is what a person asked for, absent where that is everything.
	Selection *Selection `json:"selection,omitempty"`
	// Decisions holds every candidate in scope, sorted by id; with a selection those that it leaves, in its order.
	Decisions []decision.Decision `json:"decisions"`
	// PossibleAgent is a process that may be an agent and does not show it: while it lives, no process that began after it is an orphan.
	PossibleAgent *snapshot.PaneProc `json:"possible_agent,omitempty"`
	Acts          []decision.Act     `json:"acts"`
	// Caps are those that hold something back, in a dry run those that would.
	Caps []decision.Cap `json:"caps"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
	// Purged is what was kept for its time in the trash and is now gone for good.
	Purged []Purged `json:"purged,omitempty"`
	// Space is what all this means for the disk; absent where no ledger was read.
	Space *Space `json:"space,omitempty"`
	// Workers are the observations on what registries record, where sessions are reported on.
	Workers []snapshot.Worker `json:"workers"`
	Alarms  []Alarm           `json:"alarms"`
	// Paused is true where the sweep was to act and a pause kept it from that.
	Paused bool `json:"paused,omitempty"`
	// NothingNew is true where the daemon found by stamps that nothing had changed since an earlier sweep: what that one decided stands, with the numbers of then.
	NothingNew bool `json:"nothing_new,omitempty"`
	// Unexplained counts the decisions that should have said what would turn them, and for which there was no time.
	Unexplained int `json:"unexplained,omitempty"`
	// HeldBack is how many of those to be reaped the caps hold back.
	HeldBack int `json:"held_back,omitempty"`
}

// PolicyRef says which policies decided: the manifest's revision, and a digest over what was really loaded.
type PolicyRef struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
	// Bundles are those that the configuration names.
	Bundles []BundleRef `json:"bundles,omitempty"`
}

// BundleRef says how a bundle stands: which one decided, and why there is nothing newer where something is wrong.
type BundleRef struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	// Digest is of the file, Serial what its author counts it by; 0 where it has none.
	Digest string `json:"digest"`
	Serial int64  `json:"serial,omitempty"`
	// KeyID names the key that its signature was verified with.
	KeyID string `json:"key_id,omitempty"`
	// ActivatedAt is when it began to decide, CheckedAt when its place last gave an answer.
	ActivatedAt time.Time `json:"activated_at,omitzero"`
	CheckedAt   time.Time `json:"checked_at,omitzero"`
	Problem     string    `json:"problem,omitempty"`
	// Refused is true where a bundle was got and is not used, false where none was got.
	Refused bool `json:"refused,omitempty"`
}

// PolicyStale is the alarm that a bundle decides although there may be a newer one.
const PolicyStale = "policy_stale"

// SetBundles says how the bundles stand, with an alarm for each in stale.
func (r *Report) SetBundles(refs []BundleRef, stale map[string]string) {
	r.Policy.Bundles = refs
	for _, b := range refs {
		if message := stale[b.Name]; message != "" {
			r.Alarms = append(r.Alarms, Alarm{Rule: PolicyStale, Message: message})
		}
	}
}

// ConfigRef names the files that ruled besides the program's own defaults: the configuration, and the file of each project that was
// trusted.
type ConfigRef struct {
	Files []string `json:"files"`
	// Projects are the repositories that bring a file of their own, whether it rules or not.
	Projects []ProjectRef `json:"projects,omitempty"`
}

// ProjectRef says how a project's own file stands: trusted, changed, gone, refused, untrusted. In all but the last one what was trusted
// rules.
type ProjectRef struct {
	Path   string `json:"path"`
	File   string `json:"file"`
	State  string `json:"state" jsonschema:"enum=trusted,enum=changed,enum=gone,enum=refused,enum=untrusted"`
	Why    string `json:"why,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// Count is the census of one kind. Unknown counts those of Spare that were kept because something could not be read.
// Failed names the kind's sources that could not be read: the numbers do not count what they have.
type Count struct {
	Seen    int      `json:"seen"`
	InScope int      `json:"in_scope"`
	Reap    int      `json:"reap"`
	Spare   int      `json:"spare"`
	Unknown int      `json:"unknown"`
	Failed  []string `json:"failed,omitempty"`
}

// Alarm is something that a person should look at, although every single decision was in order.
type Alarm struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	// Candidate is the id of the thing that it is about, "" where it is about no single one.
	Candidate string `json:"candidate,omitempty"`
}

// Purged is one act's set-aside things, removed.
type Purged struct {
	Act       string `json:"act"`
	Candidate string `json:"candidate"`
	Bytes     int64  `json:"bytes"`
	// Why is expired, or trash_max or trash_pressure for what went before its time.
	Why string `json:"why,omitempty" jsonschema:"enum=expired,enum=trash_max,enum=trash_pressure"`
}

// Why things are purged.
const (
	PurgedExpired  = "expired"
	PurgedMax      = "trash_max"
	PurgedPressure = "trash_pressure"
)

// New gathers a decided snapshot; c names the files that ruled, rules are their times.
func New(mode, sweep string, s *snapshot.Snapshot, p *policy.Policy, c ConfigRef, res eval.Result, rules *subject.Config, kinds []string) *Report {
	r := &Report{
		Schema: Schema, Sweep: sweep, TakenAt: s.TakenAt, Mode: mode,
		Policy:     PolicyRef{Revision: p.Revision, Digest: p.Digest},
		Config:     c,
		Levels:     append([]subject.RuleLevel{}, res.Levels...),
		Exceptions: Standing(res.Exceptions, s, res.Excepted),
		Sources:    s.Sources,
		Census:     map[string]Count{},
		Decisions:  []decision.Decision{}, Acts: []decision.Act{}, Caps: []decision.Cap{}, Alarms: []Alarm{}, Workers: []snapshot.Worker{},
	}
	if slices.Contains(kinds, snapshot.KindProcess) {
		r.PossibleAgent = res.PossibleAgent
	}
	if slices.Contains(kinds, snapshot.KindSession) {
		r.Workers = append(r.Workers, s.Workers...)
	}
	for _, kind := range snapshot.Kinds {
		c := Count{Seen: res.Seen[kind.Name]}
		for _, name := range NotRead(s.Sources) {
			if kind.From(name, s.Sources[name]) {
				c.Failed = append(c.Failed, name)
			}
		}
		if slices.Contains(kinds, kind.Name) && (c.Seen > 0 || len(c.Failed) > 0) {
			r.Census[kind.Name] = c
		}
	}
	for _, d := range res.Decisions {
		c, ok := r.Census[d.Kind]
		if !ok {
			continue
		}
		c.InScope++
		if d.Verdict == decision.Reap {
			c.Reap++
		} else {
			c.Spare++
		}
		if d.Unknown() {
			c.Unknown++
		}
		d.Main = Main(d, s, rules, p)
		if sweep != "" {
			d.Decision = decision.DecisionID(sweep, d.ID)
		}
		r.Census[d.Kind] = c
		r.Decisions = append(r.Decisions, d)
	}
	for _, e := range res.Errors {
		r.Alarms = append(r.Alarms, Alarm{Rule: decision.PolicyError, Candidate: e.ID, Message: e.ID + ": " + e.Err.Error() + "; it was kept"})
	}
	return r
}

// Paused is the alarm that a pause kept a sweep from acting.
const Paused = "paused"

// Pause says that a pause kept the sweep from acting.
func (r *Report) Pause(why string) {
	r.Paused = true
	r.Alarms = append(r.Alarms, Alarm{Rule: Paused, Message: why + "; nothing was done"})
}

// Replace puts a later decision about the same candidate, which was in scope before, in the place of the i-th.
func (r *Report) Replace(i int, d decision.Decision) {
	old, c := r.Decisions[i], r.Census[d.Kind]
	if old.Verdict != decision.Reap && d.Verdict == decision.Reap {
		c.Reap++
		c.Spare--
	}
	if old.Unknown() && !d.Unknown() {
		c.Unknown--
	}
	r.Census[d.Kind] = c
	d.Decision = r.Decisions[i].Decision
	r.Decisions[i] = d
}

// NotRead names the sources that could not be read, sorted.
func NotRead(sources map[string]snapshot.Source) []string {
	wasRead := func(name string) bool { return sources[name].Status != snapshot.Failed }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), wasRead)
}

// Code is the exit code that the report means.
func (r *Report) Code(exitCode bool) int {
	part := r.Paused || len(NotRead(r.Sources)) > 0
	if r.Mode == Apply && slices.ContainsFunc(r.Caps, func(c decision.Cap) bool { return c.Stops }) {
		return exit.Capped
	}
	for _, a := range r.Settled {
		part = part || a.Open
	}
	for _, a := range r.Acts {
		part = part || a.Outcome.Outcome == decision.Failed || a.Outcome.Outcome == decision.Refused
	}
	for _, a := range r.Alarms {
		part = part || a.Rule == decision.PolicyError || a.Rule == PolicyStale
	}
	switch {
	case part:
		return exit.Part
	case exitCode && r.Mode != Apply && slices.ContainsFunc(r.Decisions, func(d decision.Decision) bool { return d.Verdict == decision.Reap }):
		return exit.Reap
	}
	return exit.Done
}

// Held notes what the caps hold back.
func (r *Report) Held(p actuators.Plan) {
	r.Caps = append(r.Caps, p.Caps...)
	for _, waiting := range p.Wait {
		r.HeldBack += len(waiting)
	}
}

// Stopped reports whether something looks like an accident, so that nothing of a kind is done.
func (r *Report) Stopped(kind string) bool {
	return slices.ContainsFunc(r.Caps, func(c decision.Cap) bool { return c.Kind == kind && c.Stops })
}

// heldBack says of so many that would go how many this sweep does; "" where the caps hold nothing back.
func (r *Report) heldBack(reap int) string {
	switch n := reap - r.HeldBack; {
	case r.HeldBack == 0:
		return ""
	case n > 0:
		return fmt.Sprintf(", the oldest %d of them in this sweep", n)
	}
	return ", none of them in this sweep"
}

// capsText says of each cap what it holds back, and the flag that lifts it.
func (p page) capsText(w io.Writer, r *Report) {
	p.Section(w, "caps", text.Map(r.Caps, func(c decision.Cap) text.Row {
		if c.Stops {
			return text.Row{Lead: "stop", Color: p.Red, Label: Things(c.Held, c.Kind), Text: CapText(c)}
		}
		return text.Row{Lead: "cap", Color: p.Yellow, Text: CapText(c)}
	})...)
}

// Things says how many of a kind: 1 dir, 3 dirs.
func Things(n int, kind string) string {
	k, _ := snapshot.KindOf(kind)
	if n == 1 {
		return "1 " + k.Name
	}
	return fmt.Sprintf("%d %s", n, k.Plural)
}

// CapText is one line about a cap. It says what this cap alone holds back: how many go in the end is decided by all of them together, and the first
// line of a report says it.
func CapText(c decision.Cap) string {
	if c.Stops {
		return fmt.Sprintf("%s: nothing of this kind goes. Look at what is wanted; winnow sweep --apply %s lets it through once", c.Why, c.Lift)
	}
	kind, _ := snapshot.KindOf(c.Kind)
	most := "acts a sweep"
	if c.Cap == decision.CapPerOwner {
		most = "acts of one owner a sweep"
	}
	return fmt.Sprintf("%d of %d %s wait: at most %g %s. %s does all.", c.Held, c.Wanted, kind.Plural, c.Limit, most, c.Lift)
}

// Formats are the forms in which a report is written.
var Formats = []string{"text", "json", "ndjson", "markdown"}

// Write writes the report in one of Formats; all lists also what is spared.
func (r *Report) Write(w io.Writer, p text.Paint, format string, all bool) error {
	switch format {
	case "json":
		return text.JSON(w, r, "  ")
	case "ndjson":
		return writeNDJSON(w, r)
	case "markdown":
		return writeMarkdown(w, r, all)
	}
	return page{p, new(18)}.write(w, r, all)
}

// line is one line of ndjson: its type says which of the others is set.
type line struct {
	Type     string             `json:"type"`
	Report   *Report            `json:"report,omitempty"`
	Decision *decision.Decision `json:"decision,omitempty"`
	Act      *decision.Act      `json:"act,omitempty"`
	Alarm    *Alarm             `json:"alarm,omitempty"`
	Worker   *snapshot.Worker   `json:"worker,omitempty"`
}

// writeNDJSON writes the report's head as one line, then a line a decision, an act, an alarm and a worker.
func writeNDJSON(w io.Writer, r *Report) error {
	head := *r
	head.Decisions, head.Acts, head.Alarms = []decision.Decision{}, []decision.Act{}, []Alarm{}
	head.Workers = []snapshot.Worker{}
	lines := []line{{Type: "report", Report: &head}}
	for i := range r.Decisions {
		lines = append(lines, line{Type: "decision", Decision: &r.Decisions[i]})
	}
	for i := range r.Acts {
		lines = append(lines, line{Type: "act", Act: &r.Acts[i]})
	}
	for i := range r.Alarms {
		lines = append(lines, line{Type: "alarm", Alarm: &r.Alarms[i]})
	}
	for i := range r.Workers {
		lines = append(lines, line{Type: "worker", Worker: &r.Workers[i]})
	}
	for _, l := range lines {
		if err := text.JSON(w, l, ""); err != nil {
			return err
		}
	}
	return nil
}

// sharedNotes says once for each source what keeps things that would go but for that, where the METADATA of the rule has a short message for each.
func sharedNotes(ds []decision.Decision) (out []string) {
	kept, why, kind := map[string]int{}, map[string]string{}, map[string]string{}
	var order []string
	for _, d := range ds {
		m := d.Main
		if len(d.Findings) == 0 || m == nil || m.Once == "" ||
			slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule != m.Rule && o.Rule != decision.RuleDebounce }) {
			continue
		}
		source := strings.TrimPrefix(d.ID[:max(0, strings.LastIndexByte(d.ID, '/'))], d.Kind+":")
		if kept[source] == 0 {
			order = append(order, source)
		}
		kept[source]++
		kind[source] = d.Kind
		why[source] = d.Main.Once
	}
	for _, source := range order {
		out = append(out, fmt.Sprintf("%s of %s would go, but %s", text.Plural(kept[source], kind[source]), source, why[source]))
	}
	return out
}

// UnheardNotes says in one line which agents run that nothing speaks with.
func UnheardNotes(ds []decision.Decision) []string {
	var each []string
	for _, d := range ds {
		if d.Unheard() {
			c := cells(d, time.Time{})
			each = append(each, fmt.Sprintf("%s, %s, %s, in %s", Label(d), c[0], c[1], c[len(c)-1]))
		}
	}
	if len(each) == 0 {
		return nil
	}
	run := []string{"agent runs", "agents run"}[min(len(each), 2)-1]
	return []string{fmt.Sprintf("%d %s that nothing speaks with: %s; winnow cleanup ID ends one", len(each), run, strings.Join(each, "; "))}
}
