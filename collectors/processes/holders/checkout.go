package holders

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"golang.org/x/sys/unix"
)

// remote are the beginnings of the kinds of file systems that may not answer.
var remote = []string{"nfs", "cifs", "smb", "9p", "afs", "ceph", "fuse", "autofs", "lustre", "gluster", "virtiofs"}

// noteCheckout marks what the git folder belongs to of the checkout that a process works in: a worktree that was moved by hand, or a copy of one, still leads to the
// folder that git keeps for it. Where the file system may not answer, and no folder that is asked about lies on it, it is not looked at.
func (h *scan) noteCheckout(dir int) {
	if h.at.daemon || h.at.view == nil {
		return
	}
	at, _ := strings.CutSuffix(h.at.cwd, proc.Deleted)
	asked := false
	for fd := range foldersAround(dir, "cwd") {
		if !asked && !h.answers(fd) {
			return
		}
		asked = true
		if admin, there := gitFile(fd); there {
			if admin != "" && !path.IsAbs(admin) {
				admin = path.Join(at, admin)
			}
			h.note(h.at.view, admin, byAdmin)
			return
		}
		at = path.Dir(at)
	}
}

// answers reports whether the file system of an open folder is a local one, or one on which a folder that is asked about lies.
func (h *scan) answers(fd int) bool {
	var st unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MNT_ID, &st) != nil {
		return false
	}
	number := unix.Mkdev(st.Dev_major, st.Dev_minor)
	if st.Dev_major != 0 || slices.ContainsFunc(h.spots, func(s spot) bool { return s.id.dev == number }) {
		return true
	}
	device := fmt.Sprintf("%d:%d", st.Dev_major, st.Dev_minor)
	for _, m := range h.mounts {
		if m.Device == device || st.Mask&unix.STATX_MNT_ID != 0 && uint64(m.ID) == st.Mnt_id {
			return !slices.ContainsFunc(remote, func(kind string) bool { return strings.HasPrefix(m.Kind, kind) })
		}
	}
	return false
}

// gitFile reads the .git of an open folder: where it leads, "" where it is a folder or says nothing.
func gitFile(fd int) (admin string, there bool) {
	file, err := unix.Openat(fd, ".git", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err != unix.ENOENT
	}
	defer func() { _ = unix.Close(file) }()
	var st unix.Stat_t
	if unix.Fstat(file, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", true
	}
	text := make([]byte, maxGitFile)
	n, err := unix.Read(file, text)
	if err != nil {
		return "", true
	}
	admin, _ = strings.CutPrefix(string(text[:max(n, 0)]), "gitdir:")
	return strings.TrimSpace(admin), true
}
