package policy_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/rules"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

var update = flag.Bool("update", false, "write testdata/refusals.txtar again")

// TestRefusalsAreInWords holds the messages about wrong rules to a file that people read: the place, the problem, the line with a mark below it, and what
// to do.
func TestRefusalsAreInWords(t *testing.T) {
	t.Parallel()
	attack.WithoutRaces(t)
	const golden = "testdata/refusals.txtar"
	archive := must.Get(txtar.ParseFile(golden))(t)
	trees, order, want := map[string]map[string]string{}, []string{}, map[string]string{}
	for _, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if file == "want" {
			order, want[name] = append(order, name), string(f.Data)
			continue
		}
		if trees[name] == nil {
			trees[name] = map[string]string{}
		}
		trees[name][file] = string(f.Data)
	}
	if len(order) < 40 {
		t.Fatalf("only %d wrong rules", len(order))
	}
	checked := 0
	for i, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if file != "want" {
			continue
		}
		if checked++; !stage.Second() && !*update && checked%4 != 0 {
			continue
		}
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{
			{Name: "embedded", FS: policies.Files}, {Name: "mine", FS: rules.Tree(trees[name]), Prefix: "mine"},
		}})
		have := words(t, err)
		if diff := cmp.Diff(want[name], have); diff != "" && !*update {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
		archive.Files[i].Data = []byte(have)
	}
	if *update {
		must.Do(t, os.WriteFile(golden, txtar.Format(archive), 0o644))
	}
}

// words are refusals as winnow policy check shows them.
func words(t *testing.T, err error) string {
	t.Helper()
	var b strings.Builder
	refused := lint.Refusals(nil)
	if !errors.As(err, &refused) {
		t.Fatalf("no refusal: %v", err)
	}
	for _, r := range refused {
		fmt.Fprintf(&b, "%s:%d:%d: %s [%s]\n", r.File, r.Line, r.Column, r.Problem, r.Class)
		if r.Text != "" {
			fmt.Fprintf(&b, "    %s\n", r.Text)
		}
		if r.At > 0 {
			fmt.Fprintf(&b, "    %s^\n", strings.Repeat(" ", r.At-1))
		}
		fmt.Fprintf(&b, "  %s\n", r.Fix)
	}
	return b.String()
}
