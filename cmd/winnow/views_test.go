package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestASandboxSeesOtherFolders: to a program in another mount or pid namespace a path leads to another folder, and a number is another process. Nothing is said to be not alive, and
// nothing is leased, by what the daemon has under that name.
func TestASandboxSeesOtherFolders(t *testing.T) {
	stage.NeedSecond(t, "it needs namespaces and curl")
	t.Parallel()
	for _, tool := range []string{"curl", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs ", tool)
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("unshare", "-rmpf", "--mount-proc", "mount", "--bind", dir, dir).CombinedOutput(); err != nil {
		t.Skipf("this machine allows no namespaces here: %v: %s", err, out)
	}
	w := newAPIWorld(t)
	real, placeholder := filepath.Join(w.dir, "real"), filepath.Join(w.dir, "placeholder")
	files.Write(t, filepath.Join(real, "x", "file"), "")
	files.Write(t, filepath.Join(real, "only", "file"), "")
	files.Write(t, filepath.Join(placeholder, "x", "file"), "")
	worker := exec.Command("sleep", "600")
	worker.Dir = filepath.Join(real, "x")
	musts.Do(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })

	// What is asked for stands in no command line: it would be in use by that.
	asks := func(data, route string) string {
		file := filepath.Join(t.TempDir(), "curl")
		files.Write(t, file, "silent\nshow-error\nno-buffer\nmax-time = 60\nunix-socket = "+w.socket+"\n"+data+"\nurl = http://winnow/v1/"+route+"\n")
		return "curl -K " + file + ""
	}
	whyAlive := func(what string) string { return asks("get\ndata-urlencode = \"what="+what+"\"", "why-alive") }
	lease := func(what string) string { // its first line, or the refusal
		out := filepath.Join(t.TempDir(), "out")
		return asks(`data = "{\"candidate\":\"`+what+`\",\"reason\":\"x\"}"`, "leases") + " -o " + out + " & until [ -s " + out + " ]; do sleep 0.1; done; cat " + out + "; kill $!"
	}
	command := func(what string) string {
		return itself() + " why-alive --format json --log-level debug --config " + w.config + " " + what
	}
	// In the namespace the worktree's path leads to the real folder, and outside a person holds it.
	over := func(line string) string { return "mount --bind " + real + " " + w.worktree + " && { " + line + "; }" }
	candidate := func(id string) string { return "data-urlencode = \"candidate=" + id + "\"" }
	hold := func(id string) string { return asks(`data = "{\"candidate\":\"`+id+`\",\"reason\":\"x\"}"`, "holds") }
	w.mustRun(t, "winnow", "retain", "--config", w.config, w.candidate(), "--reason", "a person's")
	t.Cleanup(func() { // a lease ends soon after its connection
		wait.Eventually(t, "the person's hold is the only one that is left", func() bool {
			out := w.mustRun(t, "winnow", "holds", "--config", w.config)
			return strings.Count(out, "held") == 1 && strings.Contains(out, "a person's")
		})
	})
	const mounts, pids = "-rm", "-rpf --mount-proc"
	for name, ask := range map[string]struct{ flags, line, says, not string }{
		"a folder, by the command":          {mounts, command(placeholder + "/x"), "done by this command itself", `"not-alive"`},
		"a folder, by the API":              {mounts, whyAlive(placeholder + "/x"), "leads it to another folder", `"not-alive"`},
		"a folder that is there alone":      {mounts, whyAlive(placeholder + "/only"), "leads it to another folder", `"not-alive"`},
		"a folder that is nowhere":          {mounts, whyAlive(placeholder + "/none/at/all"), "leads it to another folder", `"not-alive"`},
		"the same folder":                   {mounts, whyAlive(real + "/x"), `"alive"`, "leads it to another folder"},
		"the same folder that is nowhere":   {mounts, whyAlive(real + "/none/at/all"), `"state"`, "leads it to another folder"},
		"a lease of another folder":         {mounts, lease(placeholder + "/x"), "nothing was held", `"until"`},
		"a lease of the same folder":        {mounts, lease(real + "/x"), `"until"`, "nothing was held"},
		"a pid in the same pid namespace":   {mounts, whyAlive("1"), `"alive"`, "another pid namespace"},
		"a pid, by the command":             {pids, command("1"), "done by this command itself", `"not-alive"`},
		"a pid, by the API":                 {pids, whyAlive("1"), "another pid namespace", `"state"`},
		"a lease of a pid":                  {pids, lease("process:1@5"), "another pid namespace", `"until"`},
		"a hold on another folder":          {mounts, over(hold(w.candidate())), "nothing was held", `"owner"`},
		"a hold by a part of its path":      {mounts, over(hold("project-review")), "nothing was held", `"owner"`},
		"a release of another folder":       {mounts, over(asks("request = DELETE\nget\n"+candidate(w.candidate()), "holds")), "nothing was released", `"released"`},
		"an explanation of another folder":  {mounts, over(asks("get\n"+candidate(w.candidate()), "explain")), "nothing was explained", `"verdict"`},
		"a whole hold on another folder":    {mounts, over(asks(`data = "{\"candidate\":\"`+w.candidate()+`\",\"reason\":\"x\",\"whole\":true}"`, "holds")), "nothing was held", `"owner"`},
		"a whole release of another":        {mounts, over(asks("request = DELETE\nget\n"+candidate(w.candidate())+"\ndata = \"whole=true\"", "holds")), "nothing was released", `"released"`},
		"an explanation by an earlier look": {mounts, over(asks("get\n"+candidate(w.candidate())+"\ndata = \"latest=true\"", "explain")), "nothing was explained", `"verdict"`},
		"a hold on a pid":                   {pids, hold(processID(t, worker.Process.Pid)), "another pid namespace", `"owner"`},
		"an explanation of a pid":           {pids, asks("get\n"+candidate(processID(t, worker.Process.Pid)), "explain"), "another pid namespace", `"verdict"`},
		"an explanation of the same":        {mounts, asks("get\n"+candidate(w.candidate()), "explain"), `"verdict"`, "nothing was explained"},
		"a folder, outside of a namespace":  {"", whyAlive(placeholder + "/x"), `"state"`, "leads it to another folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "script")
			args := []string{"sh", script}
			if ask.flags != "" {
				ask.line = "mount --bind " + real + " " + placeholder + " && { " + ask.line + "; }"
				args = append(append([]string{"unshare"}, strings.Fields(ask.flags)...), args...)
			}
			files.Write(t, script, ask.line)
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env, cmd.Dir = w.env, "/"
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), ask.says) || strings.Contains(string(out), ask.not) {
				t.Errorf("want %q and not %q:\n%s", ask.says, ask.not, out)
			}
		})
	}
}
