package folder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Mounts lists the mount points that a mountinfo file names, which is most often /proc/self/mountinfo: the fifth field of each line
// (proc_pid_mountinfo(5)), with its escapes undone. A file without any is an error.
//
// prometheus/procfs reads the same file, and leaves the escapes as they are: a mount point with a blank in its name would not be found.
func Mounts(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	points, err := parseMounts(data)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %q %w", file, err)
	}
	return points, nil
}

func parseMounts(data []byte) ([]string, error) {
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
