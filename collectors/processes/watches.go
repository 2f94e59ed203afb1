package processes

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// watcher reports whether a descriptor's link is that of an inotify or fanotify instance.
func watcher(text []byte) bool {
	return bytes.HasPrefix(text, []byte("anon_inode:")) && (bytes.HasSuffix(text, []byte("inotify")) || bytes.HasSuffix(text, []byte("[fanotify]")))
}

// fewWatches is how long a list of watches is read in a look at everything: some 40,000 of them. A longer one waits for the thorough
// look, which reads up to manyWatches.
const (
	fewWatches  = 4 << 20
	manyWatches = 256 << 20
)

var errWatches = errors.New("more watches than can be read")

// watches reads what an instance watches, see proc_pid_fdinfo(5). Whoever watches a folder uses it: an editor, a server that builds
// again. But one that watches the folder around it too watches a whole tree, of which the folder is one of many; that is what editors of the
// repository around do, and programs that index files.
func (h *holderScan) watches(dir int, name string) error {
	limit := int64(fewWatches)
	if h.o.Thorough {
		limit = manyWatches
	}
	nodes, err := watched(dir, name, limit)
	if errors.Is(err, errWatches) && !h.o.Thorough {
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
		h.seen.claims = append(h.seen.claims, claim{subject: h.at, how: byWatch, nodes: nodes})
	}
	return nil
}

// widely reports whether somebody who watches nodes watches the folder around folder i, where it is or where it was.
func (h *holderScan) widely(nodes []node, i int) bool {
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

// watched reads the inodes out of the fdinfo file of an inotify or fanotify instance. Marks of whole mounts and file systems name
// none: they are about the machine.
func watched(dir int, name string, limit int64) ([]node, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	limited := &io.LimitedReader{R: f, N: limit}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 4<<10), 64<<10)
	var nodes []node
	for lines.Scan() {
		if n, ok := watchedNode(lines.Bytes()); ok {
			nodes = append(nodes, n)
		}
	}
	if limited.N <= 0 {
		return nil, errWatches
	}
	return nodes, lines.Err()
}

// watchedNode reads one line: "inotify wd:1 ino:2a sdev:800001 ..." or "fanotify ino:2a sdev:800001 ...", in hexadecimal, the device
// as the kernel has it: minor in the last 20 bits.
func watchedNode(line []byte) (node, bool) {
	kind, rest, _ := bytes.Cut(line, []byte(" "))
	if string(kind) != "inotify" && string(kind) != "fanotify" {
		return node{}, false
	}
	var n node
	var ino, device bool
	for field := range bytes.FieldsSeq(rest) {
		key, value, _ := bytes.Cut(field, []byte(":"))
		switch string(key) {
		case "ino", "sdev":
			v, err := strconv.ParseUint(string(value), 16, 64)
			if err != nil {
				return node{}, false
			}
			if string(key) == "ino" {
				n.ino, ino = v, true
			} else {
				n.dev, device = unix.Mkdev(uint32(v>>20), uint32(v&(1<<20-1))), true
			}
		}
	}
	return n, ino && device
}
