package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// jsonl appends each value as a line to a file, with one write and one fsync: the least that is durable.
func jsonl[T any](b *testing.B, f *os.File, all []T) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for i := range all {
		must.Do(b, enc.Encode(all[i]))
	}
	must.Get(f.Write(buf.Bytes()))(b)
	must.Do(b, f.Sync())
}

func appendable(b *testing.B) *os.File {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "decisions.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must.Do(b, err)
	b.Cleanup(func() { f.Close() })
	return f
}

// BenchmarkDecisions is a sweep's decisions made durable, against appending them to a file with one fsync.
func BenchmarkDecisions(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		all := some(n)
		b.Run(fmt.Sprintf("ledger/%d", n), func(b *testing.B) {
			l := open(b)
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprint(i)
				must.Do(b, l.BeginSweep(b.Context(), ledger.Sweep{ID: id, Started: t0}))
				must.Do(b, l.SaveDecisions(b.Context(), id, all))
				b.StopTimer()
				must.Do(b, l.Prune(b.Context(), ledger.Keep{Decisions: 5, Sweeps: 5}))
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("jsonl/%d", n), func(b *testing.B) {
			f := appendable(b)
			for b.Loop() {
				jsonl(b, f, all)
			}
		})
	}
}

// BenchmarkIntent is one intent made durable, against appending it to a file with one fsync.
func BenchmarkIntent(b *testing.B) {
	b.Run("ledger", func(b *testing.B) {
		l := open(b)
		for i := 0; b.Loop(); i++ {
			must.Do(b, l.Intend(b.Context(), intent(fmt.Sprint(i), t0)))
		}
	})
	b.Run("jsonl", func(b *testing.B) {
		f := appendable(b)
		for b.Loop() {
			jsonl(b, f, []decision.Intent{intent("01AAA", t0)})
		}
	})
}

// BenchmarkTrash is what a sweep that acts asks about the trash beside so many acts of earlier ones (they are kept for good), against reading all of these.
func BenchmarkTrash(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		l := open(b)
		for i := range n {
			in := below(fmt.Sprintf("%06d", i), "/w/"+fmt.Sprint(i%7))
			must.Do(b, l.Intend(b.Context(), in))
			must.Do(b, l.Settled(b.Context(), in.ID, decision.Outcome{Outcome: decision.Done}))
		}
		b.Run(fmt.Sprintf("asked/%d", n), func(b *testing.B) {
			for b.Loop() {
				must.Get(l.Restorable(b.Context()))(b)
				must.Get(l.Unsettled(b.Context()))(b)
				must.Get(l.Roots(b.Context()))(b)
			}
		})
		b.Run(fmt.Sprintf("all/%d", n), func(b *testing.B) {
			for b.Loop() {
				must.Get(l.Acts(b.Context(), time.Time{}))(b)
			}
		})
	}
}

// BenchmarkOpen is what every command pays to open a ledger that is there.
func BenchmarkOpen(b *testing.B) {
	l := open(b)
	for b.Loop() {
		again := must.Get(ledger.Open(l.Path()))(b)
		must.Do(b, again.Close())
	}
}

// BenchmarkAlarmMemory is what the alarms of one look at so many candidates in scope cost: the memory read, compared and written.
func BenchmarkAlarmMemory(b *testing.B) {
	const n = 100_000
	limits := alarm.Limits{Min: 3, Collapse: 0.8, Remember: 168 * time.Hour, SourceFailingFor: 30 * time.Minute, RefusedTimes: 3}
	ds := some(n)
	s := &snapshot.Snapshot{TakenAt: t0, Sources: map[string]snapshot.Source{"dirs//w": {Kind: "dirs", Status: snapshot.OK}}, Dirs: map[string]snapshot.Dir{}}
	for _, d := range ds {
		s.Dirs[d.ID] = snapshot.Dir{Source: "dirs//w", Path: d.Label, BornAt: new(t0)}
	}
	look := func(l *ledger.Ledger, ds []decision.Decision) {
		must.Do(b, l.ChangeAlarmMemory(b.Context(), func(m alarm.Memory) alarm.Memory {
			next, _ := alarm.Look(m, s, ds, "rules", limits)
			return next
		}))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			l := open(b)
			b.StartTimer()
			look(l, ds)
		}
	})
	b.Run("nothing changed", func(b *testing.B) {
		l := open(b)
		look(l, ds)
		for b.Loop() {
			look(l, ds)
		}
	})
	b.Run("one in a hundred changed", func(b *testing.B) {
		l := open(b)
		look(l, ds)
		for i := 0; b.Loop(); i++ {
			look(l, ds[(i%2)*n/100:])
		}
	})
}

