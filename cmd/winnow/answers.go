package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// answering is the daemon's local API (docs/guides/orchestrators.md): every answer is that of a command, which runs here and prints into the answer.
var answering = part{
	name:    "run.api",
	inState: true,
	by:      func(c *config.Config) any { return [2]any{c.Run.API, c.State} },
	begin: func(ctx context.Context, d *daemon) (func(), error) {
		if !d.Cfg.Run.API.Enabled {
			return nil, nil
		}
		if err := d.TrustState(); err != nil { // the socket's folder, unless it is another
			return nil, err
		}
		return newAnswers(d).serve(ctx, d.Cfg.APISocket())
	},
}

// answers serves the API of a daemon.
type answers struct {
	d *daemon
	// looks bounds how many look at the machine at the same time, beside the daemon's own sweep.
	looks  chan struct{}
	leases leases
	// crowd are the connections that have sent no whole request.
	crowd *listen.Crowd
}

// maxUnasked is how many connections there are at the same time that have sent no whole request, or wait for the next one: one more closes the oldest.
const maxUnasked = 150

// maxLooks is how many requests look at the machine at the same time; others wait for them.
const maxLooks = 2

func newAnswers(d *daemon) *answers {
	return &answers{d: d, looks: make(chan struct{}, maxLooks), leases: newLeases(d), crowd: listen.NewCrowd(min(maxUnasked, max(1, maxConnections()/4)))}
}

// serve answers at a socket until the function that it gives is called.
func (s *answers) serve(ctx context.Context, path string) (stop func(), err error) {
	l, err := listen.Unix(ctx, path)
	if err != nil {
		if s.d.Cfg.Run.API.Socket != "" {
			return nil, err
		}
		// Nobody asked for a socket there: some file systems have none.
		s.d.tell("run.api: %v; sweeps go on without it, and commands do their work by themselves; run.api.socket names another place", err)
		return nil, nil
	}
	log := s.d.Log.Named("api")
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what is under way ends after the act in hand, with the part
	srv := &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return inner },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, askerKey{}, c) },
		ConnState:   s.crowd.Watch,
		ErrorLog:    log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		own := listen.FilterPeers(l, maxConnections(), func(err error) { log.Warn("a connection was refused", "error", err) })
		if err := srv.Serve(own); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("answer programs; sweeps go on without it", "error", err)
		}
	}()
	log.Debug("answers", "socket", path)
	return func() {
		close(s.leases.over) // holds of leases stay until their time is over: their owners may find the next daemon
		cancel()
		within, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if srv.Shutdown(within) != nil {
			_ = srv.Close()
		}
		<-done
	}, nil
}

// maxConnections is how many connections there are at the same time; others wait. It leaves descriptors to sweeps, which fail without any.
func maxConnections() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 4*maxLeases {
		return maxLeases + 200
	}
	return max(1, int(limit.Cur/4))
}

type askerKey struct{}

// asker is who made the connection of a request.
func asker(r *http.Request) listen.Conn {
	c, _ := r.Context().Value(askerKey{}).(listen.Conn)
	return c
}

// Headers with which the command line asks, so that what it prints is what it would have printed by itself.
const (
	headerForm   = "Winnow-Form"   // --format
	headerPaint  = "Winnow-Paint"  // colours (true or false), and the columns of the terminal
	headerLog    = "Winnow-Log"    // --log-level
	headerFolder = "Winnow-Folder" // the folder that it is in
	headerConfig = "Winnow-Config" // what decides there, see deciding
)

// Printed is what a command printed and how it ended: the answer to the command line.
type Printed struct {
	Out   string `json:"out"`
	Notes string `json:"notes,omitempty"`
	// Error is what is complained about, "" where nothing is; Code the exit code.
	Error string `json:"error,omitempty"`
	Code  int    `json:"code"`
}

// reply is the app in which a request's command runs: the daemon's configuration, and an output of its own.
type reply struct {
	*app
	out, notes bytes.Buffer
	outW, errW *termsafe.Writer
	// line is true where the command line asks.
	line bool
}

