package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

var block = regexp.MustCompile("(?s)```(?:rego|yaml)\n(.*?)```")

// TestThePagesRuleIsTheOneThatRuns holds the rule in README.md, and the rule, its test and the configuration in
// docs/guides/write-a-rule.md, to those that the script
// custom-parameters runs.
func TestThePagesRuleIsTheOneThatRuns(t *testing.T) {
	t.Parallel()
	script := musts.Get(txtar.ParseFile("testdata/long/custom-parameters.txtar"))(t)
	for page, files := range map[string][]string{
		"../../README.md":                   {"mine/reap/dirs/scratch/scratch.rego"},
		"../../docs/guides/write-a-rule.md": {"mine/reap/dirs/scratch/scratch.rego", "mine/reap/dirs/scratch/scratch_test.rego", "own.yaml"},
	} {
		text := musts.Get(os.ReadFile(page))(t)
		var blocks []string
		for _, m := range block.FindAllSubmatch(text, -1) {
			blocks = append(blocks, string(m[1]))
		}
		for _, name := range files {
			i := slices.IndexFunc(script.Files, func(f txtar.File) bool { return f.Name == name })
			if i < 0 || !slices.Contains(blocks, string(script.Files[i].Data)) {
				t.Errorf("%s does not have %s as the script runs it", page, name)
			}
		}
	}
}
