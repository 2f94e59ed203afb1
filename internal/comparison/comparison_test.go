package comparison

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/flips"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/internal/text"
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
	return New(Side{Name: "main", Commit: strings.Repeat("a", 40)}, Side{Name: "./policies", Folder: "policies"},
		rules("reap.dirs.a", "protect.p", "protect.q"), rules("reap.dirs.a", "protect.p", "protect.q", "reap.dirs.b"))
}

func reason(rule, message string) decision.Reason {
	return decision.Reason{Rule: rule, Message: message, Evidence: map[string]any{"age": 3}}
}

// newReap is a flip from an objection of these rules to a finding.
func newReap(id, message string, silent ...string) flips.Flip {
	f := flips.Flip{ID: id, Kind: "dir", Change: flips.NewReap, Base: flips.Side{Verdict: "spare", InScope: true}, Head: flips.Side{Verdict: "reap", InScope: true},
		Why: []decision.Reason{reason("reap.dirs.a", message)}}
	for _, rule := range silent {
		said := reason(rule, message)
		f.Causes = append(f.Causes, flips.Cause{Rule: rule, What: flips.Silent, Base: &said})
		f.Was = append(f.Was, said)
	}
	return f
}

func unexplained(string) Explained { return Explained{} }

// TestOneRuleIsOneGroup: a flip that several rules decided stands under the one that most flips have.
func TestOneRuleIsOneGroup(t *testing.T) {
	t.Parallel()
	b := builder()
	b.Add("1", taken, "h", flips.Result{Compared: 3, Flips: []flips.Flip{newReap("dir:/w/1", "m", "protect.p", "protect.q"), newReap("dir:/w/2", "m", "protect.q"), newReap("dir:/w/3", "m", "protect.p", "protect.q")}}, nil, unexplained)
	doc := b.Document("")
	if len(doc.Groups) != 1 || doc.Groups[0].Rule != "protect.q" || len(doc.Groups[0].Flips) != 3 || doc.Groups[0].Line != 3 || doc.Groups[0].In != both {
		t.Errorf("got %+v", doc.Groups)
	}
}

