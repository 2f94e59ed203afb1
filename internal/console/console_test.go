package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"text/template/parse"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestEveryValueIsCleaned: no action of a template prints a value that did not go through clean, and what goes through it hides nothing.
func TestEveryValueIsCleaned(t *testing.T) {
	pages := must.Get(parsed())(t)
	actions := 0
	var walk func(in string, n parse.Node)
	list := func(in string, l *parse.ListNode) {
		if l != nil {
			for _, n := range l.Nodes {
				walk(in, n)
			}
		}
	}
	walk = func(in string, n parse.Node) {
		switch n := n.(type) {
		case *parse.IfNode:
			list(in, n.List)
			list(in, n.ElseList)
		case *parse.RangeNode:
			list(in, n.List)
			list(in, n.ElseList)
		case *parse.WithNode:
			list(in, n.List)
			list(in, n.ElseList)
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return
			}
			actions++
			if last := n.Pipe.Cmds[len(n.Pipe.Cmds)-1].String(); last != cleaned {
				t.Errorf("%s: %s is not cleaned", in, n)
			}
		}
	}
	for _, each := range pages.Templates() {
		if each.Tree != nil {
			list(each.Name(), each.Tree.Root)
		}
	}
	if actions < 100 {
		t.Fatalf("only %d actions were found", actions)
	}
	type named string
	for _, c := range []struct{ in, want any }{
		{"a\u202eb", `a\u{202e}b`}, {named("x\x1b"), `x\u{1b}`}, {nil, ""}, {3, 3}, {template.HTML("<time>"), template.HTML("<time>")},
	} {
		if got := clean(c.in); got != c.want {
			t.Errorf("clean(%q) is %q, want %q", c.in, got, c.want)
		}
	}
}

// TestTheFilesAreOfOurOwnOrigin: no page, style or script names another place, or has a script or style in it, which the content security policy would refuse.
func TestTheFilesAreOfOurOwnOrigin(t *testing.T) {
	looked := 0
	for _, pattern := range []string{"templates/*.html", "static/console.*"} {
		for _, name := range must.Get(filepath.Glob(pattern))(t) {
			text := string(must.Get(os.ReadFile(name))(t))
			looked++
			for _, never := range []string{"http://", "https://", "style=", "<style", " onclick", " onload", "javascript:", "@import", "url(", "innerHTML", "eval("} {
				if strings.Contains(text, never) {
					t.Errorf("%s has %q", name, never)
				}
			}
			for _, at := range strings.Split(text, "<script")[1:] {
				if !strings.HasPrefix(at, ` src="/static/`) {
					t.Errorf("%s has a script of its own", name)
				}
			}
		}
	}
	if looked < 6 {
		t.Fatalf("%d files were looked at", looked)
	}
	must.Do(t, fstest.TestFS(static, "static/console.js", "static/console.css", "static/icon.svg"))
}

func TestWhereAFormLeadsBack(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/acts?days=7&page=2": "/acts?days=7&page=2", "/trash?said=x": "/trash", "/candidate?id=dir%3A%2Fa%0A%FF": "/candidate?id=dir%3A%2Fa%0A%FF",
		"": "/", "//evil.example/acts": "/", "http://evil.example/acts": "/", "https:/acts": "/", "/nothing": "/", "/acts#x": "/", "acts": "/", "/\\evil": "/", "javascript:alert(1)": "/", "%": "/", "/static/console.js": "/",
	} {
		if got := knownBack(in); got != want {
			t.Errorf("%q leads to %q, want %q", in, got, want)
		}
	}
}

func TestWhatABrowserCallsIt(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.1:8080": "127.0.0.1:8080", "127.0.0.1:80": "127.0.0.1", "[::1]:80": "[::1]", "[::1]:8080": "[::1]:8080"} {
		if k := newKeys(must.Get(net.ResolveTCPAddr("tcp", at))(t)); k.host != want {
			t.Errorf("%s is called %q, want %q", at, k.host, want)
		}
	}
}

func TestPagesOfAList(t *testing.T) {
	all := make([]int, 250)
	for i := range all {
		all[i] = i
	}
	seen := 0
	for page := 1; page <= 3; page++ {
		part, p := paged(all, must.Get(url.Parse(fmt.Sprintf("/x?sort=age&said=y&page=%d", page)))(t), 100)
		seen += len(part)
		if part[0] != (page-1)*100 || p.Pages != 3 || p.Total != 250 || p.From != part[0]+1 || p.To != part[len(part)-1]+1 || (p.Earlier == "") != (page == 1) || (p.Later == "") != (page == 3) {
			t.Errorf("page %d: %d of it, %+v", page, len(part), p)
		}
	}
	if seen != 250 {
		t.Errorf("the pages have %d of 250", seen)
	}
	if _, p := paged(all, &url.URL{Path: "/x", RawQuery: "page=99&sort=age&said=y"}, 100); p.Page != 3 || p.Earlier != "/x?page=2&sort=age" {
		t.Errorf("a page after the last one is %d, and leads back to %s", p.Page, p.Earlier)
	}
	if part, p := paged([]int{}, &url.URL{}, 100); len(part) != 0 || p.Pages != 1 || p.From != 0 {
		t.Errorf("an empty list: %+v", p)
	}
}

