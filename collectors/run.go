package collectors

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// DefaultTimeout holds where RunOptions gives no Timeout.
const DefaultTimeout = 10 * time.Second

// RunOptions says what Run reads and how.
type RunOptions struct {
	// Sources are read all at once. Their names are unique: of two with the same name the second is recorded as failed.
	Sources []Source
	// Timeout is how long one source may take; zero or less is DefaultTimeout. One that has many items gets more (Items).
	Timeout time.Duration
	// Discover gives the further sources that a path which some source named leads to; nil discovers nothing. It is asked once a path,
	// under the same Timeout, beside the readers; a source whose name is already there is not started again.
	Discover func(path string) []Source
	// Around gives the further sources that a place of work leads to: a folder that something works in (FromProcesses, FromPanes), or that a
	// search found, by the search's From. Unlike what a record names, such a place need not lead anywhere. Nil looks around nothing.
	Around func(from, path string) []Source
	// Searches look for such places beside the readers, under the same Timeout. One that takes longer is recorded as a source that failed.
	Searches []Search
	// Now is the clock that dates the snapshot; nil is time.Now.
	Now func() time.Time
	// Then is called once, when all sources have been read and before what they left for later (Part.Rest) is: what it is given is the snapshot so
	// far, which it may add to. Of that only Dirs and the state of their sources are written again afterwards. Nil does nothing.
	Then func(ctx context.Context, soFar *snapshot.Snapshot)
	// Progress gets the sources that are being read, sorted by name, whenever one starts or ends. Calls never overlap.
	Progress func(running []Running)
	// Log may be nil.
	Log hclog.Logger
}

// Where a place of work is known from, for RunOptions.Around.
const (
	FromProcesses = "processes"
	FromPanes     = "panes"
)

// Search looks for places of work that no source of its own names. What it cannot read it leaves out.
type Search struct {
	Name, From string
	Find       func(ctx context.Context) []string
}

// Run reads all sources at the same time into one snapshot, and starts those that Discover gives as soon as a path is named.
//
// It never fails: a source that returns an error, panics or takes too long is recorded as failed (or absent) with the reason,
// and touches no other. A reader that ignores its deadline is left behind, and what it gives later is dropped. When ctx ends,
// what was not read by then is recorded as failed.
//
// TakenAt is taken before the first reading, so that an age counted back from it is never too great. Host, Holds and
// Sightings are left to the caller.
func Run(ctx context.Context, o RunOptions) *snapshot.Snapshot {
	r := newRun(o)
	for _, s := range o.Sources {
		r.admit(ctx, s)
	}
	for _, search := range o.Searches {
		r.search(ctx, search)
	}
	for len(r.running) > 0 {
		r.take(ctx, <-r.ended)
	}
	s := r.snapshot()
	if r.Then != nil {
		r.Then(ctx, s)
	}
	r.readDeferred(ctx, s)
	return s
}

// readDeferred reads what the sources left for later, all at once, and writes it into the snapshot.
func (r *run) readDeferred(ctx context.Context, s *snapshot.Snapshot) {
	for name, end := range r.done {
		if end.part.Rest != nil {
			r.again[name] = end
		}
	}
	if len(r.again) == 0 {
		return
	}
	for _, first := range r.again {
		r.watch(ctx, reading{Source: first.Source}, func(ctx context.Context, into *reading) { into.part, into.err = first.part.Rest(ctx) })
	}
	for len(r.running) > 0 {
		end := <-r.ended
		delete(r.running, end.Name)
		r.tell()
		r.keep(&end)
		first := r.again[end.Name]
		end.took, end.allowed = end.took+first.took, end.allowed+first.allowed
		r.done[end.Name] = end
	}
	r.dirs(s)
}

// run is the state of one Run. Only the goroutine that called Run touches it; readers answer through ended.
type run struct {
	RunOptions
	takenAt time.Time
	ended   chan reading
	running map[string]*lease
	asked   map[string]bool // the paths that Discover was asked about
	done    map[string]reading
	again   map[string]reading // the first readings of those that left something for later
	// processes are those of the sources that have any, shells the first processes of panes.
	processes []map[string]*snapshot.Process
	shells    []int
}

// reading is how the reading of one source ended.
type reading struct {
	Source
	part Part
	err  error
	took time.Duration
	// allowed is how long the reading might have taken.
	allowed time.Duration
	// found are the sources that a discovery gave; discovery is set for one.
	found     []Source
	discovery bool
	// places are what a search found, and from is where.
	places []string
	from   string
}

func newRun(o RunOptions) *run {
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, hclog.NewNullLogger())
	return &run{
		RunOptions: o,
		takenAt:    o.Now().Round(0).UTC(),
		ended:      make(chan reading),
		running:    map[string]*lease{},
		asked:      map[string]bool{},
		done:       map[string]reading{},
		again:      map[string]reading{},
	}
}

var errSameName = errors.New("start: another source has the same name and was read instead; give one of the two another name")

// admit starts a configured source. A name that is taken is recorded beside the first, so that it does not go unseen.
func (r *run) admit(ctx context.Context, s Source) {
	if r.known(s.Name) {
		s.Name += " (second)"
		if !r.known(s.Name) {
			r.done[s.Name] = reading{Source: s, err: errSameName}
		}
		return
	}
	r.start(ctx, s)
}

func (r *run) known(name string) bool {
	_, done := r.done[name]
	return done || r.running[name] != nil
}

