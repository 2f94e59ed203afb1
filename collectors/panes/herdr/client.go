package herdr

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"winnow/collectors"
	"winnow/internal/peer"
)

const (
	// maxSocketPath is the longest path that the kernel takes for a socket, in bytes (sun_path without its NUL).
	maxSocketPath = 107
	// maxReply is the longest answer that is read, in bytes. herdr sets no bound: one line holds every pane of the server.
	maxReply = 16 << 20
	// maxMembers bounds what one answer is unpacked to: a pane has some fifteen.
	maxMembers = 500_000
)

// client asks one server during one reading. herdr answers one request a connection, in one line, and hangs up.
type client struct {
	socket string
	uid    int // whose server may be asked
	sent   atomic.Int64
	// peer is the process that listens, as of the first answer. It is set before requests are sent side by side.
	peer *unix.Ucred
}

// refusal is an answer of the server's that says no. Its message is left out: it is for people who use herdr, and may name anything.
type refusal struct {
	Code string `json:"code"`
}

func (e *refusal) Error() string { return fmt.Sprintf("herdr answers %.80q", e.Code) }

// The codes that are told apart.
const (
	invalidRequest    = "invalid_request" // and a method that the server does not know
	paneNotFound      = "pane_not_found"
	serverUnavailable = "server_unavailable"
)

type request struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// none are the parameters of a method that takes none; the member must be there all the same.
type none struct{}

// ask sends one request and gives the answer, which is of the given type. It gives a *refusal where the server says no to this
// one request; any other error says that the server cannot be relied on. It wraps collectors.ErrAbsent when nothing listens on the
// socket and no request was answered before.
func (c *client) ask(ctx context.Context, method string, params any, kind string) (*result, error) {
	id := strconv.FormatInt(c.sent.Add(1), 10)
	line, err := json.Marshal(request{id, method, params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	answer, err := c.exchange(ctx, append(line, '\n'))
	if err == nil {
		var r *result
		if r, err = decode(answer, id, kind); err == nil {
			return r, nil
		}
	}
	var no *refusal
	switch {
	case errors.As(err, &no) && no.Code == serverUnavailable:
		return nil, fmt.Errorf("%s: it answers %s, so it is ending or stuck; see herdr status server", method, serverUnavailable)
	case no != nil:
		return nil, no
	}
	return nil, fmt.Errorf("%s: %w", method, err)
}

// exchange writes one line in one write, for the server sleeps 100 ms whenever it finds none to read, and reads one. It never
// closes the writing side alone, which herdr takes for a client that has gone.
func (c *client) exchange(ctx context.Context, line []byte) ([]byte, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(line); err != nil {
		return nil, lost(ctx, err, 0)
	}
	answer, err := readLine(conn, maxReply)
	if err != nil {
		return nil, lost(ctx, err, len(answer))
	}
	return answer, nil
}

var errTooLong = errors.New("the answer is longer than winnow reads")

// readLine reads up to the first newline. With an error it gives what came before.
func readLine(r io.Reader, limit int64) ([]byte, error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, limit), 64<<10).ReadBytes('\n')
	if errors.Is(err, io.EOF) && int64(len(line)) >= limit {
		err = errTooLong
	}
	return line, err
}

// lost explains a connection that ended before the answer did.
func lost(ctx context.Context, err error, got int) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer in time: %w; see herdr status server (a stuck one still answers a ping), or raise collect.timeout",
			ctx.Err())
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w (%d MiB); leave it out of collect.herdr.sockets", err, maxReply>>20)
	case got > 0:
		return fmt.Errorf("it hung up in the middle of an answer, after %d bytes: %w; it may be restarting: look again", got, err)
	}
	return fmt.Errorf("it hung up without an answer: %w; it may be restarting, or no herdr server: look again", err)
}

// connect tells by the kernel's own word who listens: the process as this pid namespace counts it, 0 for one outside of it.
// Whoever listens now must be who answered before.
func (c *client) connect(ctx context.Context) (*net.UnixConn, error) {
	if len(c.socket) > maxSocketPath {
		return nil, fmt.Errorf("its path is longer than the %d bytes that the kernel takes; name a symbolic link to it in collect.herdr.sockets", maxSocketPath)
	}
	conn, pid, err := peer.Dial(ctx, c.socket)
	if err != nil {
		return nil, c.closed(ctx, err)
	}
	if err := c.meet(&unix.Ucred{Pid: int32(pid), Uid: uint32(os.Geteuid())}); err != nil { // peer.Dial connects to nobody else
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// closed explains a connection that did not come about.
func (c *client) closed(ctx context.Context, err error) error {
	none := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peer.ErrNotSocket)
	switch {
	case none && c.peer != nil:
		return fmt.Errorf("%w: it ended or restarted while it was read; look again", bare(err))
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("no such socket: %w", collectors.ErrAbsent)
	case none:
		return fmt.Errorf("nobody listens there, the file was left by a server that ended: %w", collectors.ErrAbsent)
	case peer.Refused(err):
		return fmt.Errorf("%w: %w; nothing was sent: run winnow as that user, or leave it out of collect.herdr.sockets", collectors.ErrPermission, err)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w; run as the server's owner", collectors.ErrPermission)
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("%w: too many wait to be answered; see herdr status server", bare(err))
	case ctx.Err() != nil:
		return lost(ctx, err, 0)
	}
	return bare(err)
}

// bare is the kernel's error without the path around it, which the reading's own error names already.
func bare(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

func (c *client) meet(peer *unix.Ucred) error {
	switch {
	case int(peer.Uid) != c.uid:
		return fmt.Errorf("it belongs to uid %d: %w; run winnow as that user", peer.Uid, collectors.ErrPermission)
	case c.peer == nil:
		c.peer = peer
	case c.peer.Pid != peer.Pid:
		return fmt.Errorf("pid %d listens there now, pid %d did before: it restarted while it was read; look again", peer.Pid, c.peer.Pid)
	}
	return nil
}

// envelope is an answer of herdr's.
type envelope struct {
	ID     string   `json:"id"`
	Result *result  `json:"result"`
	Error  *refusal `json:"error"`
}

// decode takes an answer to the request with the given id. A refusal of a request that herdr did not understand carries no id.
func decode(line []byte, id, kind string) (*result, error) {
	var e envelope
	if bytes.Count(line, []byte(",")) > maxMembers {
		return nil, fmt.Errorf("the answer lists more than winnow reads (%d members); leave it out of collect.herdr.sockets", maxMembers)
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
		return nil, fmt.Errorf("the answer is no answer of herdr's: %w; see what listens there", err)
	}
	misunderstood := e.Error != nil && e.Error.Code == invalidRequest && e.ID == ""
	switch {
	case e.ID != id && !misunderstood:
		return nil, fmt.Errorf("the answer is to request %.40q, and %q was asked; see what listens there", e.ID, id)
	case e.Error != nil:
		return nil, e.Error
	case e.Result == nil || e.Result.Type != kind:
		got := ""
		if e.Result != nil {
			got = e.Result.Type
		}
		return nil, fmt.Errorf("the answer is of type %.80q, want %s; this version of herdr may speak differently: look for a newer winnow", got, kind)
	}
	return e.Result, nil
}
