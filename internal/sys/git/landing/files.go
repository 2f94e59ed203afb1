package landing

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

const (
	// maxFiles is how many files of a folder are compared, and maxFile how large one may be in bytes.
	maxFiles, maxFile = 20_000, 64 << 20
	// maxHistory is how many commits back trees are looked at.
	maxHistory = 2000
)

// Files gives modes and names of blobs, as git's trees have them ("100644 2f3c..."), of what lies below a folder, by its paths there; "" for what has
// none, is too large, or cannot be read. leave says what is left out. latest is when any of it was last written.
func Files(
	ctx context.Context, tree string, hash func() hash.Hash, leave func(rel string, folder bool) bool,
) (files map[string]string, latest time.Time, err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, latest, err
	}
	defer func() { _ = root.Close() }()
	files = map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case len(files) >= maxFiles:
			return fmt.Errorf("there are more than %d files in it", maxFiles)
		case rel != "." && leave(rel, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.IsDir():
			files[rel] = file(root, rel, info, hash())
		}
		if info.ModTime().After(latest) {
			latest = info.ModTime()
		}
		return nil
	})
	return files, latest, err
}

// Ignored are the folders that git ignores as a whole in the tree that a sealed git folder shows, each with a slash at its end.
func Ignored(ctx context.Context, sealed *gitsafe.Sandbox) (map[string]bool, error) {
	ignored := map[string]bool{}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}
	_, err := sealed.Run(ctx, gitsafe.Call{Args: args}, func(record []byte) error {
		ignored[string(record)] = true
		return nil
	})
	return ignored, err
}

func file(root *os.Root, rel string, info fs.FileInfo, hash hash.Hash) string {
	if to, err := root.Readlink(rel); err == nil {
		return "120000 " + Blob(hash, strings.NewReader(to), int64(len(to)))
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	now, err := f.Stat()
	if err != nil || !now.Mode().IsRegular() || now.Size() > maxFile || !os.SameFile(now, info) {
		return ""
	}
	mode := "100644 "
	if now.Mode()&0o100 != 0 {
		mode = "100755 "
	}
	return mode + Blob(hash, f, now.Size())
}

// Blob is the name that git gives to a content of that size in bytes; that of something else where it has another size.
func Blob(hash hash.Hash, content io.Reader, size int64) string {
	fmt.Fprintf(hash, "blob %d\x00", size)
	_, _ = io.Copy(hash, content) // what cannot be read has another name
	return hex.EncodeToString(hash.Sum(nil))
}

// DropLanded takes out of files, as Files gives them, those that a commit's tree has, or one of those before it on its first parents' line.
func DropLanded(ctx context.Context, sealed *gitsafe.Sandbox, commit string, files map[string]string) error {
	drop := func(about []string, path string) error {
		if len(about) < 3 {
			return gitsafe.ErrAnswer
		}
		if files[path] == about[0]+" "+about[2] {
			delete(files, path)
		}
		return nil
	}
	tree := gitsafe.Call{Args: []string{"ls-tree", "-z", "-r", "--full-tree", commit}}
	_, err := sealed.Run(ctx, tree, func(record []byte) error {
		about, path, _ := strings.Cut(string(record), "\t")
		return drop(strings.Fields(about), path) // mode, type, name
	})
	if err != nil {
		return fmt.Errorf("look into the tree of %s: %w", commit, err)
	}
	before := "" // modes and names before and after a change, and a letter; its path is the next record
	log := gitsafe.Call{Args: []string{
		"log", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=", "-m", "--first-parent", "-n", strconv.Itoa(maxHistory), commit,
	}}
	_, err = sealed.Run(ctx, log, func(record []byte) error {
		if before == "" {
			before = string(record)
			return nil
		}
		about, isChange := strings.CutPrefix(before, ":")
		if before = ""; !isChange {
			return gitsafe.ErrAnswer
		}
		return drop(strings.Fields(about), string(record))
	})
	if err != nil {
		return fmt.Errorf("look into the trees before %s: %w", commit, err)
	}
	return nil
}
