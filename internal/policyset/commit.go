package policyset

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// commit is a commit of a repository, and when it was made, in seconds since 1970.
type commit struct {
	oid string
	at  int64
}

// commitOf gives the commit that a folder's repository stands at, if that has all of the folder's policies as they are, and no other ones.
func commitOf(ctx context.Context, folder string, files []policy.File, tests bool) (commit, error) {
	finder := git.NewFinder()
	place, ok := finder.Around(folder)
	if !ok || place.Bare {
		return commit{}, git.ErrNone
	}
	repo, err := finder.Open(place.CommonDir)
	if err != nil {
		return commit{}, err
	}
	oid := repo.Read(place).Head
	if !gitsafe.IsOID(oid) {
		return commit{}, fmt.Errorf("%s has no commit", place.Path)
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return commit{}, err
	}
	below, err := filepath.Rel(place.Path, real)
	if err != nil {
		return commit{}, err
	}
	have := map[string]string{}
	for _, f := range files {
		have[path.Join(filepath.ToSlash(below), f.Path)] = repo.Blob(f.Data())
	}
	opened, err := gitsafe.Program{}.Open(ctx, place.CommonDir)
	if err != nil {
		return commit{}, err
	}
	sealed, err := opened.Seal(ctx, gitsafe.View{})
	if err != nil {
		return commit{}, err
	}
	defer func() { _ = sealed.Close() }()
	err = sealedTree(ctx, sealed, oid, below, tests, have)
	if err != nil {
		return commit{}, err
	}
	when, err := sealed.Output(ctx, "", "log", "-1", "--format=%ct", oid)
	if err != nil {
		return commit{}, err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(when), 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("git gives no time of %s: %w", oid, err)
	}
	return commit{oid, at}, nil
}

// sealedTree holds the files of a folder, by path in the repository, against those of a commit.
func sealedTree(ctx context.Context, sealed *gitsafe.Sandbox, oid, below string, tests bool, have map[string]string) error {
	args := []string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", oid}
	if below != "." {
		args = append(args, "--", filepath.ToSlash(below))
	}
	committed := map[string]string{}
	_, err := sealed.Run(ctx, gitsafe.Call{Args: args}, func(record []byte) error {
		about, p, ok := strings.Cut(string(record), "\t")
		fields := strings.Fields(about) // mode, type, name
		if !ok || len(fields) != 3 {
			return fmt.Errorf("git ls-tree gave %.80q", record)
		}
		committed[p] = fields[2]
		return nil
	})
	if err != nil {
		return err
	}
	for p, blob := range have {
		if committed[p] != blob {
			return fmt.Errorf("%s is not as in commit %s", p, oid)
		}
		delete(committed, p)
	}
	for p := range committed {
		rel := strings.TrimPrefix(p, filepath.ToSlash(below)+"/")
		if rel == ".manifest" || strings.HasSuffix(p, ".rego") && (tests || !strings.HasSuffix(p, "_test.rego")) && !strings.HasPrefix(rel, ".") && !strings.Contains(rel, "/.") {
			return fmt.Errorf("%s of commit %s is missing", p, oid)
		}
	}
	return nil
}
