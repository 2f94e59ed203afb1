package plan_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestEncodedPlansSayTheSame: a plan that was written and read gives what it gave before.
func TestEncodedPlansSayTheSame(t *testing.T) {
	t.Parallel()
	in := input(t)
	for name, body := range programs {
		ref := ast.MustParseRef("data.t.x")
		planned, err := plan.Build(t.Context(), ast.MustCompileModules(map[string]string{"t.rego": "package t\n\n" + body + "\n"}), []ast.Ref{ref})
		must.Do(t, err)
		data, err := plan.Encode(planned)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := must.Get(plan.New(planned))(t)
		again, err := plan.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, wrong := ask(p, ref, in)
		have, err := ask(again, ref, in)
		if (wrong == nil) != (err == nil) || (want == nil) != (have == nil) || want != nil && want.Value.Compare(have.Value) != 0 {
			t.Errorf("%s: %v, %v; after reading: %v, %v", name, want, wrong, have, err)
		}
	}
}

func ask(p *plan.Program, ref ast.Ref, in ast.Value) (*ast.Term, error) {
	rule := p.Rule(ref)
	p.Prepare(rule)
	m := p.Machine()
	m.Document(in)
	return m.Ask(topdown.NewCancel(), rule)
}

// FuzzDecode: bytes that are no plan are an error or some program, and nothing worse.
func FuzzDecode(f *testing.F) {
	ref := ast.MustParseRef("data.t.x")
	for _, body := range programs {
		planned, err := plan.Build(f.Context(), ast.MustCompileModules(map[string]string{"t.rego": "package t\n\n" + body + "\n"}), []ast.Ref{ref})
		if err != nil {
			f.Fatal(err)
		}
		data, err := plan.Encode(planned)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = plan.Decode(data)
	})
}
