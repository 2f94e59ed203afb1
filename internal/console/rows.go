package console

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// The states of a candidate, in the order in which they are listed.
const (
	goes    = "goes"
	after   = "after"
	asks    = "asks"
	waits   = "waits"
	observe = "observe"
	stays   = "stays"
)

var states = []string{goes, after, asks, waits, observe, stays}

// stateWords are the states as a person reads them.
var stateWords = map[string]string{
	goes: "would go", after: "goes after what uses it", asks: "left to you (level ask)", waits: "waits for a second look", observe: "reported only (level observe)", stays: "stays",
}

func stateOf(d decision.Decision) string {
	switch {
	case d.Verdict == decision.Reap:
		return goes
	case d.Follows():
		return after
	case d.Level == decision.Ask:
		return asks
	case d.Level != "":
		return observe
	case d.Waits():
		return waits
	}
	return stays
}

// row is a candidate as a page shows it.
type row struct {
	decision.Decision
	State, Label, OwnerName, Why, Next string
	// Due is when a second look may let go of it, zero where that is not known or nothing waits.
	Due time.Time
	// found is everything that a search looks through, in small letters.
	found string
}

// StateWords is its state for a person.
func (r row) StateWords() string { return stateWords[r.State] }

// Bytes is what it takes up, "" where that is not known: a folder on disk, anything else in memory.
func (r row) Bytes() string {
	switch {
	case r.Size != nil && r.Size.Complete:
		return text.Size(r.Size.Bytes)
	case r.Size != nil:
		return "at least " + text.Size(r.Size.Bytes)
	case r.About != nil && r.About.Memory != nil:
		return text.Size(*r.About.Memory) + " of memory"
	}
	return ""
}

// noOwner is what is written where a candidate has no owner.
const noOwner = "owner not known"

// rowsOf are the candidates of a report, by owner, those that go first.
func rowsOf(r *report.Report) []row {
	out := make([]row, 0, len(r.Decisions))
	for _, d := range r.Decisions {
		x := row{Decision: d, State: stateOf(d), Label: report.Label(d), OwnerName: cmp.Or(text.Home(d.Owner), noOwner)}
		if d.Main != nil {
			x.Why, x.Next = d.Main.Message, d.Main.Next
		}
		if x.State == waits {
			x.Due, _ = report.Due(d, r.TakenAt)
		}
		parts := []string{d.ID, x.Label, x.OwnerName, x.Why}
		for _, reason := range slices.Concat(d.Findings, d.Objections) {
			parts = append(parts, reason.Rule)
		}
		if d.About != nil {
			parts = append(parts, d.About.Branch, d.About.Repository, d.About.Agent)
		}
		x.found = strings.ToLower(strings.Join(parts, "\n"))
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.OwnerName, b.OwnerName), cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// rows keeps the rows of the latest report: they are asked for again and again.
type rows struct {
	mu  sync.Mutex
	of  *report.Report
	all []row
}

func (k *rows) get(r *report.Report) []row {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of != r {
		k.of, k.all = r, rowsOf(r)
	}
	return k.all
}

// filter is what a person looks for. An empty field leaves nothing out.
type filter struct {
	Kind, State, Owner, Words string
	Page                      int
}

func filterOf(q url.Values) filter {
	f := filter{Kind: q.Get("kind"), State: q.Get("verdict"), Owner: q.Get("owner"), Words: strings.TrimSpace(q.Get("q")), Page: 1}
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		f.Page = max(1, n)
	}
	return f
}

// matching leaves of rows those that are looked for: each of the words has to be somewhere in it.
func (f filter) matching(all []row) []row {
	words := strings.Fields(strings.ToLower(f.Words))
	return slices.DeleteFunc(slices.Clone(all), func(x row) bool {
		return f.Kind != "" && x.Kind != f.Kind || f.State != "" && x.State != f.State ||
			f.Owner != "" && x.OwnerName != f.Owner ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(x.found, w) })
	})
}

// Link is the address of a page of what is looked for.
func (f filter) Link(page int) string {
	return link("/", "kind", f.Kind, "verdict", f.State, "owner", f.Owner, "q", f.Words, "page", pageNumber(page))
}

// pageNumber leaves the first page out.
func pageNumber(n int) string {
	if n <= 1 {
		return ""
	}
	return strconv.Itoa(n)
}

