package processes

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// blind says why processes of other users may be missing from what a root lists, nil where all are shown. A fixture hides nothing.
func blind(r *root) error {
	if !r.procfs {
		return nil
	}
	how, err := hides(r)
	if err != nil {
		return fmt.Errorf("look for hidden processes in %s: %w: whether others' processes are shown is unknown", r.path, err)
	}
	if how == "" {
		return nil
	}
	return fmt.Errorf("read %s: %w for other users' processes (%s), so a process that is not seen may still exist: run as a user that "+
		"may see them, or mount it with hidepid=0", r.path, collectors.ErrPermission, how)
}

// hides names what keeps processes from this user's eyes, "" for nothing.
func hides(r *root) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(r.fd, "1", &st, 0); errors.Is(err, unix.ENOENT) {
		return "process 1 is not shown", nil
	}
	all, err := proc.ReadMounts("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	m, ok := procMount(r, all)
	if !ok {
		return "", errors.New("its mount is not in /proc/self/mountinfo")
	}
	mode, group := hidepid(m.Options)
	if mode == "" || allSeeing() || mode != "ptraceable" && inGroup(group) {
		return "", nil
	}
	return "hidepid=" + mode, nil
}

// procMount finds the mount by its id, or by its place on kernels before 5.8, which do not tell ids.
func procMount(r *root, all []proc.Mount) (proc.Mount, bool) {
	var st unix.Statx_t
	err := unix.Statx(r.fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	byID := err == nil && st.Mask&unix.STATX_MNT_ID != 0
	for _, m := range slices.Backward(all) {
		if byID && uint64(m.ID) == st.Mnt_id || !byID && m.Point == r.path {
			return m, true
		}
	}
	return proc.Mount{}, false
}

// hidepid takes what procfs hides out of its mount options, see proc(5): "" for nothing, else the word that kernels since 5.8
// use, and the group that is excepted, which is 0 unless gid= names another.
func hidepid(options string) (mode string, group int) {
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "gid":
			if n, err := strconv.Atoi(value); err == nil {
				group = n
			}
		case "hidepid":
			mode = value
		}
	}
	words := map[string]string{"0": "", "off": "", "1": "noaccess", "2": "invisible", "4": "ptraceable"}
	if word, ok := words[mode]; ok {
		mode = word
	}
	return mode, group
}

func inGroup(gid int) bool {
	groups, err := os.Getgroups()
	return os.Getegid() == gid || err == nil && slices.Contains(groups, gid)
}
