package policycmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/winnow-reaper/winnow/engine/compare"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/test/kit/must"
	published "github.com/winnow-reaper/winnow/test/kit/sarif"
)

var taken = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

func builder() *Builder {
	rules := func(names ...string) Rules {
		out := Rules{Loaded: map[string]policy.Rule{}, Shipped: map[string]bool{}}
		for i, n := range names {
			out.Loaded[n] = policy.Rule{ID: n, File: "policies/" + n + ".rego", Line: i + 1, Title: "About " + n}
		}
		return out
	}
	return New([2]document.Version{{Name: "main", Commit: strings.Repeat("a", 40)}, {Name: "./policies", Folder: "policies"}},
		[2]Rules{rules("reap.dirs.a", "protect.p", "protect.q"), rules("reap.dirs.a", "protect.p", "protect.q", "reap.dirs.b")})
}

func reason(rule, message string) decision.Reason {
	return decision.Reason{Rule: rule, Message: message, Evidence: map[string]any{"age": 3}}
}

// newReap is a flip from an objection of these rules to a finding.
func newReap(id, message string, silent ...string) compare.Flip {
	f := compare.Flip{ID: id, Kind: "dir", Change: compare.NewReap, Base: compare.Verdict{Verdict: "spare", InScope: true}, Head: compare.Verdict{Verdict: "reap", InScope: true},
		Why: []decision.Reason{reason("reap.dirs.a", message)}}
	for _, rule := range silent {
		said := reason(rule, message)
		f.Causes = append(f.Causes, compare.Cause{Rule: rule, What: compare.Silent, Base: &said})
		f.Was = append(f.Was, said)
	}
	return f
}

func unexplained(string) compare.Explained { return compare.Explained{} }

// outcome is what is different in a snapshot of that name on that machine.
func outcome(name, host string, flips ...compare.Flip) compare.Outcome {
	s := &snapshot.Snapshot{TakenAt: taken, Host: snapshot.Host{Name: host}}
	return compare.Outcome{Sample: compare.Sample{Name: name}, Snapshot: s, Result: compare.Result{Compared: 1, Flips: flips}}
}

func broken(name string, err error) compare.Outcome {
	return compare.Outcome{Sample: compare.Sample{Name: name}, Err: err}
}

// What a comment shows of what would go, of a table, and how long it becomes.
const (
	firstRows  = 8
	maxRows    = 200
	maxComment = 60_000
)

// TestOneRuleIsOneGroup: a flip that several rules decided stands under the one that most flips have.
func TestOneRuleIsOneGroup(t *testing.T) {
	t.Parallel()
	b := builder()
	b.Add(outcome("1", "h", newReap("dir:/w/1", "m", "protect.p", "protect.q"), newReap("dir:/w/2", "m", "protect.q"), newReap("dir:/w/3", "m", "protect.p", "protect.q")), unexplained)
	doc := b.Document("")
	if len(doc.Groups) != 1 || doc.Groups[0].Rule != "protect.q" || len(doc.Groups[0].Flips) != 3 || doc.Groups[0].Line != 3 || doc.Groups[0].In != document.InBoth {
		t.Errorf("got %+v", doc.Groups)
	}
}

// TestOneThingInManySnapshots is one thing on one machine, and another one on another machine. No snapshot stays in memory.
func TestOneThingInManySnapshots(t *testing.T) {
	t.Parallel()
	b := builder()
	for i := range 30 {
		b.Add(outcome(fmt.Sprint(i), "h", newReap("dir:/w/1", fmt.Sprint("it is ", i), "protect.p")), unexplained)
	}
	other := outcome("other", "g", newReap("dir:/w/1", "m", "protect.p"))
	b.Add(other, unexplained)
	held := weak.Make(other.Snapshot)
	runtime.GC()
	must.Equal(t, true, held.Value() == nil, "the snapshot is gone from memory")
	doc := b.Document("")
	must.Equal(t, document.Count{Things: 2, Decisions: 31}, doc.Changes.NewReap, "the count")
	if f := doc.Groups[0].Flips; len(f) != 2 || f[1].Count != 30 || len(f[1].Snapshots) != maxNames || f[1].Snapshots[0] != "0" {
		t.Errorf("got %+v", f)
	}
}

