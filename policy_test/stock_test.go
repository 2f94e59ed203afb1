package policy_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestStockOPAAgrees asks OPA itself for data.policies.main.decision of every candidate of every case, and of the herd
// without each of its facts in turn, without anything of the engine's, and wants the engine's decision. The first stage takes one of
// 16: nothing goes there either that OPA's own evaluator does not confirm.
func TestStockOPAAgrees(t *testing.T) {
	t.Parallel()
	b := &both{engine: shipped(t), opa: opa(t)}
	for name, c := range cases(t) {
		if !drawn(name, stage.Trials(32, 1)) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.agree(t, configOf(t, c), worldOf(t, c))
		})
	}
	t.Run("herd", func(t *testing.T) {
		t.Parallel()
		c := Case{World: "herd"}
		world, config := worldOf(t, c), configOf(t, c)
		for _, path := range facts(world, nil) {
			if !drawn(strings.Join(path, "/"), stage.Trials(32, 1)) {
				continue
			}
			b.agree(t, config, without(world, path))
		}
	})
}

// opa is OPA with the shipped policies, as they are written.
func opa(t *testing.T) rego.PreparedEvalQuery {
	t.Helper()
	options := []func(*rego.Rego){rego.Query("data.policies.main.decision")}
	err := fs.WalkDir(policies.Files, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".rego") {
			return err
		}
		text, err := fs.ReadFile(policies.Files, path)
		options = append(options, rego.Module(path, string(text)))
		return err
	})
	must.Do(t, err)
	return must.Get(rego.New(options...).PrepareForEval(t.Context()))(t)
}

// both are the engine and OPA.
type both struct {
	engine *eval.Engine
	opa    rego.PreparedEvalQuery
	// asked has OPA's answers by the document: most candidates of a case are those of its world.
	asked sync.Map
}

func (b *both) agree(t *testing.T, config *subject.Config, world document) {
	t.Helper()
	got := decide(t, b.engine, config, world)
	j := subject.Join(parse(t, world), config)
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			text := must.Get(json.Marshal(sub))(t)
			want, ok := b.asked.Load(string(text))
			if !ok {
				want, _ = b.asked.LoadOrStore(string(text), stock(t, b.opa, sub))
			}
			if diff := cmp.Diff(want.(*Want), got[id]); diff != "" {
				t.Errorf("%s: (-stock +engine):\n%s", id, diff)
			}
		}
	}
}

// stock is what OPA says of a subject; nil for one out of scope, which must be spared.
func stock(t *testing.T, q rego.PreparedEvalQuery, sub *subject.Subject) *Want {
	t.Helper()
	rs, err := q.Eval(t.Context(), rego.EvalInput(plain(t, sub)))
	if err != nil || len(rs) != 1 {
		t.Fatalf("%s: %d answers: %v", sub.ID, len(rs), err)
	}
	data := must.Get(json.Marshal(rs[0].Expressions[0].Value))(t)
	var said struct {
		Verdict    string            `json:"verdict"`
		Level      string            `json:"level"`
		Findings   []decision.Reason `json:"findings"`
		Objections []decision.Reason `json:"objections"`
		InScope    bool              `json:"in_scope"`
	}
	must.Do(t, json.Unmarshal(data, &said))
	if !said.InScope {
		if said.Verdict != decision.Spare {
			t.Errorf("%s: %s although it is out of scope", sub.ID, said.Verdict)
		}
		return nil
	}
	return &Want{Verdict: said.Verdict, Level: said.Level, Findings: rules(said.Findings), Objections: rules(said.Objections)}
}
