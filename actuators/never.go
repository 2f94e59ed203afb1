package actuators

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The never-list: what no policy, no flag and no configuration can have reaped. All of it stands in this file.

// servers are the names of multiplexers' servers that are refused even when the configuration forgets them. A server has
// every pane of its user for children.
var servers = []string{"tmux: server", "herdr"}

// commLen is how many bytes of a name the kernel keeps (TASK_COMM_LEN less its end mark).
const commLen = 15

// NeverProcess is what is never signalled.
type NeverProcess struct {
	// UID is the user on whose behalf acts are carried out; other users' processes are refused.
	UID int
	// Self are this process and its ancestors, OrphanParents the processes that inherit orphans.
	Self          []int
	OrphanParents []int
	// Multiplexers and Names are names of processes (comm). A * at the end of a name stands for any rest.
	Multiplexers []string
	Names        []string
}

// Check refuses a process by its pid, its name, its owner and whether it is a kernel thread.
func (n NeverProcess) Check(pid, uid int, comm string, kernel bool) error {
	switch {
	case pid <= 1:
		return Refused("pid %d is never signalled", pid)
	case kernel:
		return Refused("pid %d (%s) is a kernel thread", pid, comm)
	case slices.Contains(n.Self, pid):
		return Refused("pid %d (%s) is Winnow itself or one of the processes that it runs under", pid, comm)
	case slices.Contains(n.OrphanParents, pid):
		return Refused("pid %d (%s) adopts orphans: other processes depend on it", pid, comm)
	case hasName(servers, comm) || hasName(n.Multiplexers, comm):
		return Refused("pid %d (%s) is a multiplexer's server: every pane in it would end", pid, comm)
	case hasName(n.Names, comm):
		return Refused("pid %d (%s) has a name that is never signalled (rules.never_processes)", pid, comm)
	case uid != n.UID:
		return Refused("pid %d (%s) belongs to user %d, and only processes of user %d are signalled", pid, comm, uid, n.UID)
	}
	return nil
}

func hasName(names []string, comm string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if stem, open := strings.CutSuffix(name, "*"); open {
			return strings.HasPrefix(comm, stem)
		}
		return comm == name || len(name) > commLen && comm == name[:commLen]
	})
}

// NeverFolder is what is never moved or removed.
type NeverFolder struct {
	// Home is the user's home folder. Roots are the only folders below which anything is touched, as real paths.
	Home  string
	Roots []string
}

// Check refuses a folder by its path, which must be absolute, clean and real, and by the root that it was found below.
func (n NeverFolder) Check(path, root string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return Refused("%q is no absolute and clean path", path)
	case strings.Count(path, "/") < 2:
		return Refused("%s is too close to / and is never touched", path)
	case n.Home == "":
		return Refused("the home folder is unknown, and %s could be it", path)
	case IsBelow(n.Home, path):
		return Refused("%s is the home folder or contains it", path)
	case !slices.Contains(n.Roots, root):
		return Refused("%s was found below %q, which is not one of the folders that Winnow looks at", path, root)
	case path == root || !IsBelow(path, root):
		return Refused("%s does not lie below %s", path, root)
	}
	for _, r := range n.Roots {
		if IsBelow(r, path) {
			return Refused("%s contains %s, one of the folders that Winnow looks at", path, r)
		}
	}
	return nil
}

// IsBelow reports whether path is folder or lies below it, by whole segments. Both are clean.
func IsBelow(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == '/' || folder == "/")
}

// NotMainCheckout refuses the folder behind dirfd when it is a repository's main checkout or a clone: then its .git is a
// folder, which holds the only copy of everything. It reports whether there is a .git file, which a linked worktree has.
func NotMainCheckout(dirfd int, path string) (linked bool, err error) {
	var st unix.Stat_t
	err = unix.Fstatat(dirfd, ".git", &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, Refused("look at %s/.git: %w", path, err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return false, Refused("%s is a repository of its own (its .git is no file): it is never touched", path)
	}
	return true, nil
}

// NobodyOfOurs refuses a folder that one of pids (this process and its ancestors) works in. A working directory that may not
// be read belongs to another user's ancestor, such as the daemon of a login; the look for holders decides about those.
func NobodyOfOurs(procRoot string, pids []int, path string) error {
	for _, pid := range pids {
		cwd, err := os.Readlink(filepath.Join(procRoot, strconv.Itoa(pid), "cwd"))
		if err != nil {
			if pid == os.Getpid() {
				return Refused("read this process's own working directory: %w", err)
			}
			continue
		}
		if IsBelow(cwd, path) {
			return Refused("%s is where Winnow, or a process that it runs under (pid %d), works", path, pid)
		}
	}
	return nil
}
