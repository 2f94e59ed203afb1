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
	"time"

	"golang.org/x/sys/unix"

	"winnow/actuators"
	"winnow/internal/peer"
)

// maxReply bounds one reply, in bytes. herdr itself sets no bound: a snapshot names every pane there is.
const maxReply = 16 << 20

// maxMembers bounds what one reply is unpacked to: a pane has some fifteen.
const maxMembers = 500_000

var (
	// errNoServer says that the kernel knows of nobody who listens on a socket.
	errNoServer = errors.New("no server listens there")
	// errNotSent says that nothing of a request went out, so that the server cannot have acted on it.
	errNotSent = errors.New("nothing was sent")
)

// refusal is an error that the server gave for an answer. Code is what it means; the message is for people.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	said := r.Message[:min(len(r.Message), 200)]
	return fmt.Sprintf("the server says %s: %s", strconv.Quote(r.Code), strconv.Quote(said))
}

// code is the code of the server's refusal in err, or nothing.
func code(err error) string {
	var r *refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// client asks the server on one socket: one request a connection, since a second one is never answered.
type client struct {
	socket string
	uid    int
	// server is the pid that must listen there; 0 is any.
	server   int
	patience time.Duration
}

// call sends one request and decodes the result, which must be of the given type, into out. It gives the pid of the process
// that listens, 0 where that is in another pid namespace. It wraps errNotSent where the request did not go out; after any
// other error but a refusal nothing is known of what the server did.
func (c client) call(ctx context.Context, method string, params any, kind string, out any) (peer int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	conn, peer, err := c.dial(ctx)
	if err != nil {
		return peer, fmt.Errorf("%s: %w: %w", method, errNotSent, err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	const id = "winnow"
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return peer, fmt.Errorf("%s: %w: %w", method, errNotSent, err)
	}
	// One write: the server sleeps whenever it finds no byte.
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return peer, fmt.Errorf("%s: send to %s: %w", method, c.socket, because(ctx, err))
	}
	reply, err := readLine(conn)
	if err != nil {
		return peer, fmt.Errorf("%s: the server on %s gave no whole answer: %w", method, c.socket, because(ctx, err))
	}
	if err := decode(reply, id, kind, out); err != nil {
		return peer, fmt.Errorf("%s: %w", method, err)
	}
	return peer, nil
}

// because says that time is up where that is why a connection failed.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// dial connects, and checks who listens: the kernel remembers who called listen(2).
func (c client) dial(ctx context.Context) (*net.UnixConn, int, error) {
	conn, pid, err := peer.Dial(ctx, c.socket)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peer.ErrNotSocket):
		return nil, 0, fmt.Errorf("connect to %s: %w", c.socket, errNoServer)
	case peer.Refused(err):
		return nil, 0, actuators.Refused("connect to %s: %w", c.socket, err)
	case err != nil:
		return nil, 0, fmt.Errorf("connect to %s: %w", c.socket, err)
	}
	switch {
	case c.uid != os.Geteuid(): // peer.Dial connects to nobody else
		err = actuators.Refused("the server on %s belongs to user %d", c.socket, os.Geteuid())
	case c.server != 0 && pid != c.server:
		err = actuators.Changed("pid %d listens on %s now, and pid %d did before", pid, c.socket, c.server)
	}
	if err != nil {
		_ = conn.Close()
		return nil, 0, err
	}
	return conn, pid, nil
}

func readLine(r io.Reader) ([]byte, error) {
	in := &io.LimitedReader{R: r, N: maxReply}
	line, err := bufio.NewReader(in).ReadBytes('\n')
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, io.EOF) && in.N <= 0:
		return nil, fmt.Errorf("it is longer than %d MiB", maxReply>>20)
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("it was cut off after %d bytes", len(line))
	}
	return nil, err
}

// decode reads a reply. A request that the server does not understand is answered with an empty id.
func decode(line []byte, id, kind string, out any) error {
	var reply struct {
		ID     *string         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	if bytes.Count(line, []byte(",")) > maxMembers {
		return fmt.Errorf("the server's answer lists more than %d members", maxMembers)
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		return fmt.Errorf("the server's answer is no JSON object: %w", err)
	}
	if reply.ID == nil || *reply.ID != id && (reply.Error == nil || *reply.ID != "") {
		return errors.New("the server answered another request")
	}
	if reply.Error != nil {
		return reply.Error
	}
	var is struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(reply.Result, &is); err != nil || is.Type != kind {
		return fmt.Errorf("the server's answer is of the type %q instead of %s", is.Type, kind)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Result, out); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}
