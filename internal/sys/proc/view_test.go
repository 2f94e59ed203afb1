package proc_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// sandboxed starts a shell in namespaces of its own, with one folder mounted over another, and gives its pid when that is so.
func sandboxed(t *testing.T, flags, real, over string) int {
	t.Helper()
	cmd := exec.Command("unshare", append(strings.Fields(flags), "sh", "-c", "mount --bind "+real+" "+over+" && echo ready && read line")...)
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Skip("needs unshare: ", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Skipf("this machine allows no namespaces here: %q, %v", line, err)
	}
	return cmd.Process.Pid
}

// TestViewOf tells who has other mounts, and which paths lead there to other folders.
func TestViewOf(t *testing.T) {
	t.Parallel()
	if v, err := proc.ViewOf("/proc", os.Getpid()); err != nil || !v.Mounts || !v.PIDs {
		t.Errorf("this process itself: %+v, %v", v, err)
	}
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	real, over := filepath.Join(dir, "real"), filepath.Join(dir, "over")
	for _, at := range []string{real + "/x", real + "/only", over + "/x"} {
		must.Do(t, os.MkdirAll(at, 0o700))
	}
	if err := os.Symlink("/", dir+"/link"); err != nil { // is followed below the other's own root folder
		t.Fatal(err)
	}
	pid := sandboxed(t, "-rm", real, over)
	if v, err := proc.ViewOf("/proc", pid); err != nil || v.Mounts || !v.PIDs {
		t.Errorf("a process with other mounts: %+v, %v", v, err)
	}
	for path, want := range map[string]bool{
		"/": true, real: true, real + "/x": true, real + "/none/at/all": true, over: false, over + "/x": false, over + "/only": false, over + "/none/at/all": false,
		dir + "/link" + real: true, dir + "/link" + over: false,
	} {
		if same, err := proc.SameThere("/proc", pid, path); err != nil || same != want {
			t.Errorf("%s: the same: %v, %v; want %v", path, same, err, want)
		}
	}
	if _, err := proc.ViewOf("/proc", 1<<22+1); err == nil { // above the kernel's greatest
		t.Error("a process that is not there has a view")
	}
	if _, err := proc.SameThere("/proc", 1<<22+1, "/"); err == nil {
		t.Error("a process that is not there sees a folder")
	}
}

// TestViewOfAnotherPIDNamespace: the number of a process says there another one.
func TestViewOfAnotherPIDNamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := sandboxed(t, "-rmpf", dir, dir)
	all := must.Get(proc.Scan("/proc"))(t)
	for pid, s := range all {
		if s.Parent != parent {
			continue
		}
		if v, err := proc.ViewOf("/proc", pid); err != nil || v.PIDs || v.Mounts {
			t.Errorf("%+v, %v", v, err)
		}
		return
	}
	t.Error("the shell in the namespace was not found")
}

// TestOpenInWhileSomethingIsRenamed: the kernel gives up a walk over .. where a rename anywhere falls into it.
func TestOpenInWhileSomethingIsRenamed(t *testing.T) {
	t.Parallel()
	memory, err := os.MkdirTemp("/dev/shm", "winnow-") // where a rename takes no time
	if err != nil {
		t.Skip("there is no file system in memory: ", err)
	}
	link, ended := filepath.Join(memory, "link"), make(chan struct{})
	must.Do(t, os.MkdirAll(filepath.Join(memory, "a/b"), 0o700))
	must.Do(t, os.Symlink("a/b"+strings.Repeat("/../b", 6), link))
	t.Cleanup(func() { <-ended; _ = os.RemoveAll(memory) })
	go func() {
		defer close(ended)
		_ = os.Mkdir(filepath.Join(memory, "old"), 0o700)
		for from, to := filepath.Join(memory, "old"), filepath.Join(memory, "new"); t.Context().Err() == nil; from, to = to, from {
			_ = os.Rename(from, to)
		}
	}()
	root := must.Get(unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer func() { _ = unix.Close(root) }()
	for range 20_000 {
		_ = unix.Close(must.Get(proc.OpenIn(root, link))(t))
	}
}
