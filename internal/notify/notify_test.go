package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// receiver is a server that keeps what it was sent; answer says what it does with the n-th request, nil takes all.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func receive(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	s := &receiver{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := make([]byte, r.ContentLength)
		for at := 0; at < len(data); {
			n, err := r.Body.Read(data[at:])
			if at += n; err != nil {
				break
			}
		}
		s.mu.Lock()
		s.bodies, s.heads = append(s.bodies, string(data)), append(s.heads, r.Header.Clone())
		n := len(s.bodies)
		s.mu.Unlock()
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with %s", r.Method, r.Header.Get("Content-Type"))
		}
		if answer != nil {
			answer(n, w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *receiver) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

func (s *receiver) documents(t *testing.T) (out []notify.Document) {
	t.Helper()
	for _, b := range s.got() {
		var d notify.Document
		must.Do(t, json.Unmarshal([]byte(b), &d))
		out = append(out, d)
	}
	return out
}

// waits waits for so many messages.
func (s *receiver) waits(t *testing.T, n int) []notify.Document {
	t.Helper()
	wait.Eventually(t, fmt.Sprintf("%d messages", n), func() bool { return len(s.got()) >= n })
	return s.documents(t)
}

func (s *receiver) sink() notify.Webhook {
	return notify.Webhook{URL: s.URL, Within: wait.Patience}
}

// lines are what was logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func options(l *lines, sinks ...notify.Sink) notify.Options {
	return notify.Options{
		Sinks: sinks, On: notify.Groups, Names: 2, Forget: time.Hour, Tries: 3, Wait: time.Millisecond, Timeout: wait.Patience, Last: wait.Patience, Host: "box", Log: l.add,
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sweep is an event of a sweep so long after noon, with what stands: "group:key".
func sweep(after time.Duration, standing ...string) notify.Event {
	e := notify.Event{At: noon.Add(after), Speaks: notify.Groups}
	for _, s := range standing {
		group, key, _ := strings.Cut(s, ":")
		e.Standing = append(e.Standing, notify.Standing{Group: group, Key: key, Item: notify.Item{Rule: "rule." + group, Kind: "dir", Name: key, Message: "about " + key}})
	}
	return e
}

func done(kinds ...string) (out []notify.Item) {
	for i, kind := range kinds {
		out = append(out, notify.Item{Kind: kind, ID: fmt.Sprintf("%s:%d", kind, i), Name: fmt.Sprintf("n%d", i), Outcome: "done"})
	}
	return out
}

// TestWhatStandsIsToldOnce: an alarm that stays is told once, a new one at once, and one that was missing for long enough again.
func TestWhatStandsIsToldOnce(t *testing.T) {
	t.Parallel()
	s, l := receive(t, nil), &lines{}
	n := notify.New(options(l, s.sink()))
	n.Hear(sweep(0, "alarms:a"))
	s.waits(t, 1)
	n.Hear(sweep(5*time.Minute, "alarms:a"))
	n.Hear(sweep(10*time.Minute, "alarms:a", "alarms:b"))
	if got := s.waits(t, 2)[1]; got.Alarms.Count != 1 || got.Alarms.First[0].Name != "b" {
		t.Errorf("the second message: %+v", got.Alarms)
	}
	n.Hear(sweep(20 * time.Minute))                   // both are missing
	n.Hear(sweep(60*time.Minute, "alarms:b"))         // b is there again too soon to be new
	n.Hear(notify.Event{At: noon.Add(5 * time.Hour)}) // a sweep that failed says nothing of alarms
	n.Hear(sweep(80*time.Minute, "alarms:b"))         // a has been missing for an hour: it is forgotten
	n.Hear(sweep(85*time.Minute, "alarms:a", "alarms:b"))
	if got := s.waits(t, 3)[2]; got.Alarms.Count != 1 || got.Alarms.First[0].Name != "a" {
		t.Errorf("the third message: %+v", got.Alarms)
	}
	n.End()
	if got := len(s.got()); got != 3 || l.text() != "" {
		t.Errorf("%d messages, and the log says %q", got, l.text())
	}
}

// TestADigest puts together what comes within the rest: counts of all, names of the first few.
func TestADigest(t *testing.T) {
	t.Parallel()
	s, l := receive(t, nil), &lines{}
	o := options(l, s.sink())
	o.Rest = time.Hour
	n := notify.New(o)
	n.Hear(sweep(0, "problems:p"))
	s.waits(t, 1)
	e := sweep(time.Minute, "asks:x", "asks:y", "asks:z", "acts:failed")
	e.Done, e.FreedBytes, e.Purged = done("dir", "dir", "process"), 1<<20, 2
	e.Standing[3].Outcome = "failed"
	n.Hear(e)
	n.Hear(sweep(2*time.Minute, "asks:x", "acts:failed", "alarms:a")) // the failed act is not told twice
	n.End()                                                           // which does not wait for the rest
	all := s.documents(t)
	if len(all) != 2 {
		t.Fatalf("%d messages: %v", len(all), s.got())
	}
	d := all[1]
	if d.Acts.Done != 3 || d.Acts.Failed != 1 || d.Acts.Kinds["dir"] != 2 || d.Acts.FreedBytes != 1<<20 || d.Acts.Purged != 2 || len(d.Acts.First) != 2 {
		t.Errorf("acts: %+v", d.Acts)
	}
	if d.Asks.Count != 3 || len(d.Asks.First) != 2 || d.Asks.Rules["rule.asks"] != 3 || d.Alarms.Count != 1 || d.Sweeps != 2 || d.Problems != nil {
		t.Errorf("asks %+v, alarms %+v, sweeps %d, problems %+v", d.Asks, d.Alarms, d.Sweeps, d.Problems)
	}
	for _, want := range []string{"done: dir n0", "and 2 more", "freed: 1.0 MiB", "asks: dir x: about x (rule.asks)", "and 1 more", "alarm rule.alarms: about a"} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, d.Text)
		}
	}
	if d.Title != "Winnow on box: 2 dirs, 1 process went, 1 act failed, 2 removed from the trash, 1 new alarm, 3 candidates to be asked about" {
		t.Errorf("title %q", d.Title)
	}
	schema := must.Get(jsonschema.NewCompiler().Compile("../../docs/reference/schemas/notification.json"))(t)
	for _, body := range s.got() {
		v := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(body)))(t)
		if err := schema.Validate(v); err != nil {
			t.Errorf("the message is not as its schema says: %v", err)
		}
	}
}

