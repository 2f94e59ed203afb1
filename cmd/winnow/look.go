package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/panes"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/policies"
)

// look reads the world into one snapshot, with what the ledger remembers of it. A source that cannot be read is written into the
// snapshot and is not an error; what comes back as an error is configuration that names no source.
func (a *core) look(ctx context.Context, sc sources.Scope, mem memory) (*snapshot.Snapshot, error) {
	return a.lookFor(ctx, sc, mem, nil)
}

// lookFor is look for an engine that alone judges what is seen: of folders that it keeps anyway less is read. A nil one is none.
func (a *core) lookFor(ctx context.Context, sc sources.Scope, mem memory, e *eval.Engine) (s *snapshot.Snapshot, err error) {
	set := a.sources()
	set.Descents, set.Mounted = mem.descents, mem.mounts
	from, err := set.Of(sc, mem.owners)
	if err != nil {
		return nil, err
	}
	if mem.baseline != nil {
		from = mem.baseline.watch(from)
	}
	// The clocks are read together and once: how long the reading of everything else takes is not a jump of the clock.
	began := processes.Now()
	opts := collectors.RunOptions{
		Sources: from,
		Timeout: a.cfg.Collect.Timeout,
		Now:     func() time.Time { return began.At },
		Log:     a.log.Named("collectors"),
	}
	if a.cfg.Collect.Dirs.Discover && !sc.Alone && !sc.Life && (sc.Kind == "" || sc.Kind == snapshot.KindProcess || sc.Kind == snapshot.KindSession) {
		opts.Discover, opts.Around = set.Discover(sc), set.Around(sc)
		opts.Searches = set.Searches(mem.repositories)
	}
	opts.Then = func(ctx context.Context, s *snapshot.Snapshot) {
		set.Folders.Weigh(ctx, s)
		host, err := processes.Host(a.cfg.Collect.Processes.Root, processes.KnownNames())
		if err != nil {
			a.fail(s, snapshot.Proc, "processes", err)
		}
		s.Host = a.hostOf(host)
		s.Host.UpSeconds, s.Host.AwakeSeconds = began.Up, began.Awake
		panes.Fill(s)
		mem.fill(ctx, s, a.cfg.Rules.ClockJump)
		s.Host.Pressure = a.pressure()
		a.projects(ctx, s, sc)
		if sc.ID == "" && sc.Kind == "" {
			set.Folders.Decided(a.thrift(ctx, e, s))
		}
	}
	clearProgress := func() {}
	if a.watch != nil {
		opts.Progress, clearProgress = a.watch()
	}
	s = collectors.Run(ctx, opts)
	clearProgress()
	if mem.err == nil && mem.reread != nil {
		s.Holds, err = mem.reread(ctx)
		if err != nil {
			a.fail(s, snapshot.Ledger, "ledger", fmt.Errorf("read holds: %w", err))
		}
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted while looking; nothing was decided, remembered or done")
	}
	if sc.ID == "" && !sc.Alone && !sc.Life { // one candidate's look does not see where everybody else's sessions live
		s.Workers = a.observer().Observe(ctx, s)
	}
	return s, nil
}

// sources are those that the configuration names, for the rules that were loaded last: for one look.
func (a *core) sources() sources.Set {
	return sources.Set{Config: a.cfg, Policy: a.policy, Log: a.log, Folders: dirs.NewShared(), Table: &processes.Table{}, Asker: a.forCommand(), Asked: a.asked, From: a.from}
}

// observer says what became of workers.
func (a *core) observer() *worker.Observer {
	if a.workers == nil {
		a.workers = worker.New(policies.Observing, worker.Config{Rules: &a.cfg.Rules.Config, NoTmux: len(a.cfg.Collect.Tmux.Sockets) == 0})
	}
	return a.workers
}

// fail records that a source failed although its reader did not say so.
func (a *core) fail(s *snapshot.Snapshot, name, kind string, err error) {
	src := s.Sources[name]
	src.Kind, src.Status = kind, snapshot.Failed
	if src.Error == "" {
		src.Error = err.Error()
	}
	s.Sources[name] = src
}

