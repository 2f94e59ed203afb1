package panes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Manifest is the file that the plan of an act is kept in, beside the panes' text.
const Manifest = "manifest.json"

// File is where the text of a plan's i-th pane is kept.
func File(i int) string { return fmt.Sprintf("pane-%d.txt", i) }

var actID = regexp.MustCompile(`\A[0-9A-Za-z][0-9A-Za-z._-]*\z`)

// CanName reports whether an act's id can be a folder's name.
func CanName(act string) bool { return actID.MatchString(act) }

// Member is a held process, as a plan names it. StartTicks is in clock ticks since boot.
type Member struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
}

// Planned is the part of every act's plan from which it follows what Winnow reads and removes in the trash.
type Planned struct {
	Act    string `json:"act"`
	Socket string `json:"socket"`
	// Window is that of a tab of an editor, which has no panes.
	Window string `json:"window"`
	Panes  []struct {
		File string `json:"file"`
	} `json:"panes"`
}

// ReadPlan reads an intent's plan into plan and says what the act keeps in trash. It refuses a plan that is not the one of the act with that
// id: its own id, the absolute path of its server's socket, and each pane's own file.
func ReadPlan(trash string, in decision.Intent, plan any) (Kept, error) {
	var own Planned
	if err := errors.Join(json.Unmarshal(in.Plan, &own), json.Unmarshal(in.Plan, plan)); err != nil {
		return Kept{}, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	if own.Act != in.ID || !CanName(own.Act) || !filepath.IsAbs(own.Socket) || (len(own.Panes) == 0) != (own.Window != "") {
		return Kept{}, actuators.Refused("the plan of act %s is not one of its own; nothing was touched", in.ID)
	}
	for i, p := range own.Panes {
		if p.File != File(i) {
			return Kept{}, actuators.Refused("the plan of act %s names the file %q, which is not one of its own; nothing was touched", in.ID, p.File)
		}
	}
	return Kept{Trash: trash, Act: own.Act, Panes: len(own.Panes)}, nil
}

// CheckSaved refuses where a file that an act keeps in the trash is missing, or is not a file. what is what it holds, and done what was not done for
// want of it: "opened".
func CheckSaved(path, what, done string) error {
	switch st, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return actuators.Refused("%s is no longer in the trash; nothing was %s", what, done)
	case err != nil:
		return fmt.Errorf("look for %s: %w; nothing was %s", what, err, done)
	case !st.Mode().IsRegular():
		return actuators.Refused("%s is not a file; nothing was %s", path, done)
	}
	return nil
}

// Renamed is the id of a candidate whose program gave what was opened in its place another id of its own.
func Renamed(candidate, native string) string {
	return candidate[:strings.LastIndexByte(candidate, '/')+1] + native
}

// Base is what the actuators have that keep something in a trash.
type Base struct{ actuators.Options }

// Purge implements actuators.Restorer. It removes the files that the act made and their folder, and nothing else.
func (b Base) Purge(_ context.Context, in decision.Intent) (int64, error) {
	kept, err := ReadPlan(b.Trash, in, &struct{}{})
	if err != nil {
		return 0, err
	}
	freed, err := kept.Purge()
	if err != nil {
		err = fmt.Errorf("remove what was saved of %s: %w", in.Candidate, err)
	}
	return freed, err
}

// Interrupted is the outcome of an act that was cut short before it ended anything. It removes what was saved for it.
func (b Base) Interrupted(ctx context.Context, in decision.Intent, outcome, detail string) decision.Outcome {
	if _, err := b.Purge(ctx, in); err != nil {
		detail += fmt.Sprintf("; what was saved of it could not be removed: %v", err)
	}
	return decision.Outcome{Outcome: outcome, Detail: detail}
}

// Kept is what one act keeps in the trash: a folder of its own (0700) that has the act's id for name, and in it the manifest and
// a file for each of so many panes (0600).
type Kept struct {
	Trash, Act string
	Panes      int
}

// Writer makes a new file in an act's folder, lets fill write it, and sees it on the disk. It overwrites nothing.
type Writer func(name string, fill func(*os.File) error) error

