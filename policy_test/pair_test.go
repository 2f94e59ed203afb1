package policy_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	ruleset "github.com/winnow-reaper/winnow/testkit/rules"
)

// TestAPairDecidesCasesAsEachAlone: a version with another reason to reap, and one without a reason to keep, which share most of what they
// evaluate, decide the worlds of every fifth case as each does alone.
func TestAPairDecidesCasesAsEachAlone(t *testing.T) {
	t.Parallel()
	files := ruleset.Texts(t, policies.Files)
	version := func(name, from, to string) *eval.Engine {
		t.Helper()
		changed := maps.Clone(files)
		if changed[name] = strings.Replace(changed[name], from, to, 1); changed[name] == files[name] {
			t.Fatalf("%s: nothing to replace", name)
		}
		tree := fstest.MapFS{}
		for name, text := range changed {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "version", FS: tree}}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := eval.New(p, eval.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	engines := [2]*eval.Engine{
		version("reap/processes/orphan/orphan.rego", "\tprovenance.scope\n", ""),
		version("protect/young/young.rego", "objections contains", "objections contains {\"rule\": \"protect.young\", \"message\": \"always\", \"evidence\": {}}\n\nobjections contains"),
	}
	const fifth = 5
	pairs := map[string]*eval.Pair{} // by configuration
	all := cases(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%fifth != 0 {
			continue
		}
		c := all[name]
		config := configOf(t, c)
		key, err := json.Marshal([]any{config, config.Exceptions})
		if err != nil {
			t.Fatal(err)
		}
		if pairs[string(key)] == nil {
			pairs[string(key)] = eval.NewPair(t.Context(), engines, [2]*subject.Config{config, config})
		}
		p := pairs[string(key)]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse(t, worldOf(t, c))
			got, err := p.Decide(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range engines {
				want, err := e.Decide(t.Context(), s, config)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got[i], cmpopts.EquateEmpty(), cmpopts.EquateErrors()); diff != "" {
					t.Errorf("engine %d (-alone +paired):\n%s", i, diff)
				}
			}
		})
	}
}
