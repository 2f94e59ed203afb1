package dirs

import (
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// mounts are the mount points of this process's mount namespace.
type mounts struct {
	points []string
	count  map[string]int // of mount points at or below each folder that has any
}

// mounts are read once for all sources of a look: some machines have thousands.
func (o Options) mounts() (*mounts, error) {
	if !o.wholeLook() {
		return readMounts(o.Mountinfo)
	}
	s := o.Cache
	s.mounting.Lock()
	defer s.mounting.Unlock()
	if s.mounts == nil {
		m, err := readMounts(o.Mountinfo)
		if err != nil {
			return nil, err
		}
		s.mounts = m
	}
	return s.mounts, nil
}

func readMounts(path string) (*mounts, error) {
	all, err := proc.ReadMounts(path)
	if err != nil {
		return nil, err
	}
	m := &mounts{count: map[string]int{}}
	for _, mount := range all {
		m.points = append(m.points, mount.Point)
		for at := mount.Point; ; at = filepath.Dir(at) {
			m.count[at]++
			if at == "/" || at == "." {
				break
			}
		}
	}
	return m, nil
}

// listBelow gives the mount points inside path.
func (m *mounts) listBelow(path string) []string {
	if m == nil || m.count[path] == 0 {
		return nil
	}
	var inside []string
	for _, point := range m.points {
		if strings.HasPrefix(point, path+"/") {
			inside = append(inside, point)
		}
	}
	return inside
}