// TestOnlyWhatIsWanted is told: groups that are not on, and names where there are to be none.
func TestOnlyWhatIsWanted(t *testing.T) {
	t.Parallel()
	s, l := receive(t, nil), &lines{}
	o := options(l, s.sink())
	o.On, o.Names = []string{notify.GroupAsks}, 0
	n := notify.New(o)
	e := sweep(0, "alarms:secret-a", "problems:secret-p")
	e.Done = done("dir")
	n.Hear(e)
	n.Hear(sweep(time.Minute, "asks:secret-x", "asks:secret-y"))
	n.End()
	got := s.got()
	if len(got) != 1 || strings.Contains(got[0], "secret") || !strings.Contains(got[0], `"rule.asks":2`) {
		t.Errorf("messages: %v", got)
	}
}

// TestAReceiverThatFailsForAWhile gets the same message again, and what it lost otherwise is counted, said, and told again where it still stands.
func TestAReceiverThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	down := true
	var mu sync.Mutex
	s, l := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n <= 2 || down && n > 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), &lines{}
	n := notify.New(options(l, s.sink()))
	n.Hear(sweep(0, "alarms:a"))
	all := s.waits(t, 3)
	if all[0].ID != all[1].ID || all[1].ID != all[2].ID {
		t.Errorf("a message that is tried again has another id: %s, %s, %s", all[0].ID, all[1].ID, all[2].ID)
	}
	e := sweep(time.Minute, "alarms:a", "alarms:b")
	e.Done = done("dir", "dir")
	n.Hear(e)
	wait.Eventually(t, "the message was given up", func() bool { m, _ := n.Lost(); return m == 1 })
	if _, acts := n.Lost(); acts != 2 || !strings.Contains(l.text(), "answers 503") || !strings.Contains(l.text(), "lost: 1, with 2 acts") {
		t.Errorf("%d acts lost; the log says %q", acts, l.text())
	}
	mu.Lock()
	down = false
	mu.Unlock()
	n.Hear(sweep(2*time.Minute, "alarms:a", "alarms:b"))
	n.End()
	all = s.documents(t)
	last := all[len(all)-1]
	if last.Alarms.Count != 1 || last.Alarms.First[0].Name != "b" || last.Lost != 1 || last.LostActs != 2 || !strings.Contains(last.Text, "1 message before this one could not be delivered; 2 acts") {
		t.Errorf("the message after: %+v\n%s", last.Alarms, last.Text)
	}
	if m, _ := n.Lost(); m != 0 {
		t.Errorf("%d messages count as lost after that was told", m)
	}
}

