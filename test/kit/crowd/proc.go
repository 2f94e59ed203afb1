package crowd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Proc writes a folder laid out like /proc with so many processes of this user, one in a hundred with an agent's marker, and gives its path. It lies in
// memory where the machine has room for it there: a process takes 20 kB. Files of the same text are links to one.
func Proc(tb testing.TB, count int) string {
	tb.Helper()
	parent := "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(parent, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < uint64(count)*25<<10 {
		if count > 20000 {
			tb.Skipf("%s has less than %d MB left", parent, count*25>>10)
		}
		parent = os.TempDir()
	}
	root, err := os.MkdirTemp(parent, "crowd-proc-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(root) })
	p := proc{root: root}
	p.machine()
	for i := range count {
		p.process(100+i, i%100 == 0)
	}
	if p.err != nil {
		tb.Fatal(p.err)
	}
	return root
}

type proc struct {
	root string
	err  error
}

func (p *proc) did(err error) { p.err = errors.Join(p.err, err) }

func (p *proc) write(rel, text string) {
	path := filepath.Join(p.root, rel)
	p.did(os.MkdirAll(filepath.Dir(path), 0o755))
	p.did(os.WriteFile(path, []byte(text), 0o644))
}

// machine writes what is there once, and under .same what processes have in common.
func (p *proc) machine() {
	p.write("stat", "cpu  1 2 3\nintr 0\nctxt 5\nbtime 1700000000\nprocesses 9\n")
	p.write("sys/kernel/random/boot_id", "0b0ae5c1-0000-4000-8000-000000000000\n")
	p.write("sys/kernel/hostname", "crowd\n")
	p.write("net/tcp", "heading\n")
	p.write("net/tcp6", "heading\n")
	p.write("net/unix", "heading\n")
	env := []string{"HOME=/home/u", "PATH=/usr/local/bin:/usr/bin:/bin"}
	for i := len(env); i < 60; i++ {
		env = append(env, fmt.Sprintf("SOME_VARIABLE_OF_THE_SHELL_%d=/usr/local/share/some-program/%d:/usr/share", i, i))
	}
	p.write(".same/plain", strings.Join(append(env, "MARKED=0"), "\x00")+"\x00")
	p.write(".same/marked", strings.Join(append(env, "CLAUDECODE=1"), "\x00")+"\x00")
	p.write(".same/cmdline", "/usr/bin/worker\x00--serve\x00")
	p.write(".same/status", fmt.Sprintf("Name:\tworker\nState:\tS (sleeping)\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t0\t0\t0\t0\nThreads:\t1\n", os.Getuid()))
	p.write(".same/maps", "00400000-00500000 r-xp 00000000 fe:00 1234                               /usr/bin/worker\n")
	p.write(".same/io", "rchar: 10\nwchar: 10\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n")
	p.did(os.Symlink("/usr/bin/worker", filepath.Join(p.root, ".same", "exe")))
	p.did(os.Symlink("/", filepath.Join(p.root, ".same", "root")))
	p.did(os.Symlink("/dev/null", filepath.Join(p.root, ".same", "fd")))
	for _, ns := range []string{"mnt", "net", "pid"} {
		p.did(os.Symlink(ns+":[4026531840]", filepath.Join(p.root, ".same", ns)))
	}
}

func (p *proc) process(pid int, marked bool) {
	dir := filepath.Join(p.root, strconv.Itoa(pid))
	for _, d := range []string{dir, dir + "/fd", dir + "/ns"} {
		p.did(os.Mkdir(d, 0o755))
	}
	stat := fmt.Sprintf("%[1]d (worker-%[2]d) S 1 %[1]d %[1]d 0 -1 4194304 10 0 0 0 150 50 30 20 20 0 1 0 %[3]d 1000000 25 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, pid%50, 5000+pid)
	p.did(os.WriteFile(dir+"/stat", []byte(stat), 0o644))
	p.did(os.Symlink(fmt.Sprintf("/w/tree-%d", pid%1000), dir+"/cwd"))
	environ := "plain"
	if marked {
		environ = "marked"
	}
	same := map[string]string{"environ": environ, "cmdline": "cmdline", "status": "status", "maps": "maps", "io": "io", "exe": "exe", "root": "root",
		"fd/0": "fd", "fd/1": "fd", "fd/2": "fd", "fd/3": "fd", "fd/4": "fd", "ns/mnt": "mnt", "ns/net": "net", "ns/pid": "pid"}
	for name, of := range same {
		p.did(os.Link(filepath.Join(p.root, ".same", of), filepath.Join(dir, name)))
	}
}
