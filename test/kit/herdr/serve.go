package herdr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// longest is the most a request line may have, in bytes, and lineTime how long it may take to arrive.
const (
	longest  = 1 << 20
	lineTime = 5 * time.Second
)

var errClosed = errors.New("the server was closed")

func (s *Server) listen() error {
	if err := os.MkdirAll(filepath.Dir(s.o.Socket), 0o700); err != nil {
		return err
	}
	s.clear()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.o.Socket, Net: "unix"})
	if err != nil {
		return err
	}
	if err := os.Chmod(s.o.Socket, 0o600); err != nil {
		ln.Close()
		return err
	}
	s.live.Lock()
	defer s.live.Unlock()
	if s.shut {
		ln.Close()
		return errClosed
	}
	s.ln, s.conn, s.life = ln, map[net.Conn]bool{}, make(chan struct{})
	s.working.Add(1)
	go s.accept(ln, s.life)
	return nil
}

// clear removes a socket's file without a listener, as herdr does when it starts.
func (s *Server) clear() {
	c, err := net.Dial("unix", s.o.Socket)
	if err == nil {
		c.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(s.o.Socket)
	}
}

func (s *Server) accept(ln *net.UnixListener, life chan struct{}) {
	defer s.working.Done()
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		s.live.Lock()
		if s.life != life {
			c.Close()
		} else {
			s.conn[c] = true
			s.working.Go(func() {
				defer s.forget(c)
				s.serve(c, life)
			})
		}
		s.live.Unlock()
	}
}

func (s *Server) forget(c net.Conn) {
	c.Close()
	s.live.Lock()
	defer s.live.Unlock()
	delete(s.conn, c)
}

// stopListening ends this life of the server as far as clients can see.
func (s *Server) stopListening(leaveSocketFile bool) {
	s.live.Lock()
	defer s.live.Unlock()
	if s.ln == nil {
		return
	}
	s.ln.SetUnlinkOnClose(!leaveSocketFile)
	// A pane that is being started elsewhere has a copy of the socket until its program runs; no client may reach us through that.
	if raw, err := s.ln.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	}
	s.ln.Close()
	close(s.life)
	for c := range s.conn {
		c.Close()
	}
	s.ln, s.life = nil, nil
}

// request is one that could be read.
type request struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// target is what the parameters can name.
type target struct {
	Tab       *string `json:"tab_id"`
	Pane      *string `json:"pane_id"`
	Workspace *string `json:"workspace_id"`
	Caller    *string `json:"caller_pane_id"`
}

func (t target) name() string {
	for _, id := range []*string{t.Tab, t.Pane, t.Workspace} {
		if id != nil {
			return *id
		}
	}
	return ""
}

// refusal is an error reply.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

// serve answers the one request of a connection. One that subscribes gets events from then on.
func (s *Server) serve(c net.Conn, life chan struct{}) {
	time.Sleep(s.o.Poll)
	line := s.readLine(c)
	if len(bytes.TrimSpace(line)) == 0 || !utf8.Valid(line) {
		return
	}
	req, refused := s.parse(line)
	var t target
	_ = json.Unmarshal(req.Params, &t)
	call := Call{Method: req.Method, Target: t.name(), Params: req.Params, At: time.Now()}
	n, fault := s.Arrive(call)
	if s.stuck(fault, req.Method) {
		hang(c)
		return
	}
	if fault.kind == closeWithout {
		return
	}
	if fault.kind == errorReply {
		refused = &refusal{fault.code, fault.message}
	}
	var result object
	var all []*subscription
	switch {
	case refused != nil:
	case req.Method == "events.subscribe":
		result = object{"type": "subscription_started"}
		all, refused = s.subscriptions(req)
	default:
		result, refused = s.answer(req)
	}
	s.Leave(n, call)
	s.send(c, req, s.reply(req.ID, result, refused), fault)
	if all != nil && fault == (Fault{}) {
		s.subscribers.Add(1)
		defer s.subscribers.Add(-1)
		s.stream(c, life, all)
	}
}

