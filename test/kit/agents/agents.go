// Package agents has captures of coding agents' real programs: what their processes, and those of their tools and servers, look like in
// /proc. A capture is laid out as a folder like /proc, so that tests read it as they read a machine.
//
// They were taken on Linux (x86-64, Node 20 or Bun 1.4) from the vendors' npm packages, started in a tmux pane with a home of its own. The
// agents that show tools ran a real tool call, asked for by a stand-in for the model on loopback: a shell with one command in front, one
// in the background and one in a session of its own. What people type is TEXT, what is made up again at every start is ID, and of
// environments only names are kept.
package agents

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/files"
)

// What a process of a capture is.
const (
	Agent    = "agent"    // the agent's own program
	Daemon   = "daemon"   // what its vendor runs for all of its agents
	Wrapper  = "wrapper"  // what started it for a person: npm, bunx and their shells
	Tool     = "tool"     // what it runs to do its work
	MCP      = "mcp"      // a server that it talks to over a pipe
	Terminal = "terminal" // the shell of the pane
	Server   = "server"   // the multiplexer's
)

// Capture is one agent, started in one way.
type Capture struct {
	// Name is the file's, Agent the product's; Package and Version are those of the npm package, Started the command.
	Name    string `json:"-"`
	Agent   string `json:"agent"`
	Package string `json:"package"`
	Version string `json:"version"`
	Started string `json:"started"`
	// Links are the links that lead to programs.
	Links     map[string]string `json:"links"`
	Processes []Process         `json:"processes"`
}

// Process is one process of a capture. Later ones have higher pids. Env are the names of what its environment has above the pane's.
type Process struct {
	PID     int      `json:"pid"`
	PPID    int      `json:"ppid"`
	Session int      `json:"session"`
	TTY     bool     `json:"tty"`
	Comm    string   `json:"comm"`
	Exe     string   `json:"exe"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Cwd     string   `json:"cwd"`
	Role    string   `json:"role"`
	// PIDs are the values of the variables that name another process than the capture's first agent.
	PIDs map[string]int `json:"pids"`
}

//go:embed captures/*.json
var captured embed.FS

// Captures are all of them, by name.
func Captures(tb testing.TB) []Capture {
	tb.Helper()
	entries, err := captured.ReadDir("captures")
	if err != nil {
		tb.Fatal(err)
	}
	var all []Capture
	for _, e := range entries {
		text, err := captured.ReadFile("captures/" + e.Name())
		if err != nil {
			tb.Fatal(err)
		}
		c := Capture{Name: strings.TrimSuffix(e.Name(), ".json")}
		if err := json.Unmarshal(text, &c); err != nil {
			tb.Fatalf("%s: %v", e.Name(), err)
		}
		all = append(all, c)
	}
	return all
}

// Get is the capture with that name.
func Get(tb testing.TB, name string) Capture {
	tb.Helper()
	for _, c := range Captures(tb) {
		if c.Name == name {
			return c
		}
	}
	tb.Fatalf("no capture is called %s", name)
	return Capture{}
}

// Without is the capture after the processes with these roles have ended: what they leave is handed to process 1.
func (c Capture) Without(roles ...string) Capture {
	gone, left := map[int]bool{}, []Process(nil)
	for _, p := range c.Processes {
		for _, role := range roles {
			gone[p.PID] = gone[p.PID] || p.Role == role
		}
	}
	for _, p := range c.Processes {
		if gone[p.PID] {
			continue
		}
		if gone[p.PPID] {
			p.PPID = 1
		}
		left = append(left, p)
	}
	c.Processes = left
	return c
}

// Ticks is when the process with that pid was started.
func Ticks(pid int) uint64 { return 5000 + uint64(pid) }

// Proc lays the capture out and gives the folder. Its processes are the caller's own, below a process 1 of another name.
func (c Capture) Proc(tb testing.TB) string {
	tb.Helper()
	t := tree{tb: tb, root: tb.TempDir(), agent: gonePID}
	for _, p := range c.Processes {
		if p.Role == Agent {
			t.agent = p.PID
			break
		}
	}
	top := filepath.Join(t.root, "top")
	t.write("top/home/user/mcp/server.js", "")
	for from, to := range c.Links {
		t.write(filepath.Join("top", to), "")
		up := strings.Repeat("../", strings.Count(path.Dir(from), "/"))
		t.link(filepath.Join("top", from), up+strings.TrimPrefix(to, "/"))
	}
	t.write("proc/stat", "cpu  1 2 3\nbtime 1700000000\n")
	t.write("proc/sys/kernel/random/boot_id", "0b0ae5c1-0000-4000-8000-000000000000\n")
	t.write("proc/net/tcp", "heading\n")
	t.process(top, Process{PID: 1, Session: 1, Comm: "systemd", Exe: "/usr/lib/systemd/systemd", Argv: []string{"/sbin/init"}, Cwd: "/"})
	for _, p := range c.Processes {
		t.process(top, p)
	}
	return filepath.Join(t.root, "proc")
}

// gonePID is lower than any captured one, and no process has it.
const gonePID = 99

type tree struct {
	tb   testing.TB
	root string
	// agent is the pid of the capture's first agent, gonePID where that has ended.
	agent int
}

func (t tree) process(top string, p Process) {
	dir, tty := "proc/"+strconv.Itoa(p.PID), 0
	if p.TTY {
		tty = 34817
	}
	t.write(dir+"/stat", fmt.Sprintf("%d (%s) S %d %d %d %d -1 4194304 0 0 0 0 150 50 30 20 20 0 1 0 %d 1000000 25 0\n",
		p.PID, p.Comm, p.PPID, p.Session, p.Session, tty, Ticks(p.PID)))
	environ := ""
	for _, name := range p.Env {
		value := "1"
		if strings.HasSuffix(name, "_PID") { // the agent's, which was captured before what it started
			value = strconv.Itoa(cmp.Or(p.PIDs[name], t.agent))
		}
		environ += name + "=" + value + "\x00"
	}
	t.write(dir+"/environ", environ+"HOME=/home/user\x00")
	t.write(dir+"/cmdline", strings.Join(p.Argv, "\x00")+"\x00")
	t.link(dir+"/exe", p.Exe)
	t.link(dir+"/cwd", p.Cwd)
	t.link(dir+"/root", top)
	t.link(dir+"/fd/0", "/dev/null")
}

func (t tree) write(name, text string) { files.Write(t.tb, filepath.Join(t.root, name), text) }

func (t tree) link(name, to string) { files.Link(t.tb, filepath.Join(t.root, name), to) }
