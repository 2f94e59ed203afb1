package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"winnow/engine/decision"
	"winnow/engine/ledger"
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
