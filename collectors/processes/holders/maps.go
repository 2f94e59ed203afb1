package holders

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// mapped marks the folders in which files lie that a process has mapped. The file that lists them is read under the lock of the
// process's memory, so it is asked for in a thorough look alone.
func (h *scan) mapped(dir int, base string, v *places) error {
	text, err := proc.Read(dir, base+"maps", h.Environ, proc.MaxTable)
	if errors.Is(err, unix.ENOENT) && !h.root.Procfs {
		return nil
	}
	if err != nil {
		return err
	}
	var last []byte
	for line := range bytes.Lines(text) {
		at := bytes.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		// The parts of one file stand one after the other.
		if path := bytes.TrimSuffix(line[at:], []byte("\n")); !bytes.Equal(path, last) {
			last = path
			h.note(v, proc.Unescape(string(path)), byMap)
		}
	}
	return nil
}

// noteFile claims an open file that has another name besides the one it was opened by. Nothing is asked of a server for that.
func (h *scan) noteFile(dir int, name string, text []byte) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO, &st)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	if st.Nlink > 1 || st.Nlink == 1 && bytes.HasSuffix(text, []byte(proc.Deleted)) {
		n := node{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
		h.seen.claims = append(h.seen.claims, claim{holder: h.at.as(byLink), nodes: []node{n}, stat: true})
	}
}
