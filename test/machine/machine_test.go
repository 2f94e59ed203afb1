// Package machine_test measures on a made-up machine how much of what a person wants gone goes, and that nothing goes that must stay.
package machine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

func TestMain(m *testing.M) { machine.Main(m) }

// The least shares of what is wanted, in percent, that the first look proposes and that two plain applies have done.
const leastProposed, leastDone = 85, 85

// waits are the defaults but for the times that a test cannot wait for: how long processes and sessions are old enough, and how far two looks
// are apart. The ages of folders are the defaults, for their times can be set back.
const waits = `version: 1
rules:
  grace: {process: 1s, session: 1s}
  confirm_after: 1s
  confirm_process_after: 2s
  session_idle: 1s
  steady_for: 0s
`

type report struct {
	Decisions []struct {
		ID, Kind, Verdict, Action, Label string
		After                            []string
		Findings, Objections             []struct{ Rule, Message string }
	}
	Acts []struct{ Candidate, Outcome, Detail string }
}

func TestMachine(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	if attack.Raced {
		t.Skip("the program that it measures is built without the race detector; .ci/run runs it without")
	}
	if !machine.Enter(t) {
		return
	}
	m := machine.New(t)
	m.Build()
	program := filepath.Join(m.Home, "bin", "winnow")
	build := exec.Command("go", "build", "-o", program, "github.com/winnow-reaper/winnow/cmd/winnow")
	build.Dir = machine.Source()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build winnow: %v\n%s", err, out)
	}
	config := filepath.Join(m.Home, "winnow.yaml")
	files.Write(t, config, waits)
	sweep := func(args ...string) report {
		t.Helper()
		return sweeps(t, m, program, m.Env(), append([]string{"--config", config}, args...)...)
	}

	time.Sleep(1500 * time.Millisecond)
	first := sweep()
	for _, d := range first.Decisions {
		if d.Kind == machine.Folder && !strings.HasPrefix(d.ID, "dir:"+m.Home) {
			t.Fatalf("%s is a candidate, and is not of this machine", d.ID)
		}
	}
	proposed := m.Shares(func(thing machine.Thing) bool { return first.proposes(thing) })
	time.Sleep(2500 * time.Millisecond)
	applied := sweep("--apply")
	time.Sleep(2500 * time.Millisecond)
	again := sweep("--apply", "--all")
	done := m.Shares(func(thing machine.Thing) bool { return !thing.There() })

	if n := applied.followed(); n == 0 {
		t.Error("no folder went in the same sweep as all that used it")
	}
	for _, thing := range m.Things {
		switch {
		case !thing.Want && !thing.There():
			t.Errorf("%s is gone (%s), and had to stay: %s\n%s", thing.Name, thing.Place, thing.Why, applied.said(thing)+again.said(thing))
		case thing.Want && thing.There():
			t.Logf("stays: %s (%s), wanted gone: %s\n%s", thing.Name, thing.Place, thing.Why, again.said(thing))
		}
	}
	figures.Logf(t, "proposed: %s", machine.Line(proposed))
	figures.Logf(t, "done: %s", machine.Line(done))
	if p := proposed[""]; 100*p.Met < leastProposed*p.Wanted {
		t.Errorf("%s of what a person wants gone is proposed; at least %d %% is required", p, leastProposed)
	}
	if d := done[""]; 100*d.Met < leastDone*d.Wanted {
		t.Errorf("%s of what a person wants gone is done; at least %d %% is required", d, leastDone)
	}
}

// sweeps has winnow sweep once.
func sweeps(t *testing.T, m *machine.Machine, program string, env []string, args ...string) report {
	t.Helper()
	cmd := exec.Command(program, append([]string{"sweep", "--format", "json"}, args...)...)
	cmd.Env, cmd.Dir = env, m.Home
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var r report
	if json.Unmarshal(out, &r) != nil {
		t.Fatalf("winnow sweep %q: %v\n%s%s", args, err, out, said.String())
	}
	if path := os.Getenv("WINNOW_TEST_REPORT"); path != "" {
		files.Write(t, path+t.Name()+strings.ReplaceAll(strings.Join(args, ""), "/", ""), string(out))
	}
	return r
}

// of gives the decision's index about a thing, -1 without one.
func (r report) of(thing machine.Thing) int {
	for i, d := range r.Decisions {
		switch thing.Kind {
		case machine.Process:
			if strings.HasPrefix(d.ID, "process:"+thing.Place+"@") {
				return i
			}
		case machine.Session:
			if d.Kind == machine.Session && d.Label == thing.Place {
				return i
			}
		default:
			if d.ID == "dir:"+thing.Place {
				return i
			}
		}
	}
	return -1
}

// proposes reports whether the look says that the thing goes, now, after what uses it, or at the next look.
func (r report) proposes(thing machine.Thing) bool {
	i := r.of(thing)
	if i < 0 {
		return false
	}
	d := r.Decisions[i]
	if d.Verdict == "reap" || len(d.After) > 0 {
		return true
	}
	return len(d.Findings) > 0 && len(d.Objections) == 1 && d.Objections[0].Rule == "protect.debounce"
}

// followed counts the folders that went after what used them, in one sweep.
func (r report) followed() (n int) {
	for _, d := range r.Decisions {
		for _, a := range r.Acts {
			if len(d.After) > 0 && a.Candidate == d.ID && a.Outcome == "done" {
				n++
			}
		}
	}
	return n
}

func (r report) said(thing machine.Thing) string {
	var b strings.Builder
	if i := r.of(thing); i >= 0 {
		d := r.Decisions[i]
		b.WriteString("  " + d.ID + " " + d.Verdict + "\n")
		for _, f := range d.Findings {
			b.WriteString("    finding " + f.Rule + ": " + f.Message + "\n")
		}
		for _, o := range d.Objections {
			b.WriteString("    objection " + o.Rule + ": " + o.Message + "\n")
		}
		for _, a := range r.Acts {
			if a.Candidate == d.ID {
				b.WriteString("    act " + a.Outcome + ": " + a.Detail + "\n")
			}
		}
	} else {
		b.WriteString("    no candidate\n")
	}
	return b.String()
}
