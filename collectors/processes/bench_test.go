package processes_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
	"github.com/winnow-reaper/winnow/test/kit/floor"
)

// BenchmarkScanFixture reads pid, parent, session, start, working directory and owner of every process of a fixture, beside
// prometheus/procfs for the same facts. A fixture is cheaper to read than procfs, for both: what counts is their ratio, and that the
// time for one process stays the same.
func BenchmarkScanFixture(b *testing.B) {
	for _, count := range []int{500, 2000, 10000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			root := benchTree(b, count)
			m := measuring{b: b, least: count}
			m.each("ours", func() int { return readAll(b, processes.Options{Root: root}) })
			m.each("procfs", func() int { return readProcfs(b, root) })
			m.run()
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
			var part collectors.Part
			for b.Loop() {
				var err error
				if part, err = r.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			found := len(part.Processes)
			perProcess(b, found, count)
			kept := live()
			runtime.KeepAlive(part)
			part = collectors.Part{}
			b.ReportMetric(float64(kept-live())/float64(found), "live-B/process")
		})
	}
}

// live is the size of the heap that is in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// manyTree writes only what such a look reads.
func manyTree(b *testing.B, count int) string {
	b.Helper()
	f := fakeproc.At(b, benchRoot(b, uint64(count)*16<<10))
	f.Write("net/tcp", "heading\n")
	f.Write("net/unix", "heading\n")
	for i := range count {
		dir, marked := filepath.Join(f.Path, strconv.Itoa(100+i)), ""
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
	return f.Path
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

// BenchmarkScanReal reads many idle processes of this machine, each with 61 variables and 5 descriptors or more, in turn with every peer: the C program
// that makes the same system calls (test/kit/floor), prometheus/procfs, and ps, which tells less. The figures are the least processor time for a
// process over all rounds, so that what else the machine does counts little; run it with -benchtime=9x or so.
func BenchmarkScanReal(b *testing.B) {
	for _, count := range []int{500, 2000, 10000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			p := floor.Build(b)
			p.Idle(b, count, 2, variables(60))
			c := func(mode string) func() (int, time.Duration) {
				return func() (int, time.Duration) { return p.Read(b, mode, "/proc") }
			}
			m := measuring{b: b, least: count}
			m.each("brief", func() int { return readAll(b, processes.Options{Root: "/proc"}) })
			m.peer("brief/C", c(floor.Dirfd))
			m.peer("brief/paths", c(floor.Paths))
			m.each("procfs", func() int { return readProcfs(b, "/proc") })
			m.each("marked", func() int { return readAll(b, usual) })
			m.peer("marked/C", c(floor.Markers))
			m.each("procfs+", func() int { return readProcfsMarked(b, "/proc") })
			m.each("look", func() int {
				o := usual
				o.Table = &processes.Table{}
				n := readAll(b, o)
				askHolders(b, o.Table)
				return n
			})
			m.peer("look/C", c(floor.Look))
			if ps, err := exec.LookPath("ps"); err == nil {
				m.each("ps", func() int { return readPs(b, ps) })
			}
			m.run()
		})
	}
}

// usual is what a sweep reads by the shipped configuration and rules, a marker more than those so that the test's own process may carry any.
var usual = processes.Options{
	Root: "/proc",
	Markers: []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_CI", "OPENCODE",
		"OPENCODE_PID", "CRUSH", "GOOSE_TERMINAL", "PI_CODING_AGENT", "SHEPHERD_SESSION_ID", "TMUX", "TMUX_PANE", "STY", "ZELLIJ", "HERDR_SOCKET_PATH", "HERDR_PANE_ID"},
	Interpreters: []string{"node", "nodejs", "MainThread", "node-MainThread", "bun", "bunx", "deno", "python", "python2*", "python3*", "pypy*"},
	Shells:       []string{"ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "oksh", "pwsh", "sh", "tcsh", "xonsh", "zsh"},
	Daemons:      []processes.Daemon{{Name: "codex app-server", Programs: []string{"codex"}, Args: []string{"app-server", "--managed-daemon"}}},
	Classes:      []string{processes.Marked, processes.CwdDeleted, processes.InputEnded, processes.BelowAgent},
}

// variables are an environment of so many variables.
func variables(n int) (env []string) {
	for i := range n {
		env = append(env, fmt.Sprintf("BENCHMARK_VARIABLE_%d=/some/value/as/long/as/most/%d", i, i))
	}
	return env
}

