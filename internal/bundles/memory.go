package bundles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// memorySchema names the shape of the file that remembers a bundle.
const memorySchema = "winnow.bundle/v1"

const (
	memoryName = "memory.json"
	maxMemory  = 1 << 20
	// maxBefore is how many bundles are remembered that ran before, where no serial says which is older.
	maxBefore = 1000
)

// memory is what is remembered of a bundle, in memory.json.
type memory struct {
	Schema string `json:"schema"`
	// From is where it was got last. ETag is that server's tag for what it gave.
	From string `json:"from,omitempty"`
	ETag string `json:"etag,omitempty"`
	// Active is the last good one; it lies beside this file.
	Active *active `json:"active,omitempty"`
	// Before has the content of every bundle that ran before it, the latest last.
	Before []string `json:"before,omitempty"`
	// CheckedAt is when its place last gave an answer. Problem is why there is nothing newer; Refused tells a bundle that was refused from a place
	// that does not answer: so many times in a row, since FailingSince, and it is asked again at RetryAt.
	CheckedAt    time.Time `json:"checked_at,omitzero"`
	Problem      string    `json:"problem,omitempty"`
	Refused      bool      `json:"refused,omitempty"`
	Failures     int       `json:"failures,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	RetryAt      time.Time `json:"retry_at,omitzero"`
}

// active is the bundle that runs.
type active struct {
	Revision    string    `json:"revision"`
	Serial      int64     `json:"serial,omitempty"`
	Digest      string    `json:"digest"`
	Content     string    `json:"content"`
	ActivatedAt time.Time `json:"activated_at"`
}

// file is the name of its copy.
func (a *active) file() string { return strings.Replace(a.Digest, ":", "-", 1) + ".tar.gz" }

// goBack is what to do when older rules are wanted again.
const goBack = "to go back to older rules, make a bundle of them with a greater serial"

// older refuses a bundle that is not newer than the last good one: a server that was taken over, or an old mirror, would bring back rules
// that were mended since. A signature does not say when it was made.
func (m *memory) older(b *bundle.Bundle) error {
	a := m.Active
	switch {
	case a == nil || b.Content == a.Content:
		return nil
	case a.Serial > 0 && b.Serial == 0:
		return fmt.Errorf("revision %.80q has no serial, and the one that runs has %d, so that it may be older: make it with winnow policy bundle --serial", b.Revision, a.Serial)
	case a.Serial > 0 && b.Serial < a.Serial:
		return fmt.Errorf("revision %.80q is older than what ran before (serial %d; %.80q has %d): %s", b.Revision, b.Serial, a.Revision, a.Serial, goBack)
	case a.Serial > 0 && b.Serial == a.Serial:
		return fmt.Errorf("revision %.80q has the serial %d of %.80q, and is another bundle: make it with a greater serial", b.Revision, b.Serial, a.Revision)
	case slices.Contains(m.Before, b.Content):
		return fmt.Errorf("revision %.80q ran before %.80q did, so that it is older: %s", b.Revision, a.Revision, goBack)
	}
	return nil
}

// recall reads what is remembered, and the last good one.
func (f *Found) recall(ctx context.Context, state string) error {
	dir := filepath.Join(state, f.Name)
	file, err := safeopen.Read(ctx, filepath.Join(dir, memoryName), safeopen.Want{Max: maxMemory, Ruling: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(file.Data, &f.memory)
	}
	if err == nil && f.memory.Schema != memorySchema {
		err = fmt.Errorf("it has the schema %.40q, and this program reads %s", f.memory.Schema, memorySchema)
	}
	if err != nil {
		return fmt.Errorf("bundle %s: what ran before is not known: %s cannot be read: %w. Nothing was decided: mend that file, or remove it if no older bundle can come", f.Name, filepath.Join(dir, memoryName), err)
	}
	if f.memory.Active != nil {
		if f.Last, err = f.load(ctx, dir); err != nil {
			f.Missing = fmt.Errorf("the last good one cannot be used: %w", err)
		}
	}
	return nil
}

// load reads and verifies the last good one again: the state folder may have been changed, and the key is the configuration's of now.
func (f *Found) load(ctx context.Context, dir string) (*bundle.Bundle, error) {
	a := f.memory.Active
	file, err := safeopen.Read(ctx, filepath.Join(dir, filepath.Base(a.file())), safeopen.Want{Max: bundle.Max, Ruling: true})
	if err != nil {
		return nil, err
	}
	b, err := bundle.Read(file.Data, f.Verification)
	if err == nil && (b.Digest != a.Digest || b.Content != a.Content || b.Serial != a.Serial) {
		err = errors.New("it is not the one that ran: its digest is another one")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Keep writes down what was found, for the next look. running is the bundle that is used now; where it is new it is kept as the last good one,
// before anything is decided by it.
func (f *Found) Keep(ctx context.Context, state string, running *bundle.Bundle) error {
	dir := filepath.Join(state, f.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep bundle %s: %w", f.Name, err)
	}
	f.memory.Schema = memorySchema
	if running != nil && running == f.New {
		if err := f.activate(ctx, dir); err != nil {
			return err
		}
	}
	if err := write(ctx, filepath.Join(dir, memoryName), &f.memory); err != nil {
		return fmt.Errorf("keep what ran of bundle %s: %w", f.Name, err)
	}
	f.tidy(dir)
	return synced(dir)
}

func (f *Found) activate(ctx context.Context, dir string) error {
	m := &f.memory
	if a := m.Active; a != nil && a.Content != f.New.Content {
		m.Before = append(m.Before, a.Content)
		m.Before = m.Before[max(0, len(m.Before)-maxBefore):]
	}
	m.Active = &active{
		Revision: f.New.Revision, Serial: f.New.Serial, Digest: f.New.Digest, Content: f.New.Content, ActivatedAt: time.Now().UTC(),
	}
	m.Problem, m.Refused = "", false
	if err := atomicfile.WriteData(ctx, filepath.Join(dir, m.Active.file()), f.data); err != nil {
		return fmt.Errorf("keep bundle %s: %w", f.Name, err)
	}
	return nil
}

func write(ctx context.Context, path string, v any) error {
	return atomicfile.Write(ctx, path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// tidy removes copies of bundles that run no more. What cannot be removed stays: nothing reads it.
func (f *Found) tidy(dir string) {
	old, err := filepath.Glob(filepath.Join(dir, "sha256-*.tar.gz"))
	if err != nil {
		return
	}
	for _, path := range old {
		if f.memory.Active == nil || filepath.Base(path) != f.memory.Active.file() {
			_ = os.Remove(path)
		}
	}
}

// synced sees the names in a folder on the disk: a power cut must not bring an older memory back.
func synced(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems cannot
	return d.Close()
}
