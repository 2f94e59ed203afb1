package localapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/duration"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Component is the daemon's local API (docs/guides/orchestrators.md): every answer is that of a command, which runs here and prints into the answer.
var Component = daemon.Component{
	Name:    "run.api",
	InState: true,
	By:      func(c *config.Config) any { return [2]any{c.Run.API, c.State} },
	Begin: func(ctx context.Context, d *daemon.Daemon) (func(), error) {
		if !d.Cfg.Run.API.Enabled {
			return nil, nil
		}
		if err := d.TrustState(); err != nil { // the socket's folder, unless it is another
			return nil, err
		}
		return New(d).Serve(ctx, d.Cfg.APISocket())
	},
}

// Server serves the API of a daemon.
type Server struct {
	d *daemon.Daemon
	// looks bounds how many look at the machine at the same time, beside the daemon's own sweep.
	looks  chan struct{}
	Leases leases
	latest *latest
	// crowd are the connections that have sent no whole request.
	crowd *listen.Crowd
}

// MaxUnasked is how many connections there are at the same time that have sent no whole request, or wait for the next one: one more closes the oldest.
const MaxUnasked = 150

// MaxLooks is how many requests look at the machine at the same time; others wait for them.
const MaxLooks = 2

func New(d *daemon.Daemon) *Server {
	return &Server{d: d, looks: make(chan struct{}, MaxLooks), Leases: newLeases(d), latest: newLatest(), crowd: listen.NewCrowd(min(MaxUnasked, max(1, MaxConnections()/4)))}
}

// Serve answers at a socket until the function that it gives is called.
func (s *Server) Serve(ctx context.Context, path string) (stop func(), err error) {
	l, err := listen.Unix(ctx, path)
	if err != nil {
		if s.d.Cfg.Run.API.Socket != "" {
			return nil, err
		}
		// The configuration did not ask for a socket there: some file systems have none.
		s.d.Say("run.api: %v; sweeps go on without it, and commands work by themselves. run.api.socket names another place", err)
		return nil, nil
	}
	log := s.d.Log.Named("api")
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what is under way ends after the act in hand, with the component
	srv := &http.Server{
		Handler: s.Routes(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return inner },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, askerKey{}, c) },
		ConnState:   s.crowd.Watch,
		ErrorLog:    log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	own := listen.FilterPeers(l, MaxConnections(), func(err error) { log.Warn("a connection was refused", "error", err) })
	end := listen.Serve(srv, own, time.Second, func(err error) { log.Warn("answer programs; sweeps go on without it", "error", err) })
	log.Debug("answers", "socket", path)
	return func() {
		s.Close()
		close(s.Leases.over) // holds of leases stay until their time is over: their owners may find the next daemon
		cancel()
		end()
	}, nil
}

// MaxConnections is how many connections there are at the same time; others wait. It leaves descriptors to sweeps, which fail without any.
func MaxConnections() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 4*MaxLeases {
		return MaxLeases + 200
	}
	return max(1, int(limit.Cur/4))
}

type askerKey struct{}

// peer is who made the connection of a request.
func peer(r *http.Request) listen.Conn {
	c, _ := r.Context().Value(askerKey{}).(listen.Conn)
	return c
}

// The headers between the command line and the daemon.
const (
	HeaderFolder = "Winnow-Folder" // the folder that it is in
	HeaderConfig = "Winnow-Config" // what decides there, see state.ConfigFingerprint; a program that says it is this command line
)

// ErrConfigDiffers says that the daemon decides by another configuration than who asks.
var ErrConfigDiffers = errors.New("the daemon runs with another configuration, another version or in another environment")

// operations are those of the daemon's configuration, for one request.
func (s *Server) operations() *ops.Ops {
	now := s.d.Now()
	cfg := *now.Cfg // who loads policies writes their parameters into it
	o := ops.New(state.Folder{Cfg: &cfg, Fingerprint: now.Fingerprint, Log: now.Log.Named("api"), Hands: &stop.Inflight{}, Acting: now.Acting})
	return &o
}

// MaxBody is how long a request's body may be, in bytes.
const MaxBody = 64 << 10

// allowedParams are the words that each route takes: those of a POST in its body, those of all others in the query. One that is misspelt, or that stands in the other place, is refused: read as
// nothing, it would have all brakes released in place of one.
var allowedParams = map[string][]string{
	"GET /v1/explain": {"candidate", "latest"}, "GET /v1/why-alive": {"what", "as"}, "GET /v1/look": {"stamp"}, "GET /v1/history": {"since"}, "GET /v1/stats": {"since"},
	"DELETE /v1/holds": {"candidate", "whole"}, "DELETE /v1/brakes": {"brake"}, "POST /v1/holds": {"candidate", "reason", "for", "whole"}, "POST /v1/leases": {"candidate", "reason"}, "POST /v1/pause": {"for", "reason"}, "POST /v1/sweep": {"wait"},
}

