package tmux

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/test/kit/must"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
)

func env(kv ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == key {
				return kv[i+1]
			}
		}
		return ""
	}
}

func listen(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
}

func sourceNames(t *testing.T, o Options) map[string]string {
	t.Helper()
	sources := must.Get(Sources(o))(t)
	out := map[string]string{}
	for _, s := range sources {
		if s.Kind != "tmux" || s.Reader == nil {
			t.Errorf("source %q has kind %q and reader %v", s.Name, s.Kind, s.Reader)
		}
		out[s.Name] = s.Path
	}
	return out
}

func TestSources(t *testing.T) {
	t.Parallel()
	dir := testkit.Folder(t)
	home := filepath.Join(dir, "tmux-7")
	for _, name := range []string{"default", "work"} {
		listen(t, filepath.Join(home, name))
	}
	listen(t, filepath.Join(dir, "else", "default"))
	must.Do(t, os.WriteFile(filepath.Join(home, "default.lock"), nil, 0o600))
	must.Do(t, os.Symlink(filepath.Join(home, "work"), filepath.Join(dir, "alias")))
	standard := map[string]string{"tmux/default": home + "/default", "tmux/work": home + "/work"}
	with := func(kv ...string) map[string]string {
		out := map[string]string{}
		for k, v := range standard {
			out[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = kv[i+1]
		}
		return out
	}
	elsewhere := ""
	for name, path := range sourceNames(t, Options{Sockets: []string{"auto", dir + "/else/default"}, UID: 7, Env: env("TMUX_TMPDIR", dir)}) {
		if path == dir+"/else/default" {
			elsewhere = name
		}
	}
	if !strings.HasPrefix(elsewhere, "tmux/default~") {
		t.Fatalf("a socket elsewhere of the same name is called %q", elsewhere)
	}
	for _, c := range []struct {
		name    string
		sockets []string
		env     func(string) string
		want    map[string]string
	}{
		{"every socket of the folder", []string{"auto"}, env("TMUX_TMPDIR", dir), standard},
		{"TMUX names one of them", []string{"auto"}, env("TMUX_TMPDIR", dir, "TMUX", home+"/work,12,3"), standard},
		{"TMUX names it by another path", []string{"auto"}, env("TMUX_TMPDIR", dir, "TMUX", dir+"/alias,12,3"), standard},
		{"TMUX names one elsewhere", []string{"auto"}, env("TMUX_TMPDIR", dir, "TMUX", dir+"/else/default,12,3"), with(elsewhere, dir+"/else/default")},
		{"the folder is not there, TMUX names one", []string{"auto"}, env("TMUX_TMPDIR", dir+"/none", "TMUX", dir+"/else/default,12,3"),
			map[string]string{"tmux/default": dir + "/else/default"}},
		{"a path with a comma", []string{"auto"}, env("TMUX_TMPDIR", dir+"/none", "TMUX", "/a,b/s,12,3"), map[string]string{"tmux/s": "/a,b/s"}},
		{"an invalid TMUX", []string{"auto"}, env("TMUX_TMPDIR", dir+"/none", "TMUX", "yes"), map[string]string{}},
		{"paths", []string{dir + "/none/../else/default", dir + "/not-there"}, nil,
			map[string]string{"tmux/default": dir + "/else/default", "tmux/not-there": dir + "/not-there"}},
		{"off", nil, env("TMUX_TMPDIR", dir), map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, c.want, sourceNames(t, Options{Sockets: c.sockets, UID: 7, Env: c.env}), "sources")
		})
	}
}

func TestSourcesRefuseARelativePath(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "default", "./s"} {
		if _, err := Sources(Options{Sockets: []string{s}}); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestAFolderThatCannotBeListedIsAFailedSource(t *testing.T) {
	t.Parallel()
	dir := testkit.Folder(t)
	home := filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()))
	want := collectors.ErrPermission
	if os.Getuid() == 0 { // whom no mode stops
		want = nil
		must.Do(t, os.WriteFile(home, nil, 0o600))
	} else if err := os.Mkdir(home, 0); err != nil {
		t.Fatal(err)
	}
	sources, err := Sources(Options{Sockets: []string{"auto"}, UID: os.Getuid(), Env: env("TMUX_TMPDIR", dir)})
	if err != nil || len(sources) != 1 {
		t.Fatalf("want one source, got %v and %v", sources, err)
	}
	_, err = sources[0].Reader.Read(testkit.Within(t, time.Second))
	if err == nil || errors.Is(err, collectors.ErrAbsent) || want != nil && !errors.Is(err, want) {
		t.Errorf("want a failure, got %v", err)
	}
}
