package herdr

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// listen leaves a socket's file at path, with a listener behind it.
func listen(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
}

func sourceNames(t *testing.T, o Options) map[string]string {
	t.Helper()
	sources := must.Get(Sources(o))(t)
	if !slices.IsSortedFunc(sources, func(a, b collectors.Source) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("sources are not sorted by path: %v", sources)
	}
	out := map[string]string{}
	for _, s := range sources {
		if s.Kind != "herdr" || s.Reader == nil {
			t.Errorf("source %q has kind %q and reader %v", s.Name, s.Kind, s.Reader)
		}
		out[s.Name] = s.Path
	}
	return out
}

func TestSources(t *testing.T) {
	t.Parallel()
	dir := folderOf(t)
	cfg := filepath.Join(dir, "herdr")
	for _, path := range []string{
		"herdr/herdr.sock", "herdr/herdr-client.sock", "herdr/sessions/team/herdr.sock", "herdr/sessions/team/herdr-client.sock",
		"herdr/sessions/a.B_c-1/herdr.sock", "herdr/sessions/default/herdr.sock", "herdr/sessions/two words/herdr.sock",
		"herdr-dev/herdr.sock", "herdr-dev/sessions/dev/herdr.sock",
		"home/.config/herdr/herdr.sock", "tmp/herdr/herdr.sock", "else/team.sock", "else/other.sock", "more/other.sock",
	} {
		listen(t, filepath.Join(dir, path))
	}
	for _, d := range []string{"herdr/sessions/ended", "bare"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	must.Do(t, os.Symlink(cfg+"/sessions/team/herdr.sock", dir+"/alias.sock"))
	must.Do(t, os.WriteFile(dir+"/file", nil, 0o600))
	standard := map[string]string{
		"herdr/default": cfg + "/herdr.sock", "herdr/team": cfg + "/sessions/team/herdr.sock", "herdr/a.B_c-1": cfg + "/sessions/a.B_c-1/herdr.sock",
		"herdr/default~dev": dir + "/herdr-dev/herdr.sock", "herdr/dev~dev": dir + "/herdr-dev/sessions/dev/herdr.sock",
	}
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
	called := func(path, prefix string, o Options) string {
		for name, p := range sourceNames(t, o) {
			if p == path && strings.HasPrefix(name, prefix) && len(name) == len(prefix)+4 {
				return name
			}
		}
		t.Fatalf("%s has no name that begins with %s", path, prefix)
		return ""
	}
	elsewhere := called(dir+"/else/team.sock", "herdr/team~", Options{Sockets: []string{"auto", dir + "/else/team.sock"}, Env: env("XDG_CONFIG_HOME", dir)})
	both := []string{dir + "/else/other.sock", dir + "/more/other.sock"}
	other, another := called(both[0], "herdr/other~", Options{Sockets: both}), called(both[1], "herdr/other~", Options{Sockets: both})
	nowhere := env("XDG_CONFIG_HOME", dir+"/bare")
	for _, c := range []struct {
		name string
		o    Options
		want map[string]string
	}{
		{"the default, every named one, and debug builds'", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir)}, standard},
		{"below the home folder", Options{Sockets: []string{"auto"}, Home: dir + "/home"}, map[string]string{"herdr/default": dir + "/home/.config/herdr/herdr.sock"}},
		{"an empty variable counts as unset without IsSet", Options{Sockets: []string{"auto"}, Home: dir + "/home", Env: env("XDG_CONFIG_HOME", "")},
			map[string]string{"herdr/default": dir + "/home/.config/herdr/herdr.sock"}},
		{"no home folder", Options{Sockets: []string{"auto"}, Env: env("TMPDIR", dir+"/tmp")}, map[string]string{"herdr/default": dir + "/tmp/herdr/herdr.sock"}},
		{"other folders of the environment do not move it", Options{Sockets: []string{"auto"}, Home: dir + "/home",
			Env: env("XDG_RUNTIME_DIR", dir, "HERDR_CONFIG_PATH", dir)}, map[string]string{"herdr/default": dir + "/home/.config/herdr/herdr.sock"}},
		{"no folder", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir+"/none")}, map[string]string{}},
		{"a file where the folder would be", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir+"/file")}, map[string]string{}},
		{"HERDR_SOCKET_PATH names one of them", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SOCKET_PATH", cfg+"/herdr.sock")}, standard},
		{"by another path", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SOCKET_PATH", dir+"/alias.sock")}, standard},
		{"HERDR_SOCKET_PATH names one elsewhere", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SOCKET_PATH", dir+"/else/other.sock")},
			with("herdr/other", dir+"/else/other.sock")},
		{"HERDR_SOCKET_PATH names nothing that is there", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir+"/bare", "HERDR_SOCKET_PATH", dir+"/no.sock")},
			map[string]string{"herdr/no": dir + "/no.sock"}},
		{"HERDR_SESSION names one of them", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "team")}, standard},
		{"HERDR_SESSION is the default", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "default")}, standard},
		{"HERDR_SESSION does not exist", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "none")}, standard},
		{"HERDR_SESSION is no name", Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "../..")},
			with("herdr/HERDR_SESSION", cfg+"/sessions")},
		{"HERDR_SOCKET_PATH beats it", Options{Sockets: []string{"auto"},
			Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "../..", "HERDR_SOCKET_PATH", cfg+"/herdr.sock")}, standard},
		{"a path besides", Options{Sockets: []string{"auto", dir + "/else/team.sock"}, Env: env("XDG_CONFIG_HOME", dir)}, with(elsewhere, dir+"/else/team.sock")},
		{"a session's path alone keeps the session's name", Options{Sockets: []string{cfg + "/sessions/team/herdr.sock"}, Env: env("XDG_CONFIG_HOME", dir)},
			map[string]string{"herdr/team": cfg + "/sessions/team/herdr.sock"}},
		{"by another path alone too", Options{Sockets: []string{dir + "/alias.sock"}, Env: env("XDG_CONFIG_HOME", dir)}, map[string]string{"herdr/team": dir + "/alias.sock"}},
		{"by two paths, the server's own is taken", Options{Sockets: []string{dir + "/alias.sock", "auto"}, Env: env("XDG_CONFIG_HOME", dir)}, standard},
		{"two elsewhere of one name", Options{Sockets: both, Env: nowhere}, map[string]string{other: both[0], another: both[1]}},
		{"paths", Options{Sockets: []string{dir + "/none/../else/other.sock", dir + "/not-there"}, Env: nowhere},
			map[string]string{"herdr/other": dir + "/else/other.sock", "herdr/not-there": dir + "/not-there"}},
		{"off", Options{Env: env("XDG_CONFIG_HOME", dir)}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, c.want, sourceNames(t, c.o), "sources")
		})
	}
}

