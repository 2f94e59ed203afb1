package tmux

import (
	"errors"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

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

// A server decides what its client prints: what stands here for tmux prints what such a server would have it print.
func TestAttackATmuxServerThatNeverEnds(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	s := testkit.Fresh(t, "up")
	a := attack.New(t, "a tmux server has its client print without end, a byte at a time, a million panes, a name of a mebibyte, or nothing for ever")
	const begin = `printf 'server\t1\t1\t3.3a\n';`
	for name, script := range map[string]string{
		"zeros":            "exec cat /dev/zero",
		"lines":            "exec yes",
		"complaints":       "exec cat /dev/zero >&2",
		"a byte at a time": "while :; do printf x; sleep 0.01; done",
		"nothing":          "exec sleep 1000",
		"a child of its":   "sleep 1000 & exec sleep 1000",
		"a million panes":  begin + `printf 'session\t$1\t1\t1\t\t\tx\nlisted\n'; yes "$(printf 'pane\t$1\t%%1\t1\t0\t1\tx\t')" | head -1000000 | head -c 15000000; printf 'end\n'`,
		"a long name":      begin + `printf 'session\t$1\t1\t1\t\t\t'; head -c 1048576 /dev/zero | tr '\0' x; printf '\nlisted\nend\n'`,
		"a million fields": begin + `yes '' | head -1000000 | tr '\n' '\t'; printf '\nend\n'`,
	} {
		begin := time.Now()
		err := fails(t, Options{Tmux: program(t, script)}, s.Socket, testkit.Within(t, 3*time.Second))
		switch took := time.Since(begin); {
		case errors.Is(err, collectors.ErrAbsent) || len(err.Error()) > 1000:
			a.Lost("%s: %.1000v", name, err)
		case took > wait.Patience:
			a.Lost("%s took %s", name, took)
		default:
			a.Held()
		}
	}
}
