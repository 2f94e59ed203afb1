package eval_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/testkit/attack"
	"github.com/winnow-reaper/winnow/testkit/rules"
)

// version is a version of policies, decided here or apart.
func version(t testing.TB, files map[string]string, here bool, l eval.Limits) (*eval.Engine, error) {
	t.Helper()
	o := policy.LoadOptions{Trees: []policy.Tree{{Name: "version", FS: rules.Tree(files), Prefix: "v"}}}
	if !here {
		e, _, err := eval.Apart(t.Context(), o, l, eval.Self())
		if err == nil {
			t.Cleanup(func() { _ = e.Close() })
		}
		return e, err
	}
	p, err := policy.Load(t.Context(), o)
	if err != nil {
		return nil, err
	}
	return ready(t, p, l), nil
}

// paired holds what a pair decides to what each of both decides alone. It gives the pair, how many snapshots are not decided alike by both, and how
// many candidates had no answer.
func paired(t *testing.T, about string, engines [2]*eval.Engine, configs [2]*subject.Config, worlds ...*snapshot.Snapshot) (p *eval.Pair, differ, failed int) {
	t.Helper()
	p = eval.NewPair(t.Context(), engines, configs)
	for n, s := range worlds {
		got, err := p.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range engines {
			want, err := e.Decide(t.Context(), s, configs[i])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got[i], cmpopts.EquateEmpty(), cmp.Transformer("text", func(err error) string { return fmt.Sprint(err) })); diff != "" {
				t.Errorf("%s: world %d, engine %d (-alone +paired):\n%s", about, n, i, diff)
			}
		}
		failed += len(got[0].Errors) + len(got[1].Errors)
		if !cmp.Equal(got[0].Decisions, got[1].Decisions) {
			differ++
		}
	}
	return p, differ, failed
}

// ruleOf is a file with one rule, of this id, with these conditions, and what it gives.
func ruleOf(id, more, evidence string, conditions ...string) string {
	set := "objections"
	if strings.HasPrefix(id, "reap.") {
		set = "findings"
	}
	return fmt.Sprintf("package policies.%s\n\n%s\n\n%s contains {\"rule\": %q, \"message\": $\"{input.id}\", \"evidence\": %s} if {\n\t%s\n}\n",
		id, more, set, id, evidence, strings.Join(conditions, "\n\t"))
}

// small are the files of a small policy whose rules lean on each other.
func small(t testing.TB) map[string]string {
	return map[string]string{
		"reap/dirs/disposable/disposable.rego": rules.SmallReap,
		"reap/dirs/z/z.rego":                   ruleOf("reap.dirs.z", `in_scope if startswith(input.dir.name, "f")`, "{}", `in_scope`),
		"reap/sessions/s/s.rego":               ruleOf("reap.sessions.s", `in_scope if input.session.name != ""`, "{}", `in_scope`),
		"protect/held/held.rego":               rules.SmallProtect,
		"protect/a/a.rego":                     ruleOf("protect.a", "import data.policies.lib.upper", "{}", "upper.odd"),
		"protect/c/c.rego":                     ruleOf("protect.c", "import data.policies.lib.lower", "{}", "lower.odd"),
		"protect/d/d.rego":                     ruleOf("protect.d", "import data.policies.lib.kinds", "{}", "some folder in kinds.folders", "some f in data.policies.reap[folder][_].findings", `contains(f.message, "1")`),
		"lib/upper/upper.rego":                 "package policies.lib.upper\n\nimport data.policies.lib.lower\n\nodd if {\n\tlower.odd\n\tinput.kind == \"dir\"\n}\n",
		"lib/lower/lower.rego":                 "package policies.lib.lower\n\nodd if contains(input.id, \"7\")\n",
		"lib/kinds/kinds.rego":                 rules.Texts(t, policies.Files)["lib/kinds/kinds.rego"],
	}
}

// long is a rule with a hundred and some kilobytes of evidence for every folder.
func long(id string) string {
	lines := []string{`input.kind == "dir"`, `s0 := concat("", [input.id, "0123456789"])`}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf(`s%d := concat("", [s%d, s%d])`, i+1, i, i))
	}
	return ruleOf(id, "", `{"s": s12}`, lines...)
}

// many is a rule with 121 reasons for every folder.
func many(id string) string {
	const eleven = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"
	return strings.Replace(ruleOf(id, "", "{}", `input.kind == "dir"`, "some a in "+eleven, "some b in "+eleven), `{input.id}`, `{a} {b}`, 1)
}

