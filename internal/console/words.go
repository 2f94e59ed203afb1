package console

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"text/template/parse"
	"time"

	"github.com/winnow-reaper/winnow/internal/text"
)

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