// TestFacts takes the conditions at which the base ended, and those by which the head is shown, from explanations, for the first flips of a rule only.
func TestFacts(t *testing.T) {
	t.Parallel()
	b := builder()
	at := func(line int, why ...explain.Condition) explain.Condition {
		return explain.Condition{Rule: "policies.protect.p._ok", File: "p.rego", Line: line, Text: "input.age > 5", Values: []explain.Value{{Name: "input.age", Value: 3}, {Value: 5}}, Because: why}
	}
	asked := 0
	x := func(string) compare.Explained {
		asked++
		return compare.Explained{
			&explain.Explanation{Objections: []explain.Fired{{Reason: reason("protect.p", "m"), Missing: []explain.Condition{at(1, at(2), at(2), at(3))}}, {Reason: reason("protect.q", "m"), Missing: []explain.Condition{at(9)}}}},
			&explain.Explanation{NoObjection: []explain.Silent{{Rule: "protect.p", Shown: []explain.Condition{at(4)}}}},
		}
	}
	for i := range maxExplained + 5 {
		b.Add(outcome("s", "h", newReap(fmt.Sprint("dir:/w/", i), "m", "protect.p")), x)
	}
	doc := b.Document("")
	var lines []string
	for _, f := range doc.Groups[0].Flips[0].Causes[0].Facts {
		lines = append(lines, fmt.Sprint(f.In, f.Line, f.Held, len(f.Values)))
	}
	if got := strings.Join(lines, " "); got != "base2 false 1 base3 false 1 head4 true 1" || asked != maxExplained {
		t.Errorf("got %q, asked %d times", got, asked)
	}
}

