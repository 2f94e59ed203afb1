package machine_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// leastDrawn is how many of ten drawn things that people want gone two plain applies take away, by family. It is what
// was measured.
var leastDrawn = map[string]int{"git": 10, "tmux": 8, "processes": 10, "agents": 8, "build": 10}

// The families of what was drawn by a person who had not read the rules. Each is a machine of its own, with the
// shipped settings: what is on it was left for two days before the first apply, and two more pass until the second
// one.
func TestDrawnGit(t *testing.T)       { stage.NeedSecond(t, needs); drawn(t, "git") }
func TestDrawnTmux(t *testing.T)      { stage.NeedSecond(t, needs); drawn(t, "tmux") }
func TestDrawnProcesses(t *testing.T) { stage.NeedSecond(t, needs); drawn(t, "processes") }
func TestDrawnAgents(t *testing.T)    { stage.NeedSecond(t, needs); drawn(t, "agents") }
func TestDrawnBuild(t *testing.T)     { stage.NeedSecond(t, needs); drawn(t, "build") }

const needs = "it needs programs beside Go, git and tmux, or minutes"

func drawn(t *testing.T, family string) {
	t.Helper()
	if attack.Raced {
		t.Skip("the program that it measures is built without the race detector; .ci/run runs it without")
	}
	stage.NeedProgram(t, "ssh-agent")
	if !machine.Enter(t) {
		return
	}
	m := machine.New(t)
	program := filepath.Join(m.Home, "bin", "winnow")
	m.Moved("github.com/winnow-reaper/winnow/cmd/winnow", program)
	d := m.Draw(family)

	var looks []report
	moved := []time.Duration{48 * time.Hour, 96 * time.Hour}
	for _, by := range moved {
		d.Working(time.Now().Add(by))
		looks = append(looks, sweeps(t, m, program, append(m.Env(), machine.MovedBy(by)), "--apply", "--all"))
	}
	said := func(thing machine.Thing) string {
		var b strings.Builder
		for i, r := range looks {
			fmt.Fprintf(&b, "  apply %d:\n%s", i+1, r.said(thing))
		}
		if r := looks[len(looks)-1]; r.of(thing) < 0 && thing.Kind != machine.Content {
			id := map[string]string{machine.Folder: "dir:", machine.Process: "process:",
				machine.Session: ""}[thing.Kind] + thing.Place
			cmd := exec.Command(program, "explain", id)
			cmd.Env, cmd.Dir = append(m.Env(), machine.MovedBy(moved[1])), m.Home
			out, _ := cmd.CombinedOutput()
			b.WriteString("  explain: " + strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n    ") + "\n")
		}
		return b.String()
	}

	gone, wanted, touched := 0, 0, 0
	for _, thing := range d.Drawn {
		hit := thing.Touched()
		switch {
		case !thing.Want && len(hit) > 0:
			touched++
			for _, p := range hit {
				t.Errorf("TOUCHED: %s, %s %s, had to stay: %s\n%s", thing.Name, p.Name, p.Place, thing.Why, said(p))
			}
		case thing.Want && thing.Gone():
			gone++
		case thing.Want:
			for _, p := range thing.Parts {
				if p.There() {
					t.Logf("stays: %s, %s %s, wanted gone: %s\n%s", thing.Name, p.Name, p.Place, thing.Why, said(p))
				}
			}
		}
		if thing.Want {
			wanted++
		}
	}
	figures.Logf(t, "%s, drawn: gone %d of %d, touched %d of %d", family, gone, wanted, touched, len(d.Drawn)-wanted)
	if gone < leastDrawn[family] {
		t.Errorf("%d things that people want gone are gone; at least %d are required", gone, leastDrawn[family])
	}
}
