// Package rpc sends one request to a herdr server and reads the answer.
//
// It is below internal/sys/herdr so that nothing else can name it: package herdr has the calls that read, and package
// act those that change.
package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

const (
	// MaxPath is the longest path that the kernel takes for a socket, in bytes (sun_path without its NUL).
	MaxPath = 107
	// maxReply is the longest answer that is read, in bytes. herdr sets no bound: one line holds every pane of the
	// server.
	maxReply = 16 << 20
	// maxMembers bounds what one answer is unpacked to: a pane has some fifteen.
	maxMembers = 500_000
	// id is that of every request: a connection carries one request only, since herdr never answers a second one.
	id = "winnow"
)

var (
	// ErrNoServer says that no process listens on a socket, as the kernel says.
	ErrNoServer = errors.New("no server listens there")
	// ErrAnother says that another process listens than the one that must.
	ErrAnother = errors.New("another server listens there")
	// ErrNotSent says that nothing of a request went out, so that the server cannot have acted on it.
	ErrNotSent = errors.New("nothing was sent")
)

// The codes of refusals that are handled apart.
const (
	InvalidRequest = "invalid_request" // also: a method that this version does not know
	unavailable    = "server_unavailable"
)

// Refusal is an answer of the server's that says no. Its message is left out: it is for people who use herdr, and may
// name anything.
type Refusal struct {
	Code string `json:"code"`
}

func (r *Refusal) Error() string { return fmt.Sprintf("herdr answers %.80q", r.Code) }

// Conn says which server is asked. One that is not changed may be used by many goroutines at once.
type Conn struct {
	Socket string
	// UID is the user whose server may be asked; it must be the user of this process.
	UID int
	// Server is the pid that must listen on Socket, 0 for one outside of this pid namespace; nil is any.
	Server *int
	// Patience bounds one call; 0 leaves that to the context.
	Patience time.Duration
}

// Type is the first part of every result.
type Type struct {
	Is string `json:"type"`
}

func (t *Type) is() string { return t.Is }

// Result is a pointer to a struct that embeds Type.
type Result interface{ is() string }

// Call sends one request and decodes the answer into out, which must be of the given type. It gives the pid of the
// process that listens, 0 for one outside of this pid namespace.
//
// It gives a *Refusal where the server says no to this one request; any other error says that the server cannot be
// relied on. It wraps ErrNotSent where nothing went out, with ErrNoServer, ErrAnother or what peercred.Refused knows;
// after any other error but a refusal it is not known what the server did.
func (c *Conn) Call(ctx context.Context, method string, params any, kind string, out Result) (server int, err error) {
	answer, server, err := c.ask(ctx, method, params)
	if err != nil {
		return server, err
	}
	return server, refused(method, decode(answer, kind, out))
}

// refused is the error of an answer: a *Refusal by itself where the server says no to this one request, and nil where
// it does not.
func refused(method string, err error) error {
	var no *Refusal
	switch {
	case errors.As(err, &no) && no.Code == unavailable:
		return fmt.Errorf("%s: it answers %s, so it is ending or stuck; see herdr status server", method, unavailable)
	case no != nil, err == nil:
		return err
	}
	return fmt.Errorf("%s: %w", method, err)
}

// prepare connects, and writes the line of a request. Its errors wrap ErrNotSent.
func (c *Conn) prepare(ctx context.Context, method string, params any) (
	conn *net.UnixConn, request []byte, server int, err error,
) {
	if request, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params}); err == nil {
		conn, server, err = c.dial(ctx)
	}
	if err != nil {
		return nil, nil, server, fmt.Errorf("%s: %w: %w", method, ErrNotSent, err)
	}
	return conn, append(request, '\n'), server, nil
}

// ask sends one request and gives the line that answers it.
func (c *Conn) ask(ctx context.Context, method string, params any) (answer []byte, server int, err error) {
	if c.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Patience)
		defer cancel()
	}
	conn, request, server, err := c.prepare(ctx, method, params)
	if err != nil {
		return nil, server, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	// One line goes out in one write, for the server sleeps 100 ms whenever it finds none to read. The writing side is never closed alone, which
	// herdr takes for a client that has gone.
	if _, err := conn.Write(request); err != nil {
		return nil, server, fmt.Errorf("%s: %w", method, lost(ctx, err, 0))
	}
	if answer, err = limit.Line(bufio.NewReaderSize(conn, 64<<10), maxReply); err != nil {
		return nil, server, fmt.Errorf("%s: %w", method, lost(ctx, err, len(answer)))
	}
	return answer, server, nil
}