// pager says which part of a list is shown.
type pager struct {
	Page, Pages, From, To, Total int
	// Earlier and Later are the addresses of the pages around, "" when it is missing.
	Earlier, Later string
}

// paged cuts out of a list the page that is wanted, the last one where there are fewer.
func paged[T any](all []T, page, size int, address func(page int) string) ([]T, pager) {
	p := pager{Total: len(all), Pages: max(1, (len(all)+size-1)/size)}
	p.Page = min(max(1, page), p.Pages)
	from := (p.Page - 1) * size
	to := min(from+size, len(all))
	p.From, p.To = min(from+1, to), to
	if p.Page > 1 {
		p.Earlier = address(p.Page - 1)
	}
	if p.Page < p.Pages {
		p.Later = address(p.Page + 1)
	}
	return all[from:to], p
}

// group is the rows of one owner on a page.
type group struct {
	Owner string
	Rows  []row
}

func groupsOf(page []row) (out []group) {
	for _, x := range page {
		if n := len(out); n == 0 || out[n-1].Owner != x.OwnerName {
			out = append(out, group{Owner: x.OwnerName})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, x)
	}
	return out
}

//go:embed templates
var templates embed.FS

// cleaned is the function that every value passes before html/template escapes it.
const cleaned = "_clean"

// parsed reads the templates. Every value that they print is cleaned, so that no template can forget it: names may reorder or hide what stands around them.
func parsed() (*template.Template, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		cleaned: clean,
		"time":  timeOf, "ago": ago, "size": text.Size, "plural": text.Plural, "span": span, "ref": url.QueryEscape, "link": link, "brief": brief, "otherwise": orElse, "home": text.Home, "under": section, "zone": zone,
	}).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates of the console: %w", err)
	}
	for _, each := range t.Templates() {
		if each.Tree != nil {
			cleanAll(each.Tree.Root)
		}
	}
	return t, nil
}

// cleanAll has every action below a node end in cleaned.
func cleanAll(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, x := range n.Nodes {
				cleanAll(x)
			}
		}
	case *parse.IfNode:
		cleanBoth(n.BranchNode)
	case *parse.RangeNode:
		cleanBoth(n.BranchNode)
	case *parse.WithNode:
		cleanBoth(n.BranchNode)
	case *parse.ActionNode:
		if n.Pipe != nil && len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier(cleaned).SetPos(n.Pos)}})
		}
	}
}

func cleanBoth(b parse.BranchNode) {
	cleanAll(b.List)
	cleanAll(b.ElseList)
}

// clean makes visible what text from the world could do to a page. What was made here, as HTML, stays.
func clean(v any) any {
	switch v.(type) {
	case nil:
		return ""
	case template.HTML:
		return v
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return text.Clean(r.String())
	}
	return v
}

// timeOf is a time on the clock of the person who reads it, and for programs. t is a time.Time or a *time.Time.
func timeOf(t any) template.HTML {
	at := when(t)
	if at.IsZero() {
		return "not known"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at.UTC().Format(time.RFC3339), text.Time(at))) // digits and marks alone
}

func when(t any) time.Time {
	switch t := t.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// zone is how far the clock by which timeOf shows a time is from UTC: a browser may be in another zone, behind a tunnel.
func zone() string { return time.Now().Format("UTC-07:00") }

// ago is how long ago a time was, or in how long it will be.
func ago(t any) string {
	at := when(t)
	switch d := time.Since(at); {
	case at.IsZero():
		return ""
	case d < 0:
		return "in " + text.Span(-d)
	default:
		return text.Span(d) + " ago"
	}
}

// span is a duration that is given in seconds.
func span(seconds any) string {
	switch s := seconds.(type) {
	case float64:
		return text.Span(time.Duration(s * float64(time.Second)))
	case *float64:
		if s != nil {
			return text.Span(time.Duration(*s * float64(time.Second)))
		}
	}
	return "not known"
}

// link is an address of the console: a path, and names with their values. A name whose value is empty is left out.
func link(path string, pairs ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" && v != "0" {
			q.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// maxBrief is how much of one value is shown, in characters.
const maxBrief = 300

// brief is a value as JSON, cut where it is long.
func brief(v any) string { return text.Value(v, maxBrief) }

func orElse(fallback, s string) string { return cmp.Or(s, fallback) }

// titled is a list under a title, for templates that show one.
type titled struct {
	Title string
	List  any
}

func section(title string, list any) titled { return titled{title, list} }
