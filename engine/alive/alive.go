// Package alive says whether anything is alive in a folder, a process, a session, a tab, a terminal or an agent's session, and what proves it.
//
// It is a pure function of one snapshot. The answer has three values: alive, with the proofs; not alive, where everything that could prove life was
// read whole and proves nothing; and unknown, where something that could prove it was not read, or lies where this user cannot look. What is only
// written down proves nothing by itself: a record that has not ended counts when what it names lives.
package alive

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Schema names the document's shape.
const Schema = "winnow.alive/v1"

// The states of an Answer.
const (
	Alive    = "alive"
	NotAlive = "not-alive"
	Unknown  = "unknown"
)

// What a question is about. The first four are kinds of candidates too.
const (
	Session  = snapshot.KindSession
	Tab      = snapshot.KindTab
	Terminal = snapshot.KindTerminal
	Process  = snapshot.KindProcess
	Folder   = "folder"
	Agent    = "agent"
)

// Kinds lists them.
var Kinds = []string{Folder, Process, Session, Tab, Terminal, Agent}

// What a Proof is.
const (
	ByProcess  = "process"      // a living process; How says how it has to do with what was asked for
	ByAgent    = "agent"        // an agent's own record of a session that it has open, and its process lives
	ByRegistry = "registry"     // an entry of a registry that has not ended, and something that it names lives
	BySpawn    = "spawn"        // the same of a spawn ledger
	ByPane     = "pane"         // a pane of a multiplexer in which a process runs
	ByStatus   = "agent_status" // herdr's own word for the agent in a living pane
	ByTerminal = "terminal"     // a terminal of Codev's whose process lives
	ByHold     = "hold"         // a hold or a lease that has not lapsed
	ByClient   = "client"       // a client shows the session
	ByListener = "listening"    // one of the processes listens
	ByLock     = "lock"         // a lock of the worktree names a process that lives
)

// Answer is what winnow why-alive says. docs/reference/schemas/alive.json is generated from it.
type Answer struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.alive/v1"`
	// Asked is what was asked for, as it was given; Kind what it was taken for; ID what it was found as: a candidate's id, a folder's real path,
	// or an agent's session id.
	Asked string `json:"asked"`
	Kind  string `json:"kind" jsonschema:"enum=folder,enum=process,enum=session,enum=tab,enum=terminal,enum=agent"`
	ID    string `json:"id"`
	State string `json:"state" jsonschema:"enum=alive,enum=not-alive,enum=unknown"`
	// Why is one sentence for a person.
	Why string `json:"why"`
	// TakenAt is when the look began.
	TakenAt time.Time `json:"taken_at"`
	// Proofs are what proves life. There is one at least with the state alive, and none with any other.
	Proofs []Proof `json:"proofs"`
	// Claims is what was found and proves nothing: a record that says live although its process is gone, when something was active.
	Claims []Claim `json:"claims"`
	// Gaps say what could prove life and was not read whole. There is one at least with the state unknown, and none with not-alive.
	Gaps []Gap `json:"gaps"`
	// Read lists what was asked, with the number of proofs that each gave.
	Read []Read `json:"read"`
}

// Proof is one thing that shows that something lives.
type Proof struct {
	What string `json:"what" jsonschema:"enum=process,enum=agent,enum=registry,enum=spawn,enum=pane,enum=agent_status,enum=terminal,enum=hold,enum=client,enum=listening,enum=lock"`
	// How says of a process how it has to do with what was asked for: runs (it is the one that was asked for), a word of snapshot.Holder.How, pane,
	// elsewhere (started from the pane, and not in its session any more), popup, below (a child of the terminal's process), marker (its environment names
	// the session) or tab. Of a record it is what ties it to what lives.
	How string `json:"how,omitempty"`
	// Detail is one sentence.
	Detail string `json:"detail"`
	Source string `json:"source"`
	// ReadAt is when it was read.
	ReadAt time.Time `json:"read_at"`
	// PID and StartTicks (field 22 of stat, in clock ticks since boot) are the process that lives, Name what it calls itself. A kernel's use of a folder
	// has no PID.
	PID        int     `json:"pid,omitempty"`
	StartTicks *uint64 `json:"start_ticks,omitempty"`
	Name       string  `json:"name,omitempty"`
	// At is when it was last active, where it has such a time.
	At *time.Time `json:"at,omitempty"`
	// Fact is the fact's place in the snapshot of this look, as a JSON pointer (RFC 6901).
	Fact string `json:"fact"`
}

