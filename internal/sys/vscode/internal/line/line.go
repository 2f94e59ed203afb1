// Package line speaks with one window of an editor: one JSON object a line on a unix socket (editors/vscode/protocol.schema.json).
//
// It is below internal/sys/vscode so that nothing else can name it: package vscode has the requests that read, and package act those that change.
package line

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 20

var (
	// ErrNoServer says that no process listens on a socket, as the kernel says.
	ErrNoServer = errors.New("no window listens there")
	// ErrAnother says that another window listens than the one that must.
	ErrAnother = errors.New("another window listens there")
	// ErrNotSent says that nothing of a request went out, so that the window cannot have acted on it.
	ErrNotSent = errors.New("nothing was sent")
)

// Window says which window is asked.
type Window struct {
	Socket string
	// UID is the user whose windows may be asked; it must be the user of this process.
	UID int
	// Is, where it is set, is the window that must answer: its extension host's pid and start, and the id that it gave itself.
	Is *Hello
	// Patience bounds all of one conversation; 0 leaves that to the context.
	Patience time.Duration
}

// Conn is a conversation with a window that has been proved to be this user's own, as this process was to the window. It is for one
// goroutine at a time.
type Conn struct {
	Hello
	conn  *net.UnixConn
	lines *bufio.Reader
	next  int
	ctx   context.Context // bounds every request of the conversation
	stop  func()
}

// Open connects, learns from the kernel who listens, and proves to the window whose this process is. Its errors wrap ErrNotSent, because
// nothing else was asked, with ErrNoServer, ErrAnother or what peercred.Refused knows where that is known.
func (w Window) Open(ctx context.Context) (*Conn, error) {
	cancel := func() {}
	if w.Patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, w.Patience)
	}
	c, err := w.open(ctx, cancel)
	if err != nil {
		cancel()
		if !errors.Is(err, ErrNotSent) {
			err = fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return nil, err
	}
	return c, nil
}

func (w Window) open(ctx context.Context, cancel func()) (*Conn, error) {
	if w.UID != os.Geteuid() { // peercred.Dial connects to no other user
		return nil, fmt.Errorf("%w: winnow runs as uid %d, and uid %d is wanted", peercred.ErrOther, os.Geteuid(), w.UID)
	}
	conn, pid, err := peercred.Dial(ctx, w.Socket)
	if err != nil {
		return nil, closed(ctx, err)
	}
	unhook := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c := &Conn{conn: conn, lines: bufio.NewReaderSize(conn, 64<<10), ctx: ctx, stop: func() { unhook(); cancel() }}
	if err = c.greet(w, pid); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet asks the window who it is, compares that with what the kernel says, and proves who asks.
func (c *Conn) greet(w Window, pid int) error {
	real, err := safeopen.Path(w.Socket) // the proof goes beside the socket itself, and not beside a link to it
	if err != nil {
		return err
	}
	if err := c.hello(); err != nil {
		return err
	}
	switch {
	case pid <= 0 || pid != c.PID:
		return fmt.Errorf("the kernel says that pid %d listens, the window says pid %d; it may be in another pid namespace", pid, c.PID)
	case filepath.Base(real) != c.Window+".sock":
		return fmt.Errorf("the window says that it is %s, and its socket is called %.40q; see what listens there", c.Window, filepath.Base(real))
	case w.Is != nil && (w.Is.PID != c.PID || w.Is.StartTicks != c.StartTicks || w.Is.Window != c.Window):
		return fmt.Errorf("%w: window %s (pid %d) listens now, window %s (pid %d) did before; it was loaded again", ErrAnother, c.Window, c.PID, w.Is.Window, w.Is.PID)
	}
	return c.leaveProof(filepath.Dir(real))
}

// leaveProof makes a file that only this user can make, which the window looks at and removes.
func (c *Conn) leaveProof(dir string) error {
	fd, err := Folder(dir)
	if err != nil {
		return fmt.Errorf("%w; no proof was left there", err)
	}
	defer func() { _ = unix.Close(fd) }()
	name := c.Window + "." + c.challenge + ".proof"
	proof, err := unix.Openat(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make the proof %s in %s: %w", name, dir, err)
	}
	defer func() { _ = unix.Unlinkat(fd, name, 0) }() // a window that answers has removed it
	err = unix.Fchmod(proof, 0o600)                   // a umask may have taken rights from the owner
	if err = errors.Join(err, unix.Close(proof)); err != nil {
		return fmt.Errorf("make the proof %s in %s: %w", name, dir, err)
	}
	return c.prove()
}

// Ask sends one request and decodes the result, which must be an object, into out. It gives a *Refusal where the window says no; after any
// other error that does not wrap ErrNotSent it is not known what the window did.
func (c *Conn) Ask(method string, params, out any) error {
	c.next++
	id := strconv.Itoa(c.next)
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", method, ErrNotSent, err)
	}
	if err := c.ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w: %w", method, ErrNotSent, c.lost(err, 0))
	}
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s: %w", method, c.lost(err, 0))
	}
	line, err := limit.Line(c.lines, maxLine)
	if err != nil {
		return fmt.Errorf("%s: %w", method, c.lost(err, len(line)))
	}
	if err := decode(line, id, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Close ends the conversation.
func (c *Conn) Close() {
	c.stop()
	_ = c.conn.Close()
}

// closed explains a connection that did not come about.
func closed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("no such socket: %w", ErrNoServer)
	case errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("the window that made this socket was closed or loaded again, or its extension host has ended: %w", ErrNoServer)
	case peercred.Refused(err):
		return err
	case ctx.Err() != nil:
		return late(ctx)
	}
	return err
}