// TestAnIdSurvivesAForm, byte for byte, also one that browsers would change.
func TestAnIdSurvivesAForm(t *testing.T) {
	for _, id := range []string{"dir:/a b", "dir:/a\nb\r\n", "dir:/bad\xff\xfe", "dir:/a%2Fb+c&d=e", "session:tmux/default/$4", "dir:/\u202e\x00"} {
		sent := must.Get(url.ParseQuery(url.Values{"id": {url.QueryEscape(id)}}.Encode()))(t)
		f := &form{Values: sent}
		if got := f.id("id"); f.err != nil || got != id {
			t.Errorf("%q comes back as %q: %v", id, got, f.err)
		}
		address := must.Get(url.Parse(link("/candidate", "id", id)))(t)
		if got := address.Query().Get("id"); got != id {
			t.Errorf("%q leads to %q", id, got)
		}
	}
}

// TestMessagesAreKeptInBounds: the oldest is forgotten.
func TestMessagesAreKeptInBounds(t *testing.T) {
	var k messages
	first := k.add(message{Text: "first"})
	for i := range maxMessages - 1 {
		k.add(message{Text: fmt.Sprint(i)})
	}
	if m := k.get(first); m == nil || m.Text != "first" {
		t.Fatalf("it is forgotten too early: %v", m)
	}
	last := k.add(message{Text: "last"})
	if k.get(first) != nil || k.get(last) == nil || k.get("") != nil || len(k.all) != maxMessages {
		t.Errorf("%d are kept, the first: %v", len(k.all), k.get(first))
	}
}

func TestTimesForPeopleAndPrograms(t *testing.T) {
	at := time.Date(2026, 11, 25, 13, 0, 4, 0, time.UTC)
	want := template.HTML(`<time datetime="2026-11-25T13:00:04Z" title="` + at.Local().Format(time.DateTime) + `">` + ago(at) + `</time>`)
	if got := timeOf(&at); got != want || ago(at) == "" {
		t.Errorf("%s, want %s", got, want)
	}
	var none *time.Time
	if timeOf(none) != "not known" || ago(none) != "" || timeOf("x") != "not known" {
		t.Error("a time that is not there is shown")
	}
	if got := ago(time.Now().Add(-90 * time.Second)); got != "1m30s ago" {
		t.Errorf("90 seconds are %q", got)
	}
}

// failing is an API with one route that fails.
type failing struct{ route string }

func (f failing) Ask(_ context.Context, _, path string, _ client.Params, _ any) error {
	if path == f.route {
		return errors.New("the store is broken")
	}
	return nil
}

func (failing) Restore(context.Context, string) (string, error) { return "", nil }
func (failing) Purge(context.Context, []string) (string, error) { return "", nil }

// TestAnErrorIsNoEmptyPage: what could not be asked for is not shown as nothing.
func TestAnErrorIsNoEmptyPage(t *testing.T) {
	for page, says := range map[string]struct{ route, empty string }{
		"/": {"/v1/top", "No agent"}, "/here": {"/v1/look", "was found"}, "/agents": {"/v1/top", "No agent"}, "/going": {"/v1/look", "Nothing would go"}, "/alarms": {"/v1/look", "No alarm"}, "/candidate": {"/v1/explain", "Why it stays"},
		"/holds": {"/v1/holds", "Nothing is held"}, "/trash": {"/v1/trash", "The trash is empty"}, "/trash/purge": {"/v1/trash", "any more"},
		"/acts": {"/v1/history", "No act"}, "/policies": {"/v1/policies", "Rules that object"},
	} {
		for _, route := range []string{says.route, "/v1/state"} {
			s := must.Get(Listen(failing{route}, "127.0.0.1:0", hclog.NewNullLogger()))(t)
			out := httptest.NewRecorder()
			s.page(out, httptest.NewRequest(http.MethodGet, page, nil), "session")
			if body := out.Body.String(); !strings.Contains(body, "the store is broken") || strings.Contains(body, says.empty) {
				t.Errorf("%s where %s fails:\n%s", page, route, body)
			}
			must.Do(t, s.listener.Close())
		}
	}
}

// documents is an API whose routes answer with what they have in testdata/documents.json.
type documents struct {
	failing
	all map[string]json.RawMessage
}

func (d documents) Ask(_ context.Context, _, path string, _ client.Params, out any) error {
	return json.Unmarshal(d.all[strings.TrimPrefix(path, "/v1/")], out)
}

// TestThePagesSayWhatDocumentsSay, with names as what they are, sums, owners that a person knows, and no flag of a command.
func TestThePagesSayWhatDocumentsSay(t *testing.T) {
	d, wants := documents{}, map[string][]string{}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/documents.json"))(t), &d.all))
	must.Do(t, json.Unmarshal(d.all["want"], &wants))
	s := must.Get(Listen(d, "127.0.0.1:0", hclog.NewNullLogger()))(t)
	t.Cleanup(func() { must.Do(t, s.listener.Close()) })
	for page, wants := range wants {
		out := httptest.NewRecorder()
		s.page(out, httptest.NewRequest(http.MethodGet, page, nil), "session")
		body := out.Body.String()
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q:\n%s", page, want, body)
			}
		}
		for _, never := range []string{"<img", "--max", "--all-of", ">0198c0de-"} {
			if strings.Contains(body, never) {
				t.Errorf("%s has %q:\n%s", page, never, body)
			}
		}
	}
	var stats document.Stats
	must.Do(t, json.Unmarshal(d.all["stats"], &stats))
	weeks := weeksPicture(stats, time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)) // a Sunday
	if n := len(weeks.Bars); n != weeksShown || weeks.Bars[n-1] != (bar{"2026-11-23", "5.0 MiB of disk", 5 << 20}) || weeks.Bars[0].N != 0 {
		t.Errorf("the weeks are %+v", weeks.Bars)
	}
}
