package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"winnow/cmd/winnow/config"
	"winnow/collectors"
	"winnow/collectors/dirs"
	"winnow/collectors/opensessions"
	"winnow/collectors/panes"
	"winnow/collectors/panes/herdr"
	"winnow/collectors/panes/tmux"
	"winnow/collectors/processes"
	"winnow/collectors/records"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/engine/worker"
	"winnow/ledger"
	"winnow/policies"
)

// scope narrows a look to what one candidate needs; the zero scope looks at everything.
type scope struct {
	id, kind string
	// source is the candidate's own source, native what that calls it (snapshot.Candidate).
	source, native string
	argv           bool
}

// look reads the world into one snapshot, with what the ledger remembers of it. A source that cannot be read is written into the
// snapshot and is no error; what comes back as an error is configuration that names no source.
func (a *app) look(ctx context.Context, sc scope, mem memory) (*snapshot.Snapshot, error) {
	sources, err := a.sources(sc, mem.owners)
	if err != nil {
		return nil, err
	}
	// The clocks are read together and once: how long the reading of everything else takes is no jump of the clock.
	began := processes.Now()
	opts := collectors.RunOptions{
		Sources: sources,
		Timeout: a.cfg.Collect.Timeout,
		Now:     func() time.Time { return began.At },
		Log:     a.log.Named("collectors"),
	}
	if a.cfg.Collect.Dirs.Discover && (sc.kind == "" || sc.kind == snapshot.KindProcess) {
		opts.Discover = func(path string) []collectors.Source { return a.discover(sc, path) }
	}
	progress := a.progress()
	opts.Progress = progress.show
	s := collectors.Run(ctx, opts)
	progress.clear()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted while looking; nothing was decided, remembered or done")
	}

	host, err := processes.Host(a.cfg.Collect.Processes.Root, processes.KnownNames())
	if err != nil {
		a.fail(s, snapshot.Proc, "processes", err)
	}
	s.Host = host
	s.Host.UpSeconds, s.Host.AwakeSeconds = began.Up, began.Awake
	panes.Fill(s)
	mem.fill(ctx, s, a.cfg.Rules.ClockJump)
	a.projects(ctx, s, sc)
	if sc.id == "" { // one candidate's look does not see where everybody else's sessions live
		s.Workers = a.observer().Observe(ctx, s)
	}
	return s, nil
}

// observer says what became of workers.
func (a *app) observer() *worker.Observer {
	if a.workers == nil {
		a.workers = worker.New(policies.Observing, worker.Config{Rules: &a.cfg.Rules.Config, NoTmux: len(a.cfg.Collect.Tmux.Sockets) == 0})
	}
	return a.workers
}

// fail records that a source failed although its reader did not say so.
func (a *app) fail(s *snapshot.Snapshot, name, kind string, err error) {
	src := s.Sources[name]
	src.Kind, src.Status = kind, snapshot.Failed
	if src.Error == "" {
		src.Error = err.Error()
	}
	s.Sources[name] = src
}

