package project_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := project.Parse("f", []byte("version: 1\nprotected: [demo-*, ./a//b/, .,\n  {match: {path: x/, kind: dir}, why: y  z, who: me, until: 2026-12-01, rules: [reap.dirs.landed]}]\nlevels: {reap.dirs.landed: off}\n"))
	want := project.File{Version: 1, Levels: map[string]string{"reap.dirs.landed": "off"}}
	for _, glob := range []string{"demo-*", "a/b", "**"} {
		want.Protected = append(want.Protected, snapshot.Keep{Match: snapshot.Match{Path: glob}, File: "f", Line: 2})
	}
	want.Protected = append(want.Protected, snapshot.Keep{Match: snapshot.Match{Path: "x", Kind: "dir"}, Why: "y z", Who: "me", Until: "2026-12-01", Rules: []string{"reap.dirs.landed"}, File: "f", Line: 3})
	if err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("want %+v, got %+v, %v", want, f, err)
	}
	if _, err := project.Parse("f", []byte("version: 1\n")); err != nil {
		t.Errorf("one that asks for nothing: %v", err)
	}
}

// TestParseRefuses wants of everything that is more than the small schema, or not whole, that it is refused with a word about it.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                                            "is empty",
		"version: 2\n":                                "version is 2",
		"protected: [x]\n":                            "version is missing",
		"version: 1\nprotected: [/x]\n":               "is not relative",
		"version: 1\nprotected: ['~/x']\n":            "is not relative",
		"version: 1\nprotected: [a/../../b]\n":        "leads out",
		"version: 1\nprotected: ['..']\n":             "leads out",
		"version: 1\nprotected: ['{a,b}']\n":          "only *, ** and ? are special",
		"version: 1\nprotected: ['[a']\n":             "only *, ** and ? are special",
		"version: 1\nprotected: [\"a\\u0000\"]\n":     "cannot be printed",
		"version: 1\nprotected: ['']\n":               "empty text",
		"version: 1\nprotected: x\n":                  "it wants a list: [x]",
		"version: 1\nprotected:\n":                    "has no value",
		"version: 1\nholds: [{path: x, reason: y}]\n": `unknown key "holds"`,
		"version: 1\nprotected: [{match: {path: x}, who: y, until: never}]\n":           "protected[0].why is missing",
		"version: 1\nprotected: [{match: {path: x}, why: y, who: z}]\n":                 "protected[0].until is missing",
		"version: 1\nprotected: [{path: x}]\n":                                          `unknown key "protected[0].path"`,
		"version: 1\nprotected: [{match: {path: ~/x}}]\n":                               "is not relative",
		"version: 1\nprotected: [{match: {kind: dir}, why: y, who: z, until: never}]\n": "match has no id, path, label or owner",
		"version: 1\nprotected: [{match: {path: x}, line: 2}]\n":                        "winnow policy bundle alone writes it",
		"version: 1\nprotected: [1]\n":                                                  "it is no text",
		"version: 1\nprotected: [x, x]\n":                                               "the entry on line 2 keeps the same",
		"version: 1\nprotected: [&a x, *a]\n":                                           "an anchor",
		"version: 1\nlevels: {protect.live: off}\n":                                     "is no rule that reaps",
		"version: 1\nlevels: {reap.dirs.landed: ask}\n":                                 "off and nothing else",
		"version: 1\nlevels: [reap.dirs.landed]\n":                                      "is a list",
		"version: 1\nrules: {protected: []}\n":                                          `unknown key "rules"`,
		"version: 1\npolicy: {paths: [x]}\n":                                            `unknown key "policy"`,
		"version: 1\nprotected: [" + strings.Repeat("x,", 500) + "x]\n":                 "500 are the most",
		"version: 1\nprotected: [" + strings.Repeat("x", 501) + "]\n":                   "501 bytes",
	} {
		if f, err := project.Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: want %q, got %+v, %v", text, says, f, err)
		}
	}
}

// TestAWrongValueHasItsLine names the line of the entry that a second look refuses.
func TestAWrongValueHasItsLine(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"version: 1\nprotected:\n  - fine\n  - /x\n":                          `f:4: protected[1]: "/x" is not relative`,
		"version: 1\nlevels:\n  reap.dirs.landed: off\n  protect.live: off\n": `f:4: levels.protect.live: "protect.live" is no rule that reaps`,
		"version: 1\nprotected: x\n":                                          "f:2: protected is the single value",
	} {
		if _, err := project.Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: want %q, got %v", text, says, err)
		}
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := project.Store{State: filepath.Join(t.TempDir(), "state")}
	if all, err := s.All(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("before anything is trusted: %v, %v", all, err)
	}
	for _, text := range []string{"version: 1\n", "version: 1\nprotected: [x]\n"} {
		must.Do(t, s.Trust("/w/a", []byte(text), time.Now()))
	}
	all, err := s.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Says.Protected[0].Match.Path != "x" {
		t.Fatalf("the last content of one project: %+v, %v", all, err)
	}
	if st, err := os.Stat(filepath.Join(s.State, "trusted")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder is others' too: %v, %v", st.Mode(), err)
	}
	for i, want := range []bool{true, false} {
		if was, err := s.Revoke("/w/a"); err != nil || was != want {
			t.Errorf("revoke %d: %v, %v", i, was, err)
		}
	}
}

