package dirs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/actuators"
)

// beneath keeps a walk inside of the folder that it starts in: no .. out of it, no link of any kind, no other mount. A bind mount
// of the same device has the same st_dev, and only RESOLVE_NO_XDEV and the mount id see it.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// folder is an open folder.
type folder struct {
	fd   int
	path string
}

func (f folder) close() error {
	if f.fd < 0 {
		return nil
	}
	return unix.Close(f.fd)
}

// openFolder opens the folder at an absolute path that has no symbolic link in it. It can be read and synced.
func openFolder(path string) (folder, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	return openHow(unix.AT_FDCWD, path, path, how)
}

// in opens the folder at rel, which may not leave f. With O_PATH it is held, whatever its mode, and can be read no further.
func (f folder) in(rel string, flags uint64) (folder, error) {
	how := unix.OpenHow{Flags: flags | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath}
	return openHow(f.fd, rel, filepath.Join(f.path, rel), how)
}

func openHow(dir int, name, path string, how unix.OpenHow) (folder, error) {
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // EAGAIN: something was renamed during the walk
			continue
		}
		if err != nil {
			return folder{fd: -1}, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return folder{fd: fd, path: path}, nil
	}
}

// stamp is the folder's own stamp.
func (f folder) stamp() (stamp, error) { return stampAt(f.fd, "") }

func (f folder) sync() error {
	if err := unix.Fsync(f.fd); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return nil
}

// has reports whether there is anything called name in f.
func (f folder) has(name string) (bool, error) {
	_, err := stampAt(f.fd, name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// move renames name in f to toName in to. It never replaces anything.
func (f folder) move(name string, to folder, toName string) error {
	return unix.Renameat2(f.fd, name, to.fd, toName, unix.RENAME_NOREPLACE)
}

// names lists what is in f.
func (f folder) names() ([]string, error) {
	fd, err := unix.Openat(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), f.path)
	defer file.Close()
	return file.Readdirnames(-1)
}

// read reads the small regular file called name in f, without following a link.
func (f folder) read(name string) ([]byte, error) {
	const most = 64 << 10
	fd, err := unix.Openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), filepath.Join(f.path, name))
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil, errors.Join(err, fmt.Errorf("%s is no small regular file", file.Name()))
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// mounted refuses path when anything is mounted at it or below: a rename would carry the mount along, and a walk would go
// into it.
func mounted(path string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return actuators.Refused("find out what is mounted in %s: %w", path, err)
	}
	points, err := mountPoints(string(text))
	if err != nil {
		return actuators.Refused("find out what is mounted in %s: %w", path, err)
	}
	for _, p := range points {
		if actuators.Within(p, path) {
			return actuators.Refused("something is mounted at %s", p)
		}
	}
	return nil
}

// mountPoints reads the fifth column of mountinfo, see proc_pid_mountinfo(5).
func mountPoints(text string) ([]string, error) {
	var points []string
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) < 6 || fields[4] == "" {
			return nil, errors.New("a line of mountinfo is cut short")
		}
		points = append(points, octal.Replace(fields[4]))
	}
	return points, nil
}

// octal undoes how mountinfo writes the characters that separate its columns and lines (mangle in fs/proc_namespace.c).
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")
