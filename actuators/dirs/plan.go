package dirs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/engine/decision"
)

const (
	// treeName, adminName and manifestName are what an act's trash folder holds.
	treeName     = "tree"
	adminName    = "admin"
	manifestName = "manifest.json"
	// purgeName is what tree is called once its removal has begun: it is not whole any more.
	purgeName = "purging"
	// rootTrash is the trash in a root whose mount is not the state folder's; commonTrash the one in a repository's git folder,
	// for bookkeeping that is on another mount than its worktree.
	rootTrash   = ".winnow-trash"
	commonTrash = "winnow-trash"
)

// actID is what is a file name, a ref name and nothing else.
var actID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)

// plan is every name and place that an act uses. It is part of the intent.
type plan struct {
	From string `json:"from"`
	Root string `json:"root"`
	// Trash is the act's own folder, in which the folder becomes tree.
	Trash string `json:"trash"`
	// Admin is the worktree's entry in its repository; absent for an empty folder.
	Admin *adminPlan `json:"admin,omitempty"`
}

type adminPlan struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	Common string    `json:"common"`
	Head   string    `json:"head"`
	Refs   string    `json:"refs"`
	Device uint64    `json:"device"`
	Inode  uint64    `json:"inode"`
	BornAt time.Time `json:"born_at"`
}

func (p adminPlan) stamp() stamp { return stamp{dev: p.Device, ino: p.Inode, born: p.BornAt} }

func stampOf(d decision.Dir) stamp {
	return stamp{dev: d.Device, ino: d.Inode, born: d.BornAt, mount: d.MountID}
}

// readPlan reads an intent's plan, and makes sure that it stays within the act's own places: a ledger is a file that anybody of
// this user may have written to.
func readPlan(in decision.Intent) (plan, error) {
	var p plan
	if in.Identity.Dir == nil {
		return p, fmt.Errorf("act %s names no folder", in.ID)
	}
	if err := json.Unmarshal(in.Plan, &p); err != nil {
		return p, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	ok := actID.MatchString(in.ID) && filepath.IsAbs(p.From) && filepath.Clean(p.From) == p.From && p.From == in.Identity.Dir.Path &&
		filepath.IsAbs(p.Trash) && filepath.Clean(p.Trash) == p.Trash && filepath.Base(p.Trash) == in.ID
	if ok && p.Admin != nil {
		a := p.Admin
		ok = filepath.Clean(a.From) == a.From && filepath.Dir(a.From) == filepath.Join(a.Common, "worktrees") && filepath.IsAbs(a.Common) &&
			(a.To == filepath.Join(p.Trash, adminName) || a.To == filepath.Join(a.Common, commonTrash, in.ID, adminName))
	}
	if !ok {
		return p, fmt.Errorf("the plan of act %s names places that are not its own", in.ID)
	}
	return p, nil
}

// trashFor chooses where a folder of root goes: the state's trash when that is on the same mount, so that a rename reaches it,
// else a trash in the root, which is.
func (a *Actuator) trashFor(root string, s stamp, act string) (string, error) {
	if a.o.StateTrash == "" {
		return filepath.Join(root, rootTrash, act), nil
	}
	real, there, err := realAncestor(a.o.StateTrash)
	if err != nil {
		return "", actuators.Refused("look at the trash %s: %w", a.o.StateTrash, err)
	}
	if there.dev == s.dev && there.mount == s.mount {
		return filepath.Join(real, act), nil
	}
	return filepath.Join(root, rootTrash, act), nil
}

// realAncestor resolves the links in path, as far as it exists, and gives the stamp of its nearest folder that does.
func realAncestor(path string) (real string, s stamp, err error) {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		real, err = filepath.EvalSymlinks(at)
		if errors.Is(err, os.ErrNotExist) && at != filepath.Dir(at) {
			rest = filepath.Join(filepath.Base(at), rest)
			continue
		}
		if err != nil {
			return "", stamp{}, err
		}
		s, err = stampAt(unix.AT_FDCWD, real)
		return filepath.Join(real, rest), s, err
	}
}

// manifest lies beside what was set aside, so that it can be brought back by hand when the ledger is lost.
type manifest struct {
	Schema string          `json:"schema"`
	Intent decision.Intent `json:"intent"`
	// Refs are those that keep the commits of the worktree, by name.
	Refs map[string]string `json:"refs,omitempty"`
	// Undo says in words how to bring it back without Winnow.
	Undo []string `json:"undo"`
}

// makeTrash makes the act's folder and writes the manifest into it.
func makeTrash(p plan, m manifest) (folder, error) {
	parent := filepath.Dir(p.Trash)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return folder{fd: -1}, err
	}
	if filepath.Base(parent) == rootTrash {
		if err := writeNew(filepath.Join(parent, ".gitignore"), []byte("*\n")); err != nil && !errors.Is(err, os.ErrExist) {
			return folder{fd: -1}, err
		}
	}
	above, err := openFolder(parent)
	if err != nil {
		return above, err
	}
	defer above.close()
	if err := unix.Mkdirat(above.fd, filepath.Base(p.Trash), 0o700); err != nil {
		return folder{fd: -1}, &os.PathError{Op: "make", Path: p.Trash, Err: err}
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = writeNew(filepath.Join(p.Trash, manifestName), append(text, '\n'))
	}
	if err != nil {
		return folder{fd: -1}, err
	}
	f, err := above.in(filepath.Base(p.Trash), unix.O_RDONLY)
	if err != nil {
		return f, err
	}
	if err := errors.Join(f.sync(), above.sync()); err != nil {
		return folder{fd: -1}, errors.Join(err, f.close())
	}
	return f, nil
}

// writeNew writes a file that is not there yet, durably.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// removeTrash removes the act's folder, which must hold nothing but the manifest by now, and the trash in a root or repository
// when it was the last in it. A folder that still holds something stays.
func removeTrash(p plan) error {
	err := os.Remove(filepath.Join(p.Trash, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if e := removeEmpty(p.Trash); e != nil {
		return errors.Join(err, e)
	}
	if parent := filepath.Dir(p.Trash); filepath.Base(parent) == rootTrash {
		err = errors.Join(err, removeRootTrash(parent))
	}
	if p.Admin != nil && filepath.Dir(p.Admin.To) != p.Trash {
		own := filepath.Dir(p.Admin.To)
		err = errors.Join(err, removeEmpty(own))
		os.Remove(filepath.Dir(own)) // fails, and is to fail, while other acts lie in it
	}
	return err
}

// removeRootTrash removes a root's trash when nothing is left in it but what makes git overlook it.
func removeRootTrash(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != ".gitignore" {
		return err
	}
	if len(entries) == 1 {
		if err := os.Remove(filepath.Join(path, ".gitignore")); err != nil {
			return err
		}
	}
	return removeEmpty(path)
}

func removeEmpty(path string) error {
	if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}
