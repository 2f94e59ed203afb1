package snapshot

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of candidate, as they stand before the colon of an id.
const (
	KindTab      = "tab"
	KindSession  = "session"
	KindTerminal = "terminal"
	KindDir      = "dir"
	KindProcess  = "process"
)

// Editor is the kind of a source that is a window of VS Code or of an editor made of it.
const Editor = "vscode"

// Kind is a kind of candidate: all that the program knows of it but how it is read (a collector), what it is judged on
// (engine/subject, the table facts), and how it is ended (an actuator). A new kind begins with its line in Kinds.
type Kind struct {
	Name string
	// Plural is the folder of its rules below policies/reap, and its heading in a report. Several is what people call several of them.
	Plural string
	// Further are more such folders: of rules that are about a part of a candidate.
	Further []string
	Several string
	// Sources are the kinds of the sources that it comes from.
	Sources []string
	// Scope says for people what puts candidates of the kind in scope.
	Scope string

	// Count says how many candidates of the kind a snapshot has, Has whether it has one with that whole id, Find gives it, and IDs yields
	// the ids of all, in no order.
	Count func(*Snapshot) int
	Has   func(s *Snapshot, id string) bool
	Find  func(s *Snapshot, id string) (Candidate, bool)
	IDs   func(*Snapshot) iter.Seq[string]
}

// Kinds lists every kind of candidate in the order in which people read them and acts are carried out: what runs goes before the folder
// that it runs in.
var Kinds = []Kind{
	kind(Kind{
		Name: KindTab, Plural: "tabs", Several: "tabs", Sources: []string{"herdr", Editor},
		Scope: "the labels of herdr's tabs, what editors opened tabs for, rules.helper_labels and rules.editor_names",
	}, func(s *Snapshot) map[string]Tab { return s.Tabs }, func(t *Tab) Candidate {
		if t.Editor != nil { // what a tab of an editor shows is one fact of the join
			return Candidate{Source: t.Source, Native: t.ID, Name: t.Label, Born: t.Editor.OpenedAt}
		}
		return Candidate{Source: t.Source, Native: t.ID, Users: usersOf(t.Panes)}
	}),
	kind(Kind{
		Name: KindSession, Plural: "sessions", Several: "sessions", Sources: []string{"tmux"},
		Scope: "the names of the sessions, rules.session_names and what the registries say",
	}, func(s *Snapshot) map[string]Session { return s.Sessions }, func(t *Session) Candidate {
		return Candidate{Source: t.Source, Native: t.ID, Name: t.Name, Born: t.CreatedAt, Users: usersOf(t.Panes)}
	}),
	kind(Kind{
		Name: KindTerminal, Plural: "terminals", Several: "terminals", Sources: []string{"codev"},
		Scope: "what their source says of them and what the registries say",
	}, func(s *Snapshot) map[string]Terminal { return s.Terminals }, func(t *Terminal) Candidate {
		return Candidate{Source: t.Source, Native: t.ID}
	}),
	kind(Kind{
		Name: KindProcess, Plural: "processes", Several: "processes", Sources: []string{"processes"},
		Scope: "their environment and collect.processes.markers",
	}, func(s *Snapshot) map[string]*Process { return s.Processes }, func(p **Process) Candidate {
		return Candidate{Source: Proc, Native: strconv.Itoa((*p).PID), Name: (*p).Name}
	}),
	kind(Kind{
		Name: KindDir, Plural: "dirs", Further: []string{"content"}, Several: "folders", Sources: []string{"dirs"},
		Scope: "whether git still lists them as worktrees, their names and rules.disposable_dirs",
	}, func(s *Snapshot) map[string]Dir { return s.Dirs }, func(d *Dir) Candidate {
		c := Candidate{Source: d.Source, Native: d.Path, Name: d.Name, Born: d.BornAt, Unread: d.Error != ""}
		if (d.Symlink == nil || !*d.Symlink) && !d.Unasked() { // nothing is looked at through a link
			c.Users = &Users{Known: d.HoldersKnown != nil && *d.HoldersKnown, Why: d.Error}
		}
		return c
	}),
}

// ProcessID is a process's candidate id: its number and its start in clock ticks since boot.
func ProcessID(pid int, ticks uint64) string {
	return KindProcess + ":" + strconv.Itoa(pid) + "@" + strconv.FormatUint(ticks, 10)
}

// Candidate is what candidates of every kind have in common.
type Candidate struct {
	Source string
	// Native is what the source calls it: $4, w1:t3, a terminal's UUID, a folder's path, a pid. Name is what people call it, "" without a name.
	Native string
	Name   string
	// Born is when it was made, nil where that is not known or the id says it already.
	Born *time.Time
	// Unread is true where something of it could not be read, so that a rule may not have recognised it.
	Unread bool
	// Users is nil for a kind whose users are not one fact.
	Users *Users
}

// Users says whether it is known who uses a candidate, and if not, why.
type Users struct {
	Known bool
	Why   string
}

