package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"winnow/collectors"
	"winnow/engine/snapshot"
)

// waitDelay is how long a program that was told to end may hold its output open.
const waitDelay = 100 * time.Millisecond

// reader reads one server.
type reader struct {
	name, socket   string
	tmux, procRoot string
	only           string
	log            hclog.Logger
}

func newReader(o Options, name, socket string) *reader {
	r := &reader{name: name, socket: socket, tmux: cmp.Or(o.Tmux, "tmux"), procRoot: cmp.Or(o.ProcRoot, "/proc"), only: o.Only, log: o.Log}
	if r.log == nil {
		r.log = hclog.NewNullLogger()
	}
	return r
}

// Read asks the server for everything at once. It wraps collectors.ErrAbsent only when no server listens on the socket,
// collectors.ErrPermission when it may not be asked, and the context's error when it did not answer in time.
func (r *reader) Read(ctx context.Context) (collectors.Part, error) {
	if r.only != "" && !native(r.only, '$') {
		return collectors.Part{}, fmt.Errorf("read session %q: not an id of tmux's such as $4", r.only)
	}
	peer, err := connect(ctx, r.socket)
	if err != nil {
		return collectors.Part{}, err
	}
	l, err := r.ask(ctx)
	if err != nil {
		return collectors.Part{}, err
	}
	return collectors.Part{Sessions: sessions(l, r.name, r.server(l, peer), r.only)}, nil
}

// connect tells by the kernel's own word whether a server listens on socket, which tmux's messages do not always do, and who
// listens: the pid of the process as this pid namespace counts it, 0 for one that is outside of it.
func connect(ctx context.Context, socket string) (peer int, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, fmt.Errorf("connect to %s: no such socket: %w", socket, collectors.ErrAbsent)
	case errors.Is(err, unix.ECONNREFUSED):
		return 0, fmt.Errorf("connect to %s: no server listens there: %w", socket, collectors.ErrAbsent)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return 0, fmt.Errorf("connect to %s: %w: run as the server's owner", socket, collectors.ErrPermission)
	case err != nil:
		return 0, timely(ctx, fmt.Errorf("connect to %s: %w", socket, err))
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("connect to %s: %w", socket, err)
	}
	err = raw.Control(func(fd uintptr) {
		if cred, e := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); e == nil {
			peer = int(cred.Pid)
		}
	})
	return peer, err
}

// ask runs tmux once. It hangs for as long as the server is stopped, so it is ended with ctx. Its environment is empty but for
// the character set: a client hands it to the server, and TMUX would make the client think that it is nested.
func (r *reader) ask(ctx context.Context) (*listing, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, r.tmux, append([]string{"-u", "-S", r.socket}, commands()...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"LC_ALL=C.UTF-8"}, &stdout, &stderr, waitDelay
	// A group of its own, so that what goes by the name of tmux here ends with all that it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, timely(ctx, fmt.Errorf("ask the tmux server on %s: no answer", r.socket))
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("ask the tmux server on %s: %w: install tmux, or set collect.tmux.sockets to []", r.socket, err)
	}
	if l, bad := parse(stdout.String()); bad == nil {
		return l, nil
	} else if err == nil {
		err = bad
	}
	said := firstLine(stderr.String())
	switch {
	case strings.HasPrefix(said, "access not allowed"): // with exit code 0 and nothing on stdout
		return nil, fmt.Errorf("ask the tmux server on %s: %s: %w: its owner can allow it with tmux server-access", r.socket, said, collectors.ErrPermission)
	case strings.HasPrefix(said, "no server running"): // it ended since the socket was tried
		return nil, fmt.Errorf("ask the tmux server on %s: %s: %w", r.socket, said, collectors.ErrAbsent)
	case said != "":
		return nil, fmt.Errorf("ask the tmux server on %s: %w: %q", r.socket, err, said)
	}
	return nil, fmt.Errorf("ask the tmux server on %s: %w", r.socket, err)
}

// server identifies the server that answered. Its start ticks are given only where its pid means the same process here: a
// server in another pid namespace can be asked through a shared socket, and its pids say nothing of this one's processes.
func (r *reader) server(l *listing, peer int) snapshot.Server {
	s := snapshot.Server{Socket: r.socket, PID: l.pid, StartedAt: new(l.started), Version: l.version}
	comm, ticks, err := readStat(r.procRoot, l.pid)
	switch {
	case err != nil:
		r.log.Warn("read the start of a tmux server", "source", r.name, "pid", l.pid, "error", err)
	case peer != l.pid && comm != "tmux: server": // a server that systemd started has systemd's socket
		r.log.Warn("tmux server runs in another pid namespace", "source", r.name, "pid", l.pid, "peer", peer)
	default:
		s.StartTicks = &ticks
	}
	return s
}

// timely adds the context's error to err where the context has ended.
func timely(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w: see whether the server is stopped, or raise collect.timeout", err, ctx.Err())
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line[:min(len(line), 200)]
}

// unlisted stands for a folder of sockets that could not be listed.
type unlisted struct{ err error }

func (u unlisted) Read(context.Context) (collectors.Part, error) { return collectors.Part{}, u.err }
