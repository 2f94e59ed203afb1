package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/stop"
)

// BenchmarkSteady compares, in the same rounds and on the same machine, what the daemon pays for a sweep that finds nothing new with a whole one, also right after one folder
// has changed: CPU of the program and of what it starts. Processes of this machine come on top of those that it makes. -short leaves the large one out.
func BenchmarkSteady(b *testing.B) {
	for _, size := range []struct{ processes, panes, worktrees int }{{300, 50, 100}, {10000, 1000, 1000}} {
		b.Run(fmt.Sprintf("%d-%d-%d", size.processes, size.panes, size.worktrees), func(b *testing.B) {
			if testing.Short() && size.processes > 300 {
				b.Skip("it starts thousands of processes")
			}
			w := newLookWorld(b, size.processes, size.panes, size.worktrees)
			w.app.Cfg.Run.FullEvery = 1 << 30
			// What keeps the worktrees is no age: of a young one is said how old it is, and so it is asked of at each look.
			w.app.Cfg.Rules.Grace.Dir, w.app.Cfg.Rules.Protected = 0, []string{w.dir + "/wt/**"}
			w.app.Acting, w.app.Hands = lock.Acting{Name: "winnow-bench-steady", Home: w.dir}, &stop.Inflight{}
			d, err := daemon.New(b.Context(), &w.app.Ops, daemon.Options{Line: func(string) {}})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(d.Close)
			sweep := func(why string) (short bool, took float64) {
				before := processors(b)
				r, err := d.Sweep(b.Context(), why)
				if err != nil {
					b.Fatal(err)
				}
				return r.NothingNew, processors(b) - before
			}
			sweep(pace.Start)
			time.Sleep(100 * time.Millisecond) // what was written just now has a stamp that proves nothing yet
			var shorts, wholes int
			var short, whole, changed float64
			for b.Loop() {
				_, took := sweep(pace.Request)
				whole, wholes = whole+took, wholes+1
				if err := os.WriteFile(filepath.Join(w.dir, "wt", strconv.Itoa(wholes%size.worktrees), fmt.Sprint("new", wholes)), nil, 0o600); err != nil {
					b.Fatal(err)
				}
				is, took := sweep(pace.Schedule)
				if is {
					b.Fatal("a new file was not seen")
				}
				changed += took
				for range 4 {
					if is, took := sweep(pace.Schedule); is {
						short, shorts = short+took, shorts+1
					}
				}
			}
			if shorts == 0 {
				b.Fatal("no sweep was short: the machine does not rest")
			}
			each, all := short/float64(shorts), whole/float64(wholes)
			b.ReportMetric(each*1e3, "short-cpu-ms")
			b.ReportMetric(all*1e3, "whole-cpu-ms")
			b.ReportMetric(each/all, "short/whole")
			b.ReportMetric(changed/float64(wholes)*1e3, "changed-cpu-ms")
			b.ReportMetric(100*float64(shorts)/float64(4*wholes), "%short")
			// One sweep in full_every is whole, at the schedule that the program has when nothing is configured.
			b.ReportMetric(100*(11*each+all)/(12*d.Pace.Every.Seconds()), "%core")
		})
	}
}
