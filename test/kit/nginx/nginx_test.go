package nginx_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/nginx"
)

func TestItServesAndEnds(t *testing.T) {
	if !nginx.Here() {
		t.Skip("nginx is not installed")
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := must.Get(nginx.Start(root, t.TempDir()))(t)
	t.Cleanup(s.Stop)
	resp := must.Get(http.Get(s.URL + "/x"))(t)
	data := must.Get(io.ReadAll(resp.Body))(t)
	tag := resp.Header.Get("ETag")
	if err := resp.Body.Close(); err != nil || string(data) != "hello" || tag == "" {
		t.Errorf("got %q with the tag %q, %v", data, tag, err)
	}
	s.Stop()
	if _, err := http.Get(s.URL + "/x"); err == nil {
		t.Error("it answers after its end")
	}
}