// Save makes the folder, lets fill write the panes' files, and writes plan as the manifest, all durably. It overwrites nothing.
// After an error it leaves nothing behind.
func (k Kept) Save(plan any, fill func(Writer) error) error {
	if err := os.MkdirAll(k.Trash, 0o700); err != nil {
		return fmt.Errorf("make the trash: %w", err)
	}
	trash, err := openTrash(k.Trash)
	if err != nil {
		return fmt.Errorf("open the trash: %w", err)
	}
	defer func() { _ = trash.Close() }()
	if err := trash.Mkdir(k.Act, 0o700); err != nil {
		return fmt.Errorf("make a folder in the trash: %w", err)
	}
	if err := k.fill(trash, plan, fill); err != nil {
		_, left := k.discard(trash)
		return errors.Join(err, left)
	}
	return nil
}

// openTrash opens the trash. It refuses a link, a folder of another user, and one that others can write.
func openTrash(path string) (*os.Root, error) {
	if _, err := safeopen.Folder(path); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

func (k Kept) fill(trash *os.Root, plan any, fill func(Writer) error) error {
	write := func(name string, fill func(*os.File) error) error {
		f, err := trash.OpenFile(filepath.Join(k.Act, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err = fill(f); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
	if err := fill(write); err != nil {
		return err
	}
	if err := write(Manifest, func(f *os.File) error { return json.NewEncoder(f).Encode(plan) }); err != nil {
		return fmt.Errorf("save the manifest: %w", err)
	}
	return errors.Join(syncFolder(trash, k.Act), syncFolder(trash, "."))
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// KeptUntil is until when what the act saved is kept, where it saved anything: without that time no later run would find it or clear it away.
func (b Base) KeptUntil(in decision.Intent) *time.Time {
	if _, err := os.Lstat(filepath.Join(b.Trash, in.ID)); err != nil || in.RestoreUntil.IsZero() {
		return nil
	}
	return new(in.RestoreUntil)
}

// Purge removes the files that the act made and their folder, and nothing else, and says how many bytes that freed. What else is
// in there is left, and is the error. A file that no longer exists is not an error.
func (k Kept) Purge() (freed int64, err error) {
	trash, err := openTrash(k.Trash)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open the trash: %w", err)
	}
	defer func() { _ = trash.Close() }()
	return k.discard(trash)
}

func (k Kept) discard(trash *os.Root) (freed int64, err error) {
	names := []string{Manifest}
	for i := range k.Panes {
		names = append(names, File(i))
	}
	for _, name := range names {
		name = filepath.Join(k.Act, name)
		st, err := trash.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return freed, err
		}
		if !st.Mode().IsRegular() {
			return freed, fmt.Errorf("%s is not a file of Winnow's; it was left untouched", strconv.Quote(name))
		}
		if err := trash.Remove(name); err != nil {
			return freed, err
		}
		freed += st.Size()
	}
	if err := trash.Remove(k.Act); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return freed, err
	}
	return freed, nil
}

// acting is what a kind's actuator has to be able to do.
type acting interface {
	actuators.Actuator
	actuators.Restorer
}

// Tabs acts on tabs, each through the program that it is a tab of.
type Tabs struct {
	Herdr, Editor acting
}

var _ acting = Tabs{}

func (t Tabs) actuatorFor(id decision.Identity) acting {
	if id.Editor != nil {
		return t.Editor
	}
	return t.Herdr
}

// Hold implements actuators.Actuator.
func (t Tabs) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	if d.Identity.Editor != nil && d.Identity.Tab != nil {
		return nil, actuators.Refused("%s is a tab of herdr and of an editor at once; it was left untouched", d.ID)
	}
	return t.actuatorFor(d.Identity).Hold(ctx, act, d)
}

// Settle implements actuators.Actuator.
func (t Tabs) Settle(ctx context.Context, in decision.Intent) decision.Outcome {
	return t.actuatorFor(in.Identity).Settle(ctx, in)
}

// Restore implements actuators.Restorer.
func (t Tabs) Restore(ctx context.Context, in decision.Intent) (actuators.Back, error) {
	return t.actuatorFor(in.Identity).Restore(ctx, in)
}

// Purge implements actuators.Restorer.
func (t Tabs) Purge(ctx context.Context, in decision.Intent) (int64, error) {
	return t.actuatorFor(in.Identity).Purge(ctx, in)
}