// kind adds to k how its candidates are found in a snapshot.
func kind[T any](k Kind, in func(*Snapshot) map[string]T, of func(*T) Candidate) Kind {
	k.Count = func(s *Snapshot) int { return len(in(s)) }
	k.Has = func(s *Snapshot, id string) bool { _, ok := in(s)[id]; return ok }
	k.IDs = func(s *Snapshot) iter.Seq[string] { return maps.Keys(in(s)) }
	k.Find = func(s *Snapshot, id string) (Candidate, bool) {
		v, ok := in(s)[id]
		if !ok {
			return Candidate{}, false
		}
		return of(&v), true
	}
	return k
}

// From reports whether a source, by its name, gives candidates of the kind.
func (k Kind) From(name string, src Source) bool {
	return slices.ContainsFunc(k.Sources, func(kind string) bool { return src.HasKind(name, kind) })
}

// HasKind reports whether a source is of a kind, by its word or by its name, which is kind/name.
func (src Source) HasKind(name, kind string) bool {
	return src.Kind == kind || strings.HasPrefix(name, kind+"/")
}

// Folders are those of the kind's rules below policies/reap.
func (k Kind) Folders() []string { return append([]string{k.Plural}, k.Further...) }

// RuleFolders are the folders of all kinds below policies/reap.
func RuleFolders() (folders []string) {
	for _, k := range Kinds {
		folders = append(folders, k.Folders()...)
	}
	return folders
}

// Failing reports whether any source was not read.
func (s *Snapshot) Failing() bool {
	for _, src := range s.Sources {
		if src.Status == Failed {
			return true
		}
	}
	return false
}

// Find gives a candidate of any kind by its whole id.
func (s *Snapshot) Find(id string) (Candidate, bool) {
	for _, k := range Kinds {
		if c, ok := k.Find(s, id); ok {
			return c, true
		}
	}
	return Candidate{}, false
}

// KindNames lists the names of Kinds.
func KindNames() []string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = k.Name
	}
	return names
}

// KindOf gives the kind of a candidate's id, or the kind of that name.
func KindOf(id string) (Kind, bool) {
	name, _, _ := strings.Cut(id, ":")
	return kindWith(func(k Kind) bool { return k.Name == name })
}

// KindOfRules gives the kind that has rules in the folder below policies/reap.
func KindOfRules(folder string) (Kind, bool) {
	return kindWith(func(k Kind) bool { return slices.Contains(k.Folders(), folder) })
}

func kindWith(is func(Kind) bool) (Kind, bool) {
	if i := slices.IndexFunc(Kinds, is); i >= 0 {
		return Kinds[i], true
	}
	return Kind{}, false
}

// usersOf says whether any pane shows what runs in it. A dead one shows that nothing does.
func usersOf(panes []Pane) *Users {
	u := &Users{}
	for i := range panes {
		p := &panes[i]
		failed := p.Error != nil && *p.Error != ""
		if p.Dead != nil && *p.Dead || !failed && (len(p.Foreground) > 0 || len(p.SessionPIDs) > 0) {
			return &Users{Known: true}
		}
		if u.Why == "" && failed {
			u.Why = *p.Error
		}
	}
	return u
}

