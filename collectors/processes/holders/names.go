package holders

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// withNames adds what leads to a worktree besides its path: the folder that git keeps for it, and, for one that was moved, the path that
// its repository knows it by. A process that used it by that name before still uses it.
func (all spots) withNames() spots {
	out := all
	for i, s := range all {
		if s.of != i {
			continue
		}
		admin, home := entry(s.path)
		if admin != "" {
			out = append(out, spot{path: admin, of: i, how: byAdmin})
		}
		// What was moved into the trash has its entry beside it.
		if beside := filepath.Join(filepath.Dir(s.path), "admin"); beside != admin && linked(beside) {
			out = append(out, spot{path: beside, of: i, how: byAdmin})
			if home == "" {
				home = registered(beside)
			}
		}
		if home == "" || home == s.path {
			continue
		}
		if _, err := os.Lstat(home); os.IsNotExist(err) {
			out = append(out, spot{path: home, of: i, how: -1})
		}
	}
	return out
}

// entry is the folder that a worktree's .git file names, and the worktree's path that is written in there; "" for a folder that is not a linked
// worktree.
func entry(tree string) (admin, home string) {
	text, ok := small(filepath.Join(tree, ".git"))
	admin, named := strings.CutPrefix(text, "gitdir:")
	if !ok || !named {
		return "", ""
	}
	if admin = strings.TrimSpace(admin); !filepath.IsAbs(admin) {
		admin = filepath.Join(tree, admin)
	}
	real, err := filepath.EvalSymlinks(admin)
	if err != nil || !linked(real) {
		return "", ""
	}
	return real, registered(real)
}

// linked reports whether a folder is one that git keeps for a linked worktree.
func linked(admin string) bool {
	_, err := os.Lstat(filepath.Join(admin, "commondir"))
	return err == nil
}

func registered(admin string) string {
	text, ok := small(filepath.Join(admin, "gitdir"))
	if text = strings.TrimSpace(text); !ok || text == "" {
		return ""
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(admin, text)
	}
	return filepath.Dir(filepath.Clean(text))
}

// maxGitFile is more than a file with one path can have.
const maxGitFile = 8 << 10

func small(path string) (string, bool) {
	f, err := safeopen.Read(context.Background(), path, safeopen.Want{Max: maxGitFile})
	return string(f.Data), err == nil
}
