package git_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/original"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// fork is a repository without a remote: main is its default branch, and work is checked out in a linked worktree.
type fork struct{ *prey }

func newFork(t testing.TB, init ...string) fork {
	return fork{newCopy(t, "fork "+strings.Join(init, " "), func(p *prey) {
		original.TwoTrees(p.git, p.dir, init...)
		fork{p}.put(p.main, "long.txt", lines(1, 60, ""))
		p.git(p.tree, "reset", "-q", "--hard", "main")
	})}
}

// lines are numbered lines, each with what.
func lines(from, to int, what string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(strings.Repeat("line ", 1+i%3) + string(rune('a'+i%26)) + strings.Repeat("x", i) + what + "\n")
	}
	return b.String()
}

// change replaces a line of long.txt and commits that.
func (f fork) change(dir string, line int, to string) {
	f.Helper()
	path := filepath.Join(dir, "long.txt")
	all := strings.SplitAfter(string(must.Get(os.ReadFile(path))(f)), "\n")
	all[line] = to + "\n"
	f.put(dir, "long.txt", strings.Join(all, ""))
}

// put writes a file and commits it.
func (f fork) put(dir, name, text string) {
	f.Helper()
	f.write(filepath.Join(dir, name), text)
	f.commit(dir, name)
}

func (f fork) commit(dir, name string) {
	f.Helper()
	f.git(dir, "add", "-A")
	f.git(dir, "commit", "-qm", name)
}

func (f fork) squash() {
	f.Helper()
	f.git(f.main, "merge", "-q", "--squash", "work")
	f.git(f.main, "commit", "-qm", "squashed")
}

func (f fork) pick(commits ...string) {
	f.Helper()
	f.git(f.main, append([]string{"cherry-pick", "--allow-empty"}, commits...)...)
}

// sections makes long.txt one of ten sections of ten lines, which are the same but for the first, on both branches.
func (f fork) sections() {
	f.Helper()
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "section %d\n%s", i, strings.Repeat("line\n", 9))
	}
	f.put(f.main, "long.txt", text.String())
	f.git(f.tree, "reset", "-q", "--hard", "main")
}

const unknown = "unknown"

// land asks how the worktree's work got onto main.
func (f fork) land() *git.Worktree {
	f.Helper()
	w, err := f.tryLand()
	must.Do(f, err)
	return w
}

func (f fork) tryLand() (*git.Worktree, error) { return f.landWith("") }

// landWith asks with another git.
func (f fork) landWith(program string) (*git.Worktree, error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), wait.Patience)
	defer cancel()
	finder := git.NewFinder()
	place := must.Get(finder.Locate(f.tree))(f)
	repo := must.Get(finder.Open(place.CommonDir))(f)
	w := repo.Read(place)
	must.Do(f, repo.MeasureAhead(ctx, git.Program{Path: program}, []*git.Worktree{w}))
	return w, repo.ProveMerged(ctx, git.Program{Path: program}, []*git.Worktree{w})
}

// two are the two commits that most cases begin with.
func (f fork) two() {
	f.Helper()
	f.change(f.tree, 10, "ten")
	f.put(f.tree, "new.txt", "new\n")
}