// TestAPairSharesWhatIsTheSame takes versions of a small policy, and says how many of the rules are not asked again: all of them for each kind.
func TestAPairSharesWhatIsTheSame(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	worlds := []*snapshot.Snapshot{newMaker(1, 0).world(60), newMaker(2, 0.1).world(60)}
	text := func(name, from, to string) func(map[string]string) {
		return func(files map[string]string) {
			if files[name] = strings.Replace(files[name], from, to, 1); !strings.Contains(files[name], to) {
				panic(name + ": nothing to replace")
			}
		}
	}
	without := func(name string) func(map[string]string) {
		return func(files map[string]string) { files[name] = "" }
	}
	with := func(name, text string) func(map[string]string) {
		return func(files map[string]string) { files[name] = text }
	}
	both := func(a, b func(map[string]string)) func(map[string]string) {
		return func(files map[string]string) { a(files); b(files) }
	}
	nothing := func(map[string]string) {}
	for name, c := range map[string]struct {
		base, head func(map[string]string)
		same, of   int // of dirs and sessions
		alike      bool
		fails      bool // some candidates have no answer
	}{
		"the same":                            {base: nothing, head: nothing, same: 11, of: 11, alike: true},
		"an objection less":                   {base: nothing, head: without("protect/c/c.rego"), same: 9, of: 9},
		"an objection more":                   {base: nothing, head: with("protect/b/b.rego", ruleOf("protect.b", "", "{}", `contains(input.id, "3")`)), same: 11, of: 13},
		"another objection":                   {base: nothing, head: text("protect/held/held.rego", "held by", "kept by"), same: 9, of: 11},
		"a comment in what others lean on":    {base: nothing, head: text("lib/upper/upper.rego", "odd if {", "odd if { # odd"), same: 9, of: 11, alike: true},
		"what lies below that":                {base: nothing, head: text("lib/lower/lower.rego", `"7"`, `"8"`), same: 7, of: 11},
		"a reason less":                       {base: nothing, head: without("reap/dirs/z/z.rego"), same: 8, of: 10},
		"a reason less that no rule asks for": {base: without("protect/d/d.rego"), head: both(without("protect/d/d.rego"), without("reap/dirs/z/z.rego")), same: 8, of: 8},
		"a reason more":                       {base: nothing, head: with("reap/dirs/y/y.rego", ruleOf("reap.dirs.y", `in_scope if startswith(input.dir.name, "w")`, "{}", `contains(input.id, "2")`)), same: 9, of: 12},
		"a wider reach":                       {base: nothing, head: text("reap/dirs/z/z.rego", `startswith(input.dir.name, "f")`, `input.dir.name != ""`), same: 8, of: 11},
		"a kind less":                         {base: nothing, head: without("reap/sessions/s/s.rego"), same: 5, of: 6},
		"an error that both have":             {base: with("protect/e/e.rego", ruleOf("protect.e", "", "{}", `1 / (count(input.id) - 24) > 0`)), head: both(with("protect/e/e.rego", ruleOf("protect.e", "", "{}", `1 / (count(input.id) - 24) > 0`)), without("protect/held/held.rego")), same: 11, of: 11, fails: true},
		"an error of the head":                {base: nothing, head: with("protect/e/e.rego", ruleOf("protect.e", "", "{}", `1 / (count(input.id) - 24) > 0`)), same: 11, of: 13, fails: true},
		"two that say too much together":      {base: with("protect/e/e.rego", long("protect.e")), head: both(with("protect/e/e.rego", long("protect.e")), with("protect/f/f.rego", long("protect.f"))), same: 13, of: 15, fails: true},
		"too many reasons together":           {base: with("protect/e/e.rego", many("protect.e")), head: both(with("protect/e/e.rego", many("protect.e")), with("protect/f/f.rego", many("protect.f"))), same: 13, of: 15, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var engines [2]*eval.Engine
			for i, change := range []func(map[string]string){c.base, c.head} {
				files := small(t)
				change(files)
				var err error
				if engines[i], err = version(t, files, true, eval.Limits{}); err != nil {
					t.Fatal(err)
				}
			}
			configs := [2]*subject.Config{config(), config()}
			p, differ, failed := paired(t, name, engines, configs, worlds...)
			if same, of := eval.Common(t, p); same != c.same || of != c.of {
				t.Errorf("%d of %d are the same, want %d of %d", same, of, c.same, c.of)
			}
			if (differ == 0) != c.alike {
				t.Errorf("%d worlds are decided otherwise", differ)
			}
			if (failed > 0) != c.fails {
				t.Errorf("%d candidates have no answer", failed)
			}
			engines[0], engines[1] = engines[1], engines[0]
			paired(t, name+", turned around", engines, configs, worlds...)
			configs[1].LandedAfter++
			if p, _, _ := paired(t, name+", another configuration", engines, configs, worlds[0]); eval.Shares(p) {
				t.Error("it shares what another configuration decides")
			}
		})
	}
}

