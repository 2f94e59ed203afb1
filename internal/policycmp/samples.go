package policycmp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/saved"
)

// recordedSamples are the recorded sweeps as snapshots to compare.
func recordedSamples(ctx context.Context, o *ops.Ops) ([]compare.Sample, error) {
	ids, err := o.Recordings(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	var out []compare.Sample
	for _, id := range ids {
		out = append(out, compare.Sample{Name: "sweep " + id, Read: func(ctx context.Context) (*snapshot.Snapshot, []string, error) {
			doc, err := o.Recording(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			return doc.Snapshot, nil, nil
		}})
	}
	return out, nil
}

func savedSample(path string) compare.Sample {
	return compare.Sample{Name: path, Read: func(ctx context.Context) (*snapshot.Snapshot, []string, error) { return saved.ReadLabelled(ctx, path) }}
}

// brokenSample is something that stands in the place of a snapshot.
func brokenSample(name, format string, args ...any) compare.Sample {
	err := fmt.Errorf(format, args...)
	return compare.Sample{Name: name, Read: func(context.Context) (*snapshot.Snapshot, []string, error) { return nil, nil, err }}
}

// maxSnapshots is how many snapshots are compared.
const maxSnapshots = 100_000

// savedSamples lists the snapshots that were named, sorted within each folder. A file of labels without its snapshot is among them, with
// what is wrong.
func savedSamples(named []string) (out []compare.Sample, err error) {
	for _, name := range named {
		st, err := os.Stat(name)
		if err != nil {
			return nil, config.Usagef("--snapshots: %v; name a snapshot or a folder of snapshots. Nothing was decided", err)
		}
		if !st.IsDir() {
			out = append(out, savedSample(name))
			continue
		}
		in, err := samplesIn(name)
		if err != nil {
			return nil, fmt.Errorf("--snapshots %s: %w; nothing was decided", name, err)
		}
		if len(in) == 0 {
			return nil, config.Usagef("--snapshots: %s holds no snapshot: no file that ends in .json or .json.gz. Nothing was decided", name)
		}
		out = append(out, in...)
	}
	if len(out) > maxSnapshots {
		return nil, config.Usagef("--snapshots: %d snapshots, and %d are the most. Nothing was decided", len(out), maxSnapshots)
	}
	return out, nil
}

func samplesIn(folder string) (out []compare.Sample, err error) {
	stems := map[string]bool{}
	var labels []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if stem, ok := strings.CutSuffix(path, saved.LabelsEnding); ok {
			labels = append(labels, stem)
			return nil
		}
		stem, ok := saved.Stem(path)
		if !ok {
			return nil
		}
		stems[stem] = true
		if d.Type().IsRegular() {
			out = append(out, savedSample(path))
		} else {
			out = append(out, brokenSample(path, "%s is not a regular file: put the snapshot itself there", path))
		}
		return nil
	})
	for _, stem := range labels {
		if !stems[stem] {
			out = append(out, brokenSample(stem+saved.LabelsEnding, "there is no snapshot %s.json or %s.json.gz that these labels are of", stem, stem))
		}
	}
	return out, err
}

// Replay decides recorded sweeps again: the one of that id, or the last so many, or all. The parameters are those that were in force then, or with
// configured those of now.
func Replay(ctx context.Context, o *ops.Ops, sweep string, last int, configured bool) (out *document.Replay, err error) {
	sweeps, err := o.Recordings(ctx, sweep, last)
	if err != nil {
		return nil, err
	}
	e, p, err := o.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	excepted := len(p.Exceptions()) > 0
	out = &document.Replay{
		Schema: document.ReplaySchema, Policy: report.PolicyRef{Revision: p.Revision, Digest: p.Digest}, Same: true, Sweeps: []document.ReplayedSweep{},
	}
	for _, id := range sweeps {
		doc, err := o.Recording(ctx, id)
		if err != nil {
			return nil, err
		}
		if excepted && doc.Policy.Digest != p.Digest {
			o.Note(RedactedNames, "the recording of sweep "+id)
			excepted = false
		}
		rules := &doc.Rules
		if configured {
			rules = &o.Cfg.Rules.Config
		}
		now, err := e.Decide(ctx, doc.Snapshot, rules)
		if err != nil {
			return nil, fmt.Errorf("policy replay: sweep %s: %w", id, err)
		}
		again := recorded.Decisions(now.Decisions, func(id string) string { return id })
		one := document.ReplayedSweep{Sweep: id, Policy: doc.Policy, Decisions: len(doc.Decisions), Differ: differ(doc.Decisions, again)}
		out.Same = out.Same && len(one.Differ) == 0
		out.Sweeps = append(out.Sweeps, one)
	}
	return out, nil
}

// differ are the candidates that two lists of decisions do not agree on, sorted by id.
func differ(was, now []recorded.Decided) []document.ChangedDecision {
	out := []document.ChangedDecision{}
	pairs := compare.Pairs(was, now, func(d *recorded.Decided) string { return d.ID })
	for _, id := range slices.Sorted(maps.Keys(pairs)) {
		if p := pairs[id]; !reflect.DeepEqual(p[0], p[1]) {
			out = append(out, document.ChangedDecision{ID: id, Was: p[0], Now: p[1]})
		}
	}
	return out
}
