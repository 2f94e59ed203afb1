// Package folder holds folders open and walks them by descriptors, so that what is looked at, moved or removed is the
// very folder that was opened, also when something is renamed, linked or mounted meanwhile.
package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// beneath keeps a walk inside of the folder that it starts in: no .. out of it, no link of any kind, no other mount. A
// bind mount of the same device has the same st_dev, and only RESOLVE_NO_XDEV and the mount id see it.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// BlockSize is the unit of st_blocks on every file system, stat(2).
const BlockSize = 512

// Folder is an open folder.
type Folder struct {
	FD   int
	Path string
}

// None is not a folder. It may be closed.
var None = Folder{FD: -1}

// Open opens the folder at an absolute path that has no symbolic link in it. It can be read and synced.
func Open(path string) (Folder, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	return open(unix.AT_FDCWD, path, path, how)
}

// OpenAt opens the folder called name in the one that is open as dir, or anywhere with unix.AT_FDCWD. Of its path only
// the last part may be no link. It waits for nothing that lies in the folder's place.
func OpenAt(dir int, name string) (Folder, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC}
	return open(dir, name, name, how)
}

// OpenBelow opens the folder at rel, which may not leave f, and on the same mount. With O_PATH it is held, with any
// mode, and can be read no further.
func (f Folder) OpenBelow(rel string, flags uint64) (Folder, error) {
	how := unix.OpenHow{Flags: flags | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: beneath}
	if flags&unix.O_PATH != 0 {
		how.Flags &^= unix.O_NONBLOCK // openat2 refuses it beside O_PATH
	}
	return open(f.FD, rel, filepath.Join(f.Path, rel), how)
}

func open(dir int, name, path string, how unix.OpenHow) (Folder, error) {
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // EAGAIN: something was renamed during the walk
			continue
		}
		if err != nil {
			return None, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return Folder{FD: fd, Path: path}, nil
	}
}

// Close lets go of the folder.
func (f Folder) Close() error {
	if f.FD < 0 {
		return nil
	}
	return unix.Close(f.FD)
}

// Stamp is the folder's own stamp.
func (f Folder) Stamp() (Stamp, error) { return StampAt(f.FD, "") }

// Sync makes durable which names the folder holds.
func (f Folder) Sync() error {
	if err := unix.Fsync(f.FD); err != nil {
		return fmt.Errorf("sync %s: %w", f.Path, err)
	}
	return nil
}

// Has reports whether there is anything called name in f.
func (f Folder) Has(name string) (bool, error) {
	_, err := StampAt(f.FD, name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// Move renames name in f to toName in to. It never replaces anything.
func (f Folder) Move(name string, to Folder, toName string) error {
	return unix.Renameat2(f.FD, name, to.FD, toName, unix.RENAME_NOREPLACE)
}

// Names lists what is in f.
func (f Folder) Names() ([]string, error) { return f.list(-1) }

// Some gives at most that many of the names in the folder.
func (f Folder) Some(most int) ([]string, error) {
	names, err := f.list(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

func (f Folder) list(most int) ([]string, error) {
	fd, err := unix.Openat(f.FD, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "list", Path: f.Path, Err: err}
	}
	file := os.NewFile(uintptr(fd), f.Path)
	defer file.Close()
	return file.Readdirnames(most)
}

// maxFile is how large a file is that Read reads, in bytes.
const maxFile = 64 << 10

// Read reads the small regular file called name in f, without following a link.
func (f Folder) Read(name string) ([]byte, error) {
	fd, err := unix.Openat(f.FD, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: filepath.Join(f.Path, name), Err: err}
	}
	file := os.NewFile(uintptr(fd), filepath.Join(f.Path, name))
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, errors.Join(err, fmt.Errorf("%s is no small regular file", file.Name()))
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// Tagged reports whether a file in f says that f is a cache, by its first line (bford.info/cachedir).
func (f Folder) Tagged() bool {
	text, err := f.Read("CACHEDIR.TAG")
	return err == nil && bytes.HasPrefix(text, []byte("Signature: 8a477f597d28d172789f06886806bc55"))
}

// WriteNew writes a file that is not in f yet, durably.
func (f Folder) WriteNew(name string, text []byte) error {
	path := filepath.Join(f.Path, name)
	fd, err := unix.Openat(f.FD, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "make", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// Stamp is what statx(2) says of a file or folder, the link itself where it is one. An inode's number is given again
// at once, so the time of birth belongs to what makes a folder the same one.
type Stamp struct {
	Dev, Ino uint64
	// Born is the zero time where the file system keeps none.
	Born, Modified time.Time
	// Mount is 0 on kernels before 5.8. MountRoot is true for a mount point.
	Mount     uint64
	MountRoot bool
	Mode      uint16
	UID       int
}

// Equal reports whether two stamps are of the same folder. Without a time of birth that is not known, and false.
func (s Stamp) Equal(o Stamp) bool {
	return s.Dev == o.Dev && s.Ino == o.Ino && s.Born.Equal(o.Born) && !s.Born.IsZero()
}

// StampAt reads the stamp of name in dir without following a link; an empty name is dir itself.
func StampAt(dir int, name string) (Stamp, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var x unix.Statx_t
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &x); err != nil {
		return Stamp{}, err
	}
	s := Stamp{Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino, Mode: x.Mode, UID: int(x.Uid),
		Modified: moment(x.Mtime), MountRoot: x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0}
	if x.Mask&unix.STATX_BTIME != 0 {
		s.Born = moment(x.Btime)
	}
	if x.Mask&unix.STATX_MNT_ID != 0 {
		s.Mount = x.Mnt_id
	}
	return s, nil
}

func moment(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)).UTC() }

// stores are the names of what version control keeps at the top of a checkout: git, Jujutsu, Mercurial, Sapling,
// Bazaar, Pijul, darcs, Subversion, and Fossil, whose own are files.
var stores = []string{".git", ".jj", ".hg", ".sl", ".bzr", ".pijul", "_darcs", ".svn", ".fslckout", "_FOSSIL_"}

// Store says whether a name is that of what version control keeps at the top of a checkout.
func Store(name string) bool { return slices.Contains(stores, name) }

// CVS says whether a folder, by its name and those in it, is what CVS keeps in each folder of a checkout.
func CVS(name string, names []string) bool {
	return name == "CVS" && slices.Contains(names, "Entries") && slices.Contains(names, "Repository")
}