// lost explains a conversation that ended before the answer did, after so many bytes of it.
func (c *Conn) lost(err error, got int) error {
	switch {
	case c.ctx.Err() != nil:
		return late(c.ctx)
	case errors.Is(err, limit.ErrLong):
		return fmt.Errorf("%w (%d MiB); see what listens there", err, maxLine>>20)
	case got > 0:
		return fmt.Errorf("it hung up in the middle of an answer, after %d bytes: %w; the window may be loading again: look again", got, err)
	}
	return fmt.Errorf("it hung up without an answer: %w; the window may be loading again: look again", err)
}

func late(ctx context.Context) error {
	return fmt.Errorf("no answer in time: %w; its extension host may be busy: look again, or raise collect.timeout", context.Cause(ctx))
}

// Folder opens a folder of sockets, and refuses one that is a link, that does not belong to this very user, or in which or on the way to
// which another user can write. The caller closes it.
func Folder(path string) (fd int, err error) {
	if _, err := safeopen.Folder(path); err != nil {
		return -1, err
	}
	fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case int(st.Uid) != os.Geteuid(): // safeopen.Folder takes root's for everybody's
		err = safeopen.ErrOwner
	case st.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0: // and one with the sticky bit
		err = safeopen.ErrWritable
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, &fs.PathError{Op: "trust", Path: path, Err: err}
	}
	return fd, nil
}

// Protocol is the one that is spoken.
const Protocol = 1

// MaxFolders is how many folders of one window are read.
const MaxFolders = 1000

// Hello is what a window says of itself.
type Hello struct {
	Protocol  int
	Extension string
	Editor    Editor
	// Window is the id that the window gave itself when it was loaded.
	Window string
	// PID is the extension host, which listens on the socket, and StartTicks when that began.
	PID        int
	StartTicks uint64
	// Folders are the real paths of the folders that the window has open. Focused is whether it has the focus of its desktop.
	Folders   []string
	Focused   bool
	challenge string
}

// Editor is which editor it is.
type Editor struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

var (
	windowID  = regexp.MustCompile(`\A[0-9a-f]{8}\z`)
	challenge = regexp.MustCompile(`\A[0-9a-f]{32}\z`)
)