// TestWhatWasLostIsToldAfterAStart: a receiver was down when the program ended, as it may be at each single sweep of a timer. The next program's message says how much it missed, once.
func TestWhatWasLostIsToldAfterAStart(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s, l := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), &lines{}
	o := options(l, s.sink())
	o.File = filepath.Join(t.TempDir(), "notified.json")
	tells := func(e notify.Event) *notify.Document {
		before := len(s.got())
		n := notify.New(o)
		n.Hear(e)
		n.End()
		if all := s.documents(t); len(all) > before {
			return &all[len(all)-1]
		}
		return nil
	}
	acts := func(n int) notify.Event {
		e := sweep(0)
		e.Done = done(slices.Repeat([]string{"dir"}, n)...)
		return e
	}
	down.Store(true)
	tells(acts(2))
	tells(acts(3))
	down.Store(false)
	if d := tells(sweep(0)); d != nil {
		t.Errorf("nothing happened, and it told %+v", d)
	}
	if d := tells(sweep(time.Minute, "alarms:a")); d == nil || d.Lost != 2 || d.LostActs != 5 || !strings.Contains(d.Text, "2 messages before this one could not be delivered; 5 acts") {
		t.Errorf("the message after: %+v", d)
	}
	if d := tells(acts(1)); d == nil || d.Lost != 0 || d.LostActs != 0 {
		t.Errorf("it is told twice: %+v", d)
	}
}

// TestARefusedMessageIsNotTriedAgain: a wrong token stays wrong.
func TestARefusedMessageIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s, l := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), &lines{}
	n := notify.New(options(l, s.sink()))
	n.Hear(sweep(0, "alarms:a"))
	wait.Eventually(t, "the message was given up", func() bool { m, _ := n.Lost(); return m == 1 })
	n.End()
	if len(s.got()) != 1 || !strings.Contains(l.text(), "give it a token that it takes") {
		t.Errorf("%d requests; the log says %q", len(s.got()), l.text())
	}
}

// TestAStartDoesNotTellAgain: what a receiver has taken is remembered, for that receiver.
func TestAStartDoesNotTellAgain(t *testing.T) {
	t.Parallel()
	s, other, l := receive(t, nil), receive(t, nil), &lines{}
	o := options(l, s.sink())
	o.File = filepath.Join(t.TempDir(), "notified.json")
	n := notify.New(o)
	n.Hear(sweep(0, "alarms:a", "asks:x"))
	n.End()
	if st := must.Get(os.Stat(o.File))(t); st.Mode().Perm() != 0o600 {
		t.Errorf("the memory has the rights %v", st.Mode())
	}
	o.Sinks = []notify.Sink{s.sink(), other.sink()}
	n = notify.New(o)
	n.Hear(sweep(8*time.Hour, "alarms:a", "asks:x", "asks:y"))
	n.End()
	if all := s.documents(t); len(all) != 2 || all[1].Alarms != nil || all[1].Asks.Count != 1 {
		t.Errorf("the first receiver got %v", s.got())
	}
	if all := other.documents(t); len(all) != 1 || all[0].Asks.Count != 2 {
		t.Errorf("the other receiver got %v", other.got())
	}
	must.Do(t, os.WriteFile(o.File, []byte("{"), 0o600))
	n = notify.New(o)
	n.Hear(sweep(9*time.Hour, "alarms:a"))
	n.End()
	if got := len(s.got()); got != 3 || !strings.Contains(l.text(), "is told again") {
		t.Errorf("after a broken memory: %d messages; the log says %q", got, l.text())
	}
}