func (a *app) sources(sc scope, known []snapshot.Owner) ([]collectors.Source, error) {
	c := a.cfg.Collect
	out := []collectors.Source{{
		Name: snapshot.Proc, Kind: "processes", Path: c.Processes.Root,
		Reader: processes.New(a.processOptions(sc)),
	}}
	if sc.kind != snapshot.KindDir && sc.kind != snapshot.KindTab && sc.kind != snapshot.KindTerminal {
		t, err := tmux.Sources(tmux.Options{
			Sockets: c.Tmux.Sockets, UID: os.Getuid(), Env: os.Getenv, ProcRoot: c.Processes.Root, Only: sc.only(snapshot.KindSession),
			Log: a.log.Named("tmux"),
		})
		if err != nil {
			return nil, fmt.Errorf("find tmux servers: %w", err)
		}
		out = append(out, keep(t, sc.kind == snapshot.KindSession, sc.source)...)
	}
	if sc.kind == "" || sc.kind == snapshot.KindTerminal {
		c, err := a.codevSources(sc, known)
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	if sc.kind == "" || sc.kind == snapshot.KindTab || sc.kind == snapshot.KindProcess {
		h, err := a.herdrSources(sc)
		if err != nil {
			return nil, fmt.Errorf("find herdr servers: %w", err)
		}
		out = append(out, keep(h, sc.kind == snapshot.KindTab, sc.source)...)
	}
	if sc.kind == "" || sc.kind == snapshot.KindProcess {
		out = append(out, a.openSessions()...)
	}
	ledgers, registries := c.Spawns, c.Registry
	for _, r := range a.stores() {
		if !recorded(ledgers, r) {
			ledgers = append(slices.Clip(ledgers), r)
		}
		if !recorded(registries, r) {
			registries = append(slices.Clip(registries), r)
		}
	}
	builders, err := a.builders()
	if err != nil {
		return nil, err
	}
	for _, r := range told(builders, registries) {
		if !recorded(registries, r) {
			registries = append(slices.Clip(registries), r)
		}
	}
	for _, r := range ledgers {
		s, err := records.Source(records.Spawns, r.Name, r.Format, r.Path, records.Options{Fields: r.Fields})
		if err != nil {
			return nil, config.Mistakef("collect.spawns: %v", err)
		}
		out = append(out, s)
	}
	for _, r := range registries {
		s, err := records.Source(records.Registry, r.Name, r.Format, r.Path, records.Options{Fields: r.Fields, Over: a.over(r.Format)})
		if err != nil {
			return nil, config.Mistakef("collect.registry: %v", err)
		}
		out = append(out, s)
	}
	if sc.kind == "" || sc.kind == snapshot.KindDir || sc.kind == snapshot.KindProcess {
		d := a.dirSources(sc)
		if sc.kind == snapshot.KindDir {
			d = a.ownDirSource(d, sc)
		}
		out = append(out, d...)
	}
	return unique(out)
}

// markers are the variables that are read of an environment: the configured ones, and those by which a process belongs to a pane.
func (a *app) markers() []string {
	out := slices.Clone(a.cfg.Collect.Processes.Markers)
	for _, m := range snapshot.PaneMarkers {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func (a *app) processOptions(sc scope) processes.Options {
	c := a.cfg.Collect.Processes
	// What is read in full follows from the rules. What a command writes that judges nothing may be judged by any rules later.
	classes, all := []string(nil), true
	if a.policy != nil {
		classes, all = a.policy.Candidates(snapshot.KindProcess)
	}
	return processes.Options{
		Root: c.Root, Markers: a.markers(), Interpreters: a.cfg.Rules.Interpreters, Shells: a.cfg.Rules.Shells, Daemons: a.daemons(),
		WithArgv: sc.argv, Only: sc.pid(), All: all, Classes: classes, Log: a.log.Named("processes"),
	}
}

func (a *app) herdrSources(sc scope) ([]collectors.Source, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return herdr.Sources(herdr.Options{
		Sockets: a.cfg.Collect.Herdr.Sockets, Env: os.Getenv, IsSet: isSet, Home: home, UID: os.Getuid(), ProcRoot: a.cfg.Collect.Processes.Root,
		Only: sc.only(snapshot.KindTab), Inspect: a.inspects, Log: a.log.Named("herdr"),
	})
}

func isSet(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

// inspects says by a tab's label whether it is asked what runs in it: where a loaded rule can be about it. What is not asked for here is
// unknown to the policies.
func (a *app) inspects(label string) bool {
	classes, all := []string{"helper_labels"}, false
	if a.policy != nil {
		classes, all = a.policy.Candidates(snapshot.KindTab)
	}
	l := a.cfg.Rules.HelperLabels
	return all || slices.Contains(classes, "helper_labels") &&
		(slices.Contains(l.Exact, label) || slices.ContainsFunc(l.Prefix, func(p string) bool { return p != "" && strings.HasPrefix(label, p) }))
}

// over are the statuses of a registry's format that say that an owner has ended.
func (a *app) over(format string) []string {
	for _, o := range a.cfg.Rules.OverStatuses {
		if o.Format == format {
			return o.Statuses
		}
	}
	return nil
}

// stores are Shepherd's own, each of which is a spawn ledger and a registry.
func (a *app) stores() []config.Record {
	var out []config.Record
	for _, path := range a.cfg.Collect.Shepherd.Stores {
		if path == config.Auto {
			home, err := os.UserHomeDir()
			if err != nil {
				home = ""
			}
			var ok bool
			if path, ok = records.ShepherdStore(os.Getenv, home); !ok {
				continue
			}
		}
		r := config.Record{Name: "shepherd", Format: "shepherd", Path: path}
		if !recorded(out, r) {
			out = append(out, r)
		}
	}
	return told(out, slices.Concat(a.cfg.Collect.Spawns, a.cfg.Collect.Registry))
}

// openSessions are the folders in which agents write down the sessions that they have open.
func (a *app) openSessions() []collectors.Source {
	var out []collectors.Source
	for _, path := range a.cfg.Collect.Claude.Sessions {
		if path == config.Auto {
			home, err := os.UserHomeDir()
			if err != nil {
				home = ""
			}
			var ok bool
			if path, ok = opensessions.Folder(os.Getenv, home); !ok {
				continue
			}
		}
		name := "claude"
		if len(out) > 0 {
			name += "-" + short(path)
		}
		if !slices.ContainsFunc(out, func(s collectors.Source) bool { return s.Path == path }) {
			out = append(out, opensessions.Source(name, path))
		}
	}
	return out
}

// short is a suffix that tells one path from another.
func short(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:2])
}

// recorded reports whether a list has a file already, under whatever name.
func recorded(list []config.Record, r config.Record) bool {
	return slices.ContainsFunc(list, func(have config.Record) bool { return have.Path == r.Path && have.Format == r.Format })
}

// discover gives what a folder that some record names leads to: its repository, and the folder in which worktrees lie beside it.
func (a *app) discover(sc scope, path string) []collectors.Source {
	var out []collectors.Source
	if s, ok := dirs.Repository(a.dirOptions(sc), path); ok {
		out = append(out, s)
	}
	if real, err := dirs.Real(path); err == nil {
		path = real
	}
	for _, name := range a.cfg.Rules.WorktreeFolders {
		around := filepath.Dir(path)
		if filepath.Base(around) != name {
			around = filepath.Join(around, name)
		}
		// One that may be there and cannot be looked at is a source that fails, and says why.
		if st, err := os.Stat(around); err == nil && st.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			out = append(out, dirs.Roots(a.dirOptions(sc), []string{around})...)
		}
	}
	return out
}

// dirSources are the configured roots, the folders that agents are known to use, and the repository that the command runs in.
func (a *app) dirSources(sc scope) []collectors.Source {
	o, c := a.dirOptions(sc), a.cfg.Collect.Dirs
	out := dirs.Roots(o, c.Roots)
	for _, p := range c.AgentFolders {
		for _, s := range dirs.Roots(o, []string{p}) {
			if _, err := os.Stat(s.Path); !errors.Is(err, os.ErrNotExist) && !slices.ContainsFunc(out, named(s.Name)) {
				out = append(out, s)
			}
		}
	}
	if wd, err := os.Getwd(); err == nil && c.Discover {
		if s, ok := dirs.Repository(o, wd); ok && !slices.ContainsFunc(out, named(s.Name)) {
			out = append(out, s)
		}
	}
	return out
}

// ownDirSource finds the source that a folder came from, for another look at that folder alone. One that was discovered through a
// record is found again through the folder's own repository.
func (a *app) ownDirSource(all []collectors.Source, sc scope) []collectors.Source {
	if own := keep(all, true, sc.source); len(own) > 0 {
		return own
	}
	if s, ok := dirs.Repository(a.dirOptions(sc), sc.only(snapshot.KindDir)); ok && s.Name == sc.source {
		return []collectors.Source{s}
	}
	return nil
}

func (a *app) dirOptions(sc scope) dirs.Options {
	o := dirs.Options{
		Rebuildable: a.cfg.Rules.Rebuildable,
		Scaffold:    scaffolds(a.cfg.Rules.Scaffold),
		Grace:       config.Seconds(a.cfg.Rules.Grace.Dir),
		Only:        sc.only(snapshot.KindDir),
		Holders:     a.holders(sc.only(snapshot.KindDir) != ""),
		Log:         a.log.Named("dirs"),
	}
	if sc.kind == snapshot.KindProcess {
		// Which folders are worktrees is all that a process is judged by: nobody is asked who uses them and what they hold.
		o.Holders = nil
	}
	return o
}

// scaffolds are the same in the words of the collector.
func scaffolds(list []subject.Scaffold) []dirs.Scaffold {
	var out []dirs.Scaffold
	for _, s := range list {
		out = append(out, dirs.Scaffold{In: s.In, Paths: s.Paths, Links: s.Links, Reports: s.Reports})
	}
	return out
}

// daemons are those of agents' vendors.
func (a *app) daemons() []processes.Daemon {
	var out []processes.Daemon
	for _, d := range a.cfg.Rules.AgentDaemons {
		out = append(out, processes.Daemon(d))
	}
	return out
}

// holders asks who uses folders. What is asked about one folder, right before something is done with it or to explain it, is asked
// thoroughly.
func (a *app) holders(thorough bool) func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
	o := processes.HolderOptions{
		Root: a.cfg.Collect.Processes.Root, Opaque: a.cfg.Rules.OpaqueProcesses, Servers: a.cfg.Rules.Multiplexers, Daemons: a.daemons(), Thorough: thorough,
	}
	if home, err := os.UserHomeDir(); err == nil {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			o.Home = real
		}
	}
	return func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
		return processes.Holders(ctx, o, paths)
	}
}

