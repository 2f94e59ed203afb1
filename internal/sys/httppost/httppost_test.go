package httppost_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func to(address string) httppost.Target {
	return httppost.Target{Address: address, Path: "/in", Within: 10 * time.Second}
}

func TestPost(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %v", r.Method, r.URL, body, r.Header.Get("X-Key"), err)
	})
	target := to(address + "/a?b=c")
	target.Header, target.Secret = "X-Key", "t0ken"
	answer, err := httppost.Post(t.Context(), target, "text/plain", []byte("hello"))
	if err != nil || string(answer) != "POST /a?b=c hello t0ken <nil>" {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestWhatPasses says of answers whether a second try makes sense.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	for code, passes := range map[int]bool{400: false, 401: false, 404: false, 302: false, 501: false, 408: true, 429: true, 500: true, 503: true} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", map[bool]string{true: "7", false: "99999999"}[code < 500])
			w.WriteHeader(code)
		})
		_, err := httppost.Post(t.Context(), to(address), "text/plain", nil)
		after, again := httppost.Passes(err)
		if again != passes || err == nil || again && (after != 7*time.Second && after != 10*time.Minute) || !again && after != 0 {
			t.Errorf("%d: %v, %s", code, err, after)
		}
	}
	if _, err := httppost.Post(t.Context(), to("http://127.0.0.1:1/"), "text/plain", nil); err == nil {
		t.Error("no program listens on port 1, and it was sent")
	} else if _, again := httppost.Passes(err); !again {
		t.Errorf("%v does not pass", err)
	}
	if _, err := httppost.Post(t.Context(), to("http://192.0.2.1/"), "text/plain", nil); err == nil {
		t.Error("http went to another machine")
	} else if _, again := httppost.Passes(err); again {
		t.Errorf("%v passes", err)
	}
}

// TestAttackServers: an answer without end, headers without end, no answer.
func TestAttackServers(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a server that gets documents answers without end, or not at all")
	free := make(chan struct{})
	for name, handle := range map[string]http.HandlerFunc{
		"an answer without end": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 10000)); err != nil {
					return
				}
			}
		},
		"headers without end": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 10000))
			}
		},
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-free:
			case <-r.Context().Done():
			}
		},
	} {
		target := to(serve(t, handle))
		target.Within = 300 * time.Millisecond
		began := time.Now()
		answer, err := httppost.Post(t.Context(), target, "text/plain", nil)
		if took := time.Since(began); took > 10*time.Second || len(answer) > 64<<10 || name == "no answer" && (err == nil || !strings.Contains(err.Error(), "did not answer within")) {
			a.Lost("%s: %s, %d bytes, %v", name, took, len(answer), err)
			continue
		}
		a.Held()
	}
	close(free)
}

// TestAttackASocketOfOthers: a unix socket that another user made, or in whose place another user can put one, gets nothing.
func TestAttackASocketOfOthers(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "another user's socket in the place of the one that documents go to")
	dir := must.Get(os.MkdirTemp("", "winnow-post-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
	if os.Geteuid() == 0 {
		must.Do(t, os.Lchown(path, 40001, 40001))
	} else {
		must.Do(t, os.Chmod(dir, 0o777))
	}
	target := to("unix:" + path)
	target.Within = time.Second
	_, err := httppost.Post(t.Context(), target, "text/plain", []byte("t0ken"))
	if _, again := httppost.Passes(err); err == nil || !peercred.Refused(err) || again || errors.Is(err, os.ErrDeadlineExceeded) {
		a.Lost("%v", err)
		return
	}
	a.Held()
}

// TestAnywhere lets http leave this machine without a secret, and only without one.
func TestAnywhere(t *testing.T) {
	t.Parallel()
	target := to("http://192.0.2.1/")
	target.Anywhere, target.Within = true, time.Millisecond
	if _, err := httppost.Post(t.Context(), target, "text/plain", nil); err == nil || errors.Is(err, httppost.ErrHome) {
		t.Errorf("without a secret: %v", err)
	}
	target.Header, target.Secret = "Authorization", "Bearer t0ken"
	if _, err := httppost.Post(t.Context(), target, "text/plain", nil); !errors.Is(err, httppost.ErrHome) {
		t.Errorf("with a secret: %v", err)
	}
}
