package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

type fmtFlags struct{ write, diff bool }

func newPolicyFmt(a *app) *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt [FOLDER|FILE...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Format policies as opa fmt does",
		Long: `Fmt lists the files of policies and tests that are not written as "opa fmt" writes them, and exits with 1 where there are any. With -w it writes
them, each in one step and with the rights that it has, and exits with 0. It changes no file besides those that were named, or that lie in a
folder that was named; without FOLDER these are the policies of the configuration. A link is refused, and so is a file that is not Rego: then the
others are formatted, and it exits with 2.`,
		Example: `  winnow policy fmt mine --diff
  winnow policy fmt -w mine`,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.policyFmt(cmd.Context(), paths, f) },
	}
	a.formsAndFiles(cmd, "text", "json", formJUnit, formSARIF, formQuality)
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "write the files")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show what differs")
	return cmd
}

// toFormat are the trees that a person names, each a folder or a single file.
func (a *app) toFormat(ctx context.Context, paths []string) (trees []policy.Tree, err error) {
	if len(paths) == 0 {
		paths = a.Cfg.Policy.Paths
	}
	if len(paths) == 0 {
		return nil, config.Usagef("name a folder or a file to format: the configuration names no policies (policy.paths). Nothing was read")
	}
	if inner, outer := overlap(paths); inner != "" {
		return nil, config.Usagef("%s lies in %s: name one of the two. Nothing was read", text.Quote(inner), text.Quote(outer))
	}
	for _, name := range paths {
		folder, file := name, ""
		if st, err := os.Lstat(name); err == nil && st.Mode().IsRegular() {
			if filepath.Ext(name) != ".rego" {
				return nil, config.Usagef("%s is not a policy: its name does not end in .rego. Nothing was read", text.Quote(name))
			}
			folder, file = filepath.Dir(name), filepath.Base(name)
		}
		t, err := a.NamedTree(ctx, folder)
		if err != nil {
			return nil, err
		}
		t.Only = file
		trees = append(trees, t)
	}
	return trees, nil
}

// overlap gives a path that is, or lies in, another one of the paths, and that other one; "" where there is no such pair.
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
	sources, err := policyset.Read(ctx, policy.LoadOptions{Trees: trees, Tests: true, Data: true})
	if err != nil {
		return err
	}
	policies, tests := sources.Names()
	doc := report.PolicyFormat{Schema: report.PolicyFormatSchema, Files: slices.Concat([]string{}, policies, tests), Unformatted: []string{}, Written: []string{}, Problems: []lint.Refusal{}}
	texts := map[string][]byte{}
	err = sandbox.Format(ctx, sources, a.Limits(), sandbox.Self(), func(f policy.Formatted) { texts[f.File] = f.Text })
	if err != nil {
		if doc.Problems, err = policyset.Refusals(err); err != nil {
			return fmt.Errorf("format policies: %w; no file was written", err)
		}
	}
	var changes bytes.Buffer
	var left []lint.Refusal
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		old, _ := sources.Data(name)
		doc.Unformatted = append(doc.Unformatted, name)
		changes.Write(diff.Diff(name, old, name, texts[name]))
		if !f.write {
			left = append(left, unformatted(name, old, texts[name]))
			continue
		}
		if err := writeFormatted(ctx, name, old, texts[name]); err != nil {
			return err
		}
		doc.Written = append(doc.Written, name)
	}
	doc.OK = len(doc.Problems)+len(left) == 0
	return cmp.Or(a.present(ctx, formatResult(doc, left, f, changes.String())),
		exit.CodeIf(len(doc.Problems) > 0, exit.Usage), exit.CodeIf(!doc.OK, exit.Failed))
}

// unformatted is the problem of a file that is not formatted, at its first line that would change.
func unformatted(name string, old, formatted []byte) lint.Refusal {
	same := 0
	for same < min(len(old), len(formatted)) && old[same] == formatted[same] {
		same++
	}
	return lint.Refusal{
		File: name, Line: 1 + bytes.Count(old[:same], []byte("\n")), Class: "unformatted", Problem: "it is not formatted from here on", Fix: "winnow policy fmt -w writes it",
	}
}

// writeFormatted replaces a file that still holds what was read.
func writeFormatted(ctx context.Context, name string, old, formatted []byte) error {
	now, err := safeopen.Read(ctx, name, safeopen.Want{Max: policy.MaxPolicyFile, Ruling: true})
	if err == nil && !bytes.Equal(now.Data, old) {
		err = errors.New("it was changed while it was formatted: run the command again")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; it was left untouched, with the files after it", text.Quote(name), err)
	}
	return atomicfile.WriteData(ctx, name, formatted)
}

func formatResult(doc report.PolicyFormat, left []lint.Refusal, f fmtFlags, changes string) result {
	r := result{command: "policy fmt", doc: doc}
	r.suites = func() []junit.Suite {
		return []junit.Suite{render.RefusalSuite("policy fmt", doc.Files, slices.Concat(doc.Problems, left))}
	}
	r.findings = func() ([]sarif.Rule, []sarif.Finding) {
		rule := sarif.Rule{ID: "unformatted", Short: "The file is not written as opa fmt writes it.", Help: "Run winnow policy fmt -w."}
		unformatted := render.RefusalFindings(left, sarif.Warning)
		return append(render.RefusalRules(), rule), append(render.RefusalFindings(doc.Problems, sarif.Error), unformatted...)
	}
	r.text = func(p render.Paint, w io.Writer) {
		p.Refusals(w, doc.Problems, p.Red)
		names := termsafe.Lines(strings.Join(append(render.CleanNames(doc.Unformatted), ""), "\n"))
		if f.diff {
			names = termsafe.Lines(strings.ReplaceAll(changes, "\t", "        "))
		}
		fmt.Fprint(w, names)
		switch n := len(doc.Unformatted); {
		case f.write:
			fmt.Fprintf(w, "%d of %s written\n", n, text.Plural(len(doc.Files), "file"))
		case n > 0:
			fmt.Fprintf(w, "%d of %s not formatted; winnow policy fmt -w writes them\n", n, text.Plural(len(doc.Files), "file"))
		case len(doc.Problems) == 0:
			fmt.Fprintf(w, "ok: %s formatted\n", text.Plural(len(doc.Files), "file"))
		}
	}
	return r
}
