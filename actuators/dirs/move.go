package dirs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// item is one folder that an act moves: between home, where it was found, and away, where it is set aside.
type item struct {
	home, away string
	want       folder.Stamp
	// name is what messages call it, was what lay in it before, and skip what is not part of that: the lock that an act puts on an entry.
	name, skip string
	was        *survey
}

// whereabouts says where an item was found. taken is true when something else has its home.
type whereabouts struct{ home, away, taken bool }

// look finds an item by its stamp.
func (i item) look() (whereabouts, error) {
	home, err := folder.StampAt(unix.AT_FDCWD, i.home)
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return whereabouts{}, fmt.Errorf("look at %s: %w", i.home, err)
	}
	there := err == nil
	away, err := folder.StampAt(unix.AT_FDCWD, i.away)
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return whereabouts{}, fmt.Errorf("look at %s: %w", i.away, err)
	}
	w := whereabouts{home: there && home.Equal(i.want), away: err == nil && away.Equal(i.want)}
	w.taken = there && !w.home
	return w, nil
}

// setAside moves an item from home to away and durably so, and putBack moves it back. Neither replaces anything.
func (i item) setAside() error { return i.carry(i.home, i.away, i.rename) }

func (i item) putBack() error { return i.carry(i.away, i.home, i.renameBack) }