// Claim is something that was found and is no proof.
type Claim struct {
	Detail string     `json:"detail"`
	Source string     `json:"source"`
	At     *time.Time `json:"at,omitempty"`
	Fact   string     `json:"fact,omitempty"`
}

// Gap is something that could prove life and was not read whole.
type Gap struct {
	Source string `json:"source"`
	Why    string `json:"why"`
}

// Read is a source that was asked.
type Read struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`
	Status string `json:"status" jsonschema:"enum=ok,enum=failed,enum=absent"`
	Path   string `json:"path,omitempty"`
	// Seen counts what it listed, Proofs what of it is a proof here.
	Seen   int `json:"seen"`
	Proofs int `json:"proofs"`
}

// Question is what is asked. A candidate is named by ID alone.
type Question struct {
	Asked, Kind string
	// ID is a candidate's id, or an agent's session id, or the id of a worker.
	ID string
	// Guessed is true for an Agent that was taken for one because no session, tab or terminal that was read has the name.
	Guessed bool
	// PID is a process's; Ticks, where it is not nil, when the process that is meant began.
	PID   int
	Ticks *uint64
	// Path is a folder's real path, where Reachable is true: a path that could not be followed has none. It is looked up in the snapshot as a candidate,
	// with who uses it; HoldersAt is when that was read.
	Path      string
	Reachable bool
	HoldersAt time.Time
	// Gaps are known before the snapshot is looked at, Claims likewise.
	Gaps   []Gap
	Claims []Claim
	// Own are processes that never count: this program's.
	Own []int
}

// Ask answers a question from a snapshot. cfg are the parameters of the rules: which words say that an owner has ended.
func Ask(s *snapshot.Snapshot, cfg *subject.Config, q Question) Answer {
	a := &answer{s: s, cfg: cfg, q: q, joined: subject.Join(s, cfg), live: map[int]string{}}
	a.out = Answer{Schema: Schema, Asked: q.Asked, Kind: q.Kind, ID: q.ID, TakenAt: s.TakenAt,
		Proofs: []Proof{}, Claims: append([]Claim{}, q.Claims...), Gaps: append([]Gap{}, q.Gaps...), Read: []Read{}}
	for id, p := range s.Processes {
		if !subject.Dead(p) {
			a.live[p.PID] = id
		}
	}
	own := slices.Clone(q.Own)
	if s.Host.PID != nil {
		own = append(own, *s.Host.PID)
	}
	a.own = s.Descendants(own...)
	if answers, known := answerers[q.Kind]; known {
		answers(a)
	} else {
		a.agent()
	}
	a.sources()
	return a.finish()
}

// answerers are who answers, by what a question is about; all else is asked for as an agent's session.
var answerers = map[string]func(*answer){
	Folder: (*answer).folder, Process: (*answer).process, Session: (*answer).session, Tab: (*answer).tab, Terminal: (*answer).terminal,
}

// answer is one under way.
type answer struct {
	s      *snapshot.Snapshot
	cfg    *subject.Config
	q      Question
	joined *subject.Index
	out    Answer
	// live are the living processes by pid with the ids that they have in the snapshot, own those that never count.
	live map[int]string
	own  map[int]bool
}

// alive gives a living process that counts; ticks, where it is not nil, is when the one that is meant began.
func (a *answer) alive(pid int, ticks *uint64) (*snapshot.Process, string, bool) {
	id, ok := a.live[pid]
	if !ok || a.own[pid] {
		return nil, "", false
	}
	p := a.s.Processes[id]
	return p, id, ticks == nil || *ticks == p.StartTicks
}

// allListed reports whether all processes were listed, so that one which is not on the list is gone.
func (a *answer) allListed() bool { return a.s.Sources[snapshot.Proc].Status == snapshot.OK }

func (a *answer) prove(p Proof) {
	if p.ReadAt.IsZero() {
		p.ReadAt = a.s.TakenAt
	}
	a.out.Proofs = append(a.out.Proofs, p)
}

// proveProcess proves by a process that lives, once for each process.
func (a *answer) proveProcess(pid int, how, detail string) bool {
	p, id, ok := a.alive(pid, nil)
	if !ok {
		return false
	}
	if slices.ContainsFunc(a.out.Proofs, func(x Proof) bool { return x.What == ByProcess && x.PID == pid }) {
		return true
	}
	a.prove(Proof{What: ByProcess, How: how, Detail: fmt.Sprintf("%s (%d) %s", p.Name, pid, detail), Source: snapshot.Proc,
		PID: pid, StartTicks: &p.StartTicks, Name: p.Name, Fact: Pointer("processes", id)})
	a.about(p, id)
	return true
}

// about adds what more is known of a process that counts: whose agent's session it has open, and that it listens.
func (a *answer) about(p *snapshot.Process, id string) {
	for i := range a.s.OpenSessions {
		o := &a.s.OpenSessions[i]
		if o.PID == p.PID && a.joined.Has(o, p) {
			a.proveOpen(i, p)
		}
	}
	if p.Listening != nil && len(*p.Listening) > 0 {
		ports := strings.ReplaceAll(strings.Trim(fmt.Sprint(*p.Listening), "[]"), " ", ", ")
		a.prove(Proof{What: ByListener, Detail: fmt.Sprintf("%s (%d) listens on port %s", p.Name, p.PID, ports), Source: snapshot.Proc,
			PID: p.PID, StartTicks: &p.StartTicks, Name: p.Name, Fact: Pointer("processes", id, "listening")})
	}
}

func (a *answer) proveOpen(i int, p *snapshot.Process) {
	o := &a.s.OpenSessions[i]
	a.prove(Proof{What: ByAgent, Detail: fmt.Sprintf("%s records that session %s is open, and its process %s (%d) lives", cmp.Or(o.Agent, "an agent"), cmp.Or(o.ID, "without an id"), p.Name, p.PID),
		Source: o.Source, PID: p.PID, StartTicks: &p.StartTicks, Name: p.Name, At: o.WrittenAt, Fact: Pointer("open_sessions", fmt.Sprint(i))})
}

func (a *answer) say(source, fact string, at *time.Time, format string, args ...any) {
	a.out.Claims = append(a.out.Claims, Claim{Detail: fmt.Sprintf(format, args...), Source: source, At: at, Fact: fact})
}

func (a *answer) gap(source, format string, args ...any) {
	g := Gap{Source: source, Why: fmt.Sprintf(format, args...)}
	if !slices.Contains(a.out.Gaps, g) {
		a.out.Gaps = append(a.out.Gaps, g)
	}
}

// holds proves by the holds that have not lapsed and are on one of the candidates.
func (a *answer) holds(on func(id string) bool) {
	for i, h := range a.s.Holds {
		switch {
		case !on(h.ID):
		case h.Until != nil && !h.Until.After(a.s.TakenAt):
			a.say(snapshot.Ledger, Pointer("holds", fmt.Sprint(i)), h.Until, "a hold of %s on %s has lapsed", cmp.Or(h.Owner, "an unknown owner"), h.ID)
		default:
			until := "without an end"
			if h.Until != nil {
				until = "until " + h.Until.UTC().Format(time.RFC3339)
			}
			a.prove(Proof{What: ByHold, Detail: fmt.Sprintf("%s is held by %s %s: %s", h.ID, cmp.Or(h.Owner, "an unknown owner"), until, cmp.Or(h.Reason, "no reason given")),
				Source: snapshot.Ledger, At: &h.Since, Fact: Pointer("holds", fmt.Sprint(i))})
		}
	}
}

// kinds are the kinds of sources that can prove life, by what was asked.
var kinds = map[string][]string{
	Process:  {"processes", "ledger"},
	Session:  {"processes", "tmux", "ledger"},
	Tab:      {"processes", "herdr", snapshot.Editor, "ledger"},
	Terminal: {"processes", "codev", "ledger"},
}

// speaks reports whether a source can prove life of what was asked.
func (a *answer) speaks(name string, src snapshot.Source) bool {
	of, narrow := kinds[a.q.Kind]
	if !narrow {
		return src.Kind != snapshot.Projects
	}
	if !slices.Contains(of, src.Kind) {
		return false
	}
	// A candidate lives in its own source alone.
	if own := a.ownSource(); own != "" && slices.ContainsFunc(snapshot.Kinds, func(k snapshot.Kind) bool { return k.Name == a.q.Kind && k.From(name, src) }) {
		return name == own
	}
	return true
}

// ownSource is the source of a candidate by its id, "" for what is named otherwise.
func (a *answer) ownSource() string {
	kind, rest, ok := strings.Cut(a.q.ID, ":")
	if i := strings.LastIndexByte(rest, '/'); ok && i > 0 && kind == a.q.Kind && kind != Process {
		return rest[:i]
	}
	return ""
}

// sources lists what was asked, and what of it was not read whole.
func (a *answer) sources() {
	count := map[string]int{}
	for _, p := range a.out.Proofs {
		count[p.Source]++
	}
	found := false
	for _, name := range sorted(a.s.Sources) {
		src := a.s.Sources[name]
		if !a.speaks(name, src) {
			continue
		}
		found = found || name == a.ownSource()
		a.out.Read = append(a.out.Read, Read{Source: name, Kind: src.Kind, Status: src.Status, Path: src.Path, Seen: src.Seen, Proofs: count[name]})
		switch {
		case src.Status == snapshot.Failed:
			a.gap(name, "it could not be read: %s", src.Error)
		case src.Status == snapshot.Absent && (src.Kind == "registry" || src.Kind == "spawns"):
			a.gap(name, "the configuration names it, and it is not there: %s", src.Error)
		case src.Status != snapshot.OK && src.Status != snapshot.Absent:
			a.gap(name, "whether it was read is not known")
		case src.Unreadable > 0 && src.Kind != "processes" && src.Kind != "dirs":
			a.gap(name, "%d of what it lists could not be read", src.Unreadable)
		}
	}
	if own := a.ownSource(); own != "" && !found {
		a.gap(own, "no source of that name was read, so what is in it is not known")
	}
	for _, name := range []string{snapshot.Proc, snapshot.Ledger} {
		if _, ok := a.s.Sources[name]; !ok {
			a.gap(name, "it was not read")
		}
	}
}

// finish decides.
func (a *answer) finish() Answer {
	out := &a.out
	switch {
	case len(out.Proofs) > 0:
		out.State, out.Why = Alive, out.Proofs[0].Detail
		if n := len(out.Proofs) - 1; n > 0 {
			out.Why += fmt.Sprintf(", and %d more", n)
		}
	case len(out.Gaps) > 0:
		out.State, out.Why = Unknown, fmt.Sprintf("nothing proves life, and not everything that could was read: %s: %s", out.Gaps[0].Source, out.Gaps[0].Why)
	default:
		out.State, out.Why = NotAlive, fmt.Sprintf("nothing proves life, and everything that could was read whole (%d sources)", len(out.Read))
		if len(out.Claims) > 0 {
			out.Why += "; " + out.Claims[0].Detail
		}
	}
	return *out
}

// Pointer is a place in a JSON document (RFC 6901).
func Pointer(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(n))
	}
	return b.String()
}

// isBelow reports whether a path is a folder or lies in it.
func isBelow(p, folder string) bool {
	p = strings.TrimSuffix(p, " (deleted)")
	if !path.IsAbs(p) {
		return false
	}
	p = path.Clean(p)
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}
