// Package sources says from the configuration which collectors read what.
package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/dirs"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/collectors/panes/codev"
	"github.com/winnow-reaper/winnow/collectors/panes/herdr"
	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/collectors/panes/vscode"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/collectors/workplaces"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sys/forge"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Set is what a configuration, and the rules that were loaded, have read.
type Set struct {
	Config *config.Config
	// Policy is nil in a command that judges nothing.
	Policy *policy.Policy
	// Folders is what the sources of folders share in one look; nil shares nothing.
	Folders *dirs.LookCache
	// Table takes what is read of processes, for the question who uses folders; nil reads it again.
	Table *processes.Table
	// Ancestries is which processes earlier looks saw below agents.
	Ancestries []snapshot.Ancestry
	// Mounted are the mount points on which earlier looks saw folders.
	Mounted []string
	// Asker is the command for which this program looks, 0 for itself, and Asked what it was asked about.
	Asker int
	// From is the folder that the command is in, "" for this program's own.
	From  string
	Asked []string
	Log   hclog.Logger
}

// Scope narrows a look to what one candidate needs; the zero Scope looks at everything.
type Scope struct {
	ID, Kind string
	// Source is the candidate's own source, Native what that calls it (snapshot.Candidate).
	Source, Native string
	// Repository is the git folder of a worktree whose own folder is gone: nothing at its path leads there. "" for any other candidate.
	Repository string
	// Argv has command lines read.
	Argv bool
	// Alone leaves out everything but the processes: enough to show what runs, and never to judge it.
	Alone bool
	// Sessions adds to Alone the records that agents keep of their open sessions.
	Sessions bool
	// Life leaves out everything that cannot prove that something lives: no folder is looked into. Of the folder Place, where that is not "", its lock is read.
	Life  bool
	Place string
	// With are other candidates of the kind that the same look is for, each as ScopeOf has it.
	With []Scope
	// Peers names who speaks with a process, where it is otherwise enough that some process does.
	Peers bool
	// Full asks all about a folder, also where something already keeps it.
	Full bool
	// Gone says of processes that the look takes them for gone: they use no folder. Nil means no process. Nothing is done on such a look.
	Gone func(pid int) bool
}

// ScopeOf narrows a look to candidates of an earlier one, all of one kind.
func ScopeOf(s *snapshot.Snapshot, id string, more ...string) Scope {
	sc := scopeOf(s, id)
	for _, id := range more {
		sc.With = append(sc.With, scopeOf(s, id))
	}
	return sc
}

func scopeOf(s *snapshot.Snapshot, id string) Scope {
	kind, _ := snapshot.KindOf(id)
	c, _ := s.Find(id)
	sc := Scope{ID: id, Kind: kind.Name, Source: c.Source, Native: c.Native}
	if d := s.Dirs[id]; d.Gone != nil && *d.Gone && d.Git != nil {
		sc.Repository = d.Git.CommonDir
	}
	return sc
}

// only is what the candidates' sources call them, where they are of that kind; nil asks for all.
func (sc Scope) only(kind string) []string {
	if sc.Kind != kind || sc.Native == "" {
		return nil
	}
	return text.Map(sc.all(), func(one Scope) string { return one.Native })
}

// all are the candidates that the look is narrowed to.
func (sc Scope) all() []Scope { return append([]Scope{sc}, sc.With...) }

// needs reports whether a look at one candidate reads what it reads for candidates of these kinds.
func (sc Scope) needs(kinds ...string) bool { return sc.Kind == "" || slices.Contains(kinds, sc.Kind) }

// ownOnly leaves of the sources of a kind the candidates' own, where they are of that kind.
func (sc Scope) ownOnly(kind string, list []collectors.Source) []collectors.Source {
	if sc.Kind != kind {
		return list
	}
	own := text.Map(sc.all(), func(one Scope) string { return one.Source })
	return slices.DeleteFunc(list, func(s collectors.Source) bool { return !slices.Contains(own, s.Name) })
}

