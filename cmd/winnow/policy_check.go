package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policytest"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

type checkFlags struct {
	rulesOf string
	advice  bool
}

func newPolicyCheck(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [FOLDER...]",
		Short: "Say what is wrong with policies before they run",
		Long: `Check reads folders of policies and says of each problem the file, the line and what to write instead. It finds what
"opa check --strict --schema" finds, in the tests too, and what Winnow refuses besides: a rule in a folder where nothing asks it, a "not" in a rule
that reaps, a built-in that policies may not call, a parameter that nobody declares.

Without FOLDER it checks the policies of the configuration, as a sweep would load them, and what the configuration says of their rules. With
FOLDER it checks those folders on top of the embedded policies, or alone with --no-embedded-policy. Policies are read, never run.

It exits with 0 when nothing is wrong, and with 2 when the policies would be refused.`,
		Example: `  winnow policy check mine
  winnow policy check policies --rules-of config.yaml
  winnow policy check mine --also sarif=check.sarif --also junit=check.xml`,
		RunE: func(cmd *cobra.Command, folders []string) error { return a.policyCheck(cmd.Context(), folders, f) },
	}
	a.formsAndFiles(cmd, "text", "json", formJUnit, formSARIF, formQuality)
	cmd.Flags().StringVar(&f.rulesOf, "rules-of", "", "also check what this configuration `file` says of the rules: levels and parameters")
	cmd.Flags().BoolVar(&f.advice, "advice", false, "also say what is asked of the rules that ship with Winnow: METADATA on everything, no numbers in rules")
	return cmd
}