func (r *run) start(ctx context.Context, s Source) {
	r.watch(ctx, reading{Source: s}, func(ctx context.Context, into *reading) {
		into.part, into.err = s.Reader.Read(ctx)
	})
}

// around asks where places of work lead to.
func (r *run) around(ctx context.Context, by, from string, places []string) {
	if r.Around != nil {
		r.follow(ctx, "dirs/around "+from+" of "+by, from, places, func(path string) []Source { return r.Around(from, path) })
	}
}

// follow asks about each of the paths that was not asked about before, and starts what that gives. It runs beside the readers, for a path may lie on
// a mount that hangs.
func (r *run) follow(ctx context.Context, name, from string, all []string, lead func(path string) []Source) {
	var paths []string
	for _, p := range all {
		if key := from + "\x00" + p; p != "" && !r.asked[key] {
			r.asked[key] = true
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return
	}
	what := reading{Source: Source{Name: name, Kind: "dirs"}, discovery: true}
	r.watch(ctx, what, func(ctx context.Context, into *reading) {
		Items(ctx, len(paths))
		for _, p := range paths {
			if into.err = ctx.Err(); into.err != nil {
				return
			}
			into.found = append(into.found, lead(p)...)
		}
	})
}

func (r *run) search(ctx context.Context, s Search) {
	if r.Around == nil {
		return
	}
	what := reading{Source: Source{Name: "dirs/found by " + s.Name, Kind: "dirs"}, discovery: true, from: s.From}
	r.watch(ctx, what, func(ctx context.Context, into *reading) { into.places = s.Find(ctx) })
}

// work takes note of the folders that something of a part works in, and looks around them. Most multiplexers say only which processes a pane has,
// and /proc where those work: whichever of the two is read later brings them together.
func (r *run) work(ctx context.Context, by string, p *Part) {
	var byPanes []string
	byProcesses := map[string]bool{}
	for _, proc := range p.Processes {
		if cwd, ok := worksIn(proc); ok {
			byProcesses[cwd] = true
		}
	}
	if len(p.Processes) > 0 {
		r.processes = append(r.processes, p.Processes)
	}
	panes := func(all []snapshot.Pane) {
		for i := range all {
			byPanes = append(byPanes, all[i].Cwd)
			if pid := all[i].ShellPID; pid != nil {
				r.shells = append(r.shells, *pid)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Sessions)) {
		panes(p.Sessions[id].Panes)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Tabs)) {
		panes(p.Tabs[id].Panes)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Terminals)) {
		byPanes = append(byPanes, p.Terminals[id].Cwd)
	}
	if len(p.Processes)+len(p.Sessions)+len(p.Tabs) > 0 {
		byPanes = append(byPanes, r.ofShells()...)
	}
	r.around(ctx, by, FromProcesses, slices.Sorted(maps.Keys(byProcesses)))
	r.around(ctx, by, FromPanes, byPanes)
}

// ofShells are the folders that the first processes of panes work in, of those that were read.
func (r *run) ofShells() []string {
	at := map[int]string{}
	for _, pid := range r.shells {
		at[pid] = ""
	}
	if len(at) == 0 {
		return nil
	}
	for _, all := range r.processes {
		for _, proc := range all {
			if _, asked := at[proc.PID]; asked {
				if cwd, ok := worksIn(proc); ok {
					at[proc.PID] = cwd
				}
			}
		}
	}
	out := make([]string, len(r.shells))
	for i, pid := range r.shells {
		out[i] = at[pid]
	}
	return out
}

// worksIn is the folder that a process works in; false where that is gone or not known.
func worksIn(p *snapshot.Process) (string, bool) {
	if p.Cwd == nil || p.CwdDeleted != nil && *p.CwdDeleted {
		return "", false
	}
	return *p.Cwd, true
}

// watch runs read in the background under the timeout and has its end delivered to ended exactly once.
func (r *run) watch(ctx context.Context, what reading, read func(context.Context, *reading)) {
	own := newLease(ctx, r.Timeout)
	r.running[what.Name] = own
	r.tell()
	log := r.Log
	go func() {
		defer own.stop(context.Canceled)
		end := await(own, what, read, log)
		end.took, end.allowed = time.Since(own.began), own.allowed()
		r.ended <- end
	}()
}

func (r *run) take(ctx context.Context, end reading) {
	delete(r.running, end.Name)
	r.tell()
	r.keep(&end)
	if !end.discovery || end.err != nil {
		r.done[end.Name] = end
	}
	for _, s := range end.found {
		if !r.known(s.Name) {
			r.start(ctx, s)
		}
	}
	if r.Discover != nil {
		r.follow(ctx, "dirs/named by "+end.Name, "", end.part.Named, r.Discover)
	}
	r.around(ctx, end.Name, end.from, end.places)
	r.work(ctx, end.Name, &end.part)
}

// keep leaves of a reading that failed what its reader vouches for.
func (r *run) keep(end *reading) {
	if end.err == nil {
		return
	}
	if !end.part.Partial || errors.Is(end.err, ErrAbsent) {
		end.part = Part{}
	}
	end.part.Rest = nil
	r.Log.Debug("source not read whole", "source", end.Name, "took", end.took, "error", oneLine(end.err.Error()))
}

func (r *run) tell() {
	if r.Progress != nil {
		var running []Running
		for _, name := range slices.Sorted(maps.Keys(r.running)) {
			running = append(running, Running{Name: name, Count: r.running[name].counted.now})
		}
		r.Progress(running)
	}
}
