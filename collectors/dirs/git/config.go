package git

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// config is the little that must be known of a repository's configuration before git is run in it.
type config struct {
	bare     bool
	worktree string
	sha256   bool
	// reftable is true where refs and reflogs are not files.
	reftable bool
	// includes is true where other files are included, so that not all of the configuration is known.
	includes bool
	// filters are the names of the content filters: programs that git would run on files.
	filters []string
}

// readConfig reads the configuration files that exist of those named.
func readConfig(paths ...string) (config, error) {
	var c config
	for _, path := range paths {
		f, err := readFile(path, maxSmall*16)
		if gone(err) {
			continue
		}
		if err != nil {
			return config{}, fmt.Errorf("read configuration: %w", err)
		}
		c.parse(f.data)
	}
	return c, nil
}

// parse adds what one file says. For sections it takes in too much rather than too little: whatever could be a section's
// header counts as one wherever it stands, except in a comment line, which is never one.
func (c *config) parse(data []byte) {
	section := ""
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		rest := line
		for {
			open := bytes.IndexByte(rest, '[')
			if open < 0 {
				break
			}
			name, sub, n := parseHeader(rest[open+1:])
			c.header(name, sub)
			if open == 0 {
				section = name
			}
			rest = rest[open+1+n:]
		}
		if line[0] == '[' {
			line = bytes.TrimSpace(rest)
		}
		c.value(section, line)
	}
}

// parseHeader reads a section's header behind its bracket: its name in lower case, its subsection, and how much it took.
func parseHeader(b []byte) (name, sub string, n int) {
	for n < len(b) && b[n] != ']' && b[n] != '"' {
		n++
	}
	name, sub, _ = strings.Cut(strings.ToLower(strings.TrimSpace(string(b[:n]))), ".")
	if n == len(b) || b[n] == ']' {
		return name, sub, min(n+1, len(b))
	}
	var quoted []byte
	for n++; n < len(b) && b[n] != '"'; n++ {
		if b[n] == '\\' && n+1 < len(b) {
			n++
		}
		quoted = append(quoted, b[n])
	}
	return name, string(quoted), min(n+1, len(b))
}

func (c *config) header(name, sub string) {
	switch name {
	case "include", "includeif":
		c.includes = true
	case "filter":
		if sub != "" && !slices.Contains(c.filters, sub) {
			c.filters = append(c.filters, sub)
		}
	}
}

func (c *config) value(section string, line []byte) {
	line = bytes.TrimLeft(line, "] \t")
	key, value, assigned := strings.Cut(string(line), "=")
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)
	switch section + "." + key {
	case "core.bare":
		c.bare = !assigned || isTrue(value)
	case "core.worktree":
		c.worktree = value
	case "extensions.objectformat":
		c.sha256 = strings.EqualFold(value, "sha256")
	case "extensions.refstorage":
		c.reftable = !strings.EqualFold(value, "files")
	}
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// main is the path of the main checkout of a repository with this configuration, "" where it has none or cannot be told.
func (c config) main(common string) string {
	switch {
	case c.bare:
		return ""
	case c.worktree != "" && filepath.IsAbs(c.worktree):
		return filepath.Clean(c.worktree)
	case c.worktree != "":
		return filepath.Join(common, c.worktree)
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}
