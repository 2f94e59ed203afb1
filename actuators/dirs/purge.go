package dirs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/dirs/remover"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe/act"
)

// Purge removes for good what an act set aside, and says how many bytes that freed. It works in the act's own place in the trash
// only. It may be called again after it was cut short or failed.
func (a *Actuator) Purge(ctx context.Context, in decision.Intent) (int64, error) {
	s, err := a.site(in)
	if err != nil {
		return 0, err
	}
	if err := s.ownTrash(); err != nil {
		return 0, err
	}
	trash, err := s.place()
	if err != nil {
		return 0, err
	}
	defer trash.Close()
	begun, err := s.begin(ctx, trash)
	if err != nil {
		return 0, err
	}
	r := remover.Remover{Step: s.o.Step}
	// The entry goes first: a folder that is missing while its entry is there was then never removed by a purge.
	if s.admin != nil {
		err = s.purgeEntry(ctx, &r)
	}
	if err == nil && begun {
		err = r.Remove(ctx, trash, purgeName, s.tree.want)
	}
	if err == nil && s.plan.Admin != nil {
		err = s.purgeRefs(ctx)
	}
	if err == nil {
		s.o.Step("purge.tidy")
		err = removeTrash(s.plan)
	}
	if err != nil {
		return r.Freed, fmt.Errorf("purge act %s: %w; what is left lies in %s, and is tried again", in.ID, err, s.plan.Trash)
	}
	return r.Freed, nil
}

// place opens the act's own folder in the trash. The fd is -1 when that folder is missing.
func (s *site) place() (folder.Folder, error) {
	above, err := openTrash(filepath.Dir(s.plan.Trash))
	if errors.Is(err, os.ErrNotExist) {
		return folder.None, nil
	}
	if err != nil {
		return folder.None, fmt.Errorf("%w; nothing was removed", err)
	}
	defer above.Close()
	f, err := above.OpenBelow(filepath.Base(s.plan.Trash), unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return folder.None, nil
	}
	return f, err
}

// ownTrash refuses a place that is not a trash folder of this Winnow's.
func (s *site) ownTrash() error {
	parent := filepath.Dir(s.plan.Trash)
	if parent == filepath.Join(s.plan.Root, rootTrash) {
		return nil
	}
	if s.o.StateTrash != "" {
		if real, _, err := s.stateTrash(); err == nil && real == parent {
			return nil
		}
	}
	return actuators.Refused("%s is not a trash folder of this Winnow; nothing was removed", parent)
}

// begin makes sure that no process uses what is to be removed, and marks the folder as not whole any more. It reports whether there
// is one.
func (s *site) begin(ctx context.Context, trash folder.Folder) (bool, error) {
	if trash.FD < 0 {
		return false, s.missing()
	}
	half, err := trash.Has(purgeName)
	if err != nil {
		return false, fmt.Errorf("look at the trash %s: %w", s.plan.Trash, err)
	}
	name := treeName
	if half {
		name = purgeName
	}
	at, err := folder.StampAt(trash.FD, name)
	if errors.Is(err, unix.ENOENT) {
		return false, s.missing()
	}
	if err != nil || !at.Equal(s.tree.want) {
		return false, errors.Join(err, actuators.Refused("%s is not the folder that was set aside; nothing was removed", filepath.Join(s.plan.Trash, name)))
	}
	if err := mounted(s.plan.Trash); err != nil {
		return false, err
	}
	if err := s.users(ctx, s.plan.Trash).refuseUsed(s.plan.Trash); err != nil { // the entry may lie in there, too
		return false, fmt.Errorf("%w; nothing was removed", err)
	}
	if half {
		return true, nil
	}
	if err := s.asLeft(ctx); err != nil {
		return false, fmt.Errorf("%w; nothing was removed. winnow restore %s brings it back; to have it gone, remove %s by hand", err, s.in.ID, s.plan.Trash)
	}
	s.o.Step("purge.begin")
	if err := s.tree.rename(trash, treeName, trash, purgeName); err != nil {
		return false, err
	}
	return true, trash.Sync()
}

// missing refuses to go on when the folder is not in the trash and its entry still is: a person took the folder out by hand, and
// needs the entry.
func (s *site) missing() error {
	if s.admin == nil {
		return nil
	}
	entry, err := s.admin.look()
	if err != nil || !entry.away {
		return err
	}
	return actuators.Refused("%s was taken out of the trash by hand, and its entry %s is still there; nothing was removed", s.tree.home, s.admin.away)
}

// asLeft refuses to remove what has changed since it was set aside: a process works in it, or it is used for something else.
func (s *site) asLeft(ctx context.Context) error {
	err := s.tree.compare(ctx, s.tree.away, survey.lasting)
	if err != nil || s.admin == nil {
		return err
	}
	at, err := s.admin.look()
	if err != nil || !at.away && !at.home {
		return err
	}
	where := s.admin.away
	if at.home {
		where = s.admin.home
	}
	return s.admin.compare(ctx, where, survey.lasting)
}

// purgeEntry removes the repository's entry. An entry that is still in its old place, because its folder
// could not be put back, is removed when the act's own lock is on it.
func (s *site) purgeEntry(ctx context.Context, r *remover.Remover) error {
	entry, err := s.admin.look()
	if err != nil {
		return err
	}
	if entry.home && s.locksIt() {
		if err := s.admin.setAside(); err != nil {
			return err
		}
		entry.away = true
	}
	if !entry.away {
		return nil
	}
	if err := mounted(s.admin.away); err != nil {
		return err
	}
	above, err := openTrash(filepath.Dir(s.admin.away))
	if err != nil {
		return err
	}
	defer above.Close()
	return r.Remove(ctx, above, adminName, s.admin.want)
}

// purgeRefs lets go of the commits, once nothing is left that could need them.
func (s *site) purgeRefs(ctx context.Context) error {
	s.o.Step("purge.refs")
	if _, err := os.Stat(s.plan.Admin.Common); errors.Is(err, os.ErrNotExist) {
		return nil // the repository went, and its refs with it
	}
	return s.common().Drop(ctx, refPrefix(s.in.ID))
}

func (s *site) locksIt() bool {
	f, err := folder.Open(s.admin.home)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := f.Read(act.LockName)
	return err == nil && string(text) == ownLock(s.in.ID)
}
