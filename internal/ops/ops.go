// Package ops has the operations that commands and the API share: each returns a document and prints nothing.
package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Ops is what looking, judging and acting need of one run of the program. It prints nothing.
type Ops struct{ sweep.Machine }

// New gives the operations on a state folder.
func New(f state.Folder) Ops {
	return Ops{sweep.Machine{Looker: look.Looker{Loader: ruleset.Loader{Folder: f}}}}
}

// Policies says what decides: layers, exceptions, and rules with their levels.
func (o *Ops) Policies(ctx context.Context) (out document.Policies, err error) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return out, err
	}
	defer o.Close(e)
	rules, err := o.Configured(ctx)
	if err != nil {
		return out, err
	}
	out = document.Policies{PolicyRef: report.PolicyRef{Revision: p.Revision, Digest: p.Digest, Bundles: o.BundleRefs()},
		Layers: rules.Shown(p), Exceptions: report.Exceptions(o.Cfg.Rules.Exceptions, time.Now(), nil), Rules: []document.Rule{}}
	for id, r := range p.Rules() {
		one := document.Rule{ID: id, Title: r.Title, Description: r.Description, File: r.File, Line: r.Line}
		for _, l := range o.Cfg.Rules.Levels {
			if l.Rule == id {
				one.Levels = append(one.Levels, l.Level+" for "+l.Kind)
			}
		}
		out.Rules = append(out.Rules, one)
	}
	slices.SortFunc(out.Rules, func(x, y document.Rule) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

// NotRunning says that no daemon answers, and whether one has the state folder all the same; message is that for a person.
func (o *Ops) NotRunning() (doc document.NotRunning, message string, err error) {
	doc = document.NotRunning{Schema: document.StateSchema, State: o.Cfg.State}
	unlock, err := o.AsksForLock()
	var held *lock.Held
	switch {
	case errors.Is(err, fs.ErrNotExist): // a question does not make one
	case errors.As(err, &held):
		doc.Running, doc.Process = true, held.PID
		return doc, fmt.Sprintf("process %d is winnow run since %s, and does not answer this command: %s", held.PID, text.Time(held.Since), o.whySilent()), nil
	case err == nil:
		_ = unlock()
	default:
		return doc, "", fmt.Errorf("it is not known whether a winnow run has the state folder %s: %w", o.Cfg.State, err)
	}
	return doc, "no winnow run has the state folder " + text.Clean(o.Cfg.State) + ": winnow run begins one, winnow service install has systemd run it", nil
}

// whySilent says why a daemon that runs may not answer.
func (o *Ops) whySilent() string {
	if _, err := os.Lstat(o.Cfg.APISocket()); errors.Is(err, fs.ErrNotExist) {
		return "there is no " + text.Clean(o.Cfg.APISocket()) + ", so run.api is off there, its socket is elsewhere, or somebody removed it: then start winnow run again"
	}
	return "it hangs, run.api is off there, or it runs with another configuration or version"
}

// History gives the sweeps and acts since a time.
func (o *Ops) History(ctx context.Context, since time.Time) (document.History, error) {
	h := document.History{Sweeps: []ledger.Sweep{}, Acts: []ledger.Act{}}
	err := o.ReadLedger(func(l *ledger.Ledger) (err error) {
		if h.Sweeps, err = l.Sweeps(ctx, since); err != nil {
			return err
		}
		h.Acts, err = l.Acts(ctx, since)
		return err
	})
	return h, err
}

// Stats sums up the acts that were done since a time, without those that were brought back.
func (o *Ops) Stats(ctx context.Context, since time.Time) (document.Stats, error) {
	h, err := o.History(ctx, since)
	s := document.Stats{Schema: document.StatsSchema, Since: since.UTC()}
	weeks, repositories, kinds := map[string]document.Share{}, map[string]document.Share{}, map[string]document.Share{}
	for _, x := range h.Acts {
		if x.Outcome == nil || x.Outcome.Outcome != decision.Done || x.RestoredAt != nil {
			continue
		}
		add := func(in map[string]document.Share, name string) {
			one := in[name]
			in[name] = document.Share{Name: name, Acts: one.Acts + 1, Bytes: one.Bytes + x.Outcome.Freed.Bytes, Memory: one.Memory + x.Outcome.Freed.RSS}
		}
		at := x.Intent.At.Local()
		add(weeks, at.AddDate(0, 0, -(int(at.Weekday())+6)%7).Format(time.DateOnly))
		add(kinds, x.Intent.Kind)
		if d := x.Intent.Identity.Dir; d != nil {
			add(repositories, strings.TrimSuffix(cmp.Or(d.CommonDir, filepath.Dir(strings.TrimPrefix(x.Intent.Candidate, "dir:"))), "/.git"))
		}
	}
	sorted := func(in map[string]document.Share, most func(x, y document.Share) int) []document.Share {
		return append([]document.Share{}, slices.SortedFunc(maps.Values(in), most)...)
	}
	byName := func(x, y document.Share) int { return strings.Compare(x.Name, y.Name) }
	byBytes := func(x, y document.Share) int {
		return cmp.Or(cmp.Compare(y.Bytes+y.Memory, x.Bytes+x.Memory), cmp.Compare(y.Acts, x.Acts), byName(x, y))
	}
	s.Weeks, s.Repositories, s.Kinds = sorted(weeks, byName), sorted(repositories, byBytes), sorted(kinds, byBytes)
	for _, k := range s.Kinds {
		s.Total = document.Share{Name: "all", Acts: s.Total.Acts + k.Acts, Bytes: s.Total.Bytes + k.Bytes, Memory: s.Total.Memory + k.Memory}
	}
	return s, err
}

// VerifyHistory checks the chain of acts. known is a link that was kept elsewhere, "" where there is no such link.
func (o *Ops) VerifyHistory(ctx context.Context, known string) (document.Verified, error) {
	v := document.Verified{Ledger: o.LedgerPath(), Chain: ledger.Chain{Faults: []ledger.Fault{}}}
	if known != "" && !linkPattern.MatchString(known) {
		return v, config.Usagef("--head: %.80q is no link: it has 64 hexadecimal digits, as winnow history --verify prints it", known)
	}
	read := false
	err := o.ReadLedger(func(l *ledger.Ledger) (err error) {
		read = true
		v.Chain, err = l.Verify(ctx, known)
		return err
	})
	if !read && known != "" {
		v.Faults = append(v.Faults, ledger.Fault{Problem: "there is no ledger, so the link is not in it: it was removed, or this is another state folder"})
	}
	v.Holds = v.Chain.Holds()
	return v, err
}

var linkPattern = regexp.MustCompile(`^\s*[0-9a-fA-F]{64}\s*$`)

// Recordings are the ids of recorded sweeps, the latest first: that one, the last so many, or all.
func (o *Ops) Recordings(ctx context.Context, sweep string, last int) (ids []string, err error) {
	var all []ledger.Recording
	if err := o.ReadLedger(func(l *ledger.Ledger) error {
		all, err = l.Recordings(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	for _, r := range all {
		if sweep == "" || r.Sweep == sweep {
			ids = append(ids, r.Sweep)
		}
	}
	switch {
	case len(all) == 0:
		return nil, config.Usagef("no sweep is recorded in %s: write record: 20 into config.yaml, and sweeps are recorded from then on", o.LedgerPath())
	case len(ids) == 0:
		return nil, config.Usagef("--sweep: sweep %s is not recorded; the last one that is is %s", sweep, all[0].Sweep)
	case last > 0:
		ids = ids[:min(last, len(ids))]
	}
	return ids, nil
}

// Recording reads one recorded sweep.
func (o *Ops) Recording(ctx context.Context, id string) (doc *recorded.Document, err error) {
	err = o.ReadLedger(func(l *ledger.Ledger) error {
		_, data, err := l.Recording(ctx, id)
		if err == nil {
			doc, err = recorded.Decode(data)
		}
		return err
	})
	if err == nil && doc == nil {
		err = fmt.Errorf("read recording of sweep %s: the ledger is gone", id)
	}
	return doc, err
}
