// Package look looks at this machine once: sources, prior state, expensive checks only for what may go, sizes.
package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/panes"
	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/du"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

// Looker looks at this machine.
type Looker struct {
	ruleset.Loader
	// Workers says what became of workers; made when it is first asked, see observer.
	Workers *worker.Observer
	// Watch begins to show a person which sources are being read; nil: it is not shown.
	Watch func() (show func([]collectors.Running), clear func())
}

// Look reads the world into one snapshot, with what the ledger remembers of it. A source that cannot be read is written into the
// snapshot and is not an error; what comes back as an error is configuration that names no source.
func (l *Looker) Look(ctx context.Context, sc sources.Scope, mem PriorState) (*snapshot.Snapshot, error) {
	return l.LookFor(ctx, sc, mem, nil)
}

// LookFor is look for an engine that alone judges what is seen: of folders that it keeps anyway less is read. nil means that no engine is known.
func (l *Looker) LookFor(ctx context.Context, sc sources.Scope, mem PriorState, e *eval.Engine) (s *snapshot.Snapshot, err error) {
	set := l.Sources()
	set.Ancestries, set.Mounted = mem.Ancestries, mem.Mounts
	from, err := set.Sources(sc, mem.Owners)
	if err != nil {
		return nil, err
	}
	if mem.Baseline != nil {
		from = mem.Baseline.watch(from)
	}
	// The clocks are read together and once: how long the reading of everything else takes is not a jump of the clock.
	began := host.Now()
	opts := collectors.RunOptions{
		Sources: from,
		Timeout: l.Cfg.Collect.Timeout,
		Now:     func() time.Time { return began.At },
		Log:     l.Log.Named("collectors"),
	}
	if l.Cfg.Collect.Dirs.Discover && !sc.Alone && !sc.Life && (sc.Kind == "" || sc.Kind == snapshot.KindProcess || sc.Kind == snapshot.KindSession) {
		opts.Discover, opts.Around = set.Discover(sc), set.Around(sc)
		opts.Searches = set.Searches(mem.repositories)
	}
	opts.Then = func(ctx context.Context, s *snapshot.Snapshot) {
		set.Folders.Prefetch(ctx, s)
		host, err := host.Read(l.Cfg.Collect.Processes.Root, host.KnownNames())
		if err != nil {
			l.fail(s, snapshot.Proc, "processes", err)
		}
		s.Host = l.hostOf(host)
		s.Host.UpSeconds, s.Host.AwakeSeconds = began.Up, began.Awake
		panes.Fill(s)
		mem.fill(ctx, s, l.Cfg.Rules.ClockJump)
		s.Host.Pressure = l.Pressure()
		l.projects(ctx, s, sc)
		if sc.ID == "" && sc.Kind == "" {
			set.Folders.Prefilter(l.prefilter(ctx, e, s))
		}
	}
	clearProgress := func() {}
	if l.Watch != nil {
		opts.Progress, clearProgress = l.Watch()
	}
	s = collectors.Run(ctx, opts)
	clearProgress()
	mem.fillConnected(s)
	if mem.Err == nil && mem.Reread != nil {
		s.Holds, err = mem.Reread(ctx)
		if err != nil {
			l.fail(s, snapshot.Ledger, "ledger", fmt.Errorf("read holds: %w", err))
		}
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted while looking; nothing was decided, remembered or done")
	}
	if sc.ID == "" && !sc.Alone && !sc.Life { // one candidate's look does not see where everybody else's sessions live
		s.Workers = l.Observer().Observe(ctx, s)
	}
	return s, nil
}

// Sources are those that the configuration names, for the rules that were loaded last: for one look.
func (l *Looker) Sources() sources.Set {
	return sources.Set{Config: l.Cfg, Policy: l.Policy, Log: l.Log, Folders: dirs.NewLookCache(), Table: &processes.Table{}, Asker: l.CLIPID(), Asked: l.Asked, From: l.AskerFolder}
}

