// Package decision holds the words for what was decided, why, and how it went.
//
// The engine writes decisions, actuators carry them out and the ledger keeps them. It uses the standard library only and knows
// nothing of policies, of snapshots or of the world.
package decision

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The two verdicts.
const (
	Reap  = "reap"
	Spare = "spare"
)

// The levels that an operator can give to a rule, the highest first. The findings of a rule that is not on reap nothing: those of Ask are
// left for a person, those of Observe are reported, and a rule that is Off says nothing.
const (
	On      = "on"
	Ask     = "ask"
	Observe = "observe"
	Off     = "off"
)

// PolicyError is the rule of the objection that stands in when a policy could not be evaluated: an error, a deadline, the
// memory watchdog or an empty answer.
const PolicyError = "policy_error"

// The rules whose objections the engine itself must know, to keep sightings: Debounce is the wait for a second look, and
// the Unknown ones say that something could not be read, which proves nothing either way.
const (
	RuleDebounce = "protect.debounce"
	// RuleShowing keeps a tab of an editor only until what it shows has ended.
	RuleShowing = "protect.showing"
	// RuleHeld keeps what is held. Where it does not count for a kind, what is held is not asked for right before an act either.
	RuleHeld    = "protect.held"
	RuleUnknown = "protect.unknown"
)

// The rules that say that something alive uses or owns a thing. That many of them fall silent at once is taken for an accident.
const (
	RuleLive     = "protect.live"
	RuleOwned    = "protect.owned"
	RuleAttached = "protect.attached"
)

// The families of rules, as their ids begin.
const (
	ReapFamily    = "reap."
	ProtectFamily = "protect."
)

// Reaps reports whether a rule finds reasons to reap.
func Reaps(rule string) bool { return strings.HasPrefix(rule, ReapFamily) }

// Protects reports whether a rule finds reasons to keep.
func Protects(rule string) bool { return strings.HasPrefix(rule, ProtectFamily) }

// Leaf is the id of a rule that keeps without its family.
func Leaf(rule string) string { return strings.TrimPrefix(rule, ProtectFamily) }

// The rules that may object less where another rule finds less.
const (
	RuleExcepted = "protect.excepted"
	RuleProject  = "protect.project"
)

// RuleRunaway is the reason to reap that a process has for being busy, so that work does not speak for it.
const RuleRunaway = "reap.processes.runaway"

// RuleDormant finds what nothing can speak with. Evidence of it that names an agent is of one that only a person ends.
const RuleDormant = "reap.processes.dormant"

// Reason is a finding or an objection.
type Reason struct {
	// Rule is the package below policies, such as reap.dirs.landed or protect.live.
	Rule string `json:"rule"`
	// Message is one sentence for a person.
	Message string `json:"message"`
	// Evidence are the facts it rests on.
	Evidence map[string]any `json:"evidence,omitempty"`
	// Level is ask or observe for a finding of a rule of that level, which reaps nothing; empty for one that counts.
	Level string `json:"level,omitempty"`
}

