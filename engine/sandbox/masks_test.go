package sandbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/mask"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// masks starts masks with one file.
func masks(t *testing.T, l eval.Limits, text string) (*sandbox.Masks, error) {
	t.Helper()
	m, err := sandbox.StartMasks(t.Context(), mask.Files{"mask.rego": text}, l, sandbox.Self())
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

// TestMasksAreAskedApart asks masks in a process of their own: one after the other, with numbers and texts as they are.
func TestMasksAreAskedApart(t *testing.T) {
	t.Parallel()
	m := must.Get(masks(t, eval.Limits{}, `package system.log

mask contains {"op": "upsert", "path": "/input/n", "value": input.input.n + 1} if input.input.n

mask contains x if x := concat("/", [input.labels.at, input.input.name])
`))(t)
	for event, want := range map[string]string{
		`{"input":{"n":9007199254740992}}`:                    "[map[op:upsert path:/input/n value:9007199254740993]]",
		`{"labels":{"at":"/input"},"input":{"name":"a\nb<"}}`: "[/input/a\nb<]",
		`{}`: "[]",
	} {
		rules, err := m.Rules(t.Context(), plainJSON(t, event))
		if err != nil || fmt.Sprint(rules) != want {
			t.Errorf("%s: %v, %v; want %s", event, rules, err, want)
		}
	}
	if _, err := masks(t, eval.Limits{}, "package system.log\n\nmine := 1\n"); err == nil || !strings.Contains(err.Error(), "no rule data.system.log.mask") {
		t.Errorf("masks without the rule: %v", err)
	}
}

// TestAttackMasksThatTakeTooMuch: they end their process or their evaluation, and say so; a mask that only was too slow is asked again.
func TestAttackMasksThatTakeTooMuch(t *testing.T) {
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	t.Parallel()
	a := attack.New(t, "a mask of the decision log takes memory or time in one step")
	l := eval.Limits{HeapBytes: 80 << 20, Load: wait.Patience}
	for name, want := range map[string]string{"sums without an end": "did not answer within", "shared lists compared": "memory limit|ended", "array.concat of itself": "memory limit|ended"} {
		v := rules.Violent[name]
		l.Timeout = wait.Patience // what takes memory ends by that, on a busy machine too
		if strings.HasPrefix(want, "did not answer") {
			l.Timeout = 200 * time.Millisecond
		}
		body := strings.ReplaceAll(v.Body, "input.id", "input.labels")
		if strings.Contains(body, "s18") {
			body = rules.LongText + "\n\t" + body
		}
		if strings.Contains(body, "in xs") {
			body = rules.Digits + body
		}
		m := must.Get(masks(t, l, "package system.log\n\nmask contains \"/input\" if {\n\tinput.bad\n\t"+body+"\n\tnot "+v.Evidence+" == 0\n}\n"))(t)
		_, err := m.Rules(t.Context(), map[string]any{"bad": true, "labels": "x"})
		if err == nil || !containsAny(err.Error(), want) {
			a.Lost("%s: %v; want %s", name, err, want)
			continue
		}
		_, again := m.Rules(t.Context(), map[string]any{})
		if slow := strings.Contains(fmt.Sprint(err), "did not answer"); slow != (again == nil) || !slow && !strings.Contains(again.Error(), "not asked again") {
			a.Lost("%s: asked again: %v, after %v", name, again, err)
			continue
		}
		a.Held()
	}
}

// plainJSON is a document as the decision log asks about it.
func plainJSON(t *testing.T, text string) (out any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	must.Do(t, d.Decode(&out))
	return out
}

func containsAny(s, words string) bool {
	for w := range strings.SplitSeq(words, "|") {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