// Sources gives the sources that a look reads; known is what earlier looks remember of who had which terminal.
func (set Set) Sources(sc Scope, known []snapshot.Owner) ([]collectors.Source, error) {
	c := set.Config.Collect
	out := []collectors.Source{{
		Name: snapshot.Proc, Kind: "processes", Path: c.Processes.Root,
		Reader: processes.New(set.Processes(sc)),
	}}
	if sc.Sessions {
		out = append(out, set.openSessions()...)
	}
	if sc.Alone {
		return unique(out)
	}
	if sc.needs(snapshot.KindSession, snapshot.KindProcess) {
		t, err := tmux.Sources(tmux.Options{
			Sockets: c.Tmux.Sockets, UID: os.Getuid(), Env: os.Getenv, ProcRoot: c.Processes.Root, Only: sc.only(snapshot.KindSession),
			Agents: set.Config.Rules.Agents,
			Log:    set.Log.Named("tmux"),
		})
		if err != nil {
			return nil, fmt.Errorf("find tmux servers: %w", err)
		}
		out = append(out, sc.ownOnly(snapshot.KindSession, t)...)
	}
	tabOfEditor := sc.Kind == snapshot.KindTab && slices.ContainsFunc(sc.all(), func(one Scope) bool { return strings.HasPrefix(one.Source, vscode.Kind+"/") })
	if sc.needs(snapshot.KindTerminal) || tabOfEditor { // a tab of Codev's is judged by what its builder has there
		t, err := codev.Sources(set.codev(sc, known))
		if err != nil {
			return nil, config.Usagef("collect.codev: %v", err)
		}
		out = append(out, sc.ownOnly(snapshot.KindTerminal, t)...)
	}
	if sc.needs(snapshot.KindTab, snapshot.KindProcess) {
		t, err := herdr.Sources(herdr.Options{
			Sockets: c.Herdr.Sockets, Env: os.Getenv, IsSet: isSet, Home: home(), UID: os.Getuid(), ProcRoot: c.Processes.Root,
			Only: sc.only(snapshot.KindTab), Inspect: set.inspects, Log: set.Log.Named("herdr"),
		})
		if err != nil {
			return nil, fmt.Errorf("find herdr servers: %w", err)
		}
		out = append(out, sc.ownOnly(snapshot.KindTab, t)...)
	}
	if sc.needs(snapshot.KindTab) {
		t, err := vscode.Sources(vscode.Options{
			Sockets: c.VSCode.Sockets, Env: os.Getenv, UID: os.Getuid(), ProcRoot: c.Processes.Root,
			// Who opens a terminal with one in its environment opens it for an agent. What multiplexers set says nothing of that.
			Markers: slices.DeleteFunc(set.Config.MarkerNames(), set.namesPane),
			Only:    sc.only(snapshot.KindTab), Log: set.Log.Named("vscode"),
		})
		if err != nil {
			return nil, config.Usagef("collect.vscode: %v", err)
		}
		out = append(out, sc.ownOnly(snapshot.KindTab, t)...)
	}
	if sc.needs(snapshot.KindProcess, snapshot.KindSession, snapshot.KindDir) {
		out = append(out, set.openSessions()...)
	}
	recorded, err := set.records()
	if err != nil {
		return nil, err
	}
	out = append(out, recorded...)
	if sc.Life {
		if sc.Place != "" {
			if s, ok := dirs.Repository(set.dirOptions(sc), sc.Place); ok {
				out = append(out, s)
			}
		}
		return unique(out)
	}
	if sc.needs(snapshot.KindDir, snapshot.KindProcess, snapshot.KindSession) {
		if sc.Kind == snapshot.KindDir {
			out = append(out, set.Folder(sc)...)
		} else {
			out = append(out, set.Dirs(sc)...)
		}
	}
	return unique(out)
}

