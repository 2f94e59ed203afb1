// Package line speaks with one window of an editor: one JSON object a line on a unix socket (editors/vscode/protocol.schema.json).
//
// It is below internal/vscode so that nothing else can name it: package vscode has the requests that read, and package act those that change.
package line

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"winnow/internal/foreign"
	"winnow/internal/peer"
)

// Protocol is the one that is spoken.
const Protocol = 1

const (
	// maxLine is the longest line that is read, in bytes, and maxMembers bounds what one line is unpacked to.
	maxLine    = 1 << 20
	maxMembers = 50_000
)

var (
	// ErrNoServer says that no process listens on a socket, as the kernel says.
	ErrNoServer = errors.New("no window listens there")
	// ErrAnother says that another window listens than the one that must.
	ErrAnother = errors.New("another window listens there")
	// ErrNotSent says that nothing of a request went out, so that the window cannot have acted on it.
	ErrNotSent = errors.New("nothing was sent")
)

// Refusal is an answer of the window's that says no.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the window answers %.40q: %.200q", r.Code, r.Message)
}

// Hello is what a window says of itself.
type Hello struct {
	Protocol  int    `json:"protocol"`
	Extension string `json:"extension"`
	Editor    struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"editor"`
	// Window is the id that the window gave itself when it was loaded.
	Window string `json:"window"`
	// PID is the extension host, which listens on the socket, and StartTicks when that began.
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	// Folders are the real paths of the folders that the window has open. Focused is whether it has the focus of its desktop.
	Folders   []string `json:"folders"`
	Focused   bool     `json:"focused"`
	Challenge string   `json:"challenge"`
}

// Window says which window is asked.
type Window struct {
	Socket string
	// UID is the user whose windows may be asked; it must be the user of this process.
	UID int
	// Is, where it is set, is the window that must answer: its extension host's pid, and the id that it gave itself.
	Is *Hello
	// Patience bounds all of one conversation; 0 leaves that to the context.
	Patience time.Duration
}

// Conn is a conversation with a window that has been proved to be this user's own, as this process was to the window.
type Conn struct {
	Hello
	conn   *net.UnixConn
	lines  *bufio.Reader
	next   int
	cancel func()
}

var (
	windowID  = regexp.MustCompile(`\A[0-9a-f]{8}\z`)
	challenge = regexp.MustCompile(`\A[0-9a-f]{32}\z`)
)

// Open connects, tells by the kernel's own word who listens, and proves to the window whose this process is. Its errors wrap ErrNotSent, for nothing but
// that was asked, with ErrNoServer, ErrAnother or what peer.Refused knows where that is known.
func (w Window) Open(ctx context.Context) (*Conn, error) {
	cancel := func() {}
	if w.Patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, w.Patience)
	}
	c, err := w.open(ctx, cancel)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return c, nil
}

func (w Window) open(ctx context.Context, cancel func()) (*Conn, error) {
	if w.UID != os.Geteuid() {
		return nil, fmt.Errorf("%w: winnow runs as uid %d, and uid %d is wanted", peer.ErrOther, os.Geteuid(), w.UID)
	}
	conn, pid, err := peer.Dial(ctx, w.Socket)
	if err != nil {
		return nil, closed(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c := &Conn{conn: conn, lines: bufio.NewReaderSize(conn, 64<<10), cancel: func() { stop(); cancel() }}
	if err = c.greet(ctx, w, pid); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet asks the window who it is, and proves who asks.
func (c *Conn) greet(ctx context.Context, w Window, pid int) error {
	if err := c.Ask(ctx, "hello", map[string]int{"protocol": Protocol}, &c.Hello); err != nil {
		return err
	}
	switch {
	case c.Protocol != Protocol:
		return fmt.Errorf("it speaks protocol %d, and winnow speaks %d; run winnow editor install, or update winnow", c.Protocol, Protocol)
	case !windowID.MatchString(c.Window) || !challenge.MatchString(c.Challenge):
		return errors.New("its first answer is not one of a window's; see what listens there")
	case pid <= 0 || pid != c.PID:
		return fmt.Errorf("pid %d listens, by the kernel, and the window says that it is pid %d; it may be in another pid namespace, so its pids say nothing here", pid, c.PID)
	case w.Is != nil && (w.Is.PID != c.PID || w.Is.StartTicks != c.StartTicks || w.Is.Window != c.Window):
		return fmt.Errorf("%w: window %s (pid %d), and window %s (pid %d) did before; it was loaded anew", ErrAnother, c.Window, c.PID, w.Is.Window, w.Is.PID)
	}
	return c.prove(ctx, w)
}

// prove makes a file that only this user can make, which the window looks at and removes.
func (c *Conn) prove(ctx context.Context, w Window) error {
	dir := filepath.Dir(w.Socket)
	if _, err := foreign.Folder(dir); err != nil {
		return fmt.Errorf("%w; no proof was left there", err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(fd)
	name := c.Window + "." + c.Challenge + ".proof"
	proof, err := unix.Openat(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make the proof %s in %s: %w", name, dir, err)
	}
	_ = unix.Close(proof)
	defer func() { _ = unix.Unlinkat(fd, name, 0) }() // the window removes it, unless it is gone
	return c.Ask(ctx, "prove", struct{}{}, &struct{}{})
}

// Ask sends one request and decodes the result into out. It gives a *Refusal where the window says no; after any other error that does not wrap
// ErrNotSent it is not known what the window did.
func (c *Conn) Ask(ctx context.Context, method string, params, out any) error {
	c.next++
	id := strconv.Itoa(c.next)
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", method, ErrNotSent, err)
	}
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s: %w", method, lost(ctx, err))
	}
	line, err := c.read()
	if err != nil {
		return fmt.Errorf("%s: %w", method, lost(ctx, err))
	}
	if err := decode(line, id, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

var errTooLong = errors.New("the answer is longer than winnow reads")

func (c *Conn) read() ([]byte, error) {
	var out []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > maxLine:
			return nil, errTooLong
		case err == nil:
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func decode(line []byte, id string, out any) error {
	if bytes.Count(line, []byte(",")) > maxMembers {
		return fmt.Errorf("the answer lists more than winnow reads (%d members)", maxMembers)
	}
	var answer struct {
		ID     *string         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Refusal        `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("the answer is not one of a window's: %w; see what listens there", err)
	}
	switch {
	case answer.ID == nil || *answer.ID != id:
		return errors.New("the answer is to another request; see what listens there")
	case answer.Error != nil:
		return answer.Error
	case answer.Result == nil:
		return errors.New("the answer has neither a result nor an error; see what listens there")
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return fmt.Errorf("the answer is not one of a window's: %w; see what listens there", err)
	}
	return nil
}

// Close ends the conversation.
func (c *Conn) Close() {
	c.cancel()
	_ = c.conn.Close()
}

// closed explains a connection that did not come about.
func closed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("no such socket: %w", ErrNoServer)
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peer.ErrNotSocket):
		return fmt.Errorf("the window that made this socket was closed or loaded anew, or its extension host has ended: %w", ErrNoServer)
	case peer.Refused(err):
		return err
	case ctx.Err() != nil:
		return lost(ctx, err)
	}
	return err
}

// lost explains a conversation that ended before the answer did.
func lost(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer in time: %w; its extension host may be busy: look again", ctx.Err())
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w (%d MiB)", err, maxLine>>20)
	}
	return fmt.Errorf("it hung up without an answer: %w; the window may be loading anew: look again", err)
}
