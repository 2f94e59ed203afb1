package peercred_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

const key = "the-key-of-the-victim"

// send asks base with the key, and gives the answer's body.
func send(ctx context.Context, c *http.Client, base string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/terminals", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("codev-tower-key", key)
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return string(body), err
}

func TestTransportReachesOwnServers(t *testing.T) {
	t.Setenv("http_proxy", "http://127.0.0.1:1") // without a listener
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get("codev-tower-key"))
		}))
		_ = s.Listener.Close()
		s.Listener = l
		s.Start()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		hosts := []string{"127.0.0.1", "localhost"}
		if strings.HasPrefix(at, "[") {
			hosts = []string{"[::1]"}
		}
		if at == "[::]:0" {
			hosts = append(hosts, "127.0.0.1", "localhost")
		}
		for _, host := range hosts {
			c := &http.Client{Transport: peercred.Transport()}
			for range 3 { // the second one over the connection of the first
				if got, err := send(within(t, wait.Patience), c, "http://"+host+":"+port); err != nil || got != key {
					t.Errorf("%s on %s: %q, %v", host, at, got, err)
				}
			}
			c.CloseIdleConnections()
		}
		s.Close()
	}
}

func TestDialTCPWaitsForWhoAccepts(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	if c, err := peercred.DialTCP(within(t, 300*time.Millisecond), "tcp", l.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it was not accepted: %v, %v", c, err)
	}
	seen := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() {
		for range 2 { // the first one has ended
			if taken, err := l.Accept(); err == nil {
				defer taken.Close()
			}
		}
		<-seen // a connection that nothing holds is closed by the garbage collector
	})
	c, err := peercred.DialTCP(within(t, wait.Patience), "tcp", l.Addr().String())
	close(seen)
	must.Do(t, err)
	_ = c.Close()
}

func TestDialTCPStaysHome(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"192.0.2.1:80", "0.0.0.0:80", "[2001:db8::1]:80"} {
		if c, err := peercred.DialTCP(within(t, time.Second), "tcp", addr); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v, %v", addr, c, err)
		}
	}
}

func TestAttackAnotherUserListensOnTheTowersPort(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	a := attack.New(t, "another user listens on the address that a key is sent to: on 127.0.0.1, ::1, all addresses")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0", "0.0.0.0:0"} {
		heard := attacker.Listen(t, "tcp", at)
		_, port, _ := net.SplitHostPort(heard.Address)
		for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
			for range 10 {
				c := &http.Client{Transport: peercred.Transport()}
				body, err := send(within(t, wait.Patience), c, "http://"+host+":"+port)
				switch {
				case err == nil:
					a.Lost("%s answered %q", heard.Address, body)
				case heard.Text() != "":
					a.Lost("%s heard %q", heard.Address, heard.Text())
				default:
					a.Held()
				}
			}
		}
	}
}

// The victim's server goes and comes, and another user takes the port whenever it is free.
func TestAttackThePortIsTakenOverBetweenTwoRequests(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	address := l.Addr().String()
	heard := attacker.Grab(t, address)
	var stop atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		for !stop.Load() {
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "own") })}
			time.AfterFunc(3*time.Millisecond, func() { _ = s.Close() })
			_ = s.Serve(l)
			time.Sleep(time.Duration(rand.Int64N(int64(6 * time.Millisecond)))) // so that the other one has his turns
			for l, err = net.Listen("tcp", address); err != nil && !stop.Load(); l, err = net.Listen("tcp", address) {
				time.Sleep(time.Millisecond)
			}
		}
		if err == nil {
			_ = l.Close()
		}
	}()
	a := attack.New(t, "another user takes the port over while requests with the key are sent to it")
	c := &http.Client{Transport: peercred.Transport()}
	own, begin := 0, time.Now()
	enough := func() bool { return own >= 300 && heard.Connections() >= 100 }
	both := func() bool { return own > 0 && heard.Connections() > 0 }
	// A connection that is not accepted costs its whole time; on a busy machine it goes on until both had their turns.
	for !enough() && (time.Since(begin) < 5*time.Second || !both() && time.Since(begin) < time.Minute) {
		body, err := send(within(t, time.Second), c, "http://"+address)
		switch {
		case err == nil && body == "own":
			own++
			a.Held()
		case err == nil:
			a.Lost("another answered %q", body)
		case heard.Text() != "":
			a.Lost("another heard %q", heard.Text())
		default:
			a.Held()
		}
	}
	stop.Store(true)
	<-over
	t.Logf("%d answers of one's own server, %d connections to the other user", own, heard.Connections())
	if !both() {
		t.Error("one of both never had the port, so that nothing was tried")
	}
}
