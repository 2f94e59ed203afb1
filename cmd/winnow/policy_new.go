package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/scaffold"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

// regalFile and inputFile are what editors with Regal read: how to lint the tree, and what stands below input.
const (
	regalFile = ".regal/config.yaml"
	inputFile = "input.json"
)

func newPolicyNew(a *app) *cobra.Command {
	var in string
	var editor bool
	cmd := &cobra.Command{
		Use:   "new RULE",
		Short: "Write a new rule with its METADATA and tests, to edit",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, given []string) error { return a.policyNew(given[0], in, editor) },
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(given) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			out := []cobra.Completion{cobra.CompletionWithDesc(decision.ProtectFamily, "a reason to keep")}
			for _, kind := range scaffold.Folders() {
				out = append(out, cobra.CompletionWithDesc(decision.ReapFamily+kind+".", "a reason to reap"))
			}
			return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().StringVar(&in, "in", "policies", "the `folder` of policies; it is made where it is missing")
	cmd.Flags().BoolVar(&editor, "editor", true, "also write the files for editors, where the folder has none")
	must(cmd.MarkFlagDirname("in"))
	return cmd
}

// written is what policy new says as JSON.
type written struct {
	Rule string `json:"rule"`
	// Folder is the tree's, and Files those that were written, in it.
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

func (a *app) policyNew(id, in string, editor bool) error {
	rule, err := scaffold.Parse(id)
	if err != nil {
		return config.Usagef("%w. Nothing was written", err)
	}
	if _, err := fs.Stat(policies.Files, rule.Dir()); err == nil {
		return config.Usagef("%s ships with Winnow, and two folders of policies cannot have the same rule: choose another name, or set its level (rules.levels). Nothing was written", id)
	}
	dir, err := config.Path(in)
	if err != nil {
		return config.Usagef("--in: %s: %v. Nothing was written", text.Quote(in), err)
	}
	files, err := rule.Files()
	if err != nil {
		return err
	}
	// A folder of the same rule may hold other files of the package.
	for _, name := range slices.Concat([]string{rule.Dir()}, slices.Sorted(maps.Keys(files))) {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return config.Usagef("%s is there already; choose another name for the rule, or another folder (--in). Nothing was written", text.Quote(filepath.Join(in, name)))
		}
	}
	if editor {
		example, err := scaffold.Example()
		if err != nil {
			return err
		}
		for name, data := range map[string][]byte{regalFile: scaffold.Regal(), inputFile: example} {
			if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
				files[name] = data
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", text.Quote(in), err)
	}
	if err := scaffold.Write(dir, files, true); err != nil {
		return fmt.Errorf("write into %s: %w; what was written of it is removed again", text.Quote(in), err)
	}
	out := written{Rule: id, Folder: in, Files: []string{}}
	var shown strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out.Files = append(out.Files, filepath.Join(in, name))
		fmt.Fprintf(&shown, "  %s%s\n", text.Clean(filepath.Join(in, name)), editorWords[name])
	}
	return a.show(out, nil, "  ", func(w io.Writer) {
		fmt.Fprintf(w, "wrote the rule %s:\n%s\nEdit it, then:\n  winnow policy check %[3]s\n  winnow policy test %[3]s\n", id, shown.String(), text.Quote(in))
	})
}

// editorWords say what the files for editors are for.
var editorWords = map[string]string{
	regalFile: "  (how Regal lints the folder)",
	inputFile: `  (what Regal's language server completes after "input.")`,
}
