package tmux

import "testing"

func TestStartedAs(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "",
		"claude":                             "claude",
		`"claude 'do it'; exec sh"`:          "claude",
		"/home/u/.local/bin/claude --resume": "claude",
		"claude.exe":                         "claude",
		"exec codex":                         "codex",
		"FOO=1 claude":                       "claude",
		"env -i HOME=/ claude":               "claude",
		`bash -lc "cd /w && claude"`:         "claude",
		`sh -c 'npx codex'`:                  "codex",
		"make && codex exec":                 "codex",
		// An agent's name that is no program there.
		"vim claude":               "",
		`vim "claude"`:             "",
		"grep -r 'codex' .":        "",
		"less claude.log":          "",
		"tail -f claude; vim":      "",
		"git commit -m 'claude'":   "",
		"ssh host claude":          "",
		"/opt/claude/bin/editor x": "",
	} {
		if got := startedAs(line, []string{"claude", "codex"}); got != want {
			t.Errorf("%s: started as %q, want %q", line, got, want)
		}
	}
}

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
