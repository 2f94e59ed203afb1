package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"winnow/collectors"
	"winnow/engine/snapshot"
	"winnow/internal/foreign"
	"winnow/internal/peer"
)

const (
	// waitDelay is how long a program that was told to end may hold its output open.
	waitDelay = 100 * time.Millisecond
	// maxSocketPath is the longest path that tmux and the kernel take for a socket, in bytes (sun_path without its NUL).
	maxSocketPath = 107
	// maxAnswer and maxComplaint bound what is read of a client's two outputs, in bytes. A pane takes some 100 bytes.
	maxAnswer    = 16 << 20
	maxComplaint = 4 << 10
)

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
	socket, peer, err := reach(ctx, r.socket)
	if err != nil {
		return collectors.Part{}, err
	}
	defer func() { _ = socket.Close() }()
	l, err := r.ask(ctx, socket)
	if err != nil {
		return collectors.Part{}, err
	}
	if l.pid == 0 {
		return collectors.Part{}, nil
	}
	server := r.server(l, peer)
	part := collectors.Part{Sessions: sessions(l, r.name, server, r.only)}
	server.Panes = l.living()
	part.Server = &server
	return part, nil
}

// reach makes sure, by the kernel's own word, that a server of this user listens on path: a tmux client does what its server says,
// and would run programs for another's. It gives the socket, held so that nothing can take its place before the client connects,
// and who listens: the pid of the process as this pid namespace counts it, 0 for one that is outside of it.
func reach(ctx context.Context, path string) (socket *peer.Socket, pid int, err error) {
	if len(path) > maxSocketPath {
		return nil, 0, fmt.Errorf("connect to %s: its path is longer than the %d bytes that the kernel takes", path, maxSocketPath)
	}
	socket, err = peer.Hold(path)
	if err != nil {
		return nil, 0, unreached(ctx, path, err)
	}
	conn, pid, err := socket.Dial(ctx)
	if err != nil {
		_ = socket.Close()
		return nil, 0, unreached(ctx, path, err)
	}
	return socket, pid, conn.Close()
}

func unreached(ctx context.Context, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("connect to %s: no such socket: %w", path, collectors.ErrAbsent)
	case errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, peer.ErrNotSocket):
		return fmt.Errorf("connect to %s: no server listens there: %w", path, collectors.ErrAbsent)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return fmt.Errorf("connect to %s: %w: run as the server's owner", path, collectors.ErrPermission)
	case errors.Is(err, peer.ErrOther) || errors.Is(err, foreign.ErrOwner):
		return fmt.Errorf("connect to %s: %w: %w: tmux was not run on it: run as the server's owner, or leave it out of collect.tmux.sockets",
			path, collectors.ErrPermission, err)
	case errors.Is(err, peer.ErrFolder) || errors.Is(err, foreign.ErrWritable) || errors.Is(err, foreign.ErrLink):
		return fmt.Errorf("connect to %s: %w: another user could put a server of his there, and tmux was not run on it", path, err)
	}
	return timely(ctx, fmt.Errorf("connect to %s: %w", path, err))
}

// ask runs tmux once. It hangs for as long as the server is stopped, so it is ended with ctx. Its environment is empty but for
// the character set: a client hands it to the server, and TMUX would make the client think that it is nested. It is given the
// held socket for its path, so that it connects to what was looked at.
func (r *reader) ask(ctx context.Context, socket *peer.Socket) (*listing, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout, stderr := &peer.Head{Most: maxAnswer, Full: cancel}, &peer.Head{Most: maxComplaint}
	cmd := exec.CommandContext(within, r.tmux, append([]string{"-u", "-S", peer.Inherited}, commands()...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"LC_ALL=C.UTF-8"}, stdout, stderr, waitDelay
	cmd.ExtraFiles = []*os.File{socket.File()}
	// A group of its own, so that what goes by the name of tmux here ends with all that it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, timely(ctx, fmt.Errorf("ask the tmux server on %s: no answer", r.socket))
	}
	if stdout.Over() {
		return nil, fmt.Errorf("ask the tmux server on %s: the answer is longer than the %d MiB that winnow reads: see what listens there, or leave it out of collect.tmux.sockets",
			r.socket, maxAnswer>>20)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("ask the tmux server on %s: %w: install tmux, or set collect.tmux.sockets to []", r.socket, err)
	}
	if l, bad := parse(stdout.String()); bad == nil {
		return l, nil
	} else if err == nil {
		err = bad
	}
	said := firstLine(strings.ReplaceAll(stderr.String(), peer.Inherited, r.socket))
	switch {
	case said == "no current target" && stdout.String() == "": // what 3.1c says of itself where it has no session (exit-empty off)
		return &listing{}, nil
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
