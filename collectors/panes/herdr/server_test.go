package herdr

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/panes"
	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// A process that only passes on what it is sent stands for a tunnel to another machine: see TestMain.
const (
	tunnelFrom = "WINNOW_TEST_TUNNEL_FROM"
	tunnelTo   = "WINNOW_TEST_TUNNEL_TO"
)

func TestMain(m *testing.M) {
	attack.Play()
	if from := os.Getenv(tunnelFrom); from != "" {
		fmt.Fprintln(os.Stderr, passOn(from, os.Getenv(tunnelTo)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func passOn(from, to string) error {
	l, err := net.Listen("unix", from)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		near, err := l.Accept()
		if err != nil {
			return err
		}
		far, err := net.Dial("unix", to)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(far, near) }()
		go func() {
			_, _ = io.Copy(near, far)
			_ = near.Close()
			_ = far.Close()
		}()
	}
}

// tunnel starts a process that listens on a socket of its own and passes everything on to another, and gives that socket and its pid.
func tunnel(t testing.TB, to string) (from string, pid int) {
	t.Helper()
	from = filepath.Join(folderOf(t), "tunnel.sock")
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), tunnelFrom+"="+from, tunnelTo+"="+to)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("tunnel: %q, %v", line, err)
	}
	return from, cmd.Process.Pid
}

// folderOf makes a folder whose sockets' paths stay below the 108 bytes that the kernel takes.
func folderOf(t testing.TB) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "w"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func env(kv ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == key {
				return kv[i+1]
			}
		}
		return ""
	}
}

// reading gives what the reader of one socket finds.
func reading(t testing.TB, o Options, socket string) collectors.Part {
	t.Helper()
	o.UID = os.Getuid()
	part := must.Get(newReader(o, "herdr/s", socket).Read(wait.Within(t, wait.Patience)))(t)
	return part
}

// tabsOf are the tabs in a part by their native ids.
func tabsOf(t testing.TB, part collectors.Part) map[string]snapshot.Tab {
	t.Helper()
	out := map[string]snapshot.Tab{}
	for id, x := range part.Tabs {
		if want := ID("herdr/s", x.ID); id != want || x.Source != "herdr/s" {
			t.Errorf("tab %q of %q has the id %q, want %q", x.ID, x.Source, id, want)
		}
		out[x.ID] = x
	}
	return out
}

// fails gives the error of a reading that must have one, and nothing besides.
func fails(t testing.TB, o Options, socket string, ctx context.Context) error {
	t.Helper()
	if o.UID == 0 {
		o.UID = os.Getuid()
	}
	part, err := newReader(o, "herdr/s", socket).Read(ctx)
	if err == nil {
		t.Fatalf("want an error, got %d tabs", len(part.Tabs))
	}
	must.Equal(t, collectors.Part{}, part, "an error came with")
	if !errors.Is(err, collectors.ErrAbsent) && !strings.Contains(err.Error(), "; ") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	return err
}

// look joins a part with the processes of this machine.
func look(t testing.TB, part collectors.Part) map[string]snapshot.Tab {
	t.Helper()
	read, err := processes.New(processes.Options{Root: "/proc", Markers: []string{"HERDR_SOCKET_PATH"}}).Read(wait.Within(t, wait.Patience))
	if err != nil {
		t.Fatal(err)
	}
	host := must.Get(host.Read("/proc", host.KnownNames()))(t)
	s := &snapshot.Snapshot{Host: host, Tabs: part.Tabs, Processes: read.Processes, Sources: map[string]snapshot.Source{
		snapshot.Proc: {Status: snapshot.OK}, "herdr/s": {Status: snapshot.OK, Server: part.Server},
	}}
	panes.Fill(s)
	return tabsOf(t, part)
}

// asked counts the requests by method, and those that name a pane by it.
func asked(s *herdr.Server) map[string]int {
	out := map[string]int{}
	for _, c := range s.Calls() {
		out[strings.TrimSpace(c.Method+" "+c.Target)]++
	}
	return out
}

// liar is a server that answers as a test wants: f is given the number of the connection, from 1, and the request, and gives the text
// that goes out before the connection is closed.
func liar(t testing.TB, f func(n int, req map[string]any) string) (socket string) {
	t.Helper()
	socket = filepath.Join(folderOf(t), "s")
	l := must.Get(net.Listen("unix", socket))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadBytes('\n')
			var req map[string]any
			_ = json.Unmarshal(line, &req)
			_, _ = io.WriteString(c, f(n, req))
			_ = c.Close()
		}
	}()
	return socket
}

// answer is a reply of type kind to a request.
func answer(req map[string]any, kind string, members map[string]any) string {
	r := map[string]any{"type": kind}
	maps.Copy(r, members)
	text, _ := json.Marshal(map[string]any{"id": req["id"], "result": r})
	return string(text) + "\n"
}

// pong is the answer of herdr 0.8.0 to a ping.
func pong(req map[string]any) string {
	return answer(req, "pong", map[string]any{"version": "0.8.0", "protocol": 19})
}

// state is an answer to session.snapshot.
func state(req map[string]any, w map[string]any) string {
	return answer(req, "session_snapshot", map[string]any{"snapshot": w})
}
