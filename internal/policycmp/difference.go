// Package policycmp holds two versions of the policies against each other, on samples of the outside world.
package policycmp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Options are the flags of winnow policy diff.
type Options struct {
	Snapshots              []string
	Recorded               bool
	ConfigBase, ConfigHead string
	Repo, Path             string
	Levels                 []string
	Require                int
	FailOn                 string
	All, Watch             bool
}

// Check refuses flags that contradict one another.
func (f Options) Check() error {
	if f.FailOn != "" && !slices.Contains(document.FailOn, f.FailOn) {
		return config.Usagef("--fail-on: unknown word %q%s", f.FailOn, spelling.Hint(f.FailOn, document.FailOn))
	}
	if f.Require < 0 || f.Require > 0 && len(f.Levels) == 0 {
		return config.Usagef("--require wants a number of snapshots from 1 on, and --level RULE=LEVEL. Nothing was decided")
	}
	return nil
}

// side is one of both versions, ready to decide.
type side struct {
	Version
	compare.Side
	rules  ruleset.Set
	policy *policy.Policy
}

// bisectSkip is the exit code that has git bisect run pass over a commit.
const bisectSkip = 125

// Difference compares two versions of the policies.
type Difference struct {
	*ops.Ops
	Names   [2]string
	Options Options
	// ConfigFile is the configuration that a person named, policy are the policies that they put above all.
	ConfigFile  string
	PolicyPaths []string
	// samples are what both versions decide; empty until this machine was looked at, where nothing else was named.
	samples []compare.Sample
}

func (d *Difference) FindSamples(ctx context.Context) (err error) {
	if d.samples, err = savedSamples(d.Options.Snapshots); err != nil || !d.Options.Recorded {
		return err
	}
	recorded, err := recordedSamples(ctx, d.Ops)
	d.samples = append(d.samples, recorded...)
	return err
}

