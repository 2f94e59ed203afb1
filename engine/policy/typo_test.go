package policy_test

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// misspelt is one field of one reference with a letter changed.
type misspelt struct {
	file, field string
	at          int
	// stage is what finds it: where something of one stage is wrong, no later one is asked.
	stage string
}

// open are the fields whose keys are names that the schema cannot know: sources, and the variables of an environment.
var open = []string{"evidence_sources", "markers"}

// untyped is how main and lib/levels read the rule of what packages that they cannot name have found. Nothing types that. Misspelt, a
// finding would reap nothing, and an objection whose rule is off would keep: the tests beside them fail.
var untyped = []string{"finding.rule", "objection.rule"}

// TestEveryTypoIsRefused changes a letter of every field and rule that the shipped policies refer to, one at a time.
func TestEveryTypoIsRefused(t *testing.T) {
	t.Parallel()
	attack.WithoutRaces(t)
	all := rules.Texts(t, policies.Files)
	var typos []misspelt
	for file, text := range all {
		typos = append(typos, fields(t, file, text)...)
	}
	if len(typos) < 80 {
		t.Fatalf("only %d fields found in the policies", len(typos))
	}
	if !stage.Second() || attack.Raced { // .ci/run tries all of them without the race detector
		typos = slices.Collect(everyNth(typos, 20))
	}
	load := func(of ...misspelt) error {
		changed := maps.Clone(all)
		for _, typo := range of {
			changed[typo.file] = typo.text(all)
		}
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: with(t, changed)}}})
		return err
	}
	// Several files have one each at a time: it is refused when a refusal of its file has the wrong word. What no refusal has is loaded alone.
	alone := 0
	for len(typos) > 0 {
		var now, later []misspelt
		for _, typo := range typos {
			if len(now) == 0 || len(now) < 20 && typo.stage == now[0].stage && !slices.ContainsFunc(now, func(o misspelt) bool { return o.file == typo.file }) {
				now = append(now, typo)
			} else {
				later = append(later, typo)
			}
		}
		typos = later
		var refused lint.Refusals
		errors.As(load(now...), &refused)
		for _, typo := range now {
			if slices.ContainsFunc(refused, func(r lint.Refusal) bool { return typo.is(r) }) {
				continue
			}
			if alone++; load(typo) == nil {
				t.Errorf("%s: %s at %d may be misspelt unnoticed", typo.file, typo.field, typo.at)
			}
		}
	}
	t.Logf("%d were loaded alone", alone)
}

// wrong is the field with one letter changed.
func (m misspelt) wrong() string {
	field := []byte(m.field)
	letter := &field[len(field)/2]
	*letter = map[bool]byte{true: 'z', false: 'q'}[*letter == 'q']
	return string(field)
}

// text is the file with the field misspelt.
func (m misspelt) text(all map[string]string) string {
	text := all[m.file]
	return text[:m.at] + m.wrong() + text[m.at+len(m.field):]
}

// is reports whether a refusal is of this word.
func (m misspelt) is(r lint.Refusal) bool {
	return r.File == m.file && strings.Contains(r.Problem, m.wrong())
}

func everyNth(all []misspelt, n int) func(func(misspelt) bool) {
	return func(yield func(misspelt) bool) {
		for i := 0; i < len(all); i += n {
			if !yield(all[i]) {
				return
			}
		}
	}
}

func with(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	files = maps.Clone(files)
	data := must.Get(fs.ReadFile(policies.Files, ".manifest"))(t)
	files[".manifest"] = string(data)
	return rules.Tree(files)
}

// fields are the places of all fields in a file, each field of a line once.
func fields(t *testing.T, file, text string) []misspelt {
	t.Helper()
	m := must.Get(ast.ParseModule(file, text))(t)
	seen := map[string]bool{}
	var out []misspelt
	ast.WalkRefs(m, func(r ast.Ref) bool {
		for i, term := range r {
			s, ok := term.Value.(ast.String)
			if i == 0 || !ok || term.Location == nil || len(s) < 2 || r[0].Equal(ast.DefaultRootDocument) {
				continue
			}
			before, isString := r[i-1].Value.(ast.String)
			name := string(s)
			at := term.Location.Offset
			if isString && slices.Contains(open, string(before)) || at+len(name) > len(text) || text[at:at+len(name)] != name {
				continue
			}
			key := strings.Join([]string{r[:i].String(), name}, ".")
			if !seen[key] && !builtin(r) && !slices.Contains(untyped, key) {
				seen[key] = true
				stage := "type"
				if slices.ContainsFunc(m.Imports, func(i *ast.Import) bool { return i.Name().Equal(r[0].Value) }) {
					stage = "rule"
				}
				if strings.HasPrefix(text[at+len(name):], "(") {
					stage = "function"
				}
				out = append(out, misspelt{file, name, at, stage})
			}
		}
		return false
	})
	return out
}

func builtin(r ast.Ref) bool {
	_, ok := ast.BuiltinMap[r.String()]
	return ok
}