// readParams reads what a request asks for, and refuses what its route does not take.
func readParams(r *http.Request) (client.Params, error) {
	var w client.Params
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return w, config.Usagef("the query cannot be read: %v", err)
	}
	known := allowedParams[r.Pattern]
	posts := r.Method == http.MethodPost
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case posts:
			return w, config.Usagef("%s takes no query: %q belongs into the JSON of its body", r.Pattern, name)
		case !slices.Contains(known, name):
			return w, config.Usagef("%s takes no %q; %s", r.Pattern, name, takes(known))
		case len(q[name]) > 1 && name != "brake":
			return w, config.Usagef("%q stands in the query more than once", name)
		}
	}
	w.Candidate, w.What, w.As, w.Brakes, w.Stamp, w.Since = client.UnescapeID(q.Get("candidate")), client.UnescapeID(q.Get("what")), q.Get("as"), q["brake"], q.Get("stamp"), q.Get("since")
	for name, to := range map[string]*bool{"latest": &w.Latest, "whole": &w.Whole} {
		if *to, err = strconv.ParseBool(cmp.Or(q.Get(name), "false")); err != nil {
			return w, config.Usagef("%s %q: it is true or false", name, q.Get(name))
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch body = bytes.TrimSpace(body); {
	case err != nil:
		return w, config.Usagef("the body could not be read: %v", err)
	case len(body) > MaxBody:
		return w, config.Usagef("the body is longer than %d bytes", MaxBody)
	case len(body) == 0:
		return w, nil
	case !posts:
		return w, config.Usagef("%s takes no body: what is asked for stands in the query", r.Pattern)
	case !utf8.Valid(body): // it would be read as another name
		return w, config.Usagef("the body is not UTF-8")
	}
	var words map[string]json.RawMessage
	if err = json.Unmarshal(body, &words); err == nil {
		err = json.Unmarshal(body, &w)
	}
	if err != nil {
		return w, config.Usagef("the body is not the JSON that this asks for: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(known, name) {
			return w, config.Usagef("%s takes no %q; %s", r.Pattern, name, takes(known))
		}
	}
	if strings.ContainsRune(w.Candidate, utf8.RuneError) { // it may have been another name, which JSON does not carry
		return w, config.Usagef("candidate %q: write such a name as answers do: %s; nothing was done", w.Candidate, client.EscapeID("dir:/wt/a\xff"))
	}
	w.Candidate = client.UnescapeID(w.Candidate)
	return w, nil
}

// takes says which words a route takes.
func takes(known []string) string {
	if len(known) == 0 {
		return "it takes nothing"
	}
	return "it takes " + strings.Join(known, ", ")
}

// span reads the time that a word of a request gives, 0 where it is left out.
func span(word, given string) (time.Duration, error) {
	if given == "" {
		return 0, nil
	}
	d, err := duration.Parse(given)
	if err != nil || d <= 0 {
		return 0, config.Usagef("%s %q: give a time such as 90m or 2d, or leave it out", word, given)
	}
	return d, nil
}

// Operation is what a route does that answers with a document. Looks is true where it looks at the machine.
type Operation struct {
	Looks bool
	Do    func(context.Context, *ops.Ops, client.Params) (any, error)
}

// Answer answers with the document of an operation.
func (s *Server) Answer(op Operation) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		theirs, o := r.Header.Get(HeaderConfig), s.operations()
		if theirs != "" && theirs != o.Fingerprint {
			refuse(out, http.StatusPreconditionFailed, exit.Failed, ErrConfigDiffers.Error(), nil)
			return
		}
		w, err := readParams(r)
		var doc any
		if err == nil {
			o.Asker, o.AskerFolder, o.CommandLine = peer(r), r.Header.Get(HeaderFolder), theirs != ""
			doc, err = s.do(r.Context(), o, op, w)
		}
		respond(out, doc, err)
	}
}

// Do is what a route does for the person who runs this process: it gives the document.
func (s *Server) Do(ctx context.Context, method, path string, w client.Params) (any, error) {
	op, ok := s.documents()[method+" "+path]
	if !ok {
		return nil, fmt.Errorf("there is no %s %s", method, path)
	}
	return s.do(ctx, s.operations(), op, w)
}

func (s *Server) do(ctx context.Context, o *ops.Ops, op Operation, w client.Params) (doc any, err error) {
	o.Asked = []string{w.Candidate, w.What}
	err = s.look(ctx, op.Looks, func() (err error) {
		doc, err = op.Do(ctx, o, w)
		return err
	})
	return doc, err
}

