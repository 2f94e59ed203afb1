package codev

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
	kit "github.com/winnow-reaper/winnow/test/kit/tower"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// TestNeverCloses lists what is refused for any verdict, before the Tower is asked.
func TestNeverCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	good := w.identity(st)
	for _, c := range []struct {
		name   string
		change func(*decision.Terminal)
	}{
		{"one without an id", func(d *decision.Terminal) { d.ID = "" }},
		{"an id that leads elsewhere", func(d *decision.Terminal) { d.ID = "../workspaces/x" }},
		{"an id with more in it", func(d *decision.Terminal) { d.ID += "?force=1" }},
		{"an id after a newline", func(d *decision.Terminal) { d.ID = "\n" + d.ID }},
		{"a pid for an id", func(d *decision.Terminal) { d.ID = "pid-12" }},
		{"an unknown one with another's pid", func(d *decision.Terminal) { d.Listed, d.ID = false, "pid-2" }},
		{"an unknown one without a process", func(d *decision.Terminal) { d.Listed, d.ID, d.Process = false, "pid-2", nil }},
		{"an unlisted one without a process", func(d *decision.Terminal) { d.Process, d.Listed = nil, false }},
		{"pid 1", func(d *decision.Terminal) { d.Process.PID = 1 }},
		{"no pid", func(d *decision.Terminal) { d.Process.PID = 0 }},
		{"no state folder", func(d *decision.Terminal) { d.Folder = "" }},
		{"a Tower without an address", func(d *decision.Terminal) { d.Tower = "" }},
		{"a Tower on another machine", func(d *decision.Terminal) { d.Tower = "http://192.0.2.1:4100" }},
		{"a Tower with a name", func(d *decision.Terminal) { d.Tower = "http://tower.example:4100" }},
		{"a Tower on every address", func(d *decision.Terminal) { d.Tower = "http://0.0.0.0:4100" }},
		{"a name that begins like this machine's", func(d *decision.Terminal) { d.Tower = "http://127.0.0.1.example:4100" }},
		{"another name before the address", func(d *decision.Terminal) { d.Tower = "http://127.0.0.1:4100@192.0.2.1" }},
		{"a Tower with a password", func(d *decision.Terminal) { d.Tower = strings.Replace(d.Tower, "//", "//a:b@", 1) }},
		{"a Tower with a path", func(d *decision.Terminal) { d.Tower += "/x" }},
		{"a Tower with a query", func(d *decision.Terminal) { d.Tower += "?x" }},
		{"a Tower of another scheme", func(d *decision.Terminal) { d.Tower = strings.Replace(d.Tower, "http", "unix", 1) }},
	} {
		id := good
		id.Process = new(*good.Process)
		c.change(&id)
		if _, err := w.hold(id); !errors.Is(err, actuators.ErrRefused) || !strings.Contains(err.Error(), "left untouched") {
			t.Errorf("%s: %v", c.name, err)
		}
		if out := w.settle(id); out.Outcome == decision.Done {
			t.Errorf("%s: settled %+v", c.name, out)
		}
	}
	if _, err := New(w.o).Hold(t.Context(), "A1", decision.Decision{ID: "terminal:x"}); !errors.Is(err, actuators.ErrRefused) {
		t.Errorf("none: %v", err)
	}
	w.untouched(st)
}

// TestNeverList holds that a shellper on the never-list is refused, listed or not.
func TestNeverList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    func(*Options, int)
	}{
		{"by its name", func(o *Options, _ int) { o.Never.Names = []string{"nod*"} }},
		{"as a multiplexer", func(o *Options, _ int) { o.Never.Multiplexers = []string{"node"} }},
		{"as one that inherits orphans", func(o *Options, pid int) { o.Never.OrphanParents = []int{pid} }},
		{"as one that Winnow runs under", func(o *Options, pid int) { o.Never.Self = []int{pid} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, st := range []kit.TerminalState{w.builder(kit.Terminal{}), w.Husk(w.ws)} {
				id := w.identity(st)
				o := w.o
				c.o(&w.o, st.PID)
				want(t, w.act(id), decision.Refused, "left untouched")
				w.o = o
				w.untouched(st)
			}
		})
	}
}

// change is what happens to a terminal after it was judged. outcome and says are what comes of it where it happens after the last look.
type change struct {
	name    string
	change  func(*world, kit.TerminalState)
	outcome string
	says    string
	// ends is true where the change itself ends the shellper.
	ends bool
}

