package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/stamps"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// Fingerprint is what the last whole look saw, in short: enough to tell cheaply that another whole look would find nothing new.
//
// Nothing is done by it. An act follows a whole look and two judgements alone, so a baseline that is wrong can only have a thing wait for the next whole look.
type Fingerprint struct {
	// began is when the look began, due when the first of what waits may be decided otherwise: then a whole look is needed.
	began time.Time
	due   time.Time
	Ds    []decision.Decision
	R     *report.Report
	holds uint64
	Host  snapshot.Host
	// Spoke is what the ledger keeps of a sweep of how much its sources gave.
	Spoke map[string]int

	// folders are the processes, each with the inode of its folder in /proc; known what is compared of those that matter; agents those that are agents, shells those that
	// panes and terminals were opened with. fresh are processes below agents that were seen once.
	folders map[int]uint64
	Known   map[int]proc.Stat
	agents  map[int]bool
	shells  map[int]bool
	fresh   map[int]bool
	// busy are the processes whose use of the processor counts.
	busy map[int]bool
	// places are the folders that are candidates.
	places []string
	files  map[string]stamps.File

	mu    sync.Mutex
	given map[string]given
	// awaited are the candidates whose times count too.
	awaited map[string]bool
}

// given is what a source gave.
type given struct {
	// all is the digest of everything but times, state that of each candidate with its times.
	all   uint64
	state map[string]uint64
	err   string
}

// NewFingerprint begins one, before the look that it is of: what changes while that look reads is then a change.
func (l *Looker) NewFingerprint() (*Fingerprint, error) {
	b := &Fingerprint{began: time.Now(), given: map[string]given{}, fresh: map[int]bool{}}
	var err error
	b.folders, err = proc.Folders(l.Cfg.Collect.Processes.Root)
	return b, err
}

// byContent reports whether a source is compared by what it gives. Processes and folders are compared by their stamps.
func byContent(s collectors.Source) bool { return s.Kind != "processes" && s.Kind != "dirs" }

// watch has the baseline take note of what sources give.
func (b *Fingerprint) watch(from []collectors.Source) []collectors.Source {
	out := slices.Clone(from)
	for i, s := range out {
		if byContent(s) {
			out[i].Reader = noting{s, b}
		}
	}
	return out
}

// noting is a source whose baseline takes note of what it gives.
type noting struct {
	collectors.Source
	of *Fingerprint
}

// Read implements collectors.Reader.
func (n noting) Read(ctx context.Context) (collectors.Part, error) {
	p, err := n.Reader.Read(ctx)
	g := givenBy(p, err)
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	n.of.given[n.Name] = g
	return p, err
}

// givenBy is the digest of a part. What a server says of a candidate in one text has times in it.
func givenBy(p collectors.Part, err error) given {
	g := given{state: map[string]uint64{}}
	if err != nil {
		g.err = err.Error()
	}
	p.Rest = nil
	g.all = stamps.Digest(p, false, "State", "Took")
	for id, x := range p.Sessions {
		g.state[id] = stamps.Digest(x, true)
	}
	for id, x := range p.Tabs {
		g.state[id] = stamps.Digest(x, true)
	}
	for id, x := range p.Terminals {
		g.state[id] = stamps.Digest(x, true)
	}
	return g
}

// Complete fills it in from the look, what was decided on it and its report.
func (b *Fingerprint) Complete(a *Looker, s *snapshot.Snapshot, ds []decision.Decision, r *report.Report, holds []snapshot.Hold) {
	b.Ds, b.R, b.Host, b.Spoke = ds, r, s.Host, Speakers(s)
	b.holds = stamps.Digest(holds, true)
	b.awaited, b.busy = map[string]bool{}, map[int]bool{}
	for i := range ds {
		d := &ds[i]
		if d.Verdict == decision.Reap || d.Awaits() {
			b.awaited[d.ID] = true
			if p := s.Processes[d.ID]; p != nil {
				b.busy[p.PID] = true
			}
		}
	}
	if wait := Confirmable(r); wait >= 0 {
		b.due = time.Now().Add(wait)
	}
	for _, h := range holds {
		if h.Until != nil && h.Until.After(s.TakenAt) {
			b.soon(time.Until(*h.Until))
		}
	}
	b.processes(a, s)
	b.candidates(a, s)
	b.thresholds(a, s)
	for _, g := range b.given { // of all others their times say nothing
		maps.DeleteFunc(g.state, func(id string, _ uint64) bool { return !b.awaited[id] })
	}
}

func (b *Fingerprint) soon(wait time.Duration) {
	if at := time.Now().Add(wait); b.due.IsZero() || at.Before(b.due) {
		b.due = at
	}
}

