package tmux

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
)

// BenchmarkRead compares the one exec a server with asking tmux about one session after the other, each with its panes and its
// clients, as scripts do. Both run against the same server of so many panes, two in each window and ten in each session.
func BenchmarkRead(b *testing.B) {
	for _, panes := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("panes=%d", panes), func(b *testing.B) {
			s := crowd(b, panes)
			b.Run("winnow", func(b *testing.B) {
				r := newReader(Options{}, "tmux/s", s.Socket)
				for b.Loop() {
					part, err := r.Read(b.Context())
					if err != nil || seen(part.Sessions) != panes {
						b.Fatalf("%d panes, %v", seen(part.Sessions), err)
					}
				}
			})
			b.Run("an exec a session", func(b *testing.B) {
				for b.Loop() {
					if n := naive(b, s.Socket); n != panes {
						b.Fatalf("%d panes", n)
					}
				}
			})
		})
	}
}

// crowd starts a server with panes that cost little: each is a cat.
func crowd(b *testing.B, panes int) *testkit.Server {
	b.Helper()
	s := testkit.Fresh(b, "s0", "cat")
	var chain []string
	flush := func() {
		if len(chain) > 0 {
			s.Run(chain[:len(chain)-1]...)
			chain = nil
		}
	}
	add := func(args ...string) {
		if chain = append(append(chain, args...), ";"); len(chain) > 200 {
			flush()
		}
	}
	for i := 1; i < panes; i++ {
		session := fmt.Sprintf("=s%d:", i/10)
		switch {
		case i%10 == 0:
			add("new-session", "-d", "-s", fmt.Sprintf("s%d", i/10), "-x", "80", "-y", "24", "cat")
		case i%2 == 0:
			add("new-window", "-d", "-t", session, "cat")
		default:
			add("split-window", "-d", "-t", session+"{end}", "cat")
		}
	}
	flush()
	return s
}

func naive(b *testing.B, socket string) (panes int) {
	b.Helper()
	ask := func(args ...string) []string {
		out, err := exec.CommandContext(b.Context(), "tmux", append([]string{"-u", "-S", socket}, args...)...).Output()
		if err != nil {
			b.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	for _, id := range ask("list-sessions", "-F", "#{session_id}") {
		ask("display-message", "-p", "-t", id, "#{session_created} #{session_activity} #{session_attached}")
		panes += len(ask("list-panes", "-s", "-t", id, "-F", "#{pane_id},#{pane_pid},#{pane_dead},#{window_activity},#{pane_tty}"))
		ask("list-clients", "-t", id, "-F", "#{client_activity}")
	}
	return panes
}

func seen(sessions map[string]snapshot.Session) (panes int) {
	for _, s := range sessions {
		panes += len(s.Panes)
	}
	return panes
}
