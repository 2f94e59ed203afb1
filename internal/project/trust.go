package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// schema names the form of what is remembered.
const schema = "winnow.trust/v1"

// Trusted is a file that a user trusts: its content at that moment. That holds until they trust another content or take it back, so
// that a user who can write the repository cannot take away what they rely on.
type Trusted struct {
	Schema string `json:"schema"`
	// Path is the real path of the main checkout.
	Path string `json:"path"`
	// SHA256 is the hash of Text, the file at that time, in hexadecimal digits.
	SHA256    string    `json:"sha256"`
	TrustedAt time.Time `json:"trusted_at"`
	Text      string    `json:"text"`

	// Says is what the text means.
	Says File `json:"-"`
}

// Digest is the digest of a file.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Store remembers what is trusted, a file a project, in the folder trusted of the state folder.
type Store struct{ State string }

func (s Store) folder() string { return filepath.Join(s.State, "trusted") }

func (s Store) file(path string) string {
	return filepath.Join(s.folder(), Digest([]byte(path))+".json")
}

// All lists what is trusted, by path. One that cannot be read is an error: what it keeps is not known then.
func (s Store) All(ctx context.Context) ([]Trusted, error) {
	entries, err := os.ReadDir(s.folder())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list trusted projects: %w", err)
	}
	var out []Trusted
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		t, err := s.read(ctx, filepath.Join(s.folder(), e.Name()))
		if errors.Is(err, fs.ErrNotExist) { // taken back since it was listed
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read trusted project: %w; run winnow trust again, or remove the file", err)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Trusted) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (s Store) read(ctx context.Context, file string) (Trusted, error) {
	var t Trusted
	f, err := safeopen.Read(ctx, file, safeopen.Want{Max: 16 * maxSize, Ruling: true})
	if err != nil {
		return t, err
	}
	dec := json.NewDecoder(bytes.NewReader(f.Data))
	dec.DisallowUnknownFields() // such as exceptions, which an older version stored: what they kept is not known
	switch err := dec.Decode(&t); {
	case err != nil:
		return t, fmt.Errorf("%s: %w", file, err)
	case t.Schema != schema:
		return t, fmt.Errorf("%s: its schema is %q, and this version reads %q", file, t.Schema, schema)
	case t.SHA256 != Digest([]byte(t.Text)) || file != s.file(t.Path):
		return t, fmt.Errorf("%s: it was changed by something else than Winnow", file)
	}
	t.Says, err = Parse(file, []byte(t.Text))
	return t, err
}

// Trust remembers a project's file as it is in data, in the place of what was trusted before.
func (s Store) Trust(path string, data []byte, now time.Time) error {
	text, err := json.MarshalIndent(Trusted{
		Schema: schema, Path: path, SHA256: Digest(data), TrustedAt: now.UTC(), Text: string(data),
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("remember project: %w", err)
	}
	if err := os.MkdirAll(s.folder(), 0o700); err != nil {
		return fmt.Errorf("remember project: %w", err)
	}
	f, err := os.CreateTemp(s.folder(), "new-*") // mode 0600, never what is there
	if err != nil {
		return fmt.Errorf("remember project: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file(path))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("remember project: %w; nothing was trusted", err)
	}
	return nil
}

// Revoke takes the trust in a project back, and says whether there was any.
func (s Store) Revoke(path string) (bool, error) {
	err := os.Remove(s.file(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take trust back: %w", err)
	}
	return true, nil
}

// The states of a project's file.
const (
	StateTrusted = "trusted" // it says what was trusted
	StateChanged = "changed" // it says something else now; what was trusted holds
	StateGone    = "gone"    // it no longer exists; what was trusted holds
	StateRefused = "refused" // it cannot be read as it should be; what was trusted holds
)

// State compares what is trusted with the file as it is. Why says what is the matter, "" for StateTrusted.
func (t Trusted) State(ctx context.Context) (state, why string) {
	data, err := Read(ctx, t.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return StateGone, "its file no longer exists: what you trusted holds until winnow trust --revoke"
	case err != nil:
		return StateRefused, err.Error() + ": what you trusted holds"
	case Digest(data) != t.SHA256:
		return StateChanged, "its file was changed since you trusted it: what you trusted holds, the change does not; winnow trust shows it"
	}
	if old := NotFollowed(t.Path); old != "" {
		return StateRefused, old
	}
	return StateTrusted, ""
}