// Decision is what was decided of one candidate.
type Decision struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Decision is the id of this decision, by which acts, the ledger and a decision log name it; only of what a sweep decided.
	Decision string `json:"decision_id,omitempty"`
	// Verdict is reap when there is a finding of a rule that is on and no objection, and spare otherwise.
	Verdict string `json:"verdict"`
	// Level is ask or observe where nothing objects and the verdict is spare for the level of the rules alone: the highest among those
	// that found a reason.
	Level      string   `json:"level,omitempty"`
	Findings   []Reason `json:"findings"`
	Objections []Reason `json:"objections"`
	// Action is trim where the candidate is what can be made again in a worktree that stays; empty where it goes as a whole.
	Action string `json:"action,omitempty"`
	// Size is what a folder takes up that may go, nil where that was not measured.
	Size *Size `json:"size,omitempty"`
	// FirstSighting is true when this look was the first to find a reason with nothing but the wait objecting.
	FirstSighting bool `json:"first_sighting"`
	// Label is what a person calls the candidate: a session's name, a folder's path, a process's name.
	Label string `json:"label,omitempty"`
	// Owner is what a cap counts it under: a repository, a root folder, a server, a marker's value.
	Owner string `json:"owner,omitempty"`
	// After are the ids of what has to go first, where nothing but what goes uses a folder: the folder then goes in the same sweep, after
	// another look. Its findings are those of a look that takes what uses it for gone; its verdict is still spare.
	After []string `json:"after,omitempty"`
	// About are facts that a report shows beside the name; absent where nothing of it is known.
	About *About `json:"about,omitempty"`
	// WouldChange is what would have to be otherwise for the other verdict; only in a report that was asked for it.
	WouldChange *Counterfactual `json:"would_change,omitempty"`
	// Main is what a person is told first; only in a report.
	Main *Main `json:"main,omitempty"`
	// InScope is true when some package under reap claims the candidate.
	InScope  bool     `json:"-"`
	Identity Identity `json:"-"`
	// Age is in seconds, as the policies see it; nil where it is not known. Alive says by which record the candidate's owner is alive,
	// also against the rules; "" where no record says so.
	Age   *float64 `json:"-"`
	Alive string   `json:"-"`
	// Groups are the owner, the repositories and the records that the candidate has in common with others, sorted: what looks like an
	// accident is counted in each of them too.
	Groups []string `json:"-"`
	// Work is what a process and all below it have done so far, nil where that is not known. Idle is true when they are known to have
	// done nothing to speak of since the measure that the earlier sighting has, Busy when they are known to have done something.
	Work *Work `json:"-"`
	Idle bool  `json:"-"`
	Busy bool  `json:"-"`
}

