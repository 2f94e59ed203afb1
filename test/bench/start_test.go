package bench_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/stockopa"
)

// BenchmarkStart compares the program from its start to its first decision (winnow decide FILE) with opa eval of the same rules on the same document: with
// the files that are loaded for that, without their tests. Beside it stand the programs' bare starts.
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
	saved, subject := writeDocuments(b, m, all[0], home)

	eval := []string{opa, "eval", "-d", rules, "-i", subject, "data.policies.main.decision"}
	sameVerdict(b, m, eval, []string{all[0].path, "decide", saved, "--all", "--format", "json"})
	commands := []struct {
		name string
		argv []string
	}{
		{"opa-eval", eval},
		{"opa-version", []string{opa, "version"}},
	}
	peers := map[string]string{}
	for _, p := range all {
		for what, argv := range map[string][]string{"decide": {p.path, "decide", saved}, "version": {p.path, "--version"}} {
			commands = append(commands, struct {
				name string
				argv []string
			}{p.name + "/" + what, argv})
		}
		peers[p.name+"/decide"], peers[p.name+"/version"] = "opa-eval", "opa-version"
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
			metrics = append(metrics, figures[c.name].times(figures[peer], peer))
		}
		if what, ok := strings.CutPrefix(c.name, "winnow/"); ok && figures["against/"+what] != nil {
			metrics = append(metrics, figures[c.name].times(figures["against/"+what], "against"))
		}
		line(b, c.name, metrics...)
	}
}

// sameVerdict holds that two commands print the same verdict of the one candidate.
func sameVerdict(b *testing.B, m *meter, commands ...[]string) {
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

// writeDocuments writes a snapshot with one candidate, and that candidate's document, which the rules are asked about.
func writeDocuments(b *testing.B, m *meter, p program, home string) (saved, subject string) {
	b.Helper()
	saved, subject = filepath.Join(home, "snapshot.json"), filepath.Join(home, "subject.json")
	text := fmt.Sprintf(`{"schema": "winnow.snapshot/v1", "taken_at": %q, "host": {}, "sources": {"dirs//w": {"kind": "dirs", "status": "ok", "took": 0, "seen": 1}},
		"dirs": {"dir:/w/a-review-0123abcd": {"source": "dirs//w", "name": "a-review-0123abcd", "path": "/w/a-review-0123abcd"}}}`, time.Now().UTC().Format(time.RFC3339))
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
