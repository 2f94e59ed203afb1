// Package project reads what a repository says about itself to Winnow, in .winnow/config.yaml of its main checkout, and remembers
// which of these files a user trusts.
//
// Such a file comes with a clone, so it is not trusted until the user says so. What it may say is small and can only keep
// things: entries that keep, and rules that are turned off there. All of it is data: no rule of a repository is loaded.
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
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// within is how long one small file of a repository may take.
const within = 2 * time.Second

// Read reads the file of the main checkout whose real path is main, by the rules of files that rule: neither it nor its folder may be
// a link. One that is missing is fs.ErrNotExist.
func Read(ctx context.Context, main string) ([]byte, error) {
	top, err := folder(unix.AT_FDCWD, main, main)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(top) }()
	own, err := folder(top, Folder, filepath.Join(main, Folder))
	if err != nil {
		return nil, err
	}
	// A file system that does not answer keeps using the descriptor after its time, so then it is left open.
	f, err := safeopen.ReadAt(ctx, own, Name, filepath.Join(main, Folder, Name), safeopen.Want{Max: maxSize, Within: within, Ruling: true})
	if !errors.Is(err, safeopen.ErrSlow) {
		_ = unix.Close(own)
	}
	return f.Data, err
}

// NotFollowed says what to do with rules or exceptions beside the file of a main checkout, "" where there are none.
func NotFollowed(main string) string {
	for _, name := range []string{"policies", policy.ExceptionsName} {
		old := filepath.Join(main, Folder, name)
		if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		return old + " is not followed: a repository keeps by its " + filepath.Join(Folder, Name) + " alone, and no rule of it is loaded. Write what is to stay " +
			"as protected or levels there, run winnow trust, and remove " + name
	}
	return ""
}

func folder(at int, name, path string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return -1, &fs.PathError{Op: "open", Path: path, Err: safeopen.ErrNotFolder}
	case err != nil:
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// Worktrees lists the linked worktrees of the repository with that main checkout, by their real paths. One counts only if the
// repository's entry and the folder's .git lead to each other: an entry alone could name a folder of another repository.
func Worktrees(ctx context.Context, main string) ([]string, error) {
	admins := filepath.Join(main, ".git", "worktrees")
	entries, err := os.ReadDir(admins)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	out := []string{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if path, ok := worktree(ctx, filepath.Join(admins, e.Name())); ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func worktree(ctx context.Context, admin string) (string, bool) {
	file, ok := line(ctx, filepath.Join(admin, "gitdir"), "")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(admin, file)
	}
	back, ok := line(ctx, file, "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(filepath.Dir(file), back)
	}
	there, err1 := filepath.EvalSymlinks(back)
	here, err2 := filepath.EvalSymlinks(admin)
	real, err3 := filepath.EvalSymlinks(filepath.Dir(file))
	return real, err1 == nil && err2 == nil && err3 == nil && there == here
}

// line is the one line of a small file of git's, behind a prefix.
func line(ctx context.Context, path, prefix string) (string, bool) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: 8 << 10, Within: within})
	if err != nil {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimRight(string(f.Data), "\r\n"), prefix)
	return text, ok && text != "" && !strings.ContainsAny(text, "\n\x00")
}

// Folder and Name are where the file lies in a checkout.
const (
	Folder = ".winnow"
	Name   = "config.yaml"
)

// maxSize and maxLevels bound the file: its bytes, and the rules that it turns off.
const (
	maxSize   = 64 << 10
	maxLevels = 100
)

// File is what a project says.
type File struct {
	Version int `json:"version" required:"a file of Winnow begins with version: 1"`
	// Protected are the entries that keep, with paths relative to the checkout.
	Protected []snapshot.Keep `json:"protected"`
	// Levels turns rules off, by their ids.
	Levels map[string]string `json:"levels"`
}

// Parse reads a project's file, which messages call name. The whole of it must be understood.
func Parse(name string, data []byte) (File, error) {
	var f File
	from := keep.Source{File: name, Inside: true}
	read, err := strict.Read(name, data, strict.Shape{
		Type: reflect.TypeFor[File](), Leaf: func(t reflect.Type, n *yaml.Node, at string) (string, bool) {
			if rule, ok := strings.CutPrefix(at, "levels."); ok {
				return wrongLevel(rule, n.Value), true
			}
			return from.Leaf(t, n, at)
		},
	}, &f)
	if err != nil {
		return File{}, err
	}
	wrong := from.Check(read, "protected", f.Protected)
	if f.Version != 1 {
		wrong = append(wrong, read.Bad(read.Line("version"), "version is %d; this program reads version 1", f.Version)...)
	}
	if n := len(f.Levels); n > maxLevels {
		wrong = append(wrong, read.Bad(read.Line("levels"), "levels has %d entries; %d are the most", n, maxLevels)...)
	}
	if len(wrong) > 0 {
		return File{}, wrong
	}
	return f, nil
}

// wrongLevel says what is wrong with the level of a rule, "" for nothing.
func wrongLevel(rule, level string) string {
	switch {
	case !decision.Reaps(rule):
		return fmt.Sprintf("%q is no rule that reaps (%s...); a project can turn off no other", rule, decision.ReapFamily)
	case level != decision.Off:
		return fmt.Sprintf("it is %q; a project can say %s and nothing else", level, decision.Off)
	}
	return ""
}

// Off lists the rules that the project turns off, sorted.
func (f *File) Off() []string {
	return append([]string{}, slices.Sorted(maps.Keys(f.Levels))...)
}

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
	if err == nil {
		err = os.MkdirAll(s.folder(), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteData(context.Background(), s.file(path), append(text, '\n'))
	}
	if err != nil {
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
