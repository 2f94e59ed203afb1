package codev

import (
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
)

func TestAttackAnotherUserIsWhereTheTowerWas(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	a := attack.New(t, "another user listens where the Tower was that is to close a terminal")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		heard := attacker.Listen(t, "tcp", at)
		for range 20 {
			id := w.identity(st)
			id.Tower = "http://" + heard.Address
			out := w.direct(id)
			switch {
			case out.Outcome != decision.Refused || !strings.Contains(out.Detail, "another user") || !strings.Contains(out.Detail, "left untouched"):
				a.Lost("%s: %s", out.Outcome, out.Detail)
			case heard.Text() != "":
				a.Lost("he heard %q", heard.Text())
			default:
				a.Held()
			}
		}
	}
	w.untouched(st)
}
