package panes

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Scan reads every process's stat. What ends while it reads is left out, and so is what is over.
func Scan(procRoot string) (map[int]Stat, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]Stat, len(names))
	buf := make([]byte, 4096)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := ReadAt(int(dir.Fd()), name+"/stat", buf)
		if errors.Is(err, ErrEnded) {
			continue
		}
		var s Stat
		if err == nil {
			s, err = ParseStat(text)
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: pid %d: %w", pid, err)
		}
		if !s.Over() {
			all[pid] = s
		}
	}
	return all, nil
}

// Hidden says that others' processes may be missing in what Scan gave, or nil: mounted with hidepid, procfs leaves them out.
func Hidden(all map[int]Stat) error {
	if _, ok := all[1]; !ok {
		return errors.New("list processes: pid 1 is not among them, so that others may be hidden too")
	}
	return nil
}
