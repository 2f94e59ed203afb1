package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/sources"
	"winnow/engine/snapshot"
	"winnow/testkit/herdr"
)

// BenchmarkLook compares one look with the commands that a careful script would run for the same facts: ps, lsof, tmux, and six git
// commands a worktree. Goal: at least 12 times faster at 10,000 processes, 1,000 panes and 1,000 worktrees.
func BenchmarkLook(b *testing.B) {
	for _, size := range []struct{ processes, panes, worktrees int }{{200, 20, 20}, {10000, 1000, 1000}} {
		name := fmt.Sprintf("processes=%d/panes=%d/worktrees=%d", size.processes, size.panes, size.worktrees)
		if testing.Short() && size.processes > 1000 {
			continue
		}
		b.Run(name, func(b *testing.B) {
			w := newLookWorld(b, size.processes, size.panes, size.worktrees)
			b.Run("winnow", func(b *testing.B) {
				for b.Loop() {
					s, err := w.app.look(context.Background(), sources.Scope{}, memory{})
					if err != nil {
						b.Fatal(err)
					}
					if len(s.Processes) < size.processes || len(s.Dirs) < size.worktrees || panesOf(s) < size.panes {
						b.Fatalf("saw %d processes, %d dirs, %d panes: %v", len(s.Processes), len(s.Dirs), panesOf(s), s.Sources)
					}
				}
			})
			b.Run("commands", func(b *testing.B) {
				for b.Loop() {
					w.commands(b)
				}
			})
		})
	}
}

func panesOf(s *snapshot.Snapshot) int {
	n := 0
	for _, x := range s.Sessions {
		n += len(x.Panes)
	}
	return n
}

type lookWorld struct {
	app       *app
	dir       string
	socket    string
	worktrees []string
}

func newLookWorld(b *testing.B, processes, panes, worktrees int) *lookWorld {
	b.Helper()
	dir, err := os.MkdirTemp("", "wb")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	w := &lookWorld{dir: dir, socket: filepath.Join(dir, "s")}
	w.git(b, "init", "-q", "-b", "main", "project")
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, "project", fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w.git(b, "-C", "project", "add", ".")
	w.git(b, "-C", "project", "commit", "-q", "-m", "start")
	for i := range worktrees {
		path := filepath.Join(dir, "wt", fmt.Sprint(i))
		w.git(b, "-C", "project", "worktree", "add", "-q", "--detach", path)
		w.worktrees = append(w.worktrees, path)
	}
	for made := 0; made < panes; {
		line := []string{"-S", w.socket, "-f", "/dev/null", "new-session", "-d", "sleep 900"}
		made++
		for i := 0; i < 49 && made < panes; i++ {
			line = append(line, ";", "new-window", "-d", "sleep 900")
			made++
		}
		if out, err := exec.Command("tmux", line...).CombinedOutput(); err != nil {
			b.Fatalf("tmux: %v: %s", err, out)
		}
	}
	b.Cleanup(func() { _ = exec.Command("tmux", "-S", w.socket, "kill-server").Run() })
	for range processes {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "900"}, &os.ProcAttr{Dir: "/", Env: []string{"A=b"}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { p.Kill(); p.Wait() })
	}
	file := filepath.Join(dir, "config.yaml")
	// Grace keeps every worktree young: the look stays at what a repository says at once.
	text := fmt.Sprintf("version: 1\nstate: %s/state\ncollect: {tmux: {sockets: [%s]}, dirs: {roots: [%s/wt], agent_folders: [], discover: false}, timeout: 5m}\nrules: {grace: {dir: 48h}}\n", dir, w.socket, dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		b.Fatal(err)
	}
	w.app = &app{out: io.Discard, errOut: io.Discard, cfg: cfg, log: hclog.NewNullLogger()}
	return w
}

