package tower

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

// Secret is in the command line of every shellper, as Codev's hold their whole environment. It may be seen nowhere else.
const Secret = "what-the-environment-holds-is-for-nobody-else"

// marker is the program's name, by which Codev finds its shellpers.
const marker = "shellper-main.js"

// It is a shell script under any name: so it runs from every test, without a hook in the test's program.
//
//go:embed shellper-main.js
var program []byte

// makeProgram writes it, and the interpreter's name as it is in a process list.
func (s *Server) makeProgram() error {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(s.dir, marker), program, 0o600), os.Symlink(shell, filepath.Join(s.dir, "node")))
}

// shellper is a process that leads a session without a terminal and listens on a socket; below it an agent that leads one with a terminal,
// whose other side we hold. Its parent is a process of ours that does nothing but wait for it, and stands for the Tower: when that is
// killed the shellper is an orphan.
type shellper struct {
	socket         string
	parent         *exec.Cmd
	parentDone     chan struct{}
	master, orders *os.File
	gone           chan struct{} // closed when the shellper has ended
	told           listener

	mu         sync.Mutex
	pid, agent int
	self, work *os.Process // held, so that no signal goes to another of that number
	running    bool
	startMs    int64
	out        procs.Tail
}

// listener is called when an agent of a shellper has ended, and when the shellper ends.
type listener struct {
	ended func(code int)
	lost  func()
}

// job is what a shellper is to run.
type job struct {
	id, cwd string
	argv    []string
	env     []string
	deaf    bool
}

// spawn starts a shellper and gives it when its agent runs.
func (s *Server) spawn(j job, told listener) (*shellper, error) {
	sh := &shellper{socket: s.socketPath(j.id), gone: make(chan struct{}), parentDone: make(chan struct{}), told: told}
	master, slave, err := procs.Terminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer slave.Close()
	sh.master = master
	socket, err := listenSocket(sh.socket)
	if err != nil {
		master.Close()
		return nil, err
	}
	defer socket.Close()
	orders, tell, err := os.Pipe()
	if err != nil {
		master.Close()
		return nil, err
	}
	defer orders.Close()
	sh.orders = tell
	news, report, err := os.Pipe()
	if err != nil {
		sh.hangUp()
		return nil, err
	}
	defer report.Close()
	sh.parent = exec.Command("sh")
	sh.parent.Dir, sh.parent.Env = s.dir, s.environ(j)
	sh.parent.Stdin = strings.NewReader(s.script(j))
	sh.parent.ExtraFiles = []*os.File{socket, slave, orders, report}
	if err := sh.parent.Start(); err != nil {
		news.Close()
		sh.hangUp()
		return nil, fmt.Errorf("start a shellper: %w", err)
	}
	go sh.reap()
	go sh.out.Drain(master)
	go sh.listen(news)
	if !wait.Until(wait.Patience, sh.settled) {
		return nil, errors.New("start a shellper: it did not start its command within ten seconds")
	}
	return sh, nil
}

// script starts the shellper and waits for it. It is read from the standard input, for no process but the shellper may have the marker in
// its command line.
func (s *Server) script(j job) string {
	env := map[string]string{"PATH": os.Getenv("PATH"), "ANTHROPIC_API_KEY": Secret}
	conf, _ := json.Marshal(map[string]any{
		"command": j.argv[0], "args": j.argv[1:], "cwd": j.cwd, "env": env, "cols": procs.Columns, "rows": procs.Rows, "socketPath": s.socketPath(j.id),
	})
	log := strings.TrimSuffix(s.socketPath(j.id), ".sock") + ".log"
	return "setsid " + quote(filepath.Join(s.dir, "node"), filepath.Join(s.dir, marker), string(conf)) + " </dev/null >>" + quote(log) +
		" 2>&1 &\necho shellper $! >&6\nexec 3>&- 4>&- 5<&- 6>&-\nwait\n"
}