// TestFails says in which cases the comparison fails, and that nothing else does.
func TestFails(t *testing.T) {
	t.Parallel()
	lost := newReap("dir:/w/1", "m", "protect.p")
	lost.Truth = "live"
	kept := compare.Flip{ID: "dir:/w/2", Kind: "dir", Change: compare.NewKeep, Causes: []compare.Cause{{Rule: "protect.p", What: compare.Objects}}}
	for name, c := range map[string]struct {
		flips  []compare.Flip
		failOn string
		broken error
		answer []compare.Unanswered
		want   string
	}{
		"nothing":             {failOn: document.FailAny},
		"new reap, unasked":   {flips: []compare.Flip{newReap("dir:/w/1", "m", "protect.p")}},
		"new reap":            {flips: []compare.Flip{newReap("dir:/w/1", "m", "protect.p")}, failOn: document.FailNewReap, want: "1 thing that stays today would go, which --fail-on new-reap forbids"},
		"new keep, not asked": {flips: []compare.Flip{kept}, failOn: document.FailNewReap},
		"any":                 {flips: []compare.Flip{kept}, failOn: document.FailAny, want: "1 decision changed"},
		"live":                {flips: []compare.Flip{lost}, want: "1 candidate labelled as live would go"},
		"broken":              {broken: errors.New("no"), want: "1 snapshot could not be compared: b"},
		"no answer":           {answer: []compare.Unanswered{{In: compare.Head, ID: "dir:/w/1", Error: "deadline"}}, want: "the policies of the head came to no answer 1 time (policy_error)"},
	} {
		b := builder()
		o := outcome("a", "h", c.flips...)
		o.Unanswered = c.answer
		b.Add(o, unexplained)
		if c.broken != nil {
			b.Add(broken("b", c.broken), unexplained)
		}
		doc := b.Document(c.failOn)
		if got := strings.Join(doc.Failed, "; "); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}

// hostile are names that would be something else than a name in markdown, HTML or a terminal.
var hostile = []string{
	"</details></summary><script>alert(1)</script>", "@octo-org/everyone", "![x](http://localhost/x.png)", "[a](javascript:1)", "a | b | c", "`` ` ```", "# heading\n\n- [ ] task",
	"\x1b[31mred\x1b[0m", "\u202egnp.exe", "<!-- hidden -->", "http://localhost/path", "#1 GH-2 a/b#3", strings.Repeat("x", 5000), "a\r\n| b | c |", "\xff\xfe", "&lt;b&gt;", "**bold** _it_ ~~s~~", "$\\alpha$",
}

// outside finds what stands in a comment outside of code.
var outside = regexp.MustCompile("`[^`]*`")

// TestNamesAreNothingElseInAComment has every hostile text stand wherever the world, a policy or a file can put one.
func TestNamesAreNothingElseInAComment(t *testing.T) {
	t.Parallel()
	for _, bad := range hostile {
		b := New([2]document.Version{{Name: bad, Config: bad}, {Name: bad}},
			[2]Rules{{Loaded: map[string]policy.Rule{bad: {ID: bad, File: bad, Title: bad}}}})
		f := newReap("dir:"+bad, bad, bad, "protect.p")
		f.Label, f.Kind, f.Truth = bad, "session", "live"
		x := func(string) compare.Explained {
			c := explain.Condition{File: bad, Text: bad, Rule: bad, Values: []explain.Value{{Name: bad, Value: bad}}}
			return compare.Explained{&explain.Explanation{Objections: []explain.Fired{{Reason: decision.Reason{Rule: bad, Message: bad, Evidence: map[string]any{bad: bad}}, Missing: []explain.Condition{c}}}}}
		}
		keep := newReap("tab:"+bad, bad, bad)
		keep.Change = compare.NewKeep
		other := newReap("process:"+bad, bad, bad)
		other.Change = compare.Reasons
		o := outcome(bad, bad, f, keep, other)
		o.Doomed, o.Unanswered = []string{bad}, []compare.Unanswered{{In: compare.Base, ID: bad, Error: bad}}
		b.Add(o, x)
		b.Add(broken(bad, errors.New(bad)), unexplained)
		b.doc.Stopped = bad
		doc := b.Document(document.FailAny)
		var out bytes.Buffer
		render.ComparisonMarkdown(&out, doc)
		page := out.String()
		bare := outside.ReplaceAllString(page, "")
		if n := strings.Count(bare, "<details>"); n == 0 || n != strings.Count(bare, "</details>") {
			t.Errorf("%.40q: %d folds are opened, %d closed", bad, n, strings.Count(bare, "</details>"))
		}
		for _, ours := range []string{"<details>", "</details>", "<summary>", "</summary>", "<br>", "<sub>", "</sub>"} {
			bare = strings.ReplaceAll(bare, ours, "")
		}
		for _, sign := range []string{"<", "`", "@", "](", "http", "&", "#1", "\x1b", "\u202e", "~~", "$"} {
			if strings.Contains(bare, sign) {
				t.Errorf("%.40q: %q stands outside of code in:\n%s", bad, sign, bare)
			}
		}
		columns := 0
		for line := range strings.Lines(page) {
			if n := strings.Count(line, "|"); strings.HasPrefix(line, "|---") {
				columns = n
			} else if strings.HasPrefix(line, "| ") && columns > 0 && n != columns {
				t.Errorf("%.40q: a row has %d bars, its head %d:\n%s", bad, n, columns, line)
			} else if line == "\n" {
				columns = 0
			}
		}
		out.Reset()
		render.Paint{}.Comparison(&out, doc, true)
		if strings.ContainsAny(out.String(), "\x1b\u202e\r") || strings.Contains(out.String(), "\n\n- [ ]") {
			t.Errorf("%.40q: text has it as it is:\n%s", bad, out.String())
		}
		rules, found := render.ComparisonFindings(doc)
		if err := published.Valid(must.Get(json.Marshal(sarif.New(sarif.Tool{Name: "winnow"}, "/w", rules, found)))(t)); err != nil {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

// TestACommentIsNeverTooLong: with thousands of flips of long names and sentences it stays below what GitHub takes, ends what it began, and says that
// more is left out.
func TestACommentIsNeverTooLong(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, firstRows, firstRows + 1, 300, 2000} {
		for _, message := range []string{"short", strings.Repeat("日本語 <b> ", 200)} {
			b := builder()
			for i := range n {
				f := newReap(fmt.Sprintf("dir:/w/%d/%s", i, strings.Repeat("é", 300)), message, "protect.p", "protect.q")
				if i%3 == 1 {
					f.Change = compare.NewKeep
				}
				if i%10 == 0 {
					f.Truth = "live"
				}
				o := outcome(fmt.Sprintf("snapshots/%d.json", i), "h", f)
				o.Unanswered = []compare.Unanswered{{In: compare.Head, ID: f.ID, Error: message}}
				b.Add(o, unexplained)
				b.Add(broken(fmt.Sprint("b", i), errors.New(message)), unexplained)
			}
			doc := b.Document(document.FailNewReap)
			var out bytes.Buffer
			render.ComparisonMarkdown(&out, doc)
			page := out.String()
			if out.Len() > maxComment || strings.Count(page, "<details>") != strings.Count(page, "</details>") || !strings.HasSuffix(page, "</sub>\n") {
				t.Errorf("%d flips: %d bytes, %d folds opened, %d closed, ends with %q", n, out.Len(), strings.Count(page, "<details>"), strings.Count(page, "</details>"), page[max(0, len(page)-40):])
			}
			if n > maxRows && !strings.Contains(page, "more, for which there is no room here") {
				t.Errorf("%d flips: nothing says that some are left out", n)
			}
			if !strings.Contains(page, doc.Headline()) {
				t.Errorf("%d flips: the headline is missing", n)
			}
		}
	}
}

// TestWhatIsNotListedIsSaid counts what there is no room for.
func TestWhatIsNotListedIsSaid(t *testing.T) {
	t.Parallel()
	b := builder()
	for i := range maxListed + 3 {
		f := newReap(fmt.Sprint("dir:/w/", i), "m", "protect.p")
		b.Add(outcome("a", "h", f), unexplained)
		b.Add(outcome("b", "h", f), unexplained)
	}
	doc := b.Document("")
	must.Equal(t, document.Count{Things: 3, Decisions: 6}, doc.Unlisted.NewReap, "what is not listed")
	must.Equal(t, document.Count{Things: maxListed + 3, Decisions: 2*maxListed + 6}, doc.Changes.NewReap, "all")
	for name, write := range map[string]func(*bytes.Buffer){
		"text":     func(w *bytes.Buffer) { render.Paint{}.Comparison(w, doc, false) },
		"markdown": func(w *bytes.Buffer) { render.ComparisonMarkdown(w, doc) },
	} {
		var out bytes.Buffer
		write(&out)
		if !strings.Contains(out.String(), "3 things in 6 decisions counted above and not listed") && !strings.Contains(out.String(), fmt.Sprintf("and %d more, for which there is no room here", maxListed-firstRows-maxRows+3)) {
			t.Errorf("%s does not say what is left out", name)
		}
	}
}

// TestWhatWouldGoIsAList: the first of what would go is open, by rule and with the level that was changed; the rest is folded, each once.
func TestWhatWouldGoIsAList(t *testing.T) {
	t.Parallel()
	rules := Rules{Loaded: map[string]policy.Rule{"protect.p": {ID: "protect.p", File: "p/p.rego", Line: 3}}}
	off := Rules{Loaded: rules.Loaded, Levels: []subject.RuleLevel{{Rule: "protect.p", Kind: "dir", Level: "off"}}}
	b := New([2]document.Version{
		{Name: "a", Commit: strings.Repeat("a", 40), Config: strings.Repeat("a", 40) + ":c.yaml"}, {Name: strings.Repeat("b", 40), Commit: strings.Repeat("b", 40)},
	}, [2]Rules{rules, off})
	for i := range firstRows + 2 {
		b.Add(outcome("s.json", "h", newReap(fmt.Sprintf("dir:/w/%d", i), "m", "protect.p")), unexplained)
	}
	var out bytes.Buffer
	render.ComparisonMarkdown(&out, b.Document(""))
	page := out.String()
	open, folded, ok := strings.Cut(page, "<details><summary>2 more that would go</summary>")
	if !ok || strings.Count(open, "\n- `dir:/w/") != firstRows || strings.Count(folded, "\n| `dir:/w/") != 2 {
		t.Errorf("want %d open and 2 folded:\n%s", firstRows, page)
	}
	for _, want := range []string{
		"`a (aaaaaaaaaa)` with `c.yaml` to `bbbbbbbbbb`: ",
		"\n`protect.p` does not object any more, `p/p.rego:3`: `rules.levels` has `protect.p` at on in the base, and at off in the head\n",
		"\n- `dir:/w/0` in `s.json`<br>now: ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("want %q in:\n%s", want, page)
		}
	}
}

// TestWhatGitWritesIsNoSave: only what may hold policies has them compared again.
func TestWhatGitWritesIsNoSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".git", "reap"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	before := listing([]string{dir})
	must.Do(t, os.WriteFile(filepath.Join(dir, ".git", "index"), []byte("x"), 0o600))
	must.Equal(t, before, listing([]string{dir}), "after git wrote")
	must.Do(t, os.WriteFile(filepath.Join(dir, "reap", "x.rego"), []byte("x"), 0o600))
	if before == listing([]string{dir}) {
		t.Error("a save is not seen")
	}
}
