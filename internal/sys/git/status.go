package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // it only names a length
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/git/index"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// Content is what lies in a worktree that is not in a commit.
type Content struct {
	// Dirty counts tracked paths that differ from HEAD, staged and unmerged ones among them. Where git has not checked
	// out anything yet, no index and no file, none does.
	Dirty int
	// Untracked are the untracked paths.
	Untracked []string
	// Ignored are the ignored paths, a folder that is ignored as a whole as one, with a slash at its end.
	Ignored []string
	// Gitlinks are the paths of the submodules that the index names; nil when they are not known.
	Gitlinks []string
	// Hidden says why Dirty is not to be trusted; nil when it is.
	Hidden error
}

// Status asks git what lies in the worktree: one run, and one more where files differ that a content filter would have
// to judge. An exit code that is not zero, or anything on stderr, is an error and no answer, since git then did not
// see everything.
//
// Git is shown HEAD and the index as they were read here, so that both speak of the same ones.
func (r *Repository) Status(ctx context.Context, git Program, w *Worktree) (content Content, err error) {
	defer func() {
		if err != nil {
			content, err = Content{}, fmt.Errorf("ask git for the content: %w", err)
		}
	}()
	sealed, indexed, err := r.show(ctx, git, w, &content)
	if err != nil {
		return content, err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	p := porcelain{content: &content}
	if err = p.ask(ctx, sealed); err == nil && p.head != cmp.Or(w.Head, "(initial)") { // how git names a commit that is not there yet
		err = fmt.Errorf("%w: it does not name the commit that was asked about", gitsafe.ErrAnswer)
	}
	if err == nil && !indexed && len(content.Untracked)+len(content.Ignored) == 0 {
		content.Dirty = 0
	}
	if err == nil && content.Hidden == nil && content.Dirty > 0 && content.Dirty == len(p.unsure) {
		content.Hidden, err = unjudged(ctx, sealed, p.unsure)
	}
	return content, err
}

// show makes the git folder that git is asked in, and writes into content what the index alone says. It reports whether there is an index.
func (r *Repository) show(ctx context.Context, git Program, w *Worktree, content *Content) (sealed *gitsafe.Sandbox, indexed bool, err error) {
	view, err := w.view()
	if err != nil {
		return nil, false, notRun(err)
	}
	idx, err := index.Read(view.Index, r.hashSize())
	if err != nil {
		content.Hidden = fmt.Errorf("read index: %q %w", filepath.Join(w.AdminDir, "index"), err)
		if view.SharedName, view.Shared, err = w.shared(err); err != nil {
			return nil, false, notRun(err)
		}
	} else {
		content.Gitlinks = append([]string{}, idx.Gitlinks...)
		content.Hidden = hides(idx, w.Path)
	}
	sealed, err = r.seal(ctx, git, view)
	return sealed, view.Index != nil, err
}

// view is what git is shown of the worktree.
func (w *Worktree) view() (gitsafe.View, error) {
	v := gitsafe.View{Admin: w.AdminDir, Tree: w.Path, Head: w.Head}
	if w.Detached == nil || w.Head == "" && w.Branch == "" {
		return v, errors.New("its HEAD is not known")
	}
	f, err := readFile(filepath.Join(w.AdminDir, "index"), maxIndex)
	if err != nil && !gone(err) {
		return v, fmt.Errorf("read index: %w", err)
	}
	v.Index, v.Mod = f.Data, f.Mod
	return v, nil
}

// shared reads the other file of an index that is split.
func (w *Worktree) shared(why error) (name string, data []byte, err error) {
	var split index.Split
	if !errors.As(why, &split) {
		return "", nil, nil
	}
	f, err := readFile(filepath.Join(w.AdminDir, split.File()), maxIndex)
	if err != nil {
		return "", nil, fmt.Errorf("read index: %w", err)
	}
	return split.File(), f.Data, nil
}

// ask runs git status and reads its answer.
func (p *porcelain) ask(ctx context.Context, sealed *gitsafe.Sandbox) error {
	stderr, err := sealed.Run(ctx, gitsafe.Call{Args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=all",
		"--ignored=matching", "--ignore-submodules=dirty", "--no-renames", "--branch", "--no-ahead-behind"}}, p.record)
	switch {
	case err != nil:
		return err
	case stderr != "":
		line, _, _ := strings.Cut(stderr, "\n")
		return fmt.Errorf("git complained: %s", line)
	case p.origin:
		return errors.New("git's output was cut off")
	}
	return nil
}

func (r *Repository) hashSize() int {
	if r.format.SHA256 {
		return 32
	}
	return 20
}

