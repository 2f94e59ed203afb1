package dirs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// facts are those of a Dir that these tests are about.
type facts struct {
	Checkout, Worktree, Registered, Detached, Locked, Landed *bool
	Commits, Unreachable, Dirty, Untracked, Ignored          *int
	Operation                                                *string
	Nested, IgnoredPaths                                     *[]string
	Skipped, Error                                           string
}

func of(d snapshot.Dir) facts {
	f := facts{Checkout: d.Checkout, Skipped: d.Skipped, Error: d.Error}
	if g := d.Git; g != nil {
		f.Worktree, f.Registered, f.Detached, f.Locked, f.Landed = g.Worktree, g.Registered, g.Detached, g.Locked, g.Landed
		f.Commits, f.Unreachable, f.Dirty, f.Untracked, f.Ignored = g.Commits, g.Unreachable, g.Dirty, g.Untracked, g.Ignored
		f.Operation, f.Nested, f.IgnoredPaths = g.Operation, g.Nested, g.IgnoredPaths
	}
	return f
}

// clean are the facts of a worktree with nothing in it that is not on origin's main.
func clean() facts {
	return facts{
		Checkout: new(true), Worktree: new(true), Registered: new(true), Detached: new(false), Locked: new(false),
		Landed: new(true), Commits: new(1), Unreachable: new(0), Dirty: new(0), Untracked: new(0), Ignored: new(0),
		Operation: new(""), Nested: &[]string{}, IgnoredPaths: &[]string{},
	}
}

// unasked takes away what only git status and a walk tell.
func (f *facts) unasked(why string) {
	f.Dirty, f.Untracked, f.Ignored, f.Nested, f.IgnoredPaths, f.Skipped = nil, nil, nil, nil, nil, why
}

// by gives what makes a worktree in that way and then changes it.
func by(way func(*world, string) string) func(change func(w *world, p string)) func(*world) string {
	return func(change func(w *world, p string)) func(*world) string {
		return func(w *world) string {
			p := way(w, "x")
			change(w, p)
			return p
		}
	}
}

var landed, registered, detached, branch = by((*world).landed), by((*world).registered), by((*world).detached), by((*world).branch)

const ownCommits = "it has commits that nothing else reaches"

