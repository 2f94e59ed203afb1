package listen

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestACrowdIsInNobodysWay: more half requests than there may be connections do not keep one who asks waiting, and what is being answered stays.
func TestACrowdIsInNobodysWay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	own := FilterPeers(must.Get(Unix(t.Context(), path))(t), 8, func(error) {})
	crowd, began, goOn := NewCrowd(4), make(chan struct{}), make(chan struct{})
	srv := &http.Server{ReadHeaderTimeout: wait.Patience, ConnState: crowd.Watch, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			crowd.mu.Lock()
			mine := crowd.waiting[len(crowd.waiting)-1]
			crowd.mu.Unlock()
			crowd.Serve(mine)
			close(began)
			<-goOn
		}
		fmt.Fprint(out, "answered")
	})}
	go func() { _ = srv.Serve(own) }()
	t.Cleanup(func() { _ = srv.Close() })
	dial := func(text string) net.Conn {
		c := must.Get(net.Dial("unix", path))(t)
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(wait.Patience))
		_, _ = io.WriteString(c, text)
		return c
	}
	long := dial("GET /long HTTP/1.0\r\n\r\n")
	<-began
	var closed atomic.Int32
	for range 40 {
		go func(c net.Conn) { _, _ = io.ReadAll(c); closed.Add(1) }(dial("GET / HT"))
	}
	wait.Eventually(t, "all but four of them were met and closed", func() bool { return closed.Load() == 36 })
	for range 3 {
		if got := string(must.Get(io.ReadAll(dial("GET / HTTP/1.0\r\n\r\n")))(t)); len(got) < 8 || got[len(got)-8:] != "answered" {
			t.Errorf("an asker beside many that send half a request heard %q", got)
		}
	}
	close(goOn)
	if got := string(must.Get(io.ReadAll(long))(t)); len(got) < 8 || got[len(got)-8:] != "answered" {
		t.Errorf("one that was being answered heard %q", got)
	}
}
