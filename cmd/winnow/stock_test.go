package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/policies/schemas"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// stockOPA is the program of Open Policy Agent, of the version that the developers' tools name.
var stockOPA = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-modfile=../../tools/go.mod", "-n", "opa").Output()
	return strings.TrimSpace(string(out)), err
})

// ran is what a program wrote and exited with.
type ran struct {
	out  string
	code int
}

func runIn(t *testing.T, dir string, env []string, path string, args ...string) ran {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, append(env, "HOME="+dir, "PATH="+os.Getenv("PATH"))
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ran{string(out), cmd.ProcessState.ExitCode()}
}

// TestStockAgrees asks OPA's own program and this one about the same files: which tests pass and how much they cover, whether the strict compiler
// takes them, and what they look like when they are formatted.
func TestStockAgrees(t *testing.T) {
	startsOften(t)
	stage.NeedSecond(t, "it starts two programs some fifty times, and builds one")
	t.Parallel()
	opa, err := stockOPA()
	if err != nil {
		t.Fatalf("build the stock tool: %v", err)
	}
	const lib = "package policies.lib.x\n\nx if input.age > 1\n\ny contains 1 if input.hold\n"
	for name, c := range map[string]struct {
		files map[string]string
		// check is whether both refuse the files; Winnow refuses more, so the other cases say nothing of that.
		refused bool
	}{
		"passes":      {map[string]string{"lib/x/x.rego": lib, "lib/x/x_test.rego": "package policies.lib.x_test\n\nimport data.policies.lib.x\n\ntest_a if x.x with input as {\"age\": 2}\n"}, false},
		"fails":       {map[string]string{"lib/x/x.rego": lib, "lib/x/x_test.rego": "package policies.lib.x_test\n\nimport data.policies.lib.x\n\ntest_a if x.x with input as {\"age\": 0}\n\ntest_b if count(x.y) == 0\n\ntodo_test_c if false\n\ntest_d if {\n\tnot x.x with input as {\"age\": 9}\n}\n"}, false},
		"cases":       {map[string]string{"lib/x/x_test.rego": "package x_test\n\ntest_many[name] if {\n\tsome name, n in {\"a\": 1, \"b\": 2}\n\tn == 1\n}\n\ntest_twice if true\n\ntest_twice if false\n\ntest_set contains 1 if true\n"}, false},
		"errors":      {map[string]string{"lib/x/x_test.rego": "package x_test\n\ntest_conflict if f(1) == 1\n\nf(_) := 1\n\nf(_) := 2\n\ntest_builtin if to_number(\"x\") == 1\n\ntest_print if print(\"a\", 1)\n"}, false},
		"data":        {map[string]string{"data.json": "{\"a\": {\"b\": 1}}", "a/more.yaml": "c: 2\n", "x_test.rego": "package x_test\n\ntest_data if data.a == {\"b\": 1, \"c\": 2}\n"}, false},
		"unformatted": {map[string]string{"lib/x/x.rego": "package policies.lib.x\nx:=1\ny := {\"a\":1,\n\"b\":2}\n# why\nz if {x==1;y.a==1}\n", "lib/x/x_test.rego": "package policies.lib.x_test\n\n\n\ntest_a   if true\n"}, false},
		"unused":      {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nimport data.a\n\nx if {\n\ty := 1\n}\n"}, true},
		"field":       {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nx if input.dir.naem == \"\"\n"}, true},
		"type":        {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nx if input.age == \"old\"\n"}, true},
		"syntax":      {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nx if {\n"}, true},
		"recursion":   {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\na if b\n\nb if a\n"}, true},
		"function":    {map[string]string{"lib/x/x.rego": "package policies.lib.x\n\nx if nosuch(1)\n"}, true},
		"in a test":   {map[string]string{"lib/x/x.rego": lib, "lib/x/x_test.rego": "package policies.lib.x_test\n\ntest_a if y := 1\n"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tree := filepath.Join(dir, "tree")
			for file, text := range c.files {
				musts.Do(t, os.MkdirAll(filepath.Join(tree, filepath.Dir(file)), 0o700))
				musts.Do(t, os.WriteFile(filepath.Join(tree, file), []byte(text), 0o600))
			}
			musts.Do(t, os.WriteFile(filepath.Join(dir, "subject.json"), schemas.Subject, 0o600))
			winnow := func(args ...string) ran {
				return runIn(t, dir, nil, itself(), append([]string{"policy"}, args...)...)
			}
			stock := func(args ...string) ran { return runIn(t, dir, nil, opa, args...) }

			checked := stock("check", "--strict", "--schema", "subject.json", "tree")
			if c.refused != (checked.code != 0) {
				t.Errorf("the stock tool exits with %d: the case says otherwise", checked.code)
			}
			if got := winnow("check", "tree"); c.refused && got.code != exit.Usage {
				t.Errorf("the stock tool refuses what this one takes:\n%s", got.out)
			}
			if !c.refused {
				agreeOnTests(t, stock, winnow)
			}
			if checked.code == 0 || name != "syntax" {
				agreeOnFormat(t, tree, stock, winnow)
			}
		})
	}
}

// agreeOnTests compares verdicts and coverage.
func agreeOnTests(t *testing.T, stock, winnow func(...string) ran) {
	t.Helper()
	var theirs []struct {
		Package, Name string
		Fail, Skip    bool
		Error         any
		Location      struct{ Row int }
	}
	out := stock("test", "--format", "json", "tree")
	if err := json.Unmarshal([]byte(out.out), &theirs); err != nil {
		t.Fatalf("%v in %s", err, out.out)
	}
	type verdict struct {
		outcome string
		line    int
	}
	want, got := map[string]verdict{}, map[string]verdict{}
	for _, r := range theirs {
		v := verdict{"pass", r.Location.Row}
		switch {
		case r.Fail:
			v.outcome = "fail"
		case r.Skip:
			v.outcome = "skipped"
		case r.Error != nil:
			v.outcome = "error"
		}
		want[r.Package+"."+r.Name] = v
	}
	var ours report.PolicyTest
	mine := winnow("test", "tree", "--no-embedded-policy", "--coverage", "--format", "json")
	if err := json.Unmarshal([]byte(mine.out), &ours); err != nil {
		t.Fatalf("%v in %s", err, mine.out)
	}
	for _, r := range ours.Tests {
		got[r.Name] = verdict{r.Outcome, r.Line}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("tests (-stock +winnow):\n%s", diff)
	}
	if len(want) > 0 && (out.code == 0) != (mine.code == 0) {
		t.Errorf("the stock tool exits with %d, this one with %d", out.code, mine.code)
	}
	var cover struct {
		Covered int     `json:"covered_lines"`
		Missed  int     `json:"not_covered_lines"`
		Percent float64 `json:"coverage"`
	}
	out = stock("test", "--coverage", "--format", "json", "tree")
	if err := json.Unmarshal([]byte(out.out), &cover); err != nil {
		return // it prints the failures instead where a test failed
	}
	if c := ours.Coverage; c == nil || c.Covered != cover.Covered || c.Missed != cover.Missed || c.Percent != cover.Percent {
		t.Errorf("coverage: stock %+v, winnow %+v", cover, ours.Coverage)
	}
}

// agreeOnFormat compares which files are not formatted, and what they become.
func agreeOnFormat(t *testing.T, tree string, stock, winnow func(...string) ran) {
	t.Helper()
	want := strings.Fields(stock("fmt", "--list", "tree").out)
	var ours report.PolicyFormat
	musts.Do(t, json.Unmarshal([]byte(winnow("fmt", "tree", "--format", "json").out), &ours))
	slices.Sort(want)
	slices.Sort(ours.Unformatted)
	if !slices.Equal(want, ours.Unformatted) {
		t.Errorf("not formatted: stock %q, winnow %q", want, ours.Unformatted)
	}
	texts := map[string]string{}
	for _, file := range want {
		texts[file] = stock("fmt", file).out
	}
	if got := winnow("fmt", "-w", "tree"); got.code != 0 {
		t.Errorf("fmt -w exits with %d: %s", got.code, got.out)
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(tree), file))
		if err != nil || string(text) != texts[file] {
			t.Errorf("%s: stock writes\n%s\nwinnow\n%s\n%v", file, texts[file], text, err)
		}
	}
}
