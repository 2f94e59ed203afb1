package processes_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"

	"winnow/collectors/processes"
)

// BenchmarkScanFixture reads pid, parent, session, start, working directory and owner of every process of a fixture, beside
// prometheus/procfs for the same facts. A fixture is cheaper to read than procfs, for both: what counts is their ratio, and that the
// time for one process stays the same.
func BenchmarkScanFixture(b *testing.B) {
	for _, count := range []int{500, 2000, 10000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			root := benchTree(b, count)
			b.Run("ours", func(b *testing.B) { benchOurs(b, root, count) })
			b.Run("procfs", func(b *testing.B) { benchProcfs(b, root, count) })
		})
	}
}

// BenchmarkScanMany reads fixtures of 1,000, 10,000 and 100,000 processes as a sweep does: with markers, so that environments, files and sockets are read too, and
// everything of one process in a hundred. The greatest needs 1.5 GB of tmpfs.
func BenchmarkScanMany(b *testing.B) {
	for _, count := range []int{1000, 10000, 100000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			root := manyTree(b, count)
			r := processes.New(processes.Options{Root: root, Markers: []string{"AGENT"}, Interpreters: []string{"node"}, Classes: []string{processes.Marked}})
			found := 0
			for b.Loop() {
				part, err := r.Read(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				found = len(part.Processes)
			}
			perProcess(b, found, count)
		})
	}
}

// manyTree writes only what such a look reads.
func manyTree(b *testing.B, count int) string {
	b.Helper()
	f := fixture{b, benchRoot(b, uint64(count)*16<<10)}
	f.machine()
	f.write("net/tcp", "heading\n")
	f.write("net/unix", "heading\n")
	for i := range count {
		dir, marked := filepath.Join(f.root, strconv.Itoa(100+i)), ""
		if i%100 == 0 {
			marked = "AGENT=1\x00"
		}
		if err := errors.Join(os.Mkdir(dir, 0o755),
			os.WriteFile(dir+"/stat", fmt.Appendf(nil, "%d (worker-%d) S 1 %d %d 0 -1 0 10 0 0 0 150 50 30 20 20 0 1 0 %d 1000000 25 0\n", 100+i, i%50, 100+i, 100+i, 5000+i), 0o644),
			os.WriteFile(dir+"/environ", []byte("HOME=/home/u\x00"+marked), 0o644),
			os.Symlink(fmt.Sprintf("/w/tree-%d", i%1000), dir+"/cwd"), os.Symlink("/usr/bin/worker", dir+"/exe")); err != nil {
			b.Fatal(err)
		}
	}
	return f.root
}

// benchRoot is a folder on a tmpfs that has so many bytes left, where there is one.
func benchRoot(b *testing.B, need uint64) string {
	b.Helper()
	parent := "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(parent, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < need {
		if need > 1<<30 {
			b.Skipf("%s has less than %d MB left", parent, need>>20)
		}
		parent = b.TempDir()
	}
	root, err := os.MkdirTemp(parent, "processes-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(root) })
	return root
}

// BenchmarkScanReal does the same on this machine's processes and many idle ones, beside ps too, which tells less.
func BenchmarkScanReal(b *testing.B) {
	for _, count := range []int{500, 2000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			spawnIdle(b, count)
			b.Run("ours", func(b *testing.B) { benchOurs(b, "/proc", count) })
			b.Run("procfs", func(b *testing.B) { benchProcfs(b, "/proc", count) })
			b.Run("ps", func(b *testing.B) { benchPs(b, count) })
		})
	}
}

func benchPs(b *testing.B, least int) {
	ps, err := exec.LookPath("ps")
	if err != nil {
		b.Skip("no ps on this machine")
	}
	found := 0
	for b.Loop() {
		out, err := exec.Command(ps, "-eo", "pid,ppid,sess,lstart,args").Output()
		if err != nil {
			b.Fatal(err)
		}
		found = strings.Count(string(out), "\n") - 1
	}
	perProcess(b, found, least)
}

func benchOurs(b *testing.B, root string, least int) {
	r := processes.New(processes.Options{Root: root})
	found := 0
	for b.Loop() {
		part, err := r.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		found = len(part.Processes)
	}
	perProcess(b, found, least)
}

func benchProcfs(b *testing.B, root string, least int) {
	count := 0
	for b.Loop() {
		fs, err := procfs.NewFS(root)
		if err != nil {
			b.Fatal(err)
		}
		all, err := fs.AllProcs()
		if err != nil {
			b.Fatal(err)
		}
		type record struct {
			pid, ppid, session int
			start, uid         uint64
			cwd                string
		}
		found := map[int]record{}
		for _, p := range all {
			st, err := p.Stat()
			if err != nil {
				continue
			}
			status, err := p.NewStatus()
			if err != nil {
				continue
			}
			cwd, _ := p.Cwd()
			found[p.PID] = record{st.PID, st.PPID, st.Session, st.Starttime, status.UIDs[1], cwd}
		}
		count = len(found)
	}
	perProcess(b, count, least)
}

// perProcess reports the time for one process, and fails where some were not read.
func perProcess(b *testing.B, found, least int) {
	if found < least {
		b.Fatalf("read %d processes, of %d at least", found, least)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(found), "µs/process")
}

func benchTree(b *testing.B, count int) string {
	b.Helper()
	root := benchRoot(b, uint64(count)*16<<10)
	f := fixture{b, root}
	f.machine()
	for i := range count {
		f.process(entry{pid: 100 + i, ppid: 1, comm: fmt.Sprintf("worker-%d", i%50), start: uint64(5000 + i), cwd: fmt.Sprintf("/w/tree-%d", i%1000)})
	}
	return root
}

// spawnIdle starts children that only sleep, and ends them with the benchmark.
func spawnIdle(b *testing.B, count int) {
	b.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		b.Skip("no sleep on this machine")
	}
	children := make([]*exec.Cmd, 0, count)
	b.Cleanup(func() {
		for _, c := range children {
			_ = c.Process.Kill()
		}
		for _, c := range children {
			_ = c.Wait()
		}
	})
	base := b.TempDir()
	for i := range count {
		dir := filepath.Join(base, strconv.Itoa(i%1000))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		c := exec.Command(sleep, "600")
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			b.Skipf("started %d of %d idle processes: %v", i, count, err)
		}
		children = append(children, c)
	}
}
