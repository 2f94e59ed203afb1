package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/test/kit/files"
	demand "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// consolePages are all pages that need nothing more than their address.
var consolePages = []string{"/", "/here", "/agents", "/going", "/acts", "/holds", "/trash", "/alarms", "/policies"}

// reader is winnow console in a process of its own, with a browser without JavaScript.
type reader struct {
	t *testing.T
	*crashWorld
	*http.Client
	// url is the address with the token, base without.
	url, base string
	errors    *syncText
	// ended is closed when it has ended.
	ended chan struct{}
}

// console starts winnow console in a world. It is ended with the test.
func (w *crashWorld) console(t *testing.T, args ...string) *reader {
	t.Helper()
	cmd := exec.Command(itself(), append([]string{"console", "--config", w.config, "--format", "json"}, args...)...)
	said := &syncText{}
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.dir, said
	out := demand.Get(cmd.StdoutPipe())(t)
	demand.Do(t, cmd.Start())
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			if code := cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("winnow console exits with %d after an interrupt: %s", code, said)
			}
		case <-time.After(wait.Patience):
			_ = cmd.Process.Kill()
			<-ended
			t.Errorf("winnow console does not end after an interrupt: %s", said)
		}
	})
	var doc struct{ URL string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	go func() { _, _ = io.Copy(io.Discard, out); _ = cmd.Wait(); close(ended) }()
	if err == nil {
		err = json.Unmarshal(line, &doc)
	}
	if err != nil {
		t.Fatalf("winnow console: %v: %s%s", err, line, said)
	}
	r := &reader{t: t, crashWorld: w, url: doc.URL, errors: said, ended: ended}
	u := demand.Get(url.Parse(doc.URL))(t)
	r.base = "http://" + u.Host
	r.Client = r.browser()
	return r
}

// browser is one that has not been here before. It follows nothing by itself.
func (r *reader) browser() *http.Client {
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: demand.Get(cookiejar.New(nil))(r.t), Transport: transport, Timeout: wait.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// syncText is text that one writes while another one reads.
type syncText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *syncText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// answer is what the console answered.
type answer struct {
	*http.Response
	body string
}

// ask sends a request with headers, name after value. A Host is sent as the request's own.
func (r *reader) ask(method, address, body string, headers ...string) answer {
	r.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = r.base + address
	}
	req := demand.Get(http.NewRequest(method, address, strings.NewReader(body)))(r.t)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", r.base)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res := demand.Get(r.Do(req))(r.t)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil && method != http.MethodHead {
		r.t.Fatal(err)
	}
	return answer{res, string(text)}
}

// enter opens a session, and waits for the first look.
func (r *reader) enter() {
	r.t.Helper()
	if a := r.ask("GET", r.url, ""); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/" {
		r.t.Fatalf("the address with the token: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	wait.Eventually(r.t, "the first look", func() bool { return !strings.Contains(r.page("/"), "The first look is under way") })
}

// page is a page that is there.
func (r *reader) page(address string) string {
	r.t.Helper()
	a := r.ask("GET", address, "")
	if a.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d: %s", address, a.StatusCode, a.body)
	}
	return a.body
}

var (
	csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)
	saidText  = regexp.MustCompile(`(?s)<p class="said( bad)?" role="(?:status|alert)">(.*?)</p>`)
	nextPage  = regexp.MustCompile(`<a rel="next" href="([^"]+)">`)
	rowLink   = regexp.MustCompile(`<th scope="row"><a href="([^"]+)">`)
)

// fields are those of the first form on a page that goes to action and has a text in it.
func (r *reader) fields(page, action, with string) url.Values {
	r.t.Helper()
	for _, form := range regexp.MustCompile(`(?s)<form[^>]* method="post" action="`+action+`">.*?</form>|<form method="post" action="`+action+`">.*?</form>`).FindAllString(page, -1) {
		if !strings.Contains(form, with) {
			continue
		}
		out := url.Values{}
		for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
			out.Add(m[1], html.UnescapeString(m[2]))
		}
		return out
	}
	r.t.Fatalf("no form to %s with %q in\n%s", action, with, page)
	return nil
}

// send sends a form and gives what the page that it leads to says, and whether that is a refusal.
func (r *reader) send(action string, fields url.Values) (said string, bad bool) {
	r.t.Helper()
	a := r.ask("POST", action, fields.Encode())
	if a.StatusCode != http.StatusSeeOther {
		r.t.Fatalf("%s: %d: %s", action, a.StatusCode, a.body)
	}
	page := r.page(a.Header.Get("Location"))
	m := saidText.FindStringSubmatch(page)
	if m == nil {
		r.t.Fatalf("%s leads to a page without a message:\n%s", action, page)
	}
	return html.UnescapeString(m[2]), m[1] != ""
}

