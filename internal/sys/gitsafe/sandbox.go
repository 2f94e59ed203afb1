package gitsafe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// View is what a sealed git folder shows of a repository.
type View struct {
	// Admin is the git folder of the checkout, a real path: the repository's own, or a linked worktree's. "" is the repository's.
	Admin string
	// Tree is the folder with the checked-out files; "" where no question is about them.
	Tree string
	// Head is what HEAD holds: a commit, or "ref: " and a ref. "" is a commit that does not exist.
	Head string
	// Index is what the index holds; nil means that it is missing. Mod is when it was last written: git compares files again that are as young.
	Index []byte
	Mod   time.Time
	// SharedName and Shared are the name and the content of the other file of an index that is split; "" means that it is not split.
	SharedName string
	Shared     []byte
	// Refs is true where git is to read and write the repository's real refs. They are files with names and commits.
	Refs bool
	// Scratch is true where git may make objects: they go into the sealed folder, and are gone with it.
	Scratch bool
	// Online is true where git may use the network, with the user's own configuration for that: addresses that stand for others, proxies, how
	// to log in. It asks no person.
	Online bool
}

// Sandbox is a git folder of our own making that shows one repository. It is private, and Close removes it.
type Sandbox struct {
	program Program
	dir     string
	cwd     string
	env     []string
	files   []*os.File
	online  bool
	lock    *os.File // held while dir is in use
	made    []string // what lies in dir, the latest last
	filters map[string]bool
}

// Filtered says whether some configuration, the user's or the repository's, defines a content filter of that name, or may.
func (s *Sandbox) Filtered(name string) bool { return s.filters[name] || s.filters[anyDriver] }

// Filters says whether any configuration defines a content filter, or may. Without one git compares all files as they are.
func (s *Sandbox) Filters() bool { return len(s.filters) > 0 }

// Seal makes a git folder that shows v of the repository.
func (r *Repository) Seal(ctx context.Context, v View) (_ *Sandbox, err error) {
	s := &Sandbox{program: r.program, filters: r.filters}
	own, excludes := r.own, r.excludes
	for _, path := range []string{v.Admin, v.Tree} {
		if path == "" || path == r.Common {
			continue
		}
		if _, err := safeopen.Folder(path); err != nil {
			return nil, err
		}
	}
	if r.Format.OwnConfig {
		vars, err := ReadConfig(ctx, filepath.Join(cmp.Or(v.Admin, r.Common), "config.worktree"))
		if err != nil {
			return nil, err
		}
		own = own.extend(vars).unsure(vars)
		excludes, s.filters = own.excludes(ctx), maps.Clone(r.filters)
		drivers(s.filters, vars)
	}
	if s.dir, s.lock, err = workplace(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.cwd = cmp.Or(v.Tree, s.dir)
	s.env = []string{"GIT_DIR=" + s.dir, "GIT_OBJECT_DIRECTORY=" + r.objects}
	if v.Scratch {
		s.env[1] = "GIT_OBJECT_DIRECTORY=" + filepath.Join(s.dir, "objects")
		s.env = append(s.env, `GIT_ALTERNATE_OBJECT_DIRECTORIES="`+quoted(r.objects)+`"`)
	}
	if s.online = v.Online; s.online {
		s.env = append(s.env, online(ctx)...)
	}
	if v.Tree != "" {
		s.env = append(s.env, "GIT_WORK_TREE="+v.Tree)
	}
	if v.SharedName != "" {
		// Git looks for the other file beside the index.
		err := errors.Join(s.write("index", v.Index), s.write(filepath.Base(v.SharedName), v.Shared))
		if err == nil {
			err = os.Chtimes(filepath.Join(s.dir, "index"), v.Mod, v.Mod)
		}
		if err != nil {
			return nil, fmt.Errorf("copy the index: %w", err)
		}
	} else if v.Index != nil {
		f, err := inMemory(v.Index, v.Mod)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
		s.env = append(s.env, "GIT_INDEX_FILE=/proc/self/fd/3") // the first of ExtraFiles
	}
	return s, s.fill(r, v, own, excludes)
}

// fill makes what lies in the git folder.
func (s *Sandbox) fill(r *Repository, v View, own settings, excludes []byte) error {
	err := errors.Join(s.write("config", s.config(r.Format, own, v)), s.write("HEAD", []byte(cmp.Or(v.Head, "ref: refs/heads/none")+"\n")), s.write("shallow", r.shallow))
	if v.Tree != "" {
		if len(r.exclude)+len(r.attributes) > 0 {
			err = errors.Join(err, s.mkdir("info"))
		}
		err = errors.Join(err, s.write("info/exclude", r.exclude), s.write("info/attributes", r.attributes), s.write(userExcludes, excludes))
	}
	if v.Scratch {
		err = errors.Join(err, s.mkdir("objects"))
	}
	if !v.Refs {
		return errors.Join(err, s.mkdir("refs"))
	}
	refs := filepath.Join(r.Common, "refs")
	if _, err := safeopen.Folder(refs); err != nil {
		return err
	}
	return errors.Join(err, s.link(refs, "refs"), s.link(filepath.Join(r.Common, "packed-refs"), "packed-refs"))
}

// write makes a file, unless there is nothing to be in it.
func (s *Sandbox) write(name string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	s.made = append(s.made, name)
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
		return fmt.Errorf("make a git folder to ask git in: %w", err)
	}
	return nil
}

