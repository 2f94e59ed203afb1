package main

import (
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// theirs are words of cobra, pflag, strconv and encoding/csv.
var theirs = regexp.MustCompile(`invalid argument|flag: |flag needs|strconv|arg\(s\)|required flag|for "winnow|parse error|flag syntax`)

// TestEveryCommandAnswersInPlainWords: a wrong form, flag or argument is refused in words of our own. What writes JSON is in the script forms.
func TestEveryCommandAnswersInPlainWords(t *testing.T) {
	root := newRoot(termsafe.NewWriter(io.Discard), termsafe.NewWriter(io.Discard), &stop.Inflight{})
	script := musts.Get(os.ReadFile("testdata/long/forms.txtar"))(t)
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, form := range []string{"json", "ndjson", "markdown", formJUnit} {
			musts.Do(t, c.ParseFlags([]string{"--format", form}))
			if err := root.PersistentPreRunE(c, nil); !slices.Contains(formsOf(c), form) && err == nil {
				t.Errorf("%s takes --format %s and does not write it", c.CommandPath(), form)
			}
		}
		if ndjson := slices.Contains(formsOf(c), "ndjson"); ndjson && !c.HasSubCommands() && !regexp.MustCompile(`(?m)^`+c.CommandPath()+`\b`).Match(script) {
			t.Errorf("%s is not in forms.txtar", c.CommandPath())
		}
		tries := []string{"--no-such", "-9", "--=x"}
		c.Flags().VisitAll(func(f *pflag.Flag) { tries = append(tries, "--"+f.Name, "--"+f.Name+`="x`, "--"+f.Name+"=9z") })
		for n, flag := range tries {
			err := c.FlagErrorFunc()(c, c.ParseFlags([]string{flag}))
			if n < 4 && c.Args != nil {
				err = errors.Join(err, c.Args(c, slices.Repeat([]string{"word"}, n)))
			}
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