// sweeps sends the form for a sweep until it says that: on a busy machine a look may have a gap, and what is not known stays.
func (r *reader) sweeps(want string) {
	r.t.Helper()
	wait.Eventually(r.t, "a sweep that says "+want, func() bool {
		said, bad := r.send("/sweep", r.fields(r.page("/"), "/sweep", ""))
		return !bad && strings.Contains(said, want)
	})
}

// goes sweeps by another program until the worktree goes: what the console's look reads is in use while it does, and stays.
func (r *reader) goes() {
	r.t.Helper()
	wait.Eventually(r.t, "it goes", func() bool {
		_, _ = r.run(nil, "winnow", "sweep", "--config", r.config, "--apply", "--kind", "dir")
		return !r.here()
	})
}

// TestTheConsoleLetsInWhoHasTheToken, from its own pages, at its own address, and only them.
func TestTheConsoleLetsInWhoHasTheToken(t *testing.T) {
	t.Parallel()
	startsOften(t)
	r := newCrashFolder(t).console(t)
	host := strings.TrimPrefix(r.base, "http://")
	headers := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	}
	check := func(what string, a answer, code int) {
		t.Helper()
		if a.StatusCode != code {
			t.Errorf("%s: %d, want %d", what, a.StatusCode, code)
		}
		for name, want := range headers {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", what, name, got, want)
			}
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: it is given to other origins", what)
		}
	}
	for _, page := range append(consolePages, "/events", "/static/console.js", "/nothing") {
		check("without a session "+page, r.ask("GET", page, ""), 403)
	}
	token := demand.Get(url.Parse(r.url))(t).Query().Get("token")
	for _, wrong := range []string{"", "x", token[:len(token)-1], token + "x", strings.ToUpper(token), token + "&token=" + token} {
		a := r.ask("GET", "/?token="+wrong, "")
		check("the token "+wrong, a, 403)
		if len(a.Cookies()) > 0 {
			t.Errorf("the token %q: a cookie is set", wrong)
		}
	}
	check("the token in a form", r.ask("POST", "/?token="+token, ""), 403)
	check("a session made up", r.ask("GET", "/", "", "Cookie", "winnow-console-"+demand.Get(url.Parse(r.base))(t).Port()+"=abc.def"), 403)

	a := r.ask("GET", r.url, "")
	check("the token", a, 303)
	if c := a.Cookies(); len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Domain != "" || strings.Contains(c[0].Value, token) {
		t.Errorf("the cookie is %v", c)
	}
	r.enter()
	for _, page := range append(consolePages, "/static/console.js", "/static/console.css") {
		check(page, r.ask("GET", page, ""), 200)
		check("HEAD "+page, r.ask("HEAD", page, ""), 200)
		if body := r.page(page); strings.Contains(body, token) {
			t.Errorf("%s has the token in it", page)
		}
	}
	check("a page that is not there", r.ask("GET", "/nothing", ""), 404)
	check("a file that is not there", r.ask("GET", "/static/..%2fserve.go", ""), 404)
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"} {
		check(method, r.ask(method, "/", ""), 405)
	}
	for _, other := range []string{"localhost:" + demand.Get(url.Parse(r.base))(t).Port(), "127.0.0.1", "evil.example", "evil.example:80", host + ".", "[::1]:80", "127.0.0.1:1"} {
		check("the host "+other, r.ask("GET", "/", "", "Host", other), 421)
		check("the host "+other+" with the token", r.ask("GET", "/?token="+token, "", "Host", other), 421)
	}
	form := url.Values{"csrf": {csrfField.FindStringSubmatch(r.page("/"))[1]}, "reason": {"x"}}.Encode()
	for _, c := range []struct {
		site, origin string
		get, post    int
	}{
		{"same-origin", r.base, 200, 303}, {"same-origin", "null", 200, 303}, {"same-origin", "", 200, 303}, {"none", "", 200, 403}, {"", r.base, 200, 303},
		{"", "", 200, 403}, {"", "null", 403, 403}, {"", "http://evil.example", 403, 403}, {"", "https://" + host, 403, 403}, {"", "http://127.0.0.1:1", 403, 403},
		{"cross-site", "http://evil.example", 403, 403}, {"cross-site", "", 403, 403}, {"cross-site", r.base, 403, 403}, {"same-site", "http://127.0.0.1:1", 403, 403},
		{"same-site", "", 403, 403}, {"same-origin", "http://evil.example", 403, 403}, {"none", "null", 403, 403}, {"whatever", r.base, 403, 403},
	} {
		what := fmt.Sprintf("Sec-Fetch-Site %q with Origin %q", c.site, c.origin)
		check("GET "+what, r.ask("GET", "/", "", "Sec-Fetch-Site", c.site, "Origin", c.origin), c.get)
		check("POST "+what, r.ask("POST", "/pause", form, "Sec-Fetch-Site", c.site, "Origin", c.origin), c.post)
	}
	r.mustRun(t, "winnow", "resume", "--config", r.config)

	mine := r.fields(r.page("/acts"), "/pause", "").Get("csrf")
	other := *r
	other.Client = r.browser()
	other.enter()
	for _, wrong := range []string{"", "x", mine + "x", other.fields(other.page("/acts"), "/pause", "").Get("csrf"), mine + "&csrf=" + mine} {
		check("a form with the word "+wrong, r.ask("POST", "/pause", "csrf="+wrong), 403)
	}
	check("a form of another kind", r.ask("POST", "/pause", "csrf="+mine, "Content-Type", "text/plain"), 400)
	check("a form that is too large", r.ask("POST", "/pause", "csrf="+mine+"&reason="+strings.Repeat("x", 65<<10)), 400)
	check("a form to nowhere", r.ask("POST", "/nothing", "csrf="+mine), 404)
	if out := r.mustRun(t, "winnow", "resume", "--config", r.config); !strings.Contains(out, "nothing was paused") {
		t.Errorf("a form that was refused paused: %s", out)
	}
	for _, elsewhere := range []string{"http://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/events", "/?token=x#y", "x"} {
		a := r.ask("POST", "/resume", url.Values{"csrf": {mine}, "back": {elsewhere}}.Encode())
		if at := a.Header.Get("Location"); !strings.HasPrefix(at, "/?said=") {
			t.Errorf("a form with back=%q leads to %q", elsewhere, at)
		}
	}
}

