package tower

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

// Builder is a row of builders. What is empty gets what Codev would write.
type Builder struct {
	ID       string
	Name     string // the id if ""
	Worktree string // .builders/<id without "builder-"> of the workspace if ""
	Type     string // "spec" if ""
	Status   string // "implementing" if ""
	Task     string // null if ""
	Issue    string // null if ""
	Terminal string // null if ""
}

// Terminal is what to open.
type Terminal struct {
	Type   string // architect, builder or shell; builder if ""
	RoleID string // null in the row if "" and it is a builder's; "main" for an architect, "shell-<n>" for a shell
	Label  string // what Codev would give if ""
	Cwd    string // the builder's worktree if it has a row, else the workspace
	// Command is the agent; none is `cat`, which is quiet and waits. It gets Env on top of what it needs.
	Command []string
	Env     []string
	// Dev is a development server of the role: labelled "Dev: <role>", and without a row.
	Dev bool
	// Exited has the agent end at once with this code, as Exit does.
	Exited *int
	// NoRow leaves out the row, NoSession the Tower's knowledge of it.
	NoRow, NoSession bool
	// NoStart is a row without the shellper's start time, NoSocket one without its socket, as old ones are.
	NoStart, NoSocket bool
	// Deaf is a shellper that does not end when asked to.
	Deaf bool
	// Orphan is one whose parent is not the Tower.
	Orphan bool
	// Quiet is how long the Tower reports that it printed nothing.
	Quiet time.Duration
}

// TerminalState is a terminal as it was started: its id, and the pids of its shellper, by which Codev knows it, and of its agent.
type TerminalState struct {
	ID, Socket string
	PID, Agent int
	// Tower is the shellper's parent unless it is an orphan.
	Tower int
}

// terminal is one that there is or was.
type terminal struct {
	id, socketID, workspace string
	spec                    Terminal
	sh                      *shellper
	pid                     int // the pid that the Tower reports

	createdAt time.Time
	lastData  time.Time // when it printed nothing so far
	exited    bool
	code      *int // what Exit wants the code to be, and when it has exited what it was
	adopted   bool // taken over from an earlier life of the Tower
	closing   bool // the Tower is ending it
}

// Workspace makes a folder one that Codev knows, and gives its real path. The folder is not made.
func (s *Server) Workspace(path string) string {
	path = realPath(path)
	s.Exec(`INSERT INTO known_workspaces (workspace_path, name) VALUES (?, ?) ON CONFLICT (workspace_path) DO UPDATE SET last_launched_at = datetime('now')`,
		path, filepath.Base(path))
	return path
}

// realPath is the path without symbolic links, as far as there is something.
func realPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

