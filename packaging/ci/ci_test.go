// Package ci_test runs what stands in action.yml and in the GitLab template, as it stands there, in scratch repositories made of the example.
package ci_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/sarif"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

var update = flag.Bool("update", false, "write run.sh into the GitLab template")

// root is the repository's folder.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// built is the folder that bin made, "" where no test asked for it.
var built string

// bin is where the program of this tree lies.
var bin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "winnow-ci-")
	if err != nil {
		return "", err
	}
	built = dir
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "winnow"), "github.com/winnow-reaper/winnow/cmd/winnow").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, os.Chmod(dir, 0o755)
})

func TestMain(m *testing.M) {
	machine.Alone()
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// action is action.yml.
type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, If, Shell, Run string
	Env                      map[string]string
}

// world is a scratch repository, checked out as a runner does, and the runner's folders.
type world struct {
	t          *testing.T
	dir, temp  string
	base, home string
	// path are folders before those of the system; env is set over all else; token is what the job has.
	path  []string
	env   map[string]string
	token string
	// done are the outputs of the step "run", which is then not run again; ran are those that it had when it ran last.
	done, ran map[string]any
}

// result is what a run of the action leaves.
type result struct {
	code                  int
	log, comment, summary string
	outputs               map[string]string
}

// newWorld makes a repository of the example, with one commit that is the base.
func newWorld(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	stage.NeedSecond(t, "it builds the program, and runs the action on repositories")
	if attack.Raced {
		t.Skip("it runs the program, which has no race detector: .ci/run runs this without")
	}
	t.Parallel()
	programs := must.Get(bin())(t)
	dir := t.TempDir()
	w := &world{t: t, dir: filepath.Join(dir, "repository"), temp: filepath.Join(dir, "temp"), home: filepath.Join(dir, "home"), path: []string{programs}}
	for _, d := range []string{w.temp, w.home} {
		must.Do(t, os.Mkdir(d, 0o755))
	}
	must.Do(t, os.CopyFS(w.dir, os.DirFS(filepath.Join(root, "examples", "team-policies"))))
	w.git("init", "-q", "-b", "main")
	for _, c := range change {
		c(w)
	}
	w.commit("base")
	w.base = w.git("rev-parse", "HEAD")
	return w
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) commit(message string) {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
}

// edit replaces text in a file of the repository.
func (w *world) edit(name, old, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(data), old) {
		err = fmt.Errorf("%s has no %q", name, old)
	}
	if err = errors.Join(err, os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, text)), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// program puts a program of a few lines of sh before those of the system.
func (w *world) program(name, text string) {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.path = append([]string{dir}, w.path...)
}

// system are the folders of the programs that any runner has.
func system(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, name := range []string{"git", "bash", "iconv"} {
		path := must.Get(exec.LookPath(name))(t)
		dirs = append(dirs, filepath.Dir(path))
	}
	return append(dirs, "/usr/bin", "/bin")
}

// evaluate gives what an expression of the workflow's language stands for: names of the context, compared and joined by &&.
func evaluate(t *testing.T, expression string, context map[string]any) string {
	t.Helper()
	parts := strings.Split(expression, " && ")
	value := ""
	for _, part := range parts {
		left, right, compares := strings.Cut(strings.TrimSpace(part), " == ")
		if left == "always()" {
			value = "true"
			continue
		}
		if !regexp.MustCompile(`^[a-z_][a-z0-9_.-]*$`).MatchString(left) {
			t.Fatalf("the expression %q is more than a name", left)
		}
		var at any = context
		for _, name := range strings.Split(left, ".") {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		value = ""
		if at != nil {
			value = fmt.Sprint(at)
		}
		if compares {
			value = fmt.Sprint(value == strings.Trim(right, "'"))
		}
		if value == "false" {
			return value
		}
	}
	return value
}

var expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

func fill(t *testing.T, text string, context map[string]any) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(s string) string {
		return evaluate(t, strings.TrimSpace(expression.FindStringSubmatch(s)[1]), context)
	})
}

func readAction(t *testing.T) action {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(root, "action.yml")))(t)
	var a action
	d := yaml.NewDecoder(bytes.NewReader(data))
	must.Do(t, d.Decode(&a))
	return a
}