// TestTheConsoleDoesWhatItsFormsSay holds, releases, brings back, pauses, and removes for good only what was confirmed. It never ends anything.
func TestTheConsoleDoesWhatItsFormsSay(t *testing.T) {
	t.Parallel()
	startsOften(t)
	r := newCrashFolder(t).console(t)
	r.enter()
	id := "dir:" + r.worktree
	said := func(action string, fields url.Values, want string, refused bool) {
		t.Helper()
		got, bad := r.send(action, fields)
		if !strings.Contains(got, want) || bad != refused {
			t.Errorf("%s says %q (refused: %v), want %q (%v)", action, got, bad, want, refused)
		}
		if strings.Contains(got, ";  ") {
			t.Errorf("%s says %q, with blanks that stood before a line of the command", action, got)
		}
	}
	candidate := "/candidate?" + url.Values{"id": {id}}.Encode()
	wait.Eventually(t, "the worktree would go", func() bool { return strings.Contains(r.page(candidate), `verdict goes`) })
	form := r.fields(r.page(candidate), "/hold", "")
	said("/hold", form, "the reason is missing", true)
	form.Set("reason", "  a <b>demo</b> ")
	form.Set("for", "3h")
	said("/hold", form, "a time that the console does not offer", true)
	form.Set("for", "2d")
	said("/hold", form, id+" is held until", false)
	if out := r.mustRun(t, "winnow", "holds", "--config", r.config); !strings.Contains(out, "a <b>demo</b>") || !strings.Contains(out, id) {
		t.Errorf("winnow holds: %s", out)
	}
	if page := r.page("/holds"); !strings.Contains(page, "a &lt;b&gt;demo&lt;/b&gt;") {
		t.Errorf("the page of holds: %s", page)
	}
	wait.Eventually(t, "what is held stays", func() bool {
		return strings.Contains(r.page("/here?verdict=stays"), html.EscapeString(filepath.Base(r.worktree)))
	})
	r.mustRun(t, "winnow", "sweep", "--config", r.config, "--apply", "--kind", "dir")
	if !r.here() {
		t.Fatal("what was held went")
	}
	// A part of an id is not completed to another thing's.
	part := url.Values{"csrf": form["csrf"], "id": {url.QueryEscape(id[:len(id)-2])}, "reason": {"x"}}
	said("/hold", part, "it is not there any more", true)
	said("/release", part, "was not held any more", true)
	said("/restore", url.Values{"csrf": form["csrf"], "act": {"01"}}, "does not lie in the trash any more", true)

	r.sweeps("0 would go")
	said("/release", r.fields(r.page("/holds"), "/release", ""), id+" is no longer held", false)
	said("/pause", func() url.Values {
		f := r.fields(r.page("/acts"), "/pause", "")
		f.Set("reason", "a migration")
		f.Set("for", "4h")
		return f
	}(), "paused until", false)
	if out, _ := r.run(nil, "winnow", "sweep", "--config", r.config, "--apply"); !strings.Contains(string(out), "a migration") {
		t.Errorf("a sweep under the pause: %s", out)
	}
	if page := r.page("/policies"); !strings.Contains(page, "Nothing acts: paused since") {
		t.Error("the pause is not shown")
	}
	said("/resume", r.fields(r.page("/"), "/resume", ""), "resumed", false)
	r.sweeps("1 would go")
	if !r.here() {
		t.Fatal("a page ended something")
	}

	for i, restored := 0, "/acts"; i < 2; i, restored = i+1, "/trash" {
		r.goes()
		if page := r.page("/trash"); !strings.Contains(page, "KiB") {
			t.Errorf("the trash has no size: %s", page)
		}
		said("/restore", r.fields(r.page(restored), "/restore", ""), "brought back", false)
		if !r.here() {
			t.Fatal("it was not brought back")
		}
		said("/release", r.fields(r.page("/holds"), "/release", ""), id+" is no longer held", false)
	}
	r.goes()
	kept := r.kept(t)
	if len(kept) != 1 {
		t.Fatalf("the trash has %q", kept)
	}
	if a := r.ask("GET", "/trash/purge?act=nothing", ""); a.StatusCode != 404 {
		t.Errorf("a question about nothing: %d", a.StatusCode)
	}
	form = r.fields(r.page("/trash/purge?act="+kept[0]), "/purge", "")
	said("/purge", form, "it was not confirmed", true)
	if len(r.kept(t)) != 1 {
		t.Fatal("it was removed without a confirmation")
	}
	form.Set("confirm", "yes")
	r.mustRun(t, "winnow", "pause", "--config", r.config)
	said("/purge", form, "nothing was removed", true)
	r.mustRun(t, "winnow", "resume", "--config", r.config)
	said("/purge", form, "1 act removed for good", false)
	if len(r.kept(t)) != 0 {
		t.Error("it is still in the trash")
	}
	said("/purge", form, "does not lie in the trash any more", true)
	if page := r.page("/acts"); !strings.Contains(page, "removed for good <time") {
		t.Errorf("the acts do not say that it was removed: %s", page)
	}
}

