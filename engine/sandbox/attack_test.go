package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// shared is a list of two that are the same list of two, and so on: some hundred bytes of memory, and 2^n members when it is walked.
func shared(name string, n int) string {
	lines := []string{name + `0 := [input.id]`}
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("%s%d := [%s%d | some _ in [1, 2]]", name, i, name, i-1))
	}
	return strings.Join(lines, "\n\t")
}

const digits = "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\t"

// longText is a text of a few megabytes in a variable, made in a moment.
var longText = strings.TrimSuffix(strings.Join(strings.Split(rules.Doubled(`concat("", [s%d, s%d])`), "\n\t")[:19], "\n\t"), "\n\t")

// violent are rules that take memory or time in one step, where no watchdog looks, or in what is done with their answer. %s of the
// evidence is what the rule gives.
var violent = map[string]struct{ body, evidence string }{
	"sprintf wide":                  {`x := sprintf("` + strings.Repeat("%999999d", 2000) + `", [` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `])`, `count(x)`},
	"sprintf of a huge number":      {`x := sprintf("%d %x %.999999f", [1` + strings.Repeat("0", 250) + `, 7, 1e300])`, "count(x)"},
	"sprintf many times":            {`x := sprintf("` + strings.Repeat("%[1]s", 2000) + `", [s18])`, "count(x)"},
	"concat of one text":            {"x := concat(s18, split(s18, \"\"))", "count(x)"},
	"replace each by all":           {"x := replace(s18, \"0\", s18)", "count(x)"},
	"split into characters":         {"x := split(s18, \"\")", "count(x)"},
	"split and split":               {"x := [split(s18, \"\") | some _ in xs; some _ in xs]", "count(x)"},
	"template of one text":          {"x := $\"" + strings.Repeat("{s18}", 500) + "\"", "count(x)"},
	"upper of long texts":           {"x := [upper(s18) | some _ in xs; some _ in xs; some _ in xs]", "count(x)"},
	"array.concat of itself":        {"y0 := split(s18, \"\")\n\ty1 := array.concat(y0, y0)\n\ty2 := array.concat(y1, y1)\n\ty3 := array.concat(y2, y2)\n\ty4 := array.concat(y3, y3)\n\ty5 := array.concat(y4, y4)\n\tx := array.concat(y5, y5)", "count(x)"},
	"union of sets":                 {"x := union({{[a, b, c, d, e] | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs}})", "count(x)"},
	"a set of pairs and another":    {"p := {[a, b, c, d] | some a in xs; some b in xs; some c in xs; some d in xs}\n\tx := p & {[d, c, b, a] | some a in xs; some b in xs; some c in xs; some d in xs}", "count(x)"},
	"sort":                          {"x := sort(split(s18, \"\"))", "count(x)"},
	"shared lists compared":         {shared("a", 60) + "\n\t" + shared("b", 60) + "\n\ta60 == b60\n\tx := 1", "x"},
	"shared lists as evidence":      {shared("a", 60) + "\n\tx := a60", "x"},
	"shared lists sorted":           {shared("a", 60) + "\n\t" + shared("b", 60) + "\n\tx := sort([a60, b60])", "count(x)"},
	"shared lists in a message":     {shared("a", 60) + "\n\tx := $\"{a60}\"", "count(x)"},
	"shared lists by sprintf":       {shared("a", 60) + "\n\tx := sprintf(\"%v\", [a60])", "count(x)"},
	"long evidence":                 {"x := s18", "x"},
	"many reasons":                  {"some a in xs\n\tsome b in xs\n\tsome c in xs\n\tx := [a, b, c]", "x"},
	"a regular expression":          {"regex.match(`" + strings.Repeat("(a*)*", 100) + "(x{1000})b`, s18) == false\n\tx := 1", "x"},
	"many regular expressions":      {"x := [m | some a in xs; some b in xs; some c in xs; some d in xs; m := regex.match($\"({a}{b}{c}{d}[a-z]{{500}}){{2}}\", s18)]", "count(x)"},
	"a glob":                        {"x := glob.match(\"" + strings.Repeat("*?", 60) + "zz\", [], s18)", "x"},
	"a glob of alternatives":        {"x := glob.match(\"" + strings.Repeat("{a,b,c,*}", 60) + "zz\", [], s18)", "x"},
	"indexof":                       {"x := [indexof(s18, $\"{a}{b}{c}zz\") | some a in xs; some b in xs; some c in xs]", "count(x)"},
	"any prefix":                    {"ys := split(s18, \"\")\n\tx := strings.any_prefix_match(ys, array.concat(ys, [\"no\"]))", "x"},
	"trim":                          {"x := [trim(s18, s18) | some a in xs; some b in xs; some c in xs; some d in xs]", "count(x)"},
	"substring":                     {"x := [substring(s18, a + 1, -1) | some a in xs; some b in xs; some c in xs; some d in xs]", "count(x)"},
	"format_int":                    {"x := [format_int(a + b + c, 2) | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs]", "count(x)"},
	"sums without an end":           {"x := count([s | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs; s := a + b + c + d + e + f + g])", "x"},
	"keys of an object":             {"x := object.keys({$\"{a}{b}{c}{d}{e}{f}\": s18 | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs})", "count(x)"},
	"every of every without an end": {"every a in xs {\n\t\tevery b in xs {\n\t\t\tcount([1 | some c in xs; some d in xs; some e in xs; some f in xs; some g in xs; some h in xs]) > a - b - 1\n\t\t}\n\t}\n\tx := 1", "x"},
}

