package dirs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
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
var actID = regexp.MustCompile(`\A[0-9A-Za-z][0-9A-Za-z_-]{0,99}\z`)

// plan is every name and place that an act uses. It is part of the intent.
type plan struct {
	From string `json:"from"`
	Root string `json:"root"`
	// Trash is the act's own folder, in which the folder becomes tree.
	Trash string `json:"trash"`
	// Tree is what lay in the folder before it was judged for the last time.
	Tree *survey `json:"tree,omitempty"`
	// Admin is the worktree's entry in its repository; absent for a plain folder.
	Admin *adminPlan `json:"admin,omitempty"`
	// Gone is true where the folder From is gone: then the entry is what becomes tree, and Tree is what lay in the entry.
	Gone bool `json:"gone,omitempty"`
}

type adminPlan struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Common string `json:"common"`
	Head   string `json:"head"`
	Refs   string `json:"refs"`
	// Lock is what git's own mark on the entry says where it is locked; nil where it is not.
	Lock   *string   `json:"lock,omitempty"`
	Device uint64    `json:"device"`
	Inode  uint64    `json:"inode"`
	BornAt time.Time `json:"born_at"`
	// Entry is what lay in the entry at the same time as Tree.
	Entry *survey `json:"entry,omitempty"`
}

func stampOf(d decision.Dir) folder.Stamp {
	return folder.Stamp{Dev: d.Device, Ino: d.Inode, Born: d.BornAt, Mount: d.MountID}
}

// readPlan reads an intent's plan, and makes sure that it stays within the act's own places: every
// program of this user may have written to a ledger.
func readPlan(in decision.Intent) (plan, error) {
	var p plan
	if in.Identity.Dir == nil {
		return p, fmt.Errorf("act %s names no folder", in.ID)
	}
	if err := json.Unmarshal(in.Plan, &p); err != nil {
		return plan{}, fmt.Errorf("read the plan of act %s: %w", in.ID, err)
	}
	if !p.belongsTo(in) {
		return plan{}, fmt.Errorf("the plan of act %q names places that are not its own", in.ID)
	}
	return p, nil
}

// belongsTo says whether all places of a plan are those of its own act: a folder below its root, a place in a trash, and an entry of the
// very repository in which its refs lie.
func (p plan) belongsTo(in decision.Intent) bool {
	d := in.Identity.Dir
	switch {
	case !actID.MatchString(in.ID), !clean(p.From), p.From != d.Path, !clean(p.Trash), filepath.Base(p.Trash) != in.ID:
		return false
	case !clean(p.Root), p.Root != d.Root, !actuators.IsBelow(p.From, p.Root), p.From == p.Root:
		return false
	case actuators.IsBelow(p.Trash, p.From), actuators.IsBelow(p.From, p.Trash):
		return false
	case d.In != "" && (!clean(d.In) || d.In == p.From || !actuators.IsBelow(p.From, d.In) || !actuators.IsBelow(d.In, p.Root) || d.In == p.Root):
		return false
	}
	if parent := filepath.Dir(p.Trash); filepath.Base(parent) == rootTrash && filepath.Dir(parent) != p.Root {
		return false
	}
	a := p.Admin
	if p.Gone != d.Gone || p.Gone && (a == nil || a.To != filepath.Join(p.Trash, treeName) || actuators.IsBelow(p.Trash, a.From)) {
		return false
	}
	return a == nil || clean(a.Common) && clean(a.From) && filepath.Dir(a.From) == filepath.Join(a.Common, "worktrees") &&
		(p.Gone || a.To == filepath.Join(p.Trash, adminName) || a.To == filepath.Join(a.Common, commonTrash, in.ID, adminName)) &&
		a.Refs == refPrefix(in.ID) && gitsafe.IsOID(a.Head)
}

// bytes is what the act takes away, on disk.
func (p plan) bytes() (sum int64) {
	if p.Tree != nil {
		sum = p.Tree.Bytes
	}
	if p.Admin != nil && p.Admin.Entry != nil {
		sum += p.Admin.Entry.Bytes
	}
	return sum
}

// Bytes is what an act set aside, on disk; false where its plan does not say so. Place is where it lies.
func Bytes(in decision.Intent) (int64, bool) {
	p, err := readPlan(in)
	return p.bytes(), err == nil && p.Tree != nil && p.Tree.Bytes > 0
}

// Place is the folder of the trash in which what an act set aside lies, empty for an intent that is no folder's.
func Place(in decision.Intent) string {
	p, _ := readPlan(in) // nothing of a plan that cannot be read
	return p.Trash
}

// Tree is the folder in the trash that an act set aside, by its path there, and its own name where it lay in a worktree that stayed; both
// are empty for an intent that is no folder's.
func Tree(in decision.Intent) (path, part string) {
	p, err := readPlan(in)
	if err != nil {
		return "", ""
	}
	if in.Identity.Dir.In != "" {
		part = filepath.Base(p.From)
	}
	return filepath.Join(p.Trash, treeName), part
}

