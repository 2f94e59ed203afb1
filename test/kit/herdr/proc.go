package herdr

import (
	"os"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// foreground reads what herdr reads for a pane: the group in front of the shell's terminal, and of its members those that descend from
// the shell or from the group's leader.
func foreground(shell int) Info {
	info := Info{ShellPID: shell}
	st, err := procs.Read(shell)
	if err != nil || st.Foreground <= 0 {
		return info
	}
	info.ForegroundPGID = st.Foreground
	all := procs.All()
	parents := map[int]int{}
	for _, p := range all {
		parents[p.PID] = p.Parent
	}
	for _, p := range all {
		if p.Group == st.Foreground && (descends(parents, p.PID, shell) || descends(parents, p.PID, st.Foreground)) {
			info.Foreground = append(info.Foreground, describe(p))
		}
	}
	return info
}

func descends(parents map[int]int, pid, root int) bool {
	for range len(parents) {
		if pid == root {
			return true
		}
		up, ok := parents[pid]
		if !ok {
			return false
		}
		pid = up
	}
	return false
}

func describe(p procs.Process) Proc {
	out := Proc{PID: p.PID, Name: p.Name}
	// herdr leaves empty arguments out, and puts a mark for what is not text (process_argv in src/platform/linux.rs).
	for _, part := range procs.Argv(p.PID) {
		if part != "" {
			out.Argv = append(out.Argv, strings.ToValidUTF8(part, "\ufffd"))
		}
	}
	out.Dir, _ = os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
	return out
}