// Builder writes a builder's row; it makes no folder.
func (s *Server) Builder(workspace string, b Builder) {
	workspace = realPath(workspace)
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&b.Name, b.ID)
	fill(&b.Worktree, filepath.Join(workspace, ".builders", strings.TrimPrefix(b.ID, "builder-")))
	fill(&b.Type, "spec")
	fill(&b.Status, "implementing")
	now := text(time.Now())
	s.Exec(`INSERT INTO builders (workspace_path, id, name, status, phase, worktree, branch, type, task_text, protocol_name, issue_number,
		terminal_id, spawned_by_architect, started_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		workspace, b.ID, b.Name, b.Status, "init", b.Worktree, "builder/"+filepath.Base(b.Worktree), b.Type, orNull(b.Task), nil, orNull(b.Issue),
		orNull(b.Terminal), "main", now, now)
}

// RemoveBuilder takes the row away, which is what `afx cleanup` does to it, and nothing else.
func (s *Server) RemoveBuilder(workspace, id string) {
	workspace = realPath(workspace)
	if s.count(`SELECT count(*) FROM builders WHERE workspace_path = ? AND id = ?`, workspace, id) == 0 {
		panic(fmt.Sprintf("remove builder %s: it has no row in %s", id, workspace))
	}
	s.Exec(`DELETE FROM builders WHERE workspace_path = ? AND id = ?`, workspace, id)
}

// Terminal opens a terminal in the workspace and gives it when its agent runs, or has ended if that is asked for.
func (s *Server) Terminal(workspace string, spec Terminal) TerminalState {
	now := time.Now()
	t := &terminal{id: newID(), socketID: newID(), workspace: realPath(workspace), createdAt: now, lastData: now.Add(-spec.Quiet)}
	t.spec = s.complete(t.workspace, spec)
	sh, err := s.spawn(t.job(), listener{func(code int) { s.agentEnded(t, code) }, func() { s.shellperEnded(t) }})
	if err != nil {
		panic(fmt.Sprintf("open a terminal: %v", err))
	}
	s.turn.Lock()
	t.sh, t.pid = sh, sh.pid
	s.all = append(s.all, t)
	if !spec.NoSession {
		s.registered = append(s.registered, t)
	}
	if !spec.NoRow && !spec.Dev {
		s.writeRow(t)
	}
	state := t.state()
	s.turn.Unlock()
	if spec.Orphan {
		sh.orphan()
	}
	if spec.Exited != nil {
		s.Exit(t.id, *spec.Exited)
	}
	return state
}

// complete fills in what was left open.
func (s *Server) complete(workspace string, spec Terminal) Terminal {
	if spec.Type == "" {
		spec.Type = "builder"
	}
	if len(spec.Command) == 0 {
		spec.Command = []string{"cat"}
	}
	if spec.RoleID == "" && spec.Type == "architect" {
		spec.RoleID = "main"
	}
	if spec.RoleID == "" && spec.Type == "shell" {
		spec.RoleID = fmt.Sprintf("shell-%d", 1+s.count(`SELECT count(*) FROM terminal_sessions WHERE workspace_path = ? AND type = 'shell'`, workspace))
	}
	if spec.Cwd == "" {
		spec.Cwd = workspace
		if s.count(`SELECT count(*) FROM builders WHERE workspace_path = ? AND id = ?`, workspace, spec.RoleID) == 1 {
			_ = s.db.QueryRow(`SELECT worktree FROM builders WHERE workspace_path = ? AND id = ?`, workspace, spec.RoleID).Scan(&spec.Cwd)
		}
	}
	return spec
}

func (t *terminal) job() job {
	env := t.spec.Env
	if t.spec.Type == "architect" {
		env = append([]string{"CODEV_ARCHITECT_NAME=" + t.spec.RoleID}, env...)
	}
	return job{id: t.socketID, cwd: t.spec.Cwd, argv: t.spec.Command, env: env, deaf: t.spec.Deaf}
}

// writeRow writes the row of terminal_sessions, an architect's own, and into a builder's row which terminal is its, unless that is known.
func (s *Server) writeRow(t *terminal) {
	label := t.spec.Label
	if label == "" && t.spec.Type == "shell" {
		label = t.label()
	}
	var socket, started any = t.sh.socket, t.sh.startMs
	if t.spec.NoSocket {
		socket = nil
	}
	if t.spec.NoStart {
		started = nil
	}
	s.Exec(`INSERT INTO terminal_sessions (id, workspace_path, type, role_id, pid, shellper_socket, shellper_pid, shellper_start_time, label, cwd,
		command, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, t.id, t.workspace, t.spec.Type, orNull(t.spec.RoleID), t.pid, socket,
		t.pid, started, orNull(label), t.spec.Cwd, t.spec.Command[0], text(t.createdAt))
	switch t.spec.Type {
	case "architect":
		s.Exec(`INSERT OR REPLACE INTO architect (workspace_path, id, cmd, terminal_id, session_id) VALUES (?, ?, ?, ?, ?)`, t.workspace,
			t.spec.RoleID, t.spec.Command[0], t.id, newID())
	case "builder":
		s.Exec(`UPDATE builders SET terminal_id = ? WHERE workspace_path = ? AND id = ? AND terminal_id IS NULL`, t.id, t.workspace, t.spec.RoleID)
	}
}

func (t *terminal) state() TerminalState {
	t.sh.mu.Lock()
	defer t.sh.mu.Unlock()
	return TerminalState{ID: t.id, Socket: t.sh.socket, PID: t.sh.pid, Agent: t.sh.agent, Tower: t.sh.parent.Process.Pid}
}

// label is what the Tower's list says.
func (t *terminal) label() string {
	switch {
	case t.spec.Label != "":
		return t.spec.Label
	case t.spec.Dev:
		return "Dev: " + t.spec.RoleID
	case t.spec.Type == "architect":
		return "Architect"
	case t.spec.Type == "shell":
		return "Shell " + strings.TrimPrefix(t.spec.RoleID, "shell-")
	case t.adopted && t.spec.RoleID != "":
		return t.spec.RoleID
	}
	return "terminal-" + t.socketID[:8]
}

