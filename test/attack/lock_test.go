package attack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// sweepOf is a user's run of the program with an environment of its own.
func sweepOf(u attack.User, program string, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := u.Command(program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

const nothingToSee = "version: 1\ncollect: {tmux: {sockets: []}, herdr: {sockets: []}, vscode: {sockets: []}, shepherd: {stores: []}, codev: {homes: []}, dirs: {agent_folders: [], discover: false}}\n"

func TestAttackEveryNameOfALock(t *testing.T) {
	t.Parallel()
	victim, attacker := attack.Users(t)
	program := attack.Winnow(t)
	tmp := filepath.Join(filepath.Dir(victim.Home), "tmp")
	must(t, errors.Join(os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777|os.ModeSticky)))
	config := filepath.Join(victim.Home, "config.yaml")
	victim.Write(t, config, nothingToSee, 0o600)
	a := attack.New(t, "another user makes what could be a lock before it is taken, to block every act")
	name := fmt.Sprintf("winnow-%d", victim.UID)
	for how, squat := range map[string]func(path string){
		"a folder":         func(p string) { attacker.Mkdir(t, p, 0o700) },
		"an open folder":   func(p string) { attacker.Mkdir(t, p, 0o777); attacker.Write(t, p+"/winnow.lock", "", 0o666) },
		"a file":           func(p string) { attacker.Write(t, p, "", 0o600) },
		"a link":           func(p string) { attacker.Link(t, "/dev/full", p) },
		"a link to a home": func(p string) { attacker.Link(t, victim.Home, p) },
		"a dangling link":  func(p string) { attacker.Link(t, tmp+"/none/none", p) },
		"a FIFO": func(p string) {
			must(t, errors.Join(syscall.Mkfifo(p, 0o666), os.Lchown(p, int(attacker.UID), int(attacker.GID))))
		},
	} {
		for _, dir := range []string{tmp, "/tmp"} {
			path := filepath.Join(dir, name)
			squat(path)
			envs := [][]string{{"HOME=" + victim.Home, "TMPDIR=" + dir}, {"HOME=" + victim.Home, "TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + path}}
			if dir == "/tmp" {
				envs = envs[:1]
			}
			for _, env := range envs {
				cmd, out := sweepOf(victim, program, env, "sweep", "--apply", "--kind", "dir", "--config", config)
				if err := cmd.Run(); err != nil {
					a.Lost("%s at %s: %v: %s", how, path, err, out)
					continue
				}
				a.Held()
			}
			must(t, os.RemoveAll(path))
		}
	}
}

func TestAttackStateFolders(t *testing.T) {
	t.Parallel()
	victim, attacker := attack.Users(t)
	program := attack.Winnow(t)
	shared := filepath.Join(filepath.Dir(victim.Home), "shared")
	must(t, errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777|os.ModeSticky)))
	at := func(name string) string { return filepath.Join(shared, name) }
	attacker.Mkdir(t, at("his"), 0o777)
	attacker.Link(t, victim.Home, at("link"))
	victim.Mkdir(t, at("open"), 0o777)
	victim.Mkdir(t, at("good"), 0o755)
	victim.Link(t, at("good"), filepath.Join(victim.Home, "mine"))
	config := filepath.Join(victim.Home, "config.yaml")
	victim.Write(t, config, nothingToSee, 0o600)
	run := func(state string, args ...string) (int, string) {
		cmd, out := sweepOf(victim, program, []string{"HOME=" + victim.Home}, append(args, "--config", config, "--state", state)...)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String()
	}
	a := attack.New(t, "a state folder that another user owns, leads to or can write")
	for _, name := range []string{"his", "his/in", "link", "link/in", "open", "open/in"} {
		for command, want := range map[string]int{
			"sweep --apply": 2, "retain x --reason y": -1, "release x": 2, "holds": 2, "history": 2, "trash": 2, "restore x": 2, "cleanup x --safe": 2,
			"sweep": 3, "doctor": 3,
		} {
			if want != 3 && command != "sweep --apply" && command != "holds" && name != "his" && name != "open" {
				continue // they ask as those two do
			}
			code, out := run(at(name), strings.Fields(command)...)
			_, err := os.Stat(filepath.Join(at(name), "ledger.db"))
			switch {
			case want >= 0 && code != want || code == 0:
				a.Lost("%s with %s: want exit %d, got %d: %s", command, name, want, code, out)
			case want >= 0 && !strings.Contains(strings.Join(strings.Fields(out), " "), "cannot be relied on"):
				a.Lost("%s with %s does not say why: %s", command, name, out)
			case err == nil:
				a.Lost("%s with %s wrote a ledger", command, name)
			default:
				a.Held()
			}
		}
	}
	for _, state := range []string{at("good"), filepath.Join(victim.Home, "mine"), filepath.Join(victim.Home, "new", "state")} {
		if code, out := run(state, "sweep", "--apply"); code != 0 {
			t.Errorf("a folder of one's own %s: want exit 0, got %d: %s", state, code, out)
		}
	}
}

// TestAttackTwoSweepsOfOneUser starts two sweeps that act, as a login and as cron do, with state folders of their own. Their git says who
// asked it: the two may not mix.
func TestAttackTwoSweepsOfOneUser(t *testing.T) {
	t.Parallel()
	victim, _ := attack.Users(t)
	program := attack.Winnow(t)
	git := stage.NeedProgram(t, "git")
	home := victim.Home
	asked := filepath.Join(home, "asked")
	victim.Mkdir(t, filepath.Join(home, "bin"), 0o755)
	victim.Write(t, filepath.Join(home, "bin", "git"), fmt.Sprintf("#!/bin/sh\necho $PPID >> %s\nsleep 0.02\nexec %s \"$@\"\n", asked, git), 0o755)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "repo"},
		{"-C", "repo", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "start"},
		{"-C", "repo", "worktree", "add", "-q", "--detach", "../wt/a"},
	} {
		if out, err := victim.Command(git, args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	config := filepath.Join(home, "config.yaml")
	victim.Write(t, config, strings.Replace(nothingToSee, "dirs: {", "dirs: {roots: ["+home+"/wt], ", 1), 0o600)
	victim.Mkdir(t, filepath.Join(home, "run"), 0o700)
	victim.Mkdir(t, filepath.Join(home, "tmp"), 0o700)
	a := attack.New(t, "a login's sweep and cron's act at the same time, each with its own environment and state folder")
	const rounds = 12
	for i := range rounds {
		must(t, os.WriteFile(asked, nil, 0o666))
		must(t, os.Chmod(asked, 0o666))
		path := "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")
		login, out1 := sweepOf(victim, program, []string{path, "HOME=" + home, "XDG_RUNTIME_DIR=" + home + "/run"}, "sweep", "--apply", "--config", config, "--state", home+"/s1")
		cron, out2 := sweepOf(victim, program, []string{path, "HOME=/", "TMPDIR=" + home + "/tmp"}, "sweep", "--apply", "--config", config, "--state", home+"/s2")
		must(t, errors.Join(login.Start(), cron.Start()))
		err := errors.Join(login.Wait(), cron.Wait())
		text, _ := os.ReadFile(asked)
		pids := strings.Fields(string(text))
		inRows := slices.Compact(slices.Clone(pids))
		switch {
		case err != nil:
			a.Lost("round %d: %v\n%s%s", i, err, out1, out2)
		case len(inRows) < 2:
			a.Lost("round %d: only %q looked: the test attacks nothing", i, inRows)
		case len(inRows) > 2:
			a.Lost("round %d: both acted at the same time: %q", i, pids)
		default:
			a.Held()
		}
	}
}