// listed finds the names of methods in the refusal of one that a server does not know: it lists those that it has
// (serde's words for an unknown variant).
var (
	listed = regexp.MustCompile("unknown variant `" + unknown + "`, expected one of ((?:`[^`]+`(?:, )?)+)")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// unknown is a method that no server has.
const unknown = "winnow.unknown"

// Methods gives the methods that the server says it has, nil where it does not list them in a way that is known here.
// It asks for one that does not exist, which a server refuses before it does anything. Its errors are those of Call,
// but for a Refusal.
func (c *Conn) Methods(ctx context.Context) ([]string, error) {
	answer, _, err := c.ask(ctx, unknown, struct{}{})
	if err != nil {
		return nil, err
	}
	var no *Refusal
	if err := decode(answer, unknown, &Type{}); !errors.As(err, &no) || no.Code == unavailable {
		return nil, refused(unknown, err)
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || no.Code != InvalidRequest {
		return nil, nil // it says no to this one request, in another way than is known
	}
	list := listed.FindStringSubmatch(said.Error.Message)
	if list == nil {
		return nil, nil
	}
	var out []string
	for _, name := range quoted.FindAllStringSubmatch(list[1], -1) {
		out = append(out, name[1])
	}
	return out, nil
}

// maxEvent is the longest line of a stream that is read, in bytes.
const maxEvent = 1 << 20

// Stream sends one request that keeps its connection, and hands every line that follows the answer to line, without
// its end; what line gets is valid until it returns. begun is called once the server has agreed. It ends with ctx,
// whose error it gives, and with the server's end or a line that is too long, and never without an error. Patience
// bounds the time until the answer. The errors before begun are those of Call.
func (c *Conn) Stream(ctx context.Context, method string, params any, kind string, out Result, begun func(), line func([]byte)) error {
	first, cancel := ctx, context.CancelFunc(func() {})
	if c.Patience > 0 {
		first, cancel = context.WithTimeout(ctx, c.Patience)
	}
	defer cancel()
	conn, request, _, err := c.prepare(first, method, params)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(first, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	r := bufio.NewReaderSize(conn, 4<<10)
	if _, err = conn.Write(request); err != nil {
		return fmt.Errorf("%s: %w", method, lost(first, err, 0))
	}
	long := fmt.Errorf("%s: a line is longer than winnow reads (%d MiB); see what listens there", method, maxEvent>>20)
	answer, err := limit.Line(r, maxEvent)
	if errors.Is(err, limit.ErrLong) {
		return long
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, lost(first, err, len(answer)))
	}
	if err := decode(answer, kind, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if !stop() {
		return fmt.Errorf("%s: %w", method, lost(first, first.Err(), 0))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	begun()
	for {
		text, err := limit.Line(r, maxEvent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, limit.ErrLong):
			return long
		case err != nil:
			return fmt.Errorf("%s: the server ended it: %w", method, err)
		}
		line(text)
	}
}

// lost explains a connection that ended before the answer did.
func lost(ctx context.Context, err error, got int) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer in time: %w; see herdr status server (a stuck one still answers a ping), or raise collect.timeout", ctx.Err())
	case errors.Is(err, limit.ErrLong):
		return fmt.Errorf("%w (%d MiB); leave it out of collect.herdr.sockets", err, maxReply>>20)
	case got > 0:
		return fmt.Errorf("it hung up in the middle of an answer, after %d bytes: %w; it may be restarting: look again", got, err)
	}
	return fmt.Errorf("it hung up without an answer: %w; it may be restarting, or no herdr server: look again", err)
}

// dial connects, and tells by the kernel's own word who listens.
func (c *Conn) dial(ctx context.Context) (*net.UnixConn, int, error) {
	switch {
	case len(c.Socket) > MaxPath:
		return nil, 0, fmt.Errorf("its path is longer than the kernel's %d bytes; name a symbolic link to it in collect.herdr.sockets", MaxPath)
	case c.UID != os.Geteuid(): // peercred.Dial connects to no other user
		return nil, 0, fmt.Errorf("%w: winnow runs as uid %d, and uid %d is wanted", peercred.ErrOther, os.Geteuid(), c.UID)
	}
	conn, pid, err := peercred.Dial(ctx, c.Socket)
	if err != nil {
		return nil, 0, closed(ctx, err)
	}
	if c.Server != nil && pid != *c.Server {
		_ = conn.Close()
		return nil, 0, fmt.Errorf("%w: pid %d listens there now, pid %d did before; it restarted: look again", ErrAnother, pid, *c.Server)
	}
	return conn, pid, nil
}

// closed explains a connection that did not come about.
func closed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("no such socket: %w", ErrNoServer)
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peercred.ErrNotSocket):
		return fmt.Errorf("no server listens there: the one that made this file has ended: %w", ErrNoServer)
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("%w: too many wait to be answered; see herdr status server", bare(err))
	case peercred.Refused(err):
		return err
	case ctx.Err() != nil:
		return lost(ctx, err, 0)
	}
	return bare(err)
}

// bare is the kernel's error without the path around it, which the caller names already.
func bare(err error) error {
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no
	}
	return err
}

// decode takes an answer. The refusal of a request that herdr did not understand carries an empty id.
func decode(line []byte, kind string, out Result) error {
	answer := struct {
		ID     *string  `json:"id"`
		Result any      `json:"result"`
		Error  *Refusal `json:"error"`
	}{Result: out}
	if bytes.Count(line, []byte(",")) > maxMembers {
		return fmt.Errorf("the answer lists more than winnow reads (%d members); leave it out of collect.herdr.sockets", maxMembers)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("the answer is no answer of herdr's: %w; see what listens there", err)
	}
	misunderstood := answer.Error != nil && answer.Error.Code == InvalidRequest && answer.ID != nil && *answer.ID == ""
	switch {
	case answer.ID == nil:
		return errors.New("the answer does not say to which request it is; see what listens there")
	case *answer.ID != id && !misunderstood:
		return fmt.Errorf("the answer is to request %s, and %q was asked; see what listens there", strconv.Quote((*answer.ID)[:min(len(*answer.ID), 40)]), id)
	case answer.Error != nil:
		return answer.Error
	case out.is() != kind:
		return fmt.Errorf("the answer is of type %.80q, want %s; this version of herdr may speak differently: look for a newer winnow", out.is(), kind)
	}
	return nil
}
