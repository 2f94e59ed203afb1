package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man [FOLDER]",
		Short: "Write the manual pages into a folder, or print the first one",
		Long: `Man writes a manual page for each command into FOLDER, such as ~/.local/share/man/man1. FOLDER must exist. It
replaces pages of the same name. Without FOLDER it prints the page of winnow itself: winnow man | man -l -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, to []string) error {
			if len(to) == 0 {
				page, err := manPage(cmd.Root())
				_, unwritten := a.out.Write(page)
				return cmp.Or(err, unwritten)
			}
			dir, err := config.Path(to[0])
			if err != nil {
				return config.Usagef("%s: %v; nothing was written", to[0], err)
			}
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return config.Usagef("%s is no folder: make it with mkdir -p; nothing was written", text.Clean(dir))
			}
			n, err := writePages(cmd.Root(), dir)
			if page, failed := configPage(); err == nil {
				err = cmp.Or(failed, os.WriteFile(filepath.Join(dir, "winnow-config.5"), page, 0o644))
			}
			if err != nil {
				return fmt.Errorf("write manual pages into %s: %w", dir, err)
			}
			return a.say(map[string]any{"folder": dir, "pages": n + 1}, nil, text.Plural(n+1, "page")+" in "+text.Clean(dir))
		},
	}
}

// writePages writes the manual pages of a command and of those below it, and says how many they are.
func writePages(c *cobra.Command, dir string) (n int, err error) {
	page, err := manPage(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"), page, 0o644)
	}
	for _, below := range c.Commands() {
		if err == nil && below.Name() != "help" { // cobra adds one to each command with others below it while a page is made
			var more int
			more, err = writePages(below, dir)
			n += more
		}
	}
	return n + 1, err
}

// manPage is the manual page of a command.
func manPage(c *cobra.Command) ([]byte, error) {
	c.DisableAutoGenTag = true
	var page bytes.Buffer
	err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "winnow " + version.Read().Version, Manual: "Winnow"}, &page)
	sections, _ := helpFiles.ReadFile("help/man.roff")
	return bytes.Replace(page.Bytes(), []byte(".SH EXAMPLE\n"), append(sections, ".SH EXAMPLES\n"...), 1), err
}

// configPage is the manual page of the configuration, from the page that is made from config.yaml.
func configPage() ([]byte, error) {
	page, err := winnow.Reference.ReadFile("docs/reference/config.md")
	_, body, _ := strings.Cut(string(page), "# config.yaml\n")
	head := "% \"WINNOW-CONFIG\" \"5\" \"\" \"winnow " + version.Read().Version + "\" \"Winnow\"\n# NAME\nwinnow-config - the configuration of winnow\n\n# DESCRIPTION\n"
	parts := strings.Split(body, "`")
	for i := 0; i < len(parts); i += 2 { // what is code has its underscores as they are
		parts[i] = strings.ReplaceAll(parts[i], "_", `\_`)
	}
	return md2man.Render([]byte(head + strings.Join(parts, "`"))), err
}

// helpFiles are groups.txt, with the groups of commands and two examples each, man.roff, which all manual pages have, and the long texts.
//
//go:embed help
var helpFiles embed.FS

// helpWidth is how many columns a help has.
const helpWidth = 80

// dress gives commands their groups, examples and long texts, in lines for a terminal.
func dress(root *cobra.Command) {
	groups, err := helpFiles.ReadFile("help/groups.txt")
	must(err)
	group, c := "", root
	for line := range strings.Lines(string(groups)) {
		words := strings.TrimSpace(line)
		switch strings.IndexFunc(line, func(r rune) bool { return r != ' ' }) {
		case 0:
			group = words
			root.AddGroup(&cobra.Group{ID: group, Title: group + ":"})
		case 2:
			if c, _, _ = root.Find(strings.Fields(words)); c.Parent() == root {
				c.GroupID = group
			}
			if long, err := helpFiles.ReadFile("help/" + strings.ReplaceAll(words, " ", "-") + ".txt"); err == nil {
				c.Long = strings.TrimSpace(string(long))
			}
		default:
			c.Example = strings.TrimPrefix(c.Example+"\n  "+words, "\n")
		}
	}
	cobra.AddTemplateFunc("reflow", reflow)
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. |", "{{. | reflow |", 1))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
}

// reflow breaks paragraphs at the width of a help. What is indented stays as it is.
func reflow(long string) string {
	paragraphs := strings.Split(long, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, "  ") {
			paragraphs[i] = strings.Join(text.Wrap(p, helpWidth), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
