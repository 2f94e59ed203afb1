// Package soak_test runs the daemon for a long time in a made-up world that changes at random, with every fault that it has to live with, and holds that it stays small, ends nothing that
// is live, loses no work, and in the end has cleared away all that should go.
package soak_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestMain(m *testing.M) { machine.Main(m) }

// The environment variables that say for how long the world changes, such as 2h, and with which seed. docs/design/performance.md names them.
const (
	durationVar = "WINNOW_SOAK"
	seedVar     = "WINNOW_SOAK_SEED"
)

// short is how long the world changes where nothing else is said; it takes longer where not every fault has come by then.
const short = 16 * time.Second

// asked is what the environment asks for.
func asked(t *testing.T) (d time.Duration, seed uint64) {
	t.Helper()
	d, seed = short, 1 // what everybody runs is the same for everybody
	var err error
	if text := os.Getenv(durationVar); text != "" {
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", durationVar, err)
		}
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv(seedVar); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVar, err)
		}
	}
	return d, seed
}

func TestSoak(t *testing.T) {
	stage.NeedSecond(t, "it changes a world for a while, and takes longer where not every fault has come")
	if attack.Raced {
		t.Skip("the program that it watches is built without the race detector; .ci/run runs it without")
	}
	if !machine.Enter(t) {
		return
	}
	duration, seed := asked(t)
	t.Logf("%s of changes, %s=%d", duration, seedVar, seed)
	w := newWorld(t, rand.New(rand.NewPCG(seed, 1)), seed, duration)
	d := w.start()
	begin := time.Now()
	end := begin.Add(duration)
	// Every fault comes once in a round, in an order by chance. The first round is brought to its end.
	faults := w.faults()
	every := min(duration/time.Duration(2*len(faults)+2), 20*time.Second)
	nextFault, nextCheck := begin.Add(every), begin
	var round []int
	for came := 0; time.Now().Before(end) || came < len(faults) && time.Now().Before(end.Add(wait.Patience)); {
		w.change()
		if time.Now().After(nextFault) {
			if len(round) == 0 {
				round = w.rnd.Perm(len(faults))
			}
			f := faults[round[0]]
			came++
			if round = round[1:]; w.skipped[f.name] != "" {
				continue
			}
			w.step("fault: " + f.name)
			f.do()
			w.releaseBrakes()
			nextFault = time.Now().Add(every)
		}
		if time.Now().After(nextCheck) {
			w.check()
			d.sample()
			nextCheck = time.Now().Add(time.Second)
		}
		time.Sleep(time.Duration(20+w.rnd.IntN(160)) * time.Millisecond)
	}
	figures.Logf(t, "soak: %d changes in %s, %s", w.n, time.Since(begin).Round(time.Second), d.line())
	w.check()
	for _, f := range faults {
		if w.count["fault: "+f.name] == 0 && w.skipped[f.name] == "" {
			w.fail("the fault %q never came", f.name)
		}
	}

	w.step("all is let go")
	w.letAllGo()
	w.step("all that should go is waited for")
	if !wait.Until(2*wait.Patience, func() bool {
		w.releaseBrakes()
		d.sweepNow()
		time.Sleep(400 * time.Millisecond)
		return len(w.left()) == 0
	}) {
		w.fail("not gone: %v\n%s", w.left(), w.winnow("sweep", "--all"))
	}
	if d.count("done: ") == 0 {
		w.fail("nothing was done at all")
	}
	if n := d.count(disagrees); n > 0 {
		w.fail("%d sweeps found that what was kept of the policies' answers was wrong", n)
	}
	d.flat()
	w.step("nothing happens")
	d.quiet()
	f, err := d.figures()
	w.must(err)
	t.Log(wakes(f))
	w.step("the daemon ends")
	d.ends()
	for name, why := range w.skipped {
		t.Logf("left out: %s: %s", name, why)
	}
	t.Log(fmt.Sprint(w.kinds()))
}
