package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// honest are repositories as people have them. init are arguments of git init.
var honest = []struct {
	name string
	init []string
	make func(p *prey)
	// unknown is a part of the reason where changes are unknown, although git would report them.
	unknown string
}{
	{name: "clean"},
	{name: "dirty", make: func(p *prey) { p.write(filepath.Join(p.tree, "a.txt"), "changed\n") }},
	{name: "touched", make: func(p *prey) { p.touch() }},
	{name: "changed to the same length", make: func(p *prey) { p.write(filepath.Join(p.tree, "a.txt"), "two\n") }},
	{name: "staged", make: func(p *prey) {
		p.write(filepath.Join(p.tree, "new"), "x")
		p.git(p.tree, "add", ".")
	}},
	{name: "renamed", make: func(p *prey) { p.git(p.tree, "mv", "a.txt", "c.txt") }},
	{name: "removed", make: func(p *prey) { p.git(p.tree, "rm", "-q", "a.txt") }},
	{name: "untracked", make: func(p *prey) {
		p.write(filepath.Join(p.tree, "new"), "x")
		p.write(filepath.Join(p.tree, "folder", "new"), "x")
	}},
	{name: "ignored in four ways", make: func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitignore"), "*.log\nout/\n")
		p.write(filepath.Join(p.common, "info", "exclude"), "*.bak\n")
		p.write(filepath.Join(p.home, ".config", "git", "ignore"), "*.swp\n")
		for _, name := range []string{"x.log", "out/x", "x.bak", "x.swp", "x.none"} {
			p.write(filepath.Join(p.tree, name), "x")
		}
	}},
	{name: "ignored by a file of the user's own, which is a link", make: func(p *prey) {
		p.write(filepath.Join(p.home, "dotfiles", "ignore"), "*.swp\n")
		must.Do(p, os.Symlink("dotfiles/ignore", filepath.Join(p.home, "patterns")))
		p.add(filepath.Join(p.home, ".gitconfig"), "[include]\n\tpath = more\n")
		p.write(filepath.Join(p.home, "more"), "[core]\n\texcludesFile = ~/patterns\n")
		p.write(filepath.Join(p.tree, "x.swp"), "x")
	}},
	{name: "ignored as the repository says", make: func(p *prey) {
		p.write(filepath.Join(p.dir, "patterns"), "*.swp\n")
		p.git(p.main, "config", "core.excludesFile", filepath.Join(p.dir, "patterns"))
		p.write(filepath.Join(p.tree, "x.swp"), "x")
	}},
	{name: "submodule that moved, and one that is not there", make: func(p *prey) {
		sub := filepath.Join(p.dir, "sub")
		p.git(p.dir, "init", "-q", sub)
		p.git(sub, "commit", "-q", "--allow-empty", "-m", "one")
		for _, name := range []string{"here", "gone"} {
			p.git(p.tree, "submodule", "add", "-q", sub, name)
		}
		p.git(p.tree, "commit", "-qm", "submodules")
		p.git(p.tree, "submodule", "deinit", "-q", "-f", "gone")
		p.git(filepath.Join(p.tree, "here"), "commit", "-q", "--allow-empty", "-m", "two")
	}},
	{name: "line ends, by the repository", make: func(p *prey) {
		p.git(p.main, "config", "core.autocrlf", "true")
		p.write(filepath.Join(p.tree, "a.txt"), "one\r\n")
		p.git(p.tree, "add", "a.txt")
		p.touch()
	}},
	{name: "line ends, by the user", make: func(p *prey) {
		p.add(filepath.Join(p.home, ".gitconfig"), "[core]\n\tautocrlf = input\n")
		p.write(filepath.Join(p.tree, "a.txt"), "one\r\n")
		p.git(p.tree, "add", "a.txt")
		p.touch()
	}},
	{name: "line ends, by attributes", make: func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "*.txt text eol=crlf\n")
		p.write(filepath.Join(p.tree, "a.txt"), "one\r\n")
		p.git(p.tree, "add", "a.txt")
		p.touch()
	}},
	{name: "attributes that convert", make: func(p *prey) {
		p.write(filepath.Join(p.common, "info", "attributes"), "b.txt ident\n*.u working-tree-encoding=UTF-16LE\n")
		p.write(filepath.Join(p.tree, "b.txt"), "$Id$\n")
		p.write(filepath.Join(p.tree, "c.u"), "x\x00\n\x00")
		p.git(p.tree, "add", ".")
		p.git(p.tree, "commit", "-qm", "converted")
		p.write(filepath.Join(p.tree, "b.txt"), "$Id: what git puts there $\n")
		p.touch()
	}},
	{name: "modes", make: func(p *prey) { p.chmod(filepath.Join(p.tree, "a.txt")) }},
	{name: "modes that do not count", make: func(p *prey) {
		p.git(p.main, "config", "core.fileMode", "false")
		p.chmod(filepath.Join(p.tree, "a.txt"))
	}},
	{name: "symbolic links", make: func(p *prey) {
		must.Do(p, os.Symlink("a.txt", filepath.Join(p.tree, "link")))
		p.git(p.tree, "add", ".")
		p.git(p.tree, "commit", "-qm", "link")
		must.Do(p, os.Remove(filepath.Join(p.tree, "link")))
		p.write(filepath.Join(p.tree, "link"), "a.txt")
	}},
	{name: "SHA-256", init: []string{"--object-format=sha256"}, make: func(p *prey) { p.write(filepath.Join(p.tree, "a.txt"), "changed\n") }},
	{name: "sparse checkout", make: func(p *prey) {
		p.write(filepath.Join(p.tree, "in", "x"), "x\n")
		p.write(filepath.Join(p.tree, "out", "x"), "x\n")
		p.git(p.tree, "add", ".")
		p.git(p.tree, "commit", "-qm", "folders")
		p.git(p.tree, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
		p.write(filepath.Join(p.tree, "in", "x"), "changed\n")
	}, unknown: ""},
	{name: "a configuration for each worktree", make: func(p *prey) {
		p.git(p.main, "config", "extensions.worktreeConfig", "true")
		p.git(p.tree, "config", "--worktree", "core.fileMode", "false")
		p.chmod(filepath.Join(p.tree, "a.txt"))
	}},
	{name: "a configuration that includes another", make: func(p *prey) {
		p.write(filepath.Join(p.tree, "settings"), "[color]\n\tui = always\n")
		p.git(p.main, "config", "include.path", filepath.Join(p.tree, "settings"))
	}},
	{name: "borrowed objects", make: func(p *prey) {
		p.git(p.main, "gc", "-q")
		away := filepath.Join(p.dir, "away")
		must.Do(p, os.Rename(filepath.Join(p.common, "objects"), away))
		p.write(filepath.Join(p.common, "objects", "info", "alternates"), "# elsewhere\n../../../away\n")
		p.git(p.tree, "commit", "-q", "--allow-empty", "-m", "own")
		p.write(filepath.Join(p.tree, "a.txt"), "changed\n")
	}},
	{name: "shallow", make: func(p *prey) {
		head := p.git(p.tree, "rev-parse", "HEAD")
		p.git(p.tree, "commit", "-q", "--allow-empty", "-m", "second")
		p.write(filepath.Join(p.common, "shallow"), p.git(p.tree, "rev-parse", "HEAD")+"\n")
		must.Do(p, os.Remove(filepath.Join(p.common, "objects", head[:2], head[2:])))
		p.git(p.tree, "checkout", "-q", "--detach")
		p.git(p.main, "update-ref", "-d", "refs/heads/work")
		p.git(p.main, "update-ref", "-d", "refs/heads/main")
	}},
	{name: "conflict", make: func(p *prey) {
		p.write(filepath.Join(p.main, "a.txt"), "theirs\n")
		p.git(p.main, "commit", "-qam", "theirs")
		p.write(filepath.Join(p.tree, "a.txt"), "ours\n")
		p.git(p.tree, "commit", "-qam", "ours")
		_, _ = p.try(p.tree, "merge", "main")
	}},
	{name: "skip-worktree", make: func(p *prey) {
		p.git(p.tree, "update-index", "--skip-worktree", "a.txt")
		must.Do(p, os.Remove(filepath.Join(p.tree, "a.txt")))
	}},
	{name: "assume-unchanged", unknown: "assume-unchanged", make: func(p *prey) {
		p.git(p.tree, "update-index", "--assume-unchanged", "a.txt")
		p.write(filepath.Join(p.tree, "a.txt"), "hidden\n")
	}},
	{name: "split index", unknown: "split over two files", make: func(p *prey) {
		p.git(p.tree, "update-index", "--split-index")
		p.write(filepath.Join(p.tree, "new"), "x")
	}},
	{name: "no commit yet", make: func(p *prey) { p.git(p.tree, "checkout", "-q", "--orphan", "other") }},
	{name: "packed refs", make: func(p *prey) {
		p.git(p.main, "pack-refs", "--all")
		p.git(p.tree, "checkout", "-q", "--detach")
		p.git(p.tree, "commit", "-q", "--allow-empty", "-m", "own")
	}},
	{name: "a file that needs its filter, and was not changed", make: func(p *prey) {
		p.git(p.main, "config", "filter.up.clean", "tr a-z A-Z")
		p.write(filepath.Join(p.tree, ".gitattributes"), "*.up filter=up\n")
		p.write(filepath.Join(p.tree, "x.up"), "text\n")
		p.git(p.tree, "add", ".")
		p.git(p.tree, "commit", "-qm", "filtered")
		at := time.Now().Add(-time.Hour)
		must.Do(p, os.Chtimes(filepath.Join(p.tree, "x.up"), at, at))
		p.git(p.tree, "status", "-s")
	}},
	{name: "a file that needs its filter, and was touched", unknown: "cannot be judged without its filter (up)", make: func(p *prey) {
		p.git(p.main, "config", "filter.up.clean", "tr a-z A-Z")
		p.write(filepath.Join(p.tree, ".gitattributes"), "*.txt filter=up\n")
		p.git(p.tree, "add", "--renormalize", ".")
		p.git(p.tree, "commit", "-qam", "filtered")
		p.touch()
	}},
	{name: "a filter without a definition", make: func(p *prey) {
		p.git(p.main, "config", "filter.up.clean", "tr a-z A-Z")
		p.write(filepath.Join(p.tree, ".gitattributes"), "*.txt filter=down\n")
		p.write(filepath.Join(p.tree, "a.txt"), "changed\n")
	}},
}

