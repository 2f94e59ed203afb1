// Package bench_test measures the whole program, as a person runs it, beside other programs that answer a part of the same question. Every figure has
// its peer in the same run: the programs run in turn, round after round, and the least of each is reported. What is measured is processor time, by the
// kernel's own account of each program and all that it started.
//
//	go test ./test/bench -run '^$' -bench . [-size small,medium,large] [-rounds N] [-winnow FILE] [-against FILE]
//
// docs/design/performance.md has the figures.
package bench_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/crowd"
	"github.com/winnow-reaper/winnow/test/kit/machine"
)

var (
	sizes   = flag.String("size", "small", "how great the `worlds` are: small, medium, large, worktrees, with commas")
	rounds  = flag.Int("rounds", 5, "how many `rounds` are run, of which the least counts")
	given   = flag.String("winnow", "", "measure this `program` instead of building one")
	against = flag.String("against", "", "measure this `program`, an older winnow, in the same rounds")
)

var worlds = map[string]crowd.Size{
	"small":     {Processes: 300, Panes: 50, Worktrees: 100},
	"medium":    {Processes: 2000, Panes: 200, Worktrees: 200},
	"large":     {Processes: 11000, Panes: 1000, Worktrees: 1000},
	"worktrees": {Processes: 300, Panes: 50, Worktrees: 1000},
}

func TestMain(m *testing.M) {
	if os.Getenv(meterVar) != "" {
		beMeter()
		return
	}
	flag.Parse()
	// The rounds are counted here: a benchmark of this package is run once. A -benchtime that was given stays.
	if f := flag.Lookup("test.benchtime"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("1x")
	}
	if flag.Lookup("test.bench").Value.String() != "" {
		machine.Alone()
		// No process of the machine works in a repository that is not the machine's.
		if err := os.Chdir("/"); err != nil {
			panic(err)
		}
	}
	machine.Main(m)
}

// source is the folder of this package.
func source() string {
	if dir := machine.Source(); dir != "" {
		return dir
	}
	dir, _ := os.Getwd()
	return dir
}

// program is a winnow that is measured, under the name that its figures have.
type program struct{ name, path string }

func programs(b *testing.B) []program {
	b.Helper()
	out := []program{{"winnow", compiled(b)}}
	if *against != "" {
		out = append(out, program{"against", absolute(b, *against)})
	}
	return out
}

// compiled is the path of the program that was given, or of one that is built.
func compiled(tb testing.TB) string {
	tb.Helper()
	if *given != "" {
		return absolute(tb, *given)
	}
	path := filepath.Join(tb.TempDir(), "winnow")
	cmd := exec.Command("go", "build", "-o", path, "github.com/winnow-reaper/winnow/cmd/winnow")
	cmd.Dir = source()
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build winnow: %v\n%s", err, out)
	}
	return path
}

// absolute takes a path that was given from the package's folder.
func absolute(tb testing.TB, path string) string {
	tb.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(source(), path)
	}
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// eachSize runs a benchmark of some programs for each size that was asked for.
func eachSize(b *testing.B, run func(b *testing.B, size crowd.Size, all []program)) {
	b.Helper()
	all := programs(b)
	for name := range strings.SplitSeq(*sizes, ",") {
		size, ok := worlds[name]
		if !ok {
			b.Fatalf("-size %q: small, medium, large or worktrees", name)
		}
		b.Run(size.String(), func(b *testing.B) { run(b, size, all) })
	}
}

// metric is one figure of a line.
type metric struct {
	value float64
	unit  string
}

// line prints the figures of one program.
func line(b *testing.B, name string, metrics ...metric) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op") // it is not printed then; this function measures nothing
		for _, m := range metrics {
			b.ReportMetric(m.value, m.unit)
		}
	})
}
