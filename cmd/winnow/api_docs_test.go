package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestTheExamplesOfTheAPI runs the shell commands of docs/guides/orchestrators.md as they stand, one after another, against the real daemon.
func TestTheExamplesOfTheAPI(t *testing.T) {
	t.Parallel()
	startsOften(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl: ", err)
	}
	w := newCrashFolder(t)
	state := filepath.Join(w.dir, ".local", "state", "winnow")
	musts.Do(t, os.MkdirAll(filepath.Dir(state), 0o700))
	files.Write(t, w.config, strings.Replace(w.configuration(t), "state: "+w.dir+"/state", "state: "+state, 1)+"run: {rest: 100ms}\n")
	d := w.daemon(t)
	c := client.New(filepath.Join(state, "api.sock"))
	defer c.Close()
	d.says(`\b1 candidate to go|1 that may go`)

	page := string(musts.Get(os.ReadFile("../../docs/guides/orchestrators.md"))(t))
	var script []string
	for _, m := range shellBlock.FindAllStringSubmatch(page, -1) {
		script = append(script, m[1])
	}
	if len(script) < 5 {
		t.Fatalf("%d blocks of shell: the page is not read", len(script))
	}
	cmd := exec.CommandContext(wait.Within(t, 2*wait.Patience), "sh", "-euc", strings.Join(script, "\n"))
	cmd.Env, cmd.Dir, cmd.WaitDelay = w.env, w.worktree, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, says := range []string{
		`"winnow.state/v1"`, `"winnow.alive/v1"`, `"winnow.explanation/v1"`, `"reason":"a review"`, `"released"`, `"a build"`, `"winnow.report/v1"`, `"reason":"a migration"`, `"resumed":true`, ": winnow\n",
	} {
		if !strings.Contains(strings.ReplaceAll(string(out), `": `, `":`), strings.ReplaceAll(says, `": `, `":`)) {
			t.Errorf("no example says %s:\n%s", says, out)
		}
	}
	wait.Eventually(t, "nothing is held after the examples", func() bool {
		holds, err := c.Holds(context.Background())
		return err == nil && len(holds) == 0
	})
}
