// Package worker joins each worker that a registry records with its tmux session and asks policies/observe what became of it: whether it
// is at work, kept on purpose, may be closed, is closed, or whether the registry and what runs contradict each other.
//
// An observation is for people: it says what to do next and lets nothing go. It is a pure function of the snapshot, the operator's
// parameters and the rules, linear in the snapshot's size.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Config is what observations go by.
type Config struct {
	// Rules is the rules section of config.yaml.
	Rules *subject.Config
	// NoTmux is true where no tmux server is looked for, so that none read says nothing.
	NoTmux bool
}

// Seen is an observation with what those who act on it have to know.
type Seen struct {
	snapshot.Worker
	// Live are the candidates that have the recorded name or id, sorted. Worker.Session is the only one of them.
	Live []string
	// Release is the command by which its registry lets go of what it retains; empty where it retains nothing, or has none that is known.
	Release string
	// Retained is true when the registry itself keeps the session.
	Retained bool
	// Another is true when the session that has the recorded name was made after the worker ended, so that it is another one.
	Another bool
	// Cleanup and Retain are why its session is not closed, and why it is not held. Nil says that it may be; what the rules came to no
	// answer about has a Cleanup.
	Cleanup, Retain *No
}

// No is why something is not done: a word that scripts may branch on, the sentence and the command to run next.
type No struct{ Reason, Message, Next string }

// Observer asks the rules. It may be used by many goroutines at once.
type Observer struct {
	config Config
	// ready compiles the rules when something is asked for the first time.
	ready func() (*ready, error)
}

// ready is what is the same of all questions: the query, and the parameters as they stand in each document.
type ready struct {
	query rego.PreparedEvalQuery
	rules *ast.Term
}

// New makes one that asks the rules in files, which are policies.Observing.
func New(files fs.FS, c Config) *Observer {
	return &Observer{c, sync.OnceValues(func() (*ready, error) {
		compiler, err := policy.Compile(files)
		if err != nil {
			return nil, err
		}
		rules, err := ast.InterfaceToValue(c.Rules)
		if err != nil {
			return nil, err
		}
		var parts []string
		for _, name := range []string{"observed", "cleanup", "retain"} { // a comprehension is defined when what is in it is not
			parts = append(parts, fmt.Sprintf("%s = [v | v := data.policies.observe.worker.%s]", name, name))
		}
		q, err := rego.New(rego.Compiler(compiler), rego.Query(strings.Join(parts, "; "))).PrepareForEval(context.Background())
		return &ready{q, ast.NewTerm(rules)}, err
	})}
}

// Observe gives the observations, sorted by source, id and session; sessions that no registry records come last.
func (o *Observer) Observe(ctx context.Context, s *snapshot.Snapshot) []snapshot.Worker {
	var out []snapshot.Worker
	for _, w := range o.See(ctx, s) {
		out = append(out, w.Worker)
	}
	return out
}

// See is Observe with what those who act on an observation have to know.
func (o *Observer) See(ctx context.Context, s *snapshot.Snapshot) []Seen {
	x := o.index(s)
	var out []Seen
	type key struct{ source, id, session string }
	done := map[key]bool{}
	for i := range s.Registry {
		e := &s.Registry[i]
		k := key{e.Source, e.ID, e.Session}
		if done[k] || e.Session == "" && x.format(e) != kapi {
			continue
		}
		done[k] = true
		if w, ok := x.see(ctx, x.live[e.Session], e); ok {
			out = append(out, w)
		}
	}
	for id, t := range s.Sessions {
		if x.records && len(x.recorded[t.Name])+len(x.recorded[t.ID]) == 0 {
			if w, ok := x.see(ctx, []string{id}, nil); ok {
				out = append(out, w)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Session, b.Session))
	})
	return out
}

func last(w Seen) int {
	if w.ID == "" {
		return 1
	}
	return 0
}

// kapi is the format of Kapi's own registry, each entry of which is a worker, and whose commands are known.
const kapi = "kapi"