// records are the spawn ledgers and registries: the configured ones, Shepherd's own stores, those of Agent Orchestrator, Claude Code's jobs, and the
// builders of Codev.
func (set Set) records() ([]collectors.Source, error) {
	stores, err := codev.Stores(set.codev(Scope{}, nil)) // of Codev's state folders, each of which is a registry of builders
	if err != nil {
		return nil, config.Usagef("collect.codev: %v", err)
	}
	var builders []config.Record
	for _, path := range stores {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // one that does not exist yet records nothing
			builders = append(builders, config.Record{Name: "codev", Format: records.Codev, Path: path})
		}
	}
	c := set.Config.Collect
	shepherd := set.stores(records.Shepherd, c.Shepherd.Stores, records.ShepherdStore)
	ledgers, registries := addRecords(c.Spawns, shepherd), addRecords(c.Registry, shepherd)
	registries = addRecords(registries, set.stores(records.Orchestrator, c.AgentOrchestrator.Stores, records.OrchestratorStore))
	registries = addRecords(registries, set.stores(records.ClaudeJobs, c.Claude.Jobs, records.JobsFolder))
	registries = addRecords(registries, unlike(builders, registries))
	var out []collectors.Source
	for _, list := range []struct {
		kind    string
		records []config.Record
	}{{records.Spawns, ledgers}, {records.Registry, registries}} {
		for _, r := range list.records {
			o, ended := records.Options{Fields: r.Fields}, set.Config.Rules.OverStatuses
			over := slices.IndexFunc(ended, func(o subject.OverStatuses) bool { return o.Format == r.Format })
			if list.kind == records.Registry && over >= 0 {
				o.Over = ended[over].Statuses
			}
			s, err := records.Source(list.kind, r.Name, r.Format, r.Path, o)
			if err != nil {
				return nil, config.Usagef("collect.%s: %v", list.kind, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// addRecords adds the records that a list lacks. It has a file already when path and format are the same, also under another name.
func addRecords(list, more []config.Record) []config.Record {
	list = slices.Clip(list)
	for _, r := range more {
		if !slices.ContainsFunc(list, func(have config.Record) bool { return have.Path == r.Path && have.Format == r.Format }) {
			list = append(list, r)
		}
	}
	return list
}

// unlike gives records that have the same name, or one that the operator has used, names of their own.
func unlike(list, taken []config.Record) []config.Record {
	for i, r := range list {
		if slices.ContainsFunc(slices.Concat(taken, list[:i]), func(t config.Record) bool { return t.Name == r.Name }) {
			list[i].Name += "~" + collectors.Short(r.Path)
		}
	}
	return list
}

// stores are a program's own records, each called by its format.
func (set Set) stores(format string, paths []string, place func(env func(string) string, home string) (string, bool)) []config.Record {
	var out []config.Record
	for _, path := range auto(paths, place) {
		out = addRecords(out, []config.Record{{Name: format, Format: format, Path: path}})
	}
	return unlike(out, slices.Concat(set.Config.Collect.Spawns, set.Config.Collect.Registry))
}

// openSessions are the folders in which agents write down the sessions that they have open.
func (set Set) openSessions() []collectors.Source {
	c := &set.Config.Collect
	locks := filepath.Join(c.Processes.Root, "locks")
	var out []collectors.Source
	for _, agent := range []struct {
		opensessions.Agent
		paths []string
	}{
		{opensessions.Claude, c.Claude.Sessions}, {opensessions.Codex(locks), c.Codex.Threads}, {opensessions.Copilot, c.Copilot.Sessions},
		{opensessions.OpenCode, c.OpenCode.Stores}, {opensessions.Qwen, c.Qwen.Projects}, {opensessions.Gemini, c.Gemini.Projects},
	} {
		for n, path := range auto(agent.paths, agent.Place) {
			name := agent.Name
			if n > 0 {
				name += "-" + collectors.Short(path)
			}
			out = append(out, agent.Source(name, path))
		}
	}
	return out
}

// auto are the paths of a list, each once, with the place that a program itself would use, if there is one, for config.Auto.
func auto(paths []string, place func(env func(string) string, home string) (string, bool)) []string {
	var out []string
	for _, path := range paths {
		ok := true
		if path == config.Auto {
			path, ok = place(os.Getenv, home())
		}
		if ok && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// home is $HOME, empty where it is not set.
func home() string {
	path, _ := os.UserHomeDir()
	return path
}

func isSet(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

// inFull says which candidates of a kind are read in full: those that the loaded rules can be about. A command that loads no rules, such
// as snapshot, reads all of them in full, because any rules may judge what it writes.
func (set Set) inFull(kind string) (classes []string, all bool) {
	if set.Policy == nil {
		return nil, true
	}
	return set.Policy.Candidates(kind)
}

// inspects says by a tab's label whether the server is asked what runs in the tab. What it is not asked is unknown to the policies.
func (set Set) inspects(label string) bool {
	classes, all := set.inFull(snapshot.KindTab)
	l := set.Config.Rules.HelperLabels
	return all || slices.Contains(classes, "helper_labels") &&
		(slices.Contains(l.Exact, label) || slices.ContainsFunc(l.Prefix, func(p string) bool { return p != "" && strings.HasPrefix(label, p) }))
}

// namesPane reports whether a marker says which pane a process is in.
func (set Set) namesPane(marker string) bool {
	return slices.Contains(set.Config.Rules.PaneMarkers, marker) || slices.Contains(snapshot.PaneMarkers, marker)
}

// MarksAgent reports whether a variable of the environment says that an agent may have started a process.
func (set Set) MarksAgent(name string) bool {
	return set.namesAgent(name) || slices.Contains(set.Config.MarkerNames(), name) && !set.namesPane(name)
}

// namesAgent reports whether the rules take a marker for one that names an agent, or its session, also where it is a multiplexer's.
func (set Set) namesAgent(marker string) bool {
	r := &set.Config.Rules
	return slices.Contains(r.IDMarkers, marker) || slices.Contains(r.PIDMarkers, marker) ||
		slices.ContainsFunc(r.MarkerRecords, func(m subject.MarkerRecord) bool { return m.Marker == marker })
}

// codev says which of Codev's state folders, with their Towers, are read.
func (set Set) codev(sc Scope, known []snapshot.Owner) codev.Options {
	c := set.Config.Collect
	return codev.Options{
		Homes: c.Codev.Homes, Tower: c.Codev.Tower, Env: os.Getenv, Home: home(), ProcRoot: c.Processes.Root,
		Known: known, Only: sc.only(snapshot.KindTerminal), Log: set.Log.Named("codev"),
		Timeout: c.Timeout * 3 / 10, // one answer of several
	}
}

// Processes says what is read of processes. What is read in full follows from the rules.
func (set Set) Processes(sc Scope) processes.Options {
	c, r := set.Config.Collect.Processes, &set.Config.Rules
	classes, all := set.inFull(snapshot.KindProcess)
	markers := set.Config.MarkerNames()
	others := slices.DeleteFunc(slices.Clone(snapshot.PaneMarkers), func(m string) bool { return slices.Contains(markers, m) })
	markers = append(markers, others...) // those by which a process belongs to a pane
	panes := slices.DeleteFunc(slices.Clone(markers), func(m string) bool { return !set.namesPane(m) || set.namesAgent(m) })
	below := make(map[int]uint64, len(set.Ancestries))
	for _, d := range set.Ancestries {
		below[d.PID] = d.StartTicks
	}
	var only []int
	for _, native := range sc.only(snapshot.KindProcess) {
		if pid, err := strconv.Atoi(native); err == nil && pid > 0 {
			only = append(only, pid)
		}
	}
	return processes.Options{
		Root: c.Root, Markers: markers, Panes: panes, Remembered: below, Interpreters: r.Interpreters, Shells: r.Shells, Servers: r.Multiplexers, Opaque: r.OpaqueProcesses,
		AgentPackages: r.AgentPackages, Browsers: r.Browsers(), Daemons: set.daemons(), WithArgv: sc.Argv, Only: only, All: all, Classes: classes, Peers: sc.Peers, Table: set.Table, Log: set.Log.Named("processes"),
	}
}

// Dirs are the configured roots, the folders that agents are known to use, and the repository that the command runs in.
func (set Set) Dirs(sc Scope) []collectors.Source {
	o, c := set.dirOptions(sc), set.Config.Collect.Dirs
	out := dirs.Roots(o, c.Roots)
	for _, s := range dirs.Roots(o, c.AgentFolders) {
		if _, err := os.Stat(s.Path); !errors.Is(err, os.ErrNotExist) && !slices.ContainsFunc(out, hasName(s.Name)) {
			out = append(out, s)
		}
	}
	wd := set.From
	if wd == "" {
		wd, _ = os.Getwd() // "" where it is not known
	}
	if wd != "" && c.Discover {
		if s, ok := dirs.Repository(o, wd); ok && !slices.ContainsFunc(out, hasName(s.Name)) {
			out = append(out, s)
		}
	}
	return out
}

// Folder finds the sources that the folders came from that a look is narrowed to. One that was discovered through a record is found again
// through a folder's own repository.
func (set Set) Folder(sc Scope) []collectors.Source {
	own := sc.ownOnly(snapshot.KindDir, set.Dirs(sc))
	for _, one := range sc.all() {
		if slices.ContainsFunc(own, hasName(one.Source)) {
			continue
		}
		if s, ok := dirs.Repository(set.dirOptions(sc), cmp.Or(one.Repository, one.Native)); ok && s.Name == one.Source {
			own = append(own, s)
		}
	}
	return own
}

// Parts says of a tree which paths in it may be what tools make again.
func (set Set) Parts(ctx context.Context) func(tree string) func(rel string) bool {
	o := set.dirOptions(Scope{})
	return func(tree string) func(rel string) bool { return o.Parts(ctx, tree) }
}

// patterns are those of config.yaml by their texts, compiled: a look asks for them again for each source.
var patterns sync.Map

func pattern(text string) *regexp.Regexp {
	known, ok := patterns.Load(text)
	if !ok {
		known, _ = patterns.LoadOrStore(text, regexp.MustCompile(text)) // config.Load compiled it
	}
	return known.(*regexp.Regexp)
}

func (set Set) dirOptions(sc Scope) dirs.Options {
	r := &set.Config.Rules
	o := dirs.Options{
		Rebuildable:     r.Rebuildable,
		Makers:          text.Map(r.Makers, func(m subject.Maker) dirs.Maker { return dirs.Maker(m) }),
		ToolFiles:       r.ToolFiles,
		LandingBranches: r.LandingBranches,
		Grace:           config.Seconds(r.Grace.Dir),
		TrimAfter:       config.Seconds(r.TrimAfter),
		Only:            sc.only(snapshot.KindDir),
		Full:            sc.Full,
		Holders:         set.Holders(len(sc.only(snapshot.KindDir)) > 0),
		Home:            home(),
		Mounted:         set.Mounted,
		Beside:          slices.Concat(set.Config.Collect.Dirs.Roots, set.Config.Collect.Dirs.AgentFolders, set.Config.Collect.Dirs.DiscoverUnder),
		Timeout:         set.Config.Collect.Timeout,
		Cache:           set.Folders,
		Log:             set.Log.Named("dirs"),
	}
	if program := set.Config.Collect.Forge; program != "off" {
		o.Forge = forge.Asker{Program: program, Cache: filepath.Join(set.Config.State, "forge"), Fresh: 10 * time.Minute, Now: time.Now}
	}
	for _, s := range r.Scaffold {
		o.Scaffold = append(o.Scaffold, dirs.Scaffold{In: s.In, Paths: s.Paths, Links: s.Links, Reports: s.Reports})
	}
	for _, l := range r.LockReasons {
		o.LockReasons = append(o.LockReasons, dirs.LockReason{Tool: l.Tool, Pattern: pattern(l.Pattern), Names: l.Names})
	}
	if set.Policy != nil { // its rules say in METADATA what they are about, and what they keep by
		needed := set.neededOfDirs()
		o.UsedToo, o.YoungToo, o.WholeOnly = !slices.Contains(needed, "holders"), !slices.Contains(needed, "age"), !slices.Contains(needed, "parts")
	}
	if ask := o.Holders; sc.Gone != nil {
		o.Holders = func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
			found, known, err := ask(ctx, paths)
			for path, list := range found {
				found[path] = slices.DeleteFunc(list, func(h snapshot.Holder) bool { return sc.Gone(h.PID) })
			}
			return found, known, err
		}
	}
	if sc.Life {
		o.Only = []string{sc.Place}
	}
	if sc.Kind == snapshot.KindProcess || sc.Kind == snapshot.KindSession || sc.Life {
		// Which folders are worktrees is all that these are judged by: their holders and their content are not read.
		o.Holders, o.Places = nil, true
	}
	o.Later = (sc.ID == "" || len(sc.With) > 0) && !o.Places // who uses the folders is then asked once for all sources
	return o
}

// neededOfDirs are the needs that the METADATA of rules names which count for folders.
func (set Set) neededOfDirs() (out []string) {
	for id, rule := range set.Policy.Rules() {
		if set.Config.Rules.Level(snapshot.KindDir, id) != decision.Off {
			out = append(out, rule.Needs...)
		}
	}
	return out
}

// daemons are those of agents' vendors.
func (set Set) daemons() []processes.Daemon {
	return text.Map(set.Config.Rules.AgentDaemons, func(d subject.AgentDaemon) processes.Daemon { return processes.Daemon(d) })
}

// Holders asks who uses folders. What is asked about one folder, right before something is done with it or to explain it, is asked
// thoroughly.
func (set Set) Holders(thorough bool) func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
	o := holders.Options{
		Root: set.Config.Collect.Processes.Root, Opaque: set.Config.Rules.OpaqueProcesses, Servers: set.Config.Rules.Multiplexers, Daemons: set.daemons(), Thorough: thorough, Asker: set.Asker, Asked: set.Asked,
	}
	if home := home(); home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			o.Home = real
		}
	}
	if !thorough { // right before an act everything is read afresh
		o.Table = set.Table
	}
	return func(ctx context.Context, paths []string) (map[string][]snapshot.Holder, bool, error) {
		return holders.Find(ctx, o, paths)
	}
}

func hasName(name string) func(collectors.Source) bool {
	return func(s collectors.Source) bool { return s.Name == name }
}

// unique refuses two sources of one name: one would hide the other.
func unique(list []collectors.Source) ([]collectors.Source, error) {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s.Name] {
			return nil, config.Usagef("two sources are called %q: give one of them another name", s.Name)
		}
		seen[s.Name] = true
	}
	return list, nil
}

// Discover says what a folder that some record names leads to: its repository, and the folder in which worktrees lie beside it.
func (set Set) Discover(sc Scope) func(path string) []collectors.Source {
	o := set.dirOptions(sc) // for all paths: making them costs more than most paths do
	return func(path string) (out []collectors.Source) {
		if s, ok := dirs.Repository(o, path); ok {
			out = append(out, s)
		}
		if real, err := dirs.Real(path); err == nil {
			path = real
		}
		for _, name := range set.Config.Rules.WorktreeFolders {
			around := filepath.Dir(path)
			if filepath.Base(around) != name {
				around = filepath.Join(around, name)
			}
			// One that may be there and cannot be looked at is a source that fails, and says why.
			if st, err := os.Stat(around); err == nil && st.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
				out = append(out, dirs.Roots(o, []string{around})...)
			}
		}
		return out
	}
}

