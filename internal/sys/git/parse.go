package git

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// parsePath reads a file that holds one path in one line: gitdir and commondir of an admin folder. A path may hold spaces and
// even newlines; only the line's end is cut.
func parsePath(data []byte) (string, error) {
	path := string(bytes.TrimRight(data, "\r\n"))
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("holds no path")
	}
	return path, nil
}

// ParseGitfile reads a .git file: "gitdir: " and a path.
func ParseGitfile(data []byte) (string, error) {
	rest, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	if !ok {
		return "", errors.New(`does not begin with "gitdir: "`)
	}
	return parsePath(rest)
}

// parseHead reads a HEAD or any other loose ref: either the ref that it stands for, or a commit.
func parseHead(data []byte) (ref, oid string, err error) {
	text := strings.TrimRight(string(data), " \t\r\n")
	if name, ok := strings.CutPrefix(text, "ref:"); ok {
		name = strings.TrimLeft(name, " \t")
		if !validRef(name) {
			return "", "", errors.New("stands for a ref of an impossible name")
		}
		return name, "", nil
	}
	// git writes some of these with more behind the object's name, such as MERGE_HEAD and FETCH_HEAD.
	first, _, _ := strings.Cut(text, "\n")
	first, _, _ = strings.Cut(first, "\t")
	if !gitsafe.IsOID(first) {
		return "", "", errors.New("holds neither a ref nor a commit")
	}
	return "", first, nil
}

// validRef keeps a ref's name from leading out of the repository. It is wider than git check-ref-format.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "\x00\n\\") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// parsePacked reads a packed-refs file into name and object. Peeled lines are passed over.
func parsePacked(data []byte) (map[string]string, error) {
	refs := make(map[string]string, bytes.Count(data, []byte{'\n'}))
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' || line[0] == '^' {
			continue
		}
		oid, name, ok := strings.Cut(line, " ")
		if !ok || !gitsafe.IsOID(oid) {
			return nil, fmt.Errorf("line %d is no ref", n)
		}
		refs[name] = oid
	}
	return refs, nil
}
