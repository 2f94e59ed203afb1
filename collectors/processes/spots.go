package processes

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileID is a file whatever it is called.
type fileID struct{ dev, ino uint64 }

// spot is where a folder is, by name and without.
type spot struct {
	path string
	// device and inside are the file system and the folder in it, as mountinfo counts them; "" where unknown.
	device, inside string
	// id is zero where the folder could not be opened.
	id fileID
}

// locate finds out where paths are. A path with a symbolic link in it is taken for what it leads to; a last part that is one
// is not followed.
func locate(paths []string, mounts []mount) []spot {
	spots := make([]spot, len(paths))
	for i, p := range paths {
		s := spot{path: path.Clean(p)}
		if fd, err := unix.Open(s.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			s.id, _ = idOf(fd)
			if real, err := readlink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), make([]byte, unix.PathMax+1)); err == nil {
				s.path = string(real)
			}
			_ = unix.Close(fd)
		}
		if m, ok := mountOf(mounts, s.path); ok {
			s.device = m.device
			s.inside = path.Join(m.root, strings.TrimPrefix(s.path, m.point))
		}
		spots[i] = s
	}
	return spots
}

// view names the spots as a mount namespace with these mounts does: one folder may be mounted at several places there, whole or
// a part of it. In this process's own namespace they also have their own names.
func view(spots []spot, mounts []mount, own bool) *places {
	v := newPlaces(len(spots))
	byDevice := map[string][]mount{}
	for _, m := range mounts {
		byDevice[m.device] = append(byDevice[m.device], m)
	}
	for i, s := range spots {
		if own {
			v.add(s.path, i)
		}
		for _, m := range byDevice[s.device] {
			switch {
			case under(s.inside, m.root):
				v.add(path.Join(m.point, strings.TrimPrefix(s.inside, m.root)), i)
			case under(m.root, s.inside):
				v.add(m.point, i)
			}
		}
	}
	return v
}

// viewOf is how the mount namespace of a process names the folders, and whether that is another than this process's. The
// kernel writes links as the target's namespace names them.
func (h *holderScan) viewOf(dir int, base string) (v *places, foreign bool, err error) {
	text, err := readlink(dir, base+"ns/mnt", h.link)
	if err != nil && (h.root.procfs || !errors.Is(err, unix.ENOENT)) {
		return nil, false, err
	}
	ns := string(text)
	if err != nil {
		ns = h.own
	}
	if v, ok := h.views[ns]; ok {
		return v, ns != h.own, nil
	}
	text, err = read(dir, base+"mountinfo", make([]byte, 64<<10), environLimit)
	if err != nil {
		return nil, false, err
	}
	mounts, ok := parseMounts(text)
	if !ok {
		return nil, false, errMounts
	}
	v = view(h.spots, mounts, false)
	h.views[ns] = v
	return v, true, nil
}

var errMounts = errors.New("not the text of a mountinfo file")

// deepest is more folders than a path of the kernel can have.
const deepest = 2048

// noteFolder walks up from a folder of another mount namespace and compares what each one is. Names prove nothing where a
// process has a root of its own.
func (h *holderScan) noteFolder(dir int, name string, how int) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	var last fileID
	for range deepest {
		if err != nil {
			return
		}
		id, ok := idOf(fd)
		if !ok || id == last {
			break
		}
		h.mark(h.ids[id], how)
		last = id
		var up int
		up, err = unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		fd = up
	}
	_ = unix.Close(fd)
}

func idOf(fd int) (fileID, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true
}