func (w *lookWorld) git(b *testing.B, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// commands asks the same of the usual programs. lsof is left out where it is not installed, to the commands' advantage.
func (w *lookWorld) commands(b *testing.B) {
	lines := [][]string{
		{"ps", "-eo", "pid,ppid,pgid,sess,uid,lstart,args"},
		{"lsof", "-n", "-P", "-w", "-F", "pfn"},
		{"tmux", "-S", w.socket, "list-panes", "-a", "-F", "#{session_name} #{pane_pid} #{pane_current_command} #{pane_current_path}"},
	}
	for _, wt := range w.worktrees {
		for _, g := range []string{"status --porcelain", "rev-parse HEAD", "symbolic-ref -q HEAD", "log -1 --format=%ct", "rev-list --count HEAD --not --remotes", "stash list"} {
			lines = append(lines, append([]string{"git", "-C", wt}, strings.Fields(g)...))
		}
	}
	for _, l := range lines {
		if _, err := exec.LookPath(l[0]); err != nil {
			continue
		}
		// symbolic-ref says no with exit 1 on a detached HEAD, and lsof on what it could not read.
		if err := exec.Command(l[0], l[1:]...).Run(); err != nil && !slices.Contains([]string{"symbolic-ref", "-n"}, l[min(3, len(l)-1)]) && l[0] != "lsof" {
			b.Fatalf("%v: %v", l, err)
		}
	}
}

// BenchmarkHerdr compares a whole dry sweep of a herdr server of 500 tabs, 40 of them helpers' with a shell each, with asking the server
// for what runs in each of these panes in turn, as a simple reaper does. The server reads a request at once, or lets it wait as long
// as herdr may.
func BenchmarkHerdr(b *testing.B) {
	for _, poll := range []time.Duration{0, 100 * time.Millisecond} {
		b.Run(fmt.Sprintf("poll=%s", poll), func(b *testing.B) {
			s := herdr.Start(b, herdr.Options{NoSchema: true, Poll: poll})
			var helpers []string
			ws := s.Workspace("acme")
			for i := range 500 {
				if i%12 == 5 && len(helpers) < 40 {
					helpers = append(helpers, s.Tab(ws, fmt.Sprint("review TASK-", i)))
				} else {
					s.Tab(ws, fmt.Sprint("TASK-", i), herdr.Pane{Fake: &herdr.Info{ShellPID: 1}})
				}
			}
			b.Run("winnow", func(b *testing.B) {
				sw := sweeperOf(b, fmt.Sprintf("collect: {herdr: {sockets: [%s]}, shepherd: {stores: []}, tmux: {sockets: []}, dirs: {agent_folders: [], discover: false}}", s.Socket()))
				before := len(s.Calls())
				for b.Loop() {
					r, err := sw.sweep(b.Context(), sweepFlags{show: showFlags{kinds: snapshot.KindNames()}})
					if err != nil {
						b.Fatal(err)
					}
					if got := r.Census[snapshot.KindTab]; got.Seen != 500 || got.InScope != len(helpers) {
						b.Fatalf("%+v: %v", got, r.Sources)
					}
				}
				b.ReportMetric(float64(len(s.Calls())-before)/float64(b.N), "requests/op")
			})
			b.Run("in-turn", func(b *testing.B) {
				before := len(s.Calls())
				for b.Loop() {
					ask(b, s.Socket(), "tab.list", "{}")
					ask(b, s.Socket(), "pane.list", "{}")
					for _, tab := range helpers {
						ask(b, s.Socket(), "pane.process_info", fmt.Sprintf(`{"pane_id":%q}`, s.Panes(tab)[0].ID))
					}
				}
				b.ReportMetric(float64(len(s.Calls())-before)/float64(b.N), "requests/op")
			})
		})
	}
}

// ask is one request on a connection of its own.
func ask(b *testing.B, socket, method, params string) {
	b.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"id":"1","method":%q,"params":%s}`+"\n", method, params)
	if _, err := bufio.NewReaderSize(conn, 1<<20).ReadBytes('\n'); err != nil {
		b.Fatal(err)
	}
}

// sweeperOf is a sweeper with a state folder of its own.
func sweeperOf(b *testing.B, more string) *sweeper {
	b.Helper()
	dir := b.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("version: 1\nstate: %s/state\n%s\n", dir, more)), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		b.Fatal(err)
	}
	a := &app{out: io.Discard, errOut: io.Discard, cfg: cfg, log: hclog.NewNullLogger()}
	e, p, err := a.engine(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s, err := a.openSweeper(b.Context(), e, p, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.close)
	return s
}

// BenchmarkFirstDecision compares the program from its start to its first decision with opa eval of the same subject.
// Goal: at most 0.6 of opa eval.
func BenchmarkFirstDecision(b *testing.B) {
	dir := b.TempDir()
	module, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	winnowBin, opaBin := filepath.Join(dir, "winnow.bin"), filepath.Join(dir, "opa.bin")
	build := func(dir string, args ...string) {
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("go build: %v: %s", err, out)
		}
	}
	build(module, "-o", winnowBin, "./cmd/winnow")
	build(filepath.Join(module, "tools"), "-o", opaBin, "github.com/open-policy-agent/opa")
	snap, subject := filepath.Join(dir, "s.json"), filepath.Join(dir, "subject.json")
	now := time.Now().UTC().Format(time.RFC3339)
	doc := fmt.Sprintf(`{"schema": %q, "taken_at": %q, "host": {}, "sources": {"dirs//w": {"kind": "dirs", "status": "ok", "took": 0, "seen": 1}},
		"dirs": {"dir:/w/a-review-0123abcd": {"source": "dirs//w", "name": "a-review-0123abcd", "path": "/w/a-review-0123abcd"}}}`, snapshot.Schema, now)
	if err := os.WriteFile(snap, []byte(doc), 0o600); err != nil {
		b.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	runIn := func(name string, args ...string) []byte {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%s: %v: %s%s", name, err, out, stderr.Bytes())
		}
		return out
	}
	line := runIn(winnowBin, "subjects", snap)
	_, input, ok := bytes.Cut(bytes.TrimSpace(line), []byte(`"input":`))
	if !ok {
		b.Fatalf("no subject: %s", line)
	}
	if err := os.WriteFile(subject, bytes.TrimSuffix(input, []byte("}")), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("winnow", func(b *testing.B) {
		for b.Loop() {
			runIn(winnowBin, "decide", snap, "--format", "json")
		}
	})
	b.Run("opa", func(b *testing.B) {
		for b.Loop() {
			runIn(opaBin, "eval", "-d", filepath.Join(module, "policies"), "-i", subject, "data.policies.main.decision")
		}
	})
}