// TestAReceiverThatHangs holds up neither a sweep nor, for long, the end.
func TestAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	s, l := receive(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}), &lines{}
	t.Cleanup(func() { close(free) })
	o := options(l, s.sink())
	o.Timeout, o.Last = time.Minute, 200*time.Millisecond
	o.Sinks[0] = notify.Webhook{URL: s.URL, Within: time.Minute}
	n := notify.New(o)
	began := time.Now()
	for i := range 200 {
		n.Hear(sweep(time.Duration(i)*time.Minute, fmt.Sprintf("alarms:%d", i)))
	}
	n.End()
	if took := time.Since(began); took > wait.Patience/2 {
		t.Errorf("it took %s", took)
	}
	if m, _ := n.Lost(); m == 0 || !strings.Contains(l.text(), "messages that were lost") {
		t.Errorf("%d lost; the log says %q", m, l.text())
	}
}

// TestAttackARedirect: a server leads to another address, which gets neither the message nor the token.
func TestAttackARedirect(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a webhook's server redirects to another host, to get the token and the message there")
	thief := receive(t, nil)
	token := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(token, []byte("t0ken\n"), 0o600))
	for _, code := range []int{301, 302, 303, 307, 308} {
		elsewhere := strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)
		s := receive(t, func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, code) })
		for _, header := range []string{"", "X-Api-Key"} {
			w := s.sink()
			w.TokenFile, w.Header = token, header
			results := notify.Test(t.Context(), options(&lines{}, w))
			if len(thief.got()) > 0 || !strings.Contains(results[0].Error, "leads elsewhere and was not followed") {
				a.Lost("%d %q: %+v, the other server got %v", code, header, results, thief.got())
				continue
			}
			a.Held()
		}
		if got := s.heads[0].Get("Authorization"); got != "Bearer t0ken" {
			t.Errorf("Authorization is %q", got)
		}
		if got := s.heads[1].Get("X-Api-Key"); got != "t0ken" || s.heads[1].Get("Authorization") != "" {
			t.Errorf("X-Api-Key is %q", got)
		}
	}
}

// TestAttackATokenOfOthers: a file with a token that another user wrote, or can read, is not used.
func TestAttackATokenOfOthers(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a file with a token, or with an address, belongs to another user, can be read or replaced by one, or is a link")
	s := receive(t, nil)
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(s.URL), 0o600))
		must.Do(t, os.Chmod(path, mode))
		return path
	}
	files := map[string]error{write("read by all", 0o604): safeopen.ErrReadable, write("read by a group", 0o640): safeopen.ErrReadable, write("written by all", 0o602): safeopen.ErrWritable}
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink(write("mine", 0o600), link))
	files[link] = safeopen.ErrLink
	open := filepath.Join(dir, "open")
	must.Do(t, os.Mkdir(open, 0o700))
	replaced := filepath.Join(open, "token")
	must.Do(t, os.WriteFile(replaced, []byte(s.URL), 0o600))
	must.Do(t, os.Chmod(open, 0o777))
	files[replaced] = safeopen.ErrWritable
	if os.Geteuid() == 0 {
		theirs := write("theirs", 0o600)
		must.Do(t, os.Lchown(theirs, 40001, 40001))
		files[theirs] = safeopen.ErrOwner
	}
	for path, want := range files {
		for _, w := range []notify.Webhook{{URL: s.URL, TokenFile: path, Within: time.Second}, {URLFile: path, Within: time.Second}} {
			err := w.Send(t.Context(), &notify.Document{})
			if !errors.Is(err, want) || len(s.got()) > 0 {
				a.Lost("%s: want %v, got %v, and %d messages", path, want, err, len(s.got()))
				continue
			}
			a.Held()
		}
	}
	if err := (notify.Webhook{URLFile: write("mine again", 0o600), Within: wait.Patience}).Send(t.Context(), &notify.Document{}); err != nil || len(s.got()) != 1 {
		t.Errorf("a file of this user's: %v", err)
	}
}

