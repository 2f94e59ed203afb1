package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/actuators"
	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/actuators/panes"
	actcodev "github.com/winnow-reaper/winnow/actuators/panes/codev"
	actherdr "github.com/winnow-reaper/winnow/actuators/panes/herdr"
	acttmux "github.com/winnow-reaper/winnow/actuators/panes/tmux"
	actvscode "github.com/winnow-reaper/winnow/actuators/panes/vscode"
	actprocs "github.com/winnow-reaper/winnow/actuators/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Step is called with its name before every step of an act. It is nil but in the tests that stop the program there.
var Step func(string)

// act carries the report's decisions out and adds what came of each.
func (s *Sweeper) act(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, mem look.PriorState, res eval.Result, past actuators.Past, f Options) {
	defer s.Hands.Begin()()
	carrier := s.carrier(snap, s.judgeOn(snap, mem), s.Touched(f.Show.Kinds), f.Caps(s.Cfg))
	carrier.Past = past
	r.Acts = append(r.Acts, carrier.Carry(ctx, r.Sweep, f.chosen(res.Decisions))...)
	if s.Halted() != nil {
		return
	}
	may := func(kind string) bool { return slices.Contains(carrier.Kinds, kind) && !r.Stopped(kind) }
	if next := f.among(s.reapDependents(ctx, r, snap, mem, res, may)); len(next) > 0 {
		carrier.Past.Used = nil // they were in use until now, by what this very sweep ended
		r.Acts = append(r.Acts, carrier.Carry(ctx, r.Sweep, next)...)
	}
}

// carrier carries out under the floor what was decided on a look.
func (s *Sweeper) carrier(snap *snapshot.Snapshot, j actuators.Judge, kinds []string, caps actuators.Caps) *actuators.Carrier {
	return &actuators.Carrier{
		Judge:    j,
		Journal:  journal{s.Ledger, s.Logger},
		ByKind:   s.Actuators(snap.Host, rootsOf(snap)),
		Kinds:    kinds,
		Caps:     caps,
		TrashTTL: s.Cfg.Act.TrashTTL,
		NewID:    func() string { return ulid.Make().String() },
		Now:      time.Now,
		Log:      s.Log.Named("actuators"),
		Halted:   s.Halted,
		Grants:   s,
	}
}

// Actuators wires an actuator for every kind that this version can act on.
func (m *Machine) Actuators(host snapshot.Host, roots []string) map[string]actuators.Actuator {
	self := slices.Clone(host.Ancestors)
	if host.PID != nil {
		self = append(self, *host.PID)
	}
	o := actuators.Options{
		Trash: filepath.Join(m.Cfg.State, "trash"), TermGrace: m.Cfg.Act.TermGrace, ProcRoot: m.Cfg.Collect.Processes.Root,
		Never: actuators.NeverProcess{UID: os.Getuid(), Self: self, OrphanParents: host.OrphanParents,
			Multiplexers: m.Cfg.Rules.Multiplexers, Names: m.Cfg.Rules.NeverProcesses},
		Shells: m.Cfg.Rules.Shells, Env: os.Getenv, Step: Step, Log: m.Log,
		Lock: filepath.Join(m.UserDir(), "herdr-close.lock"), LockWait: userLockWait,
	}
	return map[string]actuators.Actuator{
		snapshot.KindSession:  acttmux.New(o.WithLogName("tmux")),
		snapshot.KindTab:      panes.Tabs{Herdr: actherdr.New(o.WithLogName("herdr")), Editor: actvscode.New(o.WithLogName("vscode"))},
		snapshot.KindTerminal: actcodev.New(o.WithLogName("codev")),
		snapshot.KindProcess:  actprocs.New(o.WithLogName("processes")),
		snapshot.KindDir: actdirs.New(actdirs.Options{
			StateTrash: o.Trash, Roots: roots, Home: host.Home, Self: self, ProcRoot: o.ProcRoot,
			Holders: holding{&m.Looker}, Sessions: m.sessionsIn, Step: Step, Log: m.Log.Named("dirs"),
		}),
	}
}

// rootsOf are the folders below which this look found candidates: nothing outside of them may be touched.
func rootsOf(s *snapshot.Snapshot) []string {
	roots := map[string]bool{}
	for _, d := range s.Dirs {
		roots[d.Root] = true
	}
	delete(roots, "")
	return slices.Sorted(maps.Keys(roots))
}

// intendedRoots are the roots that earlier looks found what they acted on below.
func intendedRoots(intents []decision.Intent) []string {
	roots := map[string]bool{}
	for _, in := range intents {
		if d := in.Identity.Dir; d != nil && d.Root != "" {
			roots[d.Root] = true
		}
	}
	return slices.Sorted(maps.Keys(roots))
}

// holding lets the actuator of folders ask the collectors' own question: who is in there.
type holding struct{ *look.Looker }

// Holding implements the dirs actuator's Holding.
func (h holding) Holding(ctx context.Context, paths []string) (map[string][]string, bool, error) {
	found, known, err := h.Sources().Holders(true)(ctx, paths)
	if err != nil {
		return nil, false, err
	}
	out := map[string][]string{}
	for path, users := range found {
		for _, p := range users {
			who := p.How // what the kernel itself does has no process
			if p.PID != 0 {
				who = fmt.Sprintf("%d, %s", p.PID, p.How)
			}
			out[path] = append(out[path], fmt.Sprintf("%s (%s)", p.Name, who))
		}
	}
	return out, known, nil
}