// memory is what the ledger gives a look: holds, sightings, who owned which terminal, and when the clock was last steady. Err says why it could not be read;
// the look then goes on without it, and everything is spared.
type memory struct {
	path      string
	err       error
	holds     []snapshot.Hold
	sightings map[string]snapshot.Sighting
	last      *ledger.Look
	owners    []snapshot.Owner
	// repositories are the owners of folders that the latest sweeps decided on.
	repositories []string
	descents     []snapshot.Descent
	// mounts are the mount points on which earlier looks saw folders.
	mounts []string
	// reread, where it is set, gives the holds once everything else has been read: what a person or a program holds while a sweep looks, or between two of its
	// acts, counts before the next act.
	reread func(context.Context) ([]snapshot.Hold, error)
	// baseline, where it is set, takes note of what the look sees.
	baseline *baseline
	// fresh, where it is set, is asked whether what was seen before still counts; it is told why not.
	fresh *window
}

// window is for how long looks may be apart for the later one to count what the earlier one saw, and why the last one could not.
type window struct {
	gap time.Duration
	why string
}

// remember reads the memory from an open ledger, and the leases.
func (a *core) remember(ctx context.Context, l *ledger.Ledger) memory {
	m := memory{path: a.ledgerPath()}
	var errs [7]error
	m.holds, errs[0] = a.holds(ctx, l)
	m.sightings, errs[1] = l.Sightings(ctx)
	m.last, errs[2] = l.Look(ctx)
	m.owners, errs[3] = l.Owners(ctx)
	m.repositories, errs[4] = l.Repositories(ctx)
	m.descents, errs[5] = l.Descents(ctx)
	m.mounts, errs[6] = l.Mounts(ctx)
	m.err = errors.Join(errs[:]...)
	return m
}

// recall reads the memory without writing anything. A ledger that does not exist yet remembers nothing, which is not a failure.
func (a *core) recall(ctx context.Context) memory {
	path := a.ledgerPath()
	if err := a.trustState(); err != nil {
		return memory{path: path, err: err}
	}
	l, err := ledger.OpenReadOnly(path)
	if errors.Is(err, ledger.ErrNone) {
		m := memory{path: path}
		m.holds, m.err = a.holds(ctx, nil)
		return m
	}
	if err != nil {
		return memory{path: path, err: err}
	}
	defer l.Close()
	return a.remember(ctx, l)
}

// fill writes the memory into a snapshot.
func (m memory) fill(_ context.Context, s *snapshot.Snapshot, jump float64) {
	src := snapshot.Source{Kind: "ledger", Status: snapshot.OK, Path: m.path, Seen: len(m.holds) + len(m.sightings)}
	if m.err != nil {
		src.Status, src.Error, src.Seen = snapshot.Failed, m.err.Error(), 0
		s.Sources[snapshot.Ledger] = src
		return
	}
	s.Sources[snapshot.Ledger] = src
	s.Holds, s.Sightings, s.Owners, s.Descents = m.holds, m.sightings, m.owners, m.descents
	s.Host.SteadySince, s.Host.LastResumeAt = ledger.Steady(m.last, s.Host, s.TakenAt, config.Seconds(jump))
	s.Host.Asleep = ledger.Asleep(m.last, s.Host, s.TakenAt)
	if w := m.fresh; w != nil {
		if w.why = ledger.Fresh(m.last, s.Host, s.TakenAt, config.Seconds(jump), w.gap); w.why != "" {
			s.Sightings = nil
		}
	}
}

// lookOrRead gives a saved snapshot, or a fresh look where file is empty.
func (a *core) lookOrRead(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	if file == "" {
		return a.look(ctx, sources.Scope{}, a.recall(ctx))
	}
	return a.readSnapshot(ctx, file)
}

// readSnapshot reads a saved snapshot, and says in the log which of its fields are passed over.
func (a *core) readSnapshot(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	s, unknown, err := saved.Read(ctx, file)
	for _, field := range unknown {
		a.log.Warn("unknown field in the snapshot, passed over", "file", file, "field", field)
	}
	return s, err
}

// hostOf has the command line for which the daemon looks count as Winnow too, as it would without the daemon: with the folder that it is in, and those that it descends from.
func (a *core) hostOf(h snapshot.Host) snapshot.Host {
	pid := a.forCommand()
	if pid == 0 {
		return h
	}
	if a.from != "" {
		h.Cwd = a.from
	}
	if line, err := proc.Lineage(a.cfg.Collect.Processes.Root, pid); err == nil && h.Ancestors != nil {
		h.Ancestors = append(line, h.Ancestors...)
	}
	return h
}
