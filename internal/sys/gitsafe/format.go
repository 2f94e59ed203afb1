package gitsafe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Sizes above which a file is not what it claims to be, in bytes.
const (
	maxConfig  = 1 << 20
	maxPattern = 4 << 20
	maxShallow = 64 << 20
	maxPath    = 64 << 10
)

// Format is what a repository's configuration says of the repository itself. Git reads that without following includes, and so
// does this.
type Format struct {
	Bare     bool
	Worktree string
	SHA256   bool
	// Reftable is true where refs and reflogs are not files.
	Reftable bool
	// OwnConfig is true where each worktree has a configuration of its own beside that of the repository (config.worktree).
	OwnConfig bool
}

// ReadConfig reads a configuration file. One that is not there is empty.
func ReadConfig(ctx context.Context, path string) ([]Variable, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: maxConfig})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	vars, err := ParseConfig(f.Data)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %q %w", path, err)
	}
	return vars, nil
}

// plain are the extensions under which a repository is read like any other.
var plain = []string{"noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees"}

// FormatOf reads a repository's format. A later one than is known here, or an extension that is not, is an error: git refuses
// such a repository too.
func FormatOf(vars []Variable) (Format, error) {
	var f Format
	version, unknown := "", ""
	for _, v := range vars {
		var err error
		section, key, _ := strings.Cut(v.Name, ".")
		switch {
		case v.Name == "core.bare":
			f.Bare, err = v.Bool()
		case v.Name == "core.worktree":
			f.Worktree = v.Value
		case v.Name == "core.repositoryformatversion":
			version = v.Value
		case section != "extensions":
		case key == "worktreeconfig":
			f.OwnConfig, err = v.Bool()
		case key == "objectformat":
			f.SHA256 = v.Value == "sha256"
			if v.Value != "sha256" && v.Value != "sha1" {
				err = fmt.Errorf("%s is %q, which is not read here", v.Name, v.Value)
			}
		case key == "refstorage":
			f.Reftable = !strings.EqualFold(v.Value, "files")
		case !slices.Contains(plain, key):
			unknown = v.Name
		}
		if err != nil {
			return Format{}, fmt.Errorf("read the repository's format: %w", err)
		}
	}
	switch {
	case version != "" && version != "0" && version != "1":
		return Format{}, fmt.Errorf("read the repository's format: version %q is not read here", version)
	case version != "1" && f.SHA256:
		return Format{}, errors.New("read the repository's format: extensions.objectformat needs version 1")
	case version == "1" && unknown != "":
		return Format{}, fmt.Errorf("read the repository's format: %s is an extension that is not read here", unknown)
	}
	return f, nil
}