// processes takes note of the processes that matter: those that a rule can be about, agents, what runs in panes, what works in a candidate's folder, and all below these.
func (b *Fingerprint) processes(a *Looker, s *snapshot.Snapshot) {
	b.Known, b.agents, b.shells = map[int]proc.Stat{}, map[int]bool{}, map[int]bool{}
	for _, o := range s.OpenSessions {
		if o.PID > 0 {
			b.agents[o.PID] = true
		}
	}
	places := map[string]bool{}
	for _, d := range s.Dirs {
		places[d.Path] = true
	}
	matter := map[int]bool{}
	for _, p := range s.Processes {
		if slices.Contains(a.Cfg.Rules.Agents, p.Name) {
			b.agents[p.PID] = true
		}
		if !p.Partial || b.agents[p.PID] || p.Cwd != nil && isBelow(*p.Cwd, places) {
			matter[p.PID] = true
		}
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(s.Sessions)), slices.Collect(maps.Keys(s.Tabs)), slices.Collect(maps.Keys(s.Terminals))) {
		for _, pid := range s.PIDs(id) {
			matter[pid] = true
		}
	}
	s.EachPanes(func(panes []snapshot.Pane) { // what these were opened with ends with them
		for _, p := range panes {
			if p.ShellPID != nil {
				b.shells[*p.ShellPID] = true
			}
		}
	})
	for _, x := range s.Terminals {
		if x.PID != nil {
			b.shells[*x.PID] = true
		}
	}
	for _, d := range s.Dirs {
		for _, h := range d.Holders {
			matter[h.PID] = true
		}
	}
	tops := slices.DeleteFunc(slices.Collect(maps.Keys(matter)), func(pid int) bool { return pid <= 1 })
	maps.Copy(matter, s.Descendants(tops...))
	for pid := range matter {
		if pid <= 0 {
			continue
		}
		if st, err := proc.StatOf(a.Cfg.Collect.Processes.Root, pid); err == nil {
			b.Known[pid] = st
		}
	}
	b.places = slices.Collect(maps.Keys(places))
}