// unjudged looks whether files that differ have a content filter: a program that turns what is in the folder into what
// git keeps, as with large files and secrets. It is never run, so that whether such a file was changed is unknown. Nil
// says that no file needs one.
func unjudged(ctx context.Context, sealed *gitsafe.Sandbox, paths []string) (hidden, err error) {
	if !sealed.Filters() {
		return nil, nil
	}
	var answer []string
	in := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err = sealed.Run(ctx, gitsafe.Call{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: in}, func(field []byte) error {
		answer = append(answer, string(field))
		return nil
	})
	if err == nil && len(answer) != 3*len(paths) {
		err = gitsafe.ErrAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("look for content filters: %w", err)
	}
	first, driver, n := "", "", 0
	for field := range slices.Chunk(answer, 3) { // path, attribute, value
		if value := field[2]; value != "unspecified" && value != "unset" && value != "set" && sealed.Filtered(value) {
			if n == 0 {
				first, driver = field[0], value
			}
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	return fmt.Errorf("%q cannot be judged without its filter (%s), a program that a configuration names; "+
		"files like it: %d", first, driver, n), nil
}

// hides says whether the index keeps git status from seeing changes below path: entries that are never compared, and
// files that are there although the index says that they are left out.
func hides(idx index.Index, path string) error {
	if idx.Assumed > 0 {
		return fmt.Errorf("%d files are marked assume-unchanged, so that changes to them do not show", idx.Assumed)
	}
	for _, name := range idx.Skipped {
		if exists(filepath.Join(path, name)) {
			return fmt.Errorf("%q is there although it is marked skip-worktree, so that changes to it do not show", name)
		}
	}
	return nil
}

// porcelain reads what git status --porcelain=v2 -z prints.
type porcelain struct {
	content *Content
	origin  bool   // the next record is the path that a renamed file had
	head    string // the commit that git compared with: that it answers at all shows that it is git
	// unsure are the paths that differ from the index and in nothing else: a content filter might make them the same.
	unsure []string
}

func (p *porcelain) record(record []byte) error {
	if p.origin {
		p.origin = false
		return nil
	}
	if len(record) < 3 || record[1] != ' ' {
		return gitsafe.ErrAnswer
	}
	switch record[0] {
	case '#':
		if head, ok := strings.CutPrefix(string(record), "# branch.oid "); ok {
			p.head = head
		}
	case '1', 'u':
		p.content.Dirty++
		// An ordinary entry whose file differs from the index, which is as in HEAD: "1 .M", six fields, the path.
		if f := strings.SplitN(string(record), " ", 9); len(f) == 9 && f[0] == "1" && f[1] == ".M" && f[2] == "N..." {
			p.unsure = append(p.unsure, f[8])
		}
	case '2':
		p.content.Dirty++
		p.origin = true
	case '?':
		p.content.Untracked = append(p.content.Untracked, string(record[2:]))
	case '!':
		p.content.Ignored = append(p.content.Ignored, string(record[2:]))
	default:
		return gitsafe.ErrAnswer
	}
	return nil
}

// Staged counts the paths at which the worktree's index differs from its HEAD, unmerged ones among them. The
// worktree's folder itself is not looked at, so that it may be gone. A worktree without an index is an error.
func (r *Repository) Staged(ctx context.Context, git Program, w *Worktree) (n int, err error) {
	defer func() {
		if err != nil {
			n, err = 0, fmt.Errorf("ask git what is staged: %w", err)
		}
	}()
	view, err := w.view()
	if err != nil {
		return 0, notRun(err)
	}
	if view.Index == nil || w.Head == "" {
		return 0, errors.New("its index or its commit is missing; git was not run")
	}
	if _, err := index.Read(view.Index, r.hashSize()); err != nil {
		if view.SharedName, view.Shared, err = w.shared(err); err != nil {
			return 0, notRun(err)
		}
	}
	view.Tree = "" // the question is about the index and the commit alone
	sealed, err := r.seal(ctx, git, view)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	// The commit's name in the answer shows that git gave it.
	commit, err := sealed.Output(ctx, "", "rev-parse", "--verify", w.Head+"^{commit}")
	if err == nil && commit != w.Head+"\n" {
		err = gitsafe.ErrAnswer
	}
	if err != nil {
		return 0, err
	}
	stderr, err := sealed.Run(ctx, gitsafe.Call{Args: []string{"diff-index", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=none", w.Head}}, func([]byte) error {
		n++
		return nil
	})
	if err == nil && stderr != "" {
		err = fmt.Errorf("git complained: %.200q", stderr)
	}
	return n, err
}

// Devices are the file systems on which the files of a worktree lay when git last read them, by the index in its
// entry: the low 32 bits of what stat calls the device. No index and an index without a file that was read are empty.
func Devices(admin string) ([]uint32, error) {
	read := func(name string) (index.Index, error) {
		f, err := readFile(filepath.Join(admin, name), maxIndex)
		if err != nil {
			return index.Index{}, err
		}
		idx, err := index.Read(f.Data, sha1.Size)
		if errors.Is(err, index.ErrFormat) {
			idx, err = index.Read(f.Data, sha256.Size)
		}
		return idx, err
	}
	idx, err := read("index")
	if split, ok := errors.AsType[index.Split](err); ok {
		most, serr := read(split.File())
		idx.Devices, err = append(idx.Devices, most.Devices...), serr
	}
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("read the index of %s: %w", admin, err)
	}
	return idx.Devices, nil
}

// Tracked counts the entries of a worktree's index that lie in folders, each given by its path in the worktree. An
// index that is split, damaged or of an unknown format is an error. A part that a sparse index names as a whole counts
// as one entry of every folder in it.
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
	_, err = index.Parse(f.Data, r.hashSize(), func(name []byte) {
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
