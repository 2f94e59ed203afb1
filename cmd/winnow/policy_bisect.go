package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/cmd/winnow/comparison"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/git"
)

// BisectionSchema names the shape of Bisection.
const BisectionSchema = "winnow.policy_bisect/v1"

// Bisection is what winnow policy replay --bisect prints as JSON. docs/schemas/policy-bisect.json is generated from it.
type Bisection struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.policy_bisect/v1"`
	// Good and Bad are the two ends, Path is the folder of the policies in them.
	Good comparison.Side `json:"good"`
	Bad  comparison.Side `json:"bad"`
	Path string          `json:"path"`
	// Commits counts those after Good, up to Bad, that changed something in the folder, and Tried those of them whose policies decided.
	Commits int `json:"commits"`
	Tried   int `json:"tried"`
	// Samples counts what was decided: recorded sweeps and saved snapshots. Flips counts the decisions whose verdict is another by Bad than by
	// Good, and Others those with the same verdict by other rules, for which no commit is looked for.
	Samples int `json:"samples"`
	Flips   int `json:"flips"`
	Others  int `json:"others"`
	// Named are the commits that flipped a decision, the oldest first.
	Named []NamedCommit `json:"named"`
	// Skipped are the commits whose policies could not be used, with the reason.
	Skipped []SkippedCommit `json:"skipped"`
	// Failed says what could not be decided, a sentence each.
	Failed []string `json:"failed"`
}

// CommitRef is a commit. Author and Subject are what it says of itself.
type CommitRef struct {
	ID      string    `json:"id"`
	Date    time.Time `json:"date"`
	Author  string    `json:"author"`
	Subject string    `json:"subject"`
}

// NamedCommit is a commit that flipped decisions.
type NamedCommit struct {
	Commit CommitRef `json:"commit"`
	// Or are earlier commits, of which one may have done it: their policies could not be used, or came to no answer.
	Or []CommitRef `json:"or,omitempty"`
	// Inside is the command that looks for the commit within a merge; "" for what is no merge.
	Inside string `json:"inside,omitempty"`
	// Flips counts the decisions. Groups are they, by the rule that decided, as in a comparison of the commit with what was before.
	Flips  int                `json:"flips"`
	Groups []comparison.Group `json:"groups"`
}

// SkippedCommit is a commit whose policies could not be used.
type SkippedCommit struct {
	Commit CommitRef `json:"commit"`
	Error  string    `json:"error"`
}

// maxLine is how many commits are looked at, at most.
const maxLine = 10_000

// flipped is a decision whose verdict is another at both ends.
type flipped struct {
	sample int
	id     string
	// reaps is true where BAD reaps it and GOOD does not; false is the other way round.
	reaps bool
}

// bisection looks for the commits.
type bisection struct {
	app     *app
	from    versions
	flags   replayFlags
	samples []sample
	// commits are those that changed the folder; point i is the state after commits[i-1], and point 0 that of GOOD.
	good, bad *side
	base      *git.Revision
	commits   []git.Commit
	broken    map[int]error
	tried     map[int]bool
	unread    map[string]bool
	named     map[int]*NamedCommit
	out       Bisection
}

func (a *app) policyBisect(ctx context.Context, f replayFlags) (err error) {
	good, bad, ok := strings.Cut(f.bisect, "..")
	if !ok || good == "" || bad == "" || strings.HasPrefix(bad, ".") || strings.Contains(bad, "..") {
		return config.Mistakef("--bisect: %q is not two revisions: write GOOD..BAD, such as v1.0..HEAD. Nothing was decided", f.bisect)
	}
	b := bisection{app: a, from: versions{app: a, repo: f.repo, path: f.path}, flags: f, broken: map[int]error{}, tried: map[int]bool{}, unread: map[string]bool{}, named: map[int]*NamedCommit{}}
	if err := b.gather(ctx); err != nil {
		return err
	}
	if err := b.ends(ctx, good, bad); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.good.engine.Close(), b.bad.engine.Close()) }()
	all, err := b.flips(ctx)
	if err != nil {
		return err
	}
	if len(b.commits) == 0 && len(all) > 0 {
		return fmt.Errorf("policy replay --bisect: %s are decided otherwise although no commit changed %s; nothing was changed", text.Plural(len(all), "candidate"), f.path)
	}
	if err := b.search(ctx, 0, len(b.commits), nil, all); err != nil {
		return err
	}
	b.finish()
	if err := a.show(b.out, "  ", func(w io.Writer) { b.text(w, a.paint) }); err != nil {
		return err
	}
	if len(b.out.Failed)+len(b.out.Named) > 0 {
		return codeError{code: report.ExitFailed, err: b.said()}
	}
	return nil
}

