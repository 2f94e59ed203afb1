package git

import (
	"bytes"
	"fmt"
	"path/filepath"
)

// Tracked counts the entries of a worktree's index that lie in folders, each given by its path in the worktree. An index that is split,
// damaged or of an unknown format is an error. A part that a sparse index names as a whole counts as one entry of every folder in it.
func (r *Repository) Tracked(w *Worktree, folders []string) (map[string]int, error) {
	counts := make(map[string]int, len(folders))
	prefixes := make([][]byte, len(folders))
	for i, folder := range folders {
		counts[folder] = 0
		prefixes[i] = []byte(folder + "/")
	}
	path := filepath.Join(w.AdminDir, "index")
	f, err := readFile(path, maxIndex)
	if gone(err) {
		return counts, nil // made without a checkout: it has none
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	_, err = parseIndex(f.Data, r.hashSize(), func(name []byte) {
		for i, p := range prefixes {
			if bytes.HasPrefix(name, p) || bytes.Equal(name, p[:len(p)-1]) || bytes.HasSuffix(name, []byte("/")) && bytes.HasPrefix(p, name) {
				counts[folders[i]]++
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read index: %q %w", path, err)
	}
	return counts, nil
}
