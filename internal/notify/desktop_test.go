package notify_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// listen serves on a unix socket in a folder of its own, whose path is short enough for one.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	path := filepath.Join(folder(t), "s")
	l := must.Get(net.Listen("unix", path))(t)
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	return path
}

func folder(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "winnow-bus-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// bus is a real session bus of this test's own.
func bus(t *testing.T) (socket string) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("there is no dbus-daemon here (Debian: dbus)")
	}
	dir := folder(t)
	socket = filepath.Join(dir, "bus")
	conf := filepath.Join(dir, "conf")
	must.Do(t, os.WriteFile(conf, fmt.Appendf(nil, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`, socket), 0o600))
	cmd := exec.Command(program, "--nofork", "--nopidfile", "--nosyslog", "--config-file="+conf)
	cmd.Dir = dir
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	wait.Eventually(t, "the bus listens", func() bool {
		c, err := net.Dial("unix", socket) // its name is there a moment before it listens
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return socket
}

// shower owns org.freedesktop.Notifications, and keeps what it is to show.
type shower struct {
	mu     sync.Mutex
	markup bool
	shown  []string
	hints  map[string]dbus.Variant
}

// GetCapabilities is a method of org.freedesktop.Notifications.
func (s *shower) GetCapabilities() ([]string, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.markup {
		return []string{"body", "body-markup"}, nil
	}
	return []string{"body"}, nil
}

// Notify is a method of org.freedesktop.Notifications.
func (s *shower) Notify(app string, _ uint32, _, summary, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown, s.hints = append(s.shown, app+"|"+summary+"|"+body+"|"+fmt.Sprint(len(actions))), hints
	return 1, nil
}

func (s *shower) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shown) == 0 {
		return ""
	}
	return s.shown[len(s.shown)-1]
}

func desktop(socket string) notify.Desktop {
	return notify.Desktop{Env: func(name string) string {
		return map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + socket + ",guid=0123456789abcdef0123456789abcdef"}[name]
	}}
}

// TestTheDesktop shows messages by a real bus.
func TestTheDesktop(t *testing.T) {
	t.Parallel()
	socket := bus(t)
	d := desktop(socket)
	m := &notify.Document{Title: "Winnow: 1 new alarm", Text: "alarm: <b>x</b> & y", Alarms: &notify.List{Count: 1}}
	if err := d.Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), "no program shows notifications") {
		t.Errorf("without a program that shows it: %v", err)
	}
	conn := must.Get(dbus.Connect("unix:path=" + socket))(t)
	t.Cleanup(func() { _ = conn.Close() })
	s := &shower{}
	must.Do(t, conn.Export(s, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"))
	if reply := must.Get(conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue))(t); reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("the name is taken: %v", reply)
	}
	must.Do(t, d.Send(t.Context(), m))
	if got := s.last(); got != "Winnow|Winnow: 1 new alarm|alarm: <b>x</b> & y|0" {
		t.Errorf("shown: %q", got)
	}
	if v, ok := s.hints["urgency"].Value().(byte); !ok || v != 1 {
		t.Errorf("hints: %v", s.hints)
	}
	s.mu.Lock()
	s.markup = true
	s.mu.Unlock()
	m.Text += strings.Repeat("x", 5000)
	must.Do(t, d.Send(t.Context(), m))
	if got := s.last(); !strings.Contains(got, "alarm: &lt;b&gt;x&lt;/b&gt; &amp; y") || len(got) > 2000 {
		t.Errorf("a name can be markup, or the text has no end: %q", got)
	}
	runtime := notify.Desktop{Env: func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": filepath.Dir(socket)}[name] }}
	must.Do(t, runtime.Send(t.Context(), m))
}

// TestNoDesktop says why nothing is shown.
func TestNoDesktop(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for name, c := range map[string]struct{ variable, value, says string }{
		"none there": {"XDG_RUNTIME_DIR", dir, "no session bus"},
		"abstract":   {"DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/dbus-x", "not known whose they are"},
		"tcp":        {"DBUS_SESSION_BUS_ADDRESS", "tcp:host=127.0.0.1,port=1", "not known whose they are"},
		"no socket":  {"DBUS_SESSION_BUS_ADDRESS", "unix:path=/dev/null", "is not asked"},
	} {
		d := notify.Desktop{Env: func(n string) string { return map[string]string{c.variable: c.value}[n] }}
		if err := d.Send(t.Context(), &notify.Document{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestABusThatHangs holds nothing up for longer than it may.
func TestABusThatHangs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(folder(t), "bus")
	l := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
	o := options(&lines{}, desktop(path))
	o.Timeout = 100 * time.Millisecond
	began := time.Now()
	results := notify.Test(t.Context(), o)
	if took := time.Since(began); results[0].Error == "" || took > wait.Patience/2 {
		t.Errorf("after %s: %+v", took, results)
	}
}
