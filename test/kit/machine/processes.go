package machine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// order is what a starter is told to start.
type order struct {
	Argv []string
	Env  []string
	Dir  string
	// Path is the program's file where that is not the first of Argv, as with a program that gives itself a title.
	Path string
	// Pipe gives it a pipe for its input, as a server has that an agent speaks with; else its input is empty.
	Pipe bool
	// Talk gives it pipes for its input, its output and its errors, and the other ends to the starter.
	Talk bool
	// Away has it in a session of its own.
	Away bool
}

// Starter is a program that starts others: an agent, or a runner.
type Starter struct {
	m   *Machine
	PID int
	in  io.Writer
	out *bufio.Reader
}

// threadVar names the file that a program which plays Codex keeps locked, as Codex does for a thread that it has open.
const threadVar = "WINNOW_TEST_THREAD"

// lockThread locks the file that threadVar names, for as long as what it gives is open.
func lockThread() *os.File {
	path := os.Getenv(threadVar)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return f
}

// start reads orders from the input and answers each with the pid of what it started.
func start() {
	go func() {
		var pipes []*os.File // kept open
		defer runtime.KeepAlive(&pipes)
		orders := json.NewDecoder(os.Stdin)
		for {
			var o order
			if orders.Decode(&o) != nil {
				return
			}
			if o.Path == "" {
				o.Path = o.Argv[0]
			}
			cmd := exec.Command(o.Path)
			cmd.Args, cmd.Env, cmd.Dir = o.Argv, o.Env, o.Dir
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: o.Away}
			var theirs *os.File
			if o.Pipe || o.Talk { // not StdinPipe: that is closed when what it was given to ends, and others may have the other end
				r, ours, err := os.Pipe()
				if err != nil {
					fmt.Println(0, err)
					continue
				}
				cmd.Stdin, theirs, pipes = r, r, append(pipes, ours)
			}
			if o.Talk {
				ours, w, err := os.Pipe()
				if err != nil {
					fmt.Println(0, err)
					continue
				}
				cmd.Stdout, cmd.Stderr, pipes = w, w, append(pipes, ours, w)
			}
			err := cmd.Start()
			if o.Talk {
				pipes[len(pipes)-1].Close()
			}
			if theirs != nil {
				theirs.Close()
			}
			if err != nil {
				fmt.Println(0, err)
				continue
			}
			go func() { _ = cmd.Wait() }()
			fmt.Println(cmd.Process.Pid)
		}
	}()
}

// program gives the path of a program of that name which plays the role that its environment names. All are one file.
func (m *Machine) program(rel string) string {
	path := filepath.Join(m.programs, rel)
	if exists(path) {
		return path
	}
	m.must(os.MkdirAll(filepath.Dir(path), 0o755))
	one := filepath.Join(m.programs, ".program")
	if !exists(one) {
		self, err := os.Executable()
		m.must(err)
		m.must(copyFile(self, one))
	}
	m.must(os.Link(one, path))
	return path
}

// starter starts a program that starts others.
func (m *Machine) starter(path, dir string, env ...string) *Starter {
	m.t.Helper()
	return m.starts(exec.Command(path), dir, env...)
}

// scripted is a starter that an interpreter runs.
func (m *Machine) scripted(path, script, dir string) *Starter {
	m.t.Helper()
	return m.starts(exec.Command(path, script), dir)
}

func (m *Machine) starts(cmd *exec.Cmd, dir string, env ...string) *Starter {
	m.t.Helper()
	cmd.Dir, cmd.Env = dir, append(append(m.Env(), roleVar+"=starter"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	m.must(err)
	out, err := cmd.StdoutPipe()
	m.must(err)
	m.must(cmd.Start())
	go func() { _ = cmd.Wait() }()
	return &Starter{m: m, PID: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
}

// tell has the starter start something.
func (s *Starter) tell(o order, role string) int {
	s.m.t.Helper()
	o.Env = append(append(s.m.Env(), roleVar+"="+role), o.Env...)
	s.m.must(json.NewEncoder(s.in).Encode(o))
	line, err := s.out.ReadString('\n')
	s.m.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid == 0 {
		s.m.t.Fatalf("start %q: %s", o.Argv, line)
	}
	return pid
}

// kill ends the starter as a crash does: nothing that it started hears of it.
func (s *Starter) kill() {
	s.m.t.Helper()
	s.m.must(unix.Kill(s.PID, unix.SIGKILL))
	wait.Eventually(s.m.t, "the end of a starter", func() bool { return !procs.Lives(s.PID) })
}

// process adds a process.
func (m *Machine) process(pid int, name string, want bool, why string) {
	m.add(Thing{Kind: Process, Name: name, Place: strconv.Itoa(pid), Want: want, Why: why, There: func() bool { return procs.Lives(pid) }})
}

// claude is a Claude Code session: its process, and its own record of the session.
type claude struct {
	*Starter
	session string
}

func (m *Machine) claude(session, dir string) claude {
	m.t.Helper()
	c := claude{m.starter(m.program("claude"), dir), session}
	ticks, err := startTicks(c.PID)
	m.must(err)
	m.write(m.Path(".claude", "sessions", strconv.Itoa(c.PID)+".json"),
		fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":%q,"procStart":"%d"}`, c.PID, session, dir, ticks))
	return c
}

func startTicks(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return strconv.ParseUint(fields[19], 10, 64)
}

// server starts an MCP server, over a pipe, as Claude Code does.
func (c claude) server(pkg, dir string) int {
	c.m.t.Helper()
	script := c.m.Path("lib", "node_modules", pkg, "dist", "index.js")
	c.m.write(script, "// a server\n")
	c.m.write(c.m.Path("lib", "node_modules", pkg, "package.json"), fmt.Sprintf(`{"name":%q}`, pkg))
	return c.tell(order{Argv: []string{c.m.program("node"), script}, Dir: dir, Pipe: true, Env: c.env(false)}, "wait")
}

// tool starts a command of the agent's shell.
func (c claude) tool(o order, role string) int {
	c.m.t.Helper()
	o.Env = append(o.Env, c.env(true)...)
	return c.tell(o, role)
}

func (c claude) env(tool bool) []string {
	env := []string{"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=" + c.session, "AI_AGENT=claude"}
	if tool {
		env = append(env, "CLAUDE_PID="+strconv.Itoa(c.PID), "CLAUDE_CODE_CHILD_SESSION=1")
	}
	return env
}
