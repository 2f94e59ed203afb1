package tmux

import (
	"bufio"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"winnow/engine/decision"
	"winnow/testkit/attack"
)

// trialsOf is how often a race is run: more by WINNOW_RACES.
func trialsOf(t *testing.T, usual int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("WINNOW_RACES")); err == nil {
		return n
	}
	return usual
}

// A program is sent to an idle shell at a random moment around the kill. Either it was sent to a session that stays, or tmux told
// the sender that there is no such session: a program that tmux took and that then died is lost.
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
			dir := filepath.Dir(s.socket)
			lines := s.sender("=bystander")
			var killed, kept, refused int
			for i := range trialsOf(t, 60) {
				name := "w" + strconv.Itoa(i)
				s.run("new-session", "-d", "-s", name)
				d := s.judged(name)
				pane := d.Identity.Session.Panes[0].ID
				var sent sync.WaitGroup
				var took bool
				rest := func(string) {}
				g := grasped(t, actuator(t, Options{Shells: []string{"sh", "dash", "bash"}, Step: func(step string) { rest(step) }}), d)
				rest = func(step string) {
					if step != StepSave {
						return
					}
					after := time.Duration(rand.Int64N(int64(raceWindow)))
					line := strings.NewReplacer("PANE", pane, "BUFFER", name, "TEXT", "touch "+dir+"/"+name+"; sleep 1000").Replace(c.send)
					sent.Go(func() {
						time.Sleep(after)
						took = lines(line)
					})
				}
				out := g.Do(t.Context(), intent(g, d))
				sent.Wait()
				there := s.has(name)
				switch {
				case !there && took:
					a.Lost("trial %d: %s: %s", i, out.Outcome, out.Detail)
				case there && out.Outcome == decision.Done:
					a.Lost("trial %d: it is there, and that it is gone was said", i)
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
					s.run("kill-session", "-t", "="+name)
				}
			}
			t.Logf("killed %d, kept with the program %d, kept without it %d", killed, kept, refused)
		})
	}
}

// raceWindow is how long after the last step before the kill a program is sent at the latest: longer than the kill takes.
const raceWindow = 25 * time.Millisecond

// sender starts a client that is connected already, and gives a function that has it run one line of commands and says whether
// the server took all of it. It takes some ten microseconds, where a client of its own would take milliseconds.
func (s *server) sender(session string) func(line string) bool {
	s.t.Helper()
	cmd := s.command("-C", "attach-session", "-t", session)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	answers := make(chan string, 100)
	go func() {
		defer close(answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if word, _, _ := strings.Cut(lines.Text(), " "); word == "%end" || word == "%error" {
				answers <- word
			}
		}
	}()
	s.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	<-answers // to attach-session
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