// BenchmarkSteadySweep is what a sweep writes of so many candidates when nothing happened but that a minute passed: sweep, decisions, what is
// remembered, pruning. written-B is what it writes, in whole pages of 4 KiB, first-written-MB what the first one of all writes; file-MB is the whole file after more sweeps than the program keeps
// the decisions of.
func BenchmarkSteadySweep(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, ctx := open(b), b.Context()
			sweep := func(i int) {
				id, later := fmt.Sprintf("%026d", i), time.Duration(i)*time.Minute
				must.Do(b, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(later), Mode: "dry-run", Sources: map[string]int{"proc": 300}, Rules: strings.Repeat("r", 64), Digest: strings.Repeat("d", 71)}))
				must.Do(b, l.SaveDecisions(ctx, id, aging(n, later)))
				must.Do(b, l.SaveSightings(ctx, awaited(n/10, later)))
				must.Do(b, l.SaveAncestries(ctx, descended(n/10, later)))
				up := later.Seconds()
				must.Do(b, l.SaveLook(ctx, ledger.Look{At: t0.Add(later), BootID: "b", UpSeconds: &up}))
				must.Do(b, l.FinishSweep(ctx, id, t0.Add(later), map[string]int{"seen": n}, 0))
				must.Do(b, l.Prune(ctx, ledger.Keep{Decisions: 200, Sweeps: 10000}))
			}
			first := written(b)
			sweep(0)
			fileSize(b, l) // the log is empty after it
			first = written(b) - first
			i, before, began := 0, written(b), cpu(b)
			for b.Loop() {
				i++
				sweep(i)
			}
			b.ReportMetric(float64(first)/1e6, "first-written-MB")
			b.ReportMetric(float64(written(b)-before)/float64(i), "written-B/op")
			b.ReportMetric(float64((cpu(b)-began).Microseconds())/1e3/float64(i), "cpu-ms/op")
			b.StopTimer()
			for ; i < 250; i++ {
				sweep(i + 1)
			}
			b.ReportMetric(float64(fileSize(b, l))/1e6, "file-MB")
		})
	}
}

// BenchmarkYear is the size of the file at 10,000 candidates after a year of sweeps, one a minute: the file stops growing when it has as many sweeps as the
// program keeps, which is after a week, so that many are made. The latest have decisions, as many as are kept; in each of them one candidate in a
// hundred is decided otherwise than before.
func BenchmarkYear(b *testing.B) {
	const n, decisions, sweeps = 10_000, 200, 10_000
	for b.Loop() {
		l, ctx := open(b), b.Context()
		for i := range sweeps {
			id, later := fmt.Sprintf("%026d", i), time.Duration(i)*time.Minute
			must.Do(b, l.BeginSweep(ctx, ledger.Sweep{ID: id, Started: t0.Add(later), Mode: "dry-run", Sources: map[string]int{"proc": 300}, Rules: strings.Repeat("r", 64), Digest: strings.Repeat("d", 71)}))
			if i >= sweeps-decisions {
				all := aging(n, later)
				for k := i % 100; k < n; k += 100 {
					all[k].Objections = append(all[k].Objections, decision.Reason{Rule: "protect.live", Message: fmt.Sprintf("process %d (%c) works in it", i, 'a'+i%2)})
				}
				must.Do(b, l.SaveDecisions(ctx, id, all))
			}
			must.Do(b, l.FinishSweep(ctx, id, t0.Add(later), map[string]map[string]int{"dir": {"seen": n, "in_scope": n, "reap": 0, "spare": n, "unknown": 0}}, 0))
		}
		must.Do(b, l.SaveSightings(ctx, awaited(n/10, 0)))
		must.Do(b, l.Prune(ctx, ledger.Keep{Decisions: decisions, Sweeps: sweeps}))
		b.ReportMetric(float64(fileSize(b, l))/1e6, "file-MB")
	}
}

// written is what this process has written so far, in bytes.
func written(b *testing.B) (n int64) {
	data := must.Get(os.ReadFile("/proc/self/io"))(b)
	_, text, _ := strings.Cut(string(data), "wchar: ")
	must.Get(fmt.Sscan(text, &n))(b)
	return n
}

// cpu is the processor time of this process so far.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	must.Do(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func awaited(n int, later time.Duration) map[string]snapshot.Sighting {
	all := map[string]snapshot.Sighting{}
	for i := range n {
		all[fmt.Sprintf("process:%d@%d", i, 100*i)] = snapshot.Sighting{Rule: "reap.processes.orphan", Identity: fmt.Sprintf("%064d", i), FirstAt: t0,
			LastAt: t0.Add(later), Count: int(later/time.Minute) + 1, IdleSince: &t0, Work: &snapshot.Work{CPU: new(0.5), Below: new(0)}}
	}
	return all
}

func descended(n int, later time.Duration) []snapshot.Ancestry {
	all := make([]snapshot.Ancestry, n)
	for i := range all {
		all[i] = snapshot.Ancestry{BootID: "7d9a91ad-7a56-4d82-b8c7-8322d6e20866", PID: i + 2, StartTicks: uint64(100 * i),
			Agents: []snapshot.AncestryAgent{{PID: 1, StartTicks: 5, Name: "claude"}}, LastAt: t0.Add(later)}
	}
	return all
}
