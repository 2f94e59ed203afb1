// Package words holds how docs, comments and messages are written: docs/style.md.
package words

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// mannerisms are words that docs/style.md has better ones for, with how often they may still stand in comments, messages and docs. A number here may
// only fall.
var mannerisms = map[string]int{
	"is none": 16, "anew": 0, "nobody": 52, "whatever": 8, "of which": 96, "said of": 3,
}

// What the docs may be: words of the pages that people write, without those of rules, lines of README.md, and sentences of over 30 words. The last may
// only fall.
const (
	docsWords     = 26600
	readmeLines   = 130
	longSentences = 0
	sentenceWords = 30
)

// made matches files that a program writes, fixtures, and what has the words on purpose.
var made = regexp.MustCompile(`^docs/reference/(cli|schemas|config\.md)|/testdata/|^test/words/words_test\.go$|^docs/style\.md$`)

// tracked lists the files of this repository with one of the endings.
func tracked(t *testing.T, endings ...string) []string {
	t.Helper()
	args := []string{"-C", "../..", "ls-files", "--"}
	for _, e := range endings {
		args = append(args, "*"+e)
	}
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	var files []string
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); !made.MatchString(name) {
			files = append(files, name)
		}
	}
	return files
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if os.IsNotExist(err) { // removed, and not committed yet
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWordsGetRarer(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, name := range tracked(t, ".go", ".rego", ".md") {
		before := ""
		for _, word := range strings.FieldsFunc(strings.ToLower(read(t, name)), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) }) {
			counts[word]++
			counts[before+" "+word]++
			before = word
		}
	}
	for words, most := range mannerisms {
		switch have := counts[words]; {
		case have > most:
			t.Errorf("%q stands in %d places, and may stand in %d: docs/style.md has better words (git grep -nwi %q)", words, have, most, words)
		case have < most:
			t.Logf("%q stands in %d places: lower its number to that", words, have)
		}
	}
}

// comments, code, addresses and marks of lists are no part of a sentence; a line in a cell of a table is a paragraph.
var notProse = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(?s)<!--.*?-->`), ""},
	{regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```"), "\n\n"},
	{regexp.MustCompile(`(?m)^(    |\t).*$`), ""},
	{regexp.MustCompile("`[^`]*`"), "code"},
	{regexp.MustCompile(`\]\([^)]*\)`), "]"},
	{regexp.MustCompile(`(?m)^\s*([-*]|\d+\.|#+)\s`), "\n\n"},
	{regexp.MustCompile(`\||<br>`), "\n\n"},
}

var (
	paragraph = regexp.MustCompile(`\n\s*\n`)
	sentence  = regexp.MustCompile(`[.!?][)*_"]*\s+`)
)

// longOnes lists the sentences of a page that have too many words.
func longOnes(page string) []string {
	for _, n := range notProse {
		page = n.pattern.ReplaceAllString(page, n.by)
	}
	var out []string
	for _, p := range paragraph.Split(page, -1) {
		for _, s := range sentence.Split(p, -1) {
			if words := strings.Fields(s); len(words) > sentenceWords {
				out = append(out, strings.Join(words, " "))
			}
		}
	}
	return out
}

func TestWordsOfTheDocs(t *testing.T) {
	t.Parallel()
	if n := strings.Count(read(t, "README.md"), "\n"); n >= readmeLines {
		t.Errorf("README.md has %d lines; it has to stay below %d", n, readmeLines)
	}
	words := 0
	var long []string
	for _, name := range append(tracked(t, ".md"), "docs/style.md") {
		if !strings.HasPrefix(name, "docs/") && name != "README.md" && name != "CONTRIBUTING.md" && name != "SECURITY.md" {
			continue
		}
		text := read(t, name)
		if strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/reference/rules/") {
			words += len(strings.Fields(text))
		}
		for _, s := range longOnes(text) {
			long = append(long, name+": "+s)
		}
	}
	if words > docsWords {
		t.Errorf("docs/ has %d words; it may have %d", words, docsWords)
	}
	if len(long) > longSentences {
		t.Errorf("%d sentences have more than %d words; %d may:\n%s", len(long), sentenceWords, longSentences, strings.Join(long, "\n"))
	}
	t.Logf("%d words, %d long sentences", words, len(long))
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestWordsOfLinks: each link of a page leads to a file, and to a heading of it.
func TestWordsOfLinks(t *testing.T) {
	t.Parallel()
	pages := append(tracked(t, ".md"), "docs/style.md")
	commands, err := filepath.Glob("../../docs/reference/cli/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range commands {
		pages = append(pages, strings.TrimPrefix(page, "../../"))
	}
	for _, name := range pages {
		if strings.Contains(name, "node_modules") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(notProse[1].pattern.ReplaceAllString(read(t, name), ""), -1) {
			to := name
			if strings.Contains(m[1], ":") {
				continue
			}
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if m[2] != "" && !strings.Contains(anchors(read(t, to)), "\n"+m[2]+"\n") {
				t.Errorf("%s links to %s#%s, and no heading is called so", name, m[1], m[2])
			}
		}
	}
}

// anchors are the names of a page's headings, a line each, as GitHub makes them.
func anchors(page string) string {
	out := "\n"
	for _, m := range heading.FindAllStringSubmatch(notProse[1].pattern.ReplaceAllString(page, ""), -1) {
		out += strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") + "\n"
	}
	return out
}