// thorough asks about one folder of a look what is not asked about all of them.
func (a *app) thorough(ctx context.Context, s *snapshot.Snapshot, id string) error {
	d, ok := s.Dirs[id]
	if !ok || d.Symlink == nil || *d.Symlink {
		return nil
	}
	held, known, err := a.holders(true)(ctx, []string{d.Path})
	if err != nil {
		return err
	}
	d.Holders, d.HoldersKnown = held[d.Path], &known
	s.Dirs[id] = d
	return nil
}

func keep(list []collectors.Source, only bool, name string) []collectors.Source {
	if !only {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(s collectors.Source) bool { return s.Name != name })
}

func named(name string) func(collectors.Source) bool {
	return func(s collectors.Source) bool { return s.Name == name }
}

// unique refuses two sources of one name: one would hide the other.
func unique(list []collectors.Source) ([]collectors.Source, error) {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s.Name] {
			return nil, config.Mistakef("two sources are called %q: give one of them another name", s.Name)
		}
		seen[s.Name] = true
	}
	return list, nil
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
}

// remember reads the memory from an open ledger.
func remember(ctx context.Context, path string, l *ledger.Ledger) memory {
	m := memory{path: path}
	var errs [4]error
	m.holds, errs[0] = l.Holds(ctx)
	m.sightings, errs[1] = l.Sightings(ctx)
	m.last, errs[2] = l.Look(ctx)
	m.owners, errs[3] = l.Owners(ctx)
	m.err = errors.Join(errs[:]...)
	return m
}

