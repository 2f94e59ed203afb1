package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/text"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/foreign"
	"github.com/winnow-reaper/winnow/internal/junit"
	"github.com/winnow-reaper/winnow/internal/outfile"
	"github.com/winnow-reaper/winnow/internal/plain"
	"github.com/winnow-reaper/winnow/internal/sarif"
)

type fmtFlags struct{ write, diff bool }

func newPolicyFmt(a *app) *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt [FOLDER|FILE...]",
		Short: "Format policies as opa fmt does",
		Long: `Fmt lists the files of policies and tests that are not written as "opa fmt" writes them, and exits with 1 where there are any. With -w it writes
them anew, each in one step and with the rights that it has, and exits with 0. It changes no file besides those that were named, or that lie in a
folder that was named; without FOLDER these are the policies of the configuration. A link is refused, and so is a file that is not Rego: then the
others are formatted, and it exits with 2.`,
		Example: `  winnow policy fmt mine --diff
  winnow policy fmt -w mine`,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.policyFmt(cmd.Context(), paths, f) },
	}
	a.formsAndFiles(cmd, "text", "json", formJUnit, formSARIF, formQuality)
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "write the files anew")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show what differs")
	return cmd
}

// toFormat are the trees that a person names, each a folder or a single file.
func (a *app) toFormat(ctx context.Context, paths []string) ([]policy.Tree, error) {
	if len(paths) == 0 {
		paths = a.cfg.Policy.Paths
	}
	if len(paths) == 0 {
		return nil, config.Mistakef("name a folder or a file to format: the configuration names no policies (policy.paths). Nothing was read")
	}
	var trees []policy.Tree
	if inner, outer := overlap(paths); inner != "" {
		return nil, config.Mistakef("%s lies in %s: name one of the two. Nothing was read", text.Quote(inner), text.Quote(outer))
	}
	for _, name := range paths {
		st, err := os.Lstat(name)
		if err != nil || !st.Mode().IsRegular() {
			t, err := a.namedTree(ctx, name)
			if err != nil {
				return nil, err
			}
			trees = append(trees, t)
			continue
		}
		if filepath.Ext(name) != ".rego" {
			return nil, config.Mistakef("%s is no file of policies: its name does not end in .rego. Nothing was read", text.Quote(name))
		}
		dir, base := filepath.Split(filepath.Clean(name))
		t, err := a.namedTree(ctx, filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		t.Only = base
		trees = append(trees, t)
	}
	return trees, nil
}

// overlap gives a path that lies in another one of them, or is the same, and that one; "" where all are apart.
func overlap(paths []string) (inner, outer string) {
	for i, a := range paths {
		for j, b := range paths {
			x, y := filepath.Clean(a), filepath.Clean(b)
			if i != j && (x == y || y == "." && !filepath.IsAbs(x) || strings.HasPrefix(x, y+"/")) {
				return a, b
			}
		}
	}
	return "", ""
}

func (a *app) policyFmt(ctx context.Context, paths []string, f fmtFlags) error {
	trees, err := a.toFormat(ctx, paths)
	if err != nil {
		return err
	}
	sources, err := readTrees(ctx, policy.LoadOptions{Trees: trees, Tests: true, Data: true})
	if err != nil {
		return err
	}
	var unformatted []policy.Formatted
	doc := report.PolicyFormat{Schema: report.PolicyFormatSchema, Unformatted: []string{}, Written: []string{}, Problems: []policy.Refusal{}}
	err = eval.Format(ctx, sources, a.limits(), eval.Self(), func(f policy.Formatted) { unformatted = append(unformatted, f) })
	if err != nil {
		if doc.Problems, err = asRefusals(err); err != nil {
			return fmt.Errorf("format policies: %w; no file was written", err)
		}
	}
	policies, tests := sources.Names()
	doc.Files = append([]string{}, slices.Concat(policies, tests)...)
	var changes []byte
	first := map[string]int{}
	for _, u := range unformatted {
		old, known := sources.Data(u.File)
		if !known { // it can only name what it was given
			return fmt.Errorf("format policies: a file %s was not read; no file was written", text.Quote(u.File))
		}
		doc.Unformatted = append(doc.Unformatted, u.File)
		changes = append(changes, diff.Diff(u.File, old, u.File, u.Text)...)
		first[u.File] = firstChange(string(old), string(u.Text))
		if !f.write {
			continue
		}
		if err := writeFormatted(ctx, u, old); err != nil {
			return fmt.Errorf("%w. Written before it: %s", err, listed(doc.Written))
		}
		doc.Written = append(doc.Written, u.File)
	}
	doc.OK = len(doc.Problems) == 0 && len(doc.Written) == len(doc.Unformatted)
	err = a.written(ctx, func(a *app) error {
		if a.finds() {
			return a.findings("policy fmt", append(sarifRules(), unformattedRule), formatFindings(doc, first))
		}
		return a.showFormat(doc, f, string(changes))
	})
	if err != nil {
		return err
	}
	switch {
	case len(doc.Problems) > 0:
		return codeError{code: report.ExitUsage}
	case !doc.OK:
		return codeError{code: report.ExitFailed}
	}
	return nil
}

var unformattedRule = sarif.Rule{ID: "unformatted", Short: "The file is not written as opa fmt writes it.", Help: "Run winnow policy fmt -w."}

// formatFindings are the files that are still not formatted, each at the first line that would change, and those that cannot be.
func formatFindings(doc report.PolicyFormat, first map[string]int) []sarif.Finding {
	findings := refusalFindings(doc.Problems, sarif.Error)
	for _, name := range doc.Unformatted {
		if !slices.Contains(doc.Written, name) {
			findings = append(findings, sarif.Finding{
				Rule: unformattedRule.ID, Level: sarif.Warning, Message: "it is not formatted from here on: winnow policy fmt -w writes it anew", File: name, Line: first[name],
			})
		}
	}
	return findings
}

// firstChange is the first line of a text that is another one in the other text, counted from 1.
func firstChange(old, text string) int {
	a, b := strings.Split(old, "\n"), strings.Split(text, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i + 1
		}
	}
	return len(a)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "no file"
	}
	return strings.Join(clean(names), ", ")
}

