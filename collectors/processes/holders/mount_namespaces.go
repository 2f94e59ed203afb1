package holders

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// space is a mount namespace, as a process in it sees it.
type space struct {
	pid    int
	comm   string
	mounts []proc.Mount
}

// viewOf is how the mount namespace of a process names the folders, and whether that is another than this process's. The
// kernel writes links as the target's namespace names them.
func (h *scan) viewOf(dir int, base string) (v *places, foreign bool, err error) {
	text, err := proc.Readlink(dir, base+"ns/mnt", h.Link)
	if err != nil && (h.root.Procfs || !errors.Is(err, unix.ENOENT)) {
		return nil, false, err
	}
	ns := string(text)
	if err != nil || ns == h.own {
		return h.views[h.own], false, nil
	}
	// Mountinfo has its paths from the process's root folder on, and links have theirs from the namespace's.
	root, err := proc.Readlink(dir, base+"root", h.Link)
	if err != nil {
		return nil, false, err
	}
	v, err = h.enter(ns+string(root), dir, base, string(root))
	return v, true, err
}

// enter is how a namespace names the folders, by the mountinfo file of the process at hand, which is read once for each key.
func (h *scan) enter(key string, dir int, base, root string) (*places, error) {
	if v, ok := h.views[key]; ok {
		return v, nil
	}
	text, err := proc.Read(dir, base+"mountinfo", make([]byte, 64<<10), proc.MaxEnviron)
	if err != nil {
		return nil, err
	}
	mounts, ok := proc.ParseMounts(text)
	switch {
	case len(text) == 0:
		// A root folder below which nothing is mounted: there are no mounts to tell names by.
		h.views[key] = newPlaces(0)
		return h.views[key], nil
	case !ok:
		return nil, errMounts
	case root != "/" && strings.HasPrefix(root, "/"):
		for i := range mounts {
			mounts[i].Point = path.Join(root, mounts[i].Point)
		}
	}
	h.views[key] = view(h.spots, mounts, false)
	h.seen.spaces[key] = space{h.at.pid, h.at.comm, mounts}
	return h.views[key], nil
}

var errMounts = errors.New("not the text of a mountinfo file")

// closedView is viewOf for a process that shows no links: what is mounted for it everybody may read. The first line has the number
// of a mount, which no other namespace has.
func (h *scan) closedView(dir int) (*places, error) {
	line, err := proc.ReadSome(dir, "mountinfo", h.Environ[:head])
	if err != nil {
		return nil, err
	}
	if key := headOf(line); key != "" && key != h.first {
		return h.enter(key, dir, "", "/")
	}
	return h.views[h.own], nil
}

// head is how much of a first line is compared.
const head = 512

// headOf is the first line of a text, or as much of it as is compared.
func headOf(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line[:min(len(line), head)])
}

// spaces adds those who see the folders through mounts: bind mounts in other namespaces, and overlays anywhere.
func (h *scan) spaces() {
	m := h.mounting()
	for _, mount := range h.mounts {
		if mount.Kind == overlay {
			h.overlaid(mount, snapshot.Holder{Name: mount.Point, How: kinds[byOverlay]})
			m.overlays[mount.Device] = true
		}
	}
	for _, mount := range h.mounts { // those of this process's own namespace that show a folder, or a part of it, at another place
		for _, i := range m.foldersAbove(mount) {
			if !proc.IsBelow(h.spots[i].path, mount.Point) {
				h.add(i, snapshot.Holder{Name: mount.Point, How: kinds[byMount]})
			}
		}
	}
	all := slices.SortedFunc(maps.Values(h.seen.spaces), func(a, b space) int { return a.pid - b.pid })
	for _, s := range all {
		for _, mount := range s.mounts {
			if mount.Kind == overlay && !m.overlays[mount.Device] {
				m.overlays[mount.Device] = true
				h.overlaid(mount, snapshot.Holder{PID: s.pid, Name: s.comm, How: kinds[byOverlay]})
			}
			for _, i := range m.into(mount) {
				h.add(i, snapshot.Holder{PID: s.pid, Name: s.comm, How: kinds[byMount]})
			}
		}
	}
}

// mounting tells which folders a mount leads into. Namespaces are copies of one another, so what was asked once is kept.
type mounting struct {
	spots spots
	// folders are the folders of each file system, by their place in it.
	folders map[string]*places
	// numbers are those of the folders of each file system.
	numbers map[string][]int
	// wide are mounts that say nothing about one folder: those that this process's namespace has too.
	wide     map[[2]string]bool
	known    map[[2]string][]int
	overlays map[string]bool
	home     string
}

func (h *scan) mounting() *mounting {
	m := &mounting{spots: h.spots, folders: map[string]*places{}, numbers: map[string][]int{}, wide: map[[2]string]bool{},
		known: map[[2]string][]int{}, overlays: map[string]bool{}, home: h.o.Home}
	for i, s := range h.spots {
		if s.device == "" {
			continue
		}
		if m.folders[s.device] == nil {
			m.folders[s.device] = newPlaces(len(h.spots))
		}
		m.folders[s.device].add(s.inside, i)
		if s.of == i {
			m.numbers[s.device] = append(m.numbers[s.device], i)
		}
	}
	for _, own := range h.mounts {
		m.wide[[2]string{own.Device, own.Root}] = true
	}
	return m
}

// into are the folders that a mount shows, or a part of one, or a folder around it that was mounted.
func (m *mounting) into(mount proc.Mount) []int {
	key := [2]string{mount.Device, mount.Root}
	if found, ok := m.known[key]; ok {
		return found
	}
	var found []int
	if !m.wide[key] {
		found = m.foldersAbove(mount)
		for _, i := range m.numbers[mount.Device] {
			if s := m.spots[i]; s.inside != mount.Root && proc.IsBelow(s.inside, mount.Root) && !s.general(mount.Root, m.home) {
				found = append(found, i)
			}
		}
	}
	m.known[key] = found
	return found
}

// foldersAbove are the folders that a mount's own root is or lies in.
func (m *mounting) foldersAbove(mount proc.Mount) []int {
	var found []int
	if p := m.folders[mount.Device]; p != nil {
		p.visit(mount.Root, func(numbers []int) { found = append(found, numbers...) })
	}
	return found
}

// general reports whether a folder around the spot, given by its place in the file system, is one that a machine's services, packaged
// desktop programs and sandboxes get as a matter of course, so that it says nothing about the spot.
func (s spot) general(around, home string) bool {
	rest := strings.TrimPrefix(s.inside, strings.TrimSuffix(around, "/"))
	name, ok := strings.CutSuffix(s.path, rest)
	if !ok || name == "" {
		return true // more than is mounted here, or all of it
	}
	return slices.Contains(commonFolders, name) || path.Dir(name) == "/home" || home != "" && proc.IsBelow(home, name)
}

// commonFolders are the folders of hier(7) that belong to the whole machine.
var commonFolders = []string{"/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/var/lib", "/usr", "/usr/local", "/opt", "/srv", "/mnt",
	"/media", "/run", "/run/user", "/etc", "/dev", "/dev/shm"}