// measuring takes turns between what it compares.
type measuring struct {
	b     *testing.B
	least int
	names []string
	do    []func() (int, time.Duration)
}

// peer adds what measures itself.
func (m *measuring) peer(name string, do func() (int, time.Duration)) {
	m.names, m.do = append(m.names, name), append(m.do, do)
}

// each adds what runs in this process and its children.
func (m *measuring) each(name string, do func() int) {
	m.peer(name, func() (int, time.Duration) {
		runtime.GC() // what the one before left behind is not paid for by this one
		before := cpu(m.b)
		n := do()
		return n, cpu(m.b) - before
	})
}

func (m *measuring) run() {
	best := make([]float64, len(m.do))
	for m.b.Loop() {
		for i, do := range m.do {
			n, took := do()
			if n < m.least {
				m.b.Fatalf("%s read %d processes, of %d at least", m.names[i], n, m.least)
			}
			if each := float64(took.Nanoseconds()) / 1000 / float64(n); best[i] == 0 || each < best[i] {
				best[i] = each
			}
		}
	}
	m.b.ReportMetric(0, "ns/op")
	for i, name := range m.names {
		m.b.ReportMetric(best[i], name+"-µs")
	}
}

// cpu is the processor time of this process and of its children that were waited for.
func cpu(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}

func readAll(b *testing.B, o processes.Options) int {
	part, err := processes.New(o).Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return len(part.Processes)
}

// askHolders asks who uses 1,000 folders, as the same look does.
func askHolders(b *testing.B, table *processes.Table) {
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/srv/trees/acme-review-%06d", i)
	}
	if _, _, err := holders.Find(b.Context(), holders.Options{Root: "/proc", Table: table}, paths); err != nil {
		b.Fatal(err)
	}
}

func readPs(b *testing.B, ps string) int {
	out, err := exec.Command(ps, "-eo", "pid,ppid,sess,lstart,args").Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.Count(string(out), "\n") - 1
}

// readProcfs reads the same facts with prometheus/procfs.
func readProcfs(b *testing.B, root string) int {
	return len(eachProcfs(b, root, func(p procfs.Proc) { _, _ = p.Cwd() }))
}

// readProcfsMarked reads what a sweep reads, with prometheus/procfs.
func readProcfsMarked(b *testing.B, root string) int {
	return len(eachProcfs(b, root, func(p procfs.Proc) {
		_, _ = p.Cwd()
		_, _ = p.Executable()
		_, _ = p.Environ()
	}))
}

func eachProcfs(b *testing.B, root string, more func(procfs.Proc)) map[int]procfs.ProcStat {
	fs, err := procfs.NewFS(root)
	if err != nil {
		b.Fatal(err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		b.Fatal(err)
	}
	found := make(map[int]procfs.ProcStat, len(all))
	for _, p := range all {
		st, err := p.Stat()
		if err != nil {
			continue
		}
		if _, err := p.NewStatus(); err != nil {
			continue
		}
		more(p)
		found[p.PID] = st
	}
	return found
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
	f := fakeproc.At(b, root)
	for i := range count {
		f.Process(fakeproc.Entry{PID: 100 + i, PPID: 1, Comm: fmt.Sprintf("worker-%d", i%50), Start: uint64(5000 + i), Cwd: fmt.Sprintf("/w/tree-%d", i%1000)})
	}
	return root
}

// BenchmarkPeers reads many processes of this machine with one more that was left behind and has pipes of its own, as what an event loop has: whether another process
// has those too only a look at what all have open tells.
func BenchmarkPeers(b *testing.B) {
	for _, count := range []int{500, 4000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			p := floor.Build(b)
			p.Idle(b, count, 2, variables(60))
			m := measuring{b: b, least: count}
			m.each("without", func() int { return readAll(b, usual) })
			m.each("with", func() int {
				defer leftBehind(b)()
				return readAll(b, usual)
			})
			m.run()
		})
	}
}

// leftBehind starts a process that is handed over, with a marker, a pipe of which it has both ends, and nothing else.
func leftBehind(b *testing.B) (end func()) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `(exec 3<>"$0"; rm "$0"; exec setsid sleep 600) >/dev/null 2>&1 </dev/null & echo $!`, path)
	cmd.Env = append(os.Environ(), "CLAUDE_CODE_SESSION_ID=bench")
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		b.Fatal(err)
	}
	return func() { _ = syscall.Kill(pid, syscall.SIGKILL) }
}