// writeFormatted puts a formatted file in the place of the one that was read, if it still holds what was read.
func writeFormatted(ctx context.Context, u policy.Formatted, old []byte) error {
	now, err := foreign.Read(ctx, u.File, foreign.Want{Max: policy.MaxPolicyFile, Ruling: true})
	if err != nil {
		return fmt.Errorf("write %s: %w; it was left as it is", text.Quote(u.File), err)
	}
	if string(now.Data) != string(old) {
		return fmt.Errorf("write %s: it was changed while it was formatted; it was left as it is. Run the command again", text.Quote(u.File))
	}
	return outfile.Write(ctx, u.File, func(w io.Writer) error {
		_, err := w.Write(u.Text)
		return err
	})
}

func (a *app) showFormat(doc report.PolicyFormat, f fmtFlags, changes string) error {
	if a.flags.format == formJUnit {
		s := junit.Suite{Name: "policy fmt"}
		for _, name := range doc.Files {
			c := junit.Case{Name: plain.Line(name), Class: "fmt", File: plain.Line(name)}
			if slices.Contains(doc.Unformatted, name) && !slices.Contains(doc.Written, name) {
				c.Failure = &junit.Outcome{Type: "format", Message: "it is not formatted: winnow policy fmt -w writes it anew"}
			}
			for _, r := range doc.Problems {
				if r.File == name {
					c.Error = &junit.Outcome{Type: r.Class, Message: plain.Line(r.Error())}
				}
			}
			s.Cases = append(s.Cases, c)
		}
		return a.junit("winnow policy fmt", []junit.Suite{s})
	}
	return a.show(doc, "  ", func(w io.Writer) {
		a.refusalsText(w, doc.Problems, a.paint.Red)
		switch {
		case f.diff:
			for line := range strings.Lines(changes) {
				fmt.Fprintln(w, a.diffLine(strings.TrimRight(line, "\n")))
			}
		default:
			for _, name := range doc.Unformatted {
				fmt.Fprintln(w, text.Clean(name))
			}
		}
		switch n := len(doc.Unformatted); {
		case n == 0 && len(doc.Problems) == 0:
			fmt.Fprintf(w, "ok: %s formatted\n", text.Plural(len(doc.Files), "file"))
		case f.write:
			fmt.Fprintf(w, "%d of %s written anew\n", len(doc.Written), text.Plural(len(doc.Files), "file"))
		case n > 0:
			fmt.Fprintf(w, "%d of %s not formatted; winnow policy fmt -w writes them anew\n", n, text.Plural(len(doc.Files), "file"))
		}
	})
}

// diffLine is a line of a diff, coloured by its first character. Tabs stay: they are most of what Rego is indented with.
func (a *app) diffLine(line string) string {
	shown := strings.ReplaceAll(text.Clean(strings.ReplaceAll(line, "\t", "        ")), "\n", "")
	switch {
	case strings.HasPrefix(line, "+"):
		return a.paint.Green(shown)
	case strings.HasPrefix(line, "-"):
		return a.paint.Red(shown)
	case strings.HasPrefix(line, "@@"):
		return a.paint.Dim(shown)
	}
	return shown
}