// recording are the formats whose entries may record a tmux session.
var recording = []string{"json", "jsonl", kapi}

// looked is a snapshot with the indexes that observations are made from.
type looked struct {
	*snapshot.Snapshot
	*Observer
	// live are the sessions by name and by native id, recorded the entries by what they record.
	live     map[string][]string
	recorded map[string][]*snapshot.Entry
	held     map[string]bool
	// about is what is the same of all workers.
	about subject.Worker
	// records is true when a registry that may record sessions is read at all.
	records bool
}

func (o *Observer) index(s *snapshot.Snapshot) *looked {
	x := &looked{Snapshot: s, Observer: o, live: map[string][]string{}, recorded: map[string][]*snapshot.Entry{}, held: map[string]bool{}}
	x.about = subject.Worker{TmuxRead: !o.config.NoTmux, HoldsRead: s.Sources[snapshot.Ledger].Status == snapshot.OK}
	for id, t := range s.Sessions {
		for _, name := range slices.Compact([]string{t.Name, t.ID}) {
			if name != "" {
				x.live[name] = append(x.live[name], id)
			}
		}
	}
	for name := range x.live {
		slices.Sort(x.live[name])
	}
	for i := range s.Registry {
		if e := &s.Registry[i]; e.Session != "" {
			x.recorded[e.Session] = append(x.recorded[e.Session], e)
		}
	}
	for _, h := range s.Holds {
		if h.Until == nil || h.Until.After(s.TakenAt) {
			x.held[h.ID] = true
		}
	}
	for name, src := range s.Sources {
		switch failed := src.Status != snapshot.OK && src.Status != snapshot.Absent; {
		case src.HasKind(name, "tmux") && failed:
			x.about.UnreadTmux = first(x.about.UnreadTmux, name)
		case src.HasKind(name, "registry"):
			records := slices.Contains(recording, src.Format) || src.Format == ""
			x.records = x.records || records
			if failed && records {
				x.about.UnreadRegistry = first(x.about.UnreadRegistry, name)
			}
		}
	}
	return x
}

func first(a, b string) string {
	if a == "" {
		return b
	}
	return min(a, b)
}

func (x *looked) format(e *snapshot.Entry) string { return x.Sources[e.Source].Format }

// see asks what became of the worker of an entry, or of a session that no entry records; false where the rules say nothing of it.
func (x *looked) see(ctx context.Context, live []string, e *snapshot.Entry) (Seen, bool) {
	w := Seen{Live: live}
	about := x.about
	about.Live = live
	entries := []*snapshot.Entry{}
	if e != nil {
		w.ID, w.Source, w.Status, w.Name, w.Retained = e.ID, e.Source, e.Status, e.Session, e.Retained != nil && *e.Retained
		about.Format, about.RegistryRead = x.format(e), x.Sources[e.Source].Status == snapshot.OK
		entries = append(entries, e)
	}
	sub := &subject.Subject{Kind: snapshot.KindSession, Worker: &about}
	if len(live) == 1 {
		t := x.Sessions[live[0]]
		w.Session, w.Name = live[0], t.Name
		sub.Session, sub.Age, sub.Made = &t, subject.Awake(x.Snapshot, t.CreatedAt), subject.SecondsBefore(x.Snapshot, t.CreatedAt)
		if x.held[w.Session] {
			sub.Hold = &subject.Hold{}
		}
		entries = append(entries, x.otherEntries(e, &t)...)
	}
	for _, r := range entries {
		sub.Entries = append(sub.Entries, subject.Entry{
			Source: r.Source, ID: r.ID, Status: r.Status, Terminal: r.Terminal, Session: r.Session, Retained: r.Retained,
			Ended: subject.SecondsBefore(x.Snapshot, r.EndedAt), By: snapshot.KindSession,
		})
	}
	a, err := x.ask(ctx, sub)
	switch {
	case err != nil:
		a.Observed = []observed{{Observation: snapshot.WorkerUnknown, Why: fmt.Sprintf("the rules came to no answer: %v", err), Then: then{Next: "doctor"}}}
	case len(a.Observed) == 0:
		return w, false
	}
	said := a.Observed[0]
	w.Observation, w.Why, w.Another = said.Observation, said.Why, said.Then.Another
	w.NextCommand = x.command(&w, said.Then, entries)
	if w.Retained && about.Format == kapi {
		w.Release = release(w.ID)
	}
	w.Cleanup, w.Retain = x.no(&w, a.Cleanup, entries), x.no(&w, a.Retain, entries)
	if w.Cleanup == nil && w.Observation != snapshot.WorkerSafeToClose {
		w.Cleanup = &No{Reason: snapshot.WorkerUnknown, Message: w.Why, Next: w.NextCommand}
	}
	return w, true
}