func TestFacts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// make makes a worktree and gives its path.
		make func(w *world) string
		want func(f *facts)
	}{
		{"clean and landed", func(w *world) string { return w.landed("x") }, func(*facts) {}},
		{"changed file", landed(func(w *world, p string) { w.write(filepath.Join(p, "a.txt"), "two\n") }),
			func(f *facts) { f.Dirty = new(1) }},
		{"deleted file", landed(func(w *world, p string) { w.git(p, "rm", "-q", "--cached", "a.txt") }),
			func(f *facts) { f.Dirty = new(1) }},
		{"staged file", landed(func(w *world, p string) {
			w.write(filepath.Join(p, "new.txt"), "two\n")
			w.git(p, "add", "new.txt")
		}), func(f *facts) { f.Dirty = new(1) }},
		{"staged rename", landed(func(w *world, p string) { w.git(p, "mv", "a.txt", "b.txt") }), func(f *facts) { f.Dirty = new(2) }},
		{"untracked files with odd names", landed(func(w *world, p string) {
			for _, name := range []string{"new\nline", "with blank", "ünï", "! a"} {
				w.write(filepath.Join(p, "sub", name), "x")
			}
		}), func(f *facts) { f.Untracked = new(4) }},
		{"R1 ignored .env", landed(func(w *world, p string) { w.write(filepath.Join(p, ".env"), "SECRET=1\n") }),
			func(f *facts) { f.Ignored, f.IgnoredPaths = new(1), &[]string{".env"} }},
		{"ignored marker of another tool", landed(func(w *world, p string) {
			w.write(filepath.Join(w.main, ".git", "info", "exclude"), ".shepherd-*\n")
			w.write(filepath.Join(p, ".shepherd-notes"), "x")
		}), func(f *facts) { f.Ignored, f.IgnoredPaths = new(1), &[]string{".shepherd-notes"} }},
		{"many ignored files", landed(func(w *world, p string) {
			for _, n := range []string{"1", "2", "3", "4", "5", "6", "7"} {
				w.write(filepath.Join(p, n+".log"), "x")
			}
		}), func(f *facts) {
			f.Ignored, f.IgnoredPaths = new(7), &[]string{"1.log", "2.log", "3.log", "4.log", "5.log", "6.log", "7.log"}
		}},
		{"ignored and rebuildable", landed(func(w *world, p string) {
			w.write(filepath.Join(p, "node_modules", "left-pad", "index.js"), "x")
			w.write(filepath.Join(p, "web", "node_modules", "index.js"), "x")
		}), func(*facts) {}},
		{"R6 symbolic link instead of a rebuildable folder", landed(func(w *world, p string) {
			w.write(filepath.Join(w.dir, "shared", "x.js"), "x")
			w.link(filepath.Join(w.dir, "shared"), filepath.Join(p, "node_modules"))
		}), func(*facts) {}},
		{"repository inside a rebuildable folder", landed(func(w *world, p string) { w.git(p, "clone", "-q", w.origin, "node_modules/dep") }),
			func(f *facts) {
				f.Ignored, f.IgnoredPaths, f.Nested = new(1), &[]string{"node_modules/"}, &[]string{"node_modules/dep"}
			}},
		{"R2 ignored nested worktree", landed(func(w *world, p string) { w.git(p, "worktree", "add", "-q", "--detach", "inner/wt") }),
			func(f *facts) {
				f.Ignored, f.IgnoredPaths, f.Nested = new(1), &[]string{"inner/"}, &[]string{"inner/wt"}
			}},
		{"R3 ignored nested clone", landed(func(w *world, p string) { w.git(p, "clone", "-q", w.origin, "inner/clone") }), func(f *facts) {
			f.Ignored, f.IgnoredPaths, f.Nested = new(1), &[]string{"inner/"}, &[]string{"inner/clone"}
		}},
		{"nested bare clone", landed(func(w *world, p string) { w.git(p, "clone", "-q", "--bare", w.origin, "inner/b.git") }),
			func(f *facts) {
				f.Ignored, f.IgnoredPaths, f.Nested = new(1), &[]string{"inner/"}, &[]string{"inner/b.git"}
			}},
		{"submodule", landed(func(w *world, p string) {
			w.git(p, "submodule", "--quiet", "add", w.origin, "sub")
			w.git(p, "commit", "-q", "-m", "submodule")
			w.git(p, "push", "-q", "origin", "HEAD:main")
		}), func(f *facts) { f.Commits = new(2) }},
		{"submodule that was never filled", func(w *world) string { return w.registered("x") },
			func(f *facts) { f.Commits = new(2) }},
		{"submodule that was never filled, whose name is several folders deep", landed(func(w *world, p string) {
			w.gitlink(p, "third/party/sub")
			w.mkdir(filepath.Join(p, "third/party/sub"))
			w.git(p, "push", "-q", "origin", "HEAD:main")
		}), func(f *facts) { f.Commits = new(2) }},
		{"submodule that was never filled, left out of a sparse checkout", registered(func(w *world, p string) {
			w.git(p, "sparse-checkout", "set", "--no-cone", "/x.txt", "/.gitignore", "/a.txt")
		}), func(f *facts) { f.Commits = new(2) }},
		{"submodule without a repository, with a file in its folder that git does not look at", registered(func(w *world, p string) { w.write(filepath.Join(p, "sub", "notes"), "work\n") }),
			func(f *facts) {
				f.Commits, f.Nested = new(2), &[]string{"submodule sub: its folder is not empty, and is no repository"}
			}},
		{"submodule without a repository, with an empty folder in its folder", registered(func(w *world, p string) { w.mkdir(filepath.Join(p, "sub", "in")) }),
			func(f *facts) {
				f.Commits, f.Nested = new(2), &[]string{"submodule sub: its folder is not empty, and is no repository"}
			}},
		{"submodule whose folder is a link to one that is empty", registered(func(w *world, p string) {
			w.remove(filepath.Join(p, "sub"))
			w.mkdir(filepath.Join(w.dir, "empty"))
			w.link(filepath.Join(w.dir, "empty"), filepath.Join(p, "sub"))
		}), func(f *facts) {
			f.Commits, f.Dirty, f.Nested = new(2), new(1), &[]string{"submodule sub: a link leads to it"}
		}},
		{"submodule whose folder was removed", registered(func(w *world, p string) { w.remove(filepath.Join(p, "sub")) }),
			func(f *facts) { f.Commits, f.Dirty = new(2), new(1) }},
		{"submodule in a folder that is a link", landed(func(w *world, p string) {
			w.gitlink(p, "third/sub")
			w.git(p, "push", "-q", "origin", "HEAD:main")
			w.remove(filepath.Join(p, "third"))
			w.mkdir(filepath.Join(w.dir, "else", "sub"))
			w.link(filepath.Join(w.dir, "else"), filepath.Join(p, "third"))
		}), func(f *facts) {
			f.Commits, f.Dirty, f.Untracked = new(2), new(1), new(1)
			f.Nested = &[]string{"submodule third/sub: a link leads to it"}
		}},
		{"submodule that was filled and deinitialised: its repository is in the admin folder", landed(func(w *world, p string) {
			w.git(p, "submodule", "--quiet", "add", w.origin, "sub")
			w.git(p, "commit", "-q", "-m", "submodule")
			w.git(p, "push", "-q", "origin", "HEAD:main")
			w.git(p, "submodule", "--quiet", "deinit", "-f", "sub")
		}), func(f *facts) { f.Commits, f.Nested = new(2), &[]string{"submodule sub: only its git folder is there"} }},
		{"submodule that was never filled here, and is in the main checkout", func(w *world) string {
			w.git(w.main, "submodule", "--quiet", "add", w.origin, "sub")
			w.git(w.main, "commit", "-q", "-m", "submodule")
			w.git(w.main, "push", "-q", "origin", "main")
			return w.branch("x")
		}, func(f *facts) { f.Commits = new(0) }},
		{"submodule whose folder is gone and whose repository is not", landed(func(w *world, p string) {
			w.git(p, "submodule", "--quiet", "add", w.origin, "sub")
			w.git(p, "rm", "-q", "--cached", "sub", ".gitmodules")
			for _, n := range []string{"sub", ".gitmodules"} {
				w.remove(filepath.Join(p, n))
			}
		}), func(f *facts) { f.Nested = &[]string{"submodule sub: only its git folder is there"} }},
		{"R4 detached with a commit of its own", detached(func(w *world, p string) { w.commit(p, "own.txt") }), func(f *facts) {
			f.Detached, f.Landed, f.Unreachable = new(true), new(false), new(1)
			f.unasked(ownCommits)
		}},
		{"detached at what a branch keeps", detached(func(w *world, p string) {
			w.commit(p, "own.txt")
			w.git(p, "branch", "kept")
		}), func(f *facts) { f.Detached, f.Landed = new(true), new(false) }},
		{"detached at what a tag keeps", detached(func(w *world, p string) {
			w.commit(p, "own.txt")
			w.git(p, "tag", "-a", "-m", "kept", "v1")
		}), func(f *facts) { f.Detached, f.Landed = new(true), new(false) }},
		{"commits that only another worktree has as well", detached(func(w *world, p string) {
			oid := w.commit(p, "own.txt")
			w.git(w.main, "worktree", "add", "-q", "--detach", filepath.Join(w.wts, "y"), oid)
		}), func(f *facts) {
			f.Detached, f.Landed, f.Unreachable = new(true), new(false), new(1)
			f.unasked(ownCommits)
		}},
		{"branch with commits that were not pushed", branch(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.commit(p, "two.txt")
		}), func(f *facts) { f.Landed, f.Commits = new(false), new(2) }},
		{"R8 branch that nothing was done on", func(w *world) string { return w.branch("x") },
			func(f *facts) { f.Commits = new(0) }},
		{"squash merge", branch(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.commit(p, "two.txt")
			w.git(w.main, "merge", "-q", "--squash", "x")
			w.git(w.main, "commit", "-q", "-m", "squashed")
			w.git(w.main, "push", "-q", "origin", "main")
		}), func(f *facts) { f.Landed, f.Commits = new(false), new(2) }},
		{"amended on a branch, whose reflog keeps it", landed(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.git(p, "commit", "-q", "--amend", "-m", "again")
		}), func(f *facts) { f.Landed, f.Commits = new(false), new(3) }},
		{"amended while detached, which only its reflog tells", detached(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.git(p, "commit", "-q", "--amend", "-m", "again")
			w.git(p, "branch", "kept")
		}), func(f *facts) {
			f.Detached, f.Landed, f.Commits, f.Unreachable = new(true), new(false), new(2), new(1)
			f.unasked(ownCommits)
		}},
		{"reset away from a commit while detached", detached(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.commit(p, "two.txt")
			w.git(p, "reset", "-q", "--hard", "origin/main")
		}), func(f *facts) {
			f.Detached, f.Commits, f.Unreachable = new(true), new(2), new(2)
			f.unasked(ownCommits)
		}},
		{"ref of the worktree's own", landed(func(w *world, p string) {
			tree := w.git(p, "rev-parse", "HEAD^{tree}")
			oid := w.git(p, "commit-tree", "-m", "kept aside", tree)
			w.git(p, "update-ref", "refs/worktree/aside", oid)
		}), func(f *facts) {
			f.Unreachable = new(1)
			f.unasked(ownCommits)
		}},
		{"stash is shared", landed(func(w *world, p string) {
			for _, text := range []string{"two\n", "three\n"} {
				w.write(filepath.Join(p, "a.txt"), text)
				w.git(p, "stash", "-q")
			}
		}), func(*facts) {}},
		{"branch deleted from under it", branch(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.git(w.main, "update-ref", "-d", "refs/heads/x")
			w.write(filepath.Join(w.main, ".git", "logs", "refs", "heads", "x"), strings.Repeat("0", 40)+" "+
				w.git(w.main, "rev-parse", "origin/main")+" t <t@example.org> 1 +0000\tbranch: Created\n")
		}), func(f *facts) {
			f.Landed, f.Unreachable = nil, new(1)
			f.Error = "read HEAD: resolve refs/heads/x: file does not exist"
			f.unasked(ownCommits)
		}},
		{"R9 locked", landed(func(w *world, p string) { w.git(w.main, "worktree", "lock", "--reason", "mine", p) }), func(f *facts) {
			f.Locked = new(true)
			f.unasked("it is locked")
		}},
		{"stopped rebase", branch(func(w *world, p string) {
			w.commit(p, "one.txt")
			w.write(filepath.Join(p, "a.txt"), "theirs\n")
			w.git(p, "commit", "-qam", "theirs")
			w.git(w.main, "commit", "-q", "--allow-empty", "-m", "ours")
			if out, err := w.try(p, "-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-q", "-i", "main"); err != nil {
				w.Fatal(out)
			}
		}), func(f *facts) {
			// The commit that the rebase stopped at is on no branch yet.
			f.Detached, f.Landed, f.Commits, f.Unreachable, f.Operation = new(true), new(false), new(3), new(1), new("rebase")
			f.unasked(ownCommits)
		}},
		{"conflicting merge", landed(func(w *world, p string) {
			w.write(filepath.Join(w.main, "a.txt"), "ours\n")
			w.git(w.main, "commit", "-qam", "ours")
			w.write(filepath.Join(p, "a.txt"), "theirs\n")
			w.git(p, "commit", "-qam", "theirs")
			w.git(p, "push", "-q", "origin", "HEAD:main")
			if _, err := w.try(p, "merge", "main"); err == nil {
				w.Fatal("no conflict")
			}
		}), func(f *facts) { f.Commits, f.Dirty, f.Operation = new(2), new(1), new("merge") }},
		{"bisect", landed(func(w *world, p string) { w.git(p, "bisect", "start") }), func(f *facts) { f.Operation = new("bisect") }},
		{"skip-worktree of a file that is not there", landed(func(w *world, p string) { w.git(p, "sparse-checkout", "set", "--no-cone", "/x.txt", "/.gitignore") }), func(*facts) {}},
		{"index of version 4", landed(func(w *world, p string) {
			for _, name := range []string{"dir/aaa", "dir/aab", "dir/b"} {
				w.write(filepath.Join(p, name), name)
			}
			w.git(p, "add", "dir")
			w.git(p, "update-index", "--index-version", "4")
		}), func(f *facts) { f.Dirty = new(3) }},
		{"no checkout was made", func(w *world) string {
			p := filepath.Join(w.wts, "x")
			w.git(w.main, "worktree", "add", "-q", "--no-checkout", "-b", "x", p, "origin/main")
			return p
		}, func(f *facts) { f.Commits = new(0) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := tt.make(newWorld(t))
			want := clean()
			tt.want(&want)
			must.Equal(t, want, of(one(t, options(), path)), "result")
		})
	}
}

