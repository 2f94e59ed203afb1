package ci_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

const (
	template = "packaging/ci/gitlab/winnow.gitlab-ci.yml"
	begins   = "      cat >\"$run\" <<'END_OF_RUN_SH'\n"
	ends     = "      END_OF_RUN_SH\n"
)

// TestTheTemplateHasTheScript: an include brings one file, so run.sh stands in it, word for word.
func TestTheTemplateHasTheScript(t *testing.T) {
	t.Parallel()
	data := must.Get(os.ReadFile(filepath.Join(root, template)))(t)
	script := must.Get(os.ReadFile(filepath.Join(root, "packaging", "ci", "action", "run.sh")))(t)
	before, rest, ok := strings.Cut(string(data), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for run.sh", template)
	}
	var inside strings.Builder
	for line := range strings.Lines(string(script)) {
		if line != "\n" {
			inside.WriteString("      ")
		}
		inside.WriteString(line)
	}
	want := before + begins + inside.String() + ends + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s has another run.sh than packaging/ci/action has; go test ./packaging/ci -run Template -update writes it", template)
	}
	must.Do(t, os.WriteFile(filepath.Join(root, template), []byte(want), 0o644))
}

// TestGitLab runs the template's job in a merge request that reaps more.
func TestGitLab(t *testing.T) {
	w := newWorld(t)
	w.edit("config.yaml", "scratch_after: 2d", "scratch_after: 12h")
	w.commit("change")
	data := must.Get(os.ReadFile(filepath.Join(root, template)))(t)
	var file map[string]struct {
		Variables map[string]string
		Script    []string
		Artifacts struct {
			Paths   []string
			Reports map[string]string
		}
	}
	must.Do(t, yaml.Unmarshal(data, &file))
	job := file[".winnow-policies"]
	env := map[string]string{"PATH": strings.Join(append(w.path, system(t)...), ":"), "HOME": w.home}
	for name, value := range job.Variables {
		env[name] = strings.ReplaceAll(value, "$CI_MERGE_REQUEST_DIFF_BASE_SHA", w.base)
	}
	env["INPUT_CONFIG"], env["INPUT_CONFORMANCE"] = "config.yaml", "false" // as a team says it in its own job
	var log bytes.Buffer
	if code := w.bash(&log, strings.Join(job.Script, "\n"), env); code != 1 {
		t.Errorf("want exit code 1, got %d\n%s", code, log.String())
	}
	if left, err := filepath.Glob(filepath.Join(w.temp, "tmp.*")); err != nil || len(left) > 0 {
		t.Errorf("%q stay, %v", left, err)
	}
	r := result{outputs: map[string]string{"sarif": filepath.Join(w.dir, job.Artifacts.Paths[0], "sarif"), "junit": filepath.Dir(filepath.Join(w.dir, job.Artifacts.Reports["junit"]))}}
	if names := documents(t, r); !slices.Equal(names, []string{"check.sarif", "diff.sarif", "test.sarif", "check.xml", "diff.xml", "test.xml"}) {
		t.Errorf("got %q\n%s", names, log.String())
	}
	comment := must.Get(os.ReadFile(filepath.Join(w.dir, job.Artifacts.Paths[0], "comment.md")))(t)
	has(t, string(comment), "2 things that stay today would go")
	report := must.Get(os.ReadFile(filepath.Join(w.dir, job.Artifacts.Reports["codequality"])))(t)
	var issues []struct {
		Description, Fingerprint, Severity string
		Location                           struct{ Path string }
	}
	must.Do(t, json.Unmarshal(report, &issues))
	if len(issues) != 2 || issues[0].Severity != "critical" || issues[0].Location.Path != "policies/reap/dirs/scratch/scratch.rego" || issues[0].Fingerprint == "" {
		t.Errorf("got %+v", issues)
	}
}