func (i item) carry(from, to string, rename func(src folder.Folder, name string, dst folder.Folder, toName string) error) error {
	src, err := folder.Open(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := folder.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := rename(src, filepath.Base(from), dst, filepath.Base(to)); err != nil {
		return err
	}
	return errors.Join(src.Sync(), dst.Sync())
}

// rename moves an item out of the place where everybody works. When it turns out that something else had its name at that
// instant, that goes back at once: only this user can write the trash, so what is there is what was moved.
func (i item) rename(src folder.Folder, name string, dst folder.Folder, toName string) error {
	if err := i.renameBack(src, name, dst, toName); err != nil {
		return err
	}
	if s, err := folder.StampAt(dst.FD, toName); err != nil || !s.Equal(i.want) {
		back := dst.Move(toName, src, name)
		return errors.Join(err, actuators.Changed("%s was replaced by another folder right before the act", filepath.Join(src.Path, name)), back)
	}
	return nil
}

// renameBack moves an item to the place where everybody works. What is there afterwards may have been put there since, and is not
// touched again.
func (i item) renameBack(src folder.Folder, name string, dst folder.Folder, toName string) error {
	if s, err := folder.StampAt(src.FD, name); err != nil || !s.Equal(i.want) {
		return errors.Join(err, actuators.Changed("%s is another folder now", filepath.Join(src.Path, name)))
	}
	if err := src.Move(name, dst, toName); err != nil {
		return &os.LinkError{Op: "move", Old: filepath.Join(src.Path, name), New: filepath.Join(dst.Path, toName), Err: err}
	}
	return nil
}

// site is everything that one act moves, and how to go on from each of its steps.
type site struct {
	*Actuator
	in    decision.Intent
	plan  plan
	tree  item
	admin *item
}

func (a *Actuator) site(in decision.Intent) (*site, error) {
	p, err := readPlan(in)
	if err != nil {
		return nil, err
	}
	s := &site{Actuator: a, in: in, plan: p, tree: item{
		home: p.From, away: filepath.Join(p.Trash, treeName), want: stampOf(*in.Identity.Dir), name: "it", was: p.Tree,
	}}
	switch {
	case p.Gone:
		s.tree.home = p.Admin.From
	case p.Admin != nil:
		s.admin = &item{home: p.Admin.From, away: p.Admin.To, want: folder.Stamp{Dev: p.Admin.Device, Ino: p.Admin.Inode, Born: p.Admin.BornAt},
			name: "its entry in the repository", was: p.Admin.Entry, skip: act.LockName}
	}
	return s, nil
}

// common is the worktree's repository, and refs are its refs as they are now.
func (s *site) common() act.Repo { return s.repo(s.plan.Admin.Common, s.plan.Admin.Common) }

func (s *site) refs() git.Refs { return git.NewRefs(s.plan.Admin.Common) }

// prepare makes the place in the trash and locks the worktree's entry. It moves nothing.
func (s *site) prepare(refs map[string]string) error {
	s.o.Step("dir.trash")
	trash, err := makeTrash(s.plan, manifest{Schema: manifestSchema, Intent: s.in, Refs: refs, Undo: s.undo()})
	if err != nil {
		return fmt.Errorf("make a place in the trash: %w", err)
	}
	defer trash.Close()
	if at, err := trash.Stamp(); err != nil || at.Dev != s.tree.want.Dev || s.tree.want.Mount != 0 && at.Mount != s.tree.want.Mount {
		return errors.Join(err, fmt.Errorf("the trash %s is on another mount", s.plan.Trash))
	}
	if s.admin == nil {
		return nil
	}
	if own := filepath.Dir(s.admin.away); own != s.plan.Trash {
		if err := makeOwn(own); err != nil {
			return fmt.Errorf("make a place in the repository's trash: %w", err)
		}
	}
	s.o.Step("dir.lock")
	if s.plan.Admin.Lock != nil {
		return nil
	}
	if err := act.Lock(s.admin.home, ownLock(s.in.ID)); err != nil {
		return fmt.Errorf("lock its entry in the repository: %w", err)
	}
	return nil
}

// undo are the lines for a shell that bring everything back without Winnow. Each moves one thing, when it is in the trash and nothing
// is in its way.
func (s *site) undo() []string {
	var lines []string
	for _, i := range s.items() {
		lines = append(lines, fmt.Sprintf("mkdir -p -- %s && test -d %s && ! test -e %s && mv -T -- %s %s",
			quote(filepath.Dir(i.home)), quote(i.away), quote(i.home), quote(i.away), quote(i.home)))
	}
	if s.admin != nil && s.plan.Admin.Lock == nil {
		lines = append(lines, fmt.Sprintf("git -C %s worktree unlock %s 2>/dev/null || true # an act that was cut short locked it", quote(s.plan.Admin.Common), quote(s.tree.home)))
	}
	return lines
}

// quote makes one word for a shell of any text. Between single quotes nothing but the single quote itself has a meaning.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// userPaths are the folders whose users it takes to go on from a folder that is away: what was moved, by its new name, and what it may be used through.
func (s *site) userPaths() []string {
	paths := []string{s.tree.away}
	if at := s.in.Identity.Dir.In; at != "" {
		paths = append(paths, at)
	}
	if s.plan.Gone {
		paths = append(paths, s.plan.From, s.tree.home)
	}
	return paths
}

// finish goes on from a folder that is away, by what was found of its users since: when there is none, its entry follows; else it is put back.
func (s *site) finish(ctx context.Context, u users) decision.Outcome {
	if err := s.settledAway(u); err != nil {
		return s.putBack(ctx, err)
	}
	if s.admin != nil {
		s.o.Step("dir.admin")
		at, err := s.admin.look()
		if err == nil && !at.away {
			err = s.admin.setAside()
		}
		if err == nil {
			s.o.Step("dir.unlock")
			err = act.Unlock(s.admin.away, ownLock(s.in.ID))
		}
		if err != nil {
			return s.putBack(ctx, fmt.Errorf("move its entry in the repository: %w", err))
		}
	}
	// No process was in it, and its name is gone: what is there now is all that can have come.
	s.o.Step("dir.compare")
	if err := s.unchanged(ctx); err != nil {
		return s.putBack(ctx, err)
	}
	s.o.Step("dir.readback")
	for _, i := range s.items() {
		if at, err := i.look(); err != nil || !at.away || at.home {
			return s.putBack(ctx, errors.Join(err, fmt.Errorf("%s is not in %s afterwards", i.home, i.away)))
		}
	}
	detail := fmt.Sprintf("%s was moved to %s", s.what(), s.plan.Trash)
	if s.in.RestoreUntil.After(s.in.At) {
		detail += fmt.Sprintf("; winnow restore %s brings it back", s.in.ID)
	}
	return decision.Outcome{Outcome: decision.Done, RestoreUntil: new(s.in.RestoreUntil), Detail: detail, Freed: decision.Freed{Bytes: s.plan.bytes()}}
}

// settledAway looks whether a process works in a folder that has just been moved, by its new name or by its old one.
func (s *site) settledAway(u users) error {
	if err := mounted(s.tree.away); err != nil {
		return err
	}
	if s.admin != nil {
		if err := s.entryAtRest(); err != nil {
			return err
		}
	}
	if s.plan.Gone {
		if err := s.goneYet(u); err != nil {
			return err
		}
	}
	if err := cmp.Or(u.refuseUsed(s.tree.away), u.unopened(s.in.Identity.Dir)); err != nil {
		return err
	}
	// Nor may one use the worktree that it was taken out of: what starts there finds the folder missing.
	if around := s.in.Identity.Dir.In; around != "" {
		if err := u.refuseUsed(around); err != nil {
			return err
		}
	}
	at, err := s.tree.look()
	if err == nil && at.taken {
		err = actuators.Refused("another program made %s again right after it was moved", s.tree.home)
	}
	return err
}

// entryAtRest looks for a git command that began in the meantime, and for a lock that is neither the act's own nor the one that was there.
func (s *site) entryAtRest() error {
	for _, path := range []string{s.admin.home, s.admin.away} {
		lock, err := s.atRest(path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		if lock != nil && *lock != ownLock(s.in.ID) && !sameText(lock, s.plan.Admin.Lock) {
			return actuators.Refused("it was locked meanwhile (git worktree lock)")
		}
	}
	return nil
}

func (s *site) items() []item {
	if s.admin == nil {
		return []item{s.tree}
	}
	return []item{s.tree, *s.admin}
}

// putBack undoes an act whose folder is away. What cannot go back stays in the trash, whole.
func (s *site) putBack(ctx context.Context, why error) decision.Outcome {
	s.o.Step("dir.back")
	if err := s.tree.putBack(); err != nil {
		s.o.Log.Warn("a folder could not be put back", "act", s.in.ID, "path", s.tree.home, "error", err)
		return decision.Outcome{Outcome: decision.Failed, RestoreUntil: new(s.in.RestoreUntil),
			Detail: fmt.Sprintf("%s: %v; it could not be put back (%v), so it lies whole in %s: when %s is free, winnow restore %s brings it back",
				s.tree.home, why, err, s.tree.away, s.tree.home, s.in.ID)}
	}
	return s.abandon(ctx, actuators.Refused("%s: %w; it was put back unchanged", s.tree.home, why))
}

// abandon ends an act whose folder is in its old place, and removes everything that the act made.
func (s *site) abandon(ctx context.Context, why error) decision.Outcome {
	out := actuators.OutcomeOf(why)
	if err := s.tidy(context.WithoutCancel(ctx)); err != nil {
		out.Outcome = decision.Failed
		out.Detail += fmt.Sprintf("; what was prepared for it could not be cleared away: %v", err)
	}
	return out
}

// tidy brings the entry home, and removes the lock, the refs and the place in the trash.
func (s *site) tidy(ctx context.Context) error {
	s.o.Step("dir.tidy")
	if s.admin != nil {
		at, err := s.admin.look()
		if err == nil && at.away {
			err = s.admin.putBack()
		}
		if err == nil {
			err = act.Unlock(s.admin.home, ownLock(s.in.ID))
		}
		if err != nil {
			return err
		}
	}
	// The refs stay when the entry did not come home: nothing else may reach its commits.
	if s.plan.Admin != nil {
		if err := s.common().Drop(ctx, refPrefix(s.in.ID)); err != nil {
			return err
		}
	}
	return removeTrash(s.plan)
}
