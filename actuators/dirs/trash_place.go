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
		return actuators.Refused("its repository %s has no %shead that is %s, so nothing shows that the act was one on it; its manifest says how to bring it back by hand",
			common, refPrefix(s.in.ID), s.plan.Admin.Head)
	}
	return nil
}
