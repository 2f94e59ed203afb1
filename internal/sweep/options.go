package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// Options say what one sweep does.
type Options struct {
	Apply, Confirm bool
	Fetch          bool
	// Only are the ids of what may be acted on, nil for everything that the decisions reap.
	Only []string
	Show Listing
	CapOptions
}

// chosen are all decisions, but only the chosen ones reap: the caps take their shares of everything that was seen.
func (f Options) chosen(ds []decision.Decision) []decision.Decision {
	if f.Only == nil {
		return ds
	}
	out := slices.Clone(ds)
	for i := range out {
		if !slices.Contains(f.Only, out[i].ID) {
			out[i].Verdict = decision.Spare
		}
	}
	return out
}

// among leaves of decisions those that were chosen.
func (f Options) among(ds []decision.Decision) []decision.Decision {
	if f.Only == nil {
		return ds
	}
	return slices.DeleteFunc(ds, func(d decision.Decision) bool { return !slices.Contains(f.Only, d.ID) })
}

// Listing are what sweep and decide share.
type Listing struct {
	Kinds    []string
	All      bool
	ExitCode bool
	Explain  bool
	Select   report.Selection
}

// Check refuses kinds that there are not and a selection that means nothing, and takes all kinds where none is named.
func (f *Listing) Check() error {
	if err := cmp.Or(checkKinds("--kind", f.Kinds), f.Select.Check()); err != nil {
		return err
	}
	if len(f.Kinds) == 0 {
		f.Kinds = snapshot.KindNames()
	}
	return nil
}

// Explain adds what would turn it to what the last sweep listed, or to every decision, where that was asked for.
func (s *Sweeper) Explain(ctx context.Context, r *report.Report, f Listing, every bool) error {
	if !f.Explain {
		return nil
	}
	return s.FindCounterfactuals(ctx, s.Engine, s.Seen, r, every || f.All)
}

// Waits reports whether a second look, rules.confirm_after from now, could reap something that this one could not.
func (m *Machine) Waits(r *report.Report) bool {
	next := r.TakenAt.Add(config.Seconds(m.Cfg.Rules.ConfirmAfter))
	return slices.ContainsFunc(r.Decisions, func(d decision.Decision) bool {
		at, known := report.Due(d, r.TakenAt)
		return d.Verdict == decision.Spare && d.Waits() && (!known || !at.After(next))
	})
}

// CapOptions lift caps for one sweep.
type CapOptions struct {
	Max   int
	AllOf []string
}

// Check refuses a number of acts below zero, and kinds that there are not.
func (f *CapOptions) Check() error {
	if f.Max < 0 {
		return config.Usagef("--max is %d; it is a number of acts, and 0 leaves act.caps as they are", f.Max)
	}
	return checkKinds(decision.FlagAllOf, f.AllOf)
}

// checkKinds refuses what is no kind.
func checkKinds(flag string, kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(snapshot.KindNames(), k) {
			return config.Usagef("%s: unknown kind %q%s", flag, k, spelling.Hint(k, snapshot.KindNames()))
		}
	}
	return nil
}

// Caps are those of the configuration, as the flags leave them. --max stands for a sweep and for each owner in it: it never makes a cap smaller
// than a person asked for, nor lets more through in all.
func (f *CapOptions) Caps(c *config.Config) actuators.Caps {
	caps := c.Act.Caps.Floor()
	if f.Max > 0 {
		caps.PerSweep, caps.PerOwner = f.Max, max(f.Max, caps.PerOwner)
	}
	caps.AllOf = f.AllOf
	return caps
}

// Touched are the kinds that a sweep may act on, in the order of acts.
func (m *Machine) Touched(kinds []string) []string {
	return slices.DeleteFunc(snapshot.KindNames(), func(k string) bool {
		return !slices.Contains(kinds, k) || !slices.Contains(m.Cfg.Act.Kinds, k)
	})
}

