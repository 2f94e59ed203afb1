package saved

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// LabelsEnding ends the name of the file beside a snapshot that has its labels: those of s.json or s.json.gz are in s.labels.yaml.
const LabelsEnding = ".labels.yaml"

// endings are those of files that hold a snapshot.
var endings = []string{".json", ".json.gz"}

// maxLabels is how many bytes a file of labels may have.
const maxLabels = 4 << 20

// Stem is a snapshot's file without its ending; false for what is not named as one.
func Stem(file string) (string, bool) {
	for _, ending := range endings {
		if stem, ok := strings.CutSuffix(file, ending); ok {
			return stem, true
		}
	}
	return file, false
}

// ReadLabelled is Read of a file, with the labels of the file beside it where there is one. A label of a candidate that the snapshot does
// not hold is an error, and so is one that contradicts the snapshot's own: it would guard nothing.
func ReadLabelled(ctx context.Context, file string) (s *snapshot.Snapshot, unknown []string, err error) {
	if s, unknown, err = Read(ctx, file); err != nil {
		return nil, unknown, err
	}
	stem, _ := Stem(file)
	beside := stem + LabelsEnding
	f, err := safeopen.Read(ctx, beside, safeopen.Want{Max: maxLabels})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		err = addLabels(s, beside, f.Data)
	}
	if err == nil {
		err = labelsFound(s)
	}
	if err != nil {
		return nil, unknown, fmt.Errorf("read labels of snapshot %s: %w; nothing was decided", file, err)
	}
	return s, unknown, nil
}

// labelled is the shape of a file of labels.
type labelled struct {
	Labels map[string]string `json:"labels" required:"write labels: {ID: live}"`
}

// addLabels adds the labels of a file to those of the snapshot.
func addLabels(s *snapshot.Snapshot, file string, data []byte) error {
	var l labelled
	if _, err := strict.Read(file, data, strict.Shape{Type: reflect.TypeFor[labelled]()}, &l); err != nil {
		return err
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	for _, id := range slices.Sorted(maps.Keys(l.Labels)) {
		if own, ok := s.Labels[id]; ok && own != l.Labels[id] {
			return fmt.Errorf("%s: %q is %s there and %s in the snapshot; correct one of them", file, id, l.Labels[id], own)
		}
		s.Labels[id] = l.Labels[id]
	}
	return checkLabels(s)
}

// checkLabels refuses a label that is no word for one.
func checkLabels(s *snapshot.Snapshot) error {
	for _, id := range slices.Sorted(maps.Keys(s.Labels)) {
		if label := s.Labels[id]; label != snapshot.Live && label != snapshot.Dead {
			return fmt.Errorf("labels: %.200q is %.80q; a label is %s or %s%s", id, label, snapshot.Live, snapshot.Dead,
				spelling.Hint(label, []string{snapshot.Live, snapshot.Dead}))
		}
	}
	return nil
}

// labelsFound refuses a label of a candidate that the snapshot does not hold.
func labelsFound(s *snapshot.Snapshot) error {
	for _, id := range slices.Sorted(maps.Keys(s.Labels)) {
		if _, there := s.Find(id); !there {
			return fmt.Errorf("labels: the snapshot holds no candidate %.200q; write an id as winnow subjects gives it", id)
		}
	}
	return nil
}
