package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/demo"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// racedKinds are the kinds of candidates that one sweep takes, then the next one: where it takes one kind alone, more leases meet its acts. A worktree and the
// entry of one whose folder is gone are both of the kind dir.
var racedKinds = []string{"session,process,dir", "dir", "session", "process"}

// raceWorld is a daemon that grants, and things of each kind that a winnow of another state folder takes.
type raceWorld struct {
	*steadyWorld
	c      *client.Client
	config string
	marker string
	// spans are how long the last sweep that acted took, by its kinds: leases are asked for at random times of it.
	spans map[string]time.Duration
	// each is how many things of each kind there are when a sweep begins, made how many were made in all.
	each, made int
	// there tells of each thing, by its id as a candidate, whether it is there; of are the ids by what was made.
	there map[string]func() bool
	of    map[string][]string
	tally map[string]*raceTally
}

// raceTally counts grants that were kept, refusals, and what was taken, with and without being asked for.
type raceTally struct{ granted, refused, taken int }

// TestLeasesUnderASweepThatActs: leases are asked for on worktrees, entries of worktrees whose folder is gone, sessions and processes, while a
// winnow of another state folder takes them. What was granted is never taken, and who came too late is told so.
func TestLeasesUnderASweepThatActs(t *testing.T) {
	stage.NeedSecond(t, "a race, many times over")
	startsOften(t)
	t.Parallel()
	trials := stage.Trials(12, 600)
	w := newRaceWorld(t)
	w.each = min(max(32, trials/16), 48)
	began, asked := time.Now(), 0
	for i := 0; asked < trials || !w.allTaken() && time.Since(began) < 2*wait.Patience; i++ {
		asked += w.race(racedKinds[i%len(racedKinds)])
	}
	line := ""
	for what, n := range w.tally {
		line += fmt.Sprintf("; %s: %d granted and there, %d refused, %d taken", what, n.granted, n.refused, n.taken)
	}
	if !w.allTaken() {
		t.Errorf("some kind was never taken, so nothing is shown by what stayed%s", line)
	}
	figures.Logf(t, "grants against sweeps that act: %d in %s%s", asked, time.Since(began).Round(time.Second), line)
}

func newRaceWorld(t *testing.T) *raceWorld {
	t.Helper()
	s, _, socket := answeringWorld(t, 210)
	w := &raceWorld{
		steadyWorld: s, c: client.New(socket), marker: "WINNOW_" + strings.ToUpper(newMark()), spans: map[string]time.Duration{},
		there: map[string]func() bool{}, of: map[string][]string{}, tally: map[string]*raceTally{},
	}
	t.Cleanup(w.c.Close)
	files.Write(t, filepath.Join(w.dir, "project", "file"), "text") // by its files git notes on which disk a worktree lies
	w.mustRun(t, "git", "-C", "project", "add", "file")
	w.mustRun(t, "git", "-C", "project", "commit", "-q", "-m", "a file")
	w.config = w.elsewhere(t)
	text := string(musts.Get(os.ReadFile(w.config))(t))
	for old, now := range map[string]string{
		"collect: {":      "collect: {processes: {markers: [" + w.marker + "]}, ",
		"discover: false": "discover_from: [under], discover_under: [" + w.dir + "]", // entries are found by their repository
		// no agent of the machine's may have started what goes
		"rules: {": "rules: {id_markers: [" + w.marker + "], agents: [ag-" + w.marker + "], agent_scripts: [], agent_packages: [], agent_daemons: [], confirm_process_after: 1ms, landed_after: 0s, ",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is in the configuration %d times:\n%s", old, strings.Count(text, old), text)
		}
		text = strings.Replace(text, old, now, 1)
	}
	files.Write(t, w.config, text+"act: {caps: {share: 1}}\n")
	return w
}

