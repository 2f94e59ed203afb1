// Package monitoring has the alert rules and the dashboard for what winnow run tells Prometheus, and their tests.
package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// served are the names in the metrics' golden file, with what Prometheus makes of a histogram.
func served(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(string(must.Get(os.ReadFile("../../internal/metrics/testdata/names.txt"))(t))) {
		name, rest, _ := strings.Cut(line, "{")
		names = append(names, name)
		if strings.Contains(rest, "} histogram:") {
			names = append(names, name+"_bucket", name+"_sum", name+"_count")
		}
	}
	return names
}

var ours = regexp.MustCompile(`\bwinnow_[a-z_]+`)

// alerts are the expressions of the alert rules by their names.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("alerts.yaml"))(t), &file))
	out := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			out[r.Alert] = r.Expr
		}
	}
	return out
}

// panels are the expressions of the dashboard by the title of their panel.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("dashboard.json"))(t), &file))
	out := map[string][]string{}
	taken := map[[2]int]string{}
	for _, p := range file.Panels {
		if len(p.Targets) == 0 || out[p.Title] != nil {
			t.Errorf("panel %q asks for nothing, or is there twice", p.Title)
		}
		for _, q := range p.Targets {
			out[p.Title] = append(out[p.Title], q.Expr)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies over %q, or beyond the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	return out
}

// TestEveryNameIsServed: an alert on a name that is not served never fires, and that is not seen.
func TestEveryNameIsServed(t *testing.T) {
	t.Parallel()
	names, asked := served(t), map[string]bool{}
	check := func(where, expr string) {
		found := ours.FindAllString(expr, -1)
		if len(found) == 0 && !strings.Contains(expr, "up{") && !strings.Contains(expr, "process_") {
			t.Errorf("%s asks for nothing of winnow's: %s", where, expr)
		}
		for _, name := range found {
			if asked[name] = true; !slices.Contains(names, name) {
				t.Errorf("%s asks for %s, which is not served", where, name)
			}
		}
	}
	for name, expr := range alerts(t) {
		check(name, expr)
	}
	for title, exprs := range panels(t) {
		for _, expr := range exprs {
			check(title, expr)
		}
	}
	if len(asked) < 15 {
		t.Errorf("only %d names are used", len(asked))
	}
}

// promtool runs Prometheus's own, or skips the test.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	path := stage.NeedProgram(t, "promtool") // Debian's package prometheus has it
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolTakesTheAlerts(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	t.Parallel()
	promtool(t, ".", "check", "rules", "alerts.yaml")
	promtool(t, ".", "test", "rules", "alerts_test.yaml")
	cases := string(must.Get(os.ReadFile("alerts_test.yaml"))(t))
	for name := range alerts(t) {
		if strings.Count(cases, name) < 2 {
			t.Errorf("alerts_test.yaml has not both a case in which %s fires and one in which it does not", name)
		}
	}
}

// TestPromtoolTakesTheDashboard has promtool read every expression of the dashboard, as Grafana would send it.
func TestPromtoolTakesTheDashboard(t *testing.T) {
	t.Parallel()
	var rules bytes.Buffer
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	n := 0
	for _, exprs := range panels(t) {
		for _, expr := range exprs {
			n++
			fmt.Fprintf(&rules, "  - {record: 'panel:%d', expr: %q}\n", n, strings.NewReplacer("$instance", ".*", "$job", ".*").Replace(expr))
		}
	}
	if strings.Contains(rules.String(), "$") {
		t.Errorf("a variable is left: %s", rules.String())
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "dashboard.yaml"), rules.Bytes(), 0o600))
	promtool(t, dir, "check", "rules", "dashboard.yaml")
}
