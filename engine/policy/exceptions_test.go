package policy_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const one = `exceptions:
  - match: {label: x}
    why: y
    who: z
    until: never
`

// TestMistakesInExceptionsAreRefusals wants each with its place and where the form is described, and nothing of such a file used.
func TestMistakesInExceptionsAreRefusals(t *testing.T) {
	t.Parallel()
	all, err := policy.ReadExceptions("team", "team/x.yaml", []byte(strings.Replace(one, "never", "soon", 1)))
	if err == nil || len(all) != 0 || !strings.Contains(err.Error(), `team/x.yaml:5: exceptions[0].until: "soon" is no time`) || !strings.Contains(err.Error(), "keep-things.md") {
		t.Errorf("%v, %v", all, err)
	}
}

// TestExceptionsAreNeverPassedOver has files that may be meant for exceptions and are not read.
func TestExceptionsAreNeverPassedOver(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"exceptions.yml", "exceptions.json", "Exceptions.yaml", "exception.yaml", "sub/exceptions.yaml", "reap/dirs/x/exceptions.yaml", "exceptions.yaml/x.rego"} {
		tree := policy.Tree{Name: "mine", Prefix: "mine", FS: fstest.MapFS{name: {Data: []byte(one)}, "protect/x/x.rego": {Data: []byte("package policies.protect.x\n")}}}
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}})
		if err == nil || !strings.Contains(err.Error(), "exceptions") {
			t.Errorf("%s: %v", name, err)
		}
	}
	hidden := policy.Tree{Name: "mine", Prefix: "mine", FS: fstest.MapFS{".x/exceptions.yaml": {Data: []byte(one)}, "exceptions.yaml": {Data: []byte(one)}}}
	s, err := policy.Read(t.Context(), policy.LoadOptions{Trees: []policy.Tree{hidden}})
	must.Do(t, err)
	must.Do(t, s.Err())
	must.Equal(t, 1, len(s.Exceptions()), "those at the top")
}

// TestExceptionsOfTwoTreesAreBothRead wants each under the name that its file has.
func TestExceptionsOfTwoTreesAreBothRead(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{policy.ExceptionsName: {Data: []byte(one)}}
	s, err := policy.Read(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "a", FS: files}, {Name: "b", FS: files}}})
	must.Do(t, err)
	must.Do(t, s.Err())
	all := s.Exceptions()
	must.Equal(t, 2, len(all), "exceptions")
	must.Equal(t, "exceptions.yaml b:exceptions.yaml", all[0].File+" "+all[1].File, "files")
	must.Equal(t, "a b", all[0].Tree+" "+all[1].Tree, "trees")
}
