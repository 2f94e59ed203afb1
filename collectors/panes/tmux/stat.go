package tmux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Places in a stat file's text after the name in brackets, which ends at the last ')' (proc_pid_stat(5)).
const startField = 22 - 3

// readStat gives a process's name and its start in clock ticks since boot.
func readStat(procRoot string, pid int) (comm string, ticks uint64, err error) {
	text, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", 0, fmt.Errorf("read stat of pid %d: %w", pid, err)
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", 0, fmt.Errorf("read stat of pid %d: no name in it", pid)
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= startField {
		return "", 0, fmt.Errorf("read stat of pid %d: cut short", pid)
	}
	ticks, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("read stat of pid %d: %w", pid, err)
	}
	return string(text[open+1 : end]), ticks, nil
}