// TestOneThingInManySnapshots is one thing on one machine, and another one on another machine.
func TestOneThingInManySnapshots(t *testing.T) {
	t.Parallel()
	b := builder()
	for i := range 30 {
		b.Add(fmt.Sprint(i), taken, "h", flips.Result{Compared: 1, Flips: []flips.Flip{newReap("dir:/w/1", fmt.Sprint("it is ", i), "protect.p")}}, nil, unexplained)
	}
	b.Add("other", taken, "g", flips.Result{Compared: 1, Flips: []flips.Flip{newReap("dir:/w/1", "m", "protect.p")}}, nil, unexplained)
	doc := b.Document("")
	must.Equal(t, Count{Things: 2, Decisions: 31}, doc.Changes.NewReap, "the count")
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
	x := func(string) Explained {
		asked++
		return Explained{
			Base: &explain.Explanation{Objections: []explain.Fired{{Reason: reason("protect.p", "m"), Missing: []explain.Condition{at(1, at(2), at(2), at(3))}}, {Reason: reason("protect.q", "m"), Missing: []explain.Condition{at(9)}}}},
			Head: &explain.Explanation{NoObjection: []explain.Silent{{Rule: "protect.p", Shown: []explain.Condition{at(4)}}}},
		}
	}
	for i := range maxExplained + 5 {
		b.Add("s", taken, "h", flips.Result{Flips: []flips.Flip{newReap(fmt.Sprint("dir:/w/", i), "m", "protect.p")}}, nil, x)
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
	kept := flips.Flip{ID: "dir:/w/2", Kind: "dir", Change: flips.NewKeep, Causes: []flips.Cause{{Rule: "protect.p", What: flips.Objects}}}
	for name, c := range map[string]struct {
		flips  []flips.Flip
		failOn string
		broken error
		answer []Unanswered
		want   string
	}{
		"nothing":             {failOn: FailAny},
		"new reap, unasked":   {flips: []flips.Flip{newReap("dir:/w/1", "m", "protect.p")}},
		"new reap":            {flips: []flips.Flip{newReap("dir:/w/1", "m", "protect.p")}, failOn: FailNewReap, want: "1 thing that stays today would go, which --fail-on new-reap forbids"},
		"new keep, not asked": {flips: []flips.Flip{kept}, failOn: FailNewReap},
		"any":                 {flips: []flips.Flip{kept}, failOn: FailAny, want: "1 decision changed"},
		"live":                {flips: []flips.Flip{lost}, want: "1 candidate labelled as live would go"},
		"broken":              {broken: errors.New("no"), want: "1 snapshot could not be compared: b"},
		"no answer":           {answer: []Unanswered{{In: Head, ID: "dir:/w/1", Error: "deadline"}}, want: "the policies of the head came to no answer 1 time (policy_error)"},
	} {
		b := builder()
		b.Add("a", taken, "h", flips.Result{Flips: c.flips}, c.answer, unexplained)
		if c.broken != nil {
			b.Broken("b", c.broken)
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
		b := New(Side{Name: bad, Config: bad}, Side{Name: bad, Policy: report.PolicyRef{}}, Rules{Loaded: map[string]policy.Rule{bad: {ID: bad, File: bad, Title: bad}}}, Rules{})
		f := newReap("dir:"+bad, bad, bad, "protect.p")
		f.Label, f.Kind, f.Truth = bad, "session", "live"
		x := func(string) Explained {
			c := explain.Condition{File: bad, Text: bad, Rule: bad, Values: []explain.Value{{Name: bad, Value: bad}}}
			return Explained{Base: &explain.Explanation{Objections: []explain.Fired{{Reason: decision.Reason{Rule: bad, Message: bad, Evidence: map[string]any{bad: bad}}, Missing: []explain.Condition{c}}}}}
		}
		keep := newReap("tab:"+bad, bad, bad)
		keep.Change = flips.NewKeep
		other := newReap("process:"+bad, bad, bad)
		other.Change = flips.Reasons
		b.Add(bad, taken, bad, flips.Result{Flips: []flips.Flip{f, keep, other}, Doomed: []string{bad}}, []Unanswered{{In: Base, ID: bad, Error: bad}}, x)
		b.Broken(bad, errors.New(bad))
		b.Stop(bad)
		doc := b.Document(FailAny)
		var out bytes.Buffer
		must.Do(t, doc.WriteMarkdown(&out))
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
		must.Do(t, doc.WriteText(&out, text.Paint{}, true))
		if strings.ContainsAny(out.String(), "\x1b\u202e\r") || strings.Contains(out.String(), "\n\n- [ ]") {
			t.Errorf("%.40q: text has it as it is:\n%s", bad, out.String())
		}
		rules, found := doc.Findings()
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
					f.Change = flips.NewKeep
				}
				if i%10 == 0 {
					f.Truth = "live"
				}
				b.Add(fmt.Sprintf("snapshots/%d.json", i), taken, "h", flips.Result{Compared: 1, Flips: []flips.Flip{f}}, []Unanswered{{In: Head, ID: f.ID, Error: message}}, unexplained)
				b.Broken(fmt.Sprint("b", i), errors.New(message))
			}
			doc := b.Document(FailNewReap)
			var out bytes.Buffer
			must.Do(t, doc.WriteMarkdown(&out))
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
		b.Add("a", taken, "h", flips.Result{Flips: []flips.Flip{f}}, nil, unexplained)
		b.Add("b", taken, "h", flips.Result{Flips: []flips.Flip{f}}, nil, unexplained)
	}
	doc := b.Document("")
	must.Equal(t, Count{Things: 3, Decisions: 6}, doc.Unlisted.NewReap, "what is not listed")
	must.Equal(t, Count{Things: maxListed + 3, Decisions: 2*maxListed + 6}, doc.Changes.NewReap, "all")
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(w *bytes.Buffer) error { return doc.WriteText(w, text.Paint{}, false) }, "markdown": func(w *bytes.Buffer) error { return doc.WriteMarkdown(w) },
	} {
		var out bytes.Buffer
		must.Do(t, write(&out))
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
	b := New(Side{Name: "a", Commit: strings.Repeat("a", 40), Config: strings.Repeat("a", 40) + ":c.yaml"}, Side{Name: strings.Repeat("b", 40), Commit: strings.Repeat("b", 40)}, rules, off)
	for i := range firstRows + 2 {
		b.Add("s.json", taken, "h", flips.Result{Compared: 1, Flips: []flips.Flip{newReap(fmt.Sprintf("dir:/w/%d", i), "m", "protect.p")}}, nil, unexplained)
	}
	var out bytes.Buffer
	must.Do(t, b.Document("").WriteMarkdown(&out))
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