func TestLanding(t *testing.T) {
	t.Parallel()
	stage.NeedSecond(t, "it makes many repositories")
	tests := []struct {
		name string
		init []string
		make func(f fork)
		want string
		// commits is how many commits brought it in.
		commits int
	}{
		{name: "nothing has landed", make: func(f fork) { f.two() }},
		{name: "squashed", make: func(f fork) { f.two(); f.squash() }, want: landing.BySquash, commits: 1},
		{name: "squashed, with SHA-256", init: []string{"--object-format=sha256"}, make: func(f fork) { f.two(); f.squash() }, want: landing.BySquash, commits: 1},
		{name: "squashed, and the same lines were changed later", make: func(f fork) {
			f.two()
			f.squash()
			f.change(f.main, 10, "ten, and more")
			f.put(f.main, "new.txt", "newer\n")
		}, want: landing.BySquash, commits: 1},
		{name: "squashed, and then reverted", make: func(f fork) {
			f.two()
			f.squash()
			f.git(f.main, "revert", "--no-edit", "HEAD")
		}, want: landing.BySquash, commits: 1},
		{name: "squashed, and one more commit was made", make: func(f fork) {
			f.two()
			f.squash()
			f.change(f.tree, 40, "forty")
		}},
		{name: "squashed, but for one line", make: func(f fork) {
			f.two()
			f.git(f.main, "merge", "-q", "--squash", "work")
			f.write(filepath.Join(f.main, "new.txt"), "")
			f.commit(f.main, "squashed in part")
		}},
		{name: "squashed, but for a blank", make: func(f fork) {
			f.put(f.tree, "new.txt", "a  b\n")
			f.put(f.main, "new.txt", "a b\n")
		}},
		{name: "a change of blanks alone, which is not on main", make: func(f fork) {
			f.change(f.tree, 10, "line "+"  kxxxxxxxxxx")
			f.change(f.main, 10, "line "+" kxxxxxxxxxx")
		}},
		{name: "squashed after main was merged in", make: func(f fork) {
			f.two()
			f.change(f.main, 50, "fifty")
			f.git(f.tree, "merge", "-q", "--no-edit", "main")
			f.put(f.tree, "third.txt", "third\n")
			f.squash()
			f.put(f.main, "third.txt", "changed since\n")
		}, want: landing.BySquash, commits: 1},
		{name: "what a merge itself added is work", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\n")
			f.put(f.main, "other.txt", "other\n")
			f.git(f.tree, "merge", "-q", "--no-commit", "main")
			f.put(f.tree, "only-in-the-merge.txt", "work\n")
			f.pick("work^1")
		}},
		{name: "rebased", make: func(f fork) {
			f.two()
			f.change(f.main, 50, "fifty")
			f.pick("main..work")
		}, want: landing.ByPatches, commits: 2},
		{name: "rebased, and the same lines were changed later", make: func(f fork) {
			f.two()
			f.change(f.main, 50, "fifty")
			f.pick("main..work")
			f.change(f.main, 10, "ten, and more")
			f.put(f.main, "new.txt", "newer\n")
		}, want: landing.ByPatches, commits: 2},
		{name: "rebased but for one commit", make: func(f fork) {
			f.two()
			f.change(f.main, 50, "fifty")
			f.pick("work^")
		}},
		{name: "one commit, picked", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\n")
			f.change(f.main, 50, "fifty")
			f.pick("work")
		}, want: landing.ByPatches, commits: 1},
		{name: "an empty commit among them", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\n")
			f.git(f.tree, "commit", "-q", "--allow-empty", "-m", "a word")
			f.change(f.main, 50, "fifty")
			f.pick("work^")
		}, want: landing.ByPatches, commits: 1},
		{name: "nothing but an empty commit", make: func(f fork) {
			f.git(f.tree, "commit", "-q", "--allow-empty", "-m", "a word")
			f.git(f.main, "commit", "-q", "--allow-empty", "-m", "another word")
		}},
		{name: "done and undone", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\n")
			f.git(f.tree, "revert", "--no-edit", "HEAD")
		}},
		{name: "done, undone and done again, which main has only once", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\n")
			f.git(f.tree, "revert", "--no-edit", "HEAD")
			f.put(f.tree, "new.txt", "new\n")
			f.change(f.tree, 40, "forty")
			f.change(f.main, 50, "fifty")
			f.pick("work~3", "work~2", "work")
			f.change(f.main, 40, "other")
		}},
		{name: "the same change was on main before, and was reverted", make: func(f fork) {
			f.put(f.main, "new.txt", "new\n")
			f.git(f.main, "revert", "--no-edit", "HEAD")
			f.git(f.tree, "reset", "-q", "--hard", "main")
			f.put(f.tree, "new.txt", "new\n")
			f.change(f.main, 50, "fifty")
		}},
		{name: "main has it in pieces", make: func(f fork) {
			f.put(f.tree, "new.txt", "new\nand more\n")
			f.put(f.main, "new.txt", "new\n")
			f.put(f.main, "new.txt", "new\nand more\n")
		}, want: landing.ByTree},
		{name: "main has it in pieces, and changed the line beside it", make: func(f fork) {
			f.change(f.main, 11, "eleven")
			f.two()
			f.change(f.main, 10, "ten")
			f.put(f.main, "new.txt", "new\n")
		}},
		{name: "main has it in pieces, and far away more", make: func(f fork) {
			f.write(filepath.Join(f.tree, "new.txt"), "new\n")
			f.change(f.tree, 10, "ten")
			f.change(f.main, 40, "forty")
			f.change(f.main, 10, "ten")
			f.put(f.main, "new.txt", "new\n")
		}, want: landing.ByTree},
		{name: "a rename", make: func(f fork) {
			f.git(f.tree, "mv", "long.txt", "renamed.txt")
			f.commit(f.tree, "renamed")
			f.put(f.tree, "new.txt", "new\n")
			f.squash()
		}, want: landing.BySquash, commits: 1},
		{name: "a change of what main has renamed", make: func(f fork) {
			f.change(f.tree, 10, "ten")
			f.git(f.main, "mv", "long.txt", "renamed.txt")
			f.commit(f.main, "renamed")
		}},
		{name: "a change of what main has renamed and changed so too", make: func(f fork) {
			f.change(f.tree, 10, "ten")
			f.change(f.main, 10, "TEN")
			f.git(f.main, "mv", "long.txt", "renamed.txt")
			f.commit(f.main, "renamed")
			path := filepath.Join(f.main, "renamed.txt")
			text := string(must.Get(os.ReadFile(path))(f))
			f.put(f.main, "renamed.txt", strings.Replace(text, "TEN", "ten", 1))
		}, want: landing.ByTree},
		{name: "a mode", make: func(f fork) {
			f.chmod(filepath.Join(f.tree, "long.txt"))
			f.commit(f.tree, "mode")
		}},
		{name: "a mode that has landed", make: func(f fork) {
			f.chmod(filepath.Join(f.tree, "long.txt"))
			f.commit(f.tree, "mode")
			f.put(f.main, "other.txt", "x\n")
			f.pick("work")
		}, want: landing.ByPatches, commits: 1},
		{name: "a file that main has with another mode", make: func(f fork) {
			f.put(f.tree, "run.sh", "x\n")
			f.chmod(filepath.Join(f.tree, "run.sh"))
			f.git(f.tree, "add", ".")
			f.git(f.tree, "commit", "-q", "--amend", "--no-edit")
			f.put(f.main, "run.sh", "x\n")
		}},
		{name: "a link, and on main a file of the same content", make: func(f fork) {
			must.Do(f, os.Symlink("a.txt", filepath.Join(f.tree, "link")))
			f.commit(f.tree, "link")
			f.put(f.main, "link", "a.txt")
		}},
		{name: "a binary file", make: func(f fork) {
			f.put(f.tree, "b.bin", "\x00one")
			f.put(f.main, "other.txt", "x\n")
			f.pick("work")
		}, want: landing.ByPatches, commits: 1},
		{name: "a binary file, and on main another one of that name", make: func(f fork) {
			f.put(f.tree, "b.bin", "\x00one")
			f.put(f.main, "b.bin", "\x00two")
		}},
		{name: "an empty file", make: func(f fork) {
			f.put(f.tree, "empty", "")
			f.change(f.main, 40, "forty")
			f.put(f.main, "empty", "")
			f.put(f.main, "empty", "not any more\n")
		}, want: landing.ByPatches, commits: 1},
		{name: "no newline at the end", make: func(f fork) {
			f.put(f.tree, "new.txt", "new")
			f.put(f.main, "new.txt", "new\n")
		}},
		{name: "lines that look like the head of a patch", make: func(f fork) {
			f.put(f.main, "patch", "-- a/x\nindex 1..2\n@@ -1 +1 @@\n")
			f.git(f.tree, "reset", "-q", "--hard", "main")
			f.put(f.tree, "patch", "index 3..4\n++ b/x\n@@ -1,9 +1,9 @@\n")
			f.put(f.main, "other.txt", "x\n")
			f.pick("work")
			f.put(f.main, "patch", "gone\n")
		}, want: landing.ByPatches, commits: 1},
		{name: "a removed file", make: func(f fork) {
			f.git(f.tree, "rm", "-q", "long.txt")
			f.commit(f.tree, "removed")
			f.put(f.main, "other.txt", "x\n")
			f.pick("work")
		}, want: landing.ByPatches, commits: 1},
		{name: "a removed file, which main has changed", make: func(f fork) {
			f.git(f.tree, "rm", "-q", "long.txt")
			f.commit(f.tree, "removed")
			f.change(f.main, 10, "ten")
		}},
		{name: "odd names", make: func(f fork) {
			for _, name := range []string{"new\nline", "with blank", "ünï", "tab\there", `"quoted"`} {
				f.write(filepath.Join(f.tree, name), "x\n")
			}
			f.commit(f.tree, "odd")
			f.put(f.tree, "more", "x\n")
			f.squash()
		}, want: landing.BySquash, commits: 1},
		{name: "a submodule that moved as on main", make: func(f fork) {
			f.link(f.tree, "sub", one)
			f.put(f.tree, "new.txt", "new\n")
			f.squash()
			f.link(f.main, "sub", two)
		}, want: landing.BySquash, commits: 1},
		{name: "a submodule that moved elsewhere than on main", make: func(f fork) {
			f.link(f.tree, "sub", one)
			f.link(f.main, "sub", two)
		}},
		{name: "several merge bases", make: func(f fork) {
			f.put(f.tree, "left.txt", "left\n")
			f.put(f.main, "right.txt", "right\n")
			left, right := f.git(f.tree, "rev-parse", "HEAD"), f.git(f.main, "rev-parse", "HEAD")
			f.git(f.tree, "merge", "-q", "--no-edit", right)
			f.git(f.main, "merge", "-q", "--no-edit", left)
			f.put(f.tree, "new.txt", "new\n")
			f.put(f.main, "new.txt", "new\n")
		}, want: unknown},
		{name: "another history", make: func(f fork) {
			f.git(f.tree, "checkout", "-q", "--orphan", "lone")
			f.commit(f.tree, "lone")
		}, want: unknown},
		{name: "a branch on a branch that was squashed", make: func(f fork) {
			f.two()
			f.squash()
			f.put(f.tree, "top.txt", "top\n")
			f.put(f.main, "top.txt", "top\n")
		}, want: landing.ByTree},
		{name: "the same lines in another place of the file", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.change(f.main, 33, "ten")
		}},
		{name: "the same lines in another place of the file, squashed with a new file", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.put(f.tree, "new.txt", "new\n")
			f.write(filepath.Join(f.main, "new.txt"), "new\n")
			f.change(f.main, 33, "ten")
		}},
		{name: "the same lines in another place, and later in the same one", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.change(f.main, 33, "ten")
			f.change(f.main, 23, "ten")
			f.change(f.main, 23, "ten, and more")
		}, want: landing.ByPatches, commits: 1},
		{name: "two of the same lines, which main has once in the same place", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.change(f.tree, 43, "ten")
			f.change(f.main, 33, "ten")
			f.change(f.main, 43, "ten")
		}},
		{name: "the same place, which other lines have moved down", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.change(f.main, 0, "first\nmore\nand more")
			f.change(f.main, 25, "ten")
		}, want: landing.ByPatches, commits: 1},
		{name: "the line of the same number, which other lines have moved down", make: func(f fork) {
			f.sections()
			f.change(f.tree, 23, "ten")
			f.change(f.main, 0, "first"+strings.Repeat("\nmore", 10))
			f.change(f.main, 23, "ten")
		}},
		{name: "a merge driver of the repository's own is not run", make: func(f fork) {
			f.git(f.main, "config", "merge.evil.driver", f.evil+" %A")
			f.git(f.main, "config", "diff.evil.command", f.evil)
			f.git(f.main, "config", "diff.evil.textconv", f.evil)
			f.git(f.main, "config", "diff.external", f.evil)
			f.write(filepath.Join(f.common, "info", "attributes"), "* merge=evil diff=evil\n")
			f.put(f.tree, ".gitattributes", "* merge=evil diff=evil\n")
			f.two()
			f.change(f.main, 40, "forty")
			f.change(f.main, 10, "other")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFork(t, tt.init...)
			tt.make(f)
			_ = f.ran()
			before := f.git(f.main, "count-objects", "-v")
			w := f.land()
			got := cmp.Or(w.Landing, &landing.Proof{By: unknown})
			if w.Landed == nil || *w.Landed || got.By != tt.want || len(got.Commits) != tt.commits {
				t.Errorf("landed %v, want %q by %d commits, got %+v", w.Landed, tt.want, tt.commits, w.Landing)
			}
			if ran := f.ran(); ran != "" {
				t.Errorf("a program of the repository's ran: %s", ran)
			}
			if after := f.git(f.main, "count-objects", "-v"); after != before {
				t.Errorf("objects were written into the repository:\n%s\n%s", before, after)
			}
		})
	}
}

var one, two = strings.Repeat("1", 40), strings.Repeat("2", 40)

// link commits a submodule that is at that commit.
func (f fork) link(dir, name, commit string) {
	f.Helper()
	must.Do(f, os.MkdirAll(filepath.Join(dir, name), 0o755))
	f.git(dir, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+name)
	f.git(dir, "commit", "-qm", name)
}
