package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// slim gives back to the kernel what the daemon does not need between two sweeps: the garbage of the last one, if it was a whole one, and the pages of the program's own file. These stay in
// the page cache, so that the next sweep maps them again without reading the disk.
func slim(whole bool) {
	if whole {
		debug.FreeOSMemory()
	}
	_ = dropProgram() // without it there is more memory in use, and nothing else changes
}

// dropProgram unmaps the pages of this program's file that nobody has written to.
func dropProgram() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	for _, m := range unwritten(f, exe) {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return nil
}

type mapping struct{ from, to uintptr }

// unwritten are the mappings of a file in smaps (proc_pid_smaps(5)) that cannot be written to and of which no page is the process's own: what is dropped of them is read again from the
// file as it was. A loader that moves a program writes to pages that it then makes read-only; these are Anonymous.
func unwritten(smaps io.Reader, file string) []mapping {
	var out []mapping
	var at *mapping
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 2 && len(fields[1]) == 4 && strings.Contains(fields[0], "-"):
			at = nil
			var m mapping
			_, err := fmt.Sscanf(fields[0], "%x-%x", &m.from, &m.to)
			if err == nil && m.to > m.from && fields[1][1] != 'w' && fields[1][3] == 'p' && len(fields) >= 6 && strings.HasSuffix(lines.Text(), " "+file) {
				at = &m
			}
		case at != nil && len(fields) == 3 && fields[0] == "Anonymous:":
			if fields[1] == "0" {
				out = append(out, *at)
			}
			at = nil
		}
	}
	return out
}
