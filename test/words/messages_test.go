package words

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	rego "github.com/open-policy-agent/opa/v1/ast"
)

var update = flag.Bool("update", false, "write the table of messages")

// What a message may be: characters of a sentence, where each value that is put in counts as one, and sentences that have more. The last may only fall.
const (
	sentenceLength = 100
	longMessages   = 0
)

// value stands in the table for what is put into a message.
const value = "…"

var (
	verb     = regexp.MustCompile(`%[-+# 0]*[0-9.*]*(\[\d+\])?[a-zA-Z]`)
	pageTag  = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>|\{\{-?\s*(if|else|end|range|with|define|template|block)\b.*?\}\}`)
	pageText = regexp.MustCompile(`</?(a|b|strong|em|code|span|time|abbr)\b[^>]*>|\{\{.*?\}\}`)
	words    = regexp.MustCompile(`(?i)\b(the|is|are|was|were|it|its|to|of|and|or|not|no|that|has|have|may|in|on|be|by|with|for|a|an|this|what|until|does|did)\b`)
	notWords = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|CREATE|DELETE FROM|WHERE|PRAGMA)\b|[{<=]{2}|^[^ ]*/|\\[sdwb]|^#!`)
	ends     = regexp.MustCompile(`[.!?:]\s+|\n\s*\n|\n(?:  |\t|- )`)
)

// sentences are those of a text that a person reads: of three words at least.
func sentences(text string) (out []string) {
	for _, s := range ends.Split(text, -1) {
		if s = strings.Join(strings.Fields(s), " "); strings.Count(s, " ") >= 2 && words.MatchString(s) && !notWords.MatchString(s) {
			out = append(out, s)
		}
	}
	return out
}

// literal is the text of an expression of strings: a literal, or several that are joined; a value for what is not a literal.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return value, false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, one := literal(e.X)
		y, other := literal(e.Y)
		return x + y, e.Op == token.ADD && (one || other)
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return value, false
}

// goMessages are the sentences of a file's strings, without tags of fields and patterns.
func goMessages(t *testing.T, name, source string) (out []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			return n.Tag == nil
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "MustCompile" || f.Sel.Name == "Exec") {
				return false
			}
		case ast.Expr:
			if s, ok := literal(n); ok {
				out = append(out, sentences(verb.ReplaceAllString(s, value))...)
				return false
			}
		}
		return true
	})
	return out
}

// regoMessages are the sentences of a policy's strings.
func regoMessages(t *testing.T, name, source string) (out []string) {
	module, err := rego.ParseModule(name, source)
	if err != nil {
		t.Fatal(err)
	}
	rego.WalkTerms(module, func(term *rego.Term) bool {
		switch v := term.Value.(type) {
		case rego.String:
			out = append(out, sentences(string(v))...)
		case *rego.TemplateString:
			text := ""
			for _, part := range v.Parts {
				if part, ok := part.(*rego.Term); ok {
					if s, ok := part.Value.(rego.String); ok {
						text += string(s)
						continue
					}
				}
				text += value
			}
			out = append(out, sentences(text)...)
			return true
		}
		return false
	})
	return out
}

// TestMessages lists every sentence that a rule, a command or a page can print, so that a change of one is read where it is reviewed, and holds them
// to docs/style.md.
func TestMessages(t *testing.T) {
	t.Parallel()
	messages := map[string]map[string]bool{}
	for _, name := range tracked(t, ".go", ".rego", ".html", ".txt") {
		var of []string
		switch source := read(t, name); {
		case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, "_test.rego"), strings.HasPrefix(name, "test/"), strings.HasPrefix(name, "editors/"), strings.Contains(name, "/templates/") && strings.HasSuffix(name, ".rego"):
		case strings.HasSuffix(name, ".txt"):
			if filepath.Dir(name) == "cmd/winnow/help" {
				of = sentences(source)
			}
		case strings.HasSuffix(name, ".go"):
			of = goMessages(t, name, source)
		case strings.HasSuffix(name, ".rego"):
			of = regoMessages(t, name, source)
		default:
			of = sentences(pageText.ReplaceAllString(pageTag.ReplaceAllString(source, "\n\n"), value))
		}
		folder := filepath.Dir(name)
		for _, s := range of {
			if messages[folder] == nil {
				messages[folder] = map[string]bool{}
			}
			messages[folder][s] = true
		}
	}
	table, long := "", []string{}
	for _, folder := range slices.Sorted(maps.Keys(messages)) {
		for _, s := range slices.Sorted(maps.Keys(messages[folder])) {
			table += folder + "\t" + s + "\n"
			if utf8.RuneCountInString(s) > sentenceLength {
				long = append(long, folder+"\t"+s)
			}
		}
	}
	golden := filepath.Join("testdata", "messages.tsv")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(golden); err != nil || string(have) != table {
		t.Errorf("the table of messages is not current (%v): read the sentences that changed, then go test ./test/words -run Messages -update", err)
	}
	if len(long) > longMessages {
		t.Errorf("%d sentences have more than %d characters, %d may:\n%s", len(long), sentenceLength, longMessages, strings.Join(long, "\n"))
	}
}