// TestTheConsoleWaitsForAnotherSweep: a form that is sent while another program sweeps is done after it.
func TestTheConsoleWaitsForAnotherSweep(t *testing.T) {
	t.Parallel()
	startsOften(t)
	r := newCrashFolder(t).console(t)
	r.enter()
	form := r.fields(r.page("/"), "/sweep", "")
	demand.Do(t, os.MkdirAll(filepath.Join(r.dir, "state"), 0o700))
	unlock := demand.Get(lock.Take(filepath.Join(r.dir, "state", "lock")))(t)
	began, held := time.Now(), 600*time.Millisecond
	ended := make(chan error, 1)
	time.AfterFunc(held, func() { ended <- unlock() })
	said, bad := r.send("/sweep", form)
	demand.Do(t, <-ended)
	if bad || !strings.Contains(said, "1 would go") || time.Since(began) < held {
		t.Errorf("after %s it says %q (refused: %v)", time.Since(began), said, bad)
	}
}

// TestAPauseDoesNotWaitForALook that waits for another program's sweep.
func TestAPauseDoesNotWaitForALook(t *testing.T) {
	t.Parallel()
	startsOften(t)
	r := newCrashFolder(t).console(t)
	r.enter()
	look, pause := r.fields(r.page("/"), "/sweep", ""), r.fields(r.page("/acts"), "/pause", "")
	demand.Do(t, os.MkdirAll(filepath.Join(r.dir, "state"), 0o700))
	unlock := demand.Get(lock.Take(filepath.Join(r.dir, "state", "lock")))(t)
	looked := make(chan struct{})
	go func() { defer close(looked); r.send("/sweep", look) }()
	for range 20 {
		if said, bad := r.send("/pause", pause); bad {
			t.Errorf("it says %q", said)
		}
	}
	select {
	case <-looked:
		t.Error("the pause waited for the look")
	default:
	}
	demand.Do(t, unlock())
	<-looked
}

// TestTheConsoleShowsBrakes and sources that could not be read, as alarms.
func TestTheConsoleShowsBrakes(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "collect: {", "collect: {registry: [{name: workers, format: json, path: "+w.dir+"/workers.json}], ", 1))
	files.Write(t, filepath.Join(w.dir, "workers.json"), "{")
	_, _ = w.run(nil, "winnow", "sweep", "--config", w.config) // exits with 3 for the registry
	l := demand.Get(ledger.Open(filepath.Join(w.dir, "state", "ledger.db")))(t)
	demand.Do(t, l.SaveBrakes(t.Context(), &brakes.Memory{Tripped: []brakes.Brake{{Rule: brakes.CameBack, At: time.Now(), Message: "something <brings> it back"}}}))
	demand.Do(t, l.Close())
	r := w.console(t)
	r.enter()
	for page, wants := range map[string][]string{
		"/alarms": {"brake_came_back", "something &lt;brings&gt; it back; the daemon only observes until winnow brakes release", "<b>registry/workers</b> failed"},
		"/":       {"Could not be read", "registry/workers", "Alarms ("},
		"/going":  {"Nothing would go. Not everything could be read"},
	} {
		for _, want := range wants {
			if text := r.page(page); !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", page, want, text)
			}
		}
	}
}

