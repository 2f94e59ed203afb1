package dirs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
)

const (
	// maxEntries is how many files and folders are looked at, and maxDepth how deep: what is larger cannot be compared, and is refused.
	maxEntries = 1_000_000
	maxDepth   = 400
	// racyRounds is how often a survey is made again because something changed in the very instant in which it was made.
	racyRounds = 4
)

// survey is what lay in a folder at one moment. The folder's own times are not part of it: moving it changes them.
type survey struct {
	// Strict is a digest of the names, kinds, modes, owners, sizes, inodes and times of everything below the folder. Any write
	// after the survey makes another one: only the kernel can set the change time.
	Strict string `json:"strict"`
	// Lasting is one without change times and owners. A change time moves when another name of a file comes or goes, as it does in
	// the store that package managers share.
	Lasting string `json:"lasting"`
	Entries int    `json:"entries"`
	// Bytes is what it all takes up on disk, each file counted once; 0 in plans of versions that did not count.
	Bytes int64 `json:"bytes,omitempty"`

	// latest is the entry with the latest change time, for a message.
	latest string
	newest time.Time
}

// surveyor makes one survey.
type surveyor struct {
	ctx context.Context
	// skip is a name in the folder itself that is not part of it.
	skip string
	// refuse says why an entry cannot be set aside, nil where it can.
	refuse          func(rel string, names []string) error
	mount           uint64
	strict, lasting hash.Hash
	line            []byte
	// links are the files with several names that were counted.
	links map[uint64]bool
	out   survey
}

// take surveys a folder that is open. A change that comes in the same tick of the kernel's clock as one before it leaves no mark, so
// the survey waits until the latest change is older than that.
func (v surveyor) take(ctx context.Context, f folder.Folder) (survey, error) {
	v.ctx = ctx
	for range racyRounds {
		var clock unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &clock); err != nil {
			return survey{}, actuators.Refused("read the clock: %w", err)
		}
		begun := time.Unix(clock.Unix())
		at, err := f.Stamp()
		if err != nil {
			return survey{}, actuators.Refused("look at %s: %w", f.Path, err)
		}
		v.mount, v.strict, v.lasting, v.out, v.links = at.Mount, sha256.New(), sha256.New(), survey{}, map[uint64]bool{}
		if err := v.folder(f, "", 0); err != nil {
			return survey{}, err
		}
		v.out.Strict, v.out.Lasting = hex.EncodeToString(v.strict.Sum(nil)), hex.EncodeToString(v.lasting.Sum(nil))
		ahead := v.out.newest.Sub(begun)
		if ahead < 0 {
			return v.out, nil
		}
		const most = 3 * time.Second
		if ahead > most {
			return survey{}, actuators.Refused("its files have times in the future (%s), so a change could not be noticed", v.out.latest)
		}
		select {
		case <-v.ctx.Done():
			return survey{}, actuators.Refused("look at what lies in %s: %w", f.Path, context.Cause(v.ctx))
		case <-time.After(ahead + 5*time.Millisecond):
		}
	}
	return survey{}, actuators.Refused("it is being written to right now (%s)", v.out.latest)
}