// Compare loads both versions and decides all samples by both.
func (d *Difference) Compare(ctx context.Context) (doc *document.Comparison, err error) {
	sides := [2]*side{{}, {}}
	defer func() {
		for _, s := range sides {
			if s.Engine != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	if err := d.load(ctx, sides); err != nil {
		return nil, err
	}
	if len(d.samples) == 0 {
		d.Policy = sides[1].policy // it says which candidates are read in full
		s, err := d.LookOrRead(ctx, "")
		if err != nil {
			return nil, err
		}
		d.samples = []compare.Sample{{Name: "this machine", Read: func(context.Context) (*snapshot.Snapshot, []string, error) { return s, nil, nil }}}
	}
	b := New([2]document.Version{sides[0].label(), sides[1].label()}, [2]Rules{sides[0].decides(), sides[1].decides()})
	first, err := d.decide(ctx, b, sides)
	if err != nil {
		return nil, err
	}
	if b.Silent() && first != nil {
		explainSilent(ctx, b, sides[1].Side, first)
	}
	b.Require(sides[1].rules.Cfg.GivenLevels(), d.Options.Require)
	return b.Document(d.Options.FailOn), nil
}

// load finds and loads both versions.
func (d *Difference) load(ctx context.Context, sides [2]*side) error {
	f, words := d.Options, compare.Sides
	for i, of := range []struct {
		configFlag, config string
		levels             []string
	}{{"--config-base", f.ConfigBase, nil}, {"--config-head", f.ConfigHead, f.Levels}} {
		if err := sides[i].load(ctx, d, d.Names[i], of.configFlag, of.config, of.levels); err != nil {
			err = fmt.Errorf("%s:\n%w", words[i], err)
			if i == 1 && errors.As(err, new(lint.Refusals)) {
				return exit.Error{Code: bisectSkip, Err: err}
			}
			return err
		}
	}
	for i, s := range sides {
		// One configuration for both may name rules that only one of both has.
		var beside []*policy.Policy
		if f.ConfigBase == f.ConfigHead {
			beside = append(beside, sides[1-i].policy)
		}
		if err := s.rules.Check(s.policy, beside...); err != nil {
			return fmt.Errorf("%s:\n%w", words[i], err)
		}
	}
	return nil
}

// endedIn is for how many candidates it is shown at which condition a silent rule ended.
const endedIn = 3

// explainSilent shows where rules of one's own that said nothing ended, for the first candidates of a snapshot that they could be about.
func explainSilent(ctx context.Context, b *Builder, head compare.Side, s *snapshot.Snapshot) {
	joined, explained := head.Index(s), map[string]int{}
	for _, id := range ops.Ids(s) {
		kind, _ := snapshot.KindOf(id)
		if explained[kind.Name] == endedIn {
			continue
		}
		if x := head.Explain(ctx, joined, id); x != nil {
			explained[kind.Name]++
			b.Ended(id, x)
		}
	}
}

// load finds and loads one version. Its limits are those of the configuration in force, not its own: who brings policies that never end may
// bring a configuration that lets them.
func (s *side) load(ctx context.Context, d *Difference, name, flag, file string, levels []string) (err error) {
	if s.Version, err = d.versionOf(ctx, name); err != nil {
		return err
	}
	cfg, err := d.configOf(ctx, flag, file)
	if err != nil {
		return err
	}
	if err := cfg.SetLevels(levels); err != nil {
		return err
	}
	cfg.Policy.Timeout, cfg.Policy.Memory = d.Cfg.Policy.Timeout, d.Cfg.Policy.Memory
	s.rules = ruleset.Set{Trees: s.trees, Cfg: cfg}
	if s.rules.Embedded() {
		// Decided in this process, beside the reading of other snapshots, whose memory would count.
		cfg.Policy.Memory = max(cfg.Policy.Memory, besideOthers)
	}
	s.Side.Config = &cfg.Rules.Config
	s.Engine, s.policy, err = s.rules.Load(ctx)
	return err
}

// besideOthers is by how much the heap may grow during one evaluation where other snapshots are read at the same time.
const besideOthers = 1 << 30

func (s *side) label() document.Version {
	out := document.Version{
		Name: s.name, Commit: s.commit, Policy: report.PolicyRef{Revision: s.policy.Revision, Digest: s.policy.Digest}, Config: s.rules.Cfg.File,
	}
	for _, t := range s.trees {
		if t.Name != ruleset.EmbeddedName && out.Folder == "" {
			out.Folder = t.Prefix
		}
	}
	return out
}

func (s *side) decides() Rules {
	out := Rules{Loaded: s.policy.Rules(), Levels: s.rules.Cfg.Rules.Levels, Shipped: map[string]bool{}}
	for _, f := range s.policy.Files {
		if f.Tree == ruleset.EmbeddedName {
			out.Shipped[f.Name] = true
		}
	}
	return out
}

// maxUnanswered is after how many snapshots in which policies came to no answer the rest is not decided: each costs as long as the limits let
// it.
const maxUnanswered = 3

// decide decides the samples by both and adds what is different. It gives the first snapshot that was compared.
func (d *Difference) decide(ctx context.Context, b *Builder, sides [2]*side) (first *snapshot.Snapshot, err error) {
	both := [2]compare.Side{sides[0].Side, sides[1].Side}
	warned, failing, i := map[string]bool{}, 0, 0
	excepted := !slices.Equal(excepting(sides[0]), excepting(sides[1]))
	for o := range compare.Run(ctx, both, d.samples) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted after %s of %d; nothing was changed", text.Plural(i, "snapshot"), len(d.samples))
		}
		i++
		for _, field := range o.Unknown {
			if !warned[field] {
				warned[field] = true
				d.Log.Warn("unknown field in a snapshot, passed over", "file", o.Name, "field", field)
			}
		}
		if excepted && o.Err == nil && o.Snapshot.Redaction != nil {
			d.Note(RedactedNames, text.Clean(o.Name))
			excepted = false
		}
		if o.Err == nil {
			first = cmp.Or(first, o.Snapshot)
		}
		b.Add(o, func(id string) compare.Explained {
			return compare.Explained{both[0].Explain(ctx, both[0].Index(o.Snapshot), id), both[1].Explain(ctx, both[1].Index(o.Snapshot), id)}
		})
		if len(o.Unanswered) > 0 {
			failing++
		}
		if failing == maxUnanswered && i < len(d.samples) {
			b.doc.Stopped = fmt.Sprintf("stopped after %d of %d snapshots, since policies came to no answer in %d of them", i, len(d.samples), failing)
			return first, nil
		}
	}
	return first, nil
}

// excepting is what the exceptions of one version match, wherever they stand.
func excepting(s *side) (out []snapshot.Match) {
	return text.Map(s.policy.Exceptions(), func(x snapshot.Keep) snapshot.Match { return x.Match })
}

// RedactedNames is what a person has to know of exceptions and snapshots without names.
const RedactedNames = "%s is redacted: an exception finds a name there only if it was loaded when the snapshot was written. " +
	"A snapshot with names shows what a new exception keeps"