// look does something that looks at the machine when its turn has come. The turn is over before the answer is written: a client that does not read it lets no other one wait.
func (s *Server) look(ctx context.Context, looks bool, do func() error) error {
	if looks {
		select {
		case s.looks <- struct{}{}:
			defer func() { <-s.looks }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return do()
}

// respond writes a document, or the error of its operation.
func respond(out http.ResponseWriter, doc any, err error) {
	if err == nil {
		write(out, http.StatusOK, doc)
		return
	}
	status, code, message := http.StatusInternalServerError, exit.Code(err), err.Error()
	switch code {
	case exit.Usage:
		status = http.StatusBadRequest
	case exit.Part:
		status = http.StatusConflict
	}
	var no *document.Declined
	if errors.As(err, &no) {
		message = "it was not done; the document says why"
	}
	refuse(out, status, code, message, no)
}

// refuse answers no. document says why; nil where the message says it all.
func refuse(out http.ResponseWriter, status, code int, message string, why *document.Declined) {
	e := client.Error{Code: code, Message: termsafe.Line(message)}
	if why != nil {
		e.Document, _ = client.Marshal(why, json.Marshal) // it has only texts
	}
	write(out, status, map[string]client.Error{"error": e})
}

// write writes a document, for the reading of which there is a minute.
func write(out http.ResponseWriter, status int, v any) {
	_ = http.NewResponseController(out).SetWriteDeadline(time.Now().Add(time.Minute))
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	data, _ := client.Marshal(v, func(v any) ([]byte, error) {
		var b bytes.Buffer
		err := text.JSON(&b, v, "  ")
		return b.Bytes(), err
	})
	_, _ = out.Write(data) // who does not read it has gone
}

// DialTimeout is how long the daemon has to say that it is there.
const DialTimeout = time.Second

// errUnresponsive says that the daemon was asked and then did not answer any more.
var errUnresponsive = errors.New("it has stopped answering")

// PingEvery is how often a daemon that has been asked has to say that it is there.
const PingEvery = 3 * time.Second

// ErrNoDaemon says that the daemon did not do it: it does not answer, or it decides by another configuration.
var ErrNoDaemon = errors.New("the daemon was not asked")

// Ask asks the daemon of a state folder for a document, as its command line.
func Ask(ctx context.Context, f *state.Folder, method, path string, p client.Params, out any) error {
	if !f.Cfg.Run.API.Enabled {
		return fmt.Errorf("%w: run.api is off", ErrNoDaemon)
	}
	socket := f.Cfg.APISocket()
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s", ErrNoDaemon, socket)
	}
	c := client.New(socket)
	defer c.Close()
	c.Header = http.Header{}
	if path != "/v1/state" { // how it stands is asked of any daemon
		c.Header.Set(HeaderConfig, f.Fingerprint)
	}
	if here, err := os.Getwd(); err == nil && !strings.ContainsAny(here, "\r\n\x00") {
		c.Header.Set(HeaderFolder, here)
	}
	if err := ping(ctx, c); err != nil {
		return err
	}
	ctx, end := whileItLives(ctx, c)
	defer end()
	res, err := c.Request(ctx, method, path, p)
	if err != nil {
		return unknown(ctx, method, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPreconditionFailed:
		return fmt.Errorf("%w: %w", ErrNoDaemon, ErrConfigDiffers)
	case res.StatusCode != http.StatusOK:
		return refusal(ctx, method, res)
	}
	if err := client.Read(res.Body, out); err != nil {
		return unknown(ctx, method, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// refusal is the error of an answer that says no, as the operation itself would have given it.
func refusal(ctx context.Context, method string, res *http.Response) error {
	var doc struct{ Error client.Error }
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || doc.Error.Message == "" {
		return unknown(ctx, method, fmt.Errorf("winnow run answered %s", res.Status))
	}
	out := exit.Error{Code: doc.Error.Code, Err: errors.New(doc.Error.Message)}
	if doc.Error.Document != nil {
		var no document.Declined
		if err := client.Unmarshal(doc.Error.Document, &no); err != nil {
			return unknown(ctx, method, fmt.Errorf("read the answer: %w", err))
		}
		out.Err = &no
	}
	return out
}

// ping asks for little, in a short time: a daemon that hangs is found out before it is asked for something that counts.
func ping(ctx context.Context, c *client.Client) error {
	short, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	res, err := c.Request(short, http.MethodGet, "/v1/alive", client.Params{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%w: %w", ErrNoDaemon, ErrConfigDiffers)
	}
	return nil
}

// whileItLives ends when the daemon does not say any more that it is there: one that hangs while it is asked holds up no command.
func whileItLives(ctx context.Context, c *client.Client) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(PingEvery)
		defer tick.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-tick.C:
			}
			if ping(inner, c) != nil {
				cancel(errUnresponsive)
				return
			}
		}
	}()
	return inner, func() { cancel(nil) }
}

// unknown is the error of a request to which no whole answer came. What only reads is then done by the command itself.
func unknown(ctx context.Context, method string, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errUnresponsive):
		return context.Cause(ctx)
	case method == http.MethodGet:
		return fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	return fmt.Errorf("winnow run did not say whether it was done: %w; look with winnow status and winnow holds, then try again", err)
}