// Observer says what became of workers.
func (l *Looker) Observer() *worker.Observer {
	if l.Workers == nil {
		l.Workers = worker.New(policies.Observing, worker.Config{Rules: &l.Cfg.Rules.Config, NoTmux: len(l.Cfg.Collect.Tmux.Sockets) == 0})
	}
	return l.Workers
}

// fail records that a source failed although its reader did not say so.
func (l *Looker) fail(s *snapshot.Snapshot, name, kind string, err error) {
	src := s.Sources[name]
	src.Kind, src.Status, src.Error = kind, snapshot.Failed, cmp.Or(src.Error, err.Error())
	s.Sources[name] = src
}

// PriorState is what the ledger gives a look: holds, sightings, who owned which terminal, and when the clock was last steady. Err says why it could not be read;
// the look then goes on without it, and everything is spared.
type PriorState struct {
	Path      string
	Err       error
	holds     []snapshot.Hold
	Sightings map[string]snapshot.Sighting
	last      *ledger.Look
	Owners    []snapshot.Owner
	// repositories are the owners of folders that the latest sweeps decided on.
	repositories []string
	Ancestries   []snapshot.Ancestry
	// Mounts are the mount points on which earlier looks in this pid Namespace saw folders.
	Mounts    []string
	Namespace string
	// connected says since when earlier looks have found processes connected.
	connected map[string]time.Time
	// Reread, where it is set, gives the holds once everything else has been read: what a person or a program holds while a sweep looks, or between two of its
	// acts, counts before the next act.
	Reread func(context.Context) ([]snapshot.Hold, error)
	// Fingerprint, where it is set, takes note of what the look sees.
	Baseline *Fingerprint
	// Fresh, where it is set, is asked whether what was seen before still counts; it is told why not.
	Fresh *Window
}

// Window is for how long looks may be apart for the later one to count what the earlier one saw, and why the last one could not.
type Window struct {
	Gap time.Duration
	Why string
}

// LoadPrior reads the memory from an open ledger, and the leases.
func (a *Looker) LoadPrior(ctx context.Context, l *ledger.Ledger) PriorState {
	m := PriorState{Path: a.LedgerPath()}
	var errs [8]error
	m.holds, errs[0] = a.Holds(ctx, l)
	m.Sightings, errs[1] = l.Sightings(ctx)
	m.last, errs[2] = l.Look(ctx)
	m.Owners, errs[3] = l.Owners(ctx)
	m.repositories, errs[4] = l.Repositories(ctx)
	m.Ancestries, errs[5] = l.Ancestries(ctx)
	m.Namespace, _ = proc.PIDNamespace(a.Cfg.Collect.Processes.Root) // "" is as good a name, where there is none
	m.Mounts, errs[6] = l.Mounts(ctx, m.Namespace)
	m.connected, errs[7] = l.Connected(ctx)
	m.Err = errors.Join(errs[:]...)
	return m
}

// LoadPriorReadOnly reads the memory without writing anything. A ledger that does not exist yet remembers nothing, which is not a failure.
func (a *Looker) LoadPriorReadOnly(ctx context.Context) PriorState {
	m, none := PriorState{Path: a.LedgerPath()}, true
	err := a.ReadLedger(func(l *ledger.Ledger) error {
		m, none = a.LoadPrior(ctx, l), false
		return nil
	})
	switch {
	case err != nil:
		m.Err = err
	case none:
		m.holds, m.Err = a.Holds(ctx, nil)
	}
	return m
}

// fill writes the memory into a snapshot.
func (m PriorState) fill(_ context.Context, s *snapshot.Snapshot, jump float64) {
	src := snapshot.Source{Kind: "ledger", Status: snapshot.OK, Path: m.Path, Seen: len(m.holds) + len(m.Sightings)}
	if m.Err != nil {
		src.Status, src.Error, src.Seen = snapshot.Failed, m.Err.Error(), 0
		s.Sources[snapshot.Ledger] = src
		return
	}
	s.Sources[snapshot.Ledger] = src
	s.Holds, s.Sightings, s.Owners, s.Ancestries = m.holds, m.Sightings, m.Owners, m.Ancestries
	s.Host.SteadySince, s.Host.LastResumeAt = ledger.Steady(m.last, s.Host, s.TakenAt, config.Seconds(jump))
	s.Host.Asleep = ledger.Asleep(m.last, s.Host, s.TakenAt)
	if w := m.Fresh; w != nil {
		if w.Why = ledger.Fresh(m.last, s.Host, s.TakenAt, config.Seconds(jump), w.Gap); w.Why != "" {
			s.Sightings = nil
		}
	}
}

