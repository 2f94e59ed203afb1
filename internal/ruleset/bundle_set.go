package ruleset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// published are the bundles that the configuration names, and which one of each decides.
type published struct {
	found   []*bundles.Found
	running []*bundle.Bundle
}

// maxKey is how many bytes a file with a key or a token may have.
const maxKey = 64 << 10

// publishedEngine prepares an engine from policies and bundles. Where look says so, it asks servers for newer ones, and remembers what it got.
func (l *Loader) publishedEngine(ctx context.Context, own []policy.Tree, look bundles.Look) (e *eval.Engine, p *policy.Policy, err error) {
	if err := l.TrustState(); err != nil {
		return nil, nil, err
	}
	state, keep := filepath.Join(l.Cfg.State, "bundles"), look.Ask
	if keep {
		unlock, err := lock.Take(filepath.Join(state, ".lock"))
		switch held := (*lock.Held)(nil); {
		case errors.As(err, &held) && look.Now:
			return nil, nil, fmt.Errorf("another command is getting the bundles: %w", held)
		case errors.As(err, &held): // it asks for the same ones now
			look, keep = bundles.Look{}, false
		case err != nil:
			return nil, nil, fmt.Errorf("%w; nothing was decided", err)
		default:
			defer func() { err = errors.Join(err, unlock()) }()
		}
	}
	pub, err := l.published(ctx, state, look)
	if err != nil {
		return nil, nil, err
	}
	e, p, err = pub.choose(ctx, Set{Trees: own, Cfg: l.Cfg, cache: l.prepared(look)})
	if keep && ctx.Err() == nil {
		err = pub.keep(ctx, state, err)
	}
	l.Bundles = pub.status()
	if err != nil && e != nil {
		err, e = errors.Join(err, e.Close()), nil
	}
	return e, p, err
}

// published finds the bundles that the configuration names.
func (l *Loader) published(ctx context.Context, state string, look bundles.Look) (*published, error) {
	pub := &published{}
	for _, c := range l.Cfg.Policy.Bundles {
		s, err := bundleSource(ctx, c)
		if err != nil {
			return nil, err
		}
		polling := l.Cfg.Policy.Polling
		f, err := bundles.Find(ctx, state, s, bundles.Polling{Min: polling.Min, Max: polling.Max, Timeout: polling.Timeout}, look)
		switch {
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			return nil, config.Usagef("%w", err)
		}
		pub.found = append(pub.found, f)
	}
	return pub, nil
}

// PublishedTrees are the bundles that the configuration names, as trees: of each the newest one that is there. No server is asked, and nothing is
// remembered.
func (l *Loader) PublishedTrees(ctx context.Context) ([]policy.Tree, error) {
	if len(l.Cfg.Policy.Bundles) == 0 {
		return nil, nil
	}
	if err := l.TrustState(); err != nil {
		return nil, err
	}
	pub, err := l.published(ctx, filepath.Join(l.Cfg.State, "bundles"), bundles.Look{})
	if err != nil {
		return nil, err
	}
	newest, err := pub.newest()
	if err != nil {
		return nil, err
	}
	return Set{}.AddBundles(pub.found, newest).Trees, nil
}

// NoCopy is that there is no good copy of a bundle. Its place may have one later, so another start may come further.
type NoCopy struct{ error }

func (n NoCopy) Unwrap() error { return n.error }

// newest are the newest bundles, loaded before or not.
func (p *published) newest() ([]*bundle.Bundle, error) {
	newest := make([]*bundle.Bundle, len(p.found))
	for i, f := range p.found {
		if newest[i] = f.Last; f.New != nil {
			newest[i] = f.New
		}
		if newest[i] == nil {
			return nil, NoCopy{config.Usagef("policy.bundles: there is no good copy of %q, and nothing was decided: %w", f.Name, f.Nothing())}
		}
	}
	return newest, nil
}

// bundleSource reads the key and the token of a bundle.
func bundleSource(ctx context.Context, c config.Bundle) (bundles.Source, error) {
	s := bundles.Source{Name: c.Name, From: c.From}
	if c.Verified() {
		is := c.Verification
		v := bundle.Verification{KeyID: is.KeyID, Algorithm: cmp.Or(is.Algorithm, bundle.Algorithms[0]), Scope: is.Scope}
		var err error
		if v.Key, err = ReadKey(ctx, c.Verification.Key); err == nil {
			err = v.Check()
		}
		if err != nil {
			return s, config.Usagef("policy.bundles: verification of %q: %w; nothing was decided", c.Name, err)
		}
		s.Verification = &v
	}
	if c.TokenFile != "" {
		token, err := ReadKey(ctx, c.TokenFile)
		if err != nil {
			return s, config.Usagef("policy.bundles: token_file of %q: %w; nothing was decided", c.Name, err)
		}
		s.Token = strings.TrimSpace(token)
	}
	return s, nil
}