// isBelow reports whether a folder is one of places, or lies below one.
func isBelow(dir string, places map[string]bool) bool {
	for dir = path.Clean(dir); ; dir = path.Dir(dir) {
		if places[dir] {
			return true
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}

// candidates takes the stamps of what changes when something happens to a folder, or a folder comes or goes.
func (b *Fingerprint) candidates(a *Looker, s *snapshot.Snapshot) {
	var paths []string
	add := func(dir string, names ...string) {
		if dir != "" {
			for _, name := range names {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	for _, d := range s.Dirs {
		paths = append(paths, d.Path)
		add(d.Root, ".")
		if g := d.Git; g != nil {
			add(g.AdminDir, "HEAD", "index", "locked", "logs/HEAD")
			add(g.CommonDir, "worktrees", "packed-refs", "FETCH_HEAD", "config", "refs/heads", "refs/remotes", "refs/remotes/origin")
		}
	}
	for _, src := range s.Sources {
		if src.Kind == "dirs" && src.Path != "" {
			paths = append(paths, src.Path)
		}
	}
	if c := a.Cfg.Collect.Dirs; c.Discover && slices.Contains(c.DiscoverFrom, config.FromUnder) {
		paths = append(paths, c.DiscoverUnder...)
	}
	b.files = stamps.Read(paths)
}

// thresholds finds the first moment at which a time of the configuration passes for what began a short while ago. What waits for longer is decided at a whole look anyway, of
// which there is one at least every so often.
func (b *Fingerprint) thresholds(a *Looker, s *snapshot.Snapshot) {
	r := &a.Cfg.Rules
	spans := []float64{r.Grace.Dir, r.Grace.Spawn, r.Grace.Process, r.Grace.Session, r.Grace.Terminal, r.Grace.Shellper, r.TerminalIdle, r.SessionIdle, r.SteadyFor}
	see := func(t *time.Time) {
		if t == nil {
			return
		}
		for _, span := range spans {
			if wait := t.Add(config.Seconds(span)).Sub(s.TakenAt); wait > 0 {
				b.soon(wait + time.Second)
			}
		}
	}
	inScope := map[string]bool{}
	for _, d := range b.Ds {
		inScope[d.ID] = d.InScope
	}
	see(s.Host.SteadySince)
	for id, x := range s.Sessions {
		if inScope[id] {
			see(x.CreatedAt)
			see(x.LastActivityAt)
		}
	}
	for id, x := range s.Dirs {
		if inScope[id] {
			see(x.ActiveAt)
			see(x.ModifiedAt)
		}
	}
	for id, x := range s.Processes {
		if inScope[id] {
			see(x.StartedAt)
		}
	}
}

// maxNew is how many new processes are asked about one by one.
const maxNew = 2000

// Changed says in a few words what a whole look would find that the last one did not, "" where nothing is known of that kind. holds are those that hold now.
func (b *Fingerprint) Changed(ctx context.Context, a *Looker, holds []snapshot.Hold) string {
	switch {
	case !b.due.IsZero() && !time.Now().Before(b.due):
		return "a wait has passed"
	case stamps.Digest(holds, true) != b.holds:
		return "a hold"
	}
	if why := b.processesChanged(a); why != "" {
		return why
	}
	if p := stamps.Changed(b.files); p != "" {
		return "a file or folder"
	}
	if stamps.Since(b.files, b.began) != "" {
		return "a file or folder while the last look read it"
	}
	return b.sourcesChanged(ctx, a)
}

func (b *Fingerprint) processesChanged(a *Looker) string {
	root := a.Cfg.Collect.Processes.Root
	now, err := proc.Folders(root)
	if err != nil {
		return "processes cannot be listed"
	}
	for pid := range b.folders {
		if now[pid] == b.folders[pid] {
			continue
		}
		if _, matters := b.Known[pid]; matters {
			return "a process ended"
		}
		delete(b.folders, pid)
		delete(b.fresh, pid)
	}
	n := 0
	for pid, inode := range now {
		if b.folders[pid] == inode {
			continue
		}
		if n++; n > maxNew {
			return "many processes"
		}
		switch b.arrived(a, root, pid) {
		case matters:
			return "a process began"
		case belowAgent:
			if b.fresh[pid] { // and it stays
				return "a process of an agent"
			}
			b.fresh[pid] = true
			continue // asked again at the next look
		case ours:
			continue
		}
		b.folders[pid] = inode
	}
	for pid, was := range b.Known {
		st, err := proc.StatOf(root, pid)
		switch {
		case err != nil, !st.SameProcess(was), st.Ended() != was.Ended(), st.TTY != was.TTY:
			return "a process"
		case b.busy[pid] && (st.CPU != was.CPU || st.Foreground != was.Foreground):
			return "a process was at work"
		}
	}
	return ""
}

// What a new process is.
const (
	elsewhere = iota
	matters
	belowAgent
	ours
)

// arrived says what a process is that the last whole look did not see.
func (b *Fingerprint) arrived(a *Looker, root string, pid int) int {
	self := os.Getpid()
	at := pid
	for range 64 {
		st, err := proc.StatOf(root, at)
		if err != nil {
			if at == pid {
				return ours // it has ended already
			}
			break
		}
		if at == pid && slices.Contains(a.Cfg.Rules.Agents, st.Comm) {
			return matters
		}
		switch {
		case at == self:
			return ours
		case b.agents[at]:
			return belowAgent
		}
		if _, known := b.Known[at]; known && at != pid {
			return matters
		}
		if at = st.Parent; at <= 1 {
			break
		}
	}
	dir := filepath.Join(root, strconv.Itoa(pid))
	var owner unix.Stat_t
	if err := unix.Stat(dir, &owner); err != nil || int(owner.Uid) != os.Geteuid() {
		return elsewhere
	}
	if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && slices.ContainsFunc(b.places, func(p string) bool { return cwd == p || strings.HasPrefix(cwd, p+"/") }) {
		return matters
	}
	if b.marked(a, dir) {
		return matters
	}
	return elsewhere
}

// marked reports whether a process carries one of the markers of agents, or may.
func (b *Fingerprint) marked(a *Looker, dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	env, err := proc.Read(fd, "environ", make([]byte, 16<<10), 1<<20)
	if err != nil {
		return errors.Is(err, proc.ErrLong)
	}
	set := a.Sources()
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, _, _ := bytes.Cut(entry, []byte("="))
		if set.MarksAgent(string(name)) {
			return true
		}
	}
	return false
}

// sourcesChanged reads the sources again that are compared by what they give.
func (b *Fingerprint) sourcesChanged(ctx context.Context, a *Looker) string {
	set := a.Sources()
	from, err := set.Sources(sources.Scope{}, nil)
	if err != nil {
		return "the sources"
	}
	again := &Fingerprint{given: map[string]given{}}
	from = slices.DeleteFunc(from, func(s collectors.Source) bool { return !byContent(s) })
	for _, s := range from {
		if _, known := b.given[s.Name]; !known {
			return "a source"
		}
	}
	if len(from) != len(b.given) {
		return "a source"
	}
	if len(from) > 0 {
		collectors.Run(ctx, collectors.RunOptions{Sources: again.watch(from), Timeout: a.Cfg.Collect.Timeout, Log: a.Log.Named("collectors")})
	}
	if ctx.Err() != nil {
		return "interrupted"
	}
	for name, was := range b.given {
		now, ok := again.given[name]
		switch {
		case !ok || now.all != was.all || now.err != was.err:
			return fmt.Sprintf("what %s gives", strings.SplitN(name, "/", 2)[0])
		case now.err != "":
			return "a source that could not be read"
		}
		for id, state := range was.state {
			if now.state[id] != state {
				return "a candidate that waits"
			}
		}
	}
	return ""
}
