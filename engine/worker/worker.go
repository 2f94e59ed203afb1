// Package worker says of each worker that a registry records what has become of its tmux session: whether it is at work, kept on
// purpose, may be closed, is closed, or whether the registry and what runs contradict each other.
//
// An observation is for people: it says what to do next and decides nothing. What goes is for the policies to say. It is a pure
// function of the snapshot and the operator's parameters, linear in the snapshot's size.
package worker

import (
	"cmp"
	"slices"
	"strings"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// Config is what observations go by.
type Config struct {
	// Rules is the rules section of config.yaml.
	Rules *subject.Config
	// NoTmux is true where no tmux server is looked for, so that none read says nothing.
	NoTmux bool
}

// Seen is an observation with what it rests on.
type Seen struct {
	snapshot.Worker
	// Format is that of the registry, such as kapi.
	Format string
	// Over is true when the registry says positively that the worker has ended.
	Over bool
	// Live are the candidates that have the recorded name or id, sorted. Worker.Session is the only one of them.
	Live []string
	// Retained is true when the registry itself keeps the session, Held when a hold that has not lapsed does.
	Retained, Held bool
	// Another is true when the session that has the recorded name was made after the worker ended, so that it is another one.
	Another bool
	// Unread is true when the observation is unknown because a source could not be read.
	Unread bool
}

// Observe gives the observations, sorted by source, id and session; sessions that no registry records come last.
func Observe(s *snapshot.Snapshot, c Config) []snapshot.Worker {
	var out []snapshot.Worker
	for _, w := range See(s, c) {
		out = append(out, w.Worker)
	}
	return out
}

// See is Observe with what each observation rests on.
func See(s *snapshot.Snapshot, c Config) []Seen {
	x := index(s, c)
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
		out = append(out, x.worker(e))
	}
	out = append(out, x.unregistered()...)
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
	config Config
	// live are the sessions by name and by native id, recorded the entries by what they record.
	live     map[string][]string
	recorded map[string][]*snapshot.Entry
	held     map[string]bool
	// blindTmux and blindRegistry are the sources that could not be read, each the first by name.
	blindTmux, blindRegistry string
	// records is true when a registry that may record sessions is read at all.
	records bool
}

func index(s *snapshot.Snapshot, c Config) *looked {
	x := &looked{Snapshot: s, config: c, live: map[string][]string{}, recorded: map[string][]*snapshot.Entry{}, held: map[string]bool{}}
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
		case of(name, src, "tmux") && failed:
			x.blindTmux = first(x.blindTmux, name)
		case of(name, src, "registry"):
			records := slices.Contains(recording, src.Format) || src.Format == ""
			x.records = x.records || records
			if failed && records {
				x.blindRegistry = first(x.blindRegistry, name)
			}
		}
	}
	return x
}

// of reports whether a source is of a kind, by its word or by its name, which is kind/name.
func of(name string, src snapshot.Source, kind string) bool {
	return src.Kind == kind || strings.HasPrefix(name, kind+"/")
}

func first(a, b string) string {
	if a == "" {
		return b
	}
	return min(a, b)
}

func (x *looked) format(e *snapshot.Entry) string { return x.Sources[e.Source].Format }

// worker observes what an entry records.
func (x *looked) worker(e *snapshot.Entry) Seen {
	w := Seen{Format: x.format(e), Over: x.over(e), Live: x.live[e.Session], Retained: retained(e)}
	w.ID, w.Source, w.Status, w.Name = e.ID, e.Source, e.Status, e.Session
	if len(w.Live) == 1 {
		w.Session = w.Live[0]
		w.Name, w.Held = x.Sessions[w.Session].Name, x.held[w.Session]
	}
	switch {
	case x.blind(&w):
	case !x.said(e):
		w.unknown("its registry does not say whether it has ended", x.registrys(&w))
	case e.Session == "":
		w.unknown("its registry records no session of it, so whether one lives is not known", x.registrys(&w))
	case len(w.Live) > 1:
		w.unknown("several sessions are called "+e.Session+", and which of them is its own is not known: "+strings.Join(w.Live, ", "),
			"winnow sweep --all --kind session")
	case w.Session == "" && w.Over:
		x.closed(&w, e)
	case w.Session == "":
		w.is(snapshot.WorkerStale, "its registry says "+status(e)+", and no session "+e.Session+" lives", x.registrys(&w))
	case w.Over:
		x.ended(&w, e)
	default:
		x.working(&w, e)
	}
	return w
}