func (p *prey) chmod(path string) {
	p.Helper()
	must.Do(p, os.Chmod(path, 0o755))
}

// TestAnswersAreGits holds what is found in honest repositories against what plain git says of them.
func TestAnswersAreGits(t *testing.T) {
	attack.WithoutRaces(t)
	for _, tt := range honest {
		t.Run(tt.name, func(t *testing.T) {
			p := newPrey(t, tt.init...)
			t.Setenv("HOME", p.home)
			t.Setenv("XDG_CONFIG_HOME", "")
			if tt.make != nil {
				tt.make(p)
			}
			got, w, err := p.look()
			if err != nil {
				t.Fatal(err)
			}
			if tt.unknown != "" {
				if got.Hidden == nil || !strings.Contains(got.Hidden.Error(), tt.unknown) {
					t.Errorf("want unknown with %q, got %v", tt.unknown, got.Hidden)
				}
			} else if got.Hidden != nil {
				t.Errorf("unknown: %v", got.Hidden)
			}
			want, have := p.asked(), answers{Dirty: got.Dirty, Untracked: len(got.Untracked), Ignored: got.Ignored, Head: w.Head}
			if w.Unreachable != nil {
				have.Own = *w.Unreachable
			}
			slices.Sort(have.Ignored)
			if tt.unknown != "" {
				want.Dirty, have.Dirty = 0, 0
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-git +ours):\n%s", diff)
			}
		})
	}
}

// answers are what plain git says too. Own are the commits that no branch, tag or remote branch reaches.
type answers struct {
	Dirty, Untracked, Own int
	Ignored               []string
	Head                  string
}

// asked runs plain git, with all the configuration that there is.
func (p *prey) asked() answers {
	p.Helper()
	var a answers
	out := p.git(p.tree, "--no-optional-locks", "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty", "--no-renames")
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		switch {
		case record == "":
		case record[0] == '?':
			a.Untracked++
		case record[0] == '!':
			a.Ignored = append(a.Ignored, record[2:])
		default:
			a.Dirty++
		}
	}
	slices.Sort(a.Ignored)
	if head, err := p.try(p.tree, "rev-parse", "--verify", "-q", "HEAD"); err == nil {
		a.Head = strings.TrimSpace(head)
		own := p.git(p.tree, "rev-list", "HEAD", "--not", "--branches", "--tags", "--remotes")
		a.Own = len(strings.Fields(own))
	}
	return a
}
