package main

import (
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// theirs are words of cobra, pflag, strconv and encoding/csv.
var theirs = regexp.MustCompile(`invalid argument|flag: |flag needs|strconv|arg\(s\)|required flag|for "winnow|parse error|flag syntax`)

// TestEveryCommandAnswersInPlainWords: help fits; a wrong form, flag or argument is refused in words of our own; what writes JSON is in the script forms.
func TestEveryCommandAnswersInPlainWords(t *testing.T) {
	root := newRoot(termsafe.NewWriter(io.Discard), termsafe.NewWriter(io.Discard), &stop.Inflight{})
	script := musts.Get(os.ReadFile("testdata/long/forms.txtar"))(t)
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if line := regexp.MustCompile(`.{81}`).FindString(reflow(c.Long) + "\n" + c.UsageString()); line != "" || strings.Count(c.Example, "\n") != 1 || c.Parent() == root && c.GroupID == "" {
			t.Errorf("%s is in no group, has other than two examples, or a line that is too long: %s", c.CommandPath(), line)
		}
		for _, form := range []string{"json", "ndjson", "markdown", formJUnit} {
			musts.Do(t, c.ParseFlags([]string{"--format", form}))
			writes, tried := slices.Contains(formsOf(c), form), regexp.MustCompile(`(?m)^`+c.CommandPath()+`\b`).Match(script)
			if !writes && root.PersistentPreRunE(c, nil) == nil || form == "ndjson" && writes && c.Runnable() && !c.HasSubCommands() && !tried {
				t.Errorf("%s takes --format %s and does not write it, or forms.txtar does not try it", c.CommandPath(), form)
			}
		}
		tries := []string{"--no-such", "-9", "--=x"}
		c.Flags().VisitAll(func(f *pflag.Flag) { tries = append(tries, "--"+f.Name, "--"+f.Name+`="x`, "--"+f.Name+"=9z") })
		for n, flag := range tries {
			err := errors.Join(c.FlagErrorFunc()(c, c.ParseFlags([]string{flag})), c.Args(c, slices.Repeat([]string{"word"}, n)))
			if err == nil && n < 3 || err != nil && theirs.MatchString(err.Error()) {
				t.Errorf("%s %s: %v", c.CommandPath(), flag, err)
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
}