// Around says which repository a place of work lies in, where that has linked worktrees and the configuration lets it be found so.
func (set Set) Around(sc Scope) func(from, path string) []collectors.Source {
	o := set.dirOptions(sc)
	return func(from, path string) []collectors.Source {
		if !slices.Contains(set.Config.Collect.Dirs.DiscoverFrom, from) {
			return nil
		}
		if s, ok := dirs.Linked(o, path); ok {
			return []collectors.Source{s}
		}
		return nil
	}
}

// Searches look for places of work; repositories are those that the ledger remembers.
func (set Set) Searches(repositories []string) []collectors.Search {
	c := set.Config.Collect.Dirs
	log := set.Log.Named("discover")
	records := text.Map(c.Projects, func(p config.Project) workplaces.Record { return workplaces.Record(p) })
	var out []collectors.Search
	for _, s := range []collectors.Search{
		{Name: "the ledger", From: config.FromLedger, Find: func(context.Context) []string { return repositories }},
		{Name: "agents' records", From: config.FromAgents, Find: func(ctx context.Context) []string { return workplaces.Recorded(ctx, records, log) }},
		{Name: "discover_under", From: config.FromUnder, Find: func(ctx context.Context) []string { return workplaces.FindRepositories(ctx, c.DiscoverUnder, log) }},
	} {
		if slices.Contains(c.DiscoverFrom, s.From) {
			out = append(out, s)
		}
	}
	return out
}
