package holders

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// readSockets reads the unix sockets of this network namespace that are bound, by the name they were bound with, in one of the folders.
func (h *scan) readSockets(m *machine) error {
	text, err := h.table("net/unix")
	if err != nil {
		return err
	}
	m.addSockets(text, h.views[h.own])
	return nil
}

// addSockets takes bound sockets out of the text of a net/unix file.
func (m *machine) addSockets(text []byte, v *places) {
	for s, ok := range processes.UnixSockets(text) {
		switch {
		case !ok || s.Inode == 0 || len(s.Name) == 0 || s.Name[0] == '@':
		case s.Name[0] != '/':
			m.relative[s.Inode] = string(s.Name)
		default:
			v.visit(path.Clean(string(s.Name)), func(numbers []int) { m.sockets[s.Inode] = append(m.sockets[s.Inode], numbers...) })
		}
	}
}

// noteSocket marks where a socket that the process at hand has is bound.
func (h *scan) noteSocket(v *places, inode uint64) {
	numbers, named := h.machine.sockets[inode]
	h.mark(numbers, bySocket)
	if name, ok := h.machine.relative[inode]; ok && h.at.cwd != "" {
		v.visit(path.Clean(h.at.cwd+"/"+name), func(numbers []int) { h.mark(numbers, bySocket) })
	}
	if named || h.machine.bound != nil {
		h.seen.owners[inode] = h.at
	}
}

// otherSockets reads the unix sockets of another network namespace, once. The file that lists them has one inode a namespace.
func (h *scan) otherSockets(dir int, v *places) {
	var st, own unix.Stat_t
	if unix.Fstatat(dir, "net/unix", &st, 0) != nil || unix.Fstatat(h.root.FD, "self/net/unix", &own, 0) != nil || st.Ino == own.Ino ||
		h.seen.nets[st.Ino] {
		return
	}
	h.seen.nets[st.Ino] = true
	if text, err := proc.Read(dir, "net/unix", make([]byte, 16<<10), proc.MaxTable); err == nil {
		h.machine.addSockets(text, v)
	}
}

// unclaimed adds the sockets that are bound in a folder and that no process showed: they live, so some process has them.
func (h *scan) unclaimed() {
	for inode, numbers := range h.machine.sockets {
		if _, ok := h.seen.owners[inode]; ok {
			continue
		}
		for _, i := range numbers {
			h.add(i, snapshot.Holder{Name: "a unix socket", How: kinds[bySocket]})
		}
	}
}