// said is what stderr gets.
func (b *bisection) said() error {
	var parts []string
	if n := len(b.out.Named); n > 0 {
		parts = append(parts, fmt.Sprintf("%s flipped by %s", text.Plural(b.out.Flips, "decision"), text.Plural(n, "commit")))
	}
	return fmt.Errorf("policy replay --bisect: %s; nothing was changed", strings.Join(append(parts, b.out.Failed...), "; "))
}

// gather finds what is to be decided: the recorded sweeps, the snapshots that were named, or both.
func (b *bisection) gather(ctx context.Context) error {
	saved, err := b.app.ofSnapshots(b.flags.snapshots)
	if err != nil {
		return err
	}
	var ids []string
	if len(saved) == 0 || b.flags.sweep != "" || b.flags.last > 0 {
		if ids, err = b.app.recordings(ctx, b.flags.sweep, b.flags.last); err != nil {
			return err
		}
	} else if ids, err = b.app.anyRecordings(ctx); err != nil {
		return err
	}
	b.samples = append(saved, b.app.ofRecordings(ids)...)
	return nil
}

// ends finds both revisions and what lies between, and loads the policies of both.
func (b *bisection) ends(ctx context.Context, good, bad string) (err error) {
	rev := func(name string) (*git.Revision, error) {
		r, err := b.from.find(ctx, name)
		if err != nil {
			return nil, config.Mistakef("--bisect: %w; name a commit, a tag or a branch of the repository around --repo. Nothing was decided", err)
		}
		return r, nil
	}
	if b.base, err = rev(good); err != nil {
		return err
	}
	tip, err := rev(bad)
	if err != nil {
		return err
	}
	if b.commits, err = tip.Line(ctx, b.base, b.from.path, maxLine); err != nil {
		return config.Mistakef("--bisect: %w. Nothing was decided", err)
	}
	if b.good, err = b.load(ctx, good, b.base.Commit); err != nil {
		return fmt.Errorf("the policies of %s (GOOD):\n%w", good, err)
	}
	if b.bad, err = b.load(ctx, bad, tip.Commit); err != nil {
		return fmt.Errorf("the policies of %s (BAD):\n%w", bad, errors.Join(err, b.good.engine.Close()))
	}
	if b.configured() {
		for _, s := range []*side{b.good, b.bad} {
			if err := s.check(ctx, b.from.app, b.good.policy, b.bad.policy); err != nil {
				return errors.Join(err, b.good.engine.Close(), b.bad.engine.Close())
			}
		}
	}
	b.out = Bisection{Schema: BisectionSchema, Good: b.good.named(), Bad: b.bad.named(), Path: b.from.path, Commits: len(b.commits), Samples: len(b.samples),
		Named: []NamedCommit{}, Skipped: []SkippedCommit{}, Failed: []string{}}
	return nil
}

// configured reports whether the configuration in force decides anything, and not what was recorded alone.
func (b *bisection) configured() bool { return b.flags.configured || len(b.flags.snapshots) > 0 }

// load loads the policies of a commit. Nothing of the repository is checked out or run.
func (b *bisection) load(ctx context.Context, name, commit string) (*side, error) {
	tree, _, err := b.from.revision(ctx, commit)
	if err != nil {
		return nil, config.Mistakef("%w", err)
	}
	s := &side{}
	if s.version, err = b.from.with(ctx, version{name: name, commit: commit}, tree); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, b.from, "", ""); err != nil {
		return s, err
	}
	b.from.app.admit(ctx, s.engine, s.rules.cfg) // check does it again, where the configuration in force decides
	return s, nil
}

