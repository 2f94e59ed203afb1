package console

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// maxReason is how long a reason may be, in bytes.
const maxReason = 500

// spans are how long a hold or a pause may be asked for; "" is without an end.
var spans = []string{"", "1h", "4h", "1d", "2d", "7d", "30d"}

// form is a form that was sent, by one session. The first thing that is wrong with it is its error.
type form struct {
	url.Values
	err error
}

// check notes what is wrong with a form where ok is false.
func (f *form) check(ok bool, wrong string) {
	if !ok && f.err == nil {
		f.err = errors.New(wrong)
	}
}

// id is a name that a page had written into the form, byte for byte: it is escaped there, because browsers change line breaks and bytes that are not UTF-8.
func (f *form) id(name string) string {
	id, err := url.QueryUnescape(f.Get(name))
	f.check(err == nil && id != "", "the form does not say what it is about; nothing was done")
	return id
}

func (f *form) long() string {
	f.check(slices.Contains(spans, f.Get("for")), "the form has a time that the console does not offer; nothing was done")
	return f.Get("for")
}

func (f *form) reason() string {
	reason := strings.TrimSpace(f.Get("reason"))
	f.check(len(reason) <= maxReason && utf8.ValidString(reason) && !strings.ContainsAny(reason, "\n\r\x00"), "the reason is longer than 500 bytes, or not one line; nothing was done")
	return reason
}

// send asks a route of the API for what a form wants, unless something is wrong with the form.
func send[T any](ctx context.Context, s *Server, f *form, method, path string, p client.Params) (out T, err error) {
	if f.err != nil {
		return out, f.err
	}
	return ask[T](ctx, s, method, path, p)
}

// actions are what a form may ask for. None of them ends anything that lives.
var actions = map[string]func(s *Server, ctx context.Context, f *form) (string, error){
	"/sweep": func(s *Server, ctx context.Context, f *form) (string, error) {
		r, err := send[report.Report](ctx, s, f, http.MethodPost, "/v1/look", client.Params{})
		return report.Headline(&r) + "; nothing was changed", err
	},
	"/hold": func(s *Server, ctx context.Context, f *form) (string, error) {
		p := client.Params{Candidate: f.id("id"), Reason: f.reason(), For: f.long(), Whole: true}
		f.check(p.Reason != "", "the reason is missing: say why it must stay; nothing was held")
		h, err := send[snapshot.Hold](ctx, s, f, http.MethodPost, "/v1/holds", p)
		return render.Held(h), err
	},
	"/release": func(s *Server, ctx context.Context, f *form) (string, error) {
		out, err := send[document.Released](ctx, s, f, http.MethodDelete, "/v1/holds", client.Params{Candidate: f.id("id"), Whole: true})
		return render.Released(out), err
	},
	"/restore": func(s *Server, ctx context.Context, f *form) (string, error) {
		act := f.id("act")
		if f.err != nil {
			return "", f.err
		}
		return s.api.Restore(ctx, act)
	},
	"/purge": func(s *Server, ctx context.Context, f *form) (string, error) {
		f.check(f.Get("confirm") == "yes", "it was not confirmed; nothing was removed")
		acts := slices.Compact(slices.Sorted(slices.Values(f.Values["act"])))
		f.check(len(acts) > 0 && len(acts) <= purgeAtOnce && acts[0] != "", "the form does not say what to remove; nothing was removed")
		if f.err != nil {
			return "", f.err
		}
		return s.api.Purge(ctx, acts)
	},
	"/pause": func(s *Server, ctx context.Context, f *form) (string, error) {
		p, err := send[document.Pause](ctx, s, f, http.MethodPost, "/v1/pause", client.Params{Reason: f.reason(), For: f.long()})
		return render.Paused(p, ""), err
	},
	"/resume": func(s *Server, ctx context.Context, f *form) (string, error) {
		out, err := send[document.Resumed](ctx, s, f, http.MethodDelete, "/v1/pause", client.Params{})
		if err == nil && !out.Resumed {
			err = errors.New(render.Resumed(out))
		}
		return render.Resumed(out), err
	},
}

// post does what a form asks for, and leads back to the page that it stood on, with what came of it.
func (s *Server) post(w http.ResponseWriter, r *http.Request, session string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		s.refuse(w, wrongBody)
		return
	}
	f := &form{Values: r.PostForm}
	if given := f.Values["csrf"]; len(given) != 1 || !equal(given[0], s.keys.csrf(session)) {
		s.refuse(w, wrongForm)
		return
	}
	do, ok := actions[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	// It is brought to its end, also where the browser does not wait for it.
	said, err := do(s, context.WithoutCancel(r.Context()), f)
	m := message{Text: said}
	if err != nil {
		m = message{Text: err.Error(), Bad: true}
	}
	back, _ := url.Parse(knownBack(f.Get("back"))) // a page's address, which was written from a parsed one
	q := back.Query()
	q.Set("said", s.messages.add(m))
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// message is what came of a form.
type message struct {
	Text string
	Bad  bool
}

// maxMessages is how many of the latest messages are kept.
const maxMessages = 64

// messages are what came of forms, by an unguessable name: an address can name one, and not write one.
type messages struct {
	mu    sync.Mutex
	names []string
	all   map[string]message
}

func (k *messages) add(m message) string {
	name := random()[:16]
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]message{}
	}
	if len(k.names) == maxMessages {
		delete(k.all, k.names[0])
		k.names = k.names[1:]
	}
	k.names, k.all[name] = append(k.names, name), m
	return name
}