// blind makes w unknown where its registry, or whether its session lives, could not be read.
func (x *looked) blind(w *Seen) bool {
	switch status := x.Sources[w.Source].Status; {
	case status != snapshot.OK:
		w.unread(w.Source + " could not be read whole, so what it says of it may not be all")
	case x.blindTmux != "":
		w.unread(x.blindTmux + " could not be read, so where its session lives is not known")
	case x.config.NoTmux:
		w.unread("tmux is not read (collect.tmux.sockets is empty), so whether its session lives is not known")
	}
	return w.Unread
}

func (x *looked) closed(w *Seen, e *snapshot.Entry) {
	if w.Retained {
		w.is(snapshot.WorkerClosed, "it has ended and its session is closed, though its registry still marks it as retained", x.release(w, e))
		return
	}
	w.is(snapshot.WorkerClosed, "it has ended and its session is closed", "winnow history")
}

// ended observes a worker that has ended and whose session, or one of that name, lives.
func (x *looked) ended(w *Seen, e *snapshot.Entry) {
	t := x.Sessions[w.Session]
	others := x.others(e, &t)
	working := slices.IndexFunc(others, func(o *snapshot.Entry) bool { return !x.over(o) })
	keeper := retainer(append([]*snapshot.Entry{e}, others...))
	explain := "winnow explain " + quote(w.Session)
	switch {
	case e.EndedAt != nil && t.CreatedAt == nil:
		w.unknown("when its session was made could not be read, so whether it is another one of that name is not known", explain)
	case e.EndedAt != nil && t.CreatedAt.After(*e.EndedAt):
		w.Another = true
		w.is(snapshot.WorkerStale, "it has ended, and the session of that name was made later, so that is another session", explain)
	case working >= 0:
		w.is(snapshot.WorkerStale, "it has ended, and "+others[working].ID+" in "+others[working].Source+", which has not ended, records the same session", explain)
	case keeper != nil:
		why := "it has ended, and a registry marks its session as retained"
		if w.Held {
			why = "it has ended, and its session is held and marked as retained by a registry"
		}
		w.is(snapshot.WorkerRetained, why, x.release(w, keeper))
	case w.Held:
		w.is(snapshot.WorkerRetained, "it has ended, and its session is held", "winnow release "+quote(w.Session))
	case x.blindRegistry != "":
		w.unread(x.blindRegistry + " could not be read, so whether another worker owns its session is not known")
	case x.Sources[snapshot.Ledger].Status != snapshot.OK:
		w.unread("which holds there are could not be read, so whether its session is kept is not known")
	case t.Attached == nil || *t.Attached > 0:
		w.is(snapshot.WorkerSafeToClose, "it has ended and nothing keeps its session, but a client is attached to it, or may be", explain)
	default:
		w.is(snapshot.WorkerSafeToClose, "it has ended, its session lives, and nothing keeps it", "winnow cleanup "+quote(w.Session)+" --safe")
	}
}

// working observes a worker that has not ended and whose session lives.
func (x *looked) working(w *Seen, e *snapshot.Entry) {
	t := x.Sessions[w.Session]
	switch {
	case e.EndedAt != nil:
		w.is(snapshot.WorkerStale, "its registry says "+status(e)+" and that it ended", "winnow explain "+quote(w.Session))
	case x.grown(&t) && x.quiet(&t):
		w.is(snapshot.WorkerStale, "its registry says "+status(e)+", and nothing runs in its session but idle shells", "winnow explain "+quote(w.Session))
	default:
		w.is(snapshot.WorkerActive, "it has not ended and its session lives", attach(&t))
	}
}