// otherEntries are the other entries that record a session.
func (x *looked) otherEntries(e *snapshot.Entry, t *snapshot.Session) []*snapshot.Entry {
	var out []*snapshot.Entry
	for _, name := range slices.Compact([]string{t.Name, t.ID}) {
		for _, o := range x.recorded[name] {
			if e == nil || o.Source != e.Source || o.ID != e.ID {
				out = append(out, o)
			}
		}
	}
	return out
}

// answer is what the rules say; each list has one or none.
type answer struct {
	Observed        []observed
	Cleanup, Retain []refusal
}

type observed struct {
	Observation, Why string
	Then             then
}

type refusal struct {
	Reason, Message string
	Then            then
}

// then is what follows of an answer: a word for the command to run next, and the place of the entry that retains the session.
type then struct {
	Next    string
	Keeper  int
	Another bool
}

func (o *Observer) ask(ctx context.Context, sub *subject.Subject) (a answer, err error) {
	r, err := o.ready()
	if err != nil {
		return a, err
	}
	document, err := ast.InterfaceToValue(sub)
	if err != nil {
		return a, err
	}
	document.(ast.Object).Insert(ast.StringTerm("config"), r.rules)
	rs, err := r.query.Eval(ctx, rego.EvalParsedInput(document))
	if err != nil || len(rs) != 1 {
		return a, cmp.Or(err, fmt.Errorf("%d answers", len(rs)))
	}
	text, err := json.Marshal(rs[0].Bindings)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

func (x *looked) no(w *Seen, said []refusal, entries []*snapshot.Entry) *No {
	if len(said) == 0 {
		return nil
	}
	no := &No{said[0].Reason, said[0].Message, w.NextCommand}
	if said[0].Then.Next != "" {
		no.Next = x.command(w, said[0].Then, entries)
	}
	return no
}

// command is the command for the word that the rules give for what to do next; winnow doctor where the word is not known.
func (x *looked) command(w *Seen, t then, entries []*snapshot.Entry) string {
	id := quote(w.Session)
	switch t.Next {
	case "attach":
		s := x.Sessions[w.Session]
		return attach(&s)
	case "cleanup":
		return "winnow cleanup " + id + " --safe"
	case "release":
		return "winnow release " + id
	case "history":
		return "winnow history"
	case "sessions":
		return "winnow sweep --all --kind session"
	case "report": // its registry says more of it
		if x.Sources[w.Source].Format == kapi {
			return kapi + " report " + quote(w.ID)
		}
	case "let_go": // by its registry's own command, where that is known
		if e := entries[t.Keeper]; x.format(e) == kapi {
			return release(e.ID)
		}
		if w.Session != "" {
			return "winnow explain " + id
		}
	case "explain":
		return "winnow explain " + id
	}
	return "winnow doctor"
}

func release(id string) string { return kapi + " release " + quote(id) }

// attach is the command by which a person looks at exactly this session, and not at a neighbour with a longer name.
func attach(t *snapshot.Session) string {
	socket := ""
	if t.Server != nil && t.Server.Socket != "" {
		socket = "-S " + quote(t.Server.Socket) + " "
	}
	return "tmux " + socket + "attach -t " + quote("="+t.Name)
}

// quote makes s safe to paste into a shell. A = or ~ at the beginning means something to some of them.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+:,./-_", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
