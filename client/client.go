// Package client asks the Winnow daemon of this user (winnow run) by its local API: how it stands, whether anything is alive in a folder, process or session and what
// proves it, why a candidate goes or stays; and has it hold things, sweep or pause. docs/guides/orchestrators.md describes the API, openapi.yaml its documents.
//
// The daemon answers on a unix socket that this user alone can reach. A client makes sure, by the kernel's word, that it is this user's process that answers.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

// OpenAPI describes the API, in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte

// ErrNone says that no daemon answers at a socket.
var ErrNone = errors.New("no winnow run answers")

// Error is an answer that says no.
type Error struct {
	// Status is HTTP's, Code the exit code that the command of the same name would have ended with.
	Status int `json:"-"`
	Code   int `json:"code"`
	// Message says what happened, and what was left untouched.
	Message string `json:"message"`
	// Document is what the command prints about it, such as why nothing was held; absent when it is missing.
	Document json.RawMessage `json:"document,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Socket is where the daemon of this user's default configuration answers.
func Socket() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the XDG Base Directory Specification has it
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the state folder: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "winnow", "api.sock"), nil
}

// Client asks one daemon. Safe for use by several goroutines.
type Client struct {
	// Header goes with each request.
	Header http.Header

	http *http.Client
}

// New makes a client of the daemon at a socket. It connects when it is asked something.
func New(socket string) *Client {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, _, err := peercred.Dial(ctx, socket)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNone, err)
			}
			return conn, nil
		},
		MaxIdleConns: 2, IdleConnTimeout: 10 * time.Second, DisableCompression: true, Proxy: nil,
	}
	return &Client{http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close lets go of idle connections. Leases that are open stay.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// maxAnswer is the most that is read of one answer, in bytes.
const maxAnswer = 256 << 20

// Do sends a request and gives the answer, with any status; the caller closes its body. body may be nil.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	u := url.URL{Scheme: "http", Host: "winnow", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // without the address, which means nothing to a reader
		err = wrapped.Err
	}
	if err != nil {
		return nil, fmt.Errorf("ask winnow run: %w", err)
	}
	return res, nil
}

// Params are the words of a request: they stand in the query, or as JSON in the body of a POST. Each route takes those that openapi.yaml names.
type Params struct {
	Candidate string   `json:"candidate,omitempty"`
	For       string   `json:"for,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	What      string   `json:"what,omitempty"`
	As        string   `json:"as,omitempty"`
	Since     string   `json:"since,omitempty"`
	Stamp     string   `json:"stamp,omitempty"`
	Brakes    []string `json:"brake,omitempty"`
	Wait      bool     `json:"wait,omitempty"`
	Whole     bool     `json:"whole,omitempty"`
	Latest    bool     `json:"latest,omitempty"`
}

// query is what stands in the query.
func (p Params) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"candidate": p.Candidate, "what": p.What, "as": p.As, "since": p.Since, "stamp": p.Stamp} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]bool{"whole": p.Whole, "latest": p.Latest} {
		if value {
			q.Set(name, "true")
		}
	}
	for _, brake := range p.Brakes {
		q.Add("brake", brake)
	}
	return q
}

// Request is Do with the words of a request where the method has them stand.
func (c *Client) Request(ctx context.Context, method, path string, p Params) (*http.Response, error) {
	p.Candidate, p.What = EscapeID(p.Candidate), EscapeID(p.What)
	if method == http.MethodPost {
		return c.Do(ctx, method, path, nil, p)
	}
	return c.Do(ctx, method, path, p.query(), nil)
}

// ask sends a request and reads the answer into out, which may be nil.
func (c *Client) ask(ctx context.Context, method, path string, p Params, out any) error {
	res, err := c.Request(ctx, method, path, p)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refused(res); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := Read(res.Body, out); err != nil {
		return fmt.Errorf("read the answer of winnow run to %s %s: %w", method, path, err)
	}
	return nil
}

