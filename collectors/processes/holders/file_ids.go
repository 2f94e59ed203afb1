package holders

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// fileID identifies a file under all its names.
type fileID struct{ dev, ino uint64 }

// spot is where a folder is, by name and without.
type spot struct {
	path string
	// device and inside are the file system and the folder in it, as mountinfo counts them; "" where unknown.
	device, inside string
	// id is zero where the folder could not be opened.
	id fileID
	// node is the folder as the kernel's lists of watches and locks count it, zero where unknown.
	node node
	// of is the number of the folder that this is a name for, its own for the folder itself, and how is what a use of it counts as:
	// below 0, as what it is.
	of, how int
}

// spots are many of them, the folders that are asked about first.
type spots []spot

// node is an inode with the device of its file system. That is not always what stat calls the device: Btrfs gives each subvolume one
// of its own there.
type node struct {
	dev uint64
	ino uint64
}

// nodeDevice is a device as mountinfo writes it, major:minor, and with base 16 as the list of locks does.
func nodeDevice(text string, base int) (uint64, bool) {
	a, b, _ := strings.Cut(text, ":")
	major, err := strconv.ParseUint(a, base, 32)
	minor, err2 := strconv.ParseUint(b, base, 32)
	return unix.Mkdev(uint32(major), uint32(minor)), err == nil && err2 == nil
}

// locate finds out where paths are. A path with a symbolic link in it is taken for what it leads to; a last part that is one
// is not followed.
func locate(paths []string, mounts []proc.Mount) spots {
	all := make(spots, len(paths))
	for i, p := range paths {
		s := spot{path: path.Clean(p), of: i, how: -1}
		if fd, err := unix.Open(s.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			s.id, _ = idOf(fd)
			if real, err := proc.Readlink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), make([]byte, unix.PathMax+1)); err == nil {
				s.path = string(real)
			}
			_ = unix.Close(fd)
		}
		if m, ok := proc.MountOf(mounts, s.path); ok {
			s.device = m.Device
			s.inside = path.Join(m.Root, strings.TrimPrefix(s.path, m.Point))
			if dev, ok := nodeDevice(m.Device, 10); ok && s.id.ino != 0 {
				s.node = node{dev, s.id.ino}
			}
		}
		all[i] = s
	}
	return all
}

// view names the spots as a mount namespace with these mounts does: one folder may be mounted at several places there, whole or
// a part of it. In this process's own namespace they also have their own names.
func view(spots []spot, mounts []proc.Mount, own bool) *places {
	v := newPlaces(len(spots))
	byDevice := map[string][]proc.Mount{}
	for _, m := range mounts {
		byDevice[m.Device] = append(byDevice[m.Device], m)
	}
	for i, s := range spots {
		if own {
			v.add(s.path, i)
		}
		for _, m := range byDevice[s.device] {
			switch {
			case proc.IsBelow(s.inside, m.Root):
				v.add(path.Join(m.Point, strings.TrimPrefix(s.inside, m.Root)), i)
			case proc.IsBelow(m.Root, s.inside):
				v.add(m.Point, i)
			}
		}
	}
	return v
}

// deepest is more folders than a path of the kernel can have.
const deepest = 2048

// foldersAround opens a folder, and then each that it lies in, as far as the root folder of who works there.
func foldersAround(dir int, name string) iter.Seq2[int, fileID] {
	return func(yield func(fd int, id fileID) bool) {
		at, last := dir, fileID{}
		for n := range deepest {
			fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if n > 0 {
				_ = unix.Close(at)
			}
			if err != nil {
				return
			}
			at, name = fd, ".."
			id, ok := idOf(fd)
			if !ok || id == last || !yield(fd, id) {
				break
			}
			last = id
		}
		_ = unix.Close(at)
	}
}

func idOf(fd int) (fileID, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true
}

// places finds, for a path, those of many folders that it is or lies in: it looks its ancestors up in a table, so the work
// does not grow with the number of folders.
type places struct {
	at map[string][]int
	// sizes are the lengths that the folders' paths have, the longest first: an ancestor of another length needs no look.
	sizes []int
}

func newPlaces(count int) *places {
	return &places{at: make(map[string][]int, count)}
}

// add enters folder, absolute and clean, as number i.
func (p *places) add(folder string, i int) {
	have := p.at[folder]
	if slices.Contains(have, i) {
		return
	}
	p.at[folder] = append(have, i)
	at, known := slices.BinarySearchFunc(p.sizes, len(folder), func(a, b int) int { return b - a })
	if !known {
		p.sizes = slices.Insert(p.sizes, at, len(folder))
	}
}

// visit calls found with the numbers of all folders that path is or lies in, the deepest first.
func (p *places) visit(path string, found func(numbers []int)) {
	if path == "" || path[0] != '/' {
		return
	}
	for _, n := range p.sizes {
		if n > len(path) || n > 1 && n < len(path) && path[n] != '/' {
			continue
		}
		if numbers := p.at[path[:n]]; numbers != nil {
			found(numbers)
		}
	}
}
