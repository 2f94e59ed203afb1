package tower

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// What stands in the key's place is not sent anywhere, and reading it ends.
func TestAttackTheKeysFile(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Dir(victim.Home)
	folder := func(name string, mode os.FileMode) string {
		dir := filepath.Join(shared, name)
		must.Do(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)))
		return dir
	}
	key := strings.Repeat("a", 64)
	own := func(dir string) string {
		must.Do(t, os.WriteFile(filepath.Join(dir, keyFile), []byte(key), 0o600))
		return dir
	}
	fifo, his, link, zero, long, open, writable := folder("fifo", 0o700), folder("his", 0o755), folder("link", 0o755), folder("zero", 0o700),
		folder("long", 0o700), own(folder("open", 0o777)), own(folder("writable", 0o755))
	if err := errors.Join(syscall.Mkfifo(filepath.Join(fifo, keyFile), 0o600), os.Symlink("/dev/zero", filepath.Join(zero, keyFile)),
		os.WriteFile(filepath.Join(long, keyFile), []byte(strings.Repeat("k", 1<<20)), 0o600), os.Chmod(filepath.Join(writable, keyFile), 0o666)); err != nil {
		t.Fatal(err)
	}
	attacker.Write(t, filepath.Join(his, keyFile), key, 0o644)
	attacker.Link(t, filepath.Join(own(folder("target", 0o700)), keyFile), filepath.Join(link, keyFile))
	a := attack.New(t, "a FIFO, a device, a long file, another user's file or link, or a file that others can write as the key to the Tower")
	for _, home := range []string{fifo, his, link, zero, long, open, writable} {
		began := time.Now()
		got, _, err := Key(home, "")
		switch {
		case got != "" || err == nil:
			a.Lost("%s: a key was read", home)
		case strings.Contains(err.Error(), key):
			a.Lost("%s: the key is in the error", home)
		case time.Since(began) > wait.Patience:
			a.Lost("%s: it took %s", home, time.Since(began))
		default:
			a.Held()
		}
	}
	if got, own, err := Key(filepath.Join(shared, "target"), ""); got != key || !own || err != nil {
		t.Errorf("the honest key: %v, %v", own, err)
	}
}

// endless answers with headers, a body or lines that never end, or as slowly as a byte at a time.
func endless(t *testing.T, begin, again string, pause time.Duration) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
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
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
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
		all, err := New(endless(t, c.begin, c.again, c.pause), "k", 2*time.Second).Terminals(t.Context())
		switch took := time.Since(begin); {
		case err == nil:
			a.Lost("%s: %d terminals", name, len(all))
		case took > wait.Patience:
			a.Lost("%s took %s", name, took)
		default:
			a.Held()
		}
	}
}

// For every answer of a Tower: no panic, no list that was not whole, and an end.
func FuzzTower(f *testing.F) {
	f.Add(200, []byte(`{"terminals":[{"id":"x","pid":-1,"label":"Dev: y","status":"running"}]}`), "1")
	f.Add(503, []byte(`{"error":"STARTING_UP"}`), "999999999999")
	f.Add(204, []byte{}, "")
	f.Add(404, []byte(`{"error":"NOT_FOUND"}`), "-1")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		if status < 200 || status > 599 {
			return
		}
		c := New("http://127.0.0.1:1", "k", time.Second)
		c.http.Transport = answers{status, body, after}
		all, err := c.Terminals(t.Context())
		if err != nil && all != nil || err == nil && status != http.StatusOK {
			t.Errorf("%d gave %v, %v", status, all, err)
		}
		State(all, "x", 1)
		if a, err := c.Ask(t.Context(), http.MethodGet, "/"); err != nil || a.Status != status || a.Refusal() == nil {
			t.Errorf("%+v, %v", a, err)
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
