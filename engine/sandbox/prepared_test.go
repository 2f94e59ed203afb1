package sandbox_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// cache keeps what it is given.
type cache struct {
	data   map[string][]byte
	stored int
}

func (c *cache) Load(digest string) []byte { return c.data[digest] }

func (c *cache) Store(digest string, data []byte) {
	c.data[digest] = data
	c.stored++
}

// TestACachedPlanDecidesTheSame: policies of one's own are compiled once, and then only where something may go; what is damaged or of other files is passed over.
func TestACachedPlanDecidesTheSame(t *testing.T) {
	t.Parallel()
	trees := []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(rules.Finding(`input.dir.name == "x-review-0000000a"`)), Prefix: "my"}}
	kept := &cache{data: map[string][]byte{}}
	decide := func(c policy.Cache, trees []policy.Tree) (eval.Result, bool) {
		t.Helper()
		e, p, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: trees, Cache: c}, eval.Limits{Timeout: time.Minute}, sandbox.Self())
		must.Do(t, err)
		defer e.Close()
		unbuilt := sandbox.Unbuilt(e)
		r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		if sandbox.Unbuilt(e) {
			t.Error("something goes that the rules themselves did not say")
		}
		if len(p.Rules()) == 0 {
			t.Error("no rules")
		}
		j := subject.Join(worlds.Three(), worlds.Config())
		sub, _ := j.Subject("dir:/w/x-review-0000000a")
		if x, err := e.Explain(t.Context(), sub); err != nil || x.Verdict != decision.Reap {
			t.Errorf("explained: %+v, %v", x, err)
		}
		return r, unbuilt
	}
	want, unbuilt := decide(kept, trees)
	if unbuilt || kept.stored != 1 {
		t.Fatalf("the first time: not built %v, kept %d", unbuilt, kept.stored)
	}
	have, unbuilt := decide(kept, trees)
	if !unbuilt || kept.stored != 1 {
		t.Errorf("the second time: not built %v, kept %d", unbuilt, kept.stored)
	}
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	reaped := 0
	for _, d := range have.Decisions {
		if d.Verdict == decision.Reap {
			reaped++
		}
	}
	if reaped == 0 {
		t.Error("nothing goes, so nothing had to be said by the rules themselves")
	}
	for digest, data := range kept.data {
		kept.data[digest] = data[:len(data)/3]
	}
	if _, unbuilt := decide(kept, trees); unbuilt {
		t.Error("what is damaged was used")
	}
	for digest, data := range kept.data {
		kept.data[digest] = data[:len(data)-1]
	}
	if have, _ := decide(kept, trees); !gocmp.Equal(want, have) {
		t.Error("a damaged plan decided")
	}
	other := &cache{data: map[string][]byte{}}
	decide(other, append(trees[:1:1], policy.Tree{Name: "mine", FS: rules.Tree(rules.Finding(`input.dir.name != "y"`)), Prefix: "my"}))
	for _, data := range other.data {
		for digest := range kept.data {
			kept.data[digest] = data
		}
	}
	if have, unbuilt := decide(kept, trees); unbuilt || !gocmp.Equal(want, have) {
		t.Error("what was prepared of other files was used")
	}
}

// TestAGuessNeedsNoCompiledRules: what is only asked to learn what is worth a question is not asked of the rules themselves, here or in a process apart; what is decided
// after it is.
func TestAGuessNeedsNoCompiledRules(t *testing.T) {
	t.Parallel()
	trees := []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(rules.Objection(`input.dir.name != "x-review-0000000a"`)), Prefix: "my"}}
	kept := &cache{data: map[string][]byte{}}
	for _, again := range []bool{false, true} {
		e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: trees, Cache: kept}, eval.Limits{Timeout: time.Minute}, sandbox.Self())
		must.Do(t, err)
		defer e.Close()
		settled, err := e.Prejudge(t.Context(), worlds.Three(), worlds.Config(), func(string) bool { return true })
		must.Do(t, err)
		for id, f := range settled {
			if want := id != "dir:/w/x-review-0000000a"; (f.Why != "") != want {
				t.Errorf("%s stays because %q, want that it is settled %v", id, f.Why, want)
			}
		}
		if len(settled) != len(worlds.Three().Dirs) {
			t.Errorf("settled: %v", settled)
		}
		if sandbox.Unbuilt(e) != again {
			t.Errorf("not built: %v, want %v", sandbox.Unbuilt(e), again)
		}
		r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
		if err != nil || len(r.Errors) > 0 || sandbox.Unbuilt(e) {
			t.Error("something goes that the rules themselves did not say", err, r.Errors)
		}
	}
}