// ask is Client.ask of a document.
func ask[T any](ctx context.Context, c *Client, method, path string, p Params) (out T, err error) {
	err = c.ask(ctx, method, path, p, &out)
	return out, err
}

// refused is the error of an answer that says no.
func refused(res *http.Response) error {
	if res.StatusCode < 300 {
		return nil
	}
	var doc struct{ Error *Error }
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&doc); err != nil || doc.Error == nil {
		return &Error{Status: res.StatusCode, Code: 1, Message: "winnow run answered " + res.Status}
	}
	doc.Error.Status = res.StatusCode
	return doc.Error
}

// State is how the daemon stands.
type State struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	// Mode is observing, acting, paused or braked.
	Mode    string    `json:"mode"`
	Since   time.Time `json:"since"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`
	// Sweeping is true while a sweep is under way. Next is when the next one is due, and Why says what calls for it.
	Sweeping bool      `json:"sweeping"`
	Next     time.Time `json:"next"`
	Why      string    `json:"why"`
	// Problem is why the latest sweep came to nothing, "" where it did not.
	Problem string `json:"problem"`
	// Brakes are what keeps it from acting until a person releases them.
	Brakes []Brake `json:"brakes"`
	// Last is the latest sweep that looked; nil before the first.
	Last *Swept `json:"last"`
}

// Brake is what the daemon found that it did not understand, by its rule: cap_twice, read_back, came_back or source_shrank.
type Brake struct {
	Rule    string    `json:"rule"`
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// Swept is one sweep in short.
type Swept struct {
	Sweep string    `json:"sweep"`
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	// Took is in seconds.
	Took float64 `json:"took"`
	// Short is true where it found nothing new by stamps.
	Short bool `json:"short"`
	// Census counts by kind of candidate.
	Census map[string]Count `json:"census"`
}

// Count is the census of one kind.
type Count struct {
	Seen    int `json:"seen"`
	InScope int `json:"in_scope"`
	Reap    int `json:"reap"`
	Spare   int `json:"spare"`
	Unknown int `json:"unknown"`
}

// State asks how the daemon stands.
func (c *Client) State(ctx context.Context) (State, error) {
	return ask[State](ctx, c, http.MethodGet, "/v1/state", Params{})
}

// Report asks for the report of the latest sweep that looked, as winnow sweep --format json prints it. Before the first it is an Error with status 404.
func (c *Client) Report(ctx context.Context) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, http.MethodGet, "/v1/report", Params{})
}

// Explain asks why a candidate goes or stays, as winnow explain --format json prints it.
func (c *Client) Explain(ctx context.Context, candidate string) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, http.MethodGet, "/v1/explain", Params{Candidate: candidate})
}

// WhyAlive asks whether anything is alive in what, and what proves it: a folder's whole path, a pid (812 or 812@93211), a session, tab or terminal, or an agent's session id. as
// names the kind, "" to have it found out. An answer that is unknown is no proof of either.
func (c *Client) WhyAlive(ctx context.Context, what, as string) (alive.Answer, error) {
	return ask[alive.Answer](ctx, c, http.MethodGet, "/v1/why-alive", Params{What: what, As: as})
}

// Holds lists what is held, leases among it.
func (c *Client) Holds(ctx context.Context) ([]snapshot.Hold, error) {
	return ask[[]snapshot.Hold](ctx, c, http.MethodGet, "/v1/holds", Params{})
}

// Hold says what is to be held, and why. For is how long, 0 for until it is released.
type Hold struct {
	Candidate string
	Reason    string
	For       time.Duration
}

// Hold places a hold, which outlives the connection and the daemon. It gives the one that stands: an earlier one, where the user or another program of the user's holds the candidate for
// longer.
func (c *Client) Hold(ctx context.Context, h Hold) (snapshot.Hold, error) {
	p := Params{Candidate: h.Candidate, Reason: h.Reason, For: span(h.For)}
	return ask[snapshot.Hold](ctx, c, http.MethodPost, "/v1/holds", p)
}