// ReadKey reads a file that no other user may be able to change or replace.
func ReadKey(ctx context.Context, path string) (string, error) {
	real, err := safeopen.Path(path)
	if err != nil {
		return "", err
	}
	f, err := safeopen.Read(ctx, real, safeopen.Want{Max: maxKey, Ruling: true})
	return string(f.Data), err
}

// choose prepares an engine with the newest bundles that load: all new ones, or, where they do not load together, as many of them as do beside
// the last good ones of the others.
func (p *published) choose(ctx context.Context, own Set) (*eval.Engine, *policy.Policy, error) {
	p.running = make([]*bundle.Bundle, len(p.found))
	newest, err := p.newest()
	if err != nil {
		return nil, nil, err
	}
	e, loaded, err := own.AddBundles(p.found, newest).Engine(ctx)
	var news []int // the places of bundles that were not loaded yet
	for i, f := range p.found {
		if f.New != nil {
			news = append(news, i)
		}
	}
	if err == nil || len(news) == 0 || ctx.Err() != nil {
		p.running = newest
		return e, loaded, err
	}
	now, without := slices.Clone(newest), false
	for _, i := range news {
		now[i] = p.found[i].Last
		without = without || now[i] == nil
	}
	if without { // and the last good ones of the others were made to stand beside that one, or beside nothing
		for _, i := range news {
			p.found[i].Reject(problemOf(err))
		}
		return nil, loaded, err
	}
	for _, i := range news {
		why := err
		if len(news) > 1 {
			trial := slices.Clone(now)
			trial[i] = p.found[i].New
			var tried *eval.Engine
			if tried, _, why = own.AddBundles(p.found, trial).Engine(ctx); why == nil {
				now, why = trial, tried.Close()
			}
		}
		if why != nil {
			p.found[i].Reject(problemOf(why))
		}
	}
	p.running = now
	return own.AddBundles(p.found, now).Engine(ctx)
}

// AddBundles is a ruleset with bundles as well.
func (r Set) AddBundles(found []*bundles.Found, chosen []*bundle.Bundle) Set {
	out := Set{Trees: slices.Clone(r.Trees), Cfg: r.Cfg, cache: r.cache}
	for i, b := range chosen {
		name := BundleTree + found[i].Name
		t := b.Tree(name, name)
		t.Published = true
		out.Trees = append(out.Trees, t)
	}
	return out
}

// problemOf says in one line why policies do not load.
func problemOf(err error) error {
	var all lint.Refusals
	if !errors.As(err, &all) || len(all) == 0 {
		return fmt.Errorf("it does not load: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	more := ""
	if len(all) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return fmt.Errorf("it does not load: %w%s", all[0], more)
}

// keep remembers what was found. A new bundle that cannot be kept does not decide: the next look would not know that it ran.
func (p *published) keep(ctx context.Context, state string, failed error) error {
	for i, f := range p.found {
		var running *bundle.Bundle
		if failed == nil {
			running = p.running[i]
		}
		if err := f.Keep(ctx, state, running); err != nil && failed == nil {
			return fmt.Errorf("%w; nothing was decided", err)
		}
	}
	return failed
}

func (p *published) status() []bundles.Status {
	var out []bundles.Status
	for i, f := range p.found {
		var running *bundle.Bundle
		if i < len(p.running) {
			running = p.running[i]
		}
		out = append(out, f.Status(running))
	}
	return out
}

// BundleRefs are the bundles as reports name them.
func (l *Loader) BundleRefs() []report.BundleRef {
	return text.Map(l.Bundles, func(s bundles.Status) report.BundleRef {
		return report.BundleRef{
			Name: s.Name, Revision: s.Revision, Digest: s.Digest, Serial: s.Serial, KeyID: s.KeyID,
			ActivatedAt: s.ActivatedAt, CheckedAt: s.CheckedAt, Problem: s.Problem, Refused: s.Refused,
		}
	})
}

// SayBundles puts into a report how the bundles stand. A bundle that was refused gives an alarm at once; a server that does not answer gives one
// when it has failed for as long as a source may.
func (l *Loader) SayBundles(r *report.Report) {
	stale := map[string]string{}
	for _, s := range l.Bundles {
		switch runs := fmt.Sprintf("bundle %s: revision %s goes on", s.Name, RevisionText(s)); {
		case s.Problem == "":
		case s.Refused:
			stale[s.Name] = fmt.Sprintf("%s; another one was refused: %s", runs, s.Problem)
		case !s.FailingSince.IsZero() && time.Since(s.FailingSince) >= l.Cfg.Alarms.SourceFailingFor:
			stale[s.Name] = fmt.Sprintf("%s; since %s there has been no answer: %s", runs, text.Time(s.FailingSince), s.Problem)
		}
	}
	r.SetBundles(l.BundleRefs(), stale)
}

// RevisionText names a bundle that runs.
func RevisionText(s bundles.Status) string {
	name := cmp.Or(s.Revision, s.Digest[:min(len(s.Digest), 19)])
	if s.Serial > 0 {
		name += fmt.Sprintf(" (serial %d)", s.Serial)
	}
	return name
}
