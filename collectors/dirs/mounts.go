package dirs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mounts are the mount points of this process's mount namespace.
type mounts struct {
	points []string
	count  map[string]int // of mount points at or below each folder that has any
}

func readMounts(path string) (*mounts, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	points, err := parseMountinfo(data)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %q %w", path, err)
	}
	m := &mounts{points: points, count: map[string]int{}}
	for _, point := range points {
		for at := point; ; at = filepath.Dir(at) {
			m.count[at]++
			if at == "/" || at == "." {
				break
			}
		}
	}
	return m, nil
}

// parseMountinfo gives the fifth field of each line of a mountinfo file (proc_pid_mountinfo(5)), with its escapes undone.
func parseMountinfo(data []byte) ([]string, error) {
	var points []string
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) < 6 || fields[4][0] != '/' {
			return nil, errors.New("has a line that is no mount")
		}
		points = append(points, unescape(string(fields[4])))
	}
	if len(points) == 0 {
		return nil, errors.New("lists no mount")
	}
	return points, nil
}

// unescape undoes what the kernel does to blanks, tabs, newlines and backslashes: a backslash and three octal digits.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// below gives the mount points inside path.
func (m *mounts) below(path string) []string {
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
