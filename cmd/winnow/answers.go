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
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
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

// The headers between the command line and the daemon.
const (
	headerFolder = "Winnow-Folder" // the folder that it is in
	headerConfig = "Winnow-Config" // what decides there, see configFingerprint; a program that says it is this command line
)

// errConfigDiffers says that the daemon decides by another configuration than who asks.
var errConfigDiffers = errors.New("the daemon runs with another configuration, another version or in another environment")

// operations are those of the daemon's configuration, for one request.
func (s *answers) operations(r *http.Request) (*ops.Ops, error) {
	now := s.d.now()
	theirs := r.Header.Get(headerConfig)
	if theirs != "" && theirs != now.Fingerprint {
		return nil, errConfigDiffers
	}
	cfg := *now.Cfg // who loads policies writes their parameters into it
	o := ops.New(state.Folder{Cfg: &cfg, Fingerprint: now.Fingerprint, Log: now.Log.Named("api"), Hands: &stop.Inflight{}, Acting: now.Acting, Asker: asker(r), AskerFolder: r.Header.Get(headerFolder), CommandLine: theirs != ""})
	return &o, nil
}

// configFingerprint is a digest, before the policies were loaded and put their own parameters in, of what says how this program looks and decides: its version, its configuration, the
// programs that it asks, the variables that say where agents keep their things, and what a path and a pid mean to it. Where a command and the daemon differ in it, the command does its
// work by itself. The variable PATH is not in it, only where it leads: that of a service manager is never a shell's.
func configFingerprint(cfg *config.Config) string {
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

// params are what a request asks for, from its query or, where it changes something, from its JSON body.
type params struct {
	Candidate string   `json:"candidate"`
	Reason    string   `json:"reason"`
	For       string   `json:"for"`
	What      string   `json:"what"`
	As        string   `json:"as"`
	Brakes    []string `json:"brakes"`
	Wait      bool     `json:"wait"`
}

// maxBody is how long a request's body may be, in bytes.
const maxBody = 64 << 10

// allowedParams are the words that each route takes: those of a POST in its body, those of all others in the query. One that is misspelt, or that stands in the other place, is refused: read as
// nothing, it would have all brakes released in place of one.
var allowedParams = map[string][]string{
	"GET /v1/explain": {"candidate"}, "GET /v1/why-alive": {"what", "as"}, "DELETE /v1/holds": {"candidate"}, "DELETE /v1/brakes": {"brake"},
	"POST /v1/holds": {"candidate", "reason", "for"}, "POST /v1/leases": {"candidate", "reason"}, "POST /v1/pause": {"for", "reason"}, "POST /v1/sweep": {"wait"},
}

// readParams reads what a request asks for, and refuses what its route does not take.
func readParams(r *http.Request) (params, error) {
	var w params
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return w, config.Mistakef("the query cannot be read: %v", err)
	}
	known := allowedParams[r.Pattern]
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
		if !slices.Contains(known, name) {
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
func (w params) long() (time.Duration, error) {
	if w.For == "" {
		return 0, nil
	}
	var s span
	if err := s.Set(w.For); err != nil || s <= 0 {
		return 0, config.Mistakef("for %q: give a time from now on such as 90m or 2d, or leave it out", w.For)
	}
	return time.Duration(s), nil
}

// answer answers with the document of an operation. looks is true where it looks at the machine.
func (s *answers) answer(looks bool, do func(context.Context, *ops.Ops, params) (any, error)) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		o, err := s.operations(r)
		if err != nil {
			refuse(out, http.StatusPreconditionFailed, exit.Failed, err.Error(), nil)
			return
		}
		w, err := readParams(r)
		var doc any
		if err == nil {
			o.Asked = []string{w.Candidate, w.What}
			err = s.look(r.Context(), looks, func() (err error) {
				doc, err = do(r.Context(), o, w)
				return err
			})
		}
		respond(out, doc, err)
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
		e.Document, _ = json.Marshal(why) // it has only texts
	}
	write(out, status, map[string]client.Error{"error": e})
}

// write writes a document, for the reading of which there is a minute.
func write(out http.ResponseWriter, status int, v any) {
	_ = http.NewResponseController(out).SetWriteDeadline(time.Now().Add(time.Minute))
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_ = text.JSON(out, v, "  ") // who does not read it has gone
}