func (s *Server) environ(j job) []string {
	deaf := "no"
	if j.deaf {
		deaf = "yes"
	}
	run := quote(append([]string{j.cwd, deaf}, j.argv...)...)
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TERM=dumb", s.mark, "TOWER_RUN=" + run}, j.env...)
}

// quote writes words so that a shell reads them as they are.
func quote(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(out, " ")
}

// listenSocket gives a socket for another process to keep. No connection is accepted: the kernel lets clients connect as long as it is open.
func listenSocket(path string) (*os.File, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	defer ln.Close()
	return ln.File()
}

// answers says whether a process listens on the socket.
func answers(path string) bool {
	c, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// reap waits for the parent, and clears up when it was killed.
func (sh *shellper) reap() {
	_ = sh.parent.Wait()
	close(sh.parentDone)
}

// listen learns what happens until the shellper has ended. Then its terminal hangs up.
func (sh *shellper) listen(news *os.File) {
	defer close(sh.gone)
	defer news.Close()
	for lines := bufio.NewScanner(news); lines.Scan(); {
		var what string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &what, &n); err == nil {
			sh.note(what, n)
		}
	}
	sh.mu.Lock()
	sh.running = false
	sh.mu.Unlock()
	sh.hangUp()
	sh.told.lost()
}

func (sh *shellper) note(what string, n int) {
	sh.mu.Lock()
	switch what {
	case "shellper":
		sh.pid, sh.startMs = n, startMs(n)
		sh.self, _ = os.FindProcess(n)
	case "agent":
		sh.agent, sh.running = n, true
		sh.work, _ = os.FindProcess(n)
	case "exit":
		sh.running = false
	}
	sh.mu.Unlock()
	if what == "exit" {
		sh.told.ended(n)
	}
}

func (sh *shellper) hangUp() {
	sh.master.Close()
	sh.orders.Close()
}

// settled says whether the agent has become the command that it is to run, if it still lives.
func (sh *shellper) settled() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.pid == 0 || sh.agent == 0 {
		return false
	}
	argv := procs.Argv(sh.agent)
	return len(argv) < 4 || argv[0] != "sh" || argv[3] != "agent"
}

// alive says whether the shellper lives.
func (sh *shellper) alive() bool {
	select {
	case <-sh.gone:
		return false
	default:
		return true
	}
}

// signalAgent signals the agent and nothing else, and says whether there was one.
func (sh *shellper) signalAgent(signal unix.Signal) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.running && sh.work != nil && sh.work.Signal(signal) == nil
}

// again has the shellper run its command once more, and waits until it does.
func (sh *shellper) again() {
	sh.mu.Lock()
	sh.agent = 0
	sh.mu.Unlock()
	_, _ = sh.orders.WriteString("again\n")
	wait.Until(wait.Patience, func() bool { return !sh.alive() || sh.settled() })
}

// end ends the shellper as Codev does: it asks, and kills when that was not heard within the wait. Its agent is hung up on.
func (sh *shellper) end(within time.Duration) {
	for _, s := range []struct {
		signal os.Signal
		within time.Duration
	}{{unix.SIGTERM, within}, {unix.SIGKILL, wait.Patience}} {
		sh.mu.Lock()
		if sh.self != nil {
			_ = sh.self.Signal(s.signal)
		}
		sh.mu.Unlock()
		select {
		case <-sh.gone:
			wait.Until(wait.Patience, func() bool { return !procs.Lives(sh.pid) })
			return
		case <-time.After(s.within):
		}
	}
}

// orphan kills what stands for the Tower, so that the process that adopts orphans becomes the shellper's parent.
func (sh *shellper) orphan() {
	_ = sh.parent.Process.Kill()
	<-sh.parentDone
}

// close waits for the end of all that reads from the shellper, which was killed, and of its parent.
func (sh *shellper) close() {
	sh.orphan()
	<-sh.gone
}
