package gitsafe

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func repository(t *testing.T) string {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	cmd := exec.Command("git", "init", "-q", dir)
	cmd.Env = Environ(os.Environ())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return filepath.Join(dir, ".git")
}

// TestTheIndexKeepsItsTime: git compares files again that are as young as the index. With a later time it would overlook changes.
func TestTheIndexKeepsItsTime(t *testing.T) {
	t.Parallel()
	mod := time.Unix(1_700_000_000, 123_456_789)
	f := must.Get(inMemory([]byte("index"), mod))(t)
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.ModTime().Equal(mod) || info.Size() != 5 {
		t.Errorf("want %s, got %v, %v", mod, info, err)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	r := must.Get(Program{}.Open(t.Context(), repository(t)))(t)
	for _, v := range []View{{}, {Refs: true}, {Tree: filepath.Dir(r.Common)}} {
		s := must.Get(r.Seal(t.Context(), v))(t)
		info, err := os.Stat(s.dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("want a folder that no other user can enter, got %v, %v", info, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Output(ctx, "", "status"); !errors.Is(err, context.Canceled) {
			t.Errorf("want context.Canceled, got %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", s.dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Common, "refs", "heads")); err != nil {
		t.Errorf("the repository's own refs: %v", err)
	}
}

func TestGitThatIsNone(t *testing.T) {
	t.Parallel()
	if err := (Program{}).Answers(t.Context()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	for name, script := range map[string]string{"fails": "exit 1", "is another": "echo hello", "is missing": "", "may not be run": "-"} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if script != "" {
			mode := os.FileMode(0o700)
			if script == "-" {
				mode = 0o600
			}
			must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), mode))
		}
		if err := (Program{Path: path}).Answers(t.Context()); !errors.Is(err, ErrNoGit) || !strings.Contains(err.Error(), "install git") {
			t.Errorf("one that %s: got %v", name, err)
		}
	}
}

// TestAttackARepositoryOfAnotherUser puts what another user owns, or can write, in the place of each part of a repository.
func TestAttackARepositoryOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	_ = victim
	a := attack.New(t, "a repository, its objects, what it borrows, or its configuration belongs to another user")
	for name, set := range map[string]func(common string){
		"the repository":         func(common string) { chown(t, common, attacker) },
		"the objects":            func(common string) { chown(t, filepath.Join(common, "objects"), attacker) },
		"the configuration":      func(common string) { attacker.Write(t, filepath.Join(common, "config"), "[core]\n", 0o644) },
		"the patterns":           func(common string) { attacker.Write(t, filepath.Join(common, "info", "exclude"), "*\n", 0o644) },
		"the attributes":         func(common string) { attacker.Write(t, filepath.Join(common, "info", "attributes"), "*\n", 0o644) },
		"the list of boundaries": func(common string) { attacker.Write(t, filepath.Join(common, "shallow"), "x\n", 0o644) },
		"the list of what it borrows": func(common string) {
			attacker.Write(t, filepath.Join(common, "objects", "info", "alternates"), "/none\n", 0o644)
		},
		"what it borrows": func(common string) {
			attacker.Mkdir(t, filepath.Join(attacker.Home, "objects"), 0o755)
			write(t, filepath.Join(common, "objects", "info", "alternates"), filepath.Join(attacker.Home, "objects")+"\n")
		},
		"what is borrowed by what it borrows": func(common string) {
			near := filepath.Join(filepath.Dir(common), "near")
			must.Do(t, os.MkdirAll(filepath.Join(near, "info"), 0o755))
			attacker.Mkdir(t, filepath.Join(attacker.Home, "far"), 0o755)
			write(t, filepath.Join(near, "info", "alternates"), filepath.Join(attacker.Home, "far")+"\n")
			write(t, filepath.Join(common, "objects", "info", "alternates"), "../../near\n")
		},
	} {
		common := repository(t)
		set(common)
		if _, err := (Program{}).Open(t.Context(), common); !errors.Is(err, safeopen.ErrOwner) {
			a.Lost("%s: want %v, got %v", name, safeopen.ErrOwner, err)
			continue
		}
		a.Held()
	}
	common := repository(t)
	must.Do(t, os.Chmod(common, 0o777))
	if _, err := (Program{}).Open(t.Context(), common); !errors.Is(err, safeopen.ErrWritable) {
		a.Lost("a repository that others can write: got %v", err)
	} else {
		a.Held()
	}
}

func chown(t *testing.T, path string, u attack.User) {
	t.Helper()
	must.Do(t, os.Lchown(path, int(u.UID), int(u.GID)))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}
