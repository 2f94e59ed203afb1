package tower

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"winnow/testkit/attack"
)

// What stands in the key's place is not sent anywhere, and reading it ends.
func TestAttackTheKeysFile(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Dir(victim.Home)
	folder := func(name string, mode os.FileMode) string {
		dir := filepath.Join(shared, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	key := strings.Repeat("a", 64)
	own := func(dir string) string {
		if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fifo, his, link, zero, long, open, writable := folder("fifo", 0o700), folder("his", 0o755), folder("link", 0o755), folder("zero", 0o700),
		folder("long", 0o700), own(folder("open", 0o777)), own(folder("writable", 0o755))
	if err := errors.Join(syscall.Mkfifo(filepath.Join(fifo, keyFile), 0o600), os.Symlink("/dev/zero", filepath.Join(zero, keyFile)),
		os.WriteFile(filepath.Join(long, keyFile), []byte(strings.Repeat("k", 1<<20)), 0o600), os.Chmod(filepath.Join(writable, keyFile), 0o666)); err != nil {
		t.Fatal(err)
	}
	attacker.Write(t, filepath.Join(his, keyFile), key, 0o644)
	attacker.Link(t, filepath.Join(own(folder("target", 0o700)), keyFile), filepath.Join(link, keyFile))
	a := attack.New(t, "a FIFO, a device, a long file, another user's file or link, or a file that others can write as the key to the Tower")
	for _, home := range []string{fifo, his, link, zero, long, open, writable} {
		began := time.Now()
		got, _, err := Key(home, "")
		switch {
		case got != "" || err == nil:
			a.Lost("%s: a key was read", home)
		case strings.Contains(err.Error(), key):
			a.Lost("%s: the key is in the error", home)
		case time.Since(began) > 3*time.Second:
			a.Lost("%s: it took %s", home, time.Since(began))
		default:
			a.Held()
		}
	}
	if got, own, err := Key(filepath.Join(shared, "target"), ""); got != key || !own || err != nil {
		t.Errorf("the honest key: %v, %v", own, err)
	}
}
