package tmux

import (
	"bufio"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	procact "github.com/winnow-reaper/winnow/internal/sys/proc/act"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/judge"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// A program is sent to an idle shell at a random moment around the kill. Either it was sent to a session that stays, or tmux answered
// the sender that the session is missing: a program that tmux took and that then died is lost.
func TestAttackAProgramIsSentRightBeforeTheKill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, send string }{
		{"a program is sent by send-keys to an idle session at a random moment around its kill", "send-keys -t PANE 'TEXT' Enter"},
		{"a program is sent by paste-buffer to an idle session at a random moment around its kill",
			`set-buffer -b BUFFER "TEXT\n" ; paste-buffer -d -b BUFFER -t PANE`},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := attack.New(t, c.title)
			s := fresh(t, "bystander")
			dir := filepath.Dir(s.Socket)
			lines, j := s.sender("=bystander"), s.judge(judge.Shipped)
			var killed, kept, refused int
			for i := range stage.Trials(10, 40) {
				name := "w" + strconv.Itoa(i)
				s.Run("new-session", "-d", "-s", name)
				d := s.decide(j, name, decision.Reap)
				pane := d.Identity.Session.Panes[0].ID
				var sent sync.WaitGroup
				wait.Eventually(t, "the shell waits", func() bool { return resting(d.Identity.Session.Panes[0].PID) })
				var took bool
				line := strings.NewReplacer("PANE", pane, "BUFFER", name, "TEXT", "touch "+dir+"/"+name+"; sleep 1000").Replace(c.send)
				send := func(within time.Duration) {
					after := time.Duration(rand.Int64N(int64(within)))
					sent.Go(func() {
						for begin := time.Now(); time.Since(begin) < after; { // a sleep is not as exact
						}
						took = lines(line)
					})
				}
				act := actuator(t, Options{Shells: []string{"sh", "dash", "bash"}})
				act.rests = 0
				// Most close to the moment, the others from each of the two judgements on.
				act.looking, j.Before = func() {}, nil
				if i%5 > 0 {
					act.looking = func() { send(3 * time.Millisecond) }
				} else {
					j.Before = func(times int) {
						if times == i/5%2 {
							send(150 * time.Millisecond)
						}
					}
				}
				out := j.Carry(t.Context(), act, d)
				sent.Wait()
				there := s.Has(name)
				switch {
				case !there && took:
					a.Lost("trial %d: %s: %s", i, out.Outcome, out.Detail)
				case there && out.Outcome == decision.Done:
					a.Lost("trial %d: it is there, and was reported as gone", i)
				default:
					a.Held()
				}
				switch {
				case !there:
					killed++
				case took:
					kept++
				default:
					refused++
				}
				if there {
					s.Run("kill-session", "-t", "="+name)
				}
			}
			t.Logf("killed (the sender got an error) %d, kept with the program %d, kept without it %d", killed, kept, refused)
		})
	}
}

// resting reports whether a process sleeps and has not run for a moment.
func resting(pid int) bool {
	h, err := procact.Hold("/proc", pid)
	if err != nil {
		return false
	}
	defer h.Close()
	before, err1 := h.Turns()
	time.Sleep(5 * time.Millisecond)
	after, err2 := h.Turns()
	return err1 == nil && err2 == nil && before == after && h.Was.State == 'S' && h.Was.Foreground == pid
}

// sender starts a client that is connected already, and gives a function that has it run one line of commands and says whether
// the server took all of it. It takes some ten microseconds, where a client of its own would take milliseconds.
func (s *server) sender(session string) func(line string) bool {
	s.T.Helper()
	in, out := s.Control(session)
	answers := make(chan string, 100)
	go func() {
		defer close(answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			// The last is 1 for what this client asked for, and 0 for what hooks run besides.
			if f := strings.Fields(lines.Text()); len(f) == 4 && (f[0] == "%end" || f[0] == "%error") && f[3] == "1" {
				answers <- f[0]
			}
		}
	}()
	return func(line string) bool {
		_, _ = io.WriteString(in, line+"\n")
		for range strings.Count(line, " ; ") + 1 {
			if <-answers != "%end" {
				return false
			}
		}
		return true
	}
}
