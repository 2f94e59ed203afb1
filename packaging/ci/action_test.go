package ci_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// with are the inputs of the example's workflow; the shipped incidents take longer than all the rest, and one test decides them.
func with(more ...string) map[string]string {
	in := map[string]string{"config": "config.yaml", "threshold": "90", "conformance": "false"}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i]] = more[i+1]
	}
	return in
}

// TestNoExpressionIsInAScript: what an event or an input says goes through variables alone.
func TestNoExpressionIsInAScript(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatal("action.yml is no composite action with steps")
	}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("the step %q has an expression in its script", s.Name)
		}
	}
}

// hostileBranch is a name that git takes and that a careless script runs.
const hostileBranch = "a`touch${IFS}pwned`$(touch${IFS}pwned);touch${IFS}pwned"

// TestAChangeThatReapsMore: a rule lets go of more, and a parameter too; a branch has a hostile name, and Regal is installed.
func TestAChangeThatReapsMore(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("go", "tool", "-n", "-modfile="+filepath.Join(root, "tools", "regal", "go.mod"), "regal")
	regal, err := cmd.Output()
	if err != nil {
		t.Fatalf("find regal: %v", err)
	}
	w.program("regal", "exec "+strings.TrimSpace(string(regal))+` "$@"`)
	w.git("checkout", "-q", "-b", hostileBranch)
	w.edit("policies/protect/wip/wip.rego", "refs/heads/wip/", "refs/heads/draft/")
	w.edit("policies/protect/wip/wip_test.rego", "refs/heads/wip/", "refs/heads/draft/")
	w.edit("config.yaml", "scratch_after: 2d", "scratch_after: 12h")
	// A rule for Regal itself would be run as it is.
	w.write(".regal/rules/custom/regal/rules/evil/evil/evil.rego", "package custom.regal.rules.evil.evil\n\nimport data.regal.result\n\nreport contains result.fail(rego.metadata.chain(), {}) if input\n")
	w.commit("$(touch pwned)")
	r := w.run(with("conformance", "true"))
	want(t, r, 1, map[string]string{"result": "failed", "new-reap": "3", "new-keep": "0", "others": "0"})
	has(t, r.comment,
		"<!-- winnow policies: policies -->\n## Winnow policies failed: diff\n\n| check | what it holds | result |\n|---|---|---|\n| check | the policies would be taken | passed |\n| fmt |",
		" | passed |\n| conformance | incidents that Winnow ships | passed |\n| regal | Regal's rules of style | passed |\n| diff | what would go that stays today | **failed** |\n",
		"### winnow policy diff: 3 things that stay today would go",
		"`"+w.base[:10]+"` with `config.yaml` to `"+w.git("rev-parse", "HEAD")[:10]+"` with `config.yaml`: 14 candidates compared in 2 snapshots",
		"is labelled as live, and would go** (`snapshots/build-1-sunday.json` and 1 more)",
		"`protect.wip` does not object any more, `policies/protect/wip/wip.rego:9`",
		"`reap.dirs.scratch` finds a reason to reap, `policies/reap/dirs/scratch/scratch.rego:18`",
		"which `--fail-on` new-reap forbids")
	has(t, r.log, "::error::winnow policies: failed: diff.")
	got := documents(t, r)
	if want := []string{"check.sarif", "conformance.sarif", "diff.sarif", "regal.sarif", "test.sarif", "check.xml", "conformance.xml", "diff.xml", "test.xml"}; !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	if state := w.git("status", "--porcelain", "--ignored"); state != "" {
		t.Errorf("the repository was changed:\n%s", state)
	}
}

// TestAChangeOfNothing passes; what was edited of that by which it is judged is said. Regal is not there.
func TestAChangeOfNothing(t *testing.T) {
	w := newWorld(t)
	w.edit("snapshots/build-1-tuesday.labels.yaml", "somebody came back", "she came back")
	w.edit("policies/protect/wip/wip.rego", "# No checkout of a repository.", "# No checkout.")
	w.commit("words")
	r := w.run(with())
	want(t, r, 0, map[string]string{"result": "passed", "new-reap": "0", "new-keep": "0", "others": "0"})
	has(t, r.comment, "## Winnow policies passed\n", "| test | the tests of the policies | passed |\n| conformance | incidents that Winnow ships | not run (conformance: false) |\n",
		"| not run (not installed) |\n| diff | what would go that stays today | passed |\n",
		"> This change edits or removes 1 of the files by which it is judged", "### winnow policy diff: no decision changes")
	documents(t, r)

	// What is wanted and is not there fails.
	r = w.run(with("regal", "true"))
	want(t, r, 1, map[string]string{"result": "failed"})
	has(t, r.comment, "| **not installed** |", "    regal is not on PATH, and the input regal is true")
}

