package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/machine"
)

// User is a user of the machine whom a test plays. It needs no entry in /etc/passwd.
type User struct {
	UID, GID uint32
	// Home is a folder of that user's own, with the rights 0700.
	Home string
}

// The users whom tests play: above what systems give to people and services, below the one of the user nobody, and within what a
// container maps.
const (
	firstUID = 40_000
	users    = 10_000
)

// Users gives two users who are not this one: a victim and an attacker. Their homes lie in a folder that both can enter, and go when
// the test has ended. Only root can play others: for other users the test is skipped, with a message.
func Users(t *testing.T) (victim, attacker User) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can play two other users")
	}
	// t.TempDir lies in a folder that only root may enter.
	base, err := os.MkdirTemp(machine.Temp(), "winnow-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	uid := uint32(firstUID + machine.Unique()%users) // tests that run at the same time play other users
	victim = user(t, base, "victim", uid)
	attacker = user(t, base, "attacker", uid+users)
	return victim, attacker
}

func user(t *testing.T, base, name string, uid uint32) User {
	t.Helper()
	u := User{UID: uid, GID: uid, Home: filepath.Join(base, name)}
	u.Mkdir(t, u.Home, 0o700)
	return u
}

// Mkdir makes a folder that belongs to u.
func (u User) Mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	u.own(t, path)
}

// Write writes a file that belongs to u.
func (u User) Write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	u.own(t, path)
}

// Link makes a symbolic link that belongs to u.
func (u User) Link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	u.own(t, path)
}

func (u User) own(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, int(u.UID), int(u.GID)); err != nil {
		t.Fatal(err)
	}
}

// Command is a program that u runs in u's home, with nothing of this process's environment but the path to programs.
func (u User) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = u.Home
	cmd.Env = []string{"HOME=" + u.Home, "USER=uid" + strconv.Itoa(int(u.UID)), "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID}, Setpgid: true}
	return cmd
}
