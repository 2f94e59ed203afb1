package tower

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

func (s *Server) listen() error {
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	if addr := ln.Addr().String(); addr != s.addr { // once: it may be read at any time later
		s.addr = addr
	}
	s.turn.Lock()
	s.startedAt = time.Now()
	s.turn.Unlock()
	s.live.Lock()
	defer s.live.Unlock()
	if s.shut {
		return errors.Join(errors.New("it was closed"), ln.Close())
	}
	life := make(chan struct{})
	s.life = life
	s.http = &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, life) }),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	s.served = served
	go func() {
		defer close(served)
		_ = s.http.Serve(ln)
	}()
	return nil
}

// stopListening ends this life of the Tower as far as clients can see.
func (s *Server) stopListening() {
	s.live.Lock()
	defer s.live.Unlock()
	if s.life == nil {
		return
	}
	close(s.life)
	s.http.Close()
	<-s.served
	s.life = nil
}

// reserve keeps the port from other programs while no server listens on it, and gives the function that releases it.
func (s *Server) reserve() (release func(), err error) {
	addr, err := netip.ParseAddrPort(s.addr)
	if err != nil || !addr.Addr().Is4() {
		return func() {}, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	// A process that is just being started holds the old socket for another moment.
	if !wait.Until(wait.Patience, func() bool {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()})
		return !errors.Is(err, unix.EADDRINUSE)
	}) || err != nil {
		unix.Close(fd)
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

// object is a JSON object.
type object = map[string]any

// answer is what goes back. A text is sent as it is, as plain text unless it is JSON; without both the body is empty.
type answer struct {
	status int
	body   object
	text   string
	retry  string // in seconds
}

func ok(body object) answer { return answer{status: http.StatusOK, body: body} }

func refuse(status int, code, message string) answer {
	return answer{status: status, body: object{"error": code, "message": message}}
}

// enter says whether the Tower still takes requests; then it waits for this one before it is closed.
func (s *Server) enter() bool {
	s.live.Lock()
	defer s.live.Unlock()
	if s.shut {
		return false
	}
	s.working.Add(1)
	return true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, life chan struct{}) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.working.Done()
	call := Call{Method: r.Method, Path: r.RequestURI, Key: s.keyed(r), At: time.Now()}
	n, fault := s.Arrive(call)
	if fault.kind == hang {
		linger(r, life)
	}
	if fault.kind == hang || fault.kind == closeWithout || over(life) {
		panic(http.ErrAbortHandler)
	}
	a := answer{status: fault.status, text: fault.body}
	if fault.kind != status {
		a = s.answer(r, life, fault)
	}
	s.Leave(n, call)
	send(w, r, life, a, fault)
}

// linger waits until either side closes.
func linger(r *http.Request, life chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-life:
	}
}

func over(life chan struct{}) bool {
	select {
	case <-life:
		return true
	default:
		return false
	}
}

func (s *Server) keyed(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("codev-tower-key")), []byte(s.Key())) == 1
}

// public are the paths that every client may read.
var public = []string{"/", "/index.html", "/health", "/api/version"}

// loopback says whether the host that a request names is this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (s *Server) answer(r *http.Request, life chan struct{}, fault Fault) answer {
	open := r.Method == http.MethodGet && slices.Contains(public, r.URL.Path)
	if !loopback(r.Host) || !open && !s.keyed(r) {
		return answer{status: http.StatusUnauthorized, text: "Unauthorized"}
	}
	path := r.URL.EscapedPath()
	if path != "/health" && !s.awaitReady(r, life) {
		message := "Tower is starting up. Try again shortly."
		if _, terminal := match("/api/terminals/*", path); terminal && r.Method == http.MethodDelete {
			message = "Tower is still starting up. Try again shortly."
		}
		a := refuse(http.StatusServiceUnavailable, "STARTING_UP", message)
		a.retry = s.retryAfter()
		return a
	}
	for _, route := range routes {
		if found, ok := match(route.pattern, path); ok && route.method == r.Method {
			return route.answer(s, request{args: found, query: r.URL.Query(), fault: fault, life: life})
		}
	}
	return refuse(http.StatusNotFound, "NOT_FOUND", fmt.Sprintf("Route not found: %s %s", r.Method, r.URL.Path))
}

// awaitReady holds a request while the Tower is starting, and says whether it has come up meanwhile.
func (s *Server) awaitReady(r *http.Request, life chan struct{}) bool {
	for deadline := time.Now().Add(s.o.Hold); !s.isReady(); {
		if time.Now().After(deadline) || over(life) || r.Context().Err() != nil {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

func (s *Server) isReady() bool {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.ready
}

// send writes the answer, or what the fault makes of it.
func send(w http.ResponseWriter, r *http.Request, life chan struct{}, a answer, fault Fault) {
	body := []byte(a.text)
	kind := "text/plain"
	if fault.kind == huge && a.body != nil {
		a.body["padding"] = strings.Repeat("x", hugeSize)
	}
	if a.body != nil {
		body, _ = json.Marshal(a.body)
	}
	if json.Valid(body) {
		kind = "application/json"
	}
	switch fault.kind {
	case hangBefore:
		linger(r, life)
		panic(http.ErrAbortHandler)
	case lostReply:
		panic(http.ErrAbortHandler)
	case garbage:
		a.status, kind, body = http.StatusOK, "application/json", []byte("\x00{]] Tower\n")
	}
	if a.retry != "" {
		w.Header().Set("Retry-After", a.retry)
	}
	if len(body) > 0 {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.status)
	if fault.kind == partial {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}
