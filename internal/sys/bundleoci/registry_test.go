package bundleoci_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/winnow-reaper/winnow/internal/sys/bundleoci"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// startRegistry runs the distribution project's own registry (Debian's docker-registry) as this user, and gives its host.
func startRegistry(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("docker-registry"); err != nil {
		t.Skip("docker-registry is not installed")
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	host := l.Addr().String()
	must.Do(t, l.Close())
	dir := t.TempDir()
	conf := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q, secret: test}\n", filepath.Join(dir, "data"), host)
	must.Do(t, os.WriteFile(conf, []byte(text), 0o600))
	cmd := exec.Command("docker-registry", "serve", conf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(wait.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get("http://" + host + "/v2/"); err == nil {
			_ = resp.Body.Close()
			return host
		}
	}
	t.Fatal("the registry does not answer")
	return ""
}

// TestARealRegistry pushes as OPA's documentation says, and pulls.
func TestARealRegistry(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	repo := must.Get(remote.NewRepository(host + "/team/rules"))(t)
	repo.PlainHTTP = true
	push := func(data string) {
		layer := must.Get(oras.PushBytes(t.Context(), repo, ocispec.MediaTypeImageLayerGzip, []byte(data)))(t)
		config := must.Get(oras.PushBytes(t.Context(), repo, "application/vnd.oci.image.config.v1+json", []byte("{}")))(t)
		manifest := must.Get(oras.PackManifest(t.Context(), repo, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
			Layers: []ocispec.Descriptor{layer}, ConfigDescriptor: &config,
		}))(t)
		must.Do(t, repo.Tag(t.Context(), manifest, "stable"))
	}
	r := bundleoci.Request{Address: "oci://" + host + "/team/rules:stable", Within: wait.Patience, Max: 1000}
	if _, err := bundleoci.Get(t.Context(), r); err == nil || !strings.Contains(err.Error(), "correct the address") {
		t.Errorf("before it was pushed: %v", err)
	}
	for _, data := range []string{"one", "two"} {
		push(data)
		a, err := bundleoci.Get(t.Context(), r)
		if err != nil || string(a.Data) != data || a.Unchanged {
			t.Fatalf("%s: got %+v, %v", data, a, err)
		}
		r.Digest = a.Digest
		if a, err := bundleoci.Get(t.Context(), r); err != nil || !a.Unchanged {
			t.Errorf("%s again: got %+v, %v", data, a, err)
		}
	}
}
