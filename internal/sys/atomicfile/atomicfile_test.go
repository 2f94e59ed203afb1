package atomicfile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func words(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// is reports what is wrong with the file at path: "" where it has that text and mode.
func is(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != text || st.Mode() != mode {
		return fmt.Sprintf("%s is %q (%s), %v", path, data, st.Mode(), err)
	}
	return ""
}

func names(t testing.TB, dir string) (out []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestAFileIsMadeAndReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(os.WriteFile(at("old"), []byte("old"), 0o600), os.Chmod(at("old"), 0o640), os.Symlink("old", at("link")), os.Mkdir(at("in"), 0o700),
		os.Symlink("in", at("way"))))
	for path, mode := range map[string]os.FileMode{at("new"): 0o600, at("old"): 0o640, at("link"): 0o640, at("way/new"): 0o600} {
		must.Do(t, atomicfile.Write(t.Context(), path, words(path)))
		if path == at("link") {
			path = at("old")
			must.Do(t, atomicfile.Write(t.Context(), at("link"), words(path)))
		}
		if wrong := is(t, path, path, mode); wrong != "" {
			t.Error(wrong)
		}
	}
	if st, err := os.Lstat(at("link")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st, err)
	}
	if got := strings.Join(names(t, dir), " "); got != "in link new old way" {
		t.Errorf("the folder has %s", got)
	}
}

func TestHalfAFileReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(path, []byte("good"), 0o600))
	broken := errors.New("broken off")
	for _, p := range []string{path, filepath.Join(dir, "new")} {
		err := atomicfile.Write(t.Context(), p, func(w io.Writer) error { return errors.Join(words("half")(w), broken) })
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "old content is unchanged") {
			t.Errorf("%s: %v", p, err)
		}
	}
	if wrong := is(t, path, "good", 0o600); wrong != "" || len(names(t, dir)) != 1 {
		t.Errorf("%s, %v", wrong, names(t, dir))
	}
}

func TestADeviceIsWrittenThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	null := filepath.Join(dir, "null")
	paths := []string{"/dev/null"}
	if os.Geteuid() == 0 && unix.Mknod(null, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil {
		paths = append(paths, null)
	}
	for _, p := range paths {
		must.Do(t, atomicfile.Write(t.Context(), p, words("text")))
		if st, err := os.Lstat(p); err != nil || st.Mode()&os.ModeCharDevice == 0 {
			t.Fatalf("%s is %v, %v", p, st.Mode(), err)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	said := make(chan string, 1)
	go func() {
		time.Sleep(30 * time.Millisecond)
		data, _ := os.ReadFile(fifo)
		said <- string(data)
	}()
	must.Do(t, atomicfile.Write(t.Context(), fifo, words("text")))
	if got := <-said; got != "text" {
		t.Errorf("the reader of the FIFO got %q", got)
	}
	r, w, err := os.Pipe()
	must.Do(t, err)
	must.Do(t, atomicfile.Write(t.Context(), fmt.Sprintf("/dev/fd/%d", w.Fd()), words("piped")))
	must.Do(t, w.Close())
	if data, err := io.ReadAll(r); err != nil || string(data) != "piped" {
		t.Errorf("the pipe got %q, %v", data, err)
	}
}

func TestAFIFOThatNobodyReadsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, held := range []bool{false, true} {
		if held { // a process has it open and reads nothing
			f := must.Get(os.OpenFile(fifo, os.O_RDWR, 0))(t)
			defer f.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		err := atomicfile.Write(ctx, fifo, words(strings.Repeat("x", 1<<20)))
		cancel()
		if err == nil || time.Since(began) > wait.Patience {
			t.Errorf("held %v: %v after %s", held, err, time.Since(began))
		}
	}
}

func TestAttackWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(os.Mkdir(at("folder"), 0o700), os.Symlink("nowhere", at("lost")), os.Symlink("loop", at("loop"))))
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
	defer unix.Close(fd)
	must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: at("socket")}))
	paths := []string{at("folder"), at("lost"), at("loop"), at("socket"), dir + "/.", "/"}
	if os.Geteuid() == 0 && unix.Mknod(at("disk"), unix.S_IFBLK|0o600, int(unix.Mkdev(240, 240))) == nil {
		paths = append(paths, at("disk"))
	}
	before := strings.Join(names(t, dir), " ")
	a := attack.New(t, "-o names a folder, a block device, a socket or a link that leads nowhere")
	for _, p := range paths {
		if err := atomicfile.Write(t.Context(), p, words("x")); !errors.Is(err, atomicfile.ErrRefused) {
			a.Lost("%s: %v", p, err)
			continue
		}
		a.Check(changed(before, strings.Join(names(t, dir), " ")))
	}
}

