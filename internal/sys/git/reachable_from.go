package git

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// keeping are the refs that keep what they reach: branches, tags and remote branches.
var keeping = []string{"refs/heads/", "refs/tags/", "refs/remotes/"}

// reachableFrom gives what branches, tags and remote branches stand for. One that cannot be read, or whose name git would not take for a
// ref's, keeps nothing: at most more counts as reached by nothing else. Symbolic ones stand for others of them. The refs named in but are left out.
func (r Refs) reachableFrom(size int, but map[string]bool) (map[string]bool, error) {
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	oids, loose := map[string]bool{}, map[string]bool{}
	for _, prefix := range keeping {
		if err := r.loose(prefix, func(name, oid string) {
			loose[name] = true
			if !but[name] {
				oids[oid] = oid != ""
			}
		}); err != nil {
			return nil, err
		}
	}
	for name, oid := range packed {
		if keeps(name) && !loose[name] && !but[name] {
			oids[oid] = true
		}
	}
	for oid, ok := range oids {
		if !ok || len(oid) != 2*size || gitsafe.IsZero(oid) {
			delete(oids, oid)
		}
	}
	return oids, nil
}

// loose hands over each ref below prefix that is a file of its own, with what it stands for; "" where that is another ref, or cannot
// be read. A packed ref of the same name does not count then.
func (r Refs) loose(prefix string, each func(name, oid string)) error {
	top := filepath.Join(r.common, prefix)
	err := looseFiles(top, func(path string, f safeopen.File, err error) error {
		name := prefix + strings.TrimPrefix(path[len(top):], "/")
		if !proper(name) {
			return nil
		}
		if err != nil {
			each(name, "")
			return nil
		}
		_, oid, err := parseHead(f.Data)
		if err != nil {
			oid = ""
		}
		each(name, oid)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list refs: %w", err)
	}
	return nil
}

// keeps says whether a ref keeps what it reaches: by where it is, and by its name.
func keeps(name string) bool {
	return slices.ContainsFunc(keeping, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) && proper(name)
}

// proper says whether git takes a name for a ref's (git-check-ref-format(1)).
func proper(name string) bool {
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