// span is a time as the API takes it, "" for 0.
func span(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

// Release lifts the holds on a candidate, whoever placed them, leases among them.
func (c *Client) Release(ctx context.Context, candidate string) error {
	return c.ask(ctx, http.MethodDelete, "/v1/holds", Params{Candidate: candidate}, nil)
}

// Sweep has the daemon sweep now. With wait it waits for the end of that sweep.
func (c *Client) Sweep(ctx context.Context, wait bool) (State, error) {
	return ask[State](ctx, c, http.MethodPost, "/v1/sweep", Params{Wait: wait})
}

// Pause stops all acts of this user, of every winnow, for a time; 0 for until Resume. A pause that lasts longer stays as it is.
func (c *Client) Pause(ctx context.Context, long time.Duration, reason string) error {
	return c.ask(ctx, http.MethodPost, "/v1/pause", Params{Reason: reason, For: span(long)}, nil)
}

// Resume ends a pause, whoever began it.
func (c *Client) Resume(ctx context.Context) error {
	return c.ask(ctx, http.MethodDelete, "/v1/pause", Params{}, nil)
}

// Lease is a hold that lasts as long as its connection.
type Lease struct {
	ID        string    `json:"id"`
	Candidate string    `json:"candidate"`
	Owner     string    `json:"owner"`
	Until     time.Time `json:"until"`

	cancel context.CancelFunc
	body   io.Closer
	done   chan struct{}
	err    error
}

// ErrLapsed says that the hold of a lease has ended although the connection is open: the daemon did not put it off in time. It hangs, or was stopped.
var ErrLapsed = errors.New("the lease was not put off in time: winnow run hangs")

// leaseGrace is for how long after the end of a hold the daemon may still say that it was put off: after a suspension, or where the clock was set, it does so within a second.
const leaseGrace = 5 * time.Second

// Lease holds a candidate for as long as the connection lasts: until Close, until ctx ends, or until this process ends. When the daemon ends, the hold lasts on for two minutes at
// most, and Done is closed. It is closed too where the daemon hangs and the hold has ended by that.
//
// An Error with status 409 says that it came too late: an act that takes the candidate has begun.
//
// candidate is an id (dir:/home/me/wt/a, session:tmux/default/$4, process:812@93211) or a folder's whole path, which may not be there yet.
func (c *Client) Lease(ctx context.Context, candidate, reason string) (*Lease, error) {
	inner, cancel := context.WithCancel(ctx)
	res, err := c.Request(inner, http.MethodPost, "/v1/leases", Params{Candidate: candidate, Reason: reason})
	if err != nil {
		cancel()
		return nil, err
	}
	lines := bufio.NewReader(io.LimitReader(res.Body, maxAnswer))
	l := &Lease{cancel: cancel, body: res.Body, done: make(chan struct{})}
	err = refused(res)
	if err == nil {
		var first []byte
		if first, err = lines.ReadBytes('\n'); err == nil {
			err = Unmarshal(first, l)
		}
	}
	if err != nil {
		cancel()
		_ = res.Body.Close()
		return nil, err
	}
	until, ends := make(chan time.Time), make(chan error, 1)
	go func() { ends <- renewals(inner, lines, until) }()
	go func() {
		defer close(l.done)
		l.err = l.watch(until, ends)
		cancel()
	}()
	return l, nil
}

// renewals gives the new end of a lease each time that a line says that it was put off, until the connection ends.
func renewals(ctx context.Context, lines *bufio.Reader, until chan<- time.Time) error {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var l Lease
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("read a line of the lease: %w", err)
		}
		select {
		case until <- l.Until:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watch waits for the end of a lease, and gives why it ended.
func (l *Lease) watch(until <-chan time.Time, ends <-chan error) error {
	end, late := l.Until, false
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for {
		select {
		case err := <-ends:
			return err
		case end = <-until:
			late = false
		case <-timer.C:
			if late && !time.Now().Round(0).Before(end) {
				return fmt.Errorf("%w: it ended at %s", ErrLapsed, end.Local().Format(time.DateTime))
			}
			late = !time.Now().Round(0).Before(end)
		}
		wait := time.Until(end)
		if late {
			wait = leaseGrace
		}
		timer.Reset(max(wait, 10*time.Millisecond))
	}
}

// Done is closed when the lease has ended, also because the daemon did.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err says, after Done, why the lease ended.
func (l *Lease) Err() error {
	<-l.done
	return l.err
}

// Close ends the lease.
func (l *Lease) Close() error {
	l.cancel()
	err := l.body.Close()
	<-l.done
	return err
}

// Event is a sweep that ended, whether it looked or failed.
type Event struct {
	At   time.Time `json:"at"`
	Mode string    `json:"mode"`
	// Last is that sweep; nil where it failed, and Problem says why.
	Last    *Swept `json:"last"`
	Problem string `json:"problem"`
}

// Events calls f for each sweep that ends, until ctx ends, f gives an error, or the daemon ends. Who is slow may miss some.
func (c *Client) Events(ctx context.Context, f func(Event) error) error {
	res, err := c.Request(ctx, http.MethodGet, "/v1/events", Params{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refused(res); err != nil {
		return err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("read an event of winnow run: %w", err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return cmp.Or(lines.Err(), io.EOF)
}

// escaped is how an escaped name begins, and no id does.
const escaped = "%:"

// EscapeID is a name as the JSON of the API has it: one that is not UTF-8, or has U+FFFD, is percent-encoded behind %: but for its slashes, such as
// %:dir:/wt/a%FF. Any other name stays as it is.
func EscapeID(name string) string {
	if !strings.ContainsRune(name, utf8.RuneError) && !strings.HasPrefix(name, escaped) {
		return name
	}
	return escaped + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
}

// UnescapeID is the name that EscapeID escaped.
func UnescapeID(id string) string {
	if rest, ok := strings.CutPrefix(id, escaped); ok {
		if name, err := url.PathUnescape(rest); err == nil {
			return name
		}
	}
	return id
}

// Marshal gives a document as JSON by encode, with its ids escaped.
func Marshal(doc any, encode func(any) ([]byte, error)) ([]byte, error) {
	data, err := encode(doc)
	for _, mark := range []string{`\ufffd`, "\ufffd", `"` + escaped} {
		if err == nil && bytes.Contains(data, []byte(mark)) {
			return encode(withTexts(reflect.ValueOf(doc), escapeText).Interface())
		}
	}
	return data, err
}

// escapeText escapes an id, and a text that could be taken for an escaped one.
func escapeText(s string) string {
	if _, ok := snapshot.KindOf(s); ok || strings.HasPrefix(s, escaped) {
		return EscapeID(s)
	}
	return s
}

// Read reads a document of the API from an answer into out, a pointer to it.
func Read(answer io.Reader, out any) error {
	data, err := io.ReadAll(io.LimitReader(answer, maxAnswer))
	if err != nil {
		return err
	}
	return Unmarshal(data, out)
}

// Unmarshal reads a document of the API into out, a pointer to it, with its ids as they are. Raw JSON stays as it is written.
func Unmarshal(data []byte, out any) error {
	err := json.Unmarshal(data, out)
	if err == nil && bytes.Contains(data, []byte(`"`+escaped)) {
		v := reflect.ValueOf(out).Elem()
		v.Set(withTexts(v, UnescapeID))
	}
	return err
}

// withTexts is a copy of a value with each text in it changed, keys of maps among them.
func withTexts(v reflect.Value, change func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch k := v.Kind(); {
	case k == reflect.String:
		out.SetString(change(v.String()))
	case k == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(withTexts(v.Elem(), change))
	case k == reflect.Interface && !v.IsNil():
		out.Set(withTexts(v.Elem(), change))
	case k == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(withTexts(v.Index(i), change))
		}
	case k == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(withTexts(key, change), withTexts(value, change))
		}
	case k == reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				out.FieldByIndex(field.Index).Set(withTexts(value, change))
			}
		}
	}
	return out
}