// unregistered are the sessions in scope by name that no entry records. Without a registry that could, none is.
func (x *looked) unregistered() []Seen {
	var out []Seen
	for id, t := range x.Sessions {
		if !x.records || !x.named(t.Name) || len(x.recorded[t.Name])+len(x.recorded[t.ID]) > 0 {
			continue
		}
		w := Seen{Live: []string{id}, Held: x.held[id]}
		w.Session, w.Name = id, t.Name
		if x.blindRegistry != "" {
			w.unread(x.blindRegistry + " could not be read, so whether it records this session is not known")
		} else {
			w.is(snapshot.WorkerUnregistered, "no registry records this session", "winnow explain "+quote(id))
		}
		out = append(out, w)
	}
	return out
}

// others are the other entries that record a session.
func (x *looked) others(e *snapshot.Entry, t *snapshot.Session) []*snapshot.Entry {
	var out []*snapshot.Entry
	for _, name := range slices.Compact([]string{t.Name, t.ID}) {
		for _, o := range x.recorded[name] {
			if o.Source != e.Source || o.ID != e.ID {
				out = append(out, o)
			}
		}
	}
	return out
}

// over goes by the same words as the policies do.
func (x *looked) over(e *snapshot.Entry) bool {
	if e.Terminal != nil {
		return *e.Terminal
	}
	return slices.Contains(x.config.Rules.TerminalStatuses, e.Status)
}

// said reports whether the registry says anything of the worker's state. Kapi's says it by its status alone.
func (x *looked) said(e *snapshot.Entry) bool {
	return e.Status != "" || e.Terminal != nil && x.format(e) != kapi
}

func (x *looked) named(name string) bool {
	n := x.config.Rules.SessionNames
	return slices.ContainsFunc(n.Exact, func(s string) bool { return s != "" && s == name }) ||
		slices.ContainsFunc(n.Prefix, func(s string) bool { return s != "" && strings.HasPrefix(name, s) })
}

// grown is true for a session that is not so young that what is to run in it may not have begun.
func (x *looked) grown(t *snapshot.Session) bool {
	age := subject.Awake(x.Snapshot, t.CreatedAt)
	return age != nil && *age >= x.config.Rules.Grace.Session
}

// quiet is true when every pane is positively back at its own shell, or dead.
func (x *looked) quiet(t *snapshot.Session) bool {
	return len(t.Panes) > 0 && !slices.ContainsFunc(t.Panes, func(p snapshot.Pane) bool { return !x.idle(&p) })
}

func (x *looked) idle(p *snapshot.Pane) bool {
	if p.Dead == nil || len(p.Descendants) > 0 {
		return false
	}
	if *p.Dead {
		return len(p.SessionPIDs)+len(p.Session) == 0
	}
	if p.ShellPID == nil || p.ForegroundPGID == nil || *p.ForegroundPGID != *p.ShellPID || len(p.Foreground) != 1 || len(p.Session) != len(p.SessionPIDs) {
		return false
	}
	shell := p.Foreground[0]
	beside := slices.DeleteFunc(slices.Clone(p.Session), func(m snapshot.PaneProc) bool {
		return m.PID == *p.ShellPID && m.Interactive != nil && *m.Interactive
	})
	return shell.PID == *p.ShellPID && slices.Contains(x.config.Rules.Shells, shell.Name) && len(beside) == len(p.Session)-1 &&
		!slices.ContainsFunc(beside, func(m snapshot.PaneProc) bool { return !slices.Contains(x.config.Rules.PromptDaemons, m.Name) })
}

func retained(e *snapshot.Entry) bool { return e.Retained != nil && *e.Retained }

// retainer is the first of the entries that marks its session as retained, nil for none.
func retainer(entries []*snapshot.Entry) *snapshot.Entry {
	if i := slices.IndexFunc(entries, retained); i >= 0 {
		return entries[i]
	}
	return nil
}