// race has things of each kind, asks for a lease on each while a sweep takes them, and holds that those that were granted are there. Half of the
// leases are asked for at a random time, half right after the first act. It gives how many were granted or refused.
func (w *raceWorld) race(kinds string) int {
	t := w.t
	w.fill()
	began := time.Now()
	w.sweepAll(kinds)
	w.sweepAll(kinds)
	span := w.spans[kinds]
	if span == 0 {
		span = 2 * time.Since(began)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	granted, refused, over := map[string]*client.Lease{}, map[string]bool{}, make(chan struct{})
	began = time.Now()
	acts := w.firstAct(kinds, over)
	for i, id := range w.asked(kinds) {
		all.Go(func() {
			if i%2 == 0 {
				time.Sleep(rand.N(span))
			} else {
				<-acts
				time.Sleep(rand.N(300 * time.Millisecond))
			}
			there := w.there[id]()
			l, err := w.c.Lease(t.Context(), id, "a build")
			var no *client.Error
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && there:
				granted[id] = l
			case err == nil: // a minute after it was taken, its name may be leased for what comes
				if took := time.Since(began); took < time.Minute {
					t.Errorf("%s was granted after it was taken, %s after the sweep began", id, took)
				}
				_ = l.Close()
			case errors.As(err, &no) && no.Status == http.StatusConflict && strings.Contains(no.Message, "it came too late"):
				refused[id] = true
			default:
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	w.sweepAll(kinds, "--apply", "--max", "1000", "--all-of", kinds)
	w.spans[kinds] = time.Since(began)
	close(over)
	all.Wait()
	for what, ids := range w.of {
		n := w.tally[what]
		for _, id := range ids {
			there := w.there[id]()
			if !there {
				n.taken++
			}
			switch {
			case granted[id] != nil && leaseEnded(granted[id]):
				t.Logf("the lease on %s ended by itself: %v", id, granted[id].Err())
			case granted[id] != nil && !there:
				t.Errorf("%s was granted, and taken", id)
			case granted[id] != nil:
				n.granted++
			case refused[id]:
				n.refused++
			}
		}
	}
	asked := len(granted) + len(refused)
	for _, l := range granted {
		_ = l.Close()
	}
	wait.Eventually(t, "all leases are over", func() bool {
		holds, err := w.c.Holds(t.Context())
		return err == nil && len(holds) == 0
	})
	return asked
}

// leaseEnded reports whether a lease has ended: the connection says so to who had it.
func leaseEnded(l *client.Lease) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// firstAct is closed when the oldest thing of some kind, which is not asked for, was taken, or when the sweep is over.
func (w *raceWorld) firstAct(kinds string, over <-chan struct{}) <-chan struct{} {
	var oldest []func() bool
	for _, ids := range w.of {
		if kind, _, _ := strings.Cut(ids[0], ":"); strings.Contains(kinds, kind) {
			oldest = append(oldest, w.there[ids[0]])
		}
	}
	acts := make(chan struct{})
	go func() {
		defer close(acts)
		for !slices.ContainsFunc(oldest, func(there func() bool) bool { return !there() }) {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return acts
}

// asked are those of some kinds for which somebody asks; every sixth goes unasked.
func (w *raceWorld) asked(kinds string) (all []string) {
	for _, ids := range w.of {
		for i, id := range ids {
			if kind, _, _ := strings.Cut(id, ":"); i%6 > 0 && strings.Contains(kinds, kind) {
				all = append(all, id)
			}
		}
	}
	return all
}

func (w *raceWorld) allTaken() bool {
	for _, n := range w.tally {
		if n.taken == 0 {
			return false
		}
	}
	return true
}

// sweepAll sweeps all things of some kinds. On a busy machine a look may leave something for the next one, and its exit code says so.
func (w *raceWorld) sweepAll(kinds string, args ...string) {
	_, _ = w.run(nil, "winnow", append([]string{"sweep", "--config", w.config, "--kind", kinds}, args...)...)
}

// fill makes as many things of each kind as a sweep is to take.
func (w *raceWorld) fill() {
	for what, make := range map[string]func(n int) (id string, there func() bool){"worktree": w.tree, "entry": w.entry, "session": w.session, "process": w.process} {
		left := []string{}
		for _, id := range w.of[what] {
			if w.there[id]() {
				left = append(left, id)
			} else {
				delete(w.there, id)
			}
		}
		for len(left) < w.each {
			w.made++
			id, there := make(w.made)
			w.there[id], left = there, append(left, id)
		}
		if w.of[what] = left; w.tally[what] == nil {
			w.tally[what] = new(raceTally)
		}
	}
}

func (w *raceWorld) tree(n int) (string, func() bool) {
	path := filepath.Join(w.dir, "wt", fmt.Sprintf("project-review-%08x", n))
	w.mustRun(w.t, "git", "-C", "project", "worktree", "add", "-q", "--detach", path)
	return "dir:" + path, func() bool { return exists(path) }
}

func (w *raceWorld) entry(n int) (string, func() bool) {
	id, _ := w.tree(n)
	path := strings.TrimPrefix(id, "dir:")
	musts.Do(w.t, os.RemoveAll(path))
	return id, func() bool { return exists(filepath.Join(w.dir, "project", ".git", "worktrees", filepath.Base(path))) }
}

func (w *raceWorld) session(n int) (string, func() bool) {
	name := fmt.Sprintf("job-%d", n)
	w.tmux.Run("new-session", "-d", "-s", name)
	id := strings.TrimSpace(w.tmux.Run("display-message", "-p", "-t", "="+name+":", "#{session_id}"))
	return "session:tmux/" + filepath.Base(w.tmux.Socket) + "/" + id, func() bool { return w.tmux.Has(name) }
}

func (w *raceWorld) process(int) (string, func() bool) {
	pid := musts.Get(startOrphan(w.dir, []string{w.marker + "=gone"}, "sleep", "7200"))(w.t)
	p := musts.Get(os.FindProcess(pid))(w.t)
	w.t.Cleanup(func() { _ = p.Kill() })
	return processID(w.t, pid), func() bool { return demo.IsRunning(p) }
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }
