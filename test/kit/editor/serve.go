package editor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// longest is the most that a line may have, in bytes, and lineTime how long a reply may take to be written.
	longest  = 1 << 20
	lineTime = 5 * time.Second
	// mostAtOnce is how many connections a window has at once.
	mostAtOnce = 16
)

func (w *Window) listen() error {
	if err := os.MkdirAll(w.o.Dir, 0o700); err != nil {
		return err
	}
	id := random(4)
	file := filepath.Join(w.o.Dir, id+".sock")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: file, Net: "unix"})
	if err != nil {
		return err
	}
	if err := os.Chmod(file, 0o600); err != nil {
		_ = ln.Close()
		return err
	}
	w.live.Lock()
	defer w.live.Unlock()
	if w.shut {
		_ = ln.Close()
		return errors.New("the window was closed")
	}
	w.ln, w.id, w.file, w.conn = ln, id, file, map[*conversation]bool{}
	w.working.Go(func() { w.accept(ln, id) })
	return nil
}

// hangUp ends a listener also where a process that is being started has a copy of it.
func hangUp(ln *net.UnixListener) {
	if raw, err := ln.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	}
	_ = ln.Close()
}

func (w *Window) accept(ln *net.UnixListener, id string) {
	for {
		conn, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		c := &conversation{w: w, id: id, conn: conn, challenge: random(16)}
		w.live.Lock()
		if w.ln != ln || len(w.conn) >= mostAtOnce {
			_ = conn.Close()
		} else {
			w.conn[c] = true
			w.working.Go(func() {
				defer w.forget(c)
				c.serve()
			})
		}
		w.live.Unlock()
	}
}

func (w *Window) forget(c *conversation) {
	_ = c.conn.Close()
	w.live.Lock()
	defer w.live.Unlock()
	delete(w.conn, c)
}

// conversation is one connection.
type conversation struct {
	w         *Window
	id        string // the window's, in the life in which it was accepted
	conn      *net.UnixConn
	challenge string
	greeted   bool

	mu             sync.Mutex // held while a line is written; guards the two below
	proved, events bool
}

// request is one that could be read.
type request struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// refusal is an error reply.
type refusal struct{ code, message string }

func (c *conversation) serve() {
	late := time.AfterFunc(c.w.o.ProofWithin, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.proved {
			_ = c.conn.Close()
		}
	})
	defer late.Stop()
	lines := bufio.NewReaderSize(c.conn, longest+1)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil || !utf8.Valid(line) || !c.answer(bytes.TrimSuffix(line, []byte("\n"))) {
			return
		}
	}
}

// answer answers one line, and says whether the conversation goes on.
func (c *conversation) answer(line []byte) bool {
	req, refused := c.w.parse(line)
	call := Call{Method: req.Method, Target: target(req.Params), Params: req.Params, At: time.Now()}
	n, fault := c.w.Arrive(call)
	switch fault.kind {
	case hangAfter:
		c.hang()
		return false
	case closeWithout:
		return false
	case errorReply:
		refused = &refusal{fault.code, fault.message}
	}
	var result object
	if refused == nil {
		result, refused = c.run(req, fault)
	}
	c.w.Leave(n, call)
	reply := object{"id": req.ID, "result": result}
	if refused != nil {
		reply = object{"id": req.ID, "error": object{"code": refused.code, "message": refused.message}}
	}
	return c.send(req.Method, reply, fault) && (refused == nil || refused.code != "not_proved")
}

// parse reads a request, and notes one that the schema forbids.
func (w *Window) parse(line []byte) (request, *refusal) {
	var req request
	err := json.Unmarshal(line, &req)
	if wrong := w.wire.request(line, req); wrong != "" {
		w.invalid("the request %.200s: %s", line, wrong)
		return req, &refusal{"bad_request", wrong}
	}
	if err != nil {
		return req, &refusal{"bad_request", err.Error()}
	}
	return req, nil
}

// target is what the parameters name: a tab's number, or the name of a new one.
func target(params json.RawMessage) string {
	var t struct {
		N    int    `json:"n"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(params, &t)
	if t.N != 0 {
		return strconv.Itoa(t.N)
	}
	return t.Name
}

// send writes the reply, or what the fault makes of it, and says whether the conversation goes on.
func (c *conversation) send(method string, reply object, fault Fault) bool {
	line, err := json.Marshal(reply)
	if err != nil {
		line = []byte(err.Error())
	}
	if wrong := c.w.wire.reply(line, method); wrong != "" {
		c.w.invalid("the reply to %s: %s", method, wrong)
	}
	line = append(line, '\n')
	switch fault.kind {
	case hangBefore:
		c.hang()
		return false
	case lostReply:
		return false
	case partialLine:
		c.write(line[:len(line)/2])
		return false
	case splitReply:
		for piece := range slices.Chunk(line, max(1, len(line)/4)) {
			c.write(piece)
			time.Sleep(2 * time.Millisecond)
		}
	case huge:
		c.write(slices.Concat([]byte(`{"padding":"`), bytes.Repeat([]byte{'x'}, hugeSize), []byte(`",`), line[1:]))
	case another:
		c.write(fault.change(line))
	default:
		c.write(line)
	}
	return true
}

func (c *conversation) write(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(lineTime))
	_, _ = c.conn.Write(line)
}

// hang keeps the connection open until either side closes it.
func (c *conversation) hang() { _, _ = io.Copy(io.Discard, c.conn) }

// tell sends an event to those who asked for events.
func (w *Window) tell(event string, n int) {
	line, _ := json.Marshal(object{"event": event, "n": n})
	if wrong := w.wire.event(line); wrong != "" {
		w.invalid("the event %s: %s", line, wrong)
	}
	w.live.Lock()
	open := make([]*conversation, 0, len(w.conn))
	for c := range w.conn {
		open = append(open, c)
	}
	w.live.Unlock()
	for _, c := range open {
		c.mu.Lock()
		asked := c.events
		c.mu.Unlock()
		if asked {
			c.write(append(slices.Clone(line), '\n'))
		}
	}
}

// invalid notes what the schema forbids.
func (w *Window) invalid(format string, args ...any) {
	w.rec.Lock()
	defer w.rec.Unlock()
	w.rec.invalid = append(w.rec.invalid, fmt.Sprintf(format, args...))
}