// TestAttackNames: the name of a folder is no mention, no link, no control character and no second field.
func TestAttackNames(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a name mentions everybody in a chat, hides text, or moves a cursor")
	for _, name := range []string{"<!channel>", "<http://evil.example|click>", "a\x1b[2Jb", "a\nproblem: all is lost", "a\u202eb", "&lt;!here&gt;", "\xff"} {
		s := receive(t, nil)
		slack := s.sink()
		slack.Format = notify.FormatSlack
		slack.URL += "/slack"
		n := notify.New(options(&lines{}, s.sink(), slack))
		e := sweep(0)
		e.Done = []notify.Item{{Kind: "dir", Name: name, Outcome: "done"}}
		n.Hear(e)
		n.End()
		wrong := ""
		for _, body := range s.got() {
			var m map[string]any
			must.Do(t, json.Unmarshal([]byte(body), &m))
			text, _ := m["text"].(string)
			_, document := m["schema"]
			if strings.Count(text, "\n") > 1 || strings.ContainsAny(text, "\x1b\u202e\ufffd") {
				wrong = fmt.Sprintf("%q: %q", name, text)
			}
			if !document && (strings.ContainsAny(text, "<>") || strings.Contains(text, "&lt;!here") || m["mrkdwn"] != false || m["unfurl_links"] != false) {
				wrong = fmt.Sprintf("%q for slack: %v", name, m)
			}
		}
		if got := len(s.got()); got != 2 {
			wrong = fmt.Sprintf("%q: %d messages", name, got)
		}
		a.Check(wrong)
	}
}

// TestAnAddressThatIsASecret is in no error and in no name.
func TestAnAddressThatIsASecret(t *testing.T) {
	t.Parallel()
	s := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	file := filepath.Join(t.TempDir(), "url")
	for _, address := range []string{s.URL + "/T0/s3cret?sig=s3cret", "http://127.0.0.1:1/s3cret", "ftp://127.0.0.1/s3cret", "http://192.0.2.1/s3cret", "s3cret"} {
		must.Do(t, os.WriteFile(file, []byte(address), 0o600))
		w := notify.Webhook{URLFile: file, Within: 5 * time.Second}
		err := w.Send(t.Context(), &notify.Document{})
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(w.Name()+w.ID(), "s3cret") {
			t.Errorf("%s: %v, %s", address, err, w.Name())
		}
	}
	for address, open := range map[string]bool{
		"http://hooks.example.com/x": false, "https://u:p@hooks.example.com/x": false, "https://hooks.example.com/x#y": false, "https://hooks.example.com/x?sig=1": true, "unix:x": false, "https://": false,
	} {
		if httppost.Check(address, true) == nil || (httppost.Check(address, false) == nil) != open {
			t.Errorf("%s was taken, or not", address)
		}
	}
	for _, address := range []string{"https://hooks.example.com", "http://localhost:1/x", "http://[::1]:8080", "unix:/run/x.sock"} {
		if err := httppost.Check(address, true); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestOverAUnixSocket sends to a socket of this user's.
func TestOverAUnixSocket(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	socket := listen(t, s.Config.Handler)
	results := notify.Test(t.Context(), options(&lines{}, notify.Webhook{URL: "unix:" + socket, Within: wait.Patience}))
	if got := s.documents(t); results[0].Error != "" || len(got) != 1 || !got[0].Test || got[0].Title != "Winnow on box: a test" {
		t.Errorf("%+v, %+v", results, got)
	}
	results = notify.Test(context.Background(), options(&lines{}, notify.Webhook{URL: "unix:" + socket + "-none", Within: time.Second}))
	if results[0].Error == "" {
		t.Error("a socket that is missing took it")
	}
}