func (k *messages) get(name string) *message {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m, ok := k.all[name]; ok {
		return &m
	}
	return nil
}

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
	State, Label, OwnerName, Why string
	// Name is what it is called in its place: in a repository, or in a folder.
	Name string
	// Due is when a second look may let go of it, zero where that is not known or nothing waits; Measured is when its
	// size was, where that is long ago.
	Due, Measured time.Time
	// Group is what it is a part of, on the page of what would go.
	Group *report.UsageGroup
	// found is everything that a search looks through, in small letters.
	found string
}

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

// labelOf is what a person calls a candidate whose id alone is known.
func labelOf(id string) string {
	kind, _, _ := strings.Cut(id, ":")
	return report.Label(decision.Decision{ID: id, Kind: kind})
}

// noOwner is what is written where a candidate has no owner.
const noOwner = "owner not known"

// oldSize is how long before the look a size may be measured before its row says so.
const oldSize = 10 * time.Minute

// rowOf is a decision of a report as a row.
func rowOf(r *report.Report, d decision.Decision) row {
	x := row{Decision: d, State: stateOf(d), Label: report.Label(d), OwnerName: ownerName(d.Owner, r)}
	_, x.Name = report.PlaceOf(d)
	if d.Main != nil {
		x.Why = d.Main.Message
	}
	if x.State == waits {
		x.Due, _ = report.Due(d, r.TakenAt)
	}
	if d.Size != nil && r.TakenAt.Sub(d.Size.MeasuredAt) > oldSize {
		x.Measured = d.Size.MeasuredAt
	}
	return x
}

// rowsOf are the candidates of a report: in its order where it was sorted, else by owner, those that go first.
func rowsOf(r *report.Report) []row {
	out := make([]row, 0, len(r.Decisions))
	for _, d := range r.Decisions {
		x := rowOf(r, d)
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
	if r.Selection != nil {
		return out
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
	Kind, State, Owner, Words, Sort string
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

// pager says which part of a list is shown.
type pager struct {
	Page, Pages, From, To, Total int
	// Earlier and Later are the addresses of the pages around, "" when it is missing.
	Earlier, Later string
}

// paged cuts out of a list the page that an address names, the last one where there are fewer.
func paged[T any](all []T, at *url.URL, size int) ([]T, pager) {
	q := at.Query()
	q.Del("said")
	wanted, _ := strconv.Atoi(q.Get("page")) // 0 where it is missing
	address := func(page int) string {
		q.Set("page", strconv.Itoa(page))
		return at.Path + "?" + q.Encode()
	}
	p := pager{Total: len(all), Pages: max(1, (len(all)+size-1)/size)}
	p.Page = min(max(1, wanted), p.Pages)
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

//go:embed templates
var templates embed.FS

// cleaned is the function that every value passes before html/template escapes it.
const cleaned = "_clean"

// parsed reads the templates. Every value that they print is cleaned, so that no template can forget it: names may reorder or hide what stands around them.
func parsed() (*template.Template, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		cleaned: clean,
		"time":  timeOf, "size": text.Size, "plural": text.Plural, "span": span, "ref": url.QueryEscape, "link": link,
		"home": text.Home, "tree": tree, "things": report.Things,
		"free": freeText, "label": labelOf, "owner": ownerName, "now": time.Now, "times": func(a, b int) int { return a * b },
		"brief":     func(v any) string { return text.Value(v, maxBrief) },
		"otherwise": func(fallback, s string) string { return cmp.Or(s, fallback) },
		"under":     func(title string, list any) titled { return titled{title, list} },
		// How far the clock by which timeOf shows a time is from UTC: a browser may be in another zone, behind a tunnel.
		"zone":  func() string { return time.Now().Format("UTC-07:00") },
		"state": func(verdict string) string { return verdictStates[verdict] },
		"words": func(state string) string { return stateWords[state] },
		// The end of a path says most of it.
		"short": func(s string) string { return ansi.TruncateLeft(s, max(0, ansi.StringWidth(s)-maxName), "…") },
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
	case *parse.BranchNode:
		cleanAll(n.List)
		cleanAll(n.ElseList)
	case *parse.IfNode:
		cleanAll(&n.BranchNode)
	case *parse.RangeNode:
		cleanAll(&n.BranchNode)
	case *parse.WithNode:
		cleanAll(&n.BranchNode)
	case *parse.ActionNode:
		if n.Pipe != nil && len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier(cleaned).SetPos(n.Pos)}})
		}
	}
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

// timeOf is how long ago a time was, with the clock as its title, and for programs. t is a time.Time or a *time.Time.
func timeOf(t any) template.HTML {
	at := when(t)
	if at.IsZero() {
		return "not known"
	}
	const mark = `<time datetime="%s" title="%s">%s</time>` // digits and our own words alone
	return template.HTML(fmt.Sprintf(mark, at.UTC().Format(time.RFC3339), text.Time(at), ago(at)))
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

// maxBrief is how much of one value is shown as JSON, in characters.
const maxBrief = 300

// titled is a list under a title, for templates that show one.
type titled struct {
	Title string
	List  any
}