var changes = []change{
	{"its agent ends", func(w *world, st kit.TerminalState) { w.Exit(st.ID, 1) }, decision.Changed, "exited", false},
	{"its process ends", func(w *world, st kit.TerminalState) {
		w.ended(st)
	}, decision.Changed, "exited", true},
	{"its process ends unnoticed", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(with("status", "running")))
		end(w.t, st.PID)
	}, decision.Changed, "has ended, and the Tower still lists it", true},
	{"it gets another process", func(w *world, st kit.TerminalState) { w.SetPID(st.ID, os.Getpid()) }, decision.Changed, "says now of it", false},
	{"it is closed, process and all", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, kit.Status(200, `{"terminals":[]}`))
		end(w.t, st.PID)
	}, decision.Gone, "no longer lists it", true},
	{"the Tower forgets it", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, kit.Status(200, `{"terminals":[]}`))
	}, decision.Changed, "still runs", false},
	{"it is listed twice", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(func(all []map[string]any) any { return map[string]any{"terminals": append(all, all[0])} }))
	}, decision.Failed, "winnow does not know this answer", false},
	{"its status is an unknown word", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(with("status", "\x1b[31mpaused")))
	}, decision.Changed, "paused", false},
	{"it turns out to be an architect's", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(with("label", "Architect 2")))
	}, decision.Changed, "when it was judged", false},
	{"it turns out to be a person's", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(with("label", "Shell 2")))
	}, decision.Changed, "when it was judged", false},
	{"it turns out to be a development server", func(w *world, st kit.TerminalState) {
		w.answered(http.MethodGet, w.listing(with("label", "Dev: builder-pir-883")))
	}, decision.Changed, "when it was judged", false},
}

// TestChangedSinceItWasJudged has the world change after every step of an act, once the last look has ended among them.
func TestChangedSinceItWasJudged(t *testing.T) {
	t.Parallel()
	for i, c := range changes {
		for _, when := range []string{moments[i%3], "saved", "last"} {
			t.Run(c.name+", "+when, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				st := w.builder(kit.Terminal{})
				d := w.decide(st.ID)
				out := w.carry(t.Context(), d, func(moment string) {
					if moment == when {
						c.change(w, st)
					}
				})
				if when == "last" {
					want(t, out, c.outcome, c.says)
				} else if out.Outcome == decision.Done || out.Detail == "" {
					t.Errorf("outcome: %+v", out)
				}
				if (out.Outcome == decision.Gone) == strings.Contains(out.Detail, "left untouched") {
					t.Errorf("outcome: %+v", out)
				}
				if told := w.Mutations(); len(told) != 0 {
					t.Errorf("the Tower was asked to do %v", told)
				}
				wait.Eventually(t, "it lives or not", func() bool { return w.Alive(st.ID) != c.ends })
			})
		}
	}
}