func (v *surveyor) folder(f folder.Folder, rel string, depth int) error {
	if err := v.ctx.Err(); err != nil {
		return actuators.Refused("look at what lies in %s: %w", f.Path, context.Cause(v.ctx))
	}
	names, err := f.Names()
	if err != nil {
		return actuators.Refused("list %s: %w", f.Path, err)
	}
	slices.Sort(names)
	if v.out.Entries += len(names); v.out.Entries > maxEntries || depth > maxDepth {
		return actuators.Refused("%s holds too much to be looked at whole (%d entries and a depth of %d are the most)", f.Path, maxEntries, maxDepth)
	}
	if v.refuse != nil {
		if err := v.refuse(rel, names); err != nil {
			return err
		}
	}
	for _, name := range names {
		if rel == "" && name == v.skip {
			continue
		}
		at := name
		if rel != "" {
			at = rel + "/" + name
		}
		if err := v.entry(f, at, name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (v *surveyor) entry(in folder.Folder, rel, name string, depth int) error {
	var x unix.Statx_t
	if err := unix.Statx(in.FD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &x); err != nil {
		return actuators.Refused("look at it: %w", &os.PathError{Op: "look at", Path: path.Join(in.Path, name), Err: err})
	}
	switch {
	case int(x.Uid) != os.Geteuid():
		return actuators.Refused("%s in it belongs to another user (uid %d), so it could be neither brought back nor removed whole", rel, x.Uid)
	case x.Mask&unix.STATX_MNT_ID != 0 && v.mount != 0 && x.Mnt_id != v.mount:
		return actuators.Refused("something is mounted at %s in it", rel)
	}
	v.write(rel, &x)
	if x.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	f, err := in.OpenBelow(name, unix.O_RDONLY)
	if err != nil {
		return actuators.Refused("look into %s: %w", rel, err)
	}
	err = v.folder(f, rel, depth+1)
	_ = f.Close()
	return err
}

// write adds an entry to both digests.
func (v *surveyor) write(rel string, x *unix.Statx_t) {
	changed := time.Unix(x.Ctime.Sec, int64(x.Ctime.Nsec))
	if x.Ctime.Nsec == 0 {
		changed = changed.Add(time.Second - 1) // some file systems keep whole seconds
	}
	if changed.After(v.out.newest) {
		v.out.newest, v.out.latest = changed, rel
	}
	if x.Nlink < 2 || x.Mode&unix.S_IFMT == unix.S_IFDIR || !v.links[x.Ino] {
		v.out.Bytes += int64(x.Blocks) * folder.BlockSize
	}
	if x.Nlink > 1 && x.Mode&unix.S_IFMT != unix.S_IFDIR {
		v.links[x.Ino] = true
	}
	size := x.Size
	if x.Mode&unix.S_IFMT == unix.S_IFDIR {
		size = 0 // it says how the folder is stored, not what it holds
	}
	// Each entry is its path, a zero, and numbers of eight bytes: no two entries make one line, and no path another's.
	line := append(append(v.line[:0], rel...), 0)
	for _, n := range [...]uint64{uint64(x.Mode), x.Ino, size, uint64(x.Rdev_major)<<32 | uint64(x.Rdev_minor), uint64(x.Mtime.Sec), uint64(x.Mtime.Nsec)} {
		line = binary.LittleEndian.AppendUint64(line, n)
	}
	v.lasting.Write(line)
	for _, n := range [...]uint64{uint64(x.Uid)<<32 | uint64(x.Gid), uint64(x.Ctime.Sec), uint64(x.Ctime.Nsec)} {
		line = binary.LittleEndian.AppendUint64(line, n)
	}
	v.strict.Write(line)
	v.line = line
}

// repositories refuses a folder with a repository in it: a clone, a worktree, a submodule that is not clean, a bare
// one. What one of them has that nothing else has goes with the folder, and a worktree's own repository forgets it
// while it is away. Only the worktree's own .git may be there, or what a worktree has at its top, and those of clean
// submodules.
func repositories(worktree bool, clean map[string]string) func(rel string, names []string) error {
	return func(rel string, names []string) error {
		own := worktree && rel == ""
		_, submodule := clean[rel]
		inner := func(name string) bool { return folder.Store(name) && !((own || submodule) && name == ".git") }
		if i := slices.IndexFunc(names, inner); i >= 0 {
			return actuators.Refused("there is a repository in it (%s), which would not come back whole: move or remove that first", path.Join(rel, names[i]))
		}
		if folder.CVS(path.Base(rel), names) {
			return actuators.Refused("there is a checkout of CVS in it (%s), which would not come back whole: move or remove that first", rel)
		}
		if own {
			return nil
		}
		for _, mark := range []string{"HEAD", "objects", "refs"} {
			if _, there := slices.BinarySearch(names, mark); !there {
				return nil
			}
		}
		return actuators.Refused("there is a bare repository in it (%s), which would not come back whole: move or remove that first", path.Join(".", rel))
	}
}

// modules refuses an entry in which anything but the git folders of clean submodules lies below modules: what only
// they have would go with it.
func modules(clean map[string]string) func(rel string, names []string) error {
	return func(rel string, names []string) error {
		at := "/" + rel
		if !actuators.IsBelow(at, "/modules") {
			return nil
		}
		for _, name := range names {
			leads := false
			for _, in := range clean {
				leads = leads || actuators.IsBelow(at, "/"+in) || actuators.IsBelow("/"+in, path.Join(at, name))
			}
			if !leads {
				return actuators.Refused("its entry in the repository holds submodules (%s), "+
					"which would not come back whole: git submodule deinit, once their work is pushed", name)
			}
		}
		return nil
	}
}
