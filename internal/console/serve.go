package console

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

//go:embed static
var static embed.FS

// The bounds of a server that one person uses.
const (
	maxConns     = 64
	maxHeader    = 16 << 10
	headerWithin = 5 * time.Second
	bodyWithin   = 5 * time.Second // this machine's own, or a tunnel
	answerWithin = 2 * time.Minute // a sweep of a large machine takes its time
	idleWithin   = 30 * time.Second
	stopWithin   = 3 * time.Second
)

// Server is a console that listens.
type Server struct {
	api      API
	log      hclog.Logger
	keys     keys
	listener net.Listener
	pages    *template.Template
	messages messages
	live     *live
	rows     rows

	mu sync.Mutex
	// look is the latest one that was answered with.
	look document.Look
}

// Listen begins to listen on a loopback address, such as 127.0.0.1:0 for a free port. Nothing is answered before Serve.
func Listen(api API, address string, log hclog.Logger) (*Server, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Is4In6() || at.Addr().Zone() != "" {
		return nil, fmt.Errorf("%q is no loopback address with a port, such as 127.0.0.1:0 or [::1]:8080; nothing was started", address)
	}
	pages, err := parsed()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; the console was not started", at, err)
	}
	s := &Server{api: api, log: log, keys: newKeys(l.Addr()), pages: pages}
	s.live = &live{stamp: s.stamp, room: make(chan struct{}, maxStreams)}
	own := func(c net.Conn) (uid, pid int, err error) { return os.Getuid(), 0, peercred.Accepted(c) } // programs of this user's alone
	s.listener = listen.Bound(l, maxConns, own, func(err error) { log.Debug("a connection was closed unread", "error", err) })
	return s, nil
}

// URL is the address with the token that opens a session.
func (s *Server) URL() string {
	return (&url.URL{Scheme: "http", Host: s.keys.host, Path: "/", RawQuery: url.Values{"token": {s.keys.token}}.Encode()}).String()
}

// Serve answers until ctx ends, which is its normal end.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(s.answer),
		ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	failed := make(chan error, 1)
	defer listen.Serve(server, s.listener, stopWithin, func(err error) { failed <- err })()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("the console: %w", err)
	}
}

// answer is everything that is asked of the console.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	if no := s.keys.refusal(r); no != nil {
		s.refuse(w, no)
		return
	}
	if given, ok := r.URL.Query()["token"]; ok && r.URL.Path == "/" && r.Method != http.MethodPost {
		s.enter(w, r, given)
		return
	}
	switch session := s.keys.sessionOf(r); {
	case session == "":
		s.refuse(w, noSession)
	case r.Method == http.MethodPost:
		s.post(w, r, session)
	case r.URL.Path == "/events":
		s.live.serve(w, r)
	case path.Dir(r.URL.Path) == "/static":
		file(w, r)
	default:
		s.page(w, r, session)
	}
}

// enter opens a session for who brings the token, and leads to an address without it.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, given []string) {
	if len(given) != 1 || !equal(given[0], s.keys.token) {
		s.refuse(w, noSession)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.keys.cookie, Value: s.keys.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// refuse answers who is not let in. The page needs no file of the console.
func (s *Server) refuse(w http.ResponseWriter, no *refusal) {
	if no.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, HEAD, POST")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(no.code)
	if err := s.pages.ExecuteTemplate(w, "refused", no.text); err != nil {
		s.log.Debug("write an answer", "error", err)
	}
}

// kinds are those of our own files, also where the machine says something else of the endings.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// file gives one of our own files.
func file(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	data, err := fs.ReadFile(static, "static/"+name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

const (
	// maxStreams is how many pages may wait for changes at once.
	maxStreams = 16
	// looksEvery is how often the world is asked whether something changed while a page waits.
	looksEvery = time.Second
	// beatEvery is how often a stream says that it lives.
	beatEvery = 15 * time.Second
	// writeWithin is how long a browser may take to take one event.
	writeWithin = 10 * time.Second
)

// live tells pages that something changed.
type live struct {
	stamp func(context.Context) string
	// room has a place for each page that waits.
	room chan struct{}

	mu    sync.Mutex
	last  string
	asked time.Time
}

// current is the stamp of now, which is asked for once for all pages that wait.
func (l *live) current(ctx context.Context) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) >= looksEvery {
		l.last, l.asked = l.stamp(context.WithoutCancel(ctx)), time.Now()
	}
	return l.last
}

// serve is one stream of server-sent events. Each event is the stamp of what a page would show now; the first one comes at once.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case l.room <- struct{}{}:
		defer func() { <-l.room }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages wait for changes", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(text string) bool {
		if out.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	last := l.current(r.Context())
	event := func() bool { return write("event: stamp\ndata: " + last + "\n\n") }
	if !write("retry: 3000\n") || !event() || r.Method == http.MethodHead {
		return
	}
	tick, beat := time.NewTicker(looksEvery), time.NewTicker(beatEvery)
	defer tick.Stop()
	defer beat.Stop()
	for going := true; going; {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if now := l.current(r.Context()); now != last {
				last = now
				going = event()
			}
		case <-beat.C:
			going = write(": lives\n\n")
		}
	}
}
