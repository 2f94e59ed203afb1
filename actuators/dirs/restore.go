package dirs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// Restore moves the folder and its entry in the repository back to where they were, and says where that is. It refuses when
// something is there by now. It may be called again after it was cut short.
func (a *Actuator) Restore(ctx context.Context, in decision.Intent) (back actuators.Back, err error) {
	s, err := a.site(in)
	if err != nil {
		return back, err
	}
	at, err := s.restorable(ctx)
	if err != nil {
		return back, err
	}
	var part error
	note := ""
	if !at.home {
		made, err := makeParents(s.tree.home)
		if err != nil {
			return back, fmt.Errorf("make the folder around %s: %w; nothing was restored, it lies in %s", s.tree.home, err, s.tree.away)
		}
		if made {
			note = " (the folder around it was gone and was made again)"
		}
		s.o.Step("restore.tree")
		if err := s.tree.putBack(); err != nil {
			return back, fmt.Errorf("restore %s: %w; it lies in %s", s.tree.home, err, s.tree.away)
		}
		s.o.Step("restore.compare")
		note += s.cameBack(ctx)
		s.mark()
	}
	if s.plan.Gone {
		more, err := s.entryRestored(ctx, !at.home)
		if err != nil {
			return back, err
		}
		note += more
	}
	if s.admin != nil {
		var more string
		if more, err = s.restoreEntry(ctx, !at.home); errors.Is(err, actuators.ErrPart) {
			part = err
		} else if err != nil {
			return back, err
		}
		note += more
	}
	s.o.Step("restore.tidy")
	if err := removeTrash(s.plan); err != nil {
		return back, fmt.Errorf("%s is restored; clear its place in the trash away: %w", s.tree.home, err)
	}
	return actuators.Back{Candidate: in.Candidate, Where: s.what() + note}, part
}

// restorable makes sure that all that is to be moved is there and that nothing is in its way, before any of it is moved.
func (s *site) restorable(ctx context.Context) (whereabouts, error) {
	at, err := s.tree.look()
	if err != nil {
		return at, err
	}
	switch {
	case at.taken && at.away:
		return at, actuators.Refused("something is at %s by now; nothing was restored. Move it away, then try again: the folder lies in %s", s.tree.home, s.tree.away)
	case !at.home && !at.away:
		return at, actuators.Gone("%s is not in the trash (%s)", s.tree.home, s.plan.Trash)
	case s.in.Identity.Dir.In != "":
		return at, s.around()
	case s.plan.Gone:
		return at, s.entryRestorable(ctx)
	case s.admin == nil:
		return at, nil
	}
	entry, err := s.admin.look()
	switch {
	case err != nil:
		return at, err
	case entry.taken:
		return at, actuators.Refused("another worktree has the entry %s by now; nothing was restored. The folder lies in %s", s.admin.home, s.tree.away)
	case !entry.home && !entry.away:
		return at, actuators.Gone("the repository's entry of %s is neither at %s nor in the trash; nothing was restored. The folder lies in %s and its commits are kept under %s",
			s.tree.home, s.admin.home, s.tree.away, s.plan.Admin.Refs)
	}
	if _, err := os.Stat(s.plan.Admin.Common); err != nil {
		return at, fmt.Errorf("find its repository: %w; nothing was restored. The folder lies in %s", err, s.tree.away)
	}
	if err := s.common().Has(ctx, s.plan.Admin.Head); err != nil {
		return at, actuators.Refused("its commit %s is no longer in %s, so it could not come back whole (%w); nothing was restored. Its files lie in %s",
			s.plan.Admin.Head, s.plan.Admin.Common, err, s.tree.away)
	}
	return at, nil
}

// restoreEntry brings the entry home. When that fails, a folder that has just come home goes back beside it. The refs go only
// when everything is seen to be unchanged; otherwise they stay, and the error is ErrPart.
func (s *site) restoreEntry(ctx context.Context, moved bool) (note string, err error) {
	entry, err := s.admin.look()
	came := err == nil && entry.away
	if came {
		s.o.Step("restore.admin")
		// git removes the folder of entries with the last of them.
		if err = os.Mkdir(filepath.Dir(s.admin.home), 0o777); err == nil || errors.Is(err, os.ErrExist) {
			err = s.admin.putBack()
		}
	}
	if err == nil {
		err = act.Unlock(s.admin.home, ownLock(s.in.ID))
	}
	if err != nil {
		err = fmt.Errorf("restore the repository's entry of %s: %w", s.tree.home, err)
		if !moved {
			return "", err
		}
		if back := s.tree.setAside(); back != nil {
			return "", fmt.Errorf("%w; the folder itself is at %s again (%w)", err, s.tree.home, back)
		}
		return "", fmt.Errorf("%w; nothing was restored, it lies in %s", err, s.tree.away)
	}
	s.o.Step("restore.verify")
	var differs error
	if came && s.admin.was != nil {
		now, err := s.admin.surveyAt(ctx, s.admin.home)
		if differs = err; err == nil && now.Lasting != s.admin.was.Lasting { // a difference there may hide commits
			differs = fmt.Errorf("something in its entry in the repository changed while it lay in the trash (the latest change: %s)", now.latest)
		}
	}
	s.o.Step("restore.head")
	note, err = s.mendHead(ctx, came)
	if err = errors.Join(differs, err); err != nil {
		return note, fmt.Errorf("%w: %s is in its place again; look at it before you go on: %w%s. Its commits stay under %s",
			actuators.ErrPart, s.tree.home, err, note, s.plan.Admin.Refs)
	}
	s.o.Step("restore.refs")
	if err := s.common().Drop(ctx, refPrefix(s.in.ID)); err != nil {
		return "", fmt.Errorf("%s is restored; %w", s.tree.home, err)
	}
	return note, nil
}

// makeParents makes the folders around path that are gone, each in the one above it and through no link.
func makeParents(path string) (made bool, err error) {
	var missing []string
	at := filepath.Dir(path)
	for ; at != "/"; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			break
		} else if !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		missing = append(missing, filepath.Base(at))
	}
	if len(missing) == 0 {
		return false, nil
	}
	f, err := folder.Open(at)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	for _, name := range slices.Backward(missing) {
		if err := unix.Mkdirat(f.FD, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return false, &os.PathError{Op: "make", Path: filepath.Join(f.Path, name), Err: err}
		}
		next, err := f.OpenBelow(name, unix.O_RDONLY)
		if err != nil {
			return false, err
		}
		_ = f.Close()
		f = next
	}
	return true, nil
}
