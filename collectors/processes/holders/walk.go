package holders

import (
	"context"
	"encoding/binary"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// maxBelow is how many files and folders are looked at below one folder: some seconds' worth.
const maxBelow = 4_000_000

// walkFolders walks each folder for inodes that a process uses: a watch on a folder in it, a lock on a file, a file that is
// open under another name, a socket that was bound by a relative one. Where it cannot be walked whole, nothing is known for sure.
func (h *scan) walkFolders(ctx context.Context) {
	by := map[uint64][]wanting{}
	claims := h.seen.claims
	for _, l := range h.machine.locks {
		claims = append(claims, claim{holder: h.locker(l), nodes: []node{l.node}})
	}
	for i := range claims {
		for _, node := range claims[i].nodes {
			by[node.ino] = append(by[node.ino], wanting{node.dev, &claims[i]})
		}
	}
	for i, s := range h.spots {
		if s.of != i || s.id == (fileID{}) {
			continue
		}
		w := walk{h: h, i: i, ctx: ctx, by: by, left: maxBelow}
		if w.isEmpty() {
			continue
		}
		fd, err := unix.Open(s.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOENT):
			continue
		case err == nil:
			err = w.folder(fd, "", 0)
		}
		if err != nil {
			h.unread++
		}
	}
}

// wanting is a claim on an inode of dev.
type wanting struct {
	dev uint64
	*claim
}

// walk is one folder being walked.
type walk struct {
	h    *scan
	i    int
	ctx  context.Context
	by   map[uint64][]wanting
	left int
}

// isEmpty reports whether nothing is looked for on the folder's file system.
func (w *walk) isEmpty() bool {
	if len(w.h.seen.layers) > 0 {
		return false
	}
	for _, all := range w.h.machine.bound {
		if slices.ContainsFunc(all, func(b processes.BoundSocket) bool { return b.Dev == w.h.spots[w.i].node.dev }) {
			return false
		}
	}
	for _, all := range w.by {
		if slices.ContainsFunc(all, w.covers) {
			return false
		}
	}
	return true
}

func (w *walk) covers(x wanting) bool {
	s := w.h.spots[w.i]
	return x.stat && x.dev == s.id.dev || !x.stat && x.dev == s.node.dev
}

var (
	errMany = errors.New("more files than can be looked at")
	errDeep = errors.New("deeper than can be looked at")
)

// maxDepth keeps the open folders of a walk below what a process may have.
const maxDepth = 200

// folder looks at all entries of an open folder, and closes it. Another file system is not entered: a mount keeps the folder anyway.
func (w *walk) folder(fd int, at string, depth int) error {
	defer func() { _ = unix.Close(fd) }()
	if id, ok := idOf(fd); !ok || id.dev != w.h.spots[w.i].id.dev {
		return nil
	}
	if depth > maxDepth {
		return errDeep
	}
	buf := make([]byte, 16<<10)
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		if err := w.entries(fd, at, buf[:n], depth); err != nil {
			return err
		}
	}
}

// entries looks at getdents64 records: inode 8 bytes, offset 8, record length 2, type 1, name.
func (w *walk) entries(fd int, at string, records []byte, depth int) error {
	const nameAt = 19
	for len(records) > nameAt {
		size := int(binary.NativeEndian.Uint16(records[16:]))
		if size <= nameAt || size > len(records) {
			return unix.EBADMSG
		}
		ino, kind, name := binary.NativeEndian.Uint64(records), records[18], unix.ByteSliceToString(records[nameAt:size])
		records = records[size:]
		if name == "." || name == ".." {
			continue
		}
		if w.left--; w.left < 0 {
			return errMany
		}
		w.entry(fd, at, name, ino, kind)
		if kind != unix.DT_DIR && kind != unix.DT_UNKNOWN {
			continue
		}
		sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			continue
		case err != nil:
			return err
		}
		if err := w.folder(sub, at+"/"+name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entry asks who has something to do with one inode.
func (w *walk) entry(fd int, at, name string, ino uint64, kind byte) {
	h := w.h
	for _, x := range w.by[ino] {
		if w.covers(x) && (x.holder.How != kinds[byWatch] || !h.widely(x.nodes, w.i)) {
			h.add(w.i, x.holder)
		}
	}
	if kind == unix.DT_SOCK || kind == unix.DT_UNKNOWN {
		for _, b := range h.machine.bound[uint32(ino)] {
			if b.Dev != h.spots[w.i].node.dev {
				continue
			}
			holder := snapshot.Holder{Name: "a unix socket", How: kinds[bySocket]}
			if owner, ok := h.seen.owners[b.Inode]; ok {
				holder.PID, holder.Name = owner.pid, owner.comm
			}
			h.add(w.i, holder)
		}
	}
	for _, r := range h.seen.layers[name] {
		if strings.HasSuffix(path.Join("/", at, name), "/"+r.layer) {
			h.add(w.i, r.holder)
		}
	}
}
