package holders

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// watcher reports whether a descriptor's link is that of an inotify or fanotify instance.
func watcher(text []byte) bool {
	return bytes.HasPrefix(text, []byte("anon_inode:")) && (bytes.HasSuffix(text, []byte("inotify")) || bytes.HasSuffix(text, []byte("[fanotify]")))
}

// fewWatches is how long a list of watches is read in a look at everything: some 40,000 of them. A longer one waits for the thorough
// look, which reads up to manyWatches.
const (
	fewWatches  = 4 << 20
	manyWatches = 128 << 20 // more than a user may have at most
)

// watches reads what an instance watches, see proc_pid_fdinfo(5). A process that watches a folder uses it: an editor, a server that builds
// again. But one that watches the folder around it too watches a whole tree, of which the folder is one of many; that is what editors of the
// repository around do, and programs that index files.
func (h *scan) watches(dir int, name string) error {
	limit := fewWatches
	if h.o.Thorough {
		limit = manyWatches
	}
	nodes, err := h.watched(dir, name, limit)
	if errors.Is(err, proc.ErrLong) && !h.o.Thorough {
		return nil
	}
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for _, i := range h.nodes[n] {
			if !h.widely(nodes, i) {
				h.mark([]int{i}, byWatch)
			}
		}
	}
	if h.o.Thorough && len(nodes) > 0 {
		h.seen.claims = append(h.seen.claims, claim{holder: h.at.as(byWatch), nodes: nodes})
	}
	return nil
}

// widely reports whether a process that watches nodes watches the folder around folder i, where it is or where it was.
func (h *scan) widely(nodes []node, i int) bool {
	for n, s := range h.spots {
		if s.of != i || n != i && s.how >= 0 {
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(path.Dir(s.path), &st) == nil && slices.Contains(nodes, node{h.spots[i].node.dev, st.Ino}) {
			return true
		}
	}
	return false
}

// watched reads the inodes out of the fdinfo file of an inotify or fanotify instance. Marks of whole mounts and file systems have
// no inode: they are about the machine.
func (h *scan) watched(dir int, name string, limit int) ([]node, error) {
	text, err := proc.Read(dir, name, h.Environ, limit)
	var nodes []node
	for line := range bytes.Lines(text) {
		if n, ok := watchedNode(line); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}

// watchedNode reads one line: "inotify wd:1 ino:2a sdev:800001 ..." or "fanotify ino:2a sdev:800001 ...", in hexadecimal, the device
// as the kernel has it: minor in the last 20 bits.
func watchedNode(line []byte) (node, bool) {
	kind, rest, _ := bytes.Cut(line, []byte(" "))
	if string(kind) != "inotify" && string(kind) != "fanotify" {
		return node{}, false
	}
	var n node
	known := 0
	for field := range bytes.FieldsSeq(rest) {
		key, value, _ := bytes.Cut(field, []byte(":"))
		v, err := strconv.ParseUint(string(value), 16, 64)
		switch string(key) {
		case "ino":
			n.ino = v
		case "sdev":
			n.dev = unix.Mkdev(uint32(v>>20), uint32(v&(1<<20-1)))
		default:
			continue
		}
		if err != nil {
			return node{}, false
		}
		known++
	}
	return n, known == 2
}