// TestTestsThatFail: what failed is said, and what was not asked to fail does not.
func TestTestsThatFail(t *testing.T) {
	w := newWorld(t)
	w.edit("policies/protect/wip/wip.rego", "refs/heads/wip/", "refs/heads/draft/")
	w.edit("policies/reap/dirs/scratch/scratch.rego", "\tin_scope\n", "        in_scope\n")
	w.remove("policies/reap/dirs/scratch/scratch_test.rego")
	w.commit("no tests")
	r := w.run(with("fail-on", "none", "threshold", "100"))
	want(t, r, 1, map[string]string{"new-reap": "1"})
	has(t, r.comment, "## Winnow policies failed: fmt, test, diff\n", "| **failed** |\n| test |", "<summary>what test said</summary>",
		"    fail     data.policies.protect.wip_test.test_work_in_progress_stays", "--threshold wants 100 %", "<summary>what fmt said</summary>", "is labelled as live")
	if strings.Contains(r.comment, "--fail-on") {
		t.Errorf("nobody asked new-reap to fail:\n%s", r.comment)
	}
}

// TestABaseThatIsNotThere: the checkout has the last commit alone.
func TestABaseThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.edit("config.yaml", "scratch_after: 2d", "scratch_after: 12h")
	w.commit("change")
	shallow := filepath.Join(t.TempDir(), "shallow")
	w.git("clone", "-q", "--depth=1", "file://"+w.dir, shallow)
	w.dir = shallow
	r := w.run(with())
	want(t, r, 1, map[string]string{"result": "failed", "new-reap": ""})
	has(t, r.comment, "| the tests of the policies | passed |", "| **failed: no base commit** |", "give actions/checkout 'fetch-depth: 0'", w.base)
}

// TestABranchThatIsBehind is compared with where it began, and not with what the base has got since.
func TestABranchThatIsBehind(t *testing.T) {
	w := newWorld(t)
	w.git("branch", "topic")
	w.edit("config.yaml", "scratch_after: 2d", "scratch_after: 12h")
	w.commit("later")
	w.base = w.git("rev-parse", "HEAD")
	w.git("checkout", "-q", "topic")
	w.commit("nothing")
	want(t, w.run(with()), 0, map[string]string{"new-reap": "0", "new-keep": "0"})
}

// TestSnapshotsThatAreNotThere: without any, nothing is compared and that is said; one who takes them away fails.
func TestSnapshotsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	with1 := w.base
	w.remove("snapshots")
	w.commit("no snapshots")
	r := w.run(with())
	want(t, r, 1, map[string]string{"result": "failed", "new-reap": ""})
	has(t, r.comment, "| **failed: the snapshots were removed** |", "    this change removes the folder snapshots")
	w.base = w.git("rev-parse", "HEAD")
	w.commit("nothing")
	r = w.run(with())
	want(t, r, 0, map[string]string{"result": "passed", "new-reap": "", "others": ""})
	has(t, r.comment, "| not run (no folder `snapshots`: winnow snapshot --redact makes one) |")
	r = w.run(with("snapshots", "snapshots"))
	want(t, r, 1, map[string]string{"result": "failed"})
	if w.base == with1 {
		t.Error("the base is the first one")
	}
}

// TestPoliciesThatDoNotLoad: the problem is said as code, with any text in that line, and nothing else is run.
func TestPoliciesThatDoNotLoad(t *testing.T) {
	w := newWorld(t)
	w.write("policies/reap/dirs/evil/evil.rego", "package policies.reap.dirs.evil\n\n::error::</details><h1>@octo</h1> ``` $(touch pwned) ![x](http://localhost/x.png)\n")
	w.commit("evil")
	r := w.run(with())
	want(t, r, 1, map[string]string{"result": "failed", "new-reap": ""})
	has(t, r.comment, "## Winnow policies failed: check, fmt\n", "| the tests of the policies | not run (the policies are refused) |", "| what would go that stays today | not run (the policies are refused) |", "    policies/reap/dirs/evil/evil.rego:3")
	for line := range strings.Lines(r.comment) {
		if strings.Contains(line, "octo") && !strings.HasPrefix(line, "    ") {
			t.Errorf("it stands outside of code: %s", line)
		}
	}
	if names := documents(t, r); !slices.Contains(names, "check.sarif") {
		t.Errorf("got %q", names)
	}
}

