package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/winnow-reaper/winnow/cmd/winnow/recorded"
	"github.com/winnow-reaper/winnow/cmd/winnow/redact"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/ledger"
)

// sample is what one look saw, to be decided again: a sweep that the ledger recorded, or a saved snapshot.
type sample struct {
	name string
	// sweep is true for a recorded sweep.
	sweep bool
	read  func(context.Context) (sampled, error)
}

// sampled is a sample that was read.
type sampled struct {
	*snapshot.Snapshot
	// sweep is the recorded sweep, nil for a saved snapshot.
	sweep *recorded.Document
}

// rules are the parameters that a sample is decided with: those that its sweep was decided with, where it has any. Parameters that rules of one's own
// declare by now, and that were not there then, have their defaults.
func (s sampled) rules(now *subject.Config, p *policy.Policy) *subject.Config {
	if s.sweep == nil {
		return now
	}
	out := s.sweep.Rules
	out.Own = maps.Clone(out.Own)
	if out.Own == nil {
		out.Own = map[string]any{}
	}
	for _, declared := range p.Parameters() {
		if _, ok := out.Own[declared.Name]; !ok {
			out.Own[declared.Name] = declared.Default
		}
	}
	return &out
}

// ofRecordings are recorded sweeps as samples.
func (a *app) ofRecordings(ids []string) (out []sample) {
	for _, id := range ids {
		out = append(out, sample{"sweep " + id, true, func(ctx context.Context) (sampled, error) {
			doc, err := a.recording(ctx, id)
			if err != nil {
				return sampled{}, err
			}
			return sampled{doc.Snapshot, doc}, nil
		}})
	}
	return out
}

// ofSnapshots are saved snapshots as samples, from files and folders.
func (a *app) ofSnapshots(named []string) (out []sample, err error) {
	found, err := snapshotFiles(named)
	if err != nil {
		return nil, err
	}
	warned := map[string]bool{}
	for _, f := range found {
		out = append(out, sample{f.name, false, func(ctx context.Context) (sampled, error) {
			s, unknown, err := f.read(ctx)
			for _, field := range unknown {
				if !warned[field] {
					warned[field] = true
					a.log.Warn("unknown field in a snapshot, passed over", "file", f.name, "field", field)
				}
			}
			return sampled{s, nil}, err
		}})
	}
	return out, nil
}

// samplesOf counts samples in words.
func samplesOf(all []sample) string {
	sweeps := 0
	for _, s := range all {
		if s.sweep {
			sweeps++
		}
	}
	switch {
	case sweeps == len(all):
		return text.Plural(sweeps, "recorded sweep")
	case sweeps == 0:
		return text.Plural(len(all), "snapshot")
	}
	return text.Plural(sweeps, "recorded sweep") + " and " + text.Plural(len(all)-sweeps, "snapshot")
}

// anyRecordings are the ids of all recorded sweeps, the latest first; there may be none.
func (a *app) anyRecordings(ctx context.Context) (ids []string, err error) {
	err = a.readLedger(func(l *ledger.Ledger) error {
		all, err := l.Recordings(ctx)
		for _, r := range all {
			ids = append(ids, r.Sweep)
		}
		return err
	})
	return ids, err
}

// standIns find the stand-ins that recordings have for ids.
type standIns struct {
	key     []byte
	options redact.Options
}

// standIns are those of the state folder. p are the policies that sweeps are recorded by.
func (a *app) standIns(ctx context.Context, p *policy.Policy) (*standIns, error) {
	key, err := readRedactionKey(ctx, filepath.Join(a.cfg.State, redactionKey))
	if err != nil {
		return nil, err
	}
	o, err := redaction(a.cfg, p, key)
	return &standIns{key, o}, err
}

// in gives the stand-in that an id has in a recorded sweep. One that was recorded with another key, or whose policies kept other parts of names,
// has another one.
func (s *standIns) in(of sampled) (func(id string) string, error) {
	if made := of.Redaction; made == nil || made.Key != redact.KeyName(s.key) {
		return nil, fmt.Errorf("sweep %s was recorded with another key than the one in the state folder, so no id can be found in it", of.sweep.Sweep)
	}
	o := s.options
	o.Config = &of.sweep.Rules
	r := redact.New(o)
	r.Begin(of.Snapshot)
	return r.ID, nil
}