func (s *answers) begin(r *http.Request) (*reply, error) {
	now := s.d.now()
	cfg := *now.Cfg // who loads policies writes their parameters into it
	q := &reply{line: r.Header.Get(headerForm) != ""}
	q.outW, q.errW = termsafe.NewWriter(&q.out), termsafe.NewWriter(&q.notes)
	q.app = (&app{Ops: ops.New(state.Folder{Cfg: &cfg, Hands: &stop.Inflight{}, Acting: now.Acting, Asker: asker(r), AskerFolder: r.Header.Get(headerFolder), CommandLine: q.line}), out: q.outW, errOut: q.errW, flags: now.flags}).watched()
	q.flags.format, q.flags.also = "json", nil
	level := hclog.Warn
	if q.line {
		if theirs := r.Header.Get(headerConfig); theirs != "" && theirs != now.Fingerprint {
			return nil, errOtherwise
		}
		q.flags.format = r.Header.Get(headerForm)
		on, width, _ := strings.Cut(r.Header.Get(headerPaint), " ")
		columns, err := strconv.Atoi(width)
		if err != nil || columns < 0 || columns > 10_000 {
			return nil, config.Mistakef("%s: it wants true or false and a number of columns", headerPaint)
		}
		q.paint = render.Paint{Paint: text.Paint{On: on == "true", Width: columns}}
		q.outW.Styled(q.paint.On)
		if l := hclog.LevelFromString(r.Header.Get(headerLog)); l != hclog.NoLevel {
			level = l
		}
	}
	q.Log = hclog.New(&hclog.LoggerOptions{Name: "winnow", Level: level, Output: q.errW})
	return q, nil
}

// errOtherwise says that the daemon decides by another configuration than who asks.
var errOtherwise = errors.New("the daemon runs with another configuration, another version or in another environment")

// deciding is a digest, before the policies were loaded and put their own parameters in, of what says how this program looks and decides: its version, its configuration, the
// programs that it asks, the variables that say where agents keep their things, and what a path and a pid mean to it. Where a command and the daemon differ in it, the command does its
// work by itself. The variable PATH is not in it, only where it leads: that of a service manager is never a shell's.
func deciding(cfg *config.Config) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{version.Read(), cfg}); err != nil {
		return "" // matches nobody's
	}
	for _, name := range append([]string{"HOME"}, steering...) {
		fmt.Fprintf(h, "%s=%q\n", name, os.Getenv(name))
	}
	for _, name := range []string{"git", "tmux"} {
		path, err := exec.LookPath(name)
		if real, err := filepath.EvalSymlinks(path); err == nil { // /bin is often a link to /usr/bin
			path = real
		}
		fmt.Fprintf(h, "%s=%q %t\n", name, path, err == nil)
	}
	fmt.Fprintf(h, "tmux=%q\n", tmux.OutsideSocket(os.Getenv, os.Getuid()))
	for _, name := range []string{"mnt", "pid"} { // in a container or a sandbox a path is another folder, and a pid another process
		link, err := os.Readlink("/proc/self/ns/" + name)
		fmt.Fprintf(h, "%s=%q %t\n", name, link, err == nil)
	}
	var root unix.Stat_t
	err := unix.Stat("/", &root)
	fmt.Fprintf(h, "root=%d:%d %t\n", root.Dev, root.Ino, err == nil)
	return hex.EncodeToString(h.Sum(nil))
}

// wish is what a request asks for, from its query or, where it changes something, from its JSON body.
type wish struct {
	Candidate string   `json:"candidate"`
	Reason    string   `json:"reason"`
	For       string   `json:"for"`
	What      string   `json:"what"`
	As        string   `json:"as"`
	Rules     bool     `json:"rules"`
	ExitCode  bool     `json:"exit_code"`
	Brakes    []string `json:"brakes"`
	Wait      bool     `json:"wait"`
}

// maxBody is how long a request's body may be, in bytes.
const maxBody = 64 << 10

// routeTakes are the words that each route takes: those of a POST in its body, those of all others in the query. One that is misspelt, or that stands in the other place, is refused: read as
// nothing, it would have all brakes released in place of one.
var routeTakes = map[string][]string{
	"GET /v1/explain": {"candidate"}, "GET /v1/why-alive": {"what", "as"}, "DELETE /v1/holds": {"candidate"}, "DELETE /v1/brakes": {"brake"},
	"POST /v1/holds": {"candidate", "reason", "for"}, "POST /v1/leases": {"candidate", "reason"}, "POST /v1/pause": {"for", "reason"}, "POST /v1/sweep": {"wait"},
}

// lineTakes are those that the command line adds.
var lineTakes = map[string][]string{"GET /v1/explain": {"rules"}, "GET /v1/why-alive": {"exit_code"}}

