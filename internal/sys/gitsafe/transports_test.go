package gitsafe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestReadRemote(t *testing.T) {
	t.Parallel()
	const origin = "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	tests := []struct {
		name, config, ref string
		want              Remote
		err               string
	}{
		{"as git clone writes it", origin, "refs/remotes/origin/main", Remote{"https://example.org/a.git", "main", "refs/remotes/origin/main"}, ""},
		{"a branch with a slash", origin, "refs/remotes/origin/a/b", Remote{"https://example.org/a.git", "a/b", "refs/remotes/origin/a/b"}, ""},
		{"one branch alone", "[remote \"o\"]\nurl=/r.git\nfetch=+refs/heads/main:refs/remotes/o/main\n", "refs/remotes/o/main", Remote{"/r.git", "main", "refs/remotes/o/main"}, ""},
		{"the first of two addresses", "[remote \"o\"]\nurl=/r.git\nurl=/s.git\nfetch=refs/heads/*:refs/remotes/o/*\n", "refs/remotes/o/main", Remote{"/r.git", "main", "refs/remotes/o/main"}, ""},
		{"another remote", origin, "refs/remotes/fork/main", Remote{}, "names no address"},
		{"no configuration", "", "refs/remotes/origin/main", Remote{}, "names no address"},
		{"branches that are kept elsewhere", "[remote \"o\"]\nurl=/r.git\nfetch=+refs/heads/x/*:refs/remotes/o/*\n", "refs/remotes/o/main", Remote{}, "does not say"},
		{"no branches", "[remote \"o\"]\nurl=/r.git\n", "refs/remotes/o/main", Remote{}, "does not say"},
		{"two remotes whose names overlap", origin + "[remote \"origin/a\"]\nurl=/r.git\nfetch=+refs/heads/*:refs/remotes/origin/a/*\n", "refs/remotes/origin/a/b", Remote{}, "two remotes"},
		{"a partial clone", origin + "\tpromisor = true\n", "refs/remotes/origin/main", Remote{}, "partial clone"},
		{"a program", strings.Replace(origin, "https://example.org/a.git", "ext::touch /x", 1), "refs/remotes/origin/main", Remote{}, "none that is used"},
	}
	for _, tt := range tests {
		dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, "config"), []byte(tt.config), 0o600))
		got, err := ReadRemote(t.Context(), dir, tt.ref)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: want %+v and an error with %q, got %+v, %v", tt.name, tt.want, tt.err, got, err)
		}
	}
}

func TestPlainAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://example.org/a": true, "ssh://git@example.org/a": true, "git@example.org:a/b.git": true, "/srv/a.git": true, "file:///srv/a.git": true,
		"http://example.org/a": false, "git://example.org/a": false, "ext::sh -c x": false, "fd::3": false, "a::https://example.org": false, "../a": false, "a": false,
		"-uhttps://x": false, "ssh://-oProxyCommand=x/a": false, "--upload-pack=x:y": false, "": false, "https://a\nb": false, "./a:b": false,
	} {
		if got := plainAddress(address); got != want {
			t.Errorf("%q: want %v, got %v", address, want, got)
		}
	}
}

func TestHide(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://me:secret@example.org/a": "cannot read https://example.org/a",
		"https://token@example.org/a@b":   "cannot read https://example.org/a@b",
		"https://example.org/a@b":         "cannot read https://example.org/a@b",
		"git@example.org:a":               "cannot read git@example.org:a",
	} {
		if got := (Remote{Address: address}).Hide("cannot read " + address); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestOnlineAsksNobody holds that what may use the network is not asked for a password, and that nothing else may use it.
func TestOnlineAsksNobody(t *testing.T) {
	t.Parallel()
	env := strings.Join(online(t.Context()), "\n")
	for _, want := range []string{"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never", "-o BatchMode=yes", "GIT_ALLOW_PROTOCOL=https:ssh:file"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if plain := strings.Join(Environ(nil), "\n"); !strings.Contains(plain, "GIT_ALLOW_PROTOCOL=none") {
		t.Errorf("other questions may use the network: %s", plain)
	}
}