// recall reads the memory without writing anything. A ledger that does not exist yet remembers nothing, which is no failure.
func (a *app) recall(ctx context.Context) memory {
	path := a.ledgerPath()
	if err := a.trustState(); err != nil {
		return memory{path: path, err: err}
	}
	l, err := ledger.OpenReadOnly(path)
	if errors.Is(err, ledger.ErrNone) {
		return memory{path: path}
	}
	if err != nil {
		return memory{path: path, err: err}
	}
	defer l.Close()
	return remember(ctx, path, l)
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
	s.Holds, s.Sightings, s.Owners = m.holds, m.sightings, m.owners
	s.Host.SteadySince, s.Host.LastResumeAt = ledger.Steady(m.last, s.Host, s.TakenAt, config.Seconds(jump))
	s.Host.Asleep = ledger.Asleep(m.last, s.Host, s.TakenAt)
}

// scopeOf narrows a look to one candidate of an earlier one.
func scopeOf(s *snapshot.Snapshot, id string) scope {
	kind, _ := snapshot.KindOf(id)
	c, _ := s.Find(id)
	return scope{id: id, kind: kind.Name, source: c.Source, native: c.Native}
}

// only is what the candidate's source calls it, where it is of that kind; "" asks for all.
func (sc scope) only(kind string) string {
	if sc.kind != kind {
		return ""
	}
	return sc.native
}

// pid is the process that the look is narrowed to, 0 for all.
func (sc scope) pid() int {
	pid, _ := strconv.Atoi(sc.only(snapshot.KindProcess))
	return pid
}
