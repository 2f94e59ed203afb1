package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// elsewhere is a second configuration of a world that differs in its state folder alone.
func (w *crashWorld) elsewhere(t *testing.T) (config string) {
	t.Helper()
	config = filepath.Join(w.dir, "elsewhere.yaml")
	files.Write(t, config, strings.Replace(w.configuration(t), w.dir+"/state\n", w.dir+"/elsewhere\n", 1))
	return config
}

// TestGrantAtEachPointOfAnAct: a hold and a lease that are asked for at any step of an act on a folder. Either they are granted and the folder stays, or they are refused, because the act has
// begun, and it goes. A lease counts for a sweep of another state folder too.
func TestGrantAtEachPointOfAnAct(t *testing.T) {
	startsOften(t)
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl: ", err)
	}
	for at, begun := range map[string]bool{"dir.refs": false, "act.begin": false, "dir.check": true, "dir.trash": true, "dir.look": true, "dir.admin": true} {
		for _, how := range []string{"hold", "lease", "lease elsewhere", "lease on a part"} {
			if begun && strings.HasPrefix(how, "hold") && at != "dir.check" && at != "dir.trash" { // it looks first, and the folder is away
				continue
			}
			if how != "lease" && at != "dir.check" && !stage.Second() { // the first stage: each point in one way, each way at one point
				continue
			}
			t.Run(at+" "+how, func(t *testing.T) {
				t.Parallel()
				w := newAPIWorld(t)
				config, told, pid, candidate := w.config, filepath.Join(w.dir, "told"), filepath.Join(w.dir, "pid"), w.candidate()
				if how == "lease elsewhere" {
					config = w.elsewhere(t)
					w.mustRun(t, "winnow", "sweep", "--config", config, "--kind", "dir")
				}
				line := fmt.Sprintf("%s retain --config %s %s --reason later >%s 2>&1 || true", itself(), w.config, candidate, told)
				if how == "lease on a part" {
					candidate += "/node_modules"
				}
				if strings.HasPrefix(how, "lease") {
					line = fmt.Sprintf(`%s -sN --unix-socket %s -o %s -d '{"candidate":"%s","reason":"a build"}' http://winnow/v1/leases </dev/null >%[3]s.log 2>&1 & echo $! >%[5]s; until [ -s %[3]s ]; do sleep 0.05; done`,
						curl, w.socket, told, candidate, pid)
				}
				t.Cleanup(func() {
					if n, err := os.ReadFile(pid); err == nil {
						_ = exec.Command("kill", strings.TrimSpace(string(n))).Run()
					}
				})
				var out []byte
				wait.Eventually(t, "an act was begun", func() bool {
					out, _ = w.run([]string{runAt + "=" + at + ":" + line}, "winnow", "sweep", "--config", config, "--kind", "dir", "--apply")
					_, err := os.Stat(told)
					return err == nil
				})
				answer := string(musts.Get(os.ReadFile(told))(t))
				refused := strings.Contains(answer, "it came too late")
				switch {
				case !begun && (refused || !w.here() || !strings.Contains(string(out), "held by")):
					t.Errorf("the folder is there: %v; told %s\n%s", w.here(), answer, out)
				case begun && (!refused || w.here()):
					t.Errorf("the folder is there: %v; told %s\n%s", w.here(), answer, out)
				}
			})
		}
	}
}

// TestAGrantAfterAWinnowThatWasKilled: what a winnow had begun when it was killed keeps no lease from being granted, and what was granted then comes back where it was away.
func TestAGrantAfterAWinnowThatWasKilled(t *testing.T) {
	stage.NeedSecond(t, "the crash at each step")
	startsOften(t)
	t.Parallel()
	for _, at := range []string{"dir.check", "dir.look", "dir.unlock"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newAPIWorld(t)
			before := w.state(t)
			wait.Eventually(t, "it was killed within the act", func() bool {
				_, err := w.run([]string{runAt + "=" + at + ":kill -KILL $PPID; sleep 1"}, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
				return w.unsettled(t) == 1 && err != nil
			})
			l := musts.Get(w.c.Lease(wait.Within(t, 3*wait.Patience), w.worktree, "a build"))(t)
			out, _ := w.run(nil, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
			if !w.here() {
				t.Fatalf("it was leased, and is away:\n%s", out)
			}
			musts.Equal(t, before, w.state(t), "the worktree")
			musts.Do(t, l.Close())
			wait.Eventually(t, "it goes without a lease", func() bool {
				_, _ = w.run(nil, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
				return !w.here()
			})
		})
	}
}

// processID is the id of a process as a candidate.
func processID(t *testing.T, pid int) string {
	t.Helper()
	text := string(musts.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t))
	var ticks uint64
	musts.Get(fmt.Sscan(strings.Fields(text[strings.LastIndexByte(text, ')')+2:])[19], &ticks))(t)
	return snapshot.ProcessID(pid, ticks)
}

// TestGrantsMeetWhatIsTaken: what a hold is on is found in what an act takes, and nothing else is.
func TestGrantsMeetWhatIsTaken(t *testing.T) {
	t.Parallel()
	parent, child := exec.Command("sh", "-c", "sleep 900 & echo $!; wait"), 0
	pipe := musts.Get(parent.StdoutPipe())(t)
	musts.Do(t, parent.Start())
	musts.Get(fmt.Fscan(pipe, &child))(t)
	t.Cleanup(func() {
		_ = exec.Command("kill", fmt.Sprint(child)).Run()
		_ = parent.Process.Kill()
		_ = parent.Wait()
	})
	id := func(pid int) string { return processID(t, pid) }
	panes := []decision.Pane{{PID: parent.Process.Pid}}
	of := map[string]decision.Identity{
		"process:" + fmt.Sprint(parent.Process.Pid): {Process: &decision.Process{PID: parent.Process.Pid}},
		"session:tmux/x/$1":                         {Session: &decision.Session{Panes: panes}},
		"tab:herdr/x/w1:t1":                         {Tab: &decision.Tab{Panes: panes}},
		"tab:vscode/x/7":                            {Editor: &decision.Editor{PID: parent.Process.Pid}},
		"terminal:codev/x/a":                        {Terminal: &decision.Terminal{Process: &decision.Process{PID: parent.Process.Pid}}},
	}
	line := func(id string) ([]int, error) { return state.LineOf("/proc", id) }
	for candidate, identity := range of {
		taken := ledger.Takes(decision.Decision{ID: candidate, Identity: identity})
		for held, want := range map[string]bool{candidate: true, id(parent.Process.Pid): true, id(child): true, snapshot.ProcessID(child, 1): false, id(os.Getpid()): false, "dir:/": false} {
			musts.Equal(t, want, taken.Holds(held, time.Now(), line), "%s and a hold on %s", candidate, held)
		}
	}
	dir := ledger.Takes(decision.Decision{ID: "dir:/w/a", Identity: decision.Identity{Dir: &decision.Dir{Path: "/w/a"}}})
	for held, want := range map[string]bool{"dir:/w/a": true, "dir:/w/a/b": true, "dir:/w": true, "dir:/": true, "dir:/w/ab": false, "dir:/v": false, id(child): false} {
		musts.Equal(t, want, dir.Holds(held, time.Now(), line), "a folder and a hold on %s", held)
	}
}
