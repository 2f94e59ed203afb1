// Package bundles gets the bundles that policy.bundles names, decides which of them may run, and keeps the last good one.
//
// A bundle is used when it is signed as the configuration wants, newer than what ran before, and loads. All else that there is to get is
// refused, and the last good one goes on. That one lies in the state folder, and is verified again whenever it is loaded.
package bundles

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/bundlehttp"
	"github.com/winnow-reaper/winnow/internal/sys/bundleoci"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Source is a bundle that the configuration names.
type Source struct {
	Name string
	// From is the absolute path of a file, or a URL.
	From string
	// Verification is nil where any bundle is taken.
	Verification *bundle.Verification
	// Token is what a server wants to see; "" is nothing.
	Token string
}

// Remote reports whether a place is a URL.
func Remote(from string) bool { return strings.Contains(from, "://") }

// Polling says how often servers are asked.
type Polling struct {
	// Min is the least time between two questions, Max the longest one after failures, Timeout how long one takes.
	Min, Max, Timeout time.Duration
}

// Look says what may be asked now.
type Look struct {
	// Ask has servers asked, unless it is too early. Without it nothing goes to the network.
	Ask bool
	// Now asks at any time, and Wait lets a server hold its answer back for so long until there is something new.
	Now  bool
	Wait time.Duration
}

// Found is what there is of a source.
type Found struct {
	Source
	// Last is the last good one, verified again; nil when it is missing. Missing says why.
	Last    *bundle.Bundle
	Missing error
	// New is another one that is newer and signed as it must be; it is not loaded yet. nil when it is missing.
	New *bundle.Bundle
	// Refused is true where what was got is not used.
	Refused bool

	memory memory
	data   []byte
}

// Find looks at one source. state is the folder of the bundles' memory. An error is for a memory that cannot be relied on: then it is not
// known what ran before.
func Find(ctx context.Context, state string, s Source, p Polling, l Look) (*Found, error) {
	f := &Found{Source: s}
	if err := f.recall(ctx, state); err != nil {
		return nil, err
	}
	asked, err := f.get(ctx, p, l)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("interrupted while bundle %s was looked for; nothing was looked at, decided or done", s.Name)
	case err != nil:
		f.failed(p, err)
	case asked:
		f.memory.CheckedAt, f.memory.From = time.Now().UTC(), s.From
		f.judge()
	}
	return f, nil
}

// get gets the bundle, and says whether its place was asked. An error says that it did not answer.
func (f *Found) get(ctx context.Context, p Polling, l Look) (asked bool, err error) {
	if !Remote(f.From) {
		real, err := safeopen.Path(f.From)
		if err != nil {
			return true, err
		}
		file, err := safeopen.Read(ctx, real, safeopen.Want{Max: bundle.Max, Ruling: true})
		f.data = file.Data
		return true, err
	}
	if !l.Ask || !l.Now && f.early(p) {
		return false, nil
	}
	tag := ""
	if f.Last != nil && f.memory.From == f.From {
		tag = f.memory.ETag
	}
	if strings.HasPrefix(f.From, bundleoci.Scheme) {
		a, err := bundleoci.Get(ctx, bundleoci.Request{Address: f.From, Digest: tag, Token: f.Token, Within: p.Timeout, Max: bundle.Max})
		if err == nil && !a.Unchanged {
			f.data, f.memory.ETag = a.Data, a.Digest
		}
		return true, err
	}
	a, err := bundlehttp.Get(ctx, bundlehttp.Request{
		URL: f.From, ETag: tag, Wait: l.Wait, Token: f.Token, Within: p.Timeout, Max: bundle.Max,
	})
	if err == nil && !a.Unchanged {
		f.data, f.memory.ETag = a.Data, a.ETag
	}
	return true, err
}

// early reports whether a server was asked a moment ago. One that failed is left alone for longer each time, also where there is no last
// good one: many machines ask at once when a server comes back.
func (f *Found) early(p Polling) bool {
	now := time.Now()
	if f.memory.RetryAt.After(now.Add(p.Max)) { // the clock was set back
		return false
	}
	if f.memory.Failures > 0 {
		return now.Before(f.memory.RetryAt)
	}
	return f.Last != nil && f.memory.From == f.From && now.Sub(f.memory.CheckedAt).Abs() < p.Min
}

// failed remembers that a place did not answer, and when to ask it again.
func (f *Found) failed(p Polling, err error) {
	now := time.Now().UTC()
	if f.memory.Failures++; f.memory.FailingSince.IsZero() {
		f.memory.FailingSince = now
	}
	wait := max(p.Min, time.Second)
	for range min(f.memory.Failures-1, 30) {
		wait = min(2*wait, p.Max)
	}
	f.memory.RetryAt = now.Add(wait/2 + rand.N(wait/2+1))
	f.memory.Problem, f.memory.Refused = err.Error(), false
}

// Reject notes why what was got is not used, such as a new bundle that does not load: the last good one goes on.
func (f *Found) Reject(err error) {
	f.New, f.Refused = nil, true
	f.memory.Problem, f.memory.Refused = err.Error(), true
	f.memory.Failures, f.memory.FailingSince, f.memory.RetryAt, f.memory.ETag = 0, time.Time{}, time.Time{}, ""
}

// judge says whether what was got may run.
func (f *Found) judge() {
	m := &f.memory
	m.Failures, m.FailingSince, m.RetryAt = 0, time.Time{}, time.Time{}
	if f.data == nil { // the server says that it is the same one
		m.Problem, m.Refused = "", false
		return
	}
	b, err := bundle.Read(f.data, f.Verification)
	if err == nil {
		err = m.older(b)
	}
	switch {
	case err != nil:
		f.Reject(err)
	case f.Last != nil && b.Digest == f.Last.Digest:
		m.Problem, m.Refused = "", false
	default:
		f.New = b
	}
}

// Status is how a bundle stands.
type Status struct {
	Name, Revision, Digest, KeyID string
	Serial                        int64
	ActivatedAt, CheckedAt        time.Time
	// Problem is why there is nothing newer; "" where all is well. Refused tells a bundle that was refused from one that could not be got,
	// which is so since FailingSince.
	Problem      string
	Refused      bool
	FailingSince time.Time
}

// Status says how a bundle stands. running is the one that is used now.
func (f *Found) Status(running *bundle.Bundle) Status {
	s := Status{Name: f.Name, CheckedAt: f.memory.CheckedAt, Problem: f.memory.Problem, Refused: f.memory.Refused, FailingSince: f.memory.FailingSince}
	if running == nil && s.Problem == "" {
		s.Problem = f.Nothing().Error()
	}
	if running != nil {
		s.Revision, s.Digest, s.KeyID, s.Serial = running.Revision, running.Digest, running.KeyID, running.Serial
	}
	if a := f.memory.Active; a != nil && running != nil && a.Digest == running.Digest {
		s.ActivatedAt = a.ActivatedAt
	}
	return s
}

// Nothing says why there is nothing to decide by. It is wrong configuration, or a server that has to be asked first.
func (f *Found) Nothing() error {
	problem := cmp.Or(f.memory.Problem, "it was never got: winnow policy pull gets it")
	if f.Missing != nil {
		problem = fmt.Sprintf("%v; %s", f.Missing, problem)
	}
	return errors.New(problem)
}

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
	data, err := json.MarshalIndent(&f.memory, "", "  ")
	if err == nil {
		err = atomicfile.WriteData(ctx, filepath.Join(dir, memoryName), append(data, '\n'))
	}
	if err != nil {
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
