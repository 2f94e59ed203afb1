package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/crowd"
	"github.com/winnow-reaper/winnow/test/kit/machine"
)

// BenchmarkMemory runs winnow sweep over what looks like /proc with 10,000 and 100,000 processes (the second one with -size large), and nothing else.
func BenchmarkMemory(b *testing.B) {
	all := programs(b)
	counts := []int{10000}
	if strings.Contains(*sizes, "large") {
		counts = append(counts, 100000)
	}
	for _, count := range counts {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			proc, home := crowd.Proc(b, count), b.TempDir()
			m := newMeter(b, home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TMUX_TMPDIR=" + home})
			config := filepath.Join(home, "config.yaml")
			if err := os.WriteFile(config, []byte("version: 1\ncollect: {processes: {root: "+proc+"}, timeout: 5m}\n"), 0o600); err != nil {
				b.Fatal(err)
			}
			for _, p := range all {
				sawAll(b, m, p.sweepOf(config, home), count)
			}
			figures := make([]least, len(all))
			for range *rounds {
				for i, p := range all {
					figures[i].add(m.run(p.sweepOf(config, home)...))
				}
			}
			for i, p := range all {
				line(b, p.name, figures[i].metrics()...)
			}
		})
	}
}

// sweepOf is a sweep with a state folder of the program's own: an older one refuses the ledger of a newer one.
func (p program) sweepOf(config, home string) []string {
	return []string{p.path, "sweep", "--config", config, "--state", filepath.Join(home, p.name)}
}

// sawAll holds that a sweep reads every process of the folder.
func sawAll(b *testing.B, m *meter, sweep []string, count int) {
	b.Helper()
	out := filepath.Join(m.home, "report.json")
	m.order(order{Argv: append(sweep, "--format", "json"), Out: out})
	text, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	var r struct {
		Census map[string]struct {
			Seen    int `json:"seen"`
			InScope int `json:"in_scope"`
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		b.Fatal(err)
	}
	if got := r.Census[machine.Process]; got.Seen != count || got.InScope != count/100 {
		b.Fatalf("of %d processes the sweep saw %+v", count, got)
	}
}