// hello asks the window which one it is, and where the proof goes. It tells nothing else before that.
func (c *Conn) hello() error {
	var h struct {
		Protocol   *int    `json:"protocol"`
		Window     string  `json:"window"`
		PID        int     `json:"pid"`
		StartTicks *uint64 `json:"start_ticks"`
		Challenge  string  `json:"challenge"`
	}
	err := c.Ask("hello", map[string]int{"protocol": Protocol}, &h)
	var no *Refusal
	switch {
	case errors.As(err, &no) && no.Code == badRequest: // so a window refuses a protocol that it does not know
		return fmt.Errorf("%w; it may not know protocol %d: run winnow editor install and load the window again, or update winnow", err, Protocol)
	case err != nil:
		return err
	case h.Protocol != nil && *h.Protocol != Protocol:
		return fmt.Errorf("it speaks protocol %d, winnow %d; run winnow editor install and reload the window, or update winnow", *h.Protocol, Protocol)
	case h.Protocol == nil || h.StartTicks == nil || h.PID <= 0 || !windowID.MatchString(h.Window) || !challenge.MatchString(h.Challenge):
		return incomplete("hello")
	}
	c.Hello = Hello{Protocol: Protocol, Window: h.Window, PID: h.PID, StartTicks: *h.StartTicks, challenge: h.Challenge}
	return nil
}

// prove has the window look at the proof, and takes what it then tells of itself.
func (c *Conn) prove() error {
	var p struct {
		Extension *string   `json:"extension"`
		Editor    *Editor   `json:"editor"`
		Folders   *[]string `json:"folders"`
		Focused   *bool     `json:"focused"`
	}
	switch err := c.Ask("prove", struct{}{}, &p); {
	case err != nil:
		return err
	case p.Extension == nil || p.Editor == nil || p.Folders == nil || p.Focused == nil:
		return incomplete("prove")
	case len(*p.Folders) > MaxFolders:
		return fmt.Errorf("prove: %d folders, more than winnow reads (%d)", len(*p.Folders), MaxFolders)
	}
	if err := Texts("prove", append([]string{*p.Extension, p.Editor.Name, p.Editor.Version}, *p.Folders...)...); err != nil {
		return err
	}
	c.Extension, c.Editor, c.Folders, c.Focused = *p.Extension, *p.Editor, *p.Folders, *p.Focused
	return nil
}

func incomplete(method string) error {
	return fmt.Errorf("%s: the answer is not one of a window's: a part of it is missing or has another form; see what listens there", method)
}

const (
	// maxMembers bounds what one line is unpacked to, and maxText how long one text in it is, in bytes: a path has 4096.
	maxMembers = 50_000
	maxText    = 4096
)

// badRequest is the code for a request that the window does not understand.
const badRequest = "bad_request"

// Refusal is an answer of the window's that says no.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the window answers %.40q: %.200q", r.Code, r.Message)
}

// decode takes the answer to the request of that id.
func decode(line []byte, id string, out any) error {
	var answer struct {
		ID     *string         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Refusal        `json:"error"`
	}
	switch {
	case bytes.Count(line, []byte(",")) > maxMembers:
		return fmt.Errorf("the answer lists more than winnow reads (%d members)", maxMembers)
	case !utf8.Valid(line):
		return errors.New("the answer is not UTF-8; see what listens there")
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return malformed(err)
	}
	switch {
	case answer.ID == nil:
		return errors.New("the answer does not say to which request it is; see what listens there")
	case *answer.ID != id:
		return fmt.Errorf("the answer is to request %.40q, and %q was asked; see what listens there", *answer.ID, id)
	case answer.Error != nil && answer.Result != nil:
		return errors.New("the answer has a result and an error; see what listens there")
	case answer.Error != nil:
		return answer.Error
	case len(answer.Result) == 0 || answer.Result[0] != '{':
		return errors.New("the answer has neither a result nor an error; see what listens there")
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	return fmt.Errorf("the answer is not one of a window's: %w; see what listens there", err)
}

// Texts refuses an answer to method in which a text is longer than is read.
func Texts(method string, all ...string) error {
	for _, text := range all {
		if len(text) > maxText {
			return fmt.Errorf("%s: a text has %d bytes, more than winnow reads (%d): %.40q", method, len(text), maxText, text)
		}
	}
	return nil
}