// TestTheConsoleEndsAfterTheActInHand: an interrupt in the middle of a restore ends the console when that is done.
func TestTheConsoleEndsAfterTheActInHand(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	w.mustRun(t, "winnow", "sweep", "--config", w.config, "--apply", "--kind", "dir")
	if w.here() || len(w.kept(t)) != 1 {
		t.Fatal("it does not go")
	}
	in := *w
	in.env = append(slices.Clone(w.env), runAt+"=restore.tree:kill -INT $PPID; sleep 4")
	r := in.console(t)
	r.enter()
	form := r.fields(r.page("/trash"), "/restore", "")
	req := demand.Get(http.NewRequest("POST", r.base+"/restore", strings.NewReader(form.Encode())))(t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", r.base)
	if res, err := r.Do(req); err == nil { // the server may have closed the connection
		_ = res.Body.Close()
	}
	select {
	case <-r.ended:
	case <-time.After(wait.Patience):
		t.Fatal("it does not end")
	}
	if !w.here() || len(w.kept(t)) != 0 {
		t.Errorf("the restore was cut short: the folder is here: %v, in the trash: %q", w.here(), w.kept(t))
	}
}

// hostileNames are names of folders that a page must not believe.
var hostileNames = []string{
	"<img src=x onerror=alert(1)>", `"><script>alert(1)<`, `'"quotes`, "bidi\u202egnp.exe", "ctrl\x1b[31m\x07\x7f", "line\nbreak\r\n", "tab\t", "bad\xff\xfe", "zero\u200bwidth\u2066", "{{.CSRF}}", "&lt;b&gt;",
	"a+b%20c%2f?x=1&y#z", `back\u{202e}slash`, strings.Repeat("long", 55),
}

// TestTheConsoleShowsHostileNames as what they are, and finds each thing again by its page and its forms.
func TestTheConsoleShowsHostileNames(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	var all []string
	for i, name := range hostileNames {
		all = append(all, fmt.Sprintf("%s-review-%08x", name, i))
		demand.Do(t, os.Mkdir(filepath.Join(w.dir, "wt", all[i]), 0o700))
	}
	r := w.console(t)
	r.enter()
	shown := map[string]bool{}
	page := r.page("/here")
	for _, p := range []string{page, r.page("/"), r.page("/agents"), r.page("/going"), r.page("/policies")} {
		for _, never := range []string{"<img src=x", "<script>alert", "\u202e", "\u2066", "\u200b", "\x1b", "\x07", "\x7f", "\r", "\t", "\xff"} {
			if strings.Contains(p, never) {
				t.Errorf("a page has %q in it as it is", never)
			}
		}
	}
	for _, m := range rowLink.FindAllStringSubmatch(page, -1) {
		address := html.UnescapeString(m[1])
		id := demand.Get(url.Parse(address))(t).Query().Get("id")
		shown[strings.TrimPrefix(id, "dir:"+w.dir+"/wt/")] = true
	}
	for _, name := range all {
		if !shown[name] {
			t.Errorf("%q has no row that leads to it", name)
			continue
		}
		id := "dir:" + w.dir + "/wt/" + name
		form := r.fields(r.page("/candidate?"+url.Values{"id": {id}}.Encode()), "/hold", "")
		form.Set("reason", "keep")
		if said, bad := r.send("/hold", form); bad || !strings.Contains(said, "is held") {
			t.Errorf("%q cannot be held: %s", name, said)
		}
	}
	var held struct{ Holds []struct{ ID string } }
	demand.Do(t, json.Unmarshal([]byte(w.mustRun(t, "winnow", "holds", "--config", w.config, "--format", "json")), &held))
	if len(held.Holds) != len(all) {
		t.Errorf("%d are held, want %d", len(held.Holds), len(all))
	}
	for range held.Holds {
		if said, bad := r.send("/release", r.fields(r.page("/holds"), "/release", "")); bad {
			t.Errorf("it cannot be released: %s", said)
		}
	}
	for _, q := range []string{"<img src=x onerror=alert(1)>", `"><script>alert(1)</script>`, "\x1b\u202e", strings.Repeat("x", 3000)} {
		if p := r.page("/here?" + url.Values{"q": {q}, "owner": {q}, "kind": {q}, "verdict": {q}}.Encode()); strings.Contains(p, "<img src=x") || strings.Contains(p, "<script>alert") || strings.Contains(p, "\u202e") {
			t.Errorf("the search for %.20q is shown as it is", q)
		}
	}
}

// TestTheConsoleOfManyCandidates has 5,000, which come in pages.
func TestTheConsoleOfManyCandidates(t *testing.T) {
	stage.NeedSecond(t, "five thousand candidates")
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "roots: [", "sizes: 0s, roots: ["+w.dir+"/many, ", 1))
	for i := range 5000 {
		demand.Do(t, os.MkdirAll(filepath.Join(w.dir, "many", fmt.Sprintf("job-review-%08x", i)), 0o700))
	}
	r := w.console(t)
	r.enter()
	seen, slowest, largest, pages := map[string]bool{}, time.Duration(0), 0, 0
	for next := "/here?kind=dir"; next != ""; pages++ {
		began := time.Now()
		page := r.page(next)
		slowest, largest = max(slowest, time.Since(began)), max(largest, len(page))
		for _, m := range rowLink.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Fatalf("%s stands on two pages", m[1])
			}
			seen[m[1]] = true
		}
		next = ""
		if m := nextPage.FindStringSubmatch(page); m != nil {
			next = html.UnescapeString(m[1])
		}
	}
	if len(seen) != 5001 || pages != 51 {
		t.Errorf("%d candidates on %d pages, want 5001 on 51", len(seen), pages)
	}
	t.Logf("the slowest page took %s, the largest has %d bytes", slowest.Round(time.Millisecond), largest)
	if slowest > wait.Patience || largest > 200_000 {
		t.Errorf("the slowest page took %s, the largest has %d bytes", slowest, largest)
	}
	if page := r.page("/here?kind=dir&q=REVIEW+JOB+00001387"); !strings.Contains(page, "1 candidate by owner") || !strings.Contains(page, "job-review-00001387") {
		t.Errorf("a search finds not the one: %s", page)
	}
}

