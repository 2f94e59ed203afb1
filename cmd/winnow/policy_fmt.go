package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/policyset"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newPolicyFmt(a *app) *cobra.Command {
	var write, diff bool
	cmd := &cobra.Command{
		Use:   "fmt [FOLDER|FILE...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Format policies as opa fmt does",
		RunE:  func(cmd *cobra.Command, paths []string) error { return a.policyFmt(cmd.Context(), paths, write, diff) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the files")
	cmd.Flags().BoolVar(&diff, "diff", false, "show what differs")
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

func (a *app) policyFmt(ctx context.Context, paths []string, write, differ bool) error {
	trees, err := a.toFormat(ctx, paths)
	if err != nil {
		return err
	}
	sources, err := policyset.Read(ctx, policy.LoadOptions{Trees: trees, Tests: true, Data: true})
	if err != nil {
		return err
	}
	policies, tests := sources.Names()
	files := slices.Concat([]string{}, policies, tests)
	doc := report.PolicyFormat{Schema: report.PolicyFormatSchema, Files: files, Unformatted: []string{}, Written: []string{}, Problems: []lint.Refusal{}}
	var changes bytes.Buffer
	err = sources.Format(ctx, func(name string, old, formatted []byte) error {
		if bytes.Equal(old, formatted) {
			return nil
		}
		doc.Unformatted = append(doc.Unformatted, name)
		changes.Write(diff.Diff(name, old, name, formatted))
		if !write {
			return nil
		}
		doc.Written = append(doc.Written, name)
		return writeFormatted(ctx, name, old, formatted)
	})
	if err != nil {
		if doc.Problems, err = policyset.Refusals(err); err != nil {
			return fmt.Errorf("format policies: %w", err)
		}
	}
	doc.OK = len(doc.Problems) == 0 && len(doc.Unformatted) == len(doc.Written)
	err = a.show(doc, nil, "  ", func(w io.Writer) {
		a.paint.Refusals(w, doc.Problems, a.paint.Red)
		names := strings.Join(append(doc.Unformatted, ""), "\n")
		if differ {
			names = strings.ReplaceAll(changes.String(), "\t", "        ")
		}
		fmt.Fprint(w, termsafe.Lines(names))
		switch n, files := len(doc.Unformatted), text.Plural(len(files), "file"); {
		case write:
			fmt.Fprintf(w, "%d of %s written\n", n, files)
		case n > 0:
			fmt.Fprintf(w, "%d of %s not formatted; winnow policy fmt -w writes them\n", n, files)
		case len(doc.Problems) == 0:
			fmt.Fprintf(w, "ok: %s formatted\n", files)
		}
	})
	return cmp.Or(err, exit.CodeIf(len(doc.Problems) > 0, exit.Usage), exit.CodeIf(!doc.OK, exit.Failed))
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