// sessionsIn are the open sessions that work in folders, or may, by the agents' own records of now.
func (m *Machine) sessionsIn(ctx context.Context, folders []decision.Dir) (map[string][]string, error) {
	s, err := m.Look(ctx, sources.Scope{Alone: true, Sessions: true}, look.PriorState{})
	if err != nil {
		return nil, err
	}
	if src := s.Sources[snapshot.Proc]; src.Status != snapshot.OK { // whose sessions are open is told by who lives
		return nil, fmt.Errorf("which agents' sessions are open is not known: %s", cmp.Or(src.Error, "the processes were not read"))
	}
	s.Dirs = map[string]snapshot.Dir{}
	for _, d := range folders {
		dir := snapshot.Dir{Path: cmp.Or(d.In, d.Path)}
		if d.Main == "" && d.CommonDir == "" { // what no repository has, no session of another folder works in
			dir.Checkout = new(false)
		} else {
			dir.Git = &snapshot.Git{Main: d.Main}
		}
		s.Dirs[snapshot.KindDir+":"+d.Path] = dir
	}
	j, out := subject.Join(s, &m.Cfg.Rules.Config), map[string][]string{}
	for _, d := range folders {
		sub, ok := j.Subject(snapshot.KindDir + ":" + d.Path)
		if !ok {
			return nil, fmt.Errorf("which open sessions work in %s is not known", d.Path)
		}
		for _, open := range sub.Open {
			out[d.Path] = append(out[d.Path], fmt.Sprintf("%s (%d)", open.Agent, open.PID))
		}
	}
	return out, nil
}

// Settle finds out how acts went that an earlier sweep was cut short in.
func (s *Sweeper) Settle(ctx context.Context) ([]decision.Act, error) {
	open, err := s.Ledger.Unsettled(ctx)
	if err != nil {
		return nil, fmt.Errorf("read unsettled acts: %w; nothing was done", err)
	}
	if len(open) == 0 {
		return nil, nil
	}
	host, err := host.Read(s.Cfg.Collect.Processes.Root, host.KnownNames())
	if err != nil {
		return nil, fmt.Errorf("settle acts that were cut short: %w; nothing was done", err)
	}
	byKind := s.Actuators(host, intendedRoots(open))
	defer s.Hands.Begin()()
	var out []decision.Act
	for _, in := range open {
		actuator, ok := byKind[in.Kind]
		if !ok {
			continue
		}
		o := s.settleOne(ctx, actuator, in)
		if !o.Open {
			if err := s.Ledger.Settled(ctx, in.ID, o); err != nil {
				return nil, fmt.Errorf("record how act %s went: %w", in.ID, err)
			}
		}
		out = append(out, decision.Act{ID: in.ID, Candidate: in.Candidate, Decision: in.Decision, Kind: in.Kind, Label: in.Label, Outcome: o})
	}
	return out, nil
}

// undoer is an actuator that can put back what an act that was cut short had moved.
type undoer interface {
	Undo(ctx context.Context, in decision.Intent, why error) decision.Outcome
}

// settleOne finds out how one act went. What is held by now is not taken: the act had been cut short when that was granted.
func (s *Sweeper) settleOne(ctx context.Context, by actuators.Actuator, in decision.Intent) decision.Outcome {
	u, ok := by.(undoer)
	if !ok {
		return by.Settle(ctx, in)
	}
	if err := s.Begin(ctx, in.ID, decision.Decision{ID: in.Candidate, Kind: in.Kind, Identity: in.Identity}); err != nil {
		return u.Undo(ctx, in, err)
	}
	o := by.Settle(ctx, in)
	s.End(ctx, in.ID, o.Outcome == decision.Done || o.Open)
	return o
}

// sayUnsettled tells a person of acts that were cut short, which a dry run leaves as they are.
func (s *Sweeper) sayUnsettled(ctx context.Context) error {
	if s.Ledger == nil {
		return nil
	}
	open, err := s.Ledger.Unsettled(ctx)
	if err != nil {
		return fmt.Errorf("read unsettled acts: %w", err)
	}
	if n := len(open); n > 0 {
		s.Note("an earlier sweep was cut short in %s; the next sweep --apply finds out how it went", text.Plural(n, "act"))
	}
	return nil
}

// Begin implements actuators.Grants.
func (s *Sweeper) Begin(ctx context.Context, act string, d decision.Decision) error {
	if Step != nil {
		Step("act.begin")
	}
	holds := s.Ledger.Holds
	if _, there := s.Policy.Rules()[decision.RuleHeld]; !there || s.Cfg.Rules.Level(d.Kind, decision.RuleHeld) == decision.Off {
		holds = nil // by the rules of this user, what is held may go
	}
	var held *snapshot.Hold
	var err error
	if s.order == nil { // once for all acts of the sweep
		s.order, err = s.OpenGrants()
	}
	if err == nil {
		held, err = s.order.Begin(ctx, act, ledger.Takes(d), holds)
	}
	switch {
	case err != nil:
		return actuators.Refused("what is held could not be read right before the act on %s: %w; it was left untouched", d.ID, err)
	case held != nil:
		return actuators.Changed("%s must stay, by what was granted right before the act: held by %s: %s; it was left untouched", d.ID, held.Owner, held.Reason)
	}
	return nil
}

// End implements actuators.Grants.
func (s *Sweeper) End(ctx context.Context, act string, taken bool) {
	if err := s.order.End(ctx, act, taken); err != nil {
		s.Log.Warn("say that an act has ended; until the end of this sweep nobody is granted what it was about", "act", act, "error", err)
	}
}
