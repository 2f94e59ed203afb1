package bundleoci_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/winnow-reaper/winnow/internal/sys/bundleoci"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// shelf is a registry with one repository, by the distribution specification as far as a pull needs it.
type shelf struct {
	manifest, mediaType string
	blobs               map[string][]byte
	token               string
	asked               []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Path)
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		w.Header().Set("WWW-Authenticate", "Bearer realm=\"http://"+r.Host+"/token\"")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch rest, _ := strings.CutPrefix(r.URL.Path, "/v2/team/rules/"); {
	case rest == "manifests/stable":
		w.Header().Set("Content-Type", s.mediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromString(s.manifest).String())
		fmt.Fprint(w, s.manifest)
	case strings.HasPrefix(rest, "blobs/") && s.blobs[rest[len("blobs/"):]] != nil:
		_, _ = w.Write(s.blobs[rest[len("blobs/"):]])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// image is a registry with a bundle.
func image(data []byte) *shelf {
	d := digest.FromBytes(data)
	return &shelf{
		mediaType: ocispec.MediaTypeImageManifest, blobs: map[string][]byte{d.String(): data},
		manifest: fmt.Sprintf(`{"schemaVersion": 2, "layers": [{"mediaType": "application/json", "digest": %q, "size": 2}, {"mediaType": %q, "digest": %q, "size": %d}]}`,
			digest.FromString("{}"), ocispec.MediaTypeImageLayerGzip, d, len(data)),
	}
}

func ask(t *testing.T, h http.Handler) bundleoci.Request {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return bundleoci.Request{Address: "oci://" + strings.TrimPrefix(s.URL, "http://") + "/team/rules:stable", Within: wait.Patience, Max: 1000}
}

func TestPull(t *testing.T) {
	t.Parallel()
	s := image([]byte("a bundle"))
	r := ask(t, s)
	a, err := bundleoci.Get(t.Context(), r)
	if err != nil || string(a.Data) != "a bundle" || a.Digest != digest.FromString("a bundle").String() {
		t.Fatalf("got %+v, %v", a, err)
	}
	s.asked, r.Digest = nil, a.Digest
	a, err = bundleoci.Get(t.Context(), r)
	if err != nil || !a.Unchanged || a.Data != nil || len(s.asked) != 1 {
		t.Errorf("the same again: got %+v, %v after %q", a, err, s.asked)
	}
	s.token = "t0ken"
	if _, err := bundleoci.Get(t.Context(), r); err == nil || !strings.Contains(err.Error(), "token_file") {
		t.Errorf("without a token: %v", err)
	}
	r.Token = "t0ken"
	if a, err := bundleoci.Get(t.Context(), r); err != nil || !a.Unchanged {
		t.Errorf("with the token: %+v, %v", a, err)
	}
}

func TestAttackRegistries(t *testing.T) {
	t.Parallel()
	change := func(change func(*shelf)) *shelf {
		s := image([]byte("a bundle"))
		change(s)
		return s
	}
	hang := make(chan struct{})
	defer close(hang) // before the servers end, which wait for it
	a := attack.New(t, "a registry that gives another layer than it says, one without end, an index, or no answer")
	for name, c := range map[string]struct {
		handle http.Handler
		says   string
	}{
		"another layer": {change(func(s *shelf) {
			for d := range s.blobs {
				s.blobs[d] = []byte("b bundle")
			}
		}), "mismatch"},
		"a longer layer": {change(func(s *shelf) {
			for d := range s.blobs {
				s.blobs[d] = append(s.blobs[d], 'x')
			}
		}), ""},
		"a layer that is long":    {image(bytes.Repeat([]byte("x"), 2000)), "longer than a bundle"},
		"a layer that is gone":    {change(func(s *shelf) { s.blobs = nil }), "has no"},
		"no layer":                {change(func(s *shelf) { s.manifest = `{"schemaVersion": 2}` }), "no layer of it"},
		"a manifest without end":  {change(func(s *shelf) { s.manifest += strings.Repeat(" ", 2<<20) }), ""},
		"a manifest that is text": {change(func(s *shelf) { s.manifest = "x" }), "cannot be read"},
		"an index":                {change(func(s *shelf) { s.mediaType = ocispec.MediaTypeImageIndex }), "index of images"},
		"no tag":                  {http.NotFoundHandler(), "correct the address"},
		"no answer":               {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }), "did not answer whole within"},
		"an error":                {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }), "502"},
	} {
		r := ask(t, c.handle)
		if strings.Contains(c.says, "within") {
			r.Within = 200 * time.Millisecond
		}
		switch got, err := bundleoci.Get(t.Context(), r); {
		case err == nil:
			a.Lost("%s: got %d bytes", name, len(got.Data))
		case !strings.Contains(err.Error(), c.says):
			a.Lost("%s: want an error with %q, got %v", name, c.says, err)
		default:
			a.Held()
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"oci://registry.example.com/policies/winnow:stable", "oci://localhost:5000/x:1", "oci://registry.example.com/a/b@" + digest.FromString("x").String()} {
		if err := bundleoci.Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"oci://registry.example.com/policies/winnow", "registry.example.com/a:b", "oci://", "oci://x", "oci://r.example.com/A:b", "oci://r.example.com/a:b?x=y"} {
		if err := bundleoci.Check(bad); err == nil {
			t.Errorf("%s is in order", bad)
		}
	}
}