// PIDs are the processes that a candidate holds and that end with it: a process itself, those of a tab's or session's panes, those of a terminal.
// What is below them is not listed again.
func (s *Snapshot) PIDs(id string) []int {
	var pids []int
	inPanes := func(panes []Pane) {
		for _, p := range panes {
			pids = append(pids, p.SessionPIDs...)
			if p.ShellPID != nil {
				pids = append(pids, *p.ShellPID)
			}
		}
	}
	switch kind, _ := KindOf(id); kind.Name {
	case KindProcess:
		if p, ok := s.Processes[id]; ok {
			pids = append(pids, p.PID)
		}
	case KindTab:
		inPanes(s.Tabs[id].Panes)
	case KindSession:
		inPanes(s.Sessions[id].Panes)
	case KindTerminal:
		if t := s.Terminals[id]; t.PID != nil {
			pids = append(pids, *t.PID)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// FillNull makes of a process that a document has as null an unknown one. Who reads a snapshot from JSON calls it.
func (s *Snapshot) FillNull() {
	for id, p := range s.Processes {
		if p == nil {
			s.Processes[id] = new(Process)
		}
	}
}

// Children are the processes below each process, one level.
func (s *Snapshot) Children() map[int][]int {
	out := map[int][]int{}
	for _, p := range s.Processes {
		if p.PPID != nil {
			out[*p.PPID] = append(out[*p.PPID], p.PID)
		}
	}
	return out
}

// Descendants are those processes and all that is below them.
func (s *Snapshot) Descendants(pids ...int) map[int]bool {
	out, children := map[int]bool{}, s.Children()
	var add func(pids []int)
	add = func(pids []int) {
		for _, pid := range pids {
			if !out[pid] {
				out[pid] = true
				add(children[pid])
			}
		}
	}
	add(pids)
	return out
}

// EachPanes gives the panes of every session and of every tab.
func (s *Snapshot) EachPanes(see func(panes []Pane)) {
	for _, x := range s.Sessions {
		see(x.Panes)
	}
	for _, x := range s.Tabs {
		see(x.Panes)
	}
}

// The states of a pull request.
const (
	PullOpen   = "open"
	PullMerged = "merged"
	PullClosed = "closed"
)

// Signs are, in words, what is recorded of a worktree's branch besides its commits: that the remote branch is gone, and what anybody has on
// record of its pull request. entries are the registries' of which the folder is the owner's own. They suggest that the work has landed, or that it
// has not; they are never a proof.
func (g *Git) Signs(entries []PullRequest) []string {
	signs := []string{}
	if g.FollowedGone != nil && *g.FollowedGone {
		signs = append(signs, "the remote branch is gone")
	}
	for _, p := range g.pulls(entries) {
		if s := p.sign(g.Head); !slices.Contains(signs, s) {
			signs = append(signs, s)
		}
	}
	return signs
}

// pulls are the records of the repository and of registries. One that only numbers a pull request adds nothing to one that says more of it.
func (g *Git) pulls(entries []PullRequest) []PullRequest {
	var all []PullRequest
	if g.PullRequests != nil {
		all = append(all, *g.PullRequests...)
	}
	all = append(all, entries...)
	stated := func(p PullRequest) bool { return p.State != "" }
	return slices.DeleteFunc(all, func(p PullRequest) bool {
		return p.State == "" && (p.Number == nil || slices.ContainsFunc(all, func(o PullRequest) bool { return stated(o) && o.Number != nil && *o.Number == *p.Number }))
	})
}

// sign is the record in words. head is the worktree's commit.
func (p PullRequest) sign(head string) string {
	name := "a pull request"
	if p.Number != nil {
		name = fmt.Sprintf("pull request %d", *p.Number)
	}
	switch {
	case p.State == "":
		return "its branch is that of " + name
	case p.Head != "" && head != "" && p.Head != head:
		return fmt.Sprintf("%s records %s as %s, for another commit (%.10s)", p.By, name, p.State, p.Head)
	}
	return fmt.Sprintf("%s records %s as %s", p.By, name, p.State)
}

// MayHaveLanded says whether any of that suggests that the work has landed: the remote branch is gone, or a pull request is on record as merged.
func (g *Git) MayHaveLanded(entries []PullRequest) bool {
	return g.FollowedGone != nil && *g.FollowedGone || slices.ContainsFunc(g.pulls(entries), func(p PullRequest) bool { return p.State == PullMerged })
}

// Keep is an entry that says what is to be kept, why, who says so, and until when. Of one that is a plain glob only Match.Path is known.
type Keep struct {
	Match Match  `json:"match" required:"say what is kept: match: {path: ~/code/acme}"`
	Why   string `json:"why,omitempty" required:"say why it is kept, for who reads it later" redact:"hide"`
	Who   string `json:"who,omitempty" required:"say who asked for it" redact:"hide"`
	// Until is as it is written: a day, a time, or never; "" for an entry that is a plain glob, which has no end.
	Until string `json:"until,omitempty" required:"write a day (2026-12-01), a time (2026-12-01T18:00:00Z), or never"`
	// Rules are the only rules that it keeps against, by their ids; empty for all.
	Rules []string `json:"rules,omitempty"`
	// Line is where the entry begins in its file; 0 is unknown.
	Line int `json:"line,omitempty"`
	// Tree is the tree of policies that it stands in, File the file as messages name it.
	Tree string `json:"-" redact:"blank"`
	File string `json:"-" redact:"blank"`
}

// Match says what an entry keeps: candidates that every text in it matches. Each but Kind is a glob with *, ** and ?; "" is not asked for.
type Match struct {
	ID    string `json:"id,omitempty" redact:"drop"`
	Path  string `json:"path,omitempty" redact:"glob"`
	Label string `json:"label,omitempty" redact:"glob"`
	Owner string `json:"owner,omitempty" redact:"glob"`
	Kind  string `json:"kind,omitempty" jsonschema:"enum=tab,enum=session,enum=terminal,enum=dir,enum=process"`
}

// Never is how an entry without an end is written.
const Never = "never"

// Ends is the first moment at which an entry keeps nothing any more: a day is over at its end, in UTC, so that all machines agree on it. It is nil for
// never, and known is false for what is no time.
func (k Keep) Ends() (end *time.Time, known bool) {
	if k.Until == Never {
		return nil, true
	}
	if day, err := time.Parse(time.DateOnly, k.Until); err == nil {
		return new(day.AddDate(0, 0, 1)), true
	}
	if at, err := time.Parse(time.RFC3339, k.Until); err == nil {
		return new(at.UTC()), true
	}
	return nil, false
}

// Entries are those of a project, with the file that they stand in; nil where they are not known.
func (p *Project) Entries() (out []Keep) {
	if p.Keeps == nil {
		return nil
	}
	for _, k := range *p.Keeps {
		k.Tree, k.File = "repository:"+p.Path, p.File
		out = append(out, k)
	}
	return out
}
