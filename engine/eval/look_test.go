package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/testkit/rules"
)

// TestALookIsDecidedAlike: engines that decide one look after the other, here and apart, decide as each does of the snapshot itself.
func TestALookIsDecidedAlike(t *testing.T) {
	t.Parallel()
	s := newMaker(3, 0).world(300)
	here := ready(t, shipped(t), eval.Limits{})
	small := ready(t, load(t, policy.Tree{Name: "small", FS: rules.Small(nil), Prefix: "p"}), eval.Limits{})
	l := eval.NewLook(s, defaults())
	for range 2 {
		for name, e := range map[string]*eval.Engine{"shipped": here, "small": small, "apart": apart(t, eval.Limits{}, embedded)} {
			want, err := e.Decide(t.Context(), s, defaults())
			if err != nil || len(want.Errors) > 0 {
				t.Fatal(err, want.Errors)
			}
			got, err := e.DecideLook(t.Context(), l)
			if err != nil || len(got.Errors) > 0 {
				t.Fatal(err, got.Errors)
			}
			if diff := cmp.Diff(want.Decisions, got.Decisions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-snapshot +look):\n%s", name, diff)
			}
			if len(want.Decisions) == 0 {
				t.Errorf("%s decided nothing", name)
			}
		}
	}
}
