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