// TestTheConsoleTellsOfChanges by a stream: of a hold that another program placed, and then of the look that follows.
func TestTheConsoleTellsOfChanges(t *testing.T) {
	t.Parallel()
	r := newCrashFolder(t).console(t)
	r.enter()
	req := demand.Get(http.NewRequestWithContext(t.Context(), "GET", r.base+"/events", nil))(t)
	res := demand.Get(r.browserFor(r.Jar).Do(req))(t)
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	var mu sync.Mutex
	stamps := []string{}
	go func() {
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if stamp, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				mu.Lock()
				stamps = append(stamps, stamp)
				mu.Unlock()
			}
		}
	}()
	told := func() int { mu.Lock(); defer mu.Unlock(); return len(stamps) }
	wait.Eventually(t, "the first stamp", func() bool { return told() > 0 })
	before := told()
	r.mustRun(t, "winnow", "retain", "dir:"+r.worktree, "--reason", "elsewhere", "--config", r.config)
	wait.Eventually(t, "a stamp for the hold", func() bool { return told() > before })
	// A look comes when the console has rested from the last one, as a share of what that took.
	if !wait.Until(3*wait.Patience, func() bool { return strings.Contains(r.page("/here?verdict=stays"), filepath.Base(r.worktree)) }) {
		t.Error("the hold does not count")
	}
}

// browserFor is another browser with the same cookies.
func (r *reader) browserFor(jar http.CookieJar) *http.Client {
	b := r.browser()
	b.Jar, b.Timeout = jar, 0
	return b
}

// TestTheConsoleIsBounded in streams and connections, and waits for no client.
func TestTheConsoleIsBounded(t *testing.T) {
	t.Parallel()
	r := newCrashFolder(t).console(t)
	r.enter()
	busy := 0
	var first io.Reader
	for i := range 20 {
		req := demand.Get(http.NewRequestWithContext(t.Context(), "GET", r.base+"/events", nil))(t)
		res := demand.Get(r.browserFor(r.Jar).Do(req))(t)
		defer res.Body.Close()
		if i == 0 {
			first = res.Body
		}
		if res.StatusCode == http.StatusServiceUnavailable {
			busy++
		}
	}
	if busy != 4 {
		t.Errorf("%d of 20 streams were refused, want 4", busy)
	}
	r.page("/")

	// Who connects and says nothing, or a line at a time, is let go; who connects too often gets no answer.
	host := strings.TrimPrefix(r.base, "http://")
	began, closed := time.Now(), make(chan error, 100)
	for i := range cap(closed) {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			closed <- nil
			continue
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: ")
		}
		go func() {
			_ = conn.SetReadDeadline(time.Now().Add(wait.Patience))
			_, err := io.Copy(io.Discard, conn)
			if e, ok := err.(net.Error); ok && e.Timeout() {
				closed <- err
				return
			}
			closed <- nil
		}()
	}
	for range cap(closed) {
		if err := <-closed; err != nil {
			t.Fatalf("a silent connection is still open: %v", err)
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("all were closed after %s: none was waited for", took)
	}
	r.page("/")

	// A stream is not bounded in time.
	told := make(chan string, 100)
	go func() {
		lines := bufio.NewScanner(first)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") {
				told <- lines.Text()
			}
		}
		close(told)
	}()
	<-told
	for range len(told) {
		<-told
	}
	r.mustRun(t, "winnow", "retain", "dir:"+r.worktree, "--reason", "later", "--config", r.config)
	select {
	case _, open := <-told:
		if !open {
			t.Error("the stream has ended")
		}
	case <-time.After(wait.Patience):
		t.Error("the stream says nothing any more")
	}
}

