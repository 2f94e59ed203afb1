package dirs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// ignoreName and ignoreText are what makes git overlook a trash in a root. The text says that Winnow made it, so that no other file is
// removed with the trash.
const (
	ignoreName = ".gitignore"
	ignoreText = "# Winnow made this file; it goes with the last thing in this trash.\n*\n"
)

// openTrash opens a folder in which acts have their own ones. A link, another user's folder, and one that others can write are no
// trash: what is put there could be taken, and what is found there could be anything.
func openTrash(path string) (folder.Folder, error) {
	real, err := safeopen.Folder(path)
	if errors.Is(err, os.ErrNotExist) {
		return folder.None, err
	}
	if err == nil && real != path {
		err = safeopen.ErrLink
	}
	if err != nil {
		return folder.None, actuators.Refused("%s is not a trash folder of Winnow: %w", path, err)
	}
	f, err := folder.Open(path)
	if err != nil {
		return f, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.FD, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IWOTH != 0 {
		return folder.None, errors.Join(actuators.Refused("%s is not a trash folder of Winnow: it is not this user's own", path), err, f.Close())
	}
	return f, nil
}

// makeFolder opens the trash at path, and makes it first if it is missing.
func makeFolder(path string) (folder.Folder, error) {
	if f, err := openTrash(path); !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return folder.None, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return folder.None, err
	}
	return openTrash(path)
}

// makeTrash makes the act's folder and writes the manifest into it.
func makeTrash(p plan, m manifest) (folder.Folder, error) {
	parent := filepath.Dir(p.Trash)
	above, err := makeFolder(parent)
	if err != nil {
		return above, err
	}
	defer above.Close()
	if filepath.Base(parent) == rootTrash {
		if err := above.WriteNew(ignoreName, []byte(ignoreText)); err != nil && !errors.Is(err, os.ErrExist) {
			return folder.None, err
		}
	}
	if err := unix.Mkdirat(above.FD, filepath.Base(p.Trash), 0o700); err != nil {
		return folder.None, &os.PathError{Op: "make", Path: p.Trash, Err: err}
	}
	f, err := above.OpenBelow(filepath.Base(p.Trash), unix.O_RDONLY)
	if err != nil {
		return f, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = f.WriteNew(manifestName, append(text, '\n'))
	}
	if err := errors.Join(err, f.Sync(), above.Sync()); err != nil {
		return folder.None, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeOwn makes an act's folder in a repository's trash, and that trash.
func makeOwn(path string) error {
	above, err := makeFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer above.Close()
	if err := unix.Mkdirat(above.FD, filepath.Base(path), 0o700); err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	return nil
}

// removeTrash removes the act's folder, which must hold nothing but the manifest by now, and the trash in a root or repository
// when it was the last in it. A folder that still holds something stays.
func removeTrash(p plan) error {
	parent := filepath.Dir(p.Trash)
	above, err := openTrash(parent)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, actuators.ErrRefused) && !exists(p.Trash):
	case err != nil:
		return err
	default:
		err = removePlace(above, filepath.Base(p.Trash))
		if err == nil && filepath.Base(parent) == rootTrash {
			err = removeRootTrash(above)
		}
		if err := errors.Join(err, above.Close()); err != nil {
			return err
		}
	}
	if p.Admin == nil || filepath.Dir(p.Admin.To) == p.Trash {
		return nil
	}
	return removeOwn(filepath.Dir(p.Admin.To))
}

