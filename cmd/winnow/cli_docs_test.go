package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

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
