package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/policy/metadata"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// classes are the candidates that a collector can pick out before it reads all of them in full, by kind.
var classes = map[string][]string{
	snapshot.KindProcess: {"marked", "cwd_deleted", "input_ended", "below_agent"},
	snapshot.KindTab:     {"helper_labels", "editor_tabs"},
}

// kindOf is the kind whose rules lie in a folder below reap, "" for none.
func kindOf(folder string) string {
	k, _ := snapshot.KindOfRules(folder)
	return k.Name
}

// Candidates says which candidates of a kind the loaded rules can be about: those of the classes that their packages declare in
// METADATA (custom: {candidates: [marked]}), sorted, or all of them where a package declares none. A collector has to read these in
// full, and may read less of the others. A kind that no rule is about has neither.
func (p *Policy) Candidates(kind string) (of []string, all bool) {
	for id, r := range p.rules {
		path := strings.Split(id, ".")
		if path[0] != "reap" || kindOf(path[1]) != kind {
			continue
		}
		if len(r.Candidates) == 0 {
			return nil, true
		}
		of = append(of, r.Candidates...)
	}
	slices.Sort(of)
	return slices.Compact(of), false
}

// describe finds where each rule stands and what its METADATA says: its own title, or else its package's.
func (p *Policy) describe(modules []module) map[string]Rule {
	rules := map[string]Rule{}
	for _, m := range modules {
		path := policyPath(m.Package)
		if len(path) == 0 || outputs[path[0]].set == "" {
			continue
		}
		id := strings.Join(path, ".")
		declared, _ := m.candidates()
		needs, _ := m.needs()
		own, _ := m.parameters()
		summaries, _ := m.summaries()
		for _, r := range m.Rules {
			if string(r.Head.Name) != outputs[path[0]].set {
				continue
			}
			if _, first := rules[id]; !first {
				rules[id] = m.rule(id, r)
			}
		}
		if r, ok := rules[id]; ok {
			r.Candidates, r.Needs = append(r.Candidates, declared...), append(r.Needs, needs...)
			r.Custom = append(r.Custom, own...)
			r.Summaries = append(r.Summaries, summaries...)
			rules[id] = r
		}
	}
	return rules
}

// candidates are the classes that the package's METADATA in this file declares, and what is wrong with them.
func (m module) candidates() (of []string, refused lint.Refusals) {
	for _, a := range m.Annotations {
		declared, ok := a.Custom["candidates"]
		if !ok {
			continue
		}
		path := policyPath(m.Package)
		if a.Scope != "package" || len(path) != 3 || path[0] != "reap" {
			refused = append(refused, m.refuse(lint.ClassCandidates, a.Location, "candidates are declared by a package under reap and by nothing else", "move it to the METADATA of such a package, or take it out"))
			continue
		}
		known := classes[kindOf(path[1])]
		list, _ := declared.([]any)
		for _, c := range list {
			name, _ := c.(string)
			if !slices.Contains(known, name) {
				list = nil
				break
			}
			of = append(of, name)
		}
		if len(list) == 0 {
			refused = append(refused, m.refuse(lint.ClassCandidates, a.Location, fmt.Sprintf("candidates: %.100v is no list of classes of %s", declared, path[1]),
				fmt.Sprintf("write candidates: [...] with some of %q, or leave it out: then all of them are read in full", known)))
		}
	}
	return of, refused
}

// needWords are what a rule may need, in the words of winnow doctor.
var needWords = strings.Fields(`age agent_markers codev dirs herdr holders id_markers init markers named_sessions parts recorded_markers recorded_sessions
	rules.disposable_dirs rules.helper_labels rules.worktree_folders starter tmux upstream vscode worktrees`)

// needs are what the package's METADATA in this file says that the rule needs to find anything (custom: {needs: [tmux]}), and what is wrong with that.
func (m module) needs() (of []string, refused lint.Refusals) {
	for _, a := range m.Annotations {
		if given, ok := a.Custom["needs"]; ok && a.Scope == "package" {
			list, isList := given.([]any)
			if !isList {
				list = []any{given}
			}
			for _, n := range list {
				if of = append(of, fmt.Sprint(n)); !slices.Contains(needWords, fmt.Sprint(n)) {
					refused = append(refused, m.refuse(lint.ClassCandidates, a.Location, fmt.Sprintf("needs: %.100v is nothing that a rule can need", n),
						fmt.Sprintf("write needs: [...] with some of %q, or leave it out", needWords)))
				}
			}
		}
	}
	return of, refused
}

