package sandbox_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/tester"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestAttackTests: tests that somebody else wrote try to run for ever, to take all memory and to reach out. Each is ended or refused, and the honest test
// beside it keeps its result.
func TestAttackTests(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	secret := t.TempDir() + "/secret.json"
	must.Do(t, os.WriteFile(secret, []byte(`{"type": "string"}`), 0o600))
	t.Setenv("WINNOW_TEST_SECRET", "x")
	a := attack.New(t, "a test of a policy runs for ever, takes all memory, or reaches the network, the environment or a file")
	for name, c := range map[string]struct {
		body string
		// refused is a part of why the tests do not load; "" for those that load, and come to no result.
		refused string
	}{
		"a loop":            {"count([1 | some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); some c in numbers.range(1, 3000); a + b + c < 0]) == 1", ""},
		"a shift":           {"bits.lsh(1, 40000000000) == 1", ""},
		"squares":           {"x := 7\n\ta := x * x\n\tcount([1 | some i in numbers.range(1, 26); bits.lsh(a, 400000000 * i) == 0]) == 9", ""},
		"a graph":           {"xs := {sprintf(\"%d\", [i]): [sprintf(\"%d\", [j]) | some j in numbers.range(1, 15)] | some i in numbers.range(1, 15)}\n\tcount(graph.reachable_paths(xs, {\"1\"})) == 1", ""},
		"a doubled text":    {"a := concat(\"\", [\"0123456789abcdef0123456789abcdef\" | some _ in numbers.range(1, 1000000)])\n\tb := concat(\"\", [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a])\n\tc := concat(\"\", [b, b, b, b])\n\tcount(c) == 1", ""},
		"the network":       {`http.send({"method": "get", "url": "http://127.0.0.1:1"}).status_code == 200`, "http.send is not allowed in tests"},
		"a name's address":  {`count(net.lookup_ip_addr("localhost")) > 0`, "net.lookup_ip_addr is not allowed in tests"},
		"the environment":   {"opa.runtime().env.WINNOW_TEST_SECRET == \"x\"", "opa.runtime is not allowed in tests"},
		"a file's schema":   {`json.match_schema("x", {"$ref": "file://` + secret + `"})[0]`, "json.match_schema is not allowed in tests"},
		"a mock of the net": {"http.send({}) == 1 with http.send as 1", "with keyword target must reference existing"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "package h_test\n\ntest_bad if {\n\t" + c.body + "\n}\n\ntest_good if true\n"
			s, err := policy.Read(t.Context(), policy.LoadOptions{Tests: true, Trees: []policy.Tree{{Name: "h", FS: rules.Tree(map[string]string{"h_test.rego": text}), Prefix: "h"}}})
			must.Do(t, err)
			begin := time.Now()
			results, _, err := sandbox.Test(t.Context(), s, eval.Limits{HeapBytes: 32 << 20, Load: time.Second}, sandbox.Self(), tester.Options{Timeout: time.Second / 2, Workers: 1})
			took := time.Since(begin)
			wrong := ""
			switch {
			case took > 3*time.Minute:
				wrong = "it took " + took.String()
			case c.refused != "":
				if err == nil || !errors.As(err, new(lint.Refusals)) || !strings.Contains(err.Error(), c.refused) || len(results) > 0 {
					wrong = "not refused"
				}
			case err != nil || len(results) != 2 || results[0].Outcome != tester.Error || results[1].Outcome != tester.Pass:
				wrong = "the outcomes are others"
			}
			if wrong != "" {
				t.Logf("%v %+v", err, results)
				wrong = name + ": " + wrong
			}
			a.Check(wrong)
		})
	}
}
