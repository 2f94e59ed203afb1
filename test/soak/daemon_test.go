package soak_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// daemon is winnow run as a process of its own, and what was measured of it.
type daemon struct {
	w    *world
	cmd  *exec.Cmd
	pid  int
	done chan error

	mu     sync.Mutex
	counts map[string]int
	last   []string

	client  *http.Client
	samples []sample
}

// disagrees is what it says where the policies say otherwise than by what was kept of their answers.
const disagrees = "the policies say otherwise of "

// counted are the beginnings of lines, after the time, that are counted.
var counted = []string{"done: ", "SIGHUP: not reloaded", "SIGHUP: reloaded", "alarm brake_", disagrees}

// sample is what the daemon takes at one moment.
type sample struct {
	at time.Time
	// rss, heap and state are in bytes, state less what every act adds to it for good.
	rss, heap, state         float64
	descriptors, goroutines  float64
	threads, sweeps, wakings float64
}

// start starts the daemon, and waits until it answers.
func (w *world) start() *daemon {
	w.t.Helper()
	d := &daemon{w: w, done: make(chan error, 1), counts: map[string]int{}}
	d.client = &http.Client{Timeout: wait.Patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var one net.Dialer
		return one.DialContext(ctx, "unix", w.metrics)
	}}}
	d.cmd = exec.Command(w.program, "run", "--config", w.config)
	d.cmd.Env, d.cmd.Dir = w.env, w.home
	out, in := io.Pipe()
	d.cmd.Stdout, d.cmd.Stderr = in, in
	w.must(d.cmd.Start())
	d.pid = d.cmd.Process.Pid
	go d.read(out)
	ended := make(chan struct{})
	go func() { d.done <- d.cmd.Wait(); _ = in.Close(); close(ended) }()
	w.t.Cleanup(func() { _ = d.cmd.Process.Kill(); <-ended })
	w.d = d
	w.eventually("the daemon answers", func() bool { _, err := d.figures(); return err == nil })
	return d
}

func (d *daemon) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		d.mu.Lock()
		for _, what := range counted {
			if strings.Contains(lines.Text(), what) {
				d.counts[what]++
			}
		}
		d.last = append(d.last, lines.Text())
		d.last = d.last[max(0, len(d.last)-60):]
		d.mu.Unlock()
	}
}

func (d *daemon) count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[what]
}

func (d *daemon) wrote() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.last, "\n")
}

func (d *daemon) signal(s unix.Signal) { d.w.must(d.cmd.Process.Signal(s)) }

func (d *daemon) sweepNow() { d.signal(unix.SIGUSR1) }

var figure = regexp.MustCompile(`(?m)^(\w+)(\{[^}]*\})? ([0-9.eE+-]+)$`)

// figures are the daemon's metrics by name; those with labels are added up, and given one by one too.
func (d *daemon) figures() (map[string]float64, error) {
	answer, err := d.client.Get("http://winnow/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("metrics: %s", answer.Status)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, m := range figure.FindAllStringSubmatch(string(text), -1) {
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		out[m[1]] += v
		if m[2] != "" {
			out[m[1]+m[2]] = v
		}
	}
	return out, nil
}

// of gives one figure.
func (d *daemon) of(name string) float64 {
	d.w.t.Helper()
	f, err := d.figures()
	if err != nil {
		d.w.fail("%v", err)
	}
	return f[name] // a count of what has not happened is not told
}

// sample measures the daemon.
func (d *daemon) sample() {
	d.w.t.Helper()
	f, err := d.figures()
	if err != nil {
		d.w.fail("the daemon does not answer: %v", err)
	}
	names := []string{"process_resident_memory_bytes", "go_memstats_next_gc_bytes", "go_goroutines", "go_threads"}
	for _, name := range names {
		if _, has := f[name]; !has {
			d.w.fail("the daemon does not tell %s", name)
		}
	}
	// The kernel counts descriptors; the one of this very question is among them.
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.pid))
	if err != nil {
		d.w.fail("the daemon has ended: %v", err)
	}
	var state float64
	_ = filepath.WalkDir(d.w.state, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			if info, err := e.Info(); err == nil {
				state += float64(info.Size())
			}
		}
		return nil
	})
	// The ledger keeps every act for good, with the decision that led to it.
	state = max(0, state-perAct*f["winnow_acts_total"])
	// Half of what the heap may grow to until the next collection is what lived after the last one.
	d.samples = append(d.samples, sample{time.Now(), f[names[0]], f[names[1]] / 2, state, float64(len(open)), f[names[2]], f[names[3]], f["winnow_sweeps_total"], f["winnow_wakes_total"]})
}

