package vscode

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/vscode/internal/line"
)

// runtimes is where a login makes a folder for each user.
const runtimes = "/run/user"

var socketName = regexp.MustCompile(`\A[0-9a-f]{8}\.sock\z`)

// Folders are those in which windows of this user may have their sockets, sorted: the one below the runtime folder that an editor with this
// environment would use, and the one below the folder for temporary files, which an editor uses that was started before there was a runtime
// folder. A runtime folder that does not belong to this user is left out, as an editor leaves it out.
func Folders(env func(string) string, uid int) []string {
	tmp := env("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	out := []string{filepath.Join(tmp, "winnow-"+strconv.Itoa(uid), "editors")}
	for _, dir := range []string{env("XDG_RUNTIME_DIR"), filepath.Join(runtimes, strconv.Itoa(uid))} {
		if filepath.IsAbs(dir) && belongs(dir, uid) {
			out = append(out, filepath.Join(dir, "winnow", "editors"))
			break
		}
	}
	slices.Sort(out)
	return out
}

// belongs reports whether dir is a folder, and no link, of that user.
func belongs(dir string, uid int) bool {
	st, err := os.Lstat(dir)
	if err != nil || !st.IsDir() {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == uid
}

// Sockets lists the sockets in a folder, sorted. A folder that is missing has none. One that another user owns, or can write in, is an error:
// nothing that lies there can be relied on.
func Sockets(dir string) ([]string, error) {
	fd, err := line.Folder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_ = unix.Close(fd) // no other user can put another folder in its place
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if socketName.MatchString(e.Name()) && e.Type() == fs.ModeSocket {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}
