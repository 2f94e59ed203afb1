package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/crowd"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// acted is how many folders one sweep sets aside.
const acted = 50

// BenchmarkActs runs winnow sweep --apply on worktrees that may go, once with one act and once with fifty, among more and more processes. Their peer is
// the dry sweep of the same world in the same round: what is over that is what the acts cost. All is brought back after each round.
func BenchmarkActs(b *testing.B) {
	eachSize(b, func(b *testing.B, size crowd.Size, all []program) {
		w := newWorld(b, crowd.Size{Processes: size.Processes, Worktrees: acted})
		m := newMeter(b, w.Home, w.Env())
		figures := map[string]*least{}
		for range *rounds {
			for _, p := range all {
				for _, n := range []int{0, 1, acted} {
					name := p.name + "/" + strconv.Itoa(n)
					if figures[name] == nil {
						figures[name] = &least{}
					}
					figures[name].add(actOn(b, m, w, p, n))
				}
			}
		}
		for _, p := range all {
			dry := figures[p.name+"/0"]
			line(b, p.name+"/dry", dry.metrics()...)
			for _, n := range []int{1, acted} {
				f := figures[p.name+"/"+strconv.Itoa(n)]
				line(b, p.name+"/acts="+strconv.Itoa(n), append(f.metrics(), f.times(dry, "dry"),
					metric{float64((f.CPU - dry.CPU).Microseconds()) / 1e3 / float64(n), "cpu-ms/act"},
					metric{float64((f.Wall - dry.Wall).Microseconds()) / 1e3 / float64(n), "wall-ms/act"})...)
			}
		}
	})
}

// actOn sweeps a world whose worktrees have long done nothing, lets so many go at most, and brings back what went.
func actOn(tb testing.TB, m *meter, w *crowd.World, p program, n int) cost {
	tb.Helper()
	w.Age(8 * 24 * time.Hour)
	if err := os.RemoveAll(w.State()); err != nil {
		tb.Fatal(err)
	}
	out := filepath.Join(w.Home, "acts.json")
	argv := []string{p.path, "sweep", "--kind", "dir", "--format", "json"}
	if n > 0 {
		argv = append(argv, "--apply", "--max", strconv.Itoa(n))
	}
	// 5 says that a cap held the rest back.
	c := m.order(order{Argv: append([]string{"sh", "-c", `"$@"; code=$?; [ $code = 0 ] || [ $code = 5 ]`, "sh"}, argv...), Out: out})
	text, err := os.ReadFile(out)
	var report struct {
		Acts []struct {
			ID      string `json:"id"`
			Outcome string `json:"outcome"`
			Detail  string `json:"detail"`
		} `json:"acts"`
	}
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		tb.Fatal(err)
	}
	done, said := 0, ""
	for _, a := range report.Acts {
		switch a.Outcome {
		case "done":
			done++
			m.run(p.path, "restore", "--no-hold", a.ID)
		case "capped":
		default:
			said = a.Outcome + ": " + a.Detail
		}
	}
	if done != n {
		tb.Fatalf("%d folders were set aside, want %d: %s", done, n, said)
	}
	return c
}

// TestActs holds on a small world that what BenchmarkActs reports is what happened.
func TestActs(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	if attack.Raced {
		t.Skip("what is measured is built without the race detector")
	}
	if !machine.Enter(t) {
		return
	}
	w := newWorld(t, crowd.Size{Processes: 30, Worktrees: 6})
	m := newMeter(t, w.Home, w.Env())
	p := program{"winnow", compiled(t)}
	for _, n := range []int{0, 1, 6} {
		if c := actOn(t, m, w, p, n); c.CPU <= 0 || c.Wall <= 0 {
			t.Errorf("%d acts: %+v", n, c)
		}
		for _, path := range w.Worktrees {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("after %d acts: %v", n, err)
			}
		}
	}
}