func wishOf(out http.ResponseWriter, r *http.Request) (wish, error) {
	var w wish
	line := r.Header.Get(headerForm) != ""
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return w, config.Mistakef("the query cannot be read: %v", err)
	}
	known := routeTakes[r.Pattern]
	if line {
		known = append(slices.Clone(known), lineTakes[r.Pattern]...)
	}
	posts := r.Method == http.MethodPost
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case posts:
			return w, config.Mistakef("%s takes no query: %q belongs into the JSON of its body", r.Pattern, name)
		case !slices.Contains(known, name):
			return w, config.Mistakef("%s takes no %q; %s", r.Pattern, name, takes(known))
		case len(q[name]) > 1 && name != "brake":
			return w, config.Mistakef("%q stands in the query more than once", name)
		}
	}
	w.Candidate, w.What, w.As, w.Brakes = q.Get("candidate"), q.Get("what"), q.Get("as"), q["brake"]
	w.Rules, w.ExitCode = q.Get("rules") == "true", q.Get("exit_code") == "true"

	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch body = bytes.TrimSpace(body); {
	case err != nil:
		return w, config.Mistakef("the body could not be read: %v", err)
	case len(body) > maxBody:
		return w, config.Mistakef("the body is longer than %d bytes", maxBody)
	case len(body) == 0:
		return w, nil
	case !posts:
		return w, config.Mistakef("%s takes no body: what is asked for stands in the query", r.Pattern)
	case !utf8.Valid(body): // it would be read as another name
		return w, config.Mistakef("the body is not UTF-8")
	}
	var words map[string]json.RawMessage
	if err = json.Unmarshal(body, &words); err == nil {
		err = json.Unmarshal(body, &w)
	}
	if err != nil {
		return w, config.Mistakef("the body is not the JSON that this asks for: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if !line && !slices.Contains(known, name) {
			return w, config.Mistakef("%s takes no %q; %s", r.Pattern, name, takes(known))
		}
	}
	return w, nil
}

// takes says which words a route takes.
func takes(known []string) string {
	if len(known) == 0 {
		return "it takes nothing"
	}
	return "it takes " + strings.Join(known, ", ")
}

// long reads how long something is to last, 0 where that is not said.
func (w wish) long() (time.Duration, error) {
	if w.For == "" {
		return 0, nil
	}
	var s span
	if err := s.Set(w.For); err != nil || s <= 0 {
		return 0, config.Mistakef("for %q: give a time from now on such as 90m or 2d, or leave it out", w.For)
	}
	return time.Duration(s), nil
}

// command answers with what a command prints. looks says that it looks at the machine.
func (s *answers) command(looks bool, do func(context.Context, *app, wish) error) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		q, err := s.begin(r)
		if errors.Is(err, errOtherwise) {
			refuse(out, http.StatusPreconditionFailed, exit.Failed, err.Error(), nil)
			return
		}
		if err != nil {
			refuse(out, http.StatusBadRequest, exit.Code(err), err.Error(), nil)
			return
		}
		w, err := wishOf(out, r)
		if err == nil {
			q.Asked = []string{w.Candidate, w.What}
			err = s.look(r.Context(), looks, func() error { return do(r.Context(), q.app, w) })
		}
		q.give(out, err)
	}
}

// look does something that looks at the machine when its turn has come. The turn is over before the answer is written: who does not read it keeps nobody waiting.
func (s *answers) look(ctx context.Context, looks bool, do func() error) error {
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

func (q *reply) give(out http.ResponseWriter, err error) {
	_, _ = q.outW.Flush(), q.errW.Flush()
	said := exit.Cause(err)
	if q.line {
		p := Printed{Out: q.out.String(), Notes: q.notes.String(), Code: exit.Code(err)}
		if said != nil {
			p.Error = said.Error()
		}
		write(out, http.StatusOK, p)
		return
	}
	if err == nil {
		taken(out)
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write(q.out.Bytes())
		return
	}
	status := http.StatusInternalServerError
	switch code := exit.Code(err); {
	case code == exit.Usage:
		status = http.StatusBadRequest
	case code == exit.Part:
		status = http.StatusConflict
	}
	message := "it was not done; the document says why"
	if said != nil {
		message = said.Error()
	}
	refuse(out, status, exit.Code(err), message, q.out.Bytes())
}

// refuse answers no. document is what the command printed, empty for nothing.
func refuse(out http.ResponseWriter, status, code int, message string, document []byte) {
	e := client.Error{Code: code, Message: termsafe.Line(message)}
	if json.Valid(document) {
		e.Document = document
	}
	write(out, status, map[string]client.Error{"error": e})
}

// taken bounds the time in which an answer has to be read.
func taken(out http.ResponseWriter) {
	_ = http.NewResponseController(out).SetWriteDeadline(time.Now().Add(time.Minute))
}

func write(out http.ResponseWriter, status int, v any) {
	taken(out)
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(v) // who does not read it has gone
}