// Husk makes a shellper of this Tower's socket folder that has no agent and that neither the Tower nor its store knows.
func (s *Server) Husk(workspace string) TerminalState {
	return s.Terminal(workspace, Terminal{Type: "shell", NoRow: true, NoSession: true, Exited: new(0)})
}

// agentEnded is what the Tower does when an agent has ended: the terminal stays, as exited. Its row stays too, unless the Tower had taken
// it over from an earlier life.
func (s *Server) agentEnded(t *terminal, code int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t.exited = true
	if t.code == nil {
		t.code = &code
	}
	s.letGo(t)
}

// shellperEnded is what it does when a shellper has gone that it did not end itself.
func (s *Server) shellperEnded(t *terminal) {
	s.turn.Lock()
	defer s.turn.Unlock()
	t.exited = true
	s.letGo(t)
}

// letGo drops the row of a terminal that the Tower had taken over and that has ended by itself. The caller has the turn.
func (s *Server) letGo(t *terminal) {
	if t.adopted && !t.closing && slices.Contains(s.registered, t) {
		s.dropRow(t.id)
	}
}

// Exit has the agent end with that code, and waits until the Tower knows. The shellper stays.
func (s *Server) Exit(id string, code int) {
	t := s.must(id)
	s.turn.Lock()
	t.code = &code
	s.turn.Unlock()
	if !t.sh.signalAgent(unix.SIGKILL) {
		panic(fmt.Sprintf("end the agent of %s: it has none", id))
	}
	if !wait.Until(wait.Patience, func() bool { s.turn.Lock(); defer s.turn.Unlock(); return t.exited }) {
		panic(fmt.Sprintf("end the agent of %s: it outlives SIGKILL", id))
	}
}

// State gives the terminal as it is now: its agent is another once it was started again.
func (s *Server) State(id string) TerminalState { return s.must(id).state() }

// Orphan takes the terminal's shellper from the Tower: its parent is from now on the process that adopts orphans. The Tower still knows it.
func (s *Server) Orphan(id string) { s.must(id).sh.orphan() }

// Type types into the terminal; a line ends with "\n". It returns before anything reads that.
func (s *Server) Type(id, text string) {
	if _, err := s.must(id).sh.master.WriteString(text); err != nil {
		panic(fmt.Sprintf("type into %s: %v", id, err))
	}
}

// Output gives the end of what the terminal printed.
func (s *Server) Output(id string) string {
	text, _ := s.must(id).sh.out.Text()
	return text
}

// SetPID has the Tower and the row say that the shellper is another process.
func (s *Server) SetPID(id string, pid int) {
	t := s.must(id)
	s.turn.Lock()
	defer s.turn.Unlock()
	t.pid = pid
	s.Exec(`UPDATE terminal_sessions SET pid = ?1, shellper_pid = ?1 WHERE id = ?2`, pid, id)
}

// Registered says whether the Tower lists the terminal.
func (s *Server) Registered(id string) bool {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.find(id) != nil
}

// HasRow says whether the terminal has a row in terminal_sessions.
func (s *Server) HasRow(id string) bool {
	return s.count(`SELECT count(*) FROM terminal_sessions WHERE id = ?`, id) > 0
}

// Alive says whether the terminal's shellper lives.
func (s *Server) Alive(id string) bool {
	sh := s.must(id).sh
	return sh.alive() && procs.Lives(sh.pid)
}

// Gone says whether nothing of the terminal is left: no entry in the Tower's list, no row, no shellper, no socket.
func (s *Server) Gone(id string) bool {
	_, err := os.Lstat(s.must(id).sh.socket)
	return !s.Registered(id) && !s.HasRow(id) && !s.Alive(id) && os.IsNotExist(err)
}

// find gives the terminal if the Tower knows it. The caller has the turn.
func (s *Server) find(id string) *terminal {
	for _, t := range s.registered {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (s *Server) must(id string) *terminal {
	s.turn.Lock()
	defer s.turn.Unlock()
	if t := s.known(id); t != nil {
		return t
	}
	panic(fmt.Sprintf("there was never a terminal %q", id))
}

// known gives the terminal if there ever was one. The caller has the turn.
func (s *Server) known(id string) *terminal {
	for _, t := range s.all {
		if t.id == id {
			return t
		}
	}
	return nil
}