// TestKeptByThePolicies lists terminals that are never closed, with any other facts: the shipped policies keep them.
func TestKeptByThePolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec kit.Terminal
		then func(*world, kit.TerminalState)
	}{
		{"an architect", kit.Terminal{Type: "architect", Exited: new(0)}, nil},
		{"a shell that a person opened", kit.Terminal{Type: "shell", Exited: new(0)}, nil},
		{"one of an unknown kind", kit.Terminal{NoRow: true, Exited: new(0)}, nil},
		{"one whose label says that it is an architect's", kit.Terminal{}, func(w *world, _ kit.TerminalState) {
			w.answered(http.MethodGet, w.listing(with("label", "Architect 2")))
		}},
		{"one whose label says that it is a person's", kit.Terminal{}, func(w *world, _ kit.TerminalState) {
			w.answered(http.MethodGet, w.listing(with("label", "Shell 2")))
		}},
		{"one whose label says that it is a development server", kit.Terminal{}, func(w *world, _ kit.TerminalState) {
			w.answered(http.MethodGet, w.listing(with("label", "Dev: builder-pir-883")))
		}},
		{"one whose status is unknown", kit.Terminal{}, func(w *world, _ kit.TerminalState) {
			w.answered(http.MethodGet, w.listing(with("status", "paused")))
		}},
		{"one whose status is not known", kit.Terminal{}, func(w *world, _ kit.TerminalState) {
			w.answered(http.MethodGet, w.listing(with("status", "")))
		}},
		{"one that has exited, whose number is a stranger's by now", kit.Terminal{Exited: new(0)}, func(w *world, st kit.TerminalState) {
			w.SetPID(st.ID, startFake(w.t, "node", "/usr/bin/server.js", "shellper-main.js in here").pid)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			st := w.builder(c.spec)
			if c.then != nil {
				if c.spec.Exited == nil {
					w.decide(st.ID) // without that it goes
				}
				c.then(w, st)
			}
			d, err := w.judged(t.Context(), st.ID)
			if err == nil && d.Verdict != decision.Spare {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestAnOwnRule holds that a looser rule of the operator's is carried out, and that a stricter one keeps.
func TestAnOwnRule(t *testing.T) {
	t.Parallel()
	t.Run("a looser one is carried out", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.Terminal(w.ws, kit.Terminal{Type: "shell", Exited: new(0)})
		if d, err := w.judged(t.Context(), st.ID); err != nil || d.Verdict == decision.Reap {
			t.Fatalf("%+v, %v", d, err)
		}
		w.own("reap/terminals/shells/shells.rego", `package policies.reap.terminals.shells

in_scope if input.terminal.role_kind == "shell"

findings contains {"rule": "reap.terminals.shells", "message": "m", "evidence": {}} if {
	in_scope
	input.terminal.status == "exited"
}
`)
		w.expect(st.ID)
		want(t, w.act(w.identity(st)), decision.Done, "is closed")
	})
	t.Run("a stricter one keeps", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		st := w.builder(kit.Terminal{})
		d := w.decide(st.ID)
		w.own("protect/mine/mine.rego", `package policies.protect.mine

objections contains {"rule": "protect.mine", "message": "it is mine", "evidence": {}} if input.terminal.label != "x"
`)
		want(t, w.carry(t.Context(), d, nil), decision.Changed, "it is mine", "left untouched")
		w.untouched(st)
	})
}

// TestPIDOfAnother has the number of a terminal's process be another process's, by everything that tells two apart.
func TestPIDOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st, husk := w.builder(kit.Terminal{}), w.Husk(w.ws)
	for _, good := range []decision.Terminal{w.identity(st), w.identity(husk)} {
		for _, c := range []struct {
			name   string
			change func(*decision.Process)
			want   error
		}{
			{"another start", func(p *decision.Process) { p.StartTicks++ }, actuators.ErrChanged},
			{"another boot", func(p *decision.Process) { p.BootID = "another" }, actuators.ErrChanged},
			{"another pid namespace", func(p *decision.Process) { p.PIDNamespace++ }, actuators.ErrRefused},
			{"another user", func(p *decision.Process) { p.UID++ }, actuators.ErrChanged},
			{"another name", func(p *decision.Process) { p.Name = "sleep" }, actuators.ErrChanged},
			{"another program", func(p *decision.Process) { p.Exe = "/bin/sleep" }, actuators.ErrChanged},
			{"another command line", func(p *decision.Process) { p.ArgvDigest = strings.Repeat("0", 64) }, actuators.ErrChanged},
		} {
			id := good
			id.Process = new(*good.Process)
			c.change(id.Process)
			if _, err := w.hold(id); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			// The same between the two looks.
			want(t, w.do(context.Background(), w.held(good), id), decision.Changed, "no longer what was judged first")
		}
	}
	// The Tower itself takes a stranger for the shellper.
	stranger := startFake(t, "node", "/usr/bin/server.js", "shellper-main.js in here")
	w.SetPID(st.ID, stranger.pid)
	want(t, w.act(*w.decided[st.ID].Identity.Terminal), decision.Refused, "left untouched")
	w.untouched(st)
	w.untouched(husk)
	// It has exited and had no process, and its number is a stranger's by now.
	over := w.builder(kit.Terminal{})
	w.ended(over)
	d := w.decide(over.ID)
	want(t, w.carry(t.Context(), d, func(moment string) {
		if moment == "last" {
			w.answered(http.MethodGet, w.listing(func(all []map[string]any) any {
				for _, one := range all {
					if one["id"] == over.ID {
						one["pid"] = stranger.pid
					}
				}
				return map[string]any{"terminals": all}
			}))
		}
	}), decision.Changed, "left untouched")
	if !stranger.alive() || len(w.Mutations()) != 0 {
		t.Error("the stranger was ended")
	}
}

// TestJudgedOtherwise has the second look find something that does not change the identity, and still is not what was held.
func TestJudgedOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	st := w.builder(kit.Terminal{})
	good := w.identity(st)
	g := w.held(good)
	for name, change := range map[string]func(*decision.Terminal){
		"unlisted":    func(d *decision.Terminal) { d.Listed = false },
		"exited":      func(d *decision.Terminal) { d.Status = "exited" },
		"a shell":     func(d *decision.Terminal) { d.RoleKind = "shell" },
		"a role":      func(d *decision.Terminal) { d.Role = "builder-1" },
		"a Tower":     func(d *decision.Terminal) { d.Tower = "http://127.0.0.1:1" },
		"a folder":    func(d *decision.Terminal) { d.Folder = "/" },
		"a terminal":  func(d *decision.Terminal) { d.ID = st.ID[:35] + "x" },
		"no process":  func(d *decision.Terminal) { d.Process = nil },
		"a directory": func(d *decision.Terminal) { d.Process.Cwd = "/" },
	} {
		id := good
		id.Process = new(*good.Process)
		change(&id)
		if out := w.do(context.Background(), g, id); out.Outcome != decision.Changed || !strings.Contains(out.Detail, "no longer what was judged first") {
			t.Errorf("%s: %+v", name, out)
		}
	}
	want(t, g.Act(t.Context(), decision.Intent{}), decision.Changed)
	w.untouched(st)
	// That it uses more memory by now is not a change.
	good.Process = new(*good.Process)
	good.Process.RSS++
	w.expect(st.ID)
	want(t, w.do(context.Background(), g, good), decision.Done)
}

