// Package saved reads a snapshot that winnow snapshot wrote.
package saved

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// The most that is read of a saved snapshot. The greatest machines have a tenth of it.
const (
	maxSnapshot = 64 << 20
	maxObjects  = 1 << 18
	maxValues   = 1 << 22
)

// Read reads a saved snapshot from a file, "-" for stdin; it may be compressed with gzip. unknown are the fields that this version does not know, each with the nearest that it
// knows: a misspelt one is an unknown fact, and unknown keeps.
func Read(ctx context.Context, file string) (s *snapshot.Snapshot, unknown []string, err error) {
	data, err := readFile(ctx, file)
	if err != nil {
		return nil, nil, fmt.Errorf("read snapshot: %w; nothing was decided", err)
	}
	known := false
	if data, err = unzipped(data); err == nil {
		s, known, err = decode(data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read snapshot %s: %w; nothing was decided", file, err)
	}
	if !known {
		unknown = Unknown(data)
	}
	return s, unknown, nil
}

// unzipped is what gzip compressed, and all other data as it is. A snapshot begins with neither of gzip's two bytes (RFC 1952, 2.3.1).
func unzipped(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it begins as gzip does, and is not: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, maxSnapshot+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it begins as gzip does, and breaks off: %w", err)
	case len(out) > maxSnapshot:
		return nil, fmt.Errorf("it unpacks to more than %d MiB", maxSnapshot>>20)
	}
	return out, nil
}

// Decode reads a document of this version's schema, with the time that it was taken.
func Decode(data []byte) (*snapshot.Snapshot, error) {
	s, _, err := decode(data)
	return s, err
}

// maxCopied is how many bytes a document may have that is copied once more to be read faster.
const maxCopied = 8 << 20

// decode is Decode; known is true where every field is known, which most often saves another pass.
func decode(data []byte) (_ *snapshot.Snapshot, known bool, _ error) {
	if objects, values := counted(data); objects > maxObjects || values > maxValues {
		return nil, false, fmt.Errorf("it holds more than %d objects or %d values, as no look gives", maxObjects, maxValues)
	}
	var s snapshot.Snapshot
	if len(data) <= maxCopied {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s); err == nil {
			_, err = dec.Token() // and nothing behind it
			known = errors.Is(err, io.EOF)
		}
	}
	if !known {
		s = snapshot.Snapshot{}
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, false, errors.New(jsonProblem(data, err))
		}
	}
	switch {
	case s.Schema != snapshot.Schema:
		return nil, false, fmt.Errorf("its schema is %.80q, and this version reads %q", s.Schema, snapshot.Schema)
	case s.TakenAt.IsZero():
		return nil, false, errors.New("taken_at is missing, so no age is known")
	}
	if err := checkLabels(&s); err != nil {
		return nil, false, err
	}
	s.FillNull()
	return &s, known, nil
}

// counted is about how many objects and values a document holds, before any room is made for them. One with few bytes cannot hold too many.
func counted(data []byte) (objects, values int) {
	if len(data) <= maxObjects {
		return 0, 0
	}
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			objects++
		case c == ',', c == ':':
			values++
		}
	}
	return objects, values
}

// inherited is the name of something that the process which started this program opened for it: <(program) of a shell, or a pipe.
var inherited = regexp.MustCompile(`^(?:-|/dev/stdin|/dev/fd/([0-9]{1,6})|/proc/self/fd/([0-9]{1,6}))$`)

// readFile reads a file that the user names. It ends with ctx, for every type of file.
func readFile(ctx context.Context, file string) ([]byte, error) {
	m := inherited.FindStringSubmatch(file)
	if m == nil {
		real, err := filepath.EvalSymlinks(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "open", Path: file, Err: unix.ENOENT}
		}
		if err != nil {
			return nil, err
		}
		f, err := safeopen.Read(ctx, real, safeopen.Want{Max: maxSnapshot})
		return f.Data, err
	}
	in := os.Stdin
	if n, err := strconv.Atoi(m[1] + m[2]); err == nil {
		in = os.NewFile(uintptr(n), file)
	}
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, maxSnapshot+1))
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		if len(a.data) > maxSnapshot {
			return nil, fmt.Errorf("%s gives more than %d MiB", file, maxSnapshot>>20)
		}
		return a.data, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s: %w", file, context.Cause(ctx))
	}
}

// jsonProblem says at which line and column a document breaks.
func jsonProblem(data []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return err.Error()
	}
	before := data[:offset]
	row := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d: %v", row, len(before)-bytes.LastIndexByte(before, '\n')-1, err)
}

// Unknown lists the paths of a document that a snapshot has no field for, each once, with the nearest name that it has. The document
// is read a token at a time, so that what is passed over takes up no room. Of very many the first are enough.
func Unknown(data []byte) []string {
	u := unknown{dec: json.NewDecoder(bytes.NewReader(data)), seen: map[string]bool{}}
	_ = u.value(reflect.TypeFor[snapshot.Snapshot](), "") // it was read whole before
	return slices.Sorted(maps.Keys(u.seen))
}

// maxUnknown is how many unknown fields are named, maxDepth how deep a document is looked into: deeper than any type goes.
const (
	maxUnknown = 100
	maxDepth   = 64
)

type unknown struct {
	dec   *json.Decoder
	seen  map[string]bool
	depth int
}

// value reads one value, which t is the type of; nil is one that is not known.
func (u *unknown) value(t reflect.Type, path string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := u.dec.Token()
	open, ok := token.(json.Delim)
	if err != nil || !ok {
		return err
	}
	if u.depth++; u.depth > maxDepth || len(u.seen) >= maxUnknown {
		return io.EOF
	}
	defer func() { u.depth-- }()
	for u.dec.More() {
		var inner reflect.Type // of what a list holds
		at := path
		switch {
		case open == '{':
			key, err := u.dec.Token()
			if err != nil {
				return err
			}
			inner, at = u.field(t, path, fmt.Sprint(key))
		case t != nil && t.Kind() == reflect.Slice:
			inner = t.Elem()
		}
		if err := u.value(inner, at); err != nil {
			return err
		}
	}
	_, err = u.dec.Token()
	return err
}

// field gives the type and the path of what stands under a key, and notes one that t has not.
func (u *unknown) field(t reflect.Type, path, key string) (reflect.Type, string) {
	switch {
	case t == nil:
	case t.Kind() == reflect.Map:
		return t.Elem(), path + "*."
	case t.Kind() == reflect.Struct:
		fields := jsonFields(t)
		if inner, ok := fields[key]; ok {
			return inner, path + key + "."
		}
		if len(fields) > 0 {
			said := fmt.Sprintf("%s%.80s", path, key)
			if near := spelling.Near(fmt.Sprintf("%.80s", key), slices.Collect(maps.Keys(fields))); near != "" {
				said += " (the nearest is " + near + ")"
			}
			u.seen[said] = true
		}
	}
	return nil, path
}

// fieldsByType has what jsonFields found, by reflect.Type.
var fieldsByType sync.Map

// jsonFields are the fields of a struct by the names that they have in a document.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if found, ok := fieldsByType.Load(t); ok {
		return found.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	fieldsByType.Store(t, fields)
	return fields
}

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
	for _, id := range slices.Sorted(maps.Keys(s.Labels)) {
		if _, there := s.Find(id); err == nil && !there {
			err = fmt.Errorf("labels: the snapshot holds no candidate %.200q; write an id as winnow subjects gives it", id)
		}
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