// TestTheConsoleListensOnThisMachineAlone.
func TestTheConsoleListensOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	for _, address := range []string{"0.0.0.0:0", ":8080", "[::]:0", "192.0.2.1:80", "localhost:80", "127.0.0.1", "[::ffff:127.0.0.1]:0", "unix:/x"} {
		out, err := w.run([]string{"WINNOW_CONSOLE_LISTEN=" + address}, "winnow", "console", "--config", w.config)
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "console.listen") {
			t.Errorf("%s: %v: %s", address, err, out)
		}
	}
	if out, err := w.run(nil, "winnow", "console", "--config", w.config, "--port", "70000"); err == nil || !strings.Contains(string(out), "--port") {
		t.Errorf("--port 70000: %v: %s", err, out)
	}
	r := w.console(t, "--port", "0")
	if !strings.HasPrefix(r.url, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", r.url)
	}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		_ = l.Close()
		files.Write(t, w.config, w.configuration(t)+"console: {listen: '[::1]:0'}\n")
		r := w.console(t)
		r.enter()
		if !strings.HasPrefix(r.url, "http://[::1]:") {
			t.Errorf("it listens at %s", r.url)
		}
	}
}

// TestTheConsoleShowsTheDaemon: whether one runs, how it stands, and what brakes it.
func TestTheConsoleShowsTheDaemon(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "steady_for: 0s", "steady_for: 0s, confirm_after: 500ms", 1)+"run: {rest: 100ms}\n")
	r := w.console(t)
	demand.Equal(t, http.StatusSeeOther, r.ask(http.MethodGet, r.url, "").StatusCode, "the first visit")
	shows := func(what string) {
		t.Helper()
		wait.Eventually(t, what, func() bool { return strings.Contains(r.ask(http.MethodGet, "/going", "").body, what) })
	}
	shows("No winnow run answers")
	shows("sweeps all the same") // it may run and not answer
	shows("of this machine's clock, UTC")
	d := w.daemon(t, "--apply")
	shows("winnow run is acting")
	wait.Eventually(t, "the folder goes", func() bool { // a look for the console may have git in it just when it would go
		d.signal(syscall.SIGUSR1)
		return strings.Contains(d.output(), "done: dir:")
	})
	w.mustRun(t, "git", "-C", "project", "worktree", "prune")
	w.mustRun(t, "git", "-C", "project", "worktree", "add", "-q", "--detach", w.worktree)
	d.signal(syscall.SIGUSR1)
	d.says(`braked: 1 candidate to go`)
	shows("winnow run only observes since")
	w.mustRun(t, "winnow", "brakes", "release", "--config", w.config)
	shows("winnow run is acting")
	d.signal(syscall.SIGTERM)
	d.ends()
	shows("No winnow run answers")
}