// Past is what earlier sweeps tell of an accident at this one. A sweep that cannot be compared says so: it has no ledger.
func (s *Sweeper) Past(ctx context.Context, snap *snapshot.Snapshot) (actuators.Past, error) {
	past := actuators.Past{Now: look.Speakers(snap)}
	if s.Ledger == nil {
		return past, nil
	}
	caps := s.Cfg.Act.Caps
	before, err := s.Ledger.Census(ctx, ledger.Asked{
		Rules: s.RulesName(os.Environ()), BootID: snap.Host.BootID, InBoot: []string{snapshot.Proc},
		Jump: snap.TakenAt.Add(-caps.JumpWithin), Shrunk: snap.TakenAt.Add(-caps.ShrunkWithin),
	})
	if err != nil {
		return past, fmt.Errorf("%w; nothing was done", err)
	}
	past.At, past.Used, past.Most = before.At, before.Used, map[string]actuators.Count{}
	for name, m := range before.Most {
		past.Most[name] = actuators.Count{Seen: m.Seen, At: m.At}
	}
	return past, nil
}

const (
	// fetchTime is how long the fetching of one repository may take.
	fetchTime = 30 * time.Second
	// maxFetches is how many are fetched at a time.
	maxFetches = 4
)

// remoteBranch is a branch of a repository's remote on which work lands.
type remoteBranch struct{ common, ref string }

// fetched brings the remotes' branches up to date on which work lands, for which a look has found linked worktrees, and looks again where one of them
// moved. What could not be fetched is said in the source of those worktrees, and changes nothing else.
func (s *Sweeper) fetched(ctx context.Context, snap *snapshot.Snapshot, mem look.PriorState) (*snapshot.Snapshot, error) {
	branches := map[remoteBranch]string{} // with what it stands for
	for _, d := range snap.Dirs {
		g := d.Git
		if g == nil || g.Worktree == nil || !*g.Worktree || !strings.HasPrefix(g.Upstream, "refs/remotes/") {
			continue
		}
		for _, ref := range append(g.Bases, g.Upstream) {
			branches[remoteBranch{g.CommonDir, ref}] = tip(remoteBranch{g.CommonDir, ref})
		}
	}
	failed, moved := fetchAll(ctx, slices.Collect(maps.Keys(branches))), false
	for b, before := range branches {
		moved = moved || tip(b) != before
	}
	if moved {
		var err error
		if snap, err = s.LookFor(ctx, sources.Scope{}, mem, s.Engine); err != nil {
			return nil, err
		}
	}
	for b, err := range failed {
		text := fmt.Sprintf("%s of %s was not fetched: %v; it was judged by what had been fetched before", b.ref, b.common, err)
		s.Log.Warn("fetch", "repository", b.common, "branch", b.ref, "error", err)
		said := map[string]bool{}
		for _, d := range snap.Dirs {
			if d.Git == nil || d.Git.CommonDir != b.common || said[d.Source] {
				continue
			}
			said[d.Source] = true
			src := snap.Sources[d.Source]
			src.Fetch = append(src.Fetch, text)
			slices.Sort(src.Fetch)
			snap.Sources[d.Source] = src
		}
	}
	return snap, nil
}

// tip is what a remote branch stands for, "" where that is not known.
func tip(b remoteBranch) string {
	oid, err := git.NewRefs(b.common).Resolve(b.common, b.ref)
	if err != nil {
		return ""
	}
	return oid
}

// fetchAll fetches branches, a few at a time, and gives why some of them were not.
func fetchAll(ctx context.Context, branches []remoteBranch) map[remoteBranch]error {
	var mu sync.Mutex
	failed := map[remoteBranch]error{}
	places := make(chan struct{}, maxFetches)
	var all sync.WaitGroup
	for _, b := range branches {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if err := act.Fetch(ctx, gitsafe.Program{}, b.common, b.ref, fetchTime); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[b] = err
			}
		})
	}
	all.Wait()
	return failed
}
