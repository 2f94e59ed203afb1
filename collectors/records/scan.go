// Package records reads files of JSON records, as orchestrators write them: one object a line, or one JSON document.
//
// It is strict where a lenient reading could hide a record or change what it says: a half-written line, a key that stands
// twice, text that is not UTF-8 and a time that could mean two things are errors, each with its line or place.
//
// What a file says rules verdicts, so it is read only where only this user and root could have written it. How much of it
// is read and kept is bounded: its size, its records, the keys of a record and the length of a text.
package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// nothing is read into where only the form of a document matters: no copy of it is made.
type nothing struct{}

func (nothing) UnmarshalJSON([]byte) error { return nil }

// valid says what is wrong with the form of a document. encoding/json refuses one that is nested deeper than 10000.
func valid(data []byte) error {
	err := json.Unmarshal(data, &nothing{})
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "unexpected end"):
		return errEnds
	case strings.Contains(err.Error(), "after top-level value"):
		return errors.New("something follows the object")
	}
	return err
}

// parts gives the elements of an array, or the keys and values of an object, as parts of data. data is valid JSON with nothing
// around it. It keeps nothing, however deep the elements are.
func parts(data []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		inObject := data[0] == '{'
		rest := data[1 : len(data)-1]
		for {
			rest = bytes.TrimLeft(rest, " \t\r\n,")
			if len(rest) == 0 {
				return
			}
			var key []byte
			if inObject {
				n := end(rest)
				key = rest[:n]
				rest = bytes.TrimLeft(rest[n:], " \t\r\n:")
			}
			n := end(rest)
			if !yield(key, json.RawMessage(rest[:n:n])) {
				return
			}
			rest = rest[n:]
		}
	}
}

// end is where the value ends that valid JSON begins with.
func end(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = quoted(data, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			if n := bytes.IndexAny(data[i:], " \t\r\n,]}"); n >= 0 { // a number, true, false or null
				return i + n
			}
			return len(data)
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}

// quoted is where the text ends that begins at i: at its last quote.
func quoted(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// text reads a JSON text of at most so many bytes.
func text(raw []byte, most int) (string, error) {
	if len(raw) > 2+6*most { // an escape is six bytes at most
		return "", fmt.Errorf("is longer than %d bytes", most)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errNoText
	}
	if len(s) > most {
		return "", fmt.Errorf("is longer than %d bytes", most)
	}
	return s, nil
}

var errNoText = errors.New("is not text")

// MaxSize is the greatest file that is read, in bytes.
const MaxSize = 64 << 20

// Load reads the whole file at path. It wraps collectors.ErrAbsent where it does not exist and collectors.ErrPermission where it
// may not be read; anything but a regular file, one that another user owns, can write or can put another in the place of, one
// greater than MaxSize and one that is not UTF-8 are errors.
func Load(ctx context.Context, path string) ([]byte, error) {
	real, err := safeopen.Path(path)
	var f safeopen.File
	within := collectors.DefaultTimeout
	if end, ok := ctx.Deadline(); ok {
		within = max(time.Until(end), time.Millisecond)
	}
	if err == nil {
		f, err = safeopen.Read(ctx, real, safeopen.Want{Max: MaxSize, Within: within, Ruling: true})
	}
	if err != nil {
		return nil, explain(ctx, path, err)
	}
	if !utf8.Valid(f.Data) {
		return nil, fmt.Errorf("read %s: it is not UTF-8, so a path in it could be mistaken; let its owner write UTF-8", path)
	}
	return f.Data, nil
}

// explain says why a file was not read and what to do next. What rests on the file is kept, as for every source that failed.
func explain(ctx context.Context, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open %s: %w; nothing has been written there yet, or the path in config.yaml is wrong", path, collectors.ErrAbsent)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("open %s: %w; let this user read the file", path, collectors.ErrPermission)
	case errors.Is(err, safeopen.ErrNotRegular), errors.Is(err, safeopen.ErrLink):
		return fmt.Errorf("open %s: it is not a regular file; name the file itself in config.yaml", path)
	case errors.Is(err, safeopen.ErrTooLarge):
		return fmt.Errorf("read %s: it is greater than %d MiB; let its owner drop what has long completed", path, MaxSize>>20)
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable):
		return fmt.Errorf("open %s: another user could have written it, and nothing was read: %w; let it and each folder above"+
			" belong to this user or root, and let no other user write there", path, err)
	case ctx.Err() != nil:
		return fmt.Errorf("read %s: %w", path, ctx.Err())
	}
	return fmt.Errorf("read records: %w", err)
}

// lists are the keys under which a document may hold its entries.
var lists = []string{"entries", "sessions", "workers"}

// document splits a JSON document into its records and gives each to take. It is an array of them, an object that holds an array
// or an object of them under one of lists, or an object of them by id.
func document(data []byte, take Take) (bad int, err error) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte{'['}) {
		return Array(data, take)
	}
	fields, err := object(data, MaxKept)
	if err != nil {
		return 1, err
	}
	var held []string
	for _, name := range lists {
		if _, ok := fields[name]; ok {
			held = append(held, name)
		}
	}
	switch len(held) {
	case 0:
		return ByKey(fields, take)
	case 1:
	default:
		return 1, fmt.Errorf("it has lists under %s, and does not say which one is meant; keep one", strings.Join(held, " and "))
	}
	list := bytes.TrimSpace(fields[held[0]])
	if bytes.HasPrefix(list, []byte{'['}) {
		return Array(list, take)
	}
	inner, err := object(list, MaxKept)
	if err != nil {
		return 1, fmt.Errorf("%s: %w", held[0], err)
	}
	return ByKey(inner, take)
}

// Real turns paths as people write them into those that the kernel shows: a folder that a record names through a symbolic link
// is to be found again under its real path. It remembers what it resolved; make a new one for each look.
type Real struct{ seen map[string]resolved }

type resolved struct {
	path string
	sure bool
}

// NewReal gives a Real that knows nothing yet.
func NewReal() Real { return Real{seen: map[string]resolved{}} }

// Path resolves an absolute, clean path. What does not exist (any more) is kept as it is below the last folder that does. sure is
// false where a part could not be looked at, so that path may not be the real one.
func (r Real) Path(path string) (real string, sure bool) {
	if path == "/" {
		return "/", true
	}
	if known, ok := r.seen[path]; ok {
		return known.path, known.sure
	}
	parent, sure := r.Path(filepath.Dir(path))
	real = filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(real)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		var target string
		if target, err = filepath.EvalSymlinks(real); err == nil {
			real = target
		}
	}
	sure = sure && (err == nil || errors.Is(err, fs.ErrNotExist))
	r.seen[path] = resolved{real, sure}
	return real, sure
}
