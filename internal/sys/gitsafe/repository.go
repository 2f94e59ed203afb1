package gitsafe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Repository is what git needs to know of a repository, read once. It is made for one look, or for one act.
type Repository struct {
	Common string
	Format Format

	objects    string
	own        settings
	filters    map[string]bool
	excludes   []byte // the user's own patterns
	exclude    []byte
	attributes []byte
	shallow    []byte
	program    Program
}

// Open reads what git is to know of the repository with that common folder, which is a real path. It fails where a user besides this
// user or root owns the folder, its objects or those that it borrows, or could put others in their place.
func (p Program) Open(ctx context.Context, common string) (*Repository, error) {
	if _, err := safeopen.Folder(common); err != nil {
		return nil, err
	}
	vars, err := ReadConfig(ctx, filepath.Join(common, "config"))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} { // the temporary folder has a cleaner of its own, and many entries
		if real, err := safeopen.Path(dir); dir != "" && err == nil {
			clearLeft(real)
		}
	}
	r := &Repository{Common: common, program: p, filters: map[string]bool{}}
	if r.Format, err = FormatOf(vars); err != nil {
		return nil, err
	}
	if r.Format.Reftable {
		return nil, errors.New("it keeps its refs in a format that is not read here (reftable)")
	}
	user := userConfig(ctx)
	r.own = settings{}.extend(user).extend(vars).unsure(vars)
	r.excludes = r.own.excludes(ctx)
	drivers(r.filters, user)
	drivers(r.filters, vars)
	stores, err := Stores(ctx, common)
	if err != nil {
		return nil, err
	}
	r.objects = stores[0].Real
	for name, into := range map[string]*[]byte{"info/exclude": &r.exclude, "info/attributes": &r.attributes, "shallow": &r.shallow} {
		most := int64(maxPattern)
		if name == "shallow" {
			most = maxShallow
		}
		if *into, err = optional(ctx, filepath.Join(common, name), most); err != nil {
			return nil, err
		}
	}
	r.exclude, r.attributes = unlessEmpty(r.exclude), unlessEmpty(r.attributes)
	return r, nil
}

// unlessEmpty gives nothing for a file of comments alone, as git itself makes one in each repository.
func unlessEmpty(data []byte) []byte {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return data
		}
	}
	return nil
}

// optional reads a file that need not be there.
func optional(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: most})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f.Data, err
}

// maxAlternates is how far object folders may borrow from one another, as in git (odb_mkstemp and link_alt_odb_entry: 5).
const maxAlternates = 5

// Store is a folder with objects: as it is named, and by its real path.
type Store struct{ Named, Real string }

// Stores lists the folders that a repository has its objects in: its own first, then those that it borrows from. They are as good as the
// repository's own, or the answer is an error. Git reads the list of the others again by itself: it names folders with objects, and nothing
// that is run.
func Stores(ctx context.Context, common string) ([]Store, error) {
	return borrowed(ctx, nil, filepath.Join(common, "objects"), maxAlternates)
}

// borrowed adds the store at path, and those that it borrows from.
func borrowed(ctx context.Context, known []Store, path string, depth int) ([]Store, error) {
	real, err := safeopen.Path(path)
	if err != nil {
		return nil, fmt.Errorf("look for its objects: %w", err)
	}
	seen := slices.ContainsFunc(known, func(s Store) bool { return s.Real == real })
	known = append(known, Store{filepath.Clean(path), real})
	if seen {
		return known, nil
	}
	file := filepath.Join(real, "info", "alternates")
	list, err := optional(ctx, file, maxPath)
	if err != nil || len(list) == 0 {
		return known, err
	}
	if depth == 0 {
		return nil, fmt.Errorf("its objects are borrowed over more than %d folders", maxAlternates)
	}
	for line := range bytes.Lines(list) {
		text := string(bytes.TrimSuffix(line, []byte("\n")))
		if text == "" || text[0] == '#' {
			continue
		}
		if strings.HasPrefix(text, `"`) {
			if text, err = strconv.Unquote(text); err != nil {
				return nil, fmt.Errorf("%q names a folder in a way that is not read here", file)
			}
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(real, text)
		}
		if known, err = borrowed(ctx, known, text, depth-1); err != nil {
			return nil, err
		}
	}
	return known, nil
}