func TestKey(t *testing.T) {
	t.Parallel()
	path := func(w *world) string { return filepath.Join(w.Home(), "local-key") }
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, w *world)
		outcome string
		says    string
	}{
		{"is the file's", func(*testing.T, *world) {}, decision.Done, "is closed"},
		{"may end with a newline", func(t *testing.T, w *world) { write(t, path(w), w.Key()+"\n") }, decision.Done, "is closed"},
		{"is the environment's first", func(t *testing.T, w *world) {
			w.env["CODEV_TOWER_KEY"] = strings.Repeat("ab", 32)
			w.SetKey(w.env["CODEV_TOWER_KEY"])
		}, decision.Done, "is closed"},
		{"is the environment's even if that is wrong", func(t *testing.T, w *world) { w.env["CODEV_TOWER_KEY"] = strings.Repeat("ab", 32) },
			decision.Failed, "it refuses the key"},
		{"of the environment that no header can hold", func(t *testing.T, w *world) { w.env["CODEV_TOWER_KEY"] = "a\r\nX-Other: b" }, decision.Refused, "holds no key"},
		{"is another Tower's", func(t *testing.T, w *world) { w.SetKey(strings.Repeat("cd", 32)) }, decision.Failed, "it refuses the key"},
		{"is not there", func(t *testing.T, w *world) { remove(t, path(w)) }, decision.Failed, "start the Tower once"},
		{"is everybody's", func(t *testing.T, w *world) { chmod(t, path(w), 0o644) }, decision.Refused, "chmod 600"},
		{"is the group's", func(t *testing.T, w *world) { chmod(t, path(w), 0o660) }, decision.Refused, "chmod 600"},
		{"is too short", func(t *testing.T, w *world) { write(t, path(w), w.Key()[:63]) }, decision.Refused, "no key of 64"},
		{"is too long", func(t *testing.T, w *world) { write(t, path(w), w.Key()+"0") }, decision.Refused, "no key of 64"},
		{"is something else", func(t *testing.T, w *world) { write(t, path(w), strings.Repeat("x", 64)) }, decision.Refused, "no key of 64"},
		{"is a folder", func(t *testing.T, w *world) {
			remove(t, path(w))
			must.Do(t, os.Mkdir(path(w), 0o700))
		}, decision.Refused, "holds no key of 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			st := w.builder(kit.Terminal{})
			id := w.identity(st)
			c.prepare(t, w)
			if c.outcome == decision.Done {
				w.expect(st.ID)
			}
			want(t, w.direct(id), c.outcome, c.says)
			if c.outcome != decision.Done {
				w.untouched(st)
			}
		})
	}
}

// TestFollowsNoRedirect holds that a Tower that points elsewhere does not have the key sent there.
func TestFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 307, 308} {
		pointing := httptest.NewServer(http.RedirectHandler(elsewhere.URL, code))
		defer pointing.Close()
		w := newWorld(t)
		st := w.builder(kit.Terminal{})
		id := w.identity(st)
		id.Tower = pointing.URL
		want(t, w.direct(id), decision.Failed, "it answers "+strconv.Itoa(code), "left untouched")
	}
	if asked.Load() != 0 {
		t.Error("it was followed")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.Remove(path))
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	must.Do(t, os.Chmod(path, mode))
}