// given are the trees that a person names, on top of the embedded policies where these are wanted; without any, those of the configuration.
func (a *app) given(ctx context.Context, folders []string) ([]policy.Tree, error) {
	if len(folders) == 0 {
		trees, err := a.Trees(ctx)
		if err != nil {
			return nil, err
		}
		published, err := a.PublishedTrees(ctx)
		trees = append(trees, published...)
		for i := range trees { // without a folder of one's own the embedded ones are what is meant
			trees[i].Beside = (trees[i].Name == ruleset.EmbeddedName || trees[i].Published) && len(trees) > 1
		}
		return trees, err
	}
	if len(a.flags.policy) > 0 {
		a.Note("--policy is not used, since folders were named: %s", strings.Join(a.flags.policy, ", "))
	}
	var trees []policy.Tree
	if a.Cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files, Beside: true})
	}
	for _, name := range folders {
		if st, err := os.Stat(name); err == nil && !st.IsDir() && filepath.Ext(name) == ".rego" {
			return nil, config.Mistakef("%s is a file, and a rule's package is its folder: give the folder of the tree%s. Nothing was read", text.Quote(name), treeOf(name))
		}
		t, err := a.NamedTree(ctx, name)
		if err != nil {
			return nil, err
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// treeOf guesses the tree that a file lies in by the names of families above it; "" when it is missing.
func treeOf(file string) string {
	for dir := filepath.Dir(filepath.Clean(file)); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if slices.Contains([]string{"reap", "protect", "lib", "main"}, filepath.Base(dir)) {
			return ", " + text.Quote(filepath.Dir(dir))
		}
	}
	return ""
}

// treeNames are the names of the trees that are not the embedded one, and whether that is among them.
func treeNames(trees []policy.Tree) (names []string, embedded bool) {
	names = []string{}
	for _, t := range trees {
		if t.Name == ruleset.EmbeddedName {
			embedded = true
		} else {
			names = append(names, t.Name)
		}
	}
	return names, embedded
}

// readTrees reads trees with their tests.
func readTrees(ctx context.Context, o policy.LoadOptions) (*policy.Sources, error) {
	s, err := policy.Read(ctx, o)
	if err != nil {
		return nil, ruleset.PolicyError(ctx, err)
	}
	return s, nil
}

func (a *app) policyCheck(ctx context.Context, folders []string, f checkFlags) error {
	trees, err := a.given(ctx, folders)
	if err != nil {
		return err
	}
	sources, err := readTrees(ctx, policy.LoadOptions{Trees: trees, Tests: true})
	if err != nil {
		return err
	}
	checked, err := sandbox.Check(ctx, sources, a.Limits(), sandbox.Self(), f.advice)
	if err != nil {
		return err
	}
	r, layers := ruleset.Set{Trees: trees, Cfg: a.Cfg}, []report.PolicyLayer{}
	if len(checked.Refused) == 0 {
		p := sources.Unbuilt(checked.Rules)
		if checked.Refused, err = refusedLayers(r.Layered(p)); err != nil {
			return err
		}
		layers = r.Shown(p)
		if len(folders) == 0 && len(checked.Refused) == 0 {
			if err := r.Check(p); err != nil {
				return err
			}
		}
	}
	if f.rulesOf != "" && len(checked.Refused) == 0 {
		cfg, err := config.Load(f.rulesOf, os.Environ())
		if err != nil {
			return config.Mistakef("--rules-of: %w", err)
		}
		r := ruleset.Set{Trees: trees, Cfg: cfg}
		if err := r.Check(sources.Unbuilt(checked.Rules)); err != nil {
			return err
		}
	}
	exceptions := report.Exceptions(sources.Exceptions(), time.Now(), nil)
	doc := report.PolicyCheck{
		Schema: report.PolicyCheckSchema, Exceptions: exceptions, OK: len(checked.Refused) == 0, Rules: []string{}, Layers: layers, Kinds: append([]string{}, checked.Kinds...),
		Problems: append([]policy.Refusal{}, checked.Refused...), Advice: slices.Concat([]policy.Refusal{}, checked.Advice, report.Advice(exceptions)), Passed: sources.Passed(),
	}
	doc.Trees, doc.Embedded = treeNames(trees)
	doc.Files, doc.Tests = sources.Names()
	for _, id := range slices.Sorted(maps.Keys(checked.Rules)) {
		if slices.Contains(doc.Files, checked.Rules[id].File) {
			doc.Rules = append(doc.Rules, id)
		}
	}
	if err := a.written(ctx, func(a *app) error { return a.showCheck(doc) }); err != nil {
		return err
	}
	if !doc.OK {
		return exit.Error{Code: exit.Usage}
	}
	return nil
}

func (a *app) showCheck(doc report.PolicyCheck) error {
	switch a.flags.format {
	case formJUnit:
		return a.junit("winnow policy check", []junit.Suite{policytest.RefusalSuite("policy check", slices.Concat(doc.Files, doc.Tests), doc.Problems)})
	case formSARIF, formQuality:
		return a.findings("policy check", sarifRules(), slices.Concat(policytest.RefusalFindings(doc.Problems, sarif.Error), policytest.RefusalFindings(doc.Advice, sarif.Note)))
	}
	return a.show(doc, "  ", func(w io.Writer) { a.checkText(w, doc) })
}

// sarifRules are the classes of refusals.
func sarifRules() []sarif.Rule {
	var rules []sarif.Rule
	for _, c := range policy.Classes {
		rules = append(rules, sarif.Rule{ID: c.ID, Short: c.Short})
	}
	return rules
}

// spot is a file with line and column, as editors and terminals take it.
func spot(r policy.Refusal) string {
	s := text.Clean(r.File)
	if r.Line > 0 {
		s += fmt.Sprintf(":%d", r.Line)
	}
	if r.Line > 0 && r.Column > 0 {
		s += fmt.Sprintf(":%d", r.Column)
	}
	return s
}

// refusalsText writes problems: where, what, the line and what to do.
func (a *app) refusalsText(w io.Writer, rs []policy.Refusal, colour func(string) string) {
	for _, r := range rs {
		fmt.Fprintf(w, "%s: %s %s\n", a.paint.Bold(spot(r)), colour(text.Clean(r.Problem)), a.paint.Dim("["+r.Class+"]"))
		if r.Text != "" {
			fmt.Fprintf(w, "    %s\n", text.Clean(r.Text))
			if r.At > 0 && text.Clean(r.Text) == r.Text { // else the columns are not those of the file
				fmt.Fprintf(w, "    %s%s\n", strings.Repeat(" ", r.At-1), colour("^"))
			}
		}
		fmt.Fprintf(w, "  %s\n", text.Clean(r.Fix))
	}
}

func (a *app) checkText(w io.Writer, doc report.PolicyCheck) {
	a.refusalsText(w, doc.Problems, a.paint.Red)
	a.refusalsText(w, doc.Advice, a.paint.Yellow)
	if len(doc.Problems)+len(doc.Advice) > 0 {
		fmt.Fprintln(w)
	}
	on := "without the embedded policies"
	switch {
	case len(doc.Trees) == 0:
		on = "the embedded policies"
	case doc.Embedded:
		on = "on top of the embedded policies"
	}
	of := strings.TrimPrefix(strings.Join(clean(doc.Trees), ", ")+", ", ", ") + on
	if !doc.OK {
		fmt.Fprintf(w, "refused: %s in %s (%s); as they are, nothing of them is loaded\n",
			text.Plural(len(doc.Problems), "problem"), of, text.Plural(len(doc.Files)+len(doc.Tests), "file"))
	} else {
		fmt.Fprintf(w, "ok: %s, %s, %s in %s\n", text.Plural(len(doc.Files), "policy file"), text.Plural(len(doc.Tests), "test file"),
			text.Plural(len(doc.Rules), "rule"), of)
		if len(doc.Trees) > 0 {
			fmt.Fprintf(w, "rules: %s\n", strings.Join(clean(doc.Rules), ", "))
		}
		fmt.Fprintf(w, "kinds: %s\n", strings.Join(doc.Kinds, ", "))
		if n := len(doc.Exceptions); n > 0 {
			passed := 0
			for _, x := range doc.Exceptions {
				if x.State == report.Passed {
					passed++
				}
			}
			fmt.Fprintf(w, "exceptions: %d in force, %d expired\n", n-passed, passed)
		}
		for _, l := range doc.Layers {
			if len(doc.Layers) > 1 {
				a.paint.Sentence(w, "layer "+l.Layer+": "+text.Clean(ops.LayerText(l)))
			}
		}
	}
	if len(doc.Passed) > 0 && len(doc.Trees) > 0 {
		fmt.Fprintf(w, "not read, since they are neither policies (.rego) nor tests (_test.rego), or lie in a folder whose name begins with a dot: %s\n", strings.Join(clean(doc.Passed), ", "))
	}
}

func clean(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = text.Clean(n)
	}
	return out
}

// asRefusals takes the refusals out of an error; any other error stays.
func asRefusals(err error) ([]policy.Refusal, error) {
	if rs := (policy.Refusals)(nil); errors.As(err, &rs) {
		return rs, nil
	}
	return nil, err
}
