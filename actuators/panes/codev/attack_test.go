package codev

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"winnow/engine/decision"
	"winnow/testkit/attack"
	"winnow/testkit/tower"
)

func TestAttackAnotherUserIsWhereTheTowerWas(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	w := newWorld(t)
	st := w.builder(tower.Terminal{})
	a := attack.New(t, "another user listens where the Tower was that is to close a terminal")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		heard := attacker.Listen(t, "tcp", at)
		for range 20 {
			id := w.identity(st, builder, running)
			id.Tower = "http://" + heard.Address
			out := w.act(id)
			switch {
			case out.Outcome != decision.Refused || !strings.Contains(out.Detail, "another user") || !strings.Contains(out.Detail, "left untouched"):
				a.Lost("%s: %s", out.Outcome, out.Detail)
			case heard.Text() != "":
				a.Lost("he heard %q", heard.Text())
			default:
				a.Held()
			}
		}
	}
	w.untouched(st)
}

// endless answers with headers, a body or lines that never end, or as slowly as a byte at a time.
func endless(t *testing.T, begin, again string, pause time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, err := c.Write([]byte(begin))
				for err == nil {
					_, err = c.Write([]byte(again))
					time.Sleep(pause)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestAttackATowerThatNeverEnds(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	w := newWorld(t)
	w.o.Timeout = 2 * time.Second
	a := attack.New(t, "a Tower answers without end, a byte at a time, or with what is nested without end")
	for name, c := range map[string]struct {
		begin, again string
		pause        time.Duration
	}{
		"headers":            {ok, "X-A: " + strings.Repeat("a", 1000) + "\r\n", 0},
		"one header":         {ok + "X-A: ", strings.Repeat("a", 1000), 0},
		"first answers":      {"", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n", 0},
		"body":               {ok + "\r\n", strings.Repeat(" ", 1000), 0},
		"chunks":             {ok + "Transfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("x", 100) + "\r\n{\r\n", 0},
		"slow headers":       {ok, "X", 50 * time.Millisecond},
		"slow body":          {ok + "\r\n", "{", 50 * time.Millisecond},
		"status":             {"HTTP/1.1 200 ", strings.Repeat("a", 1000), 0},
		"nested without end": {ok + "\r\n" + `{"terminals":`, "[[[[[[[[", 0},
		"nothing at all":     {"", "", time.Second},
	} {
		begin := time.Now()
		c, err := New(w.o).tower(endless(t, c.begin, c.again, c.pause), w.Home())
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.list(t.Context())
		switch took := time.Since(begin); {
		case err == nil:
			a.Lost("%s: %d terminals", name, len(all))
		case took > 10*time.Second:
			a.Lost("%s took %s", name, took)
		default:
			a.Held()
		}
	}
}

// Whatever a Tower answers: no panic, no list that was not whole, and an end.
func FuzzTower(f *testing.F) {
	f.Add(200, []byte(`{"terminals":[{"id":"x","pid":-1,"label":"Dev: y","status":"running"}]}`), "1")
	f.Add(503, []byte(`{"error":"STARTING_UP"}`), "999999999999")
	f.Add(204, []byte{}, "")
	f.Add(404, []byte(`{"error":"NOT_FOUND"}`), "-1")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		if status < 200 || status > 599 {
			return
		}
		c := &client{base: "http://127.0.0.1:1", key: "k", timeout: time.Second, http: &http.Client{Transport: answers{status, body, after}}}
		all, err := c.list(t.Context())
		if err != nil && all != nil {
			t.Errorf("%v beside %v", all, err)
		}
		if err == nil && status != http.StatusOK {
			t.Errorf("%d gave a list", status)
		}
		if err := c.close(t.Context(), "x"); err == nil && status != http.StatusNoContent {
			t.Errorf("%d counts as closed", status)
		}
		if _, err := find(all, "x"); err == nil {
			for i := range all {
				_ = state(all[i].Status)
			}
		}
	})
}

// answers is a server that gives one answer to everything.
type answers struct {
	status int
	body   []byte
	after  string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{}
	h.Set("Retry-After", a.after)
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}