func (s *Sandbox) mkdir(name string) error {
	s.made = append(s.made, name)
	return os.Mkdir(filepath.Join(s.dir, name), 0o700)
}

func (s *Sandbox) link(to, name string) error {
	s.made = append(s.made, name)
	return os.Symlink(to, filepath.Join(s.dir, name))
}

// userExcludes is the file with the user's own patterns.
const userExcludes = "excludes"

// config is the whole configuration that git reads. Nothing of it comes from elsewhere but the few checked values of own.
func (s *Sandbox) config(f Format, own settings, v View) []byte {
	var b strings.Builder
	version, format := "0", ""
	if f.SHA256 {
		version, format = "1", "[extensions]\n\tobjectFormat = sha256\n"
	}
	b.WriteString("[core]\n\trepositoryFormatVersion = " + version + "\n")
	b.WriteString("\tbare = " + strconv.FormatBool(v.Tree == "") + "\n")
	b.WriteString(always)
	for _, name := range []string{"fileMode", "autocrlf", "eol", "sparseCheckout"} {
		if value, ok := own["core."+strings.ToLower(name)]; ok {
			b.WriteString("\t" + name + " = " + value + "\n")
		}
	}
	b.WriteString("\texcludesFile = \"" + quoted(filepath.Join(s.dir, userExcludes)) + "\"\n")
	return []byte(b.String() + others + format)
}

// always are settings under which git overlooks no change, writes nothing but what it is asked to, and runs nothing.
const always = `	symlinks = true
	ignoreCase = false
	trustctime = true
	checkStat = default
	ignoreStat = false
	untrackedCache = false
	fsmonitor = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	logAllRefUpdates = false
	fsync = all
`

const others = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[protocol]\n\tallow = never\n[submodule]\n\trecurse = false\n"

func quoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path)
}

// inMemory is a file without a name in any folder, with the time that the index was written at.
func inMemory(data []byte, mod time.Time) (*os.File, error) {
	fd, err := unix.MemfdCreate("index", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3
		fd, err = unix.MemfdCreate("index", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the index: %w", err)
	}
	f := os.NewFile(uintptr(fd), "index")
	if _, err = f.Write(data); err == nil {
		at := unix.NsecToTimespec(mod.UnixNano())
		err = unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{at, at}, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the index: %w", err), f.Close())
	}
	return f, nil
}

// Close removes the git folder.
func (s *Sandbox) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	s.files = nil
	for _, name := range slices.Backward(s.made) {
		path := filepath.Join(s.dir, name)
		if name == "refs" || name == "info" {
			_ = unix.Rmdir(path) // fails for a link
		}
		_ = unix.Unlink(path)
	}
	if unix.Rmdir(s.dir) != nil { // git left something
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// prefix is what the name of each folder begins with in which git is asked.
const prefix = "winnow-git-"

// leftAfter is how old such a folder is at least when it counts as left behind by a program that was killed: one that was made this
// moment is not locked yet.
const leftAfter = time.Minute

// workplace makes a folder that no other user can reach into, to make a git folder in: in memory where there is such a place, since it
// is made for each worktree, else among the temporary files. It is locked for as long as the second value is open.
func workplace() (string, *os.File, error) {
	var errs []error
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir(), "/tmp"} {
		if dir == "" {
			continue
		}
		real, err := safeopen.Path(dir)
		if err == nil {
			var made string
			if made, err = os.MkdirTemp(real, prefix); err == nil {
				lock, err := lockFolder(made)
				if err != nil {
					return "", nil, errors.Join(err, os.Remove(made))
				}
				return made, lock, nil
			}
		}
		errs = append(errs, err)
	}
	return "", nil, fmt.Errorf("make a git folder to ask git in: %w; set TMPDIR to a folder of your own", errors.Join(errs...))
}

// lockFolder takes the lock on a folder, without waiting. The kernel lets go of it also when this process is killed.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// clearLeft removes what a program that was killed left behind of such folders in dir: this user's own, that no process holds. They hold
// links and copies, and no work.
func clearLeft(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Geteuid() || time.Since(time.Unix(st.Mtim.Unix())) < leftAfter {
			continue
		}
		if lock, err := lockFolder(path); err == nil {
			_ = os.RemoveAll(path) // follows no link; what it cannot remove is tried again next time
			_ = lock.Close()
		}
	}
}
