package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// PSS gives a process's proportional share of memory in bytes: what it shares with others counts in parts (Pss of smaps_rollup, proc(5)). Only
// its own user and root may read it.
func PSS(root string, pid int) (int64, error) {
	data, err := os.ReadFile(filepath.Join(root, strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if rest, ok := bytes.CutPrefix(lines.Bytes(), []byte("Pss:")); ok {
			fields := bytes.Fields(rest)
			if len(fields) != 2 || string(fields[1]) != "kB" {
				break
			}
			n, err := strconv.ParseInt(string(fields[0]), 10, 54)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("smaps_rollup of %d has no line Pss in kB", pid)
}
