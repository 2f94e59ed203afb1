package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// Guest is a repository's own policies. They can keep what lies or works in that repository, and do nothing else: they are loaded and evaluated in a
// process of their own, are asked only of such candidates, and all that is taken of what they say are the objections of their own packages. So
// whatever is in them, however long they take, no other candidate is decided otherwise, and none is reaped for it.
type Guest struct {
	// Digest is what snapshots call them by: snapshot.Project.Policies.
	Digest string
	// Tree are they; Base are trees that their rules may lean on, of whose own rules nothing is taken.
	Tree policy.Tree
	Base []policy.Tree
	// Mute is true for a tree without rules, which is not loaded and not asked.
	Mute bool
	// Exceptions are those that the tree brings; they keep what lies in that repository (subject.Exception.Within).
	Exceptions []subject.Exception
	// Limits bound each evaluation, and Program is the process.
	Limits  Limits
	Program Program
	// Cache keeps what was prepared of them; nil keeps nothing.
	Cache policy.Cache
}

// RepositoryRule begins the ids of rules of repositories. No package of another tree can have such an id.
const RepositoryRule = "protect.repository."

// guest is a Guest whose process is started when it is asked for the first time.
type guest struct {
	Guest
	mu     sync.Mutex
	engine *Engine
	err    error
	own    map[string]bool // the ids of its own rules
}

// heeds is the rule by which exceptions keep.
const heeds = "protect.excepted"

// Admit lets policies of repositories object. It must not be called while the engine decides; Close ends their processes too. One that brings exceptions is
// not admitted where the engine's policies lack the rule that heeds them: it then counts as not here, and what lies in its repository stays.
func (e *Engine) Admit(guests ...Guest) {
	e.guests, e.excepted = map[string]*guest{}, nil
	_, heeded := e.policy.Rules()[heeds]
	for _, g := range guests {
		if len(g.Exceptions) > 0 && !heeded {
			continue
		}
		if e.guests[g.Digest] == nil { // repositories may have the same
			e.excepted = append(e.excepted, g.Exceptions...)
		}
		e.guests[g.Digest] = &guest{Guest: g}
	}
}

// Exceptions are those of the engine's policies and those of the repositories that were admitted.
func (e *Engine) Exceptions() []subject.Exception {
	return slices.Concat(e.policy.Exceptions(), e.excepted)
}

// CheckGuest loads a repository's policies as Admit's engine would, and gives their rules: by the ids that reports have, with file, line and METADATA.
// An error wraps policy.Refusals where they are refused.
func CheckGuest(ctx context.Context, g Guest) (map[string]policy.Rule, error) {
	one := &guest{Guest: g}
	defer one.close()
	e, err := one.load(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]policy.Rule{}
	for id := range one.own {
		r := e.policy.Rule(id)
		r.ID = called(id)
		out[r.ID] = r
	}
	return out, nil
}

// called is the id of a repository's rule in reports.
func called(id string) string { return RepositoryRule + strings.TrimPrefix(id, "protect.") }

// load starts the guest's process, once. What it is refused for stays so; a loading that was interrupted is tried again.
func (g *guest) load(ctx context.Context) (*Engine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.engine != nil || g.err != nil {
		return g.engine, g.err
	}
	g.Tree.Keeps = true
	e, p, err := Apart(ctx, policy.LoadOptions{Trees: append(slices.Clone(g.Base), claims(), g.Tree), Cache: g.Cache}, g.Limits, g.Program)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.err = err
		return nil, err
	}
	files := map[string]bool{}
	for _, f := range p.Files {
		files[f.Name] = files[f.Name] || f.Tree == g.Tree.Name
	}
	g.own = map[string]bool{}
	for id, r := range p.Rules() {
		g.own[id] = files[r.File]
	}
	maps.DeleteFunc(g.own, func(_ string, own bool) bool { return !own })
	g.engine = e
	return e, nil
}