// fillConnected says of each process that has connections since when looks have found it so.
func (m PriorState) fillConnected(s *snapshot.Snapshot) {
	if m.Err != nil {
		return
	}
	for id, p := range s.Processes {
		if p.Connections != nil && *p.Connections > 0 {
			since, ok := m.connected[id]
			if !ok {
				since = s.TakenAt
			}
			p.ConnectedSince = &since
		}
	}
}

// LookOrRead gives a saved snapshot, or a fresh look where file is empty.
func (l *Looker) LookOrRead(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	if file == "" {
		return l.Look(ctx, sources.Scope{}, l.LoadPriorReadOnly(ctx))
	}
	return l.ReadSnapshot(ctx, file)
}

// ReadSnapshot reads a saved snapshot, and says in the log which of its fields are passed over.
func (l *Looker) ReadSnapshot(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	s, unknown, err := saved.Read(ctx, file)
	for _, field := range unknown {
		l.Log.Warn("unknown field in the snapshot, passed over", "file", file, "field", field)
	}
	return s, err
}

// hostOf has the command line for which the daemon looks count as Winnow too, as it would without the daemon: with the folder that it is in, and those that it descends from.
func (l *Looker) hostOf(h snapshot.Host) snapshot.Host {
	pid := l.CLIPID()
	if pid == 0 {
		return h
	}
	if l.AskerFolder != "" {
		h.Cwd = l.AskerFolder
	}
	if line, err := proc.Lineage(l.Cfg.Collect.Processes.Root, pid); err == nil && h.Ancestors != nil {
		h.Ancestors = append(line, h.Ancestors...)
	}
	return h
}

// OwnConfig is the file that a protection is written into: the one that was read, or else the user's own.
func (l *Looker) OwnConfig() string { return cmp.Or(l.Cfg.File, config.UserFile()) }

// Confirmable is for how long the sighting that may be confirmed first still waits, from the end of the sweep that made r; negative where none waits.
func Confirmable(r *report.Report) time.Duration {
	least := time.Duration(-1)
	for _, dec := range r.Decisions {
		if dec.Verdict != decision.Spare || !dec.Waits() {
			continue
		}
		at, known := report.Due(dec, r.TakenAt)
		if !known {
			continue
		}
		// A moment more: ages are counted from the next look's own time.
		if wait := max(0, time.Until(at)) + 100*time.Millisecond; least < 0 || wait < least {
			least = wait
		}
	}
	return least
}

// Pressure is ReadPressure; what cannot be read is a line of the log, and unknown.
func (l *Looker) Pressure() *snapshot.Pressure {
	p, err := l.ReadPressure()
	if err != nil {
		l.Log.Debug("read the pressure on this machine", "error", err)
	}
	return p
}

// ReadPressure reads how short the machine is of memory, and the file systems of the state folder and of managed folders of room.
func (l *Looker) ReadPressure() (*snapshot.Pressure, error) {
	places := []string{l.Cfg.State}
	for _, p := range l.Cfg.Collect.Dirs.Roots {
		if !strings.ContainsAny(p, "*?[") {
			places = append(places, filepath.Clean(p))
		}
	}
	return pressure.ReadBounded(l.Cfg.Collect.Processes.Root, places)
}

// settled is how old a process must be to count for what /proc gave: what a build starts comes and goes.
const settled = 15 * time.Minute

