package tmux

import "testing"

// TestElsewhere: a socket in tmux's own folder is found by every program of the user; any other only by a program that runs in a pane of its server.
func TestOutsideSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tmux, tmpdir, want string }{
		{"", "", ""},
		{"/tmp/tmux-7/default,812,0", "", ""},
		{"/tmp/tmux-8/default,812,0", "", "/tmp/tmux-8/default"},
		{"/run/me/tmux-7/default,812,0", "/run/me", ""},
		{"/tmp/tmux-7/default,812,0", "/run/me", "/tmp/tmux-7/default"},
		{"/home/me/with,comma,812,0", "", "/home/me/with,comma"},
		{"relative,812,0", "", ""},
	} {
		env := map[string]string{"TMUX": c.tmux, "TMUX_TMPDIR": c.tmpdir}
		if got := OutsideSocket(func(name string) string { return env[name] }, 7); got != c.want {
			t.Errorf("TMUX=%q TMUX_TMPDIR=%q: %q; want %q", c.tmux, c.tmpdir, got, c.want)
		}
	}
}