// TestTheFirstPolicies: the base has neither policies nor a configuration, so what Winnow brings is what they change.
func TestTheFirstPolicies(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.remove("policies")
		w.remove("config.yaml")
	})
	must.Do(t, os.CopyFS(filepath.Join(w.dir, "policies"), os.DirFS(filepath.Join(root, "examples", "team-policies", "policies"))))
	data := must.Get(os.ReadFile(filepath.Join(root, "examples", "team-policies", "config.yaml")))(t)
	w.write("config.yaml", string(data))
	w.commit("policies")
	r := w.run(with())
	want(t, r, 1, map[string]string{"new-reap": "3"})
	has(t, r.comment, "`embedded`", "`reap.dirs.scratch` finds a reason to reap")
}

// TestACheckoutThatOthersCanWrite is judged all the same: runners in containers make such ones. As root it is another user's, too.
func TestACheckoutThatOthersCanWrite(t *testing.T) {
	w := newWorld(t)
	w.edit("config.yaml", "scratch_after: 2d", "scratch_after: 12h")
	w.commit("change")
	head := w.git("rev-parse", "--abbrev-ref", "HEAD")
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		info, e := os.Lstat(path)
		if err = errors.Join(err, e); err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		err = os.Chmod(path, info.Mode()|0o022)
		if os.Geteuid() == 0 {
			err = errors.Join(err, os.Lchown(path, 4711, 4711))
		}
		return err
	})
	if err != nil || head != "main" {
		t.Fatal(err, head)
	}
	a := readAction(t)
	var log bytes.Buffer
	env := map[string]string{"PATH": strings.Join(append(slices.Clone(w.path), system(t)...), ":"), "HOME": w.home, "RUNNER_TEMP": w.temp, "GITHUB_ACTION_PATH": root,
		"GITHUB_STEP_SUMMARY": filepath.Join(w.temp, "summary"), "INPUT_CONFIG": "config.yaml", "INPUT_CONFORMANCE": "false", "INPUT_BASE": w.base}
	if code := w.bash(&log, a.Runs.Steps[0].Run, env); code != 1 {
		t.Errorf("want exit code 1, got %d", code)
	}
	has(t, w.read("summary"), "### winnow policy diff: 2 things that stay today would go")
	if t.Failed() {
		t.Log(log.String())
	}
}

// TestMistakesInAWorkflow name the input and what to write, and nothing is checked.
func TestMistakesInAWorkflow(t *testing.T) {
	w := newWorld(t)
	w.write("tools/winnow", "#!/bin/sh\ntouch pwned\n")
	must.Do(t, os.Chmod(filepath.Join(w.dir, "tools", "winnow"), 0o755))
	w.commit("a program")
	for _, c := range []struct {
		in   map[string]string
		says string
	}{
		{with("policies", "../policies"), "the input policies is '../policies': name a folder or a file by its path in the repository"},
		{with("policies", "/etc"), "the input policies is '/etc'"},
		{with("policies", "."), "the input policies is '.'"},
		{with("policies", "--help"), "the input policies is '--help'"},
		{with("policies", "rules"), "there is no folder rules in this checkout"},
		{with("config", "none.yaml"), "there is no file none.yaml in this checkout"},
		{with("snapshots", "a/../../b"), "the input snapshots is 'a/../../b'"},
		{with("fail-on", "new-raep"), "the input fail-on is 'new-raep': it is one of new-reap any none"},
		{with("regal", "yes"), "the input regal is 'yes'"},
		{with("threshold", "80%"), "the input threshold is '80%25': it is a number of percent"},
		{with("winnow", "./tools/winnow"), "is part of the repository"},
		{with("winnow", "no-such-program"), "there is no such program"},
	} {
		r := w.run(c.in)
		want(t, r, 2, map[string]string{"result": "", "comment": ""})
		has(t, r.log, "::error::", c.says, "; nothing was checked\n")
	}
	w.path = nil
	w.env = map[string]string{"GITHUB_ACTION_PATH": ""}
	var log bytes.Buffer
	code := w.bash(&log, `bash "`+root+`/packaging/ci/action/run.sh"`, map[string]string{"PATH": strings.Join(system(t), ":")})
	if _, err := exec.LookPath("/usr/bin/winnow"); err != nil && code != 2 {
		t.Errorf("without a program the exit code is %d\n%s", code, log.String())
	}
}