// claims are rules that claim every candidate of every kind, so that the guest is asked of each, whichever rules found a reason to reap it.
func claims() policy.Tree {
	files := fstest.MapFS{}
	for _, k := range snapshot.Kinds {
		id := "reap." + k.Plural + ".of_repository"
		files[strings.ReplaceAll(id, ".", "/")+"/claim.rego"] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"package policies.%s\n\nin_scope := true\n\nfindings contains {\"rule\": %q, \"message\": \"\", \"evidence\": {}} if in_scope\n", id, id)}
	}
	return policy.Tree{Name: "claims", FS: files}
}

func (g *guest) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.engine != nil {
		_ = g.engine.Close() // it gives no error that could be of use to anybody
		g.engine = nil
	}
}

// hosts are the projects with policies in which a candidate lies, or may lie.
func hosts(sub *subject.Subject) []subject.Project {
	var out []subject.Project
	for _, p := range sub.Projects {
		if p.Policies != "" {
			out = append(out, p)
		}
	}
	return out
}

// hear asks the policies of repositories of every candidate in them that rules found a reason to reap, and adds what they object.
func (e *Engine) hear(ctx context.Context, l *look, answers []answer) error {
	if !slices.ContainsFunc(l.snapshot.Projects, func(p snapshot.Project) bool { return p.Policies != "" }) {
		return nil
	}
	ask := map[string][]int{} // by digest
	paths := map[string]map[int]string{}
	for i := range answers {
		a := &answers[i]
		if a.decision == nil || a.err != nil || len(a.decision.Findings) == 0 {
			continue
		}
		sub, ok := l.joined.Subject(a.id)
		if !ok {
			continue
		}
		for _, p := range hosts(sub) {
			if o := e.absent(p); o != nil {
				a.object(*o)
				continue
			}
			if e.guests[p.Policies].Mute {
				continue
			}
			if paths[p.Policies] == nil {
				paths[p.Policies] = map[int]string{}
			}
			if _, twice := paths[p.Policies][i]; !twice {
				ask[p.Policies] = append(ask[p.Policies], i)
				paths[p.Policies][i] = p.Path
			}
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(ask)) {
		which := ask[digest]
		ids := make([]string, len(which))
		for n, i := range which {
			ids[n] = answers[i].id
		}
		heard := func(n int, said *said, err error) {
			i := which[n]
			answers[i].heard(e.guests[digest], paths[digest][i], said, err)
		}
		if err := e.guests[digest].each(ctx, l, ids, heard); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// each asks the guest of candidates. What comes to no answer is told with its error; the error is only for a ctx that ended.
func (g *guest) each(ctx context.Context, l *look, ids []string, heard func(n int, said *said, err error)) error {
	e, err := g.load(ctx)
	if err != nil {
		for n := range ids {
			heard(n, nil, err)
		}
		return ctx.Err()
	}
	return e.apart.each(ctx, l, ids, func(n int, _ *subject.Subject, said *said, err error) { heard(n, said, err) })
}

// absent is the objection to a candidate of which a repository's policies cannot be asked: it is not known whether it lies there, or the policies
// that the snapshot names are not here. nil where they can be asked.
func (e *Engine) absent(p subject.Project) *decision.Reason {
	evidence := map[string]any{"repository": p.Path, "policies": p.Policies}
	switch {
	case p.Places == nil:
		return &decision.Reason{Rule: decision.RuleUnknown, Evidence: evidence,
			Message: "whether it lies in a repository that has policies of its own is not known: " + p.Path}
	case e.guests[p.Policies] == nil:
		return &decision.Reason{Rule: decision.RuleUnknown, Evidence: evidence,
			Message: "the policies of its repository are not here, so it is not known whether they keep it: " + p.Path}
	}
	return nil
}

// object adds an objection.
func (a *answer) object(o decision.Reason) {
	d := a.decision
	d.Objections = append(slices.Clone(d.Objections), o)
	slices.SortStableFunc(d.Objections, func(x, y decision.Reason) int {
		return strings.Compare(x.Rule+"\x00"+x.Message, y.Rule+"\x00"+y.Message)
	})
	d.Verdict, d.Level = decision.Spare, ""
}

// heard adds what a guest said of a candidate.
func (a *answer) heard(g *guest, path string, s *said, err error) {
	if err != nil {
		o := guestFailed(path, err)
		a.object(o)
		a.err = fmt.Errorf("%s: %w", o.Message, err)
		return
	}
	if s == nil { // claims has every candidate
		a.heard(g, path, nil, errEnded)
		return
	}
	for _, o := range s.objections {
		if g.own[o.Rule] {
			a.object(ofRepository(o, path))
		}
	}
}

// guestFailed is the objection that stands in for a guest's answer.
func guestFailed(path string, err error) decision.Reason {
	return decision.Reason{Rule: decision.PolicyError, Message: "the policies of its repository came to no answer, so it stays: " + path,
		Evidence: map[string]any{"repository": path, "error": err.Error()}}
}

// ofRepository is an objection as reports have it.
func ofRepository(o decision.Reason, path string) decision.Reason {
	return decision.Reason{Rule: called(o.Rule), Message: "its repository keeps it: " + o.Message,
		Evidence: map[string]any{"repository": path, "said": o.Evidence}}
}

// hearExplained adds to an explanation what the policies of repositories say.
func (e *Engine) hearExplained(ctx context.Context, sub *subject.Subject, out *explain.Explanation) error {
	counting := slices.ContainsFunc(out.Findings, func(f explain.Fired) bool { return f.Level != decision.Off })
	if !counting {
		return nil
	}
	object := func(f explain.Fired) {
		out.Objections = append(out.Objections, f)
		out.Verdict, out.Level = decision.Spare, ""
	}
	for _, p := range hosts(sub) {
		if o := e.absent(p); o != nil {
			object(explain.Fired{Reason: *o})
			continue
		}
		g := e.guests[p.Policies]
		if g.Mute {
			continue
		}
		engine, err := g.load(ctx)
		var x explain.Explanation
		if err == nil {
			x, err = engine.why(ctx, sub)
		}
		if err == nil && x.Error != "" {
			err = fmt.Errorf("%s", x.Error)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			object(explain.Fired{Reason: guestFailed(p.Path, err)})
			continue
		}
		for _, f := range x.Objections {
			if g.own[f.Rule] {
				f.Reason = ofRepository(f.Reason, p.Path)
				object(f)
			}
		}
		for _, s := range x.NoObjection {
			if g.own[s.Rule] {
				s.Rule = called(s.Rule)
				out.NoObjection = append(out.NoObjection, s)
			}
		}
	}
	return nil
}

// hearOtherwise corrects what a search of the other rules found by what the policies of repositories say. These are not searched: of a candidate in
// such a repository no way to reap is known, and a way to keep holds whatever they say.
func (e *Engine) hearOtherwise(ctx context.Context, sub *subject.Subject, out *decision.Otherwise) (*decision.Otherwise, error) {
	in := slices.DeleteFunc(hosts(sub), func(p subject.Project) bool {
		g := e.guests[p.Policies]
		return g != nil && g.Mute // its exceptions are facts, which are searched
	})
	if out == nil || len(in) == 0 {
		return out, nil
	}
	if out.Verdict == decision.Spare { // the other rules would reap it
		x := explain.Explanation{Findings: []explain.Fired{{}}, Verdict: decision.Reap}
		if err := e.hearExplained(ctx, sub, &x); err != nil {
			return nil, fmt.Errorf("explain %s: %w", sub.ID, err)
		}
		if x.Verdict == decision.Reap {
			return out, nil
		}
	}
	return &decision.Otherwise{Verdict: decision.Reap, Ways: []decision.Way{}, Decided: out.Decided,
		Limit: "its repository has policies of its own, and what they would want was not searched: " + in[0].Path}, nil
}
