package bundlehttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/bundlehttp"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// serve is a server for one test.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

func ask(url string) bundlehttp.Request {
	return bundlehttp.Request{URL: url, Within: wait.Patience, Max: 1000}
}

func TestLongPolling(t *testing.T) {
	t.Parallel()
	published := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Prefer") != "modes=snapshot;wait=7" || r.Header.Get("If-None-Match") != `"1"` {
			t.Errorf("asked with %q, %q", r.Header.Get("Prefer"), r.Header.Get("If-None-Match"))
		}
		<-published
		w.Header().Set("Content-Type", "application/vnd.openpolicyagent.bundles")
		w.Header().Set("ETag", `"2"`)
		fmt.Fprint(w, "new")
	})
	r := ask(s.URL)
	r.ETag, r.Wait = `"1"`, 7*time.Second
	go func() { published <- struct{}{} }()
	a, err := bundlehttp.Get(t.Context(), r)
	if err != nil || string(a.Data) != "new" || a.ETag != `"2"` || !a.LongPolls || a.Unchanged {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	r := ask(s.URL)
	if _, err := bundlehttp.Get(t.Context(), r); !errors.Is(err, bundlehttp.Status(304)) {
		t.Errorf("304 without a tag: want an error, got %v", err)
	}
	r.ETag = `"1"`
	if a, err := bundlehttp.Get(t.Context(), r); err != nil || !a.Unchanged || a.Data != nil {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestATokenGoesToItsOwnHostOnly(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	store := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen["store"] = r.Header.Get("Authorization")
		fmt.Fprint(w, "bundle")
	})
	elsewhere := strings.Replace(store.URL, "127.0.0.1", "localhost", 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen["server"] = r.Header.Get("Authorization")
		http.Redirect(w, r, elsewhere, http.StatusFound)
	})
	r := ask(s.URL)
	r.Token = "t0ken"
	a, err := bundlehttp.Get(t.Context(), r)
	if err != nil || string(a.Data) != "bundle" || seen["server"] != "Bearer t0ken" || seen["store"] != "" {
		t.Errorf("got %q, %v; tokens %q", a.Data, err, seen)
	}
}

func TestAttackServers(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang) // before the servers end, which wait for it
	var loop *httptest.Server
	a := attack.New(t, "a server of bundles that never ends, never answers, leads in circles or away from encryption, or answers what it was not asked")
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		says   string
	}{
		"an answer without end": {func(w http.ResponseWriter, _ *http.Request) {
			for range 10000 {
				if _, err := fmt.Fprint(w, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}, "longer than a bundle"},
		"no answer": {func(http.ResponseWriter, *http.Request) { <-hang }, "did not answer whole within"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
			<-hang
		}, "did not answer whole within"},
		"it hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "x")
		}, "cannot be reached"},
		"a circle":         {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, loop.URL, http.StatusFound) }, "redirects"},
		"no content":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "204"},
		"an error":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502"},
		"not found":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "correct the URL"},
		"it wants a token": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "token_file"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, "cannot be reached"},
	} {
		s := serve(t, c.handle)
		if name == "a circle" {
			loop = s
		}
		r := ask(s.URL)
		if strings.Contains(c.says, "within") {
			r.Within = 200 * time.Millisecond
		}
		r.URL += "/secret-path"
		switch got, err := bundlehttp.Get(t.Context(), r); {
		case err == nil:
			a.Lost("%s: got %d bytes", name, len(got.Data))
		case !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret-path"):
			a.Lost("%s: want an error with %q and without the path, got %v", name, c.says, err)
		default:
			a.Held()
		}
	}
}

// TestEncryptionIsNotGivenUp asks a server with TLS that leads to one without.
func TestEncryptionIsNotGivenUp(t *testing.T) {
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") })
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL, http.StatusFound)
	}))
	t.Cleanup(s.Close)
	trust(t, s)
	if a, err := bundlehttp.Get(t.Context(), ask(s.URL)); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("got %q, %v", a.Data, err)
	}
}

// trust has requests believe a test's own server.
func trust(t *testing.T, s *httptest.Server) {
	t.Helper()
	shared := http.DefaultTransport.(*http.Transport)
	before := shared.TLSClientConfig
	shared.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	t.Cleanup(func() { shared.TLSClientConfig = before })
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://example.com/b.tar.gz", "http://127.0.0.1:8080/b"} {
		if err := bundlehttp.Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "b.tar.gz", "ftp://example.com/b", "https:///b", "https://u:p@example.com/b", "https://example.com/b?token=x", "https://example.com/b#x", "file:///b", "https://exa mple.com/"} {
		if err := bundlehttp.Check(bad); err == nil {
			t.Errorf("%s is in order", bad)
		}
	}
}