// TestTheProgramIsBuilt from the action's own files where the workflow says so.
func TestTheProgramIsBuilt(t *testing.T) {
	w := newWorld(t)
	w.commit("nothing")
	out := must.Get(exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY").Output())(t)
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	w.path = []string{filepath.Join(lines[0], "bin")}
	w.env = map[string]string{"GOCACHE": lines[1], "GOMODCACHE": lines[2], "GOFLAGS": lines[3], "GOPROXY": lines[4]}
	r := w.run(with("winnow", "build"))
	want(t, r, 0, map[string]string{"result": "passed"})
	has(t, r.log, "winnow is built from this action")
}

// TestTheProgramIsDownloaded where it is not on PATH: the release of the action's tag, and nothing that is not what its checksums say.
func TestTheProgramIsDownloaded(t *testing.T) {
	w := newWorld(t)
	w.commit("nothing")
	dir := filepath.Join(w.temp, "releases", "download", "v1.2.3")
	w.release(dir)
	w.path = nil
	w.env = map[string]string{"INSTALL_FROM": "file://" + filepath.Join(w.temp, "releases"), "ACTION_REF": "v1.2.3"}
	r := w.run(with())
	want(t, r, 0, map[string]string{"result": "passed"})
	has(t, r.log, "installed ")
	r = w.run(with("version", "9.9.9"))
	want(t, r, 2, map[string]string{"result": ""})
	has(t, r.log, "download/v9.9.9/checksums.txt could not be fetched", "::error::winnow 9.9.9 could not be downloaded", "; nothing was checked")
	must.Do(t, os.WriteFile(filepath.Join(dir, "winnow_1.2.3_linux_"+runtime.GOARCH+".tar.gz"), []byte("another"), 0o644))
	r = w.run(with())
	want(t, r, 2, map[string]string{"result": ""})
	has(t, r.log, "is not what checksums.txt says", "; nothing was checked")
}

// release puts the program where a release has it.
func (w *world) release(dir string) {
	w.t.Helper()
	must.Do(w.t, os.MkdirAll(dir, 0o755))
	cmd := exec.Command("sh", "-ec", `name=winnow_1.2.3_linux_`+runtime.GOARCH+`.tar.gz; tar -czf $name -C "$0" winnow; sha256sum $name >checksums.txt`, must.Get(bin())(w.t))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// TestTheComment is written again, or in the place of the one from before; what cannot be written is a warning. gh is one that says what it was asked:
// there is no GitHub here.
func TestTheComment(t *testing.T) {
	w := newWorld(t)
	w.remove("snapshots")
	w.commit("no snapshots")
	w.base = w.git("rev-parse", "HEAD")
	w.commit("nothing")
	w.token = "secret-of-the-job"
	asked := filepath.Join(w.temp, "asked")
	w.program("gh", `printf '%s %s\n' "$GH_TOKEN" "$*" >>"`+asked+`"
case "$*" in *--paginate*) [ -z "$OLD" ] || echo "$OLD" ;; *) exit "${FAILS:-0}" ;; esac`)
	for _, c := range []struct {
		env  map[string]string
		asks string
		log  string
	}{
		{nil, "--method POST repos/acme/policies/issues/7/comments -F body=@", ""},
		{map[string]string{"OLD": "4242"}, "--method PATCH repos/acme/policies/issues/comments/4242 -F body=@", ""},
		{map[string]string{"FAILS": "1"}, "--method POST", "::warning::the comment could not be written"},
		{map[string]string{"OLD": "4242", "FAILS": "1"}, "--method PATCH", "::warning::the comment could not be changed"},
		{map[string]string{"PULL_REQUEST": ""}, "", "::warning::this is no pull request"},
		{map[string]string{"GH_TOKEN": ""}, "", "::warning::there is no token"},
	} {
		must.Do(t, os.WriteFile(asked, nil, 0o644))
		w.env, w.done = c.env, w.ran // it judges once
		r := w.run(with("comment", "true"))
		want(t, r, 0, map[string]string{"result": "passed"})
		has(t, r.log, c.log)
		said := w.read("asked")
		has(t, said, c.asks)
		if c.asks != "" {
			has(t, said, w.token+" api --paginate repos/acme/policies/issues/7/comments --jq", r.outputs["comment"])
		} else if said != "" {
			t.Errorf("gh was asked: %s", said)
		}
	}
	// Without being asked to, nothing is written.
	w.env, w.done = nil, nil
	must.Do(t, os.WriteFile(asked, nil, 0o644))
	w.run(with())
	if said := w.read("asked"); said != "" {
		t.Errorf("gh was asked: %s", said)
	}
}
