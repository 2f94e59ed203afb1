package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestTrustedFolders(t *testing.T) {
	t.Parallel()
	base := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(base, name) }
	mkdir := func(name string, mode os.FileMode) {
		must.Do(t, errors.Join(os.MkdirAll(at(name), 0o700), os.Chmod(at(name), mode)))
	}
	mkdir("own", 0o700)
	mkdir("readable", 0o755)
	mkdir("writable", 0o777)
	mkdir("sticky", 0o777|os.ModeSticky)
	mkdir("open/own", 0o700)
	mkdir("open", 0o777)
	for name, to := range map[string]string{"link": "own", "linkToWritable": "writable", "dangling": "own/later"} {
		must.Do(t, os.Symlink(at(to), at(name)))
	}
	for name, trusted := range map[string]bool{
		"own": true, "readable": true, "link": true, "own/a/b": true, "sticky/a": true, "dangling": true,
		"writable": false, "sticky": false, "open/own": false, "open/a/b": false, "linkToWritable": false,
	} {
		if err := safeopen.Trusted(at(name)); (err == nil) != trusted || !trusted && !errors.Is(err, safeopen.ErrUntrusted) {
			t.Errorf("%s: want trusted %v, got %v", name, trusted, err)
		}
		unlock, err := lock.Take(filepath.Join(at(name), "lock"))
		if err == nil {
			_ = unlock()
		}
		if (err == nil) != (trusted && name != "dangling") {
			t.Errorf("%s: want a lock in it %v, got %v", name, trusted, err)
		}
	}
	if st, err := os.Stat(at("own/a/b")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("a folder that was made: want mode 0700, got %v, %v", st.Mode(), err)
	}
}

func TestAttackTheStateFolder(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Join(filepath.Dir(victim.Home), "shared")
	must.Do(t, errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777|os.ModeSticky)))
	at := func(name string) string { return filepath.Join(shared, name) }
	a := attack.New(t, "another user's folder or link where the state folder is to be")
	attacker.Mkdir(t, at("his"), 0o755)
	attacker.Mkdir(t, at("his/in"), 0o777)
	attacker.Link(t, victim.Home, at("link"))
	attacker.Mkdir(t, at("handed"), 0o777)
	must.Do(t, os.Mkdir(at("handed/in"), 0o700))
	for _, name := range []string{"his", "his/in", "his/later", "link", "link/in", "handed/in"} {
		err := safeopen.Trusted(at(name))
		if !errors.Is(err, safeopen.ErrUntrusted) {
			a.Lost("%s: want %v, got %v", name, safeopen.ErrUntrusted, err)
			continue
		}
		if _, err := lock.Take(at(name) + "/lock"); err == nil {
			a.Lost("%s: a lock was taken in it", name)
			continue
		}
		a.Held()
	}
}
