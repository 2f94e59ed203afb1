package attack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// source is what a snapshot says of one.
type source struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Seen   int    `json:"seen"`
}

// socketWorld is a victim with a configuration, a real tmux server and a note of every tmux that winnow runs.
type socketWorld struct {
	t                       *testing.T
	victim, attacker        attack.User
	winnow, shared, log, in string
	env                     []string
}

func newSocketWorld(t *testing.T) *socketWorld {
	t.Helper()
	real := stage.NeedProgram(t, "tmux")
	victim, attacker := attack.Users(t)
	w := &socketWorld{t: t, victim: victim, attacker: attacker, winnow: attack.Winnow(t)}
	var err error
	if w.shared, err = os.MkdirTemp(machine.Temp(), "winnow-shared-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(w.shared) })
	if err := os.Chmod(w.shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	w.log = filepath.Join(victim.Home, "tmux-runs")
	bin := filepath.Join(victim.Home, "bin")
	victim.Mkdir(t, bin, 0o755)
	victim.Write(t, filepath.Join(bin, "tmux"), fmt.Sprintf("#!/bin/sh\necho run >>%s\nexec %s \"$@\"\n", w.log, real), 0o755)
	w.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + victim.Home, "LC_ALL=C.UTF-8", "TMUX_TMPDIR=" + w.shared,
		"XDG_STATE_HOME=" + filepath.Join(victim.Home, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(victim.Home, "run")}
	victim.Mkdir(t, filepath.Join(victim.Home, "run"), 0o700)
	return w
}

// tmux starts a real server of the victim's.
func (w *socketWorld) tmux(socket string) {
	w.t.Helper()
	run := func(args ...string) error {
		cmd := w.victim.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	if err := run("new-session", "-d", "-s", "mine", "exec sleep 1000"); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = run("kill-server") })
}

// configure writes the victim's configuration.
func (w *socketWorld) configure(collect string) {
	w.t.Helper()
	w.in = filepath.Join(w.victim.Home, "winnow.yaml")
	w.victim.Write(w.t, w.in, "version: 1\nstate: "+filepath.Join(w.victim.Home, "state/winnow")+"\ncollect:\n"+collect, 0o600)
}

// run runs winnow as the victim.
func (w *socketWorld) run(args ...string) (stdout, stderr string) {
	w.t.Helper()
	cmd := w.victim.Command(w.winnow, append(args, "--config", w.in)...)
	cmd.Env = w.env
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return out.String(), complaint.String()
}

func (w *socketWorld) sources() map[string]source {
	w.t.Helper()
	out, complaint := w.run("snapshot")
	var s struct {
		Sources map[string]source `json:"sources"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		w.t.Fatalf("%v: %.300s: %s", err, out, complaint)
	}
	return s.Sources
}

func (w *socketWorld) runs() int {
	text, _ := os.ReadFile(w.log)
	return strings.Count(string(text), "run")
}

func TestAttackAnotherUsersTmuxSockets(t *testing.T) {
	t.Parallel()
	w := newSocketWorld(t)
	home := filepath.Join(w.shared, "tmux-"+strconv.Itoa(int(w.victim.UID)))
	w.attacker.Mkdir(t, home, 0o755)
	wide, own := filepath.Join(w.victim.Home, "wide"), filepath.Join(w.victim.Home, "own")
	w.victim.Mkdir(t, own, 0o700)
	w.victim.Mkdir(t, wide, 0o777)
	// The way to what is his leads through folders that he can enter.
	if err := os.Chmod(w.victim.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	w.attacker.Mkdir(t, filepath.Join(w.shared, "his"), 0o755)
	sockets := map[string]string{"tmux/default": filepath.Join(home, "default"), "tmux/wide": filepath.Join(wide, "wide"), "tmux/his": filepath.Join(w.shared, "his/his"),
		"tmux/sticky": filepath.Join(w.shared, "sticky")}
	var heard []*attack.Heard
	for _, path := range sockets {
		heard = append(heard, w.attacker.Listen(t, "unix", path))
	}
	link := filepath.Join(own, "link")
	w.victim.Link(t, sockets["tmux/his"], link)
	w.tmux(filepath.Join(own, "mine"))
	w.configure("  tmux: {sockets: [auto, " + strings.Join([]string{sockets["tmux/wide"], sockets["tmux/sticky"], link, filepath.Join(own, "mine")}, ", ") + "]}\n")
	w.env = append(w.env, "TMUX="+sockets["tmux/his"]+",12,0")
	a := attack.New(t, "another user makes tmux's folder first, or has a socket where the victim's configuration or TMUX leads: snapshot and sweep --apply")
	for i := range 3 {
		before := w.runs()
		sources := w.sources()
		for _, name := range []string{"tmux/auto", "tmux/wide", "tmux/sticky", "tmux/his"} {
			s, ok := sources[name]
			if name == "tmux/his" && !ok {
				s = sources["tmux/link"] // both lead to the same
			}
			if s.Status != "failed" || !strings.Contains(s.Error, "user") {
				a.Lost("%s is %+v", name, s)
				continue
			}
			a.Held()
		}
		if mine := sources["tmux/mine"]; mine.Status != "ok" || mine.Seen != 1 {
			t.Errorf("the victim's own server is %+v", mine)
		}
		if n := w.runs() - before; n != 1 {
			a.Lost("tmux was run %d times, once for the victim's own server", n)
		}
		if i == 0 {
			w.run("sweep", "--apply")
		}
	}
	for _, h := range heard {
		if n := h.Connections(); n > 0 {
			t.Errorf("%s took %d connections and heard %q", h.Address, n, h.Text())
		}
	}
}

// A socket in one's own folder, in $XDG_RUNTIME_DIR, and in tmux's own folder: what people really have.
func TestOwnTmuxSocketsAreRead(t *testing.T) {
	t.Parallel()
	w := newSocketWorld(t)
	x, home := filepath.Join(w.victim.Home, "x"), filepath.Join(w.shared, "tmux-"+strconv.Itoa(int(w.victim.UID)))
	w.victim.Mkdir(t, x, 0o755)
	w.victim.Mkdir(t, home, 0o700)
	for _, socket := range []string{filepath.Join(x, "open"), filepath.Join(w.victim.Home, "run/runtime"), filepath.Join(home, "default"), filepath.Join(w.shared, "shared")} {
		w.tmux(socket)
	}
	w.configure("  tmux: {sockets: [auto, " + filepath.Join(x, "open") + ", " + filepath.Join(w.victim.Home, "run/runtime") + ", " + filepath.Join(w.shared, "shared") + "]}\n")
	sources := w.sources()
	for _, name := range []string{"tmux/open", "tmux/runtime", "tmux/default", "tmux/shared"} {
		if s := sources[name]; s.Status != "ok" || s.Seen != 1 {
			t.Errorf("%s is %+v", name, s)
		}
	}
}

func TestAttackAnotherUserHasTheTowersPortAndHerdrsSocket(t *testing.T) {
	t.Parallel()
	w := newSocketWorld(t)
	farm := filepath.Join(w.victim.Home, ".agent-farm")
	w.victim.Mkdir(t, farm, 0o700)
	key := strings.Repeat("0123456789abcdef", 4)
	w.victim.Write(t, filepath.Join(farm, "local-key"), key, 0o600)
	w.attacker.Mkdir(t, filepath.Join(w.shared, "his"), 0o755)
	herdr := w.attacker.Listen(t, "unix", filepath.Join(w.shared, "his/herdr.sock"))
	w.victim.Mkdir(t, filepath.Join(w.victim.Home, ".config"), 0o700)
	w.victim.Mkdir(t, filepath.Join(w.victim.Home, ".config/herdr"), 0o700)
	w.victim.Link(t, filepath.Join(w.shared, "his/herdr.sock"), filepath.Join(w.victim.Home, ".config/herdr/herdr.sock"))
	a := attack.New(t, "another user listens on the Tower's port and on the herdr socket that the victim's folder leads to")
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		heard := w.attacker.Listen(t, "tcp", at)
		w.configure("  tmux: {sockets: []}\n  codev: {tower: \"http://" + heard.Address + "\"}\n")
		for range 3 {
			sources := w.sources()
			codev, tab := sources["codev/default"], sources["herdr/default"]
			switch {
			case strings.Contains(heard.Text(), key) || heard.Text() != "":
				a.Lost("he heard %q", heard.Text())
			case codev.Status != "failed" || !strings.Contains(codev.Error, "another user") || strings.Contains(codev.Error, key):
				a.Lost("the state folder is %+v", codev)
			case herdr.Connections() > 0:
				a.Lost("herdr's socket took %d connections", herdr.Connections())
			case tab.Status != "failed" || !strings.Contains(tab.Error, "another user"):
				a.Lost("the herdr server is %+v", tab)
			default:
				a.Held()
			}
		}
	}
}