// Speakers are how much was read from each source that speaks for owners: records, and of /proc the processes that are not new.
func Speakers(s *snapshot.Snapshot) map[string]int {
	out := map[string]int{}
	for name, src := range s.Sources {
		if src.Status == snapshot.OK && (src.Kind == "registry" || src.Kind == "spawns") {
			out[name] = src.Seen
		}
	}
	if s.Sources[snapshot.Proc].Status == snapshot.OK && s.Host.UpSeconds != nil {
		old := 0
		for _, p := range s.Processes {
			if float64(p.StartTicks)/proc.UserHZ <= *s.Host.UpSeconds-settled.Seconds() {
				old++
			}
		}
		out[snapshot.Proc] = old
	}
	return out
}

// errSizes is why a measuring ends before all was counted.
var errSizes = errors.New("collect.dirs.sizes has passed")

// AddSizes fills in what the wanted folders take up. It takes collect.dirs.sizes at most; what was not counted by then is a size that is not
// complete.
func (l *Looker) AddSizes(ctx context.Context, s *snapshot.Snapshot, ds []decision.Decision, wanted func(decision.Decision) bool) {
	within := l.Cfg.Collect.Dirs.Sizes
	if within <= 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSizes)
	defer cancel()
	now := time.Now().UTC()
	var trees []du.Tree
	var of []int
	parts := l.Sources().Parts(ctx)
	for i := range ds {
		d, seen := s.Dirs[ds[i].ID]
		switch {
		case !seen || !wanted(ds[i]):
		case d.Content != nil:
			if b := d.Content.Bytes; b != nil { // the look that found it has counted it
				ds[i].Size = &decision.Size{Bytes: *b, Rebuildable: *b, In: d.Name, Complete: true, MeasuredAt: s.TakenAt}
			}
		case d.Gone != nil: // a few kilobytes in its repository
		case d.Symlink != nil && !*d.Symlink:
			trees = append(trees, du.Tree{Path: d.Path, Part: parts(d.Path)})
			of = append(of, i)
		}
	}
	for k, u := range du.Measure(ctx, trees) {
		z := &decision.Size{Bytes: u.Bytes, Rebuildable: u.PartBytes(), Shared: u.Shared, Complete: u.Complete, MeasuredAt: now}
		if big, ok := u.Largest(); ok {
			z.In = big.Path
		}
		ds[of[k]].Size = z
	}
}

// AddTrashSize is what the acts in the trash take up there: as their plans say, or measured where those do not.
func (l *Looker) AddTrashSize(ctx context.Context, acts []ledger.Act) []report.Lying {
	out := make([]report.Lying, len(acts))
	var trees []du.Tree
	var of []int
	for i, act := range acts {
		out[i].Until = act.Intent.RestoreUntil
		if act.Intent.Identity.Dir == nil { // the text of a pane: a few kilobytes
			out[i].Known = true
			continue
		}
		if out[i].Bytes, out[i].Known = actdirs.Bytes(act.Intent); out[i].Known {
			continue
		}
		if place := actdirs.Place(act.Intent); place != "" {
			trees, of = append(trees, du.Tree{Path: place}), append(of, i)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, max(l.Cfg.Collect.Dirs.Sizes, time.Second), errSizes)
	defer cancel()
	for k, u := range du.Measure(ctx, trees) {
		out[of[k]].Bytes, out[of[k]].Known = u.Bytes, u.Complete
	}
	return out
}

// projects writes into a snapshot which projects the user trusts and what these keep. A list that cannot be read is a source that
// failed: what it keeps is not known then.
func (a *Looker) projects(ctx context.Context, s *snapshot.Snapshot, sc sources.Scope) {
	store := project.Store{State: a.Cfg.State}
	trusted, err := store.All(ctx)
	for _, t := range trusted {
		// What was trusted holds, and the state says how the file is by now.
		keeps, off := append([]snapshot.Keep{}, t.Says.Protected...), t.Says.Off()
		p := snapshot.Project{Path: t.Path, File: ProjectFile(t.Path), SHA256: t.SHA256, Keeps: &keeps, Off: &off}
		p.State, p.Why = t.State(ctx)
		worktrees, e := project.Worktrees(ctx, t.Path)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w; winnow trust --revoke %s does without it", t.Path, e, text.Quote(t.Path)))
		}
		p.Worktrees = worktrees
		s.Projects = append(s.Projects, p)
	}
	if err != nil || len(trusted) > 0 {
		s.Sources[snapshot.Projects] = snapshot.Source{Kind: snapshot.Projects, Status: snapshot.OK, Path: filepath.Join(a.Cfg.State, "trusted"), Seen: len(trusted)}
	}
	if err != nil {
		a.fail(s, snapshot.Projects, snapshot.Projects, err)
	}
	if sc.ID == "" {
		s.Projects = append(s.Projects, untrusted(s)...)
	}
	slices.SortFunc(s.Projects, func(a, b snapshot.Project) int { return strings.Compare(a.Path, b.Path) })
}

