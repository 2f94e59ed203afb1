package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"winnow/engine/alarm"
	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/ledger"
)

// jsonl appends each value as a line to a file, with one write and one fsync: the least that is durable.
func jsonl[T any](b *testing.B, f *os.File, all []T) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for i := range all {
		ok(b, enc.Encode(all[i]))
	}
	_, err := f.Write(buf.Bytes())
	ok(b, err)
	ok(b, f.Sync())
}

func appendable(b *testing.B) *os.File {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "decisions.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ok(b, err)
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
				ok(b, l.BeginSweep(b.Context(), ledger.Sweep{ID: id, Started: t0}))
				ok(b, l.SaveDecisions(b.Context(), id, all))
				b.StopTimer()
				ok(b, l.Prune(b.Context(), ledger.Keep{Decisions: 5, Sweeps: 5}))
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
			ok(b, l.Intend(b.Context(), intent(fmt.Sprint(i), t0)))
		}
	})
	b.Run("jsonl", func(b *testing.B) {
		f := appendable(b)
		for b.Loop() {
			jsonl(b, f, []decision.Intent{intent("01AAA", t0)})
		}
	})
}

// BenchmarkOpen is what every command pays to open a ledger that is there.
func BenchmarkOpen(b *testing.B) {
	l := open(b)
	for b.Loop() {
		again, err := ledger.Open(l.Path())
		ok(b, err)
		ok(b, again.Close())
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
		m, err := l.AlarmMemory(b.Context())
		ok(b, err)
		change, _ := alarm.Look(m, s, ds, "rules", limits)
		ok(b, l.SaveAlarmMemory(b.Context(), change))
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