func changed(before, after string) string {
	if before != after {
		return "the folder had " + before + " and has " + after
	}
	return ""
}

func TestAttackAnotherUsersFileOrLink(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Join(filepath.Dir(victim.Home), "tmp")
	must.Do(t, errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777|os.ModeSticky)))
	at := func(name string) string { return filepath.Join(shared, name) }
	precious := filepath.Join(filepath.Dir(victim.Home), "precious")
	must.Do(t, os.WriteFile(precious, []byte("precious"), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(filepath.Dir(victim.Home), "own"), 0o755))
	attacker.Write(t, at("file"), "his", 0o666)
	attacker.Link(t, precious, at("link"))
	attacker.Link(t, filepath.Join(filepath.Dir(victim.Home), "own"), at("way"))
	must.Do(t, errors.Join(syscall.Mkfifo(at("fifo"), 0o666), os.Chown(at("fifo"), int(attacker.UID), int(attacker.GID))))
	a := attack.New(t, "another user's file, link, FIFO or link on the way where -o writes")
	for _, p := range []string{at("file"), at("link"), at("fifo"), at("way/new")} {
		err := atomicfile.Write(t.Context(), p, words("x"))
		switch {
		case !errors.Is(err, atomicfile.ErrRefused) && !errors.Is(err, fs.ErrPermission): // with fs.protected_symlinks=1, as most machines have it, the kernel itself follows no such link
			a.Lost("%s: %v", p, err)
		case is(t, precious, "precious", 0o600) != "":
			a.Lost("%s: %s", p, is(t, precious, "precious", 0o600))
		default:
			a.Held()
		}
	}
	if got := strings.Join(names(t, shared), " "); got != "fifo file link way" {
		t.Errorf("the folder has %s", got)
	}
}

// The attacker puts a link of his own at the name and takes it away again, as fast as he can.
func TestAttackALinkThatComesAndGoes(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Join(filepath.Dir(victim.Home), "tmp")
	must.Do(t, errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777|os.ModeSticky)))
	path, spare, precious := filepath.Join(shared, "file"), filepath.Join(shared, "spare"), filepath.Join(victim.Home, "precious")
	must.Do(t, os.WriteFile(precious, []byte("precious"), 0o600))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			_ = os.Symlink(precious, spare)
			_ = os.Lchown(spare, int(attacker.UID), int(attacker.GID))
			if unix.Renameat2(unix.AT_FDCWD, spare, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE) == nil {
				_ = os.Remove(path)
			}
		}
	}()
	a := attack.New(t, "another user's link to a file of the victim's comes and goes where -o writes")
	written, kept := 0, 0
	for range 400 {
		err := atomicfile.Write(t.Context(), path, words("new"))
		if err == nil {
			written++
			_ = os.Remove(path)
		} else {
			kept++
		}
		a.Check(is(t, precious, "precious", 0o600))
	}
	stop.Store(true)
	<-done
	t.Logf("%d were written, %d refused", written, kept)
	for _, name := range names(t, shared) {
		if strings.HasPrefix(name, ".winnow-") {
			t.Errorf("%s was left", name)
		}
	}
}