// TestTheConsoleAsksTheDaemon that answers: it has that look, and does by it what its forms say. Where the daemon ends it goes on by itself.
func TestTheConsoleAsksTheDaemon(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	r := w.console(t)
	r.enter()
	if page := r.page("/here"); !strings.Contains(page, "winnow run is observing") || !strings.Contains(page, filepath.Base(r.worktree)) {
		t.Errorf("the first page: %s", page)
	}
	// The first answer to who has not asked before has a report: so the daemon looked because the console had asked.
	if _, look := w.call("GET", "/v1/look", nil, nil); !strings.Contains(string(look), r.worktree) {
		t.Errorf("the daemon was not asked: %s", look)
	}
	id := "dir:" + r.worktree
	candidate := "/candidate?" + url.Values{"id": {id}}.Encode()
	wait.Eventually(t, "the worktree would go", func() bool { return strings.Contains(r.page(candidate), `verdict goes`) })
	if a := r.ask("GET", candidate+"x", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("a candidate that is not there: %d", a.StatusCode)
	}
	hold := r.fields(r.page(candidate), "/hold", "")
	hold.Set("reason", "mine")
	hold.Set("for", "2d")
	part := url.Values{"csrf": hold["csrf"], "id": {url.QueryEscape(id[:len(id)-2])}, "reason": {"x"}}
	for _, step := range []struct {
		action string
		form   func() url.Values
		want   string
	}{
		{"/hold", func() url.Values { return part }, "it is not there any more"},
		{"/release", func() url.Values { return part }, "was not held any more"},
		{"/hold", func() url.Values { return hold }, id + " is held until"},
		{"/release", func() url.Values { return r.fields(r.page("/holds"), "/release", "") }, id + " is no longer held"},
		{"/pause", func() url.Values { return r.fields(r.page("/acts"), "/pause", "") }, "paused until winnow resume"},
		{"/resume", func() url.Values { return r.fields(r.page("/policies"), "/resume", "") }, "resumed"},
		{"/resume", func() url.Values { return url.Values{"csrf": hold["csrf"]} }, "nothing was paused"},
	} {
		if said, _ := r.send(step.action, step.form()); !strings.Contains(said, step.want) {
			t.Errorf("%s says %q, want %q", step.action, said, step.want)
		}
		if step.want == id+" is held until" {
			r.sweeps("0 would go, 1 would stay; nothing was changed")
		}
	}
	r.sweeps("1 would go (")
	r.sweeps("), 0 would stay; nothing was changed")
	if !r.here() {
		t.Fatal("a page ended something")
	}
	r.goes()
	if said, bad := r.send("/restore", r.fields(r.page("/trash"), "/restore", "")); bad || !r.here() {
		t.Errorf("/restore says %q", said)
	}
	if page := r.page("/acts"); !strings.Contains(page, "brought back <time") || !strings.Contains(page, "Sweeps") {
		t.Errorf("the acts: %s", page)
	}
	demand.Do(t, os.Mkdir(filepath.Join(w.dir, "wt", "bad\xff-review-00000001"), 0o700))
	r.sweeps("nothing was changed")
	links := rowLink.FindAllStringSubmatch(r.page("/here?q=bad"), -1)
	demand.Equal(t, 1, len(links), "rows of a name that is not UTF-8")
	form := r.fields(r.page(html.UnescapeString(links[0][1])), "/hold", "")
	form.Set("reason", "keep")
	if said, bad := r.send("/hold", form); bad || !strings.Contains(said, "is held") {
		t.Errorf("a name that is not UTF-8 cannot be held: %s", said)
	}
	if said, bad := r.send("/release", r.fields(r.page("/holds"), "/release", "")); bad {
		t.Errorf("a name that is not UTF-8 cannot be released: %s", said)
	}
	w.d.signal(syscall.SIGTERM)
	w.d.ends()
	wait.Eventually(t, "the console goes on without the daemon", func() bool {
		page := r.page("/here")
		return strings.Contains(page, "No winnow run answers") && strings.Contains(page, filepath.Base(r.worktree))
	})
	if said, bad := r.send("/hold", hold); bad {
		t.Errorf("/hold without the daemon says %q", said)
	}
}

// TestTheConsoleDoesNotWaitForADaemonThatHangs longer than a moment: it goes on by itself.
func TestTheConsoleDoesNotWaitForADaemonThatHangs(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	r := w.console(t)
	r.enter()
	w.d.signal(syscall.SIGSTOP)
	defer w.d.signal(syscall.SIGCONT)
	wait.Eventually(t, "it goes on by itself", func() bool {
		page := r.page("/here")
		return strings.Contains(page, "No winnow run answers") && strings.Contains(page, filepath.Base(r.worktree))
	})
}

// TestALookForWhoAsksNeverActs, also where the daemon acts, and remembers only where it was posted.
func TestALookForWhoAsksNeverActs(t *testing.T) {
	t.Parallel()
	w, _, socket := answeringWorld(t, 207)
	w.d.Options.Apply = true
	c := client.New(socket)
	defer c.Close()
	ask := func(method string, p client.Params) (out document.Look) {
		t.Helper()
		res := demand.Get(c.Request(wait.Within(t, wait.Patience), method, "/v1/look", p))(t)
		defer res.Body.Close()
		demand.Equal(t, http.StatusOK, res.StatusCode, "%s", method)
		if method == http.MethodPost {
			demand.Do(t, json.NewDecoder(res.Body).Decode(&out.Report))
		} else {
			demand.Do(t, json.NewDecoder(res.Body).Decode(&out))
		}
		return out
	}
	goes := func(x decision.Decision) bool { return x.ID == "dir:"+w.worktree && x.Verdict == decision.Reap }
	var look document.Look
	wait.Eventually(t, "a look", func() bool { look = ask(http.MethodGet, client.Params{}); return look.Report != nil })
	if _, err := os.Stat(w.d.LedgerPath()); err == nil {
		t.Error("a look that was only read is remembered")
	}
	if again := ask(http.MethodGet, client.Params{Stamp: look.Stamp}); again.Report != nil || again.Stamp != look.Stamp {
		t.Errorf("the same look is told again: %s after %s", again.Stamp, look.Stamp)
	}
	wait.Eventually(t, "what was seen twice would go", func() bool { return slices.ContainsFunc(ask(http.MethodPost, client.Params{}).Report.Decisions, goes) })
	if _, err := os.Stat(w.d.LedgerPath()); err != nil || !w.here() {
		t.Errorf("the folder is here: %v, the ledger: %v", w.here(), err)
	}
	if now := ask(http.MethodGet, client.Params{Stamp: look.Stamp}); now.Report == nil || now.Report.Mode != report.DryRun || !slices.ContainsFunc(now.Report.Decisions, goes) {
		t.Errorf("what was posted is not the latest look: %+v", now)
	}
}