// TestAttackTheListOfWhatIsTrusted changes what is stored: it is an error, and never a list with something less or something else in it.
func TestAttackTheListOfWhatIsTrusted(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "what is stored of a trusted project is changed, cut short, moved to another project or replaced by a link")
	for name, change := range map[string]func(file string, data []byte) error{
		"another text": func(f string, d []byte) error {
			return os.WriteFile(f, []byte(strings.Replace(string(d), "[x]", "[y]", 1)), 0o600)
		},
		"another project": func(f string, d []byte) error {
			return os.WriteFile(f, []byte(strings.Replace(string(d), "/w/a", "/w/b", 1)), 0o600)
		},
		"another place": func(f string, _ []byte) error { return os.Rename(f, filepath.Join(filepath.Dir(f), "other.json")) },
		"half of it":    func(f string, d []byte) error { return os.WriteFile(f, d[:len(d)/2], 0o600) },
		"nothing of it": func(f string, _ []byte) error { return os.WriteFile(f, nil, 0o600) },
		"for everybody": func(f string, _ []byte) error { return os.Chmod(f, 0o666) },
		"a link": func(f string, d []byte) error {
			return errors.Join(os.Remove(f), os.WriteFile(f+".x", d, 0o600), os.Symlink(f+".x", f))
		},
		"a folder": func(f string, _ []byte) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) },
		"huge":     func(f string, _ []byte) error { return os.Truncate(f, 8<<30) },
	} {
		s := project.Store{State: t.TempDir()}
		must.Do(t, s.Trust("/w/a", []byte("version: 1\nprotected: [x]\n"), time.Now()))
		files, err := filepath.Glob(filepath.Join(s.State, "trusted", "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		data := must.Get(os.ReadFile(files[0]))(t)
		must.Do(t, change(files[0], data))
		if all, err := s.All(t.Context()); err == nil {
			a.Lost("%s: it was read as %+v", name, all)
			continue
		}
		a.Held()
	}
}

// TestAttackAnEntryOfAWorktree adds entries to a repository that lead to folders which are not its worktrees.
func TestAttackAnEntryOfAWorktree(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	run := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, repo := range []string{"main", "other"} {
		run("init", "-q", repo)
		run("-C", repo, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "x")
		run("-C", repo, "worktree", "add", "-q", "--detach", "../"+repo+"-wt")
	}
	main := filepath.Join(dir, "main")
	list := func() string {
		got := must.Get(project.Worktrees(t.Context(), main))(t)
		return strings.Join(got, " ")
	}
	want := filepath.Join(dir, "main-wt")
	if got := list(); got != want {
		t.Fatalf("want %s, got %s", want, got)
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "plain"), 0o755))
	a := attack.New(t, "an entry of a repository's worktrees leads to a folder that is not one of them")
	admin := filepath.Join(main, ".git", "worktrees", "evil")
	for name, gitdir := range map[string]string{
		"another repository's worktree": filepath.Join(dir, "other-wt", ".git"), "another main checkout": filepath.Join(dir, "other", ".git"),
		"a plain folder": filepath.Join(dir, "plain", ".git"), "a relative way out": "../../../../other-wt/.git", "the root": "/.git",
		"its own main checkout": filepath.Join(main, ".git"), "nothing": "", "two lines": want + "/.git\n/", "a device": "/dev/zero",
	} {
		must.Do(t, errors.Join(os.MkdirAll(admin, 0o755), os.WriteFile(filepath.Join(admin, "gitdir"), []byte(gitdir+"\n"), 0o644)))
		if got := list(); got != want {
			a.Lost("%s: %s", name, got)
			continue
		}
		a.Held()
	}
}

// FuzzProject holds of any text that reading it ends, and that nothing that is read leads out of the project or says more than it may.
func FuzzProject(f *testing.F) {
	f.Add("version: 1\nprotected: [demo-*, {match: {path: bench}, why: x, who: y, until: never}]\nlevels: {reap.dirs.landed: off}\n")
	f.Add("version: 1\nprotected: ['../**', /, '~']\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := project.Parse("f", []byte(text))
		if err != nil {
			return
		}
		for _, k := range got.Protected {
			if p := k.Match.Path; p == "" && k.Match.ID+k.Match.Label+k.Match.Owner == "" || filepath.IsAbs(p) || strings.HasPrefix(filepath.Clean(p), "..") || strings.ContainsAny(p, `[]{}!\`) {
				t.Errorf("%q was read from %q", p, text)
			}
		}
		for rule, level := range got.Levels {
			if level != "off" || !strings.HasPrefix(rule, "reap.") {
				t.Errorf("%s: %s was read from %q", rule, level, text)
			}
		}
		if again, err := project.Parse("f", []byte(text)); err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("it reads another way the second time: %+v, %v", again, err)
		}
	})
}