// readLine gives nothing when no whole line came, too long a one, or not in time.
func (s *Server) readLine(c net.Conn) []byte {
	_ = c.SetReadDeadline(time.Now().Add(lineTime))
	defer c.SetReadDeadline(time.Time{})
	var line []byte
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if end := bytes.IndexByte(buf[:n], '\n'); end >= 0 {
			line = append(line, buf[:end]...)
			if len(line) > longest {
				return nil
			}
			return line
		}
		if line = append(line, buf[:n]...); err != nil || len(line) > longest {
			return nil
		}
	}
}

// parse reads a request as herdr does. What it cannot read is refused with an empty id.
func (s *Server) parse(line []byte) (request, *refusal) {
	invalid := func(why string) (request, *refusal) {
		var known struct{ Method any }
		_ = json.Unmarshal(line, &known)
		method, _ := known.Method.(string)
		return request{Method: method}, &refusal{"invalid_request", "invalid request: " + why}
	}
	value, err := decode(line)
	if err != nil {
		return invalid(err.Error())
	}
	if o, _ := value.(map[string]any); o != nil {
		if method, ok := o["method"].(string); ok && !s.knows(method) {
			return invalid(fmt.Sprintf("unknown variant `%s`, expected one of `%s` at line 1 column %d", method, strings.Join(s.methods(), "`, `"), len(line)))
		}
	}
	if wrong := against(s.wire.request, value); wrong != "" {
		return invalid(wrong)
	}
	var req request
	o, _ := value.(map[string]any)
	if _, ok := o["id"].(string); !ok {
		return invalid("id is not a string")
	}
	if err := json.Unmarshal(line, &req); err != nil {
		return invalid(err.Error())
	}
	return req, nil
}

// began is the version from which on there is a method; those that are not named have been there from the first that is served here.
var began = map[string]Profile{"session.snapshot": V074, "workspace.move_block": V080, "pane.input.set": V082}

func (s *Server) knows(method string) bool {
	return s.wire.methods[method] && s.atLeast(began[method]) && !slices.Contains(s.o.Lacks, method)
}

// methods are those that the server knows, as it lists them.
func (s *Server) methods() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.wire.methods)), func(m string) bool { return !s.knows(m) })
}

func (s *Server) reply(id string, result object, refused *refusal) object {
	if refused != nil {
		if refused.code == "invalid_request" {
			id = ""
		}
		return s.seal(object{"id": id, "error": s.seal(object{"code": refused.code, "message": refused.message})})
	}
	return s.seal(object{"id": id, "result": s.seal(result)})
}

// send writes the reply, or what the fault makes of it.
func (s *Server) send(c net.Conn, req request, reply object, fault Fault) {
	line, err := json.Marshal(reply)
	if err != nil {
		line = []byte(err.Error())
	}
	s.check(req.Method, line)
	line = append(line, '\n')
	_ = c.SetWriteDeadline(time.Now().Add(time.Minute)) // only against a reader that never reads
	switch fault.kind {
	case hangBefore:
		hang(c)
	case lostReply:
	case partialLine:
		_, _ = c.Write(line[:len(line)/2])
	case splitReply:
		for len(line) > 0 {
			n := min(len(line), max(1, len(line)/4))
			_, _ = c.Write(line[:n])
			line = line[n:]
			time.Sleep(2 * time.Millisecond)
		}
	case huge:
		_, _ = c.Write(slices.Concat([]byte(`{"padding":"`), bytes.Repeat([]byte{'x'}, hugeSize), []byte(`",`), line[1:]))
	case garbage:
		_, _ = c.Write([]byte("\x00{]] herdr\n"))
	default:
		_, _ = c.Write(line)
	}
}

// hang keeps a connection open until either side closes it.
func hang(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
