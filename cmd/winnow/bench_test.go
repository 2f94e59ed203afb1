package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/test/kit/herdr"
)

// lookWorld is a machine to look at, and the program that looks at it.
type lookWorld struct {
	app         *app
	dir, socket string
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
		w.git(b, "-C", "project", "worktree", "add", "-q", "--detach", filepath.Join(dir, "wt", fmt.Sprint(i)))
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
	w.app = (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}), out: io.Discard, errOut: io.Discard}).watched()
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
					r, err := sw.Sweep(b.Context(), sweep.Options{Show: sweep.Listing{Kinds: snapshot.KindNames()}})
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
func sweeperOf(b *testing.B, more string) *sweep.Sweeper {
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
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}), out: io.Discard, errOut: io.Discard}).watched()
	e, p, err := a.Engine(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s, err := a.OpenSweeper(b.Context(), e, p, false, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s
}