// run runs the steps of action.yml in a pull request of what HEAD is onto the base, with these inputs.
func (w *world) run(with map[string]string) result {
	w.t.Helper()
	a := readAction(w.t)
	event := fmt.Sprintf(`{"pull_request": {"number": 7, "title": %q, "base": {"sha": %q, "ref": "main"}, "head": {"ref": %q}}}`,
		"::error::`touch pwned` $(touch pwned)", w.base, w.git("rev-parse", "--abbrev-ref", "HEAD"))
	files := map[string]string{"event.json": event, "output": "", "summary": ""}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(w.temp, name), []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	github := map[string]any{"token": w.token}
	var parsed map[string]any
	if err := json.Unmarshal([]byte(event), &parsed); err != nil {
		w.t.Fatal(err)
	}
	github["event"] = parsed
	context := map[string]any{"github": github}
	inputs := map[string]any{}
	for name, in := range a.Inputs {
		inputs[name] = fill(w.t, in.Default, context)
	}
	for name, value := range with {
		if _, known := a.Inputs[name]; !known {
			w.t.Fatalf("the action has no input %s", name)
		}
		inputs[name] = value
	}
	context["inputs"] = inputs
	var out result
	var log bytes.Buffer
	for _, s := range a.Runs.Steps {
		if s.ID == "run" && w.done != nil {
			context["steps"] = map[string]any{s.ID: map[string]any{"outputs": w.done}}
			continue
		}
		condition := strings.TrimSuffix(strings.TrimPrefix(s.If, "${{"), "}}")
		if s.If == "" && out.code != 0 || s.If != "" && evaluate(w.t, strings.TrimSpace(condition), context) != "true" {
			continue
		}
		env := map[string]string{
			"PATH": strings.Join(append(slices.Clone(w.path), system(w.t)...), ":"), "HOME": w.home, "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": root,
			"GITHUB_WORKSPACE": w.dir, "GITHUB_REPOSITORY": "acme/policies", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_HEAD_REF": w.git("rev-parse", "--abbrev-ref", "HEAD"),
			"GITHUB_EVENT_PATH": filepath.Join(w.temp, "event.json"), "GITHUB_OUTPUT": filepath.Join(w.temp, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(w.temp, "summary"),
			"RUNNER_TEMP": w.temp,
		}
		for name, value := range s.Env {
			env[name] = fill(w.t, value, context)
		}
		maps.Copy(env, w.env)
		if s.Shell != "bash" {
			w.t.Fatalf("the step %q has the shell %q", s.Name, s.Shell)
		}
		if code := w.bash(&log, s.Run, env); code != 0 {
			out.code = cmp.Or(out.code, code)
		}
		if s.ID == "" {
			continue
		}
		outputs := map[string]any{}
		for line := range strings.Lines(w.read("output")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			outputs[name] = value
		}
		context["steps"] = map[string]any{s.ID: map[string]any{"outputs": outputs}}
		if w.done == nil {
			w.ran = outputs
		}
	}
	out.log, out.summary, out.outputs = log.String(), w.read("summary"), map[string]string{}
	for name, o := range a.Outputs {
		out.outputs[name] = fill(w.t, o.Value, context)
	}
	if file := out.outputs["comment"]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			w.t.Error(err)
		}
		out.comment = string(data)
	}
	w.safe(out)
	return out
}

// bash runs a step's text as the runner does, and gives its exit code.
func (w *world) bash(log *bytes.Buffer, text string, env map[string]string) int {
	w.t.Helper()
	script := filepath.Join(w.t.TempDir(), "step.sh")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = w.dir, log, log, []string{"TMPDIR=" + w.temp}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.temp, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// ours are the commands that the action gives to the runner.
var ours = regexp.MustCompile(`^::(group::(check|fmt|test|conformance|regal|diff)|endgroup::|stop-commands::[0-9a-f]{32}|error::[^:]*.*|warning::[^:]*.*)$`)

// safe holds what must be so in every run: what was made to work in is gone, nothing of a name was run, nothing in the repository was changed, and no output of another was a command
// of the runner, which takes any line that begins with :: behind blanks, unless they are stopped.
func (w *world) safe(r result) {
	w.t.Helper()
	for _, dir := range []string{w.dir, w.temp, w.home} {
		if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
			w.t.Error("a name was run")
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.temp, "tmp.*")); err != nil || len(left) > 0 {
		w.t.Errorf("%q stay, %v", left, err)
	}
	stopped := ""
	for line := range strings.Lines(r.log) {
		line = strings.TrimSpace(line)
		token, stops := strings.CutPrefix(line, "::stop-commands::")
		switch {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case stops:
			stopped = token
		case strings.HasPrefix(line, "::") && !ours.MatchString(line) || strings.Contains(line, "##["):
			w.t.Errorf("the runner takes %q for a command", line)
		}
	}
	if stopped != "" {
		w.t.Error("commands stay stopped")
	}
	if w.done == nil && r.summary != r.comment {
		w.t.Errorf("the summary is not the comment:\n%s", r.summary)
	}
}

// has fails for what a text does not hold.
func has(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}

func want(t *testing.T, r result, code int, outputs map[string]string) {
	t.Helper()
	if r.code != code {
		t.Errorf("want exit code %d, got %d\n%s", code, r.code, r.log)
	}
	for name, value := range outputs {
		if r.outputs[name] != value {
			t.Errorf("want the output %s to be %q, got %q\n%s", name, value, r.outputs[name], r.log)
		}
	}
}

// documents holds the SARIF and JUnit files of a run against their forms, and gives their names.
func documents(t *testing.T, r result) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.outputs["sarif"], "*"))
	categories := map[string]bool{}
	for _, file := range files {
		data, e := os.ReadFile(file)
		if err = errors.Join(err, e, sarif.Valid(data)); e != nil {
			continue
		}
		var log struct {
			Runs []struct {
				Tool              struct{ Driver struct{ Name string } }
				AutomationDetails struct{ ID string }
			}
		}
		err = errors.Join(err, json.Unmarshal(data, &log))
		for _, run := range log.Runs {
			category := run.Tool.Driver.Name + " " + run.AutomationDetails.ID
			if categories[category] { // GitHub refuses two of one category
				t.Errorf("two logs have the category %s", category)
			}
			categories[category] = true
		}
		names = append(names, filepath.Base(file))
	}
	suites, e := filepath.Glob(filepath.Join(r.outputs["junit"], "*"))
	for _, file := range suites {
		data, e := os.ReadFile(file)
		var any struct{ XMLName xml.Name }
		err = errors.Join(err, e, xml.Unmarshal(data, &any))
		names = append(names, filepath.Base(file))
	}
	if err = errors.Join(err, e); err != nil {
		t.Error(err)
	}
	return names
}