// at loads the policies of a point between the ends; an error says that they cannot be used.
func (b *bisection) at(ctx context.Context, point int) (*side, error) {
	switch point {
	case 0:
		return b.good, nil
	case len(b.commits):
		return b.bad, nil
	}
	if err := b.broken[point]; err != nil {
		return nil, err
	}
	c := b.commits[point-1]
	s, err := b.load(ctx, c.ID, c.ID)
	if err == nil && b.configured() {
		if err = s.check(ctx, b.from.app, b.good.policy, b.bad.policy); err != nil {
			err = errors.Join(err, s.engine.Close())
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, errors.New("interrupted; nothing was changed")
	case err != nil:
		b.broken[point] = err
	default:
		b.tried[point] = true
	}
	return s, err
}

// close ends what at began.
func (b *bisection) close(s *side) error {
	if s == b.good || s == b.bad {
		return nil
	}
	return s.engine.Close()
}

// judging is a side that decides one sample: with the parameters of then, or with those of now.
func (b *bisection) judging(s *side, of sampled) *side {
	if b.flags.configured || of.sweep == nil {
		return s
	}
	out, cfg := *s, *s.rules.cfg
	cfg.Rules.Config = *of.rules(&cfg.Rules.Config, s.policy)
	out.rules.cfg = &cfg
	return &out
}

// compare decides one sample by two sides.
func (b *bisection) compare(ctx context.Context, sides [2]*side, i int) (sampled, [2]*side, compared, error) {
	of, err := b.samples[i].read(ctx)
	if err != nil {
		return of, sides, compared{}, err
	}
	for i := range sides {
		sides[i] = b.judging(sides[i], of)
	}
	each := func(ctx context.Context, s *snapshot.Snapshot) (out [2]eval.Result, err error) {
		for i, by := range sides {
			if out[i], err = by.engine.Decide(ctx, s, &by.rules.cfg.Rules.Config); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	c := compareOne(ctx, each, foundSnapshot{b.samples[i].name, func(context.Context) (*snapshot.Snapshot, []string, error) { return of.Snapshot, nil, nil }})
	return of, sides, c, c.err
}

// reaped are the candidates of one sample that a side reaps, and those for which it came to no answer.
func (b *bisection) reaped(ctx context.Context, s *side, i int) (reaped, lost map[string]bool, err error) {
	of, err := b.samples[i].read(ctx)
	if err != nil {
		return nil, nil, err
	}
	res, err := s.engine.Decide(ctx, of.Snapshot, &b.judging(s, of).rules.cfg.Rules.Config)
	if err != nil {
		return nil, nil, err
	}
	reaped, lost = map[string]bool{}, map[string]bool{}
	for _, f := range flips.Compare(of.Snapshot, nil, res.Decisions).Flips { // against nothing, which reaps nothing
		reaped[f.ID] = f.Change == flips.NewReap
	}
	for _, e := range res.Errors {
		lost[e.ID] = true
	}
	return reaped, lost, nil
}

// flips decides everything by both ends, and gives the decisions with another verdict. Those without an answer at one of both are none.
func (b *bisection) flips(ctx context.Context) (out []flipped, err error) {
	var ids *standIns
	seen := b.flags.id == ""
	if !seen {
		ids, _ = b.app.standIns(ctx, b.bad.policy) // without a key an id means what it says
	}
	for i := range b.samples {
		of, _, c, err := b.compare(ctx, [2]*side{b.good, b.bad}, i)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted; nothing was changed")
		}
		if err != nil {
			b.fail(b.samples[i].name, err)
			continue
		}
		wanted := b.wanted(of, ids)
		for id := range wanted {
			_, there := of.Find(id)
			seen = seen || there
		}
		lost := map[string]bool{}
		for _, u := range c.unanswered {
			if wanted == nil || wanted[u.ID] {
				lost[u.ID] = true
				b.fail(fmt.Sprintf("%s: %s, by %s", b.samples[i].name, u.ID, map[string]string{comparison.Base: "GOOD", comparison.Head: "BAD"}[u.In]), errors.New(u.Error))
			}
		}
		for _, f := range c.result.Flips {
			switch {
			case wanted != nil && !wanted[f.ID], lost[f.ID]:
			case f.Change == flips.NewReap, f.Change == flips.NewKeep:
				out = append(out, flipped{i, f.ID, f.Change == flips.NewReap})
			default:
				b.out.Others++
			}
		}
	}
	if !seen {
		return nil, config.Mistakef("--id: no sweep and no snapshot holds %q; recorded sweeps have stand-ins, as winnow policy replay shows them. Nothing was decided", b.flags.id)
	}
	b.out.Flips = len(out)
	return out, nil
}

// wanted are the ids in a sample that --id may mean: as it is written, and its stand-in. nil is all of them.
func (b *bisection) wanted(of sampled, ids *standIns) map[string]bool {
	if b.flags.id == "" {
		return nil
	}
	out := map[string]bool{b.flags.id: true}
	if of.sweep != nil && ids != nil {
		if standIn, err := ids.in(of); err == nil {
			out[standIn(b.flags.id)] = true
		}
	}
	return out
}

// fail notes what could not be decided, once.
func (b *bisection) fail(what string, err error) {
	if !b.unread[what] {
		b.unread[what] = true
		b.out.Failed = append(b.out.Failed, what+": "+err.Error())
	}
}

// search looks for the commits between two points, of decisions that are as by GOOD at the first and otherwise at the second. Each point between is
// decided at most once for the same decisions. What cannot be decided at a point is looked for on both sides of it, with the point left out.
func (b *bisection) search(ctx context.Context, low, high int, without []int, of []flipped) error {
	if len(of) == 0 {
		return nil
	}
	point := b.middle(low, high, without)
	if point < 0 {
		return b.name(ctx, low, high, of)
	}
	s, err := b.at(ctx, point)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return b.search(ctx, low, high, append(slices.Clip(without), point), of)
	}
	before, after, unknown, err := b.split(ctx, s, of)
	if err = errors.Join(err, b.close(s)); err != nil {
		return err
	}
	if err := b.search(ctx, low, point, without, after); err != nil {
		return err
	}
	if err := b.search(ctx, point, high, without, before); err != nil {
		return err
	}
	return b.search(ctx, low, high, append(slices.Clip(without), point), unknown)
}

// middle is the point nearest to the middle that may decide, -1 where there is none.
func (b *bisection) middle(low, high int, without []int) int {
	best, middle := -1, (low+high)/2
	for p := low + 1; p < high; p++ {
		if b.broken[p] == nil && !slices.Contains(without, p) && (best < 0 || distance(p, middle) < distance(best, middle)) {
			best = p
		}
	}
	return best
}

func distance(x, y int) int { return max(x-y, y-x) }

// split sorts decisions by what a point makes of them: before are decided as by GOOD, after otherwise, unknown came to no answer.
func (b *bisection) split(ctx context.Context, s *side, of []flipped) (before, after, unknown []flipped, err error) {
	in := bySample(of)
	for _, i := range slices.Sorted(maps.Keys(in)) {
		reaped, lost, err := b.reaped(ctx, s, i)
		if ctx.Err() != nil {
			return nil, nil, nil, errors.New("interrupted; nothing was changed")
		}
		for _, f := range in[i] {
			switch {
			case err != nil || lost[f.id]:
				unknown = append(unknown, f)
			case reaped[f.id] == f.reaps:
				after = append(after, f)
			default:
				before = append(before, f)
			}
		}
	}
	return before, after, unknown, nil
}

func bySample(of []flipped) map[int][]flipped {
	out := map[int][]flipped{}
	for _, f := range of {
		out[f.sample] = append(out[f.sample], f)
	}
	return out
}

// name says that decisions flipped from one point to another, between which no other can be used.
func (b *bisection) name(ctx context.Context, low, high int, of []flipped) error {
	sides := [2]*side{}
	for i, point := range []int{low, high} {
		s, err := b.at(ctx, point)
		if err != nil {
			return err
		}
		defer func() { _ = b.close(s) }()
		sides[i] = s
	}
	build := comparison.New(sides[0].named(), sides[1].named(), sides[0].decides(), sides[1].decides())
	in := bySample(of)
	for _, i := range slices.Sorted(maps.Keys(in)) {
		s, judging, c, err := b.compare(ctx, sides, i)
		if ctx.Err() != nil {
			return errors.New("interrupted; nothing was changed")
		}
		if err != nil {
			return fmt.Errorf("policy replay --bisect: %s: %w", b.samples[i].name, err)
		}
		c.result.Flips = slices.DeleteFunc(c.result.Flips, func(f flips.Flip) bool {
			return !slices.ContainsFunc(in[i], func(x flipped) bool { return x.id == f.ID })
		})
		build.Add(b.samples[i].name, s.TakenAt, s.Host.Name, c.result, nil, func(id string) comparison.Explained { return explainBoth(ctx, judging, s.Snapshot, id) })
	}
	n := b.named[high]
	if n == nil {
		n = &NamedCommit{Commit: commitRef(b.commits[high-1]), Inside: b.inside(ctx, b.commits[high-1])}
		b.named[high] = n
	}
	for p := low + 1; p < high; p++ {
		if c := commitRef(b.commits[p-1]); !slices.Contains(n.Or, c) {
			n.Or = append(n.Or, c)
		}
	}
	n.Flips += len(of)
	n.Groups = append(n.Groups, build.Document("").Groups...)
	return nil
}

func commitRef(c git.Commit) CommitRef { return CommitRef{c.ID, c.Date, c.Author, c.Subject} }

// inside is the command that looks within a merge, from where its second parent began to that parent.
func (b *bisection) inside(ctx context.Context, c git.Commit) string {
	if len(c.Parents) < 2 {
		return ""
	}
	fork, err := b.base.Fork(ctx, c.Parents[0], c.Parents[1])
	if err != nil || fork == "" {
		return ""
	}
	return fmt.Sprintf("winnow policy replay --bisect %s..%s --path %s", short(fork), short(c.Parents[1]), text.Quote(b.from.path))
}

func short(commit string) string { return commit[:min(len(commit), 10)] }

// finish puts what was found into its order.
func (b *bisection) finish() {
	for p := range len(b.commits) + 1 {
		if n := b.named[p]; n != nil {
			b.out.Named = append(b.out.Named, *n)
		}
		if err := b.broken[p]; err != nil {
			b.out.Skipped = append(b.out.Skipped, SkippedCommit{commitRef(b.commits[p-1]), err.Error()})
		}
	}
	b.out.Tried = len(b.tried)
}

func (b *bisection) text(w io.Writer, p paint) {
	o := b.out
	between := fmt.Sprintf("%s between %s and %s changed %s", text.Plural(o.Commits, "commit"), o.Good.Name, o.Bad.Name, o.Path)
	if o.Flips == 0 {
		p.Sentence(w, text.Clean(fmt.Sprintf("No verdict is another in %s; %s.", samplesOf(b.samples), between)))
	} else {
		p.Sentence(w, text.Clean(fmt.Sprintf("%s in %s flipped; %s, and %d of these were tried.",
			text.Plural(o.Flips, "decision"), samplesOf(b.samples), between, o.Tried)))
	}
	if o.Others > 0 {
		p.Sentence(w, fmt.Sprintf("%s the same verdict by other rules; winnow policy diff shows them.", have(o.Others)))
	}
	for _, n := range o.Named {
		fmt.Fprintln(w)
		said := "flipped"
		if len(n.Or) > 0 {
			said = "or one of those below, flipped"
		}
		fmt.Fprintf(w, "%s  %s\n", p.Bold(commitLine(n.Commit)), p.Dim(said+" "+text.Plural(n.Flips, "decision")))
		for _, c := range n.Or {
			fmt.Fprintf(w, "  %s %s  %s\n", p.Yellow("or"), commitLine(c), p.Dim("its policies could not decide"))
		}
		if n.Inside != "" {
			p.Indented(w, 2, p.Dim("it is a merge; with the same other flags, this looks at the commits that it brought: "+text.Clean(n.Inside)))
		}
		doc := comparison.Document{Groups: n.Groups}
		doc.WriteGroups(w, p.Paint, b.flags.all, turnedTitle)
	}
	if len(o.Skipped) > 0 {
		fmt.Fprintln(w)
	}
	for _, s := range o.Skipped {
		p.Rows(w, text.Row{Lead: "skipped", Color: p.Yellow, Label: short(s.Commit.ID), Text: strings.Join(strings.Fields(s.Error), " ")})
	}
	for _, f := range o.Failed {
		p.Rows(w, text.Row{Lead: "no answer", Color: p.Red, Text: f})
	}
}

func have(n int) string {
	if n == 1 {
		return "1 decision has"
	}
	return fmt.Sprintf("%d decisions have", n)
}

func commitLine(c CommitRef) string {
	return text.Clean(fmt.Sprintf("%s  %s  %s  %s", short(c.ID), c.Date.Format(time.DateOnly), c.Author, c.Subject))
}

// turnedTitle is what a change from one commit to the next is called.
func turnedTitle(change string) string {
	if change == flips.NewReap {
		return "stayed before, goes since"
	}
	return "went before, stays since"
}