func (m module) rule(id string, r *ast.Rule) Rule {
	out := Rule{ID: id, File: m.file.Name, Line: r.Location.Row}
	for _, a := range m.Annotations {
		if a.Scope == "package" {
			out.Title, out.Description = a.Title, a.Description
		}
	}
	for _, a := range r.Annotations {
		out.Title, out.Description = cmp.Or(a.Title, out.Title), cmp.Or(a.Description, out.Description)
	}
	return out
}

// summaries are what the package's METADATA in this file says of how a person is told of its objections, and what is wrong with it.
func (m module) summaries() (all []metadata.Summary, refused lint.Refusals) {
	for _, a := range m.Annotations {
		declared, ok := a.Custom["summary"]
		if !ok {
			continue
		}
		if path := policyPath(m.Package); a.Scope != "package" || len(path) == 0 || path[0] != "protect" {
			refused = append(refused, m.refuse(lint.ClassSummary, a.Location, "summary: it is declared by a package under protect and by nothing else",
				"move it to the METADATA of such a package, or take it out"))
			continue
		}
		read, problems := metadata.Summaries(declared)
		for _, p := range problems {
			refused = append(refused, m.refuse(lint.ClassSummary, a.Location, "summary: "+p, metadata.Like))
		}
		all = append(all, read...)
	}
	return all, refused
}

// The ways in which what the rules gave is no list of reasons.
var (
	ErrShape   = errors.New("the policies gave a malformed reason")
	ErrTooMuch = errors.New("the policies gave a reason that is too large")
)

var messageKey, evidenceKey = ast.Ref{ast.StringTerm("message")}, ast.StringTerm("evidence")

// Given is what a rule of a package gave: the reasons of the rule whose id the package's path is.
type Given struct {
	ID    string
	Value ast.Value
}

// IDOf is the id of the rule that a package's rule at policies/protect/live/objections belongs to.
func IDOf(rule string) string {
	return strings.ReplaceAll(path.Dir(strings.TrimPrefix(rule, root+"/")), "/", ".")
}

// Reasons are the members of sets that rules of one name gave, sorted by rule and message, never nil; an error where they are more than m has
// room for.
func Reasons(sets []Given, name string, m *Measure) ([]decision.Reason, error) {
	out := []decision.Reason{}
	for _, g := range sets {
		set, ok := g.Value.(ast.Set)
		if !ok {
			return nil, fmt.Errorf("%w: no set of %s", ErrShape, name)
		}
		if n := len(out) + set.Len(); n > MaxReasons {
			return nil, fmt.Errorf("%w: %d %s, and %d are the most", ErrTooMuch, n, name, MaxReasons)
		}
		for _, t := range set.Slice() {
			r, err := ReasonOf(g.ID, t.Value, m)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b decision.Reason) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return out, nil
}

// ReasonOf takes a reason out of what the rule of that id gave.
func ReasonOf(rule string, v ast.Value, m *Measure) (decision.Reason, error) {
	o, ok := v.(ast.Object)
	if !ok {
		return decision.Reason{}, fmt.Errorf("%w: %v", ErrShape, ast.ValueName(v))
	}
	said, err := o.Find(messageKey)
	message, ok := said.(ast.String)
	if err != nil || !ok {
		return decision.Reason{}, fmt.Errorf("%w: %s gave a reason without a message: want {message, evidence}", ErrShape, rule)
	}
	if err := m.text(string(message), maxMessage); err != nil {
		return decision.Reason{}, fmt.Errorf("%w (%s)", err, rule)
	}
	r := decision.Reason{Rule: rule, Message: string(message)}
	evidence := o.Get(evidenceKey)
	if evidence == nil {
		return r, nil
	}
	if !m.Fits(evidence.Value) {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s of more than %d bytes in all", ErrTooMuch, rule, MaxSaid)
	}
	plain, err := ast.JSON(evidence.Value)
	if err != nil {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s: %w", ErrShape, rule, err)
	}
	if r.Evidence, ok = plain.(map[string]any); !ok {
		return decision.Reason{}, fmt.Errorf("%w: evidence of %s is not an object", ErrShape, rule)
	}
	if len(r.Evidence) == 0 {
		r.Evidence = nil
	}
	return r, nil
}
