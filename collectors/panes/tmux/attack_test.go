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