// TestUnknown holds that what cannot be read is absent and said, and never zero.
func TestUnknown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(w *world) string
		want func(f *facts)
		err  string
	}{
		{"assume-unchanged hides a change", landed(func(w *world, p string) {
			w.git(p, "update-index", "--assume-unchanged", "a.txt")
			w.write(filepath.Join(p, "a.txt"), "hidden\n")
		}), func(f *facts) { f.Dirty = nil }, "assume-unchanged"},
		{"skip-worktree hides a change", landed(func(w *world, p string) {
			w.git(p, "update-index", "--skip-worktree", "a.txt")
			w.write(filepath.Join(p, "a.txt"), "hidden\n")
		}), func(f *facts) { f.Dirty = nil }, "skip-worktree"},
		{"split index", landed(func(w *world, p string) { w.git(p, "update-index", "--split-index") }),
			func(f *facts) { f.Dirty, f.Nested = nil, nil }, "split over two files"},
		{"damaged index", landed(func(w *world, p string) {
			w.write(filepath.Join(w.admin(p), "index"), "DIRC and nothing that makes sense whatsoever")
		}), func(f *facts) { f.unasked("") }, "ask git for the content"},
		{"broken .git file", func(w *world) string {
			p := filepath.Join(w.wts, "x")
			w.write(filepath.Join(p, ".git"), "what?\n")
			return p
		}, func(f *facts) { *f = facts{Checkout: new(true)} }, "does not begin with"},
		{"its repository is missing", landed(func(w *world, p string) { w.remove(filepath.Dir(filepath.Dir(w.admin(p)))) }),
			func(f *facts) { *f = facts{Checkout: new(true), Worktree: new(true), Registered: new(false)} },
			"not a git repository"},
		{"its repository is missing with all that lay beside it", landed(func(w *world, p string) { w.remove(filepath.Dir(filepath.Dir(filepath.Dir(w.admin(p))))) }),
			func(f *facts) { *f = facts{Checkout: new(true), Worktree: new(true), Registered: new(false)} }, "is gone"},
		{"empty .git folder", func(w *world) string {
			p := filepath.Join(w.wts, "x")
			w.mkdir(filepath.Join(p, ".git"))
			return p
		}, func(f *facts) { *f = facts{Checkout: new(true)} }, "not a git repository"},
		{".git is a link to nothing", func(w *world) string {
			p := filepath.Join(w.wts, "x")
			w.write(filepath.Join(p, "a"), "")
			w.link("nowhere", filepath.Join(p, ".git"))
			return p
		}, func(f *facts) { *f = facts{Checkout: new(true)} }, "symbolic link to nothing"},
		{"HEAD's commit does not exist", landed(func(w *world, p string) { w.write(filepath.Join(w.admin(p), "HEAD"), strings.Repeat("1", 40)+"\n") }),
			func(f *facts) {
				f.Detached, f.Landed, f.Unreachable = new(true), nil, nil
				f.unasked("it is not known whether only it has some commits")
			}, "its commit does not exist"},
		{"garbled HEAD", landed(func(w *world, p string) { w.write(filepath.Join(w.admin(p), "HEAD"), "ref: refs/heads/../../x\n") }),
			func(f *facts) {
				f.Detached, f.Landed, f.Commits, f.Unreachable = nil, nil, nil, nil
				f.unasked("it is not known whether only it has some commits")
			}, "impossible name"},
		{"garbled reflog", landed(func(w *world, p string) { w.write(filepath.Join(w.admin(p), "logs", "HEAD"), "\x00\x00\x00\n") }),
			func(f *facts) {
				f.Commits, f.Unreachable = nil, nil
				f.unasked("it is not known whether only it has some commits")
			}, "is no entry"},
		{"reflog is missing", landed(func(w *world, p string) { w.remove(filepath.Join(w.admin(p), "logs", "HEAD")) }),
			func(f *facts) { f.Commits = nil }, ""},
		{"configuration is invalid", landed(func(w *world, p string) { w.write(filepath.Join(w.main, ".git", "config"), "[core\n") }),
			func(f *facts) {
				*f = facts{Checkout: new(true), Worktree: new(true)}
			}, "is no git configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := tt.make(newWorld(t))
			want := clean()
			tt.want(&want)
			got := of(one(t, options(), path))
			if tt.err == "" != (got.Error == "") || !strings.Contains(got.Error, tt.err) {
				t.Errorf("want an error with %q, got %q", tt.err, got.Error)
			}
			got.Error = ""
			must.Equal(t, want, got, "result")
		})
	}
}
