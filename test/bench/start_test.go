package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stockopa"
)

// BenchmarkStart compares the program from its start to its first decision (winnow decide FILE), one that keeps and one that reaps, with opa eval of the same
// rules on the same document: with the files that are loaded for that, without their tests. Beside it stand the programs' bare starts.
func BenchmarkStart(b *testing.B) {
	b.Chdir(source()) // the go command finds the opa of the tools module from here
	opa, err := stockopa.Path()
	if err != nil {
		b.Skipf("no opa to compare with: %v", err)
	}
	home := b.TempDir()
	m := newMeter(b, home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"})
	all := programs(b)
	rules := filepath.Join(home, "policies")
	copyRules(b, filepath.Join(source(), "..", "..", "policies"), rules)
	type command struct {
		name string
		argv []string
	}
	commands := []command{{"opa-version", []string{opa, "version"}}}
	peers := map[string]string{}
	for _, p := range all {
		commands = append(commands, command{p.name + "/version", []string{p.path, "--version"}})
		peers[p.name+"/version"] = "opa-version"
	}
	for what, text := range map[string]string{"keeps": emptyFolder(), "reaps": review(b)} {
		saved, subject := writeDocuments(b, m, all[0], home, what, text)
		eval := []string{opa, "eval", "-d", rules, "-i", subject, "data.policies.main.decision"}
		if got := sameVerdict(b, m, eval, []string{all[0].path, "decide", saved, "--all", "--format", "json"}); (got == "reap") != (what == "reaps") {
			b.Fatalf("%s: the verdict is %s", what, got)
		}
		commands = append(commands, command{"opa-eval/" + what, eval})
		for _, p := range all {
			commands = append(commands, command{p.name + "/" + what, []string{p.path, "decide", saved}})
			peers[p.name+"/"+what] = "opa-eval/" + what
		}
	}
	figures := map[string]*least{}
	for _, c := range commands {
		figures[c.name] = &least{}
	}
	for range 5 * *rounds { // each is short, and the machine's noise is not
		for _, c := range commands {
			figures[c.name].add(m.run(c.argv...))
		}
	}
	for _, c := range commands {
		metrics := figures[c.name].metrics()
		if peer := peers[c.name]; peer != "" {
			metrics = append(metrics, figures[c.name].times(figures[peer], strings.TrimSuffix(peer, "/"+c.name[strings.Index(c.name, "/")+1:])))
		}
		if what, ok := strings.CutPrefix(c.name, "winnow/"); ok && figures["against/"+what] != nil {
			metrics = append(metrics, figures[c.name].times(figures["against/"+what], "against"))
		}
		line(b, c.name, metrics...)
	}
}

// sameVerdict holds that two commands print the same verdict of the one candidate, and gives it.
func sameVerdict(b *testing.B, m *meter, commands ...[]string) string {
	b.Helper()
	verdict := regexp.MustCompile(`"verdict":\s*"([a-z]+)"`)
	seen := map[string]bool{}
	for _, argv := range commands {
		out := filepath.Join(m.home, "verdict.json")
		m.order(order{Argv: argv, Out: out})
		text, err := os.ReadFile(out)
		if err != nil {
			b.Fatal(err)
		}
		found := verdict.FindSubmatch(text)
		if found == nil {
			b.Fatalf("%s says no verdict: %s", argv[0], text)
		}
		seen[string(found[1])] = true
	}
	if len(seen) != 1 {
		b.Fatalf("the programs differ: %v", seen)
	}
	return slices.Collect(maps.Keys(seen))[0]
}

// copyRules copies a policy tree without the tests of its rules.
func copyRules(b *testing.B, from, to string) {
	b.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".rego") || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// emptyFolder is a snapshot with one folder, and nothing is known of it.
func emptyFolder() string {
	return fmt.Sprintf(`{"schema": "winnow.snapshot/v1", "taken_at": %q, "host": {}, "sources": {"dirs//w": {"kind": "dirs", "status": "ok", "took": 0, "seen": 1}},
		"dirs": {"dir:/w/a-review-0123abcd": {"source": "dirs//w", "name": "a-review-0123abcd", "path": "/w/a-review-0123abcd"}}}`, time.Now().UTC().Format(time.RFC3339))
}

// review is a snapshot with one folder, a checkout that was made for a review and holds nothing of its own.
func review(b *testing.B) string {
	b.Helper()
	world := map[string]any{}
	text := must.Get(os.ReadFile(filepath.Join(source(), "..", "..", "policy_test", "worlds", "herd.json")))(b)
	must.Do(b, json.Unmarshal(text, &world))
	world["tabs"], world["processes"] = map[string]any{}, map[string]any{}
	return string(must.Get(json.Marshal(world))(b))
}

// writeDocuments writes a snapshot with one candidate, and that candidate's document, which the rules are asked about.
func writeDocuments(b *testing.B, m *meter, p program, home, name, text string) (saved, subject string) {
	b.Helper()
	saved, subject = filepath.Join(home, name+"-snapshot.json"), filepath.Join(home, name+"-subject.json")
	if err := os.WriteFile(saved, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	lines := filepath.Join(home, "subjects.jsonl")
	m.order(order{Argv: []string{p.path, "subjects", saved}, Out: lines})
	line, err := os.ReadFile(lines)
	if err != nil {
		b.Fatal(err)
	}
	_, input, ok := bytes.Cut(bytes.TrimSpace(line), []byte(`"input":`))
	if !ok {
		b.Fatalf("no document: %s", line)
	}
	if err := os.WriteFile(subject, bytes.TrimSuffix(input, []byte("}")), 0o600); err != nil {
		b.Fatal(err)
	}
	return saved, subject
}
