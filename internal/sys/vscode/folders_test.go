package vscode

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestFolders(t *testing.T) {
	t.Parallel()
	own, uid := t.TempDir(), os.Geteuid()
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(own, link))
	me := "winnow-" + strconv.Itoa(uid)
	tmp := filepath.Join("/tmp", me, "editors")
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing":                          {nil, []string{tmp}},
		"a runtime folder of this user":    {map[string]string{"XDG_RUNTIME_DIR": own}, []string{filepath.Join(own, "winnow/editors"), tmp}},
		"a runtime folder by a link":       {map[string]string{"XDG_RUNTIME_DIR": link}, []string{tmp}},
		"a runtime folder that is missing": {map[string]string{"XDG_RUNTIME_DIR": own + "/x"}, []string{tmp}},
		"a relative one":                   {map[string]string{"XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}, []string{tmp}},
		"a folder for temporary files":     {map[string]string{"TMPDIR": "/somewhere/"}, []string{filepath.Join("/somewhere", me, "editors")}},
		"the usual one":                    {map[string]string{"TMPDIR": "/tmp"}, []string{tmp}},
	} {
		got := Folders(func(name string) string { return c.env[name] }, uid)
		if of := filepath.Join(runtimes, strconv.Itoa(uid)); belongs(of, uid) { // where this machine has it
			got = without(got, filepath.Join(of, "winnow/editors"))
		}
		must.Equal(t, len(c.want), len(got), "%s: folders %v", name, got)
		for _, dir := range c.want {
			must.Equal(t, true, len(without(got, dir)) == len(got)-1, "%s: %s among %v", name, dir, got)
		}
	}
	must.Equal(t, false, belongs(own, uid+1), "the folder of another user")
}

func without(list []string, s string) (out []string) {
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}

func TestSockets(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("", "editor"))(t) // a socket's path is short
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"bbbbbbbb.sock", "0a0b0c0d.sock", "0A0B0C0D.sock", "short.sock", "0a0b0c0d.sock.old"} {
		l := must.Get(net.Listen("unix", filepath.Join(dir, name)))(t)
		t.Cleanup(func() { _ = l.Close() })
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "cccccccc.sock"), nil, 0o600))
	must.Do(t, os.Symlink("bbbbbbbb.sock", filepath.Join(dir, "dddddddd.sock")))
	got := must.Get(Sockets(dir))(t)
	must.Equal(t, []string{filepath.Join(dir, "0a0b0c0d.sock"), filepath.Join(dir, "bbbbbbbb.sock")}, got, "sockets")
	if got, err := Sockets(filepath.Join(dir, "missing")); got != nil || err != nil {
		t.Errorf("a missing folder: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		mode os.FileMode
		want error
	}{"a group can write": {0o770, safeopen.ErrWritable}, "others can write": {0o702, safeopen.ErrWritable}, "others can write their own": {os.ModeSticky | 0o777, safeopen.ErrWritable}} {
		must.Do(t, os.Chmod(dir, c.mode))
		if got, err := Sockets(dir); got != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	must.Do(t, os.Chmod(dir, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(dir, link))
	if got, err := Sockets(link); got != nil || !errors.Is(err, safeopen.ErrLink) {
		t.Errorf("a link: %v, %v", got, err)
	}
}

// TestSocketsOfAnotherUser has another user make the folder before this one does, below a folder in which everybody can write.
func TestSocketsOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	dir := filepath.Join(attacker.Home, "editors")
	attacker.Mkdir(t, dir, 0o700)
	if got, err := Sockets(dir); got != nil || !errors.Is(err, safeopen.ErrOwner) {
		t.Errorf("%v, %v", got, err)
	}
}
