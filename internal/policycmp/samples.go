package policycmp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
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