// untrusted are the repositories of folders in the snapshot that bring a file which was never trusted. It is not opened.
func untrusted(s *snapshot.Snapshot) []snapshot.Project {
	mains := map[string]bool{}
	for _, d := range s.Dirs {
		if d.Git != nil && d.Git.Main != "" {
			mains[d.Git.Main] = true
		}
	}
	var out []snapshot.Project
	for _, main := range slices.Sorted(maps.Keys(mains)) {
		if slices.ContainsFunc(s.Projects, func(p snapshot.Project) bool { return p.Path == main }) {
			continue
		}
		if _, err := os.Lstat(ProjectFile(main)); err == nil {
			out = append(out, snapshot.Project{Path: main, File: ProjectFile(main), State: snapshot.ProjectUntrusted,
				Why: "its file is not trusted, so it has no effect; winnow trust shows it"})
		}
	}
	return out
}

// ProjectFile is where the file of a repository's own lies, by the path of its main checkout.
func ProjectFile(main string) string { return filepath.Join(main, project.Folder, project.Name) }

// Targets are what may change something of what a sweep saw: folders of candidates, records and sockets, and the processes that matter, agents first.
func (l *Looker) Targets(s *snapshot.Snapshot, b *Fingerprint) wake.Targets {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, root := range l.Cfg.Collect.Dirs.Roots {
		if !strings.ContainsAny(root, "*?[") {
			folders[root] = true
		}
	}
	for _, d := range s.Dirs {
		if d.Root != "" {
			folders[d.Root] = true
		}
		if d.Git != nil && d.Git.CommonDir != "" {
			folders[filepath.Join(d.Git.CommonDir, "worktrees")] = true
		}
	}
	for _, src := range s.Sources {
		switch src.Kind {
		case "ledger", "processes", "dirs":
		case "tmux":
			if src.Path != "" {
				folders[filepath.Dir(src.Path)] = true
			}
		default:
			if filepath.IsAbs(src.Path) {
				files[src.Path] = true
			}
		}
	}
	t := wake.Targets{Folders: slices.Sorted(maps.Keys(folders)), Files: slices.Sorted(maps.Keys(files))}
	if b == nil {
		return t
	}
	up := host.Now().Up
	var others []wake.Target
	for _, pid := range slices.Sorted(maps.Keys(b.Known)) {
		target := wake.Target{PID: pid, Start: b.Known[pid].Start}
		if b.agents[pid] {
			t.Processes = append(t.Processes, target)
		} else if b.Tells(pid, up) {
			others = append(others, target)
		}
	}
	t.Processes = append(t.Processes, others...)
	return t
}

// Passing is for how long a process must have run, in seconds, to be worth a sweep when it ends while what started it lives.
const Passing = 60

// Tells reports whether the end of a process that matters is worth a sweep, at that many seconds since boot: that of an agent, of what a pane was opened with, of what nothing else
// here started, and of what has run for a while. An agent at work starts and ends a process every few seconds, and none of these ends is news while it lives.
func (b *Fingerprint) Tells(pid int, up *float64) bool {
	st := b.Known[pid]
	_, below := b.Known[st.Parent]
	return b.agents[pid] || b.shells[pid] || !below || up == nil || *up-float64(st.Start)/proc.UserHZ >= Passing
}