// DecisionID is the id of what a sweep decided of a candidate: a UUID that both give, so that whoever knows them knows it.
func DecisionID(sweep, candidate string) string {
	sum := sha256.Sum256([]byte("winnow.decision/v1 " + strconv.Quote(sweep) + " " + strconv.Quote(candidate)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8 of RFC 9562, which leaves the rest to who makes it
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// About is what helps a person to recognise a candidate. It has no command line: of a program that an interpreter runs it names the file or
// the package.
type About struct {
	// Command is a process's program, with the package or the script that it runs: "node @modelcontextprotocol/server-memory".
	Command string `json:"command,omitempty"`
	// Folder is where a process works; "" where that is not known. Gone is true where that folder was deleted, and of a worktree whose own
	// folder was: then its entry in the repository is what goes.
	Folder string `json:"folder,omitempty"`
	Gone   bool   `json:"gone,omitempty"`
	// Age and Idle are in seconds of the time that the machine was awake: since it began (a folder: since its last change), and since
	// something last happened in it.
	Age  *float64 `json:"age,omitempty"`
	Idle *float64 `json:"idle,omitempty"`
	// Memory is the resident memory in bytes, Below counts the processes below a process.
	Memory *int64 `json:"memory,omitempty"`
	Below  *int   `json:"below,omitempty"`
	// Agent is a living agent that may have started the process: "claude (24)".
	Agent string `json:"agent,omitempty"`
	// Repository is the main checkout of a worktree, or the git folder of a repository without one; Branch is what the worktree has checked out.
	Repository string `json:"repository,omitempty"`
	Branch     string `json:"branch,omitempty"`
}

// Main is the one reason that says most to a person why a candidate goes or stays.
type Main struct {
	// Rule is the rule that gave the reason, "" where no rule found a reason to reap it. Group is what many candidates with such a reason
	// are counted under: "in use".
	Rule  string `json:"rule,omitempty"`
	Group string `json:"group"`
	// Message is the reason itself: "in use by claude (24)". Next is a command that a person may run about it, "" where there is no such
	// command.
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
	// Passes is true where the reason passes with time alone.
	Passes bool `json:"passes,omitempty"`
	// Once is the reason in full where Message is short: a report tells it once for each source.
	Once string `json:"once,omitempty"`
}

// Trim is the action on what can be made again in a worktree that stays.
const Trim = "trim"

// Size is what a folder takes up on disk, in bytes, each file counted once.
type Size struct {
	Bytes int64 `json:"bytes"`
	// Rebuildable is the part of Bytes that can be made again (rules.rebuildable), In the folder that has most of it.
	Rebuildable int64  `json:"rebuildable_bytes"`
	In          string `json:"rebuildable_in,omitempty"`
	// Shared is the part of Bytes that does not come free with the folder, because the files have other names elsewhere.
	Shared int64 `json:"shared_bytes,omitempty"`
	// Complete is false where not all was measured: then Bytes is what there is at least.
	Complete   bool      `json:"complete"`
	MeasuredAt time.Time `json:"measured_at"`
}

// Work is the measure of what a process and all below it have done: processor time in seconds, bytes written, how many are below,
// and the latest start of one of them in clock ticks since boot.
type Work struct {
	CPU      *float64
	Written  *int64
	Below    *int
	Youngest *uint64
}

// Follows reports whether d goes in the same sweep, after what uses it.
func (d Decision) Follows() bool { return d.Verdict == Spare && len(d.After) > 0 }

// Unknown reports whether d was spared because something could not be read or evaluated.
func (d Decision) Unknown() bool {
	return slices.ContainsFunc(d.Objections, func(o Reason) bool { return o.Rule == RuleUnknown || o.Rule == PolicyError })
}

// Used reports whether d was kept because something alive uses or owns it.
func (d Decision) Used() bool {
	return slices.ContainsFunc(d.Objections, func(o Reason) bool {
		return o.Rule == RuleLive || o.Rule == RuleOwned || o.Rule == RuleAttached
	})
}

// RulesOf are the rules of reasons, each once, sorted; never nil.
func RulesOf(reasons []Reason) []string {
	rules := []string{}
	for _, r := range reasons {
		rules = append(rules, r.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// Counting are the findings that count, and the level of their rules: those of the highest level that there is among them.
func (d Decision) Counting() (level string, counting []Reason) {
	for _, level := range []string{"", Ask, Observe} {
		for _, f := range d.Findings {
			if f.Level == level {
				counting = append(counting, f)
			}
		}
		if len(counting) > 0 {
			return cmp.Or(level, On), counting
		}
	}
	return "", nil
}

// Waits reports whether nothing but the wait for a second look keeps d from being reaped.
func (d Decision) Waits() bool {
	level, _ := d.Counting()
	return level == On && d.Stands()
}

// Stands reports whether there is a reason, of a rule of any level, and nothing but the wait for a second look objects.
func (d Decision) Stands() bool { return d.onlyObjected(RuleDebounce) }

// Awaits is Stands of what may also wait for another candidate to go first: a tab, for what it shows.
func (d Decision) Awaits() bool { return d.onlyObjected(RuleDebounce, RuleShowing) }

// Shows reports whether nothing keeps d but what it shows, so that it goes as soon as that has gone.
func (d Decision) Shows() bool {
	return len(d.Objections) > 0 && d.onlyObjected(RuleShowing)
}

func (d Decision) onlyObjected(rules ...string) bool {
	return len(d.Findings) > 0 && !slices.ContainsFunc(d.Objections, func(o Reason) bool { return !slices.Contains(rules, o.Rule) })
}

// Facts is what an act on d rests on, as one text: what the thing is, the state that its server or its folder gave, and the rules that
// found a reason. Two decisions with the same Facts were made of a thing that has not changed between them. What runs below a process is
// no part of it: each look judges it with the process, and what works always starts and ends something.
func (d Decision) Facts() string {
	parts := []string{strconv.Quote(d.Identity.Key), strconv.Quote(d.Identity.State())}
	_, counting := d.Counting()
	for _, f := range counting {
		parts = append(parts, f.Rule)
	}
	slices.Sort(parts[2:])
	return strings.Join(parts, " ")
}

// Unheard reports whether d is of an agent that nothing can speak with.
func (d Decision) Unheard() bool {
	return slices.ContainsFunc(d.Findings, func(f Reason) bool { return f.Rule == RuleDormant && f.Evidence["agent"] != nil })
}

// AtWork reports whether a process is known to have worked since an earlier look, and nothing that work is not an excuse for was found.
func (d Decision) AtWork() bool {
	_, counting := d.Counting()
	return d.Busy && !slices.ContainsFunc(counting, func(f Reason) bool { return f.Rule == RuleRunaway })
}

// Identity is what makes a candidate the same thing at a later look. One of the pointers is set. Two candidates are the same
// when their Keys are equal and not empty; an empty Key is an identity that could not be established, and never equal.
type Identity struct {
	Key      string    `json:"key"`
	Process  *Process  `json:"process,omitempty"`
	Session  *Session  `json:"session,omitempty"`
	Tab      *Tab      `json:"tab,omitempty"`
	Editor   *Editor   `json:"editor,omitempty"`
	Terminal *Terminal `json:"terminal,omitempty"`
	Dir      *Dir      `json:"dir,omitempty"`
	// Below are the processes below a process, which were judged with it and end with it.
	Below []Member `json:"below,omitempty"`
}

// Matches reports whether two identities are known and equal.
func (i Identity) Matches(other Identity) bool { return i.Key != "" && i.Key == other.Key }

// State is the state of what the identity names, "" for a kind without a state.
func (i Identity) State() string {
	switch {
	case i.Session != nil:
		return i.Session.State
	case i.Tab != nil:
		return i.Tab.State
	case i.Editor != nil:
		return i.Editor.State
	case i.Terminal != nil:
		return i.Terminal.State
	case i.Dir != nil:
		return i.Dir.State
	}
	return ""
}

// Process identifies a process. StartTicks alone do not: pids are reused within one tick.
type Process struct {
	BootID       string `json:"boot_id"`
	PIDNamespace uint64 `json:"pid_namespace"`
	PID          int    `json:"pid"`
	StartTicks   uint64 `json:"start_ticks"`
	// Inode is the pidfs inode, 0 where the kernel has no pidfs.
	Inode      uint64 `json:"inode,omitempty"`
	UID        int    `json:"uid"`
	Name       string `json:"name"`
	Exe        string `json:"exe,omitempty"`
	Cwd        string `json:"cwd,omitempty"`
	ArgvDigest string `json:"argv_digest,omitempty"`
	// RSS is its resident memory in bytes, for the account of what was freed.
	RSS int64 `json:"rss,omitempty"`
}

// Member is a process that goes with another one. StartTicks is in clock ticks since boot.
type Member struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Name       string `json:"name"`
}

// Session identifies a tmux session in one life of its server.
type Session struct {
	Socket      string    `json:"socket"`
	ServerPID   int       `json:"server_pid"`
	ServerTicks uint64    `json:"server_ticks"`
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	CreatedAt   time.Time `json:"created_at"`
	Attached    int       `json:"attached"`
	// State is what the snapshot says of its state, in one text. It is not part of the key: what is compared with it right before an act is
	// the reading that the last judgement rests on.
	State string `json:"state,omitempty"`
	// Panes are in the order in which the server lists them.
	Panes []Pane `json:"panes"`
}

// Tab identifies a herdr tab in one life of its server: a terminal's id is given once only.
type Tab struct {
	Socket string `json:"socket"`
	// ServerPID is the process that listens on Socket, 0 where it is not known; Protocol the number of its protocol, -1 where it
	// is not known.
	ServerPID int    `json:"server_pid"`
	Protocol  int    `json:"protocol"`
	ID        string `json:"id"`
	Workspace string `json:"workspace"`
	Label     string `json:"label"`
	// State is as in Session.
	State string `json:"state,omitempty"`
	// Panes are sorted by their terminals.
	Panes []Pane `json:"panes"`
}

// Editor identifies a terminal tab of an editor's window in one life of that window.
type Editor struct {
	// Socket is the window's, Window the id that it gave itself, ServerPID and ServerTicks its extension host.
	Socket      string `json:"socket"`
	Window      string `json:"window"`
	ServerPID   int    `json:"server_pid"`
	ServerTicks uint64 `json:"server_ticks"`
	// N is the tab's number, which the window gives once only.
	N            int    `json:"n"`
	Name         string `json:"name"`
	CreationName string `json:"creation_name,omitempty"`
	Shape        string `json:"shape"`
	// PID and StartTicks are the process that it was opened with, 0 for a tab without one.
	PID        int    `json:"pid,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Left are the processes that were started in it and lived when it was judged: none of them is ended with it.
	Left []Member `json:"left,omitempty"`
	// State is as in Session.
	State string `json:"state,omitempty"`
}

// Terminal identifies a Codev terminal and its shellper.
type Terminal struct {
	// Source is the state folder's source, Folder that folder and Tower the base URL of its Tower.
	Source string `json:"source"`
	Folder string `json:"folder"`
	Tower  string `json:"tower"`
	// ID is Codev's, or pid-<pid> for a shellper that neither Tower nor store knows.
	ID       string `json:"id"`
	Role     string `json:"role,omitempty"`
	RoleKind string `json:"role_kind,omitempty"`
	Status   string `json:"status,omitempty"`
	// Listed says whether the Tower lists it: then the Tower closes it, else its process is ended.
	Listed bool `json:"listed"`
	// State is as in Session.
	State string `json:"state,omitempty"`
	// Process is the shellper; nil where it has ended.
	Process *Process `json:"process,omitempty"`
}

// Pane identifies a pane by its first process, and lists every process that belongs to it.
type Pane struct {
	ID string `json:"id"`
	// Terminal is herdr's id of what runs in the pane; empty for tmux.
	Terminal string `json:"terminal,omitempty"`
	// PID and StartTicks are those of the pane's first process, 0 where it is not known.
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Cwd        string `json:"cwd,omitempty"`
	// Members are the pids of the session that PID leads, PID among them.
	Members []int `json:"members,omitempty"`
}

// Dir identifies a folder: the file system reuses an inode number at once, so its birth time belongs to it.
type Dir struct {
	Path   string    `json:"path"`
	Root   string    `json:"root"`
	Device uint64    `json:"device"`
	Inode  uint64    `json:"inode"`
	BornAt time.Time `json:"born_at"`
	// MountID is statx's, 0 where the kernel does not give it.
	MountID uint64 `json:"mount_id,omitempty"`
	// State is as in Session.
	State string `json:"state,omitempty"`
	Head  string `json:"head,omitempty"`
	// In is the linked worktree that the folder lies in and that stays, empty for a folder that goes as a whole.
	In string `json:"in,omitempty"`
	// Worktree is true for a linked worktree; CommonDir and AdminDir are then its repository's git folder and its own.
	Worktree  bool   `json:"worktree"`
	Main      string `json:"main,omitempty"`
	CommonDir string `json:"common_dir,omitempty"`
	AdminDir  string `json:"admin_dir,omitempty"`
	// Gone is true where the folder is gone and the worktree's entry, AdminDir, is what goes: Device, Inode, BornAt and MountID are the entry's.
	Gone bool `json:"gone,omitempty"`
	// Lost is true for a linked worktree that its repository has no entry for any more: AdminDir is where that was, and the folder alone goes.
	Lost bool `json:"lost,omitempty"`
}

// The outcomes of an act.
const (
	Done    = "done"    // the world shows that it is gone, or set aside
	Gone    = "gone"    // it no longer existed
	Changed = "changed" // it is another thing now, or its verdict is
	Refused = "refused" // the floor, git or the kernel refused it
	Failed  = "failed"  // it was tried and did not take effect
	Capped  = "capped"  // a cap held it back: all of its kind, or what is over a slice
)

// Outcome is how one act went.
type Outcome struct {
	Outcome string `json:"outcome"`
	// Detail says what happened, to which thing, what was left untouched and what to do next.
	Detail string `json:"detail,omitempty"`
	Freed  Freed  `json:"freed"`
	// RestoreUntil is until when winnow restore can bring it back.
	RestoreUntil *time.Time `json:"restore_until,omitempty"`
	// Open is true when it could not be found out how an act went that was cut short: it is not settled, and the next sweep looks
	// again.
	Open bool `json:"open,omitempty"`
	// Disputed is true where the act was carried out as far as its own answer goes, and what was read afterwards shows the thing all the same.
	Disputed bool `json:"disputed,omitempty"`
}

// The caps on what one sweep may do. The first two let the oldest through and have the rest wait; the others take what they see for an
// accident, and nothing of the kind is done.
const (
	CapPerSweep = "per_sweep"
	CapPerOwner = "per_owner"
	CapAlive    = "alive"  // things of owners that are alive by a record
	CapJump     = "jump"   // what was in use just now suddenly is not
	CapShrunk   = "shrunk" // a source that speaks for owners suddenly says much less
)

// The flags that lift a cap for one sweep.
const (
	FlagMax   = "--max"
	FlagAllOf = "--all-of"
)

// Cap is a cap that holds something back.
type Cap struct {
	Kind string `json:"kind"`
	Cap  string `json:"cap" jsonschema:"enum=per_sweep,enum=per_owner,enum=alive,enum=jump,enum=shrunk"`
	// Limit is what the configuration allows: a number of acts, or a share.
	Limit float64 `json:"limit"`
	// Wanted is how many of the kind are to go, Held how many of them this cap alone holds back.
	Wanted int `json:"wanted"`
	Held   int `json:"held"`
	// Flag lifts it for one sweep, and Lift is that flag as a person types it: --max with the number of all acts that are wanted, or
	// --all-of with the kind.
	Flag string `json:"flag" jsonschema:"enum=--max,enum=--all-of"`
	Lift string `json:"lift"`
	// Stops is true where nothing of the kind is done, false where the oldest go and the rest waits.
	Stops bool `json:"stops"`
	// Why says what was counted.
	Why string `json:"why"`
}

// Freed counts what an act takes away, both in bytes. What was moved into the trash comes free only when it is removed for good:
// RestoreUntil says when.
type Freed struct {
	// Bytes is what it took up on disk, each file counted once.
	Bytes int64 `json:"bytes"`
	RSS   int64 `json:"rss"`
	// PSS is the memory of the processes that ended with what they shared counted in parts, read right before the first signal. 0 where it could not
	// be read.
	PSS int64 `json:"pss,omitempty"`
}

// Act is one decision carried out, or not.
type Act struct {
	ID        string `json:"id"`
	Candidate string `json:"candidate"`
	// Decision is the id of the decision that it carries out; absent for an act of an earlier version.
	Decision string `json:"decision_id,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Label    string `json:"label,omitempty"`
	Outcome
}

// Intent is what is written down, durably, before an act: enough to find out afterwards, by looking, how it went, to finish or
// undo it, and to bring back what it set aside.
type Intent struct {
	ID        string `json:"id"`
	Sweep     string `json:"sweep,omitempty"`
	Candidate string `json:"candidate"`
	// Decision is the id of the decision that it carries out.
	Decision string    `json:"decision_id,omitempty"`
	Kind     string    `json:"kind"`
	Label    string    `json:"label,omitempty"`
	Identity Identity  `json:"identity"`
	Findings []Reason  `json:"findings"`
	At       time.Time `json:"at"`
	// RestoreUntil is until when what the act sets aside is kept; zero when it sets nothing aside.
	RestoreUntil time.Time `json:"restore_until,omitzero"`
	// Plan is the actuator's own: every name and place that the act will use.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// Counterfactual says what would have to be otherwise for the other verdict. Each way was found by search and decided again: with it the verdict is
// the other one, and with a part of it alone it is not.
type Counterfactual struct {
	// Verdict is the other verdict.
	Verdict string `json:"verdict" jsonschema:"enum=reap,enum=spare"`
	// Ways are sets of facts. What stays has one: the smallest that was found. What goes has up to three, each of a single fact that would keep
	// it.
	Ways []Way `json:"ways"`
	// Decided counts the decisions that the search took.
	Decided int `json:"decided"`
	// Limit says why there is no way where there is none.
	Limit string `json:"limit,omitempty"`
}

// Way is a set of facts that would have to be otherwise together, sorted by name.
type Way []Change

// Change is one fact that would be otherwise.
type Change struct {
	// Fact is where it stands in the subject, such as input.dir.git.dirty.
	Fact string `json:"fact"`
	// From is what it is, absent where it is Unknown. To is what it would be, absent where it would be Gone.
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
	// Bound is "at least" or "at most" where a number twice as great, or 0, was decided too and gives the same verdict.
	Bound string `json:"bound,omitempty" jsonschema:"enum=at least,enum=at most"`
	// Unknown is true where the subject has no such fact now, Gone where it would have none.
	Unknown bool `json:"unknown,omitempty"`
	Gone    bool `json:"gone,omitempty"`
	// Source is the source that the fact comes from, as in the report's sources; ledger for what was remembered, look for what the look
	// itself asked.
	Source string `json:"source,omitempty"`
}
