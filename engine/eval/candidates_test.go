package eval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// about is a rule for a kind, with what its METADATA says besides.
func about(plural, name, more string) map[string]string {
	return map[string]string{"reap/" + plural + "/" + name + "/" + name + ".rego": `# METADATA
# title: A rule
# description: It is about some candidates.
` + more + "package policies.reap." + plural + "." + name + `

in_scope if input.label

findings contains {"rule": "reap.` + plural + "." + name + `", "message": "m", "evidence": {}} if in_scope
`}
}

// TestCandidates: a collector reads in full what some rule can be about, and everything once a rule does not say.
func TestCandidates(t *testing.T) {
	t.Parallel()
	const marked, deleted = "# custom:\n#   candidates: [marked]\n", "# custom:\n#   candidates: [cwd_deleted, marked]\n"
	cases := map[string]struct {
		files []map[string]string
		want  []string
		all   bool
	}{
		"no rule":               {},
		"one class":             {files: []map[string]string{about("processes", "a", marked)}, want: []string{"marked"}},
		"the union":             {files: []map[string]string{about("processes", "a", marked), about("processes", "b", deleted)}, want: []string{"cwd_deleted", "marked"}},
		"one does not say":      {files: []map[string]string{about("processes", "a", marked), about("processes", "b", "")}, all: true},
		"another kind does not": {files: []map[string]string{about("processes", "a", marked), about("tabs", "b", "")}, want: []string{"marked"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := map[string]string{}
			for _, f := range c.files {
				for path, text := range f {
					more[path] = text
				}
			}
			o := policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(more), Prefix: "p"}}}
			here := must.Get(policy.Load(t.Context(), o))(t)
			e, there, err := sandbox.Load(t.Context(), o, eval.Limits{}, sandbox.Self())
			must.Do(t, err)
			_ = e.Close()
			for _, p := range []*policy.Policy{here, there} {
				if of, all := p.Candidates("process"); !slices.Equal(of, c.want) || all != c.all {
					t.Errorf("%q, %v, want %q, %v", of, all, c.want, c.all)
				}
			}
		})
	}
}

func TestCandidatesThatNothingPicksOut(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"misspelt":             about("processes", "a", "# custom:\n#   candidates: [market]\n"),
		"of another kind":      about("tabs", "a", "# custom:\n#   candidates: [marked]\n"),
		"of a kind without":    about("dirs", "a", "# custom:\n#   candidates: [marked]\n"),
		"no list":              about("processes", "a", "# custom:\n#   candidates: marked\n"),
		"empty":                about("processes", "a", "# custom:\n#   candidates: []\n"),
		"in a rule that keeps": {"protect/a/a.rego": "# METADATA\n# custom:\n#   candidates: [marked]\npackage policies.protect.a\n\nobjections contains {\"rule\": \"protect.a\", \"message\": \"m\", \"evidence\": {}} if input.hold\n"},
	} {
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "x", FS: rules.Small(files), Prefix: "p"}}})
		if err == nil || !strings.Contains(err.Error(), "candidates") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