// changes of one file of policies, by chance.
var changes = []struct{ from, to string }{
	{` == `, ` != `}, {` < `, ` >= `}, {` <= `, ` > `}, {` > `, ` <= `}, {`"message": `, `"message": "again " `},
	{"\tnot ", "\t"}, {`== true`, `== false`}, {`"(\w+)"( in | == )`, `"x$1"$2`}, {`contains \{`, "contains {"},
}

// changed changes one file of a version: a rule or what rules share, or takes a rule away.
func changed(r *rand.Rand, files map[string]string) (about string) {
	names := slices.Sorted(maps.Keys(files))
	for {
		name := names[r.IntN(len(names))]
		if strings.HasPrefix(name, "observe/") || strings.HasPrefix(name, "main/") {
			continue
		}
		if !strings.HasPrefix(name, "lib/") && r.IntN(4) == 0 {
			files[name] = ""
			return "without " + name
		}
		c := changes[r.IntN(len(changes))]
		found := regexp.MustCompile(c.from).FindAllStringIndex(files[name], -1)
		if len(found) == 0 {
			continue
		}
		at := found[r.IntN(len(found))]
		part := files[name][at[0]:at[1]]
		files[name] = files[name][:at[0]] + regexp.MustCompile(c.from).ReplaceAllString(part, c.to) + files[name][at[1]:]
		return fmt.Sprintf("%s: %q at %d", name, part, at[0])
	}
}

// TestAPairDecidesAsEachAlone changes the shipped policies by chance, and holds the decisions of both versions, in either order, here and apart, to those
// of each alone.
func TestAPairDecidesAsEachAlone(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	shipped := rules.Texts(t, policies.Files)
	worlds := []*snapshot.Snapshot{newMaker(seed, 0).world(60), newMaker(seed, 0.05).world(60)}
	base, err := version(t, shipped, true, eval.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	configs := [2]*subject.Config{config(), config()}
	versions := 6
	if attack.Raced {
		versions = 2
	}
	for loaded := 0; loaded < versions; {
		files := maps.Clone(shipped)
		about := fmt.Sprintf("seed %d: %s", seed, changed(r, files))
		head, err := version(t, files, loaded%2 == 0, eval.Limits{})
		if err != nil { // a change that no policy may have
			continue
		}
		loaded++
		engines := [2]*eval.Engine{base, head}
		if r.IntN(2) == 0 {
			engines = [2]*eval.Engine{head, base}
		}
		if p, _, _ := paired(t, about, engines, configs, worlds...); !eval.Shares(p) {
			t.Errorf("%s: nothing is shared", about)
		}
	}
}

// TestAPairOutlivesAProcess: where both are judged apart and a process ends, the next one is asked in the same way.
func TestAPairOutlivesAProcess(t *testing.T) {
	t.Parallel()
	files := small(t)
	var engines [2]*eval.Engine
	for i := range engines {
		var err error
		if engines[i], err = version(t, files, false, eval.Limits{}); err != nil {
			t.Fatal(err)
		}
		files["protect/held/held.rego"] = strings.Replace(rules.SmallProtect, "held by", "kept by", 1)
	}
	s, c := newMaker(1, 0).world(60), config()
	p := eval.NewPair(t.Context(), engines, [2]*subject.Config{c, c})
	var want [2]eval.Result
	for round := range 3 {
		got, err := p.Decide(t.Context(), s)
		if err != nil || len(got[0].Errors)+len(got[1].Errors) > 0 {
			t.Fatal(err, got[0].Errors, got[1].Errors)
		}
		if round == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want[1].Decisions) == 0 {
			t.Errorf("round %d:\n%s", round, diff)
		}
		// The process that took its place has loaded what it is asked, and stays.
		pid := eval.PID(engines[1])
		if _, err := p.Decide(t.Context(), s); err != nil || eval.PID(engines[1]) != pid {
			t.Errorf("round %d: the process was replaced once more (%v)", round, err)
		}
		for _, e := range engines {
			if err := syscall.Kill(eval.PID(e), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
}
