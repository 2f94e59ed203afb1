package packaging

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestGoInstallTakesTheModule publishes this module's files as a version in a folder that go takes for a proxy, and has go find all that the program needs there: packages, and files
// that it embeds. WINNOW_GO_INSTALL has it compiled too, which takes half a minute.
func TestGoInstallTakesTheModule(t *testing.T) {
	t.Parallel()
	const path = "github.com/winnow-reaper/winnow"
	version := fmt.Sprintf("%s-t.%d", version, os.Getpid()) // the cache of modules is shared
	proxy, home := t.TempDir(), t.TempDir()
	dir := filepath.Join(proxy, path, "@v")
	must.Do(t, os.MkdirAll(dir, 0o755))
	name := path + "@v" + version
	file := must.Get(os.Create(filepath.Join(dir, "v"+version+".zip")))(t)
	z := zip.NewWriter(file)
	others := nested(t)
	for f := range strings.SplitSeq(strings.TrimSuffix(run(t, "../..", nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00") {
		if st, err := os.Lstat(filepath.Join("../..", f)); err != nil || !st.Mode().IsRegular() || slices.ContainsFunc(others, func(o string) bool { return strings.HasPrefix(f, o) }) {
			continue // removed and not yet committed, or in another module
		}
		w := must.Get(z.Create(name + "/" + f))(t)
		must.Get(w.Write(must.Get(os.ReadFile(filepath.Join("../..", f)))(t)))(t)
	}
	must.Do(t, z.Close())
	must.Do(t, file.Close())
	must.Do(t, os.WriteFile(filepath.Join(dir, "list"), []byte("v"+version+"\n"), 0o644))
	mod := must.Get(os.ReadFile("../../go.mod"))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "v"+version+".mod"), mod, 0o644))
	must.Do(t, os.WriteFile(filepath.Join(dir, "v"+version+".info"), []byte(`{"Version":"v`+version+`"}`), 0o644))
	if regexp.MustCompile(`(?m)^(replace|exclude)\b`).Match(mod) {
		t.Error("go install refuses a module with replace or exclude")
	}
	before := strings.TrimSpace(run(t, "../..", nil, "go", "env", "GOPROXY"))
	env := []string{"GOBIN=" + home, "GOPROXY=file://" + proxy + "," + before, "GONOSUMDB=" + path, "GOFLAGS=-modcacherw", "GOMODCACHE=" + strings.TrimSpace(run(t, "../..", nil, "go", "env", "GOMODCACHE"))}
	t.Cleanup(func() { // it is no version that anybody else may find
		cache := strings.TrimSpace(run(t, "../..", nil, "go", "env", "GOMODCACHE"))
		_ = os.RemoveAll(filepath.Join(cache, path+"@v"+version))
		_ = os.Remove(filepath.Join(cache, filepath.Dir(path))) // where it is empty
		for _, ext := range []string{"zip", "mod", "info", "ziphash", "lock"} {
			_ = os.Remove(filepath.Join(cache, "cache/download", path, "@v/v"+version+"."+ext))
		}
	})
	must.Do(t, os.WriteFile(filepath.Join(home, "go.mod"), []byte("module needs\n\ngo 1.26.0\n\nrequire "+path+" v"+version+"\n"), 0o644))
	env = append(env, "GOFLAGS=-modcacherw -mod=mod")
	if out := run(t, home, env, "go", "list", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", path+"/cmd/winnow"); strings.TrimSpace(out) != "" {
		t.Errorf("go does not find all: %s", out)
	}
	if os.Getenv("WINNOW_GO_INSTALL") == "" {
		return
	}
	run(t, home, env, "go", "install", path+"/cmd/winnow@v"+version)
	if said := run(t, home, []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME="}, filepath.Join(home, "winnow"), "version"); !strings.HasPrefix(said, "winnow v"+version+" ") {
		t.Errorf("winnow version: %s", said)
	}
}

// nested are the folders of the other modules in this repository, each with a slash at its end.
func nested(t *testing.T) []string {
	t.Helper()
	var out []string
	for f := range strings.SplitSeq(run(t, "../..", nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*/go.mod"), "\x00") {
		if f != "" {
			out = append(out, filepath.Dir(f)+"/")
		}
	}
	return out
}