// clean says whether a path is absolute and as short as it can be.
func clean(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

// trashFor chooses where a folder goes: the state's trash when that is on the same mount, so that a rename reaches it, else a trash in the root,
// which is. It refuses where the act has a place there already.
func (g *handle) trashFor(s folder.Stamp) (string, error) {
	trash := filepath.Join(g.want.Root, rootTrash, g.act)
	if g.o.StateTrash != "" {
		real, there, err := g.stateTrash()
		if err != nil {
			return "", err
		}
		if there.Dev == s.Dev && there.Mount == s.Mount {
			trash = filepath.Join(real, g.act)
		}
	}
	if _, err := os.Lstat(trash); !errors.Is(err, os.ErrNotExist) {
		return "", actuators.Refused("the trash already holds an act of this name, or could not be read (%s, %v)", trash, err)
	}
	return trash, nil
}

// stateTrash gives the state's trash by its real path, and its stamp, or that of the nearest folder above it while the trash is
// missing. The path of the state folder may have links; the trash itself may not be a link.
func (a *Actuator) stateTrash() (string, folder.Stamp, error) {
	above, s, err := realAncestor(filepath.Dir(a.o.StateTrash))
	if err != nil {
		return "", s, actuators.Refused("look at the trash %s: %w", a.o.StateTrash, err)
	}
	path := filepath.Join(above, filepath.Base(a.o.StateTrash))
	own, err := folder.StampAt(unix.AT_FDCWD, path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return path, s, nil
	case err != nil:
		return "", s, actuators.Refused("look at the trash %s: %w", path, err)
	case own.Mode&unix.S_IFMT != unix.S_IFDIR:
		return "", s, actuators.Refused("%s is not a trash folder of Winnow: it is a link or not a folder", path)
	}
	return path, own, nil
}

// realAncestor resolves the links in path, as far as it exists, and gives the stamp of its nearest folder that does.
func realAncestor(path string) (real string, s folder.Stamp, err error) {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		real, err = filepath.EvalSymlinks(at)
		if errors.Is(err, os.ErrNotExist) && at != filepath.Dir(at) {
			rest = filepath.Join(filepath.Base(at), rest)
			continue
		}
		if err != nil {
			return "", folder.Stamp{}, err
		}
		s, err = folder.StampAt(unix.AT_FDCWD, real)
		return filepath.Join(real, rest), s, err
	}
}

// manifestSchema says what a manifest is: those of other kinds of acts say nothing like it.
const manifestSchema = "winnow.trash/v1"

// manifest lies beside what was set aside, so that it can be brought back when the ledger is lost, with Winnow or by hand.
type manifest struct {
	Schema string          `json:"schema"`
	Intent decision.Intent `json:"intent"`
	// Refs are those that keep the commits of the worktree, by name.
	Refs map[string]string `json:"refs,omitempty"`
	// Undo are lines for a shell that bring it back without Winnow.
	Undo []string `json:"undo"`
}

// unchanged makes sure that a folder that was moved, and its entry, are what they were before the folder was judged for the last
// time, and that its HEAD is the commit that is kept.
func (s *site) unchanged(ctx context.Context) error {
	for _, i := range s.items() {
		if err := i.compare(ctx, i.away, survey.strict); err != nil {
			return err
		}
	}
	if s.admin == nil && !s.plan.Gone {
		return nil
	}
	return s.headStands()
}

func (v survey) strict() string { return v.Strict }

func (v survey) lasting() string { return v.Lasting }

// compare refuses when what lies in the folder at path, which must be i, is not what lay there before, by that digest.
func (i item) compare(ctx context.Context, path string, digest func(survey) string) error {
	now, err := i.surveyAt(ctx, path)
	switch {
	case err != nil:
		return err
	case i.was == nil || digest(*i.was) == "":
		return actuators.Refused("what was in %s before was not recorded, so whether something was added is unknown", i.name)
	case digest(now) != digest(*i.was):
		return actuators.Refused("%s changed after it was looked at (the latest change: %s)", i.name, now.latest)
	}
	return nil
}

// surveyAt looks at what lies in the folder at path, which must be i. What is then compared with a survey that refused nothing holds no
// other repository than that did.
func (i item) surveyAt(ctx context.Context, path string) (survey, error) {
	f, err := folder.Open(path)
	if err != nil {
		return survey{}, err
	}
	defer f.Close()
	if at, err := f.Stamp(); err != nil || !at.Equal(i.want) {
		return survey{}, errors.Join(err, actuators.Refused("%s is another folder now", path))
	}
	return surveyor{skip: i.skip}.take(ctx, f)
}

// headStands makes sure that HEAD leads to the commit that is kept. The entry is away, where git cannot follow it; its file HEAD is
// unchanged, and the branch that it names is the repository's.
func (s *site) headStands() error {
	away := s.tree.away
	if s.admin != nil {
		away = s.admin.away
	}
	branch, err := branchOf(away)
	if err != nil || branch == "" {
		return err
	}
	head, err := s.refs().Resolve(s.plan.Admin.Common, branch)
	switch {
	case err != nil:
		return actuators.Refused("read its branch %s: %w", branch, err)
	case head != s.plan.Admin.Head:
		return actuators.Refused("its branch %s moved to %s after it was looked at", branch, head)
	}
	return nil
}

// objectsElsewhere refuses a folder in which a repository keeps objects or refs, its own or borrowed ones: the repository would be broken
// while the folder is away.
func objectsElsewhere(ctx context.Context, common, path string) error {
	stores, err := gitsafe.Stores(ctx, common)
	if err != nil {
		return actuators.Refused("find where its repository keeps objects: %w", err)
	}
	refs, err := filepath.EvalSymlinks(filepath.Join(common, "refs"))
	if err != nil {
		return actuators.Refused("find where its repository keeps refs: %w", err)
	}
	for _, s := range append(stores, gitsafe.Store{Named: refs, Real: refs}) {
		if actuators.IsBelow(s.Named, path) || actuators.IsBelow(s.Real, path) {
			return actuators.Refused("its repository keeps objects or refs in it (%s)", s.Named)
		}
	}
	return nil
}
