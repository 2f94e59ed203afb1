package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/schema"
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

// TestTheCommandLineDocumentsAreCurrent holds docs/reference/cli to the commands: a page a command, as cobra writes it.
func TestTheCommandLineDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	root := newRoot(termsafe.NewWriter(io.Discard), termsafe.NewWriter(io.Discard), &stop.Inflight{})
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	want := map[string]string{}
	var write func(c *cobra.Command)
	write = func(c *cobra.Command) {
		if c.Name() == "help" {
			return // cobra's own
		}
		var b bytes.Buffer
		b.WriteString("<!-- Written from the commands: go test ./cmd/winnow -run CommandLineDocuments -update -->\n")
		musts.Do(t, doc.GenMarkdown(c, &b))
		if c == root { // its flags hold everywhere, and are listed here alone
			root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
		} else {
			b.WriteString("\nThe flags of [winnow](winnow.md) hold here too.\n")
		}
		want[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = b.String()
		for _, sub := range c.Commands() {
			write(sub)
		}
	}
	write(root)
	schema.Folder(t, "../../docs/reference/cli", want)
}
