package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// exitCodes is a page of help without a command.
func exitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Winnow exits with

  0    done
  1    failed: nothing, or nothing more, was done
  2    wrong use or configuration; the message names the key or flag
  3    done in part: a source failed, a bundle of policies was refused, or an act failed or was refused by the floor
  4    with --exit-code: something would go
  5    a cap held; act.caps in config.yaml says what each counts
  130 ended at once by a second signal (128 + its number). 141 the reader of its output closed the pipe

When several apply, 5 comes before 3, and 3 before 4. The commands below winnow policy exit with 1 also when a test
failed or a file is not formatted. They exit with 2 when policies are refused.`,
	}
}

func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man [FOLDER]",
		Short: "Write the manual pages into a folder, or print the first one",
		Long: `Man writes a manual page for each command into FOLDER, such as ~/.local/share/man/man1. FOLDER must exist. It
replaces pages of the same name. Without FOLDER it prints the page of winnow itself: winnow man | man -l -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, to []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			head := &doc.GenManHeader{Title: "WINNOW", Section: "1", Source: "winnow " + version.Read().Version, Manual: "Winnow"}
			if len(to) == 0 {
				return doc.GenMan(root, head, a.out)
			}
			dir, err := config.Path(to[0])
			if err != nil {
				return config.Usagef("%s: %v; nothing was written", to[0], err)
			}
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return config.Usagef("%s is no folder: make it with mkdir -p; nothing was written", text.Clean(dir))
			}
			head.Title = ""
			if err := doc.GenManTree(root, head, dir); err != nil {
				return fmt.Errorf("write manual pages into %s: %w", dir, err)
			}
			pages, err := filepath.Glob(filepath.Join(dir, "winnow*.1"))
			if err != nil {
				return err
			}
			return a.say(map[string]any{"folder": dir, "pages": len(pages)}, text.Plural(len(pages), "page")+" in "+text.Clean(dir))
		},
	}
}