// A variable that is set and empty gives a relative folder, as it does for herdr.
func TestSourcesBelowTheWorkingDirectory(t *testing.T) {
	dir := folderOf(t)
	t.Chdir(dir)
	listen(t, filepath.Join(dir, "herdr", "herdr.sock"))
	o := Options{Sockets: []string{"auto"}, Home: dir + "/home", IsSet: func(key string) bool { return key == "XDG_CONFIG_HOME" }}
	want := map[string]string{"herdr/default": dir + "/herdr/herdr.sock"}
	must.Equal(t, want, sourceNames(t, o), "sources")
	o = Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir+"/none", "HERDR_SOCKET_PATH", "herdr/herdr.sock")}
	must.Equal(t, map[string]string{"herdr/herdr": dir + "/herdr/herdr.sock"}, sourceNames(t, o), "a relative HERDR_SOCKET_PATH")
}

func TestSourcesOfAPathThatIsTooLong(t *testing.T) {
	t.Parallel()
	dir := folderOf(t)
	deep := filepath.Join(dir, strings.Repeat("x", 90), "herdr")
	s := herdr.Start(t, herdr.Options{Socket: filepath.Join(dir, "short", "herdr.sock")})
	must.Do(t, os.MkdirAll(filepath.Dir(deep), 0o700))
	must.Do(t, os.Rename(filepath.Dir(s.Socket()), deep))
	must.Do(t, os.Symlink(deep, filepath.Dir(s.Socket())))
	o := Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", filepath.Dir(deep))}
	sources, err := Sources(o)
	if err != nil || len(sources) != 1 {
		t.Fatalf("got %v and %v", sources, err)
	}
	if err := fails(t, o, sources[0].Path, wait.Within(t, wait.Patience)); errors.Is(err, collectors.ErrAbsent) || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("want a failure that says what to do, got %v", err)
	}
	o.Sockets = append(o.Sockets, s.Socket())
	must.Equal(t, map[string]string{"herdr/default": s.Socket()}, sourceNames(t, o), "the short path is not taken")
	reading(t, o, s.Socket())
}

func TestSourcesRefuseARelativePath(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "default", "./s"} {
		if _, err := Sources(Options{Sockets: []string{s}}); err == nil || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%q was taken, or not explained: %v", s, err)
		}
	}
}

func TestSessionNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "...": true, "-": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		"": false, ".": false, "..": false, "a/b": false, "ä": false, "a b": false, "a\n": false, strings.Repeat("x", 65): false,
	} {
		if got := valid(name); got != want {
			t.Errorf("%q is a name: %v, want %v", name, got, want)
		}
	}
}

func TestWhatCannotBeLookedForIsAFailedSource(t *testing.T) {
	t.Parallel()
	dir := folderOf(t)
	sessions := filepath.Join(dir, "herdr", "sessions")
	must.Do(t, os.MkdirAll(filepath.Dir(sessions), 0o700))
	want := collectors.ErrPermission
	if os.Getuid() == 0 { // whom no mode stops
		want = nil
		must.Do(t, os.WriteFile(sessions, nil, 0o600))
	} else if err := os.Mkdir(sessions, 0); err != nil {
		t.Fatal(err)
	}
	sources, err := Sources(Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "a/b")})
	if err != nil || len(sources) != 2 {
		t.Fatalf("want two sources, got %v and %v", sources, err)
	}
	for i, name := range []string{"herdr/HERDR_SESSION", "herdr/sessions folder"} {
		if sources[i].Name != name {
			t.Errorf("source %d is %q, want %q", i, sources[i].Name, name)
		}
		_, err := sources[i].Reader.Read(wait.Within(t, time.Second))
		if err == nil || errors.Is(err, collectors.ErrAbsent) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: want a failure with advice, got %v", name, err)
		}
		if i == 1 && want != nil && !errors.Is(err, want) {
			t.Errorf("%s: want no permission, got %v", name, err)
		}
	}
}

// A folder that may be entered and not listed still leads to the session that the environment names. Root lists every folder.
func TestSourcesOfANamedSessionInAFolderThatCannotBeListed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may list any folder; run as a plain user")
	}
	dir := folderOf(t)
	sessions := filepath.Join(dir, "herdr", "sessions")
	listen(t, filepath.Join(sessions, "team", "herdr.sock"))
	must.Do(t, os.Chmod(sessions, 0o300))
	t.Cleanup(func() { _ = os.Chmod(sessions, 0o700) })
	want := map[string]string{"herdr/sessions folder": sessions, "herdr/team": filepath.Join(sessions, "team", "herdr.sock")}
	must.Equal(t, want, sourceNames(t, Options{Sockets: []string{"auto"}, Env: env("XDG_CONFIG_HOME", dir, "HERDR_SESSION", "team")}), "sources")
}