// bound says by how much the second half of the time may be above the first: a factor, and something besides.
type bound struct {
	name   string
	of     func(sample) float64
	factor float64
	plus   float64
	most   float64
}

const mib = 1 << 20

// perAct is what an act may add to the ledger for good, in bytes.
const perAct = 6 << 10

// bounds hold the lower quartiles of the halves against each other: what leaks stays, and what is under way comes and goes. Every value is held against most.
var bounds = []bound{
	{"resident memory", func(s sample) float64 { return s.rss }, 1.2, 24 * mib, 160 * mib},
	{"live heap", func(s sample) float64 { return s.heap }, 1.2, 4 * mib, 80 * mib},
	{"descriptors", func(s sample) float64 { return s.descriptors }, 1, 16, 250},
	{"goroutines", func(s sample) float64 { return s.goroutines }, 1, 8, 200},
	{"threads", func(s sample) float64 { return s.threads }, 1, 6, 64},
	{"size of the state folder less its acts", func(s sample) float64 { return s.state }, 1.2, 6 * mib, 32 * mib},
}

func quartile(ss []sample, of func(sample) float64) float64 {
	var vs []float64
	for _, s := range ss {
		vs = append(vs, of(s))
	}
	slices.Sort(vs)
	return vs[len(vs)/4]
}

// halves are the samples after the first few, in which the daemon began, in two.
func (d *daemon) halves() (first, second []sample) {
	ss := d.samples[min(len(d.samples)/5, 60):]
	return ss[:len(ss)/2], ss[len(ss)/2:]
}

// flat holds that the daemon did not grow.
func (d *daemon) flat() {
	d.w.t.Helper()
	if len(d.samples) < 6 {
		d.w.fail("%d samples only", len(d.samples))
	}
	first, second := d.halves()
	for _, b := range bounds {
		a, z := quartile(first, b.of), quartile(second, b.of)
		if z > a*b.factor+b.plus {
			d.w.fail("%s: %.0f in the first half, %.0f in the second; at most %.0f is allowed", b.name, a, z, a*b.factor+b.plus)
		}
		for _, s := range d.samples {
			if v := b.of(s); v > b.most {
				d.w.fail("%s: %.0f at %s, more than %.0f", b.name, v, s.at.Format(time.TimeOnly), b.most)
			}
		}
	}
}

// line says how the daemon stood in both halves.
func (d *daemon) line() string {
	first, second := d.halves()
	if len(first) == 0 {
		return "not measured"
	}
	out := fmt.Sprintf("%.0f sweeps, %.0f events; lower quartiles of the first and the second half", d.samples[len(d.samples)-1].sweeps, d.samples[len(d.samples)-1].wakings)
	for _, b := range bounds {
		unit := 1.0
		if b.plus >= mib {
			unit = mib
		}
		out += fmt.Sprintf("; %s %.1f, %.1f", b.name, quartile(first, b.of)/unit, quartile(second, b.of)/unit)
	}
	return out
}

// quiet holds that nothing wakes the daemon while nothing happens.
func (d *daemon) quiet() {
	d.w.t.Helper()
	least := 0.0
	if !wait.Until(wait.Patience, func() bool {
		before := d.of("winnow_wakes_total")
		time.Sleep(2 * time.Second)
		least = d.of("winnow_wakes_total") - before
		return least == 0
	}) {
		f, _ := d.figures()
		d.w.fail("%.0f events in 2 s in which nothing happened; in all: %v", least, wakes(f))
	}
}

// wakes are the counts of events by source.
func wakes(f map[string]float64) (out []string) {
	for name, n := range f {
		if strings.HasPrefix(name, "winnow_wakes_total{") {
			out = append(out, fmt.Sprintf("%s %.0f", name, n))
		}
	}
	slices.Sort(out)
	return out
}

// ends holds that the daemon ends well when it is asked to, and leaves no process behind.
func (d *daemon) ends() {
	d.w.t.Helper()
	d.signal(unix.SIGTERM)
	select {
	case err := <-d.done:
		if err != nil {
			d.w.fail("it ended with %v", err)
		}
	case <-time.After(wait.Patience):
		d.w.fail("it does not end")
	}
}