// violentRule is a rule that does that to one candidate.
func violentRule(name string) map[string]string {
	v := violent[name]
	body := v.body
	if strings.Contains(body+v.evidence, "s18") {
		body = longText + "\n\t" + body
	}
	if strings.Contains(body, "in xs") {
		body = digits + body
	}
	return map[string]string{"reap/dirs/mine/mine.rego": fmt.Sprintf(`package policies.reap.dirs.mine

in_scope if input.dir.name != ""

findings contains {"rule": "reap.dirs.mine", "message": "mine", "evidence": {"x": %s}} if {
	input.dir.name == "bad-review-0000000b"
	%s
}
`, v.evidence, body)}
}

// aloneVar is set for a test that runs in a process of its own.
const aloneVar = "TEST_RUNS_ALONE"

// alone runs the test in a process of its own and reports true, and false in that process. A process begins with the peak of the one
// that started it (getrusage(2) of a child that was made with vfork), so that only a small one can measure others.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVar) != "" {
		return false
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return true
}

// TestAttackMemoryAndTime: with any rule the process that evaluates it stays within twice the memory limit and what it had
// before, the answer comes, its candidate is spared, and the others are decided.
func TestAttackMemoryAndTime(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	if attack.Raced {
		t.Skip("it measures memory and time, and the race detector takes several times of both; .ci/run does it without")
	}
	if alone(t) {
		return
	}
	a := attack.New(t, "a policy takes memory or time in one step of a built-in function, or with its answer")
	const limit, timeout = 80 << 20, 100 * time.Millisecond
	idle := apart(t, eval.Limits{}, policy.Tree{Name: "p", FS: rules.Small(nil), Prefix: "p"})
	if _, err := idle.Decide(t.Context(), worlds.Three(), worlds.Config()); err != nil {
		t.Fatal(err)
	}
	_ = idle.Close()
	base := sandbox.Peak(idle)
	for name := range violent {
		t.Run(name, func(t *testing.T) {
			files := violentRule(name)
			begin := time.Now()
			e, _, err := sandbox.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{
				{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(files), Prefix: "my"},
			}}, eval.Limits{Timeout: timeout, HeapBytes: limit, Load: 5 * time.Second}, sandbox.Self())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r, err := e.Decide(t.Context(), worlds.Three(), worlds.Config())
			_ = e.Close()
			took, peak := time.Since(begin), sandbox.Peak(e)
			t.Logf("%s: peak %d MiB (idle %d), %s, %v", name, peak>>20, base>>20, took.Round(time.Millisecond), r.Errors)
			verdicts := map[string]string{}
			for _, d := range r.Decisions {
				verdicts[d.Label] = d.Verdict
			}
			switch {
			case err != nil:
				a.Lost("%s: %v", name, err)
			case peak > base+2*limit:
				a.Lost("%s: %d MiB, %d when idle", name, peak>>20, base>>20)
			case took > wait.Patience:
				a.Lost("%s: %s", name, took)
			case len(r.Errors) > 1 || len(r.Errors) == 1 && verdicts["/w/bad-review-0000000b"] != decision.Spare:
				a.Lost("%s: %v %v", name, r.Errors, verdicts)
			case verdicts["/w/x-review-0000000a"] != decision.Reap || verdicts["/w/y-review-0000000c"] != decision.Reap:
				a.Lost("%s: the others: %v %v", name, verdicts, r.Errors)
			default:
				a.Held()
			}
		})
	}
}

// TestAttackExplaining: an explanation comes to an end as a decision does, and says that it stays.
func TestAttackExplaining(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	attack.WithoutRaces(t)
	t.Parallel()
	a := attack.New(t, "a policy takes memory or time while it is explained")
	j := subject.Join(worlds.Three(), worlds.Config())
	sub, _ := j.Subject("dir:/w/bad-review-0000000b")
	for _, name := range []string{"every of every without an end", "sprintf wide", "shared lists in a message", "long evidence"} {
		e, err := loadApart(t, violentRule(name), eval.Limits{Timeout: 100 * time.Millisecond, HeapBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one asks a fresh process
			x, err := e.Explain(t.Context(), sub)
			if err != nil || x.Error == "" || x.Verdict != decision.Spare || len(x.Objections) != 1 || x.Objections[0].Rule != decision.PolicyError {
				a.Lost("%s: %v, %+v", name, err, x)
				continue
			}
			a.Held()
		}
	}
}

// TestAttackSearching: the search for what would turn a verdict comes to an end as a decision does, and finds nothing.
func TestAttackSearching(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	a := attack.New(t, "a policy takes memory or time while it is searched what would turn its verdict")
	j := subject.Join(worlds.Three(), worlds.Config())
	sub, _ := j.Subject("dir:/w/bad-review-0000000b")
	for _, name := range []string{"every of every without an end", "sprintf wide"} {
		e, err := loadApart(t, violentRule(name), eval.Limits{Timeout: 100 * time.Millisecond, HeapBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one may ask a fresh process
			if o, err := e.Counterfactual(t.Context(), sub, eval.Search{Within: time.Second}); err == nil && (len(o.Ways) > 0 || o.Limit == "") {
				a.Lost("%s: %+v", name, o)
				continue
			}
			a.Held()
		}
	}
}

// TestSmallMemoryLoads: a limit that is small for one evaluation leaves room to load.
func TestSmallMemoryLoads(t *testing.T) {
	t.Parallel()
	if attack.Raced {
		t.Skip("the race detector takes more memory than there is")
	}
	// One worker: the heap that is watched is the process's, and two evaluations at a time share it.
	e := apart(t, eval.Limits{HeapBytes: 1 << 20, Workers: 1}, embedded)
	if r, err := e.Decide(t.Context(), worlds.New(1, 0).World(300), worlds.Config()); err != nil || len(r.Errors) > 0 {
		t.Errorf("%v %v", err, r.Errors)
	}
}