// removeOwn removes an act's folder in a repository's trash, which must be empty by now, and that trash when it was the last in it.
func removeOwn(path string) error {
	above, err := openTrash(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, actuators.ErrRefused) && !exists(path) {
		return nil
	}
	if err != nil {
		return err
	}
	defer above.Close()
	if err := unix.Unlinkat(above.FD, filepath.Base(path), unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	_ = unix.Rmdir(above.Path) // fails, and is to fail, while other acts lie in it
	return nil
}

// removePlace removes an act's folder in the trash that is held, with its manifest.
func removePlace(above folder.Folder, name string) error {
	own, err := above.OpenBelow(name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.Unlinkat(own.FD, manifestName, 0)
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	if err == nil {
		if err = unix.Unlinkat(above.FD, name, unix.AT_REMOVEDIR); err != nil {
			err = &os.PathError{Op: "remove", Path: own.Path, Err: err}
		}
	}
	return errors.Join(err, own.Close())
}

// removeRootTrash removes a root's trash when nothing is left in it but the file that Winnow made for git.
func removeRootTrash(f folder.Folder) error {
	names, err := f.Names()
	if err != nil || len(names) > 1 || len(names) == 1 && names[0] != ignoreName {
		return err
	}
	if len(names) == 1 {
		if text, err := f.Read(ignoreName); err != nil || string(text) != ignoreText {
			return nil // a file of another origin stays, and the folder with it
		}
		if err := unix.Unlinkat(f.FD, ignoreName, 0); err != nil {
			return &os.PathError{Op: "remove", Path: filepath.Join(f.Path, ignoreName), Err: err}
		}
	}
	if err := unix.Rmdir(f.Path); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: f.Path, Err: err}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

const (
	// manifestMax is how large a manifest may be; an intent is a few kilobytes.
	manifestMax = 1 << 20
	// maxAsides is how many acts of one trash are read.
	maxAsides = 10_000
)

// Aside is one folder that was set aside, as the manifest beside it says. It needs no ledger.
type Aside struct {
	Intent decision.Intent
	// Half is true when its removal has begun: it cannot be brought back any more.
	Half bool
}

// Asides reads what lies in the state's trash and in those of the roots, the oldest first. wrong says which manifests and trashes
// were skipped, and why: a user who can write a manifest must not have other users' files moved or removed by it.
// Acts that are known already are not read.
func (a *Actuator) Asides(ctx context.Context, known map[string]bool) (found []Aside, wrong []error) {
	trashes, err := a.trashes()
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, trash := range trashes {
		f, err := openTrash(trash)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		more, errs := a.asidesIn(ctx, f, known)
		found, wrong = append(found, more...), append(wrong, errs...)
		_ = f.Close()
	}
	slices.SortStableFunc(found, func(x, y Aside) int { return x.Intent.At.Compare(y.Intent.At) })
	return found, wrong
}

// trashes are the folders in which acts may have put something.
func (a *Actuator) trashes() (out []string, err error) {
	if a.o.StateTrash != "" {
		var own string
		if own, _, err = a.stateTrash(); err == nil {
			out = append(out, own)
		}
	}
	for _, root := range a.o.Roots {
		out = append(out, filepath.Join(root, rootTrash))
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

func (a *Actuator) asidesIn(ctx context.Context, trash folder.Folder, known map[string]bool) (found []Aside, wrong []error) {
	names, err := trash.Names()
	if err != nil {
		return nil, []error{fmt.Errorf("list %s: %w", trash.Path, err)}
	}
	slices.Sort(names)
	if len(names) > maxAsides {
		wrong = append(wrong, fmt.Errorf("%s holds more than %d acts; the rest is not read", trash.Path, maxAsides))
		names = names[:maxAsides]
	}
	for _, name := range names {
		if !actID.MatchString(name) || known[name] || ctx.Err() != nil {
			continue
		}
		aside, ok, err := a.aside(ctx, trash, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w; it was left untouched", filepath.Join(trash.Path, name), err))
		} else if ok {
			found = append(found, aside)
		}
	}
	return found, wrong
}

// aside reads one act's folder. It reports false for one that holds no folder, such as the text of a session.
func (a *Actuator) aside(ctx context.Context, trash folder.Folder, name string) (Aside, bool, error) {
	own, err := trash.OpenBelow(name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return Aside{}, false, nil
	}
	if err != nil {
		return Aside{}, false, err
	}
	defer own.Close()
	text, err := manifestIn(ctx, own)
	if errors.Is(err, os.ErrNotExist) {
		for _, content := range []string{treeName, purgeName} {
			if there, err := own.Has(content); err != nil || there {
				return Aside{}, false, errors.Join(err, fmt.Errorf("it holds %q and no manifest that says where that belongs", content))
			}
		}
		return Aside{}, false, nil
	}
	if err != nil {
		return Aside{}, false, err
	}
	in, ok, err := readManifest(text, own.Path)
	if err != nil || !ok {
		return Aside{}, false, err
	}
	return a.verifyAside(own, in)
}

// manifestIn reads the manifest in an act's folder.
func manifestIn(ctx context.Context, own folder.Folder) ([]byte, error) {
	file, err := safeopen.ReadAt(ctx, own.FD, manifestName, filepath.Join(own.Path, manifestName), safeopen.Want{Max: manifestMax, Within: time.Second, Ruling: true})
	return file.Data, err
}

// keptObjects are the objects for which the act made refs, as the manifest says; where the manifest is gone, as the refs say. The refs say it too where the
// entry came back earlier: an earlier run may have compared all of them, and let go of the refs since.
func (s *site) keptObjects(ctx context.Context, came bool) ([]string, error) {
	if !came {
		return s.common().ListKept(ctx, refPrefix(s.in.ID))
	}
	own, err := s.place()
	if err != nil {
		return nil, err
	}
	if own.FD < 0 {
		return s.common().ListKept(ctx, refPrefix(s.in.ID))
	}
	defer own.Close()
	text, err := manifestIn(ctx, own)
	if errors.Is(err, os.ErrNotExist) {
		return s.common().ListKept(ctx, refPrefix(s.in.ID))
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	for _, id := range m.Refs {
		if !gitsafe.IsOID(id) {
			return nil, fmt.Errorf("the manifest names %q, which is no object", id)
		}
	}
	return slices.Sorted(maps.Values(m.Refs)), err
}

// readManifest reads the manifest of an act whose folder in the trash is at path. It reports false for one of another kind of act.
func readManifest(text []byte, path string) (decision.Intent, bool, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m.Intent, false, fmt.Errorf("read its manifest: %w", err)
	}
	if m.Schema != manifestSchema {
		return m.Intent, false, nil
	}
	p, err := readPlan(m.Intent)
	switch {
	case err != nil:
		return m.Intent, false, err
	case p.Trash != path || m.Intent.Kind != "dir" || m.Intent.Candidate != "dir:"+p.From:
		return m.Intent, false, errors.New("its manifest is that of another act or another place")
	}
	return m.Intent, true, nil
}

// verifyAside looks whether the folder that a manifest names is there, and whether the act was one of this user's.
func (a *Actuator) verifyAside(own folder.Folder, in decision.Intent) (Aside, bool, error) {
	s, err := a.site(in)
	if err != nil {
		return Aside{}, false, err
	}
	aside := Aside{Intent: in}
	at, err := folder.StampAt(own.FD, treeName)
	if errors.Is(err, unix.ENOENT) {
		aside.Half = true
		at, err = folder.StampAt(own.FD, purgeName)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return aside, false, nil // it is in its old place, or was taken out by hand
	case err != nil || !at.Equal(s.tree.want):
		return aside, false, errors.Join(err, errors.New("what lies in it is not the folder that its manifest names"))
	}
	return aside, true, s.proved()
}

// proved makes sure that the act was one on this repository: it left the ref of the worktree's commit in it. A user who can write that
// can write the repository anyway. Without it a manifest could have an entry put into any repository of this user's.
func (s *site) proved() error {
	if s.plan.Admin == nil {
		return nil
	}
	common := s.plan.Admin.Common
	if _, err := os.Lstat(common); errors.Is(err, os.ErrNotExist) {
		return nil // there is no repository that anything could be done to
	}
	if filepath.Base(filepath.Dir(s.plan.Trash)) == rootTrash {
		if _, err := safeopen.Folder(common); err != nil {
			return fmt.Errorf("its repository: %w", err)
		}
	}
	head, err := s.refValue(refPrefix(s.in.ID) + "head")
	switch {
	case err != nil:
		return err
	case head != s.plan.Admin.Head:
		return actuators.Refused("its repository %s has no %shead that is %s, so it may not be the act's. Its manifest says how to bring it back by hand",
			common, refPrefix(s.in.ID), s.plan.Admin.Head)
	}
	return nil
}
