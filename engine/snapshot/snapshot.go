// Package snapshot holds the words for what was seen: one JSON document a look.
//
// It is the vocabulary that collectors write and the engine reads, and it knows nothing of either. Times are UTC,
// durations are seconds, sizes are bytes. A fact that could not be read is absent: every field whose zero value could be
// mistaken for a reading is a pointer, and nil means unknown, never zero, empty or false.
package snapshot

import (
	"time"
)

// Schema names the document's shape. Fields may be added under the same name; a change of meaning needs another name.
const Schema = "winnow.snapshot/v1"

// The states of a Source.
const (
	OK     = "ok"     // it was read whole
	Failed = "failed" // it is there, or may be, and was not read whole; Error says why
	Absent = "absent" // it is positively not there: no server on that socket, no such file or folder
)

// The names of the sources of which there is only one. All others are called kind/name. Projects is there only where some project is
// trusted, or that could not be found out.
const (
	Proc     = "proc"
	Ledger   = "ledger"
	Projects = "projects"
)

// The variables in which multiplexers tell what they start where it runs: tmux's server as socket,pid,session with the pane's id, herdr's
// socket with the id that the pane had when it was started. They are always read, and never count as markers of agents.
const (
	MarkerTmux      = "TMUX"
	MarkerTmuxPane  = "TMUX_PANE"
	MarkerHerdr     = "HERDR_SOCKET_PATH"
	MarkerHerdrPane = "HERDR_PANE_ID"
)

// PaneMarkers lists them.
var PaneMarkers = []string{MarkerTmux, MarkerTmuxPane, MarkerHerdr, MarkerHerdrPane}

// Snapshot is everything that one look at the world found.
type Snapshot struct {
	Schema  string    `json:"schema" jsonschema:"enum=winnow.snapshot/v1"`
	TakenAt time.Time `json:"taken_at"`
	Host    Host      `json:"host"`
	// Sources says for each thing that was read whether it could be. Its keys are source names.
	Sources map[string]Source `json:"sources" redact:"keys source"`
	// The candidates, by id.
	Tabs      map[string]Tab      `json:"tabs,omitempty" redact:"keys id"`
	Sessions  map[string]Session  `json:"sessions,omitempty" redact:"keys id"`
	Terminals map[string]Terminal `json:"terminals,omitempty" redact:"keys id"`
	Dirs      map[string]Dir      `json:"dirs,omitempty" redact:"keys id"`
	Processes map[string]*Process `json:"processes,omitempty" redact:"keys id"`
	// What orchestrators and people have written down.
	Spawns   []Spawn `json:"spawns,omitempty"`
	Registry []Entry `json:"registry,omitempty"`
	// OpenSessions are what agents themselves wrote down of the sessions that they have open.
	OpenSessions []OpenSession       `json:"open_sessions,omitempty"`
	Holds        []Hold              `json:"holds,omitempty"`
	Sightings    map[string]Sighting `json:"sightings,omitempty" redact:"keys id"`
	// Projects are the repositories that bring a file of their own for Winnow.
	Projects []Project `json:"projects,omitempty"`
	// Owners is which builders were seen with which terminals at earlier looks.
	Owners []Owner `json:"owners,omitempty"`
	// Workspaces are those of Codev's that its stores name.
	Workspaces []Workspace `json:"workspaces,omitempty"`
	// Ancestries is which processes were seen below which agents at earlier looks.
	Ancestries []Ancestry `json:"ancestries,omitempty"`
	// Workers are the observations on what registries record.
	Workers []Worker `json:"workers,omitempty"`
	// Asked is the one candidate that a person asked to be cleaned up; absent in all other looks.
	Asked *Asked `json:"asked,omitempty"`
	// Redaction says how names were replaced; absent in a snapshot that has the names themselves.
	Redaction *Redaction `json:"redaction,omitempty"`
	// Labels are what a person knows of candidates, by id: live, of what must stay, or dead, of what may go. No look writes them and no
	// policy sees them: they are what the decisions on a saved snapshot are held against.
	Labels map[string]string `json:"labels,omitempty" redact:"keys id"`
}

// Redaction says how names, paths, labels and values of a snapshot were replaced by stand-ins, and what of them was kept so that the configured
// patterns and the policies still match what they matched.
type Redaction struct {
	// Key names the key that the stand-ins were made with: in two snapshots with the same one a name has the same stand-in. Absent where the key was
	// thrown away.
	Key string `json:"key,omitempty"`
	// StandIns counts the names that were replaced, those among them of which a part was kept.
	StandIns int `json:"stand_ins"`
	// Kept are the names that stay because the configuration or a policy names them.
	Kept []string `json:"kept"`
	// Parts counts for each pattern the names of which a part stays, because it makes the name match.
	Parts map[string]int `json:"parts"`
	// Whole are names and paths that stay because no stand-in would match the same patterns.
	Whole []string `json:"whole"`
}

// The labels of a candidate.
const (
	Live = "live"
	Dead = "dead"
)

// Host says on what machine, as whom and under which clock the look was taken.
type Host struct {
	Name string `json:"name,omitempty" redact:"word"`
	// BootID is /proc/sys/kernel/random/boot_id.
	BootID string `json:"boot_id,omitempty"`
	// PIDNamespace is the inode of /proc/self/ns/pid.
	PIDNamespace *uint64 `json:"pid_namespace,omitempty"`
	UID          *int    `json:"uid,omitempty"`
	User         string  `json:"user,omitempty" redact:"word"`
	Home         string  `json:"home,omitempty" redact:"path"`
	// PID is the looking process; Ancestors are its parents, nearest first, ending with pid 1, or with one that was put into this pid
	// namespace from outside. Known and empty is [], unknown is absent.
	PID       *int  `json:"pid,omitempty"`
	Ancestors []int `json:"ancestors,omitzero"`
	// Cwd is the looking process's own working directory.
	Cwd string `json:"cwd,omitempty" redact:"path"`
	// OrphanParents are the processes that inherit orphans: pid 1, this user's service manager, known subreapers.
	OrphanParents []int `json:"orphan_parents,omitempty"`
	// Container is true where pid 1 is not an init system, so that having pid 1 for a parent proves nothing.
	Container *bool `json:"container,omitempty"`
	// BootedAt is btime of /proc/stat.
	BootedAt *time.Time `json:"booted_at,omitempty"`
	// UpSeconds is CLOCK_BOOTTIME and AwakeSeconds is CLOCK_MONOTONIC at TakenAt: their difference grows by the time that
	// the machine was suspended.
	UpSeconds    *float64 `json:"up_seconds,omitempty"`
	AwakeSeconds *float64 `json:"awake_seconds,omitempty"`
	// LastResumeAt is when a look first noticed the latest resume from suspension; the resume itself was not later.
	LastResumeAt *time.Time `json:"last_resume_at,omitempty"`
	// SteadySince is since when no boot, resume or jump of the clock has been noticed: the boot at a first look, else the
	// look that noticed the latest of them. Absent where the ledger could not be read.
	SteadySince *time.Time `json:"steady_since,omitempty"`
	// Asleep are the stretches in which the machine was suspended or off, as far as looks show: ages leave them out. Known and empty
	// is [], unknown is absent: then all that the clocks above say it was suspended since the boot may have been just now.
	Asleep *[]Asleep `json:"asleep,omitempty"`
	// Pressure is how short the machine is of memory and disk; absent where no look asked.
	Pressure *Pressure `json:"pressure,omitempty"`
}

// Pressure is how short a machine is of memory and disk. All are shares from 0 to 1; what the kernel does not count is absent.
type Pressure struct {
	// MemorySome and MemoryFull are the share of the last minute in which some, or all, tasks waited for memory; IOSome and IOFull the same for disks (/proc/pressure).
	MemorySome *float64 `json:"memory_some,omitempty"`
	MemoryFull *float64 `json:"memory_full,omitempty"`
	IOSome     *float64 `json:"io_some,omitempty"`
	IOFull     *float64 `json:"io_full,omitempty"`
	// DiskFree and InodesFree are what this user may still fill, the least of the file systems of the state folder and of collect.dirs.roots.
	DiskFree   *float64 `json:"disk_free,omitempty"`
	InodesFree *float64 `json:"inodes_free,omitempty"`
}

// Asleep is a stretch of time, by the wall clock, in which the machine slept for so many Seconds; when in it is not known.
type Asleep struct {
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	Seconds float64   `json:"seconds"`
}

// Source is one thing that was read.
type Source struct {
	// Kind is tmux, herdr, codev, processes, dirs, spawns, registry, agents, projects or ledger.
	Kind   string `json:"kind"`
	Status string `json:"status" jsonschema:"enum=ok,enum=failed,enum=absent"`
	// Error says what failed and what to do next; only with status failed or absent.
	Error string `json:"error,omitempty" redact:"hide"`
	// Cause is a word for the failure that scripts may branch on: permission, timeout, error.
	Cause string `json:"cause,omitempty"`
	// Path is the file, folder or socket that was read.
	Path string `json:"path,omitempty" redact:"path"`
	// Format is the form in which a spawn ledger or registry is written: json, jsonl, shepherd.
	Format string `json:"format,omitempty"`
	// Server is the multiplexer's server that answered, where the source is one that says so itself.
	Server *Server `json:"server,omitempty"`
	// Took is how long the reading took, in seconds.
	Took float64 `json:"took"`
	// Seen counts the candidates or records that it gave.
	Seen int `json:"seen"`
	// Unreadable counts what it listed and could not read, such as processes that refuse to show their working directory.
	Unreadable int `json:"unreadable,omitempty"`
	// Refused says what was found and is not a candidate because it is not this user's to decide about, a sentence each, the first few.
	Refused []string `json:"refused,omitempty" redact:"hide"`
	// Fetch says of which repositories the default branch could not be fetched, where that was asked for, a sentence each. They were judged by
	// what had been fetched before.
	Fetch []string `json:"fetch,omitempty" redact:"hide"`
	// Duplicates counts those of Seen that a source with an earlier name gave too, and that are shown as the other source's.
	Duplicates int `json:"duplicates,omitempty"`
}

// Pane is a terminal with processes in it.
type Pane struct {
	// ID is the multiplexer's own: %5 for tmux, w1:p4 for herdr.
	ID       string `json:"id" redact:"word"`
	Terminal string `json:"terminal,omitempty" redact:"word"`
	// ShellPID is the pane's first process, which leads its session; ShellStartTicks is field 22 of its stat, in clock ticks
	// since boot.
	ShellPID        *int    `json:"shell_pid,omitempty"`
	ShellStartTicks *uint64 `json:"shell_start_ticks,omitempty"`
	// ForegroundPGID is field 8 (tpgid) of the shell's stat, and Foreground that group's members. Where the multiplexer gives a
	// list of its own (herdr), what stands on either list is here.
	ForegroundPGID *int       `json:"foreground_pgid,omitempty"`
	Foreground     []PaneProc `json:"foreground,omitempty"`
	// SessionPIDs are all processes whose session the shell leads, itself among them, and Session the same with names. Of these two
	// and of the next three known and empty is [], as for a dead pane; unknown is absent.
	SessionPIDs []int      `json:"session_pids,omitzero"`
	Session     []PaneProc `json:"session,omitzero"`
	// Descendants are the shell's descendants that have left its session.
	Descendants []PaneProc `json:"descendants,omitzero"`
	// Carriers are the processes elsewhere whose environment names this pane of this server: they were started from it, and their
	// parents have ended. They are read with Session, or both are absent.
	Carriers []PaneProc `json:"carriers,omitzero"`
	// Cwd is where the first process works; of a dead tmux pane where that was started (pane_start_path). CwdDeleted is Process.CwdDeleted.
	Cwd        string `json:"cwd,omitempty" redact:"path"`
	CwdDeleted *bool  `json:"cwd_deleted,omitempty"`
	TTY        string `json:"tty,omitempty"`
	// Dead is true for a pane that is kept although its process ended; its ShellPID must never be signalled.
	Dead *bool `json:"dead,omitempty"`
	// StartedAs is the agent that the command runs which a tmux pane was started with, as it is called in rules.agents, "" where it runs none.
	// Absent where that is not known.
	StartedAs *string `json:"started_as,omitempty" redact:"word"`
	// Linked lists the other sessions that show this pane, by their native ids.
	Linked      []string `json:"linked,omitzero" redact:"word"`
	AgentStatus string   `json:"agent_status,omitempty"`
	// Error says what about the pane could not be read, "" for nothing.
	Error *string `json:"error,omitempty" redact:"hide"`
}

// PaneProc is a process as a member of a pane.
type PaneProc struct {
	PID  int    `json:"pid"`
	Name string `json:"name" redact:"word"`
	// Interactive is Process.Interactive, and Rest is Process.Rest.
	Interactive *bool `json:"interactive,omitempty"`
	Rest        *Rest `json:"rest,omitempty"`
}

// Rest is how a shell waits: until something wakes it, or not even that long.
type Rest struct {
	// Seconds is for how many seconds its first thread has not run (/proc/<pid>/sched, se.exec_start), while the machine was awake.
	Seconds float64 `json:"seconds"`
	// Woke is true where it ran by itself: it has run in the younger half of the time since anything was typed or printed in its terminal (the times of
	// the device, which are exact to 8 seconds). A resume of the machine and a new size of the terminal wake a shell too. Unknown: absent.
	Woke *bool `json:"woke,omitempty"`
}

// Tab is a herdr tab, or a terminal tab of an editor: then Editor is set, and of the other fields State, Source, ID and Label.
type Tab struct {
	// State is as in Session.
	State  string `json:"state,omitempty" redact:"digest"`
	Source string `json:"source" redact:"source"`
	// ID is herdr's own, such as w1:t3: kept over a restart of the server, and then possibly another tab's.
	ID string `json:"id,omitempty" redact:"word"`
	// Label is what the tab was called, or else its position in the workspace.
	Label     string `json:"label,omitempty" redact:"word"`
	Workspace string `json:"workspace,omitempty" redact:"word"`
	// LastInWorkspace is true when the workspace has no other tab, so that closing this one would close the workspace.
	LastInWorkspace *bool `json:"last_in_workspace,omitempty"`
	// GroupParent is true when the workspace is the main checkout's in a group of workspaces that share a repository: closing it
	// would close the whole group.
	GroupParent *bool `json:"group_parent,omitempty"`
	Focused     *bool `json:"focused,omitempty"`
	// Own is true when the looking process was started in one of its panes, by what its environment says.
	Own *bool `json:"own,omitempty"`
	// PaneCount is how many panes herdr says that the tab has; Panes are those that it listed.
	PaneCount *int   `json:"pane_count,omitempty"`
	Panes     []Pane `json:"panes,omitempty"`
	// Editor is absent for a herdr tab.
	Editor *EditorTab `json:"editor,omitempty"`
}

// EditorTab is what the window of an editor says of one of its terminal tabs. Nothing of it is evidence of what became of a process:
// after a window was loaded again an editor calls tabs closed whose shells live, and shows the pid of a task that ended long ago.
type EditorTab struct {
	// Window is the id that the window gave itself when it was loaded: the next load has another one. Folders are those that it has open.
	Window  string   `json:"window" redact:"word"`
	Folders []string `json:"folders,omitzero" redact:"path"`
	// Name is what the tab is called now, and CreationName what it was called when it was opened, "" where it got no name. CreationName
	// is absent where that is not known any more. A name is a label: several tabs may have the same, and people rename them.
	Name         string  `json:"name,omitempty" redact:"word"`
	CreationName *string `json:"creation_name,omitempty" redact:"word"`
	// Codev is absent for a tab whose name is not one of a builder of Codev's.
	Codev *CodevTab `json:"codev,omitempty"`
	// Shape is shell, task, or pty for one without a process, which an extension draws.
	Shape string `json:"shape,omitempty"`
	// Program is the base name of what it was made to run, "" for the person's own shell; absent where that is not known any more.
	Program *string `json:"program,omitempty" redact:"word"`
	// Markers are those of the configured markers' names that whoever opened it put into its environment; absent where that is not known any more.
	Markers []string `json:"markers,omitzero"`
	// PID is its process as the editor saw it start, and StartTicks when that began, read while it was there. Both are absent for a pty.
	PID        *int    `json:"pid,omitempty"`
	StartTicks *uint64 `json:"start_ticks,omitempty"`
	ExitCode   *int    `json:"exit_code,omitempty"`
	// Typed says whether a person typed in it since it was opened; absent where that is not known.
	Typed *bool `json:"typed,omitempty"`
	// Active says whether it is the window's active terminal; an editor keeps one active also while no person sees it.
	Active *bool `json:"active,omitempty"`
	// OpenedAt is since when the window has it, and ShownAt when it last became the active one, absent where it never was.
	OpenedAt *time.Time `json:"opened_at,omitempty"`
	ShownAt  *time.Time `json:"shown_at,omitempty"`
	// Session are the other processes whose session PID leads or led. Known and empty is [], unknown is absent.
	Session []EditorProc `json:"session,omitzero"`
	// Error says what about it could not be read, "" for nothing.
	Error *string `json:"error,omitempty" redact:"hide"`
}

// EditorProc is a process that was started in a tab of an editor.
type EditorProc struct {
	PID  int    `json:"pid"`
	Name string `json:"name" redact:"word"`
}

// CodevTab is whose tab of Codev's it is, by the name that it was opened with: Kind is builder or dev (the builder's development server), ID the
// builder in the one form of its id, and Key what every spelling of that id has in common.
type CodevTab struct {
	Kind string `json:"kind" jsonschema:"enum=builder,enum=dev"`
	ID   string `json:"id" redact:"word"`
	Key  string `json:"key" redact:"word"`
}

// Workspace is a workspace of Codev's with the builders in it.
type Workspace struct {
	Source string `json:"source" redact:"source"`
	Path   string `json:"path" redact:"path"`
	// Builders are the rows of its builders, and Worktrees the folders below .builders. Of both known and empty is [], unknown is absent.
	Builders  []Builder `json:"builders,omitzero"`
	Worktrees []Builder `json:"worktrees,omitzero"`
}

// Builder is a row of a builder of Codev's, or the folder of its worktree: its id as it stands there (a folder's is made from its name), and Key,
// which is CodevTab.Key. A folder that is no builder's by its name has its name for an id.
type Builder struct {
	ID  string `json:"id" redact:"word"`
	Key string `json:"key" redact:"word"`
}

// Session is a tmux session.
type Session struct {
	// State is everything that the source itself says of it and that an act rests on, in one text or digest: what is read right before an act
	// must give the same. Absent where that could not be read.
	State  string `json:"state,omitempty" redact:"digest"`
	Source string `json:"source" redact:"source"`
	// ID is tmux's own, such as $4: unique in one server's life only.
	ID        string     `json:"id,omitempty" redact:"word"`
	Name      string     `json:"name,omitempty" redact:"word"`
	Server    *Server    `json:"server,omitempty"`
	CreatedAt *time.Time `json:"created_at,omitempty"`
	// Attached counts the clients that show it, ControlClients those among them that are programs which speak tmux's control mode
	// (iTerm2, and what only watches), and ProgramClients those among these without a terminal, which show it to no person.
	Attached       *int `json:"attached,omitempty"`
	ControlClients *int `json:"control_clients,omitempty"`
	ProgramClients *int `json:"program_clients,omitempty"`
	// EverAttached says whether a client was ever attached to it, the one that made it among them (session_last_attached). Absent where its
	// server does not say, and where it is one of a group and none was: another one of the group, which has ended, may have shown it.
	EverAttached *bool `json:"ever_attached,omitempty"`
	// UsedAt is when a client was last attached to it, or pressed a key in it (session_activity); before that its creation.
	UsedAt *time.Time `json:"used_at,omitempty"`
	// LastActivityAt is the latest of the session's own activity, its windows' and the ends of its dead panes, absent where
	// an end is not known (tmux before 3.3); ClientActivityAt the latest key press of
	// an attached client, for a control client the latest of its attaching, of what came to its terminal and of LastActivityAt.
	// ClientActivityAt is absent when no client is attached.
	LastActivityAt   *time.Time `json:"last_activity_at,omitempty"`
	ClientActivityAt *time.Time `json:"client_activity_at,omitempty"`
	// Group is the session group's name, empty when it is in no group; GroupSize counts the group's members.
	Group     string `json:"group" redact:"word"`
	GroupSize *int   `json:"group_size,omitempty"`
	Panes     []Pane `json:"panes,omitempty"`
	// Popups are the children of its server that are in no pane, with all that lives below them, and that belong to the session, or may:
	// a popup that ends with a client which shows it, and jobs (run-shell) that were started for it. Known and empty is [], unknown is
	// absent.
	Popups *[]PaneProc `json:"popups,omitempty"`
	// Error says what about it could not be read, "" for nothing.
	Error *string `json:"error,omitempty" redact:"hide"`
}

// Server identifies one life of a multiplexer's server.
type Server struct {
	Socket string `json:"socket" redact:"path"`
	// PID is the server's own; for herdr that of the process that listens on the socket, 0 where it is in another pid namespace.
	PID        int        `json:"pid"`
	StartTicks *uint64    `json:"start_ticks,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	Version    string     `json:"version,omitempty"`
	// Protocol is the number that a herdr server gives to its protocol.
	Protocol *int `json:"protocol,omitempty"`
	// Lacks is what winnow uses of a herdr server and the server does not have: methods by its own list, such as tab.close, and members that its answer
	// leaves out, such as tab.label. It is asked of servers whose protocol is newer than those that winnow knows. Known and empty is []; absent where
	// it was not asked, or the server does not list its methods.
	Lacks *[]string `json:"lacks,omitempty"`
	// Panes are the first processes of all panes that a tmux server lists; only on its source.
	Panes *[]int `json:"panes,omitempty"`
}

// Terminal is a Codev terminal: a pseudo terminal that a process of its own, the shellper, keeps open, also while the Tower is down.
type Terminal struct {
	// State is as in Session.
	State  string `json:"state,omitempty" redact:"digest"`
	Source string `json:"source" redact:"source"`
	// ID is Codev's own, a UUID that a restart of the Tower keeps; pid-<pid> for a shellper that neither the Tower nor its store knows.
	ID string `json:"id,omitempty" redact:"word"`
	// Role is who works in it, in the form builder-pir-883: lower case, without leading zeros, not doubled. RoleKind is builder, dev
	// (a builder's development server), architect, shell, or shellper for one that neither Tower nor store knows; absent where it is not known.
	Role     string `json:"role,omitempty" redact:"word"`
	RoleKind string `json:"role_kind,omitempty"`
	// Status is the Tower's own word, running or exited; absent where the Tower did not say.
	Status   string `json:"status,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Listed says whether the Tower lists it, Recorded whether its store has a row for it.
	Listed    *bool  `json:"listed,omitempty"`
	Recorded  *bool  `json:"recorded,omitempty"`
	Label     string `json:"label,omitempty" redact:"word"`
	Workspace string `json:"workspace,omitempty" redact:"path"`
	// PID is the shellper's, and StartTicks when that process began: absent where it is not positively this terminal's.
	PID        *int    `json:"pid,omitempty"`
	StartTicks *uint64 `json:"start_ticks,omitempty"`
	// Scoped is true when that process is a shellper of this state folder, by its command line; false when it is another program
	// or another folder's.
	Scoped *bool `json:"scoped,omitempty"`
	// Below is what lives below the shellper. Known and empty is [], unknown is absent.
	Below *[]PaneProc `json:"below,omitempty"`
	// CreatedAt is since when this Tower has it, StartedAt since when its process runs. LastDataAt is the latest output.
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	LastDataAt *time.Time `json:"last_data_at,omitempty"`
	// Cwd is where Codev started its program: by its row, or else by its shellper's command line.
	Cwd string `json:"cwd,omitempty" redact:"path"`
	// Owner is the builder that it belongs to, as far as that is known.
	Owner *TerminalOwner `json:"owner,omitempty"`
	// Error says what about it could not be read, "" for nothing.
	Error *string `json:"error,omitempty" redact:"hide"`
}

// TerminalOwner is the builder that a terminal belongs to.
type TerminalOwner struct {
	// ID is the builder's id, in the form of Terminal.Role. How says how it is known: row (the store's row of the terminal), label (a
	// development server's label), memory (an earlier look knew it), folder (a shellper that neither Tower nor store knows was started in its worktree).
	ID  string `json:"id" redact:"word"`
	How string `json:"how"`
	// Key is CodevTab.Key of that builder.
	Key string `json:"key,omitempty" redact:"word"`
	// Recorded says whether the store has a row for the builder, by any spelling of its id.
	Recorded *bool `json:"recorded,omitempty"`
	// SeenAt is the latest earlier look that saw the builder's row and the terminal together.
	SeenAt *time.Time `json:"seen_at,omitempty"`
	// Worktree is where it worked. Gone is true when that folder is positively not there although its workspace is; Unregistered when
	// it is there and is not a worktree of the workspace's repository any more.
	Worktree     string `json:"worktree,omitempty" redact:"path"`
	Gone         *bool  `json:"gone,omitempty"`
	Unregistered *bool  `json:"unregistered,omitempty"`
}

// Owner remembers which builder a terminal belongs to, as a look found it.
type Owner struct {
	Source    string `json:"source" redact:"source"`
	Terminal  string `json:"terminal" redact:"word"`
	Workspace string `json:"workspace" redact:"path"`
	Builder   string `json:"builder" redact:"word"`
	Worktree  string `json:"worktree,omitempty" redact:"path"`
	// Kind is the terminal's RoleKind; absent is builder.
	Kind string `json:"kind,omitempty"`
	// PID and StartTicks are the shellper's, in the boot BootID; absent where it was not positively known.
	BootID     string `json:"boot_id,omitempty"`
	PID        int    `json:"pid,omitempty"`
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// FirstAt and LastAt are the first and the latest look that saw the terminal or its process, RowAt the latest that saw the builder's row.
	FirstAt time.Time  `json:"first_at"`
	LastAt  time.Time  `json:"last_at"`
	RowAt   *time.Time `json:"row_at,omitempty"`
}

// The observations on a Worker.
const (
	WorkerActive       = "active"        // it has not ended and its session lives
	WorkerRetained     = "retained"      // it has ended, its session lives and is kept on purpose
	WorkerSafeToClose  = "safe_to_close" // it has ended, its session lives and is not kept
	WorkerClosed       = "closed"        // it has ended and so is its session
	WorkerStale        = "stale"         // the registry and what runs contradict each other
	WorkerUnregistered = "unregistered"  // a session in scope that no registry records
	WorkerUnknown      = "unknown"       // something that it takes to say so could not be read
)

// Worker is what is observed of a worker that a registry records, or of a session in scope that no registry records.
type Worker struct {
	// ID is the registry entry's; Source is where it stands. Both are absent for a session that no registry records.
	ID     string `json:"id,omitempty" redact:"word"`
	Source string `json:"source,omitempty" redact:"source"`
	Status string `json:"status,omitempty"`
	// Session is the candidate's id where it lives, Name the session's name, as recorded or as it is.
	Session     string `json:"session,omitempty" redact:"id"`
	Name        string `json:"name,omitempty" redact:"word"`
	Observation string `json:"observation" jsonschema:"enum=active,enum=retained,enum=safe_to_close,enum=closed,enum=stale,enum=unregistered,enum=unknown"`
	// Why is one sentence for a person, NextCommand the command to run next.
	Why         string `json:"why" redact:"blank"`
	NextCommand string `json:"next_command" redact:"blank"`
}

// Dir is a folder that may be disposable: a child of a configured root, or a worktree of a discovered repository.
type Dir struct {
	// State is as in Session.
	State  string `json:"state,omitempty" redact:"digest"`
	Source string `json:"source" redact:"source"`
	Name   string `json:"name" redact:"word"`
	// Path is the folder's real path; no part of it is a symbolic link unless Symlink is true.
	Path string `json:"path" redact:"path"`
	// Root is the folder below which Path was found.
	Root string `json:"root,omitempty" redact:"path"`
	// ModifiedAt is the folder's own mtime. ActiveAt is the latest sign of work known without walking the tree: the folder,
	// git's index, HEAD and reflog. BornAt is statx's btime.
	ModifiedAt *time.Time `json:"modified_at,omitempty"`
	ActiveAt   *time.Time `json:"active_at,omitempty"`
	BornAt     *time.Time `json:"born_at,omitempty"`
	Symlink    *bool      `json:"symlink,omitempty"`
	Device     *uint64    `json:"device,omitempty"`
	Inode      *uint64    `json:"inode,omitempty"`
	MountID    *uint64    `json:"mount_id,omitempty"`
	UID        *int       `json:"uid,omitempty"`
	// Mounts counts the mount points at or below it.
	Mounts *int `json:"mounts,omitempty"`
	// Empty is true for a folder that holds no file, but for those in folders that only a tool writes (rules.tool_files).
	Empty *bool `json:"empty,omitempty"`
	// Git is absent where the folder is not a git checkout or it could not be read; Checkout tells these apart.
	Git *Git `json:"git,omitempty"`
	// Checkout is false for a folder that has no .git, true for one that has.
	Checkout *bool `json:"checkout,omitempty"`
	// Holders are the live processes that use it, [] where it is known that no process does. HoldersKnown is true only when every process that
	// could be one was read. It is absent where it was not asked, because something cheaper keeps the folder (Skipped): then Holders are those that are
	// known to work in it anyway.
	Holders      []Holder `json:"holders,omitzero"`
	HoldersKnown *bool    `json:"holders_known,omitempty"`
	// SharedOutside is true where processes that this pid namespace does not show may use the folder, as in a container into which it is mounted, and
	// where whether they may could not be found out. HoldersKnown is false then. Absent for a link.
	SharedOutside *bool `json:"shared_outside,omitempty"`
	// Pointers are what leads into it from outside, [] where nothing does. It is asked only of a folder that is known to be unused.
	// Absent where it was not asked or not all of the places where it could stand were read. Into a folder that is gone only a checkout leads.
	Pointers *[]Pointer `json:"pointers,omitempty"`
	// Nested are the repositories and worktrees inside a folder that is not a checkout and not empty, by relative path; of a checkout
	// Git.Nested says it. Known and empty is [], unknown is absent.
	Nested *[]string `json:"nested,omitempty" redact:"path"`
	// Content is there for a folder in a linked worktree that holds only what can be made again: then that folder alone is the candidate,
	// and its worktree stays.
	Content *Content `json:"content,omitempty"`
	// Gone is true where the folder is positively gone and its repository still has an entry for it: then that entry, Git.AdminDir, is the
	// candidate, and ModifiedAt, ActiveAt, BornAt, Device, Inode, MountID and UID are those of the entry. Absent for a folder that is there.
	Gone *bool `json:"gone,omitempty"`
	// Skipped says why nothing looked into the folder: something cheaper already keeps it, whatever it holds; no rule gives a reason to reap it; or it
	// holds more than one look reads.
	Skipped string `json:"skipped,omitempty" redact:"hide"`
	// Error says what about the folder could not be read.
	Error string `json:"error,omitempty" redact:"hide"`
}

// Content is what is known of a folder in a worktree beside the folder itself: the worktree that it lies in, what git says of it, and what
// lies in it. Holders and ActiveAt of its Dir are those of both.
type Content struct {
	// Worktree is the worktree's path, ID its id as a candidate and Name its name.
	Worktree string `json:"worktree" redact:"path"`
	ID       string `json:"id" redact:"id"`
	Name     string `json:"name" redact:"word"`
	// Main is the main checkout of its repository.
	Main string `json:"main,omitempty" redact:"path"`
	// Linked is true for a linked worktree, Registered where its repository has an entry for it; Locked where a lock of git's counts: one
	// whose process has ended does not.
	Linked     *bool `json:"linked,omitempty"`
	Registered *bool `json:"registered,omitempty"`
	Locked     *bool `json:"locked,omitempty"`
	// Pattern is the one of rules.rebuildable, or of the names in rules.makers, that its name matches; the maker where it has any other name.
	Pattern string `json:"pattern"`
	// Maker is the tool that made it, by a mark (rules.makers), and the folder's own name where only a tool uses that. It is "" where no mark
	// shows a tool, and absent where it could not be read.
	Maker *string `json:"maker,omitempty" redact:"word"`
	// Ignored is true where git ignores the folder as a whole. Tracked counts the files in it that the worktree's index has.
	Ignored *bool `json:"ignored,omitempty"`
	Tracked *int  `json:"tracked,omitempty"`
	// Bytes is what it takes up on disk, Others how much in it belongs to other users. Both are absent where it could not be read whole.
	Bytes  *int64 `json:"bytes,omitempty"`
	Others *int   `json:"others,omitempty"`
}

// Git is what git knows of a Dir.
type Git struct {
	// Worktree is true for a linked worktree, false for a repository's main checkout or a clone.
	Worktree *bool `json:"worktree,omitempty"`
	// Registered is true when the repository has an entry for this very path.
	Registered *bool `json:"registered,omitempty"`
	// Lost is true where the folder's .git leads to an entry that its repository positively does not have (git worktree prune took it): then
	// Untracked counts files that are not in Upstream's tree and were not in its last 2,000 commits, and AdminDir is where the entry was.
	Lost *bool `json:"lost,omitempty"`
	// Main is the main checkout's path, CommonDir the repository's git folder and AdminDir this worktree's own one.
	Main      string `json:"main,omitempty" redact:"path"`
	CommonDir string `json:"common_dir,omitempty" redact:"path"`
	AdminDir  string `json:"admin_dir,omitempty" redact:"path"`
	Head      string `json:"head,omitempty"`
	Branch    string `json:"branch,omitempty" redact:"path"`
	Detached  *bool  `json:"detached,omitempty"`
	Locked    *bool  `json:"locked,omitempty"`
	// Lock is what the lock says; absent when it is missing, and where it could not be read.
	Lock *Lock `json:"lock,omitempty"`
	// Upstream is the remote's default branch that Landed was asked against, such as refs/remotes/origin/main; in a repository without any
	// remote it is the repository's own, such as refs/heads/main.
	Upstream string `json:"upstream,omitempty" redact:"path"`
	// FetchedAt is when Upstream last moved or was fetched, as far as the repository shows.
	FetchedAt *time.Time `json:"fetched_at,omitempty"`
	// Landed is true when HEAD is reachable from Upstream.
	Landed *bool `json:"landed,omitempty"`
	// Landing says how the work got into Upstream. It is absent where this is not known, and its By is "" where no proof holds. It is asked
	// about a worktree that nothing else keeps. LandingError says why it is not known.
	Landing      *Landing `json:"landing,omitempty"`
	LandingError string   `json:"landing_error,omitempty" redact:"hide"`
	// Ahead counts the commits that HEAD reaches and Upstream does not.
	Ahead *int `json:"ahead,omitempty"`
	// Bases are branches beside Upstream on which the work has landed too: remote ones, or, in a repository without a remote, its own. Branch was
	// made from them, by the first line of its reflog, by branch.<name>.merge or by branch.<name>.gh-merge-base (gh issue develop), and they never
	// stood at a commit that was made here, as the branch of an open pull request does; or rules.landing_branches names them. Absent without any.
	Bases []string `json:"bases,omitempty" redact:"path"`
	// PushedAt is when this clone pushed Branch, by the reflog of its remote branch; absent where a fetch moved that since, or nothing shows it.
	PushedAt *time.Time `json:"pushed_at,omitempty"`
	// Followed is the remote-tracking branch that Branch follows by the repository's configuration, such as refs/remotes/origin/fix, and FollowedGone
	// says whether it is missing, as "gone" of git branch -vv does. Both are absent where Branch follows none, and where this is not known.
	Followed     string `json:"followed,omitempty" redact:"path"`
	FollowedGone *bool  `json:"followed_gone,omitempty"`
	// PullRequests are the records in the repository of a pull request of Branch, or of HEAD. Known and empty is [], unknown is absent. They
	// are no proof that anything has landed.
	PullRequests *[]PullRequest `json:"pull_requests,omitempty"`
	// ForgeAsked is true where the forge itself named all pull requests of Branch, which PullRequests has too (collect.forge). It is asked about a
	// worktree that nothing else keeps and whose work git does not show to have landed. ForgeError says why it gave no answer.
	ForgeAsked *bool  `json:"forge_asked,omitempty"`
	ForgeError string `json:"forge_error,omitempty" redact:"hide"`
	// Elsewhere is true when HEAD is reachable from a branch, tag or remote branch that no linked worktree has checked out. It is asked about
	// a worktree in which nothing was committed and that nothing else keeps.
	Elsewhere *bool `json:"elsewhere,omitempty"`
	// Commits counts the commits made here, by the reflogs of the worktree's HEAD and of its branch; 0 for a branch on which
	// work has only just started.
	Commits *int `json:"commits,omitempty"`
	// Unreachable counts the commits that this worktree's HEAD, its reflog or its own refs reach and no branch, tag, remote
	// branch or stash elsewhere does.
	Unreachable *int `json:"unreachable_commits,omitempty"`
	// Dirty counts tracked paths that differ from HEAD, staged and unmerged ones among them; Untracked the untracked ones.
	// Ignored counts ignored paths that are not in the list of what can be rebuilt. UntrackedPaths and IgnoredPaths name the first 100 of
	// what Untracked and Ignored count, a folder that is ignored as a whole as one, with a slash at its end.
	Dirty          *int      `json:"dirty,omitempty"`
	Untracked      *int      `json:"untracked,omitempty"`
	UntrackedPaths *[]string `json:"untracked_paths,omitempty" redact:"path"`
	Ignored        *int      `json:"ignored,omitempty"`
	IgnoredPaths   *[]string `json:"ignored_paths,omitempty" redact:"path"`
	// UnmarkedPaths names those of IgnoredPaths that have a name which people use too, and no mark of a tool that makes such folders
	// (rules.makers): they count as work.
	UnmarkedPaths *[]string `json:"unmarked_paths,omitempty" redact:"path"`
	// Same counts the untracked and ignored paths that Untracked and Ignored leave out, for the main checkout has the same regular file at that
	// path, byte for byte, or the upstream's tree has, or they are links to what the main checkout has there: of a folder that is ignored as a whole
	// all in it, but for Scaffold and what can be rebuilt.
	// DifferingPaths names those of UntrackedPaths and IgnoredPaths at which the main checkout has another file, OnlyHerePaths those at
	// which it has nothing. What is in neither was not compared.
	Same           *int      `json:"same,omitempty"`
	DifferingPaths *[]string `json:"differing_paths,omitempty" redact:"path"`
	OnlyHerePaths  *[]string `json:"only_here_paths,omitempty" redact:"path"`
	// LeftOut counts the untracked and ignored paths that Untracked and Ignored leave out: what can be rebuilt (rules.rebuildable), what nobody
	// but a tool writes (rules.tool_files), Same and Scaffold. LeftOutPaths names the first 100 of them, for a rule of one's own that judges them otherwise.
	LeftOut      *int      `json:"left_out,omitempty"`
	LeftOutPaths *[]string `json:"left_out_paths,omitempty" redact:"path"`
	// Scaffold counts the untracked and ignored paths that Untracked and Ignored leave out, for a tool wrote them for itself
	// (rules.scaffold). Reports counts those that they do not leave out, for what a spawned agent wrote for its starter is
	// work until the spawn is completed.
	Scaffold *int `json:"scaffold,omitempty"`
	Reports  *int `json:"reports,omitempty"`
	// Staged counts the paths at which the index of a worktree whose folder is gone differs from HEAD, unmerged ones among them. Of a folder
	// that is there Dirty counts them.
	Staged *int `json:"staged,omitempty"`
	// Operation names a rebase, merge, cherry-pick, revert, bisect or am that is under way, or a git command that writes to the worktree's entry, or
	// was cut short there less than two days ago or while another one that is as old still runs.
	Operation *string `json:"operation,omitempty"`
	// Nested are the repositories inside it, by relative path. Of a linked worktree a submodule is among them only where
	// it holds, or may hold, what its remotes have not: as "submodule <path>: <why>". Known and empty is [], unknown is
	// absent.
	Nested *[]string `json:"nested,omitempty" redact:"path"`
}

// Landing is the proof that the work of a worktree is in its default branch, or in one of its Bases.
type Landing struct {
	// By is ancestry (the branch Into reaches HEAD), patches (it has a commit of the same change for each one that HEAD reaches and it does
	// not), squash (one of its commits makes the same change as all of them together), tree (a merge would change nothing in it), or "",
	// where none of these holds. The first three are about its history, and hold when a later commit took the change back.
	By string `json:"by"`
	// Into is the branch, such as refs/remotes/origin/main.
	Into string `json:"into" redact:"path"`
	// Commits are those of Into that brought the work in, for patches and squash, oldest work first.
	Commits []string `json:"commits,omitzero"`
	// Since is there for a branch that was made from another one: the proof is about what was committed after this commit. What came before
	// is on another branch, or has landed too.
	Since string `json:"since,omitempty"`
}

// PullRequest is what a record says of a pull request, as it was when the record was written. Only of one by the forge is it still true.
type PullRequest struct {
	// By is who keeps the record: configuration (of the repository: gh, glab, Visual Studio Code and GitLens write it), ref (one that was fetched),
	// Graphite, Shepherd or Codev. forge is the forge itself, by its answer to this look, or to one some minutes ago.
	By string `json:"by" jsonschema:"enum=configuration,enum=ref,enum=Graphite,enum=Shepherd,enum=Codev,enum=forge"`
	// Number is absent where the record does not say it.
	Number *int64 `json:"number,omitempty"`
	// State is absent where the record does not say it.
	State string `json:"state,omitempty" jsonschema:"enum=open,enum=merged,enum=closed"`
	// Head is the commit that the record is about, absent where it does not say it.
	Head string `json:"head,omitempty"`
}

// Lock is a mark of `git worktree lock`.
type Lock struct {
	// Text is the reason, its first 100 bytes and in one line; "" where none was given.
	Text *string `json:"text,omitempty" redact:"hide"`
	// Tool is whose form the reason has (rules.lock_reasons), Owner what that tool calls the agent, PID and StartTicks its process. All are absent
	// for a reason of any other form. Tool is git worktree add, alone, for a lock of a worktree that was being made when that was cut short.
	Tool       string  `json:"tool,omitempty"`
	Owner      string  `json:"owner,omitempty" redact:"word"`
	PID        int     `json:"pid,omitempty"`
	StartTicks *uint64 `json:"start_ticks,omitempty"`
	// Alive says whether that very process is alive; false only where it positively is not, in this or an earlier boot. Absent where it may be one of
	// another pid namespace, or could not be told from another one.
	Alive     *bool      `json:"alive,omitempty"`
	WrittenAt *time.Time `json:"written_at,omitempty"`
}

// Void reports whether the lock is positively one of a process that is not there any more.
func (l *Lock) Void() bool { return l != nil && l.Tool != "" && l.Alive != nil && !*l.Alive }

// Holder is a live process that uses a Dir, or, with the PID 0, the kernel itself: then Name is a device's, a mount's or says what.
type Holder struct {
	PID  int    `json:"pid"`
	Name string `json:"name" redact:"word"`
	// How is one of cwd, exe, root, thread, fd, map, socket, lock, admin (it uses the folder that git keeps for the worktree), argv, env,
	// watch, link (it has a file open that has another name in it), overlay, mount, loop and swap, the strongest of them; or pane for
	// the working directory that a multiplexer recorded.
	How string `json:"how"`
}

// Pointer is something outside of a folder that leads into it, and breaks when that goes.
type Pointer struct {
	// Kind is one of link (a symbolic link), install (an editable install of Python's), unit (of systemd), cron (a crontab), git (its configuration), hook
	// (of git's), script (a program in ~/bin or ~/.local/bin), shell (what a shell reads when it starts) and checkout (another folder whose .git leads to the entry
	// of the worktree: a copy of it, or, where the folder is gone, the worktree itself that was moved by hand).
	Kind string `json:"kind"`
	// Path is where it lies: the link, the file, the folder, or the command that shows it.
	Path string `json:"path" redact:"path"`
}

// SetHolders fills in who uses the folder, as far as found, and whether these are all: never where others outside may use it.
func (d *Dir) SetHolders(found []Holder, all bool) {
	all = all && (d.SharedOutside == nil || !*d.SharedOutside)
	if found == nil && all {
		found = []Holder{}
	}
	d.Holders, d.HoldersKnown = found, &all
}

// Unasked reports whether it was not asked who uses the folder.
func (d *Dir) Unasked() bool { return d.HoldersKnown == nil && d.Skipped != "" }

// Process is a process that this user can see.
type Process struct {
	PID int `json:"pid"`
	// StartTicks is field 22 of stat, in clock ticks since boot.
	StartTicks uint64     `json:"start_ticks"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	PPID       *int       `json:"ppid,omitempty"`
	PGID       *int       `json:"pgid,omitempty"`
	Session    *int       `json:"session,omitempty"`
	// ForegroundPGID is the foreground process group of its terminal: field 8 (tpgid) of stat, -1 without a terminal.
	ForegroundPGID *int `json:"foreground_pgid,omitempty"`
	// TTY is the controlling terminal such as pts/4, "" without a terminal.
	TTY *string `json:"tty,omitempty"`
	// State is the letter of stat, X for one that was ending while it was read; Z with more than one thread is alive.
	State   string `json:"state,omitempty"`
	Threads *int   `json:"threads,omitempty"`
	// Kernel is true for a kernel thread.
	Kernel *bool `json:"kernel,omitempty"`
	// Name is comm: at most 15 bytes, settable by the program.
	Name string  `json:"name" redact:"word"`
	Exe  *string `json:"exe,omitempty" redact:"path"`
	UID  *int    `json:"uid,omitempty"`
	// Script is the base name of the program file that an interpreter runs, and Package the npm package (with its scope) or the python
	// module that it belongs to. "" means that it runs no file, or one of no package. Absent where that could not be read or understood,
	// and for what no interpreter runs.
	Script  *string `json:"script,omitempty" redact:"word"`
	Package *string `json:"package,omitempty" redact:"word"`
	// Proven is what its files or its command line positively show it to be. Absent where they show nothing, and where they could not be read.
	Proven *string `json:"proven,omitempty" jsonschema:"enum=mcp-server,enum=driven-browser"`
	// InputEnded is true where nothing can come to its standard input any more and all that came was read: a pipe that no process can
	// write to, or one of a pair of sockets whose other end was closed. False where that is open, and for a FIFO that some process can write to.
	// It is asked of what may have been handed over and of all below that; absent for all else, for every other input, and where it is not known.
	InputEnded *bool `json:"input_ended,omitempty"`
	// OutputRead is true where a living process, other than itself and what lives below it, can read what it writes to its standard output or
	// error: a pipe or a FIFO with a reader, or one of a pair of sockets whose other end is open. False where no process can: no reader is left, or
	// it is a file, /dev/null or a terminal. Asked like InputEnded; absent where it is not known.
	OutputRead *bool `json:"output_read,omitempty"`
	// OutputEnded is true where the kernel says that nothing reads what it prints any more: its standard output or error is a pipe without a reader, or one
	// of a pair of sockets whose other end was closed, and the other of the two is that too, or /dev/null. Asked like InputEnded.
	OutputEnded *bool `json:"output_ended,omitempty"`
	// Waits is true where each of its threads sleeps without an end (epoll, poll, or for another of them; /proc/<pid>/task/<tid>/syscall). False where it
	// may do something by itself: a timer, inotify or another descriptor that wakes it, SIGALRM, a FIFO with a name, a shell, or nohup that started it.
	// Asked like InputEnded; absent where the kernel does not show it.
	Waits *bool `json:"waits,omitempty"`
	// Peers are the pids of the living processes that can speak with it, ascending: that can write to its standard input, read its standard output or error, or have
	// the other end of a pipe, a FIFO, a pair of sockets without a name, a connected socket for datagrams, an eventfd, or a terminal that is not its own, at any
	// of its descriptors. Itself and what lives below it are left out, and so is a multiplexer's server that shows the terminal. Known and empty is [].
	// Asked like InputEnded; absent where none was found and one may be unseen. A look that is not about this process does not search for them where
	// the kernel says that somebody has an end and it is not the process itself.
	Peers *[]int `json:"peers,omitempty"`
	// Daemon is the name of the configured daemon of an agent's vendor that its command line is; "" for a process of a daemon's program
	// that is not a daemon. Absent for every other program, and where the command line could not be read.
	Daemon *string `json:"daemon,omitempty"`
	// Cwd is absent where it could not be read. CwdDeleted is true when that folder no longer exists under any name.
	Cwd        *string `json:"cwd,omitempty" redact:"path"`
	CwdDeleted *bool   `json:"cwd_deleted,omitempty"`
	// WorktreeDone is true where its worktree may go but for it and for others that may go; a sweep finds that out where it looks twice.
	WorktreeDone *bool `json:"worktree_done,omitempty"`
	// CPU is the lifetime CPU time, its reaped children's included, in seconds; RSS is in bytes.
	CPU *float64 `json:"cpu,omitempty"`
	RSS *int64   `json:"rss,omitempty"`
	// Written is how many bytes it has passed to write(2) and the like, its reaped children's included: wchar of /proc/<pid>/io.
	Written *int64 `json:"written,omitempty"`
	// Listening are the TCP ports that it listens on. Known and empty is [], unknown is absent.
	Listening *[]int `json:"listening,omitempty"`
	// Clients counts the connections that are open to the ports and unix sockets that it listens on, half-closed ones included. Unknown is absent,
	// also where it takes datagrams or has a socket of another kind: nothing tells who uses that.
	Clients *int `json:"clients,omitempty"`
	// UnixSockets are the unix sockets that it listens on, and those for datagrams that it bound to a name: by path, or @name for an
	// abstract one. Known and empty is [], unknown is absent.
	UnixSockets *[]string `json:"unix_sockets,omitempty" redact:"path"`
	// IgnoresHangup is true where it ignores SIGHUP (SigIgn of /proc/<pid>/status), as nohup has a program do. What it starts inherits that, and a
	// program may change it: node sets it back.
	IgnoresHangup *bool `json:"ignores_hangup,omitempty"`
	// StartedBy is what started it so that it outlives its starter: nohup (by the variable _ that shells set), systemd-run or at (by its
	// cgroup); "" where it was started by none of these.
	StartedBy *string `json:"started_by,omitempty"`
	// Connections counts its open TCP connections, and those to unix sockets with a name, half-closed ones included: each has another end that is open,
	// or lies on another machine. ConnectedTo are the processes that alone have the other end, by pid, one for each such connection, also where
	// it is this process itself; whoever has the others was not read. Both are absent where not all of its sockets are understood.
	Connections *int   `json:"connections,omitempty"`
	ConnectedTo *[]int `json:"connected_to,omitempty"`
	// ConnectedSince is when a look first found it with connections, of those looks between which no other one found it without; it comes from the
	// ledger, and is absent where that could not be read, and where it has none.
	ConnectedSince *time.Time `json:"connected_since,omitempty"`
	// WritesFiles counts the regular files that it has open for writing, and OutputAt is when one of them last changed (mtime). OutputAt is absent where
	// there is no such file, and where one could not be asked.
	WritesFiles *int       `json:"writes_files,omitempty"`
	OutputAt    *time.Time `json:"output_at,omitempty"`
	// Markers are the configured variables of its environment, as it was at exec. Known and empty is {}, unknown is absent.
	Markers *map[string]string `json:"markers,omitempty" redact:"value" secret:"value"`
	// PIDNamespace is the inode of its pid namespace, in which numbers that its environment names count.
	PIDNamespace *uint64 `json:"pid_namespace,omitempty"`
	// Inode is the pidfs inode where the kernel has one: unique in a boot.
	Inode *uint64 `json:"inode,omitempty"`
	// Partial is true of a process that was read only as far as it costs little, because no loaded rule can be about it. What makes
	// it the same process at a later look is then not known.
	Partial bool `json:"partial,omitempty"`
	// ArgvDigest is a SHA-256 over the command line, salted with the boot id.
	ArgvDigest string `json:"argv_digest,omitempty" redact:"digest" secret:"digest"`
	// Interactive is true for a shell that takes commands from a person: its command line has neither a script nor a command, its
	// input is its terminal, and where it is in front there nothing shows that it does something else than wait at its prompt. It is
	// false where one of these is known to be otherwise. Unknown: absent. Not a shell: absent.
	Interactive *bool `json:"interactive,omitempty"`
	// Rest is for how long a shell of this user's with a terminal has done nothing. Unknown: absent. Not a shell: absent.
	Rest *Rest `json:"rest,omitempty"`
	// Argv is the command line, only with --with-argv.
	Argv []string `json:"argv,omitempty"`
}

// IsKernel reports whether it is known to be a kernel thread.
func (p *Process) IsKernel() bool { return p.Kernel != nil && *p.Kernel }

// What a process is proven to be. An MCP server runs in Node, Bun or Python and has a pipe or a socket as its standard input: its program's own files
// import the part of the SDK that serves over the standard input, and nothing that clients or agents need, and its package or environment has that SDK. A driven
// browser is without a window or open to a debugger, with a profile of its own below a folder for caches or temporary files.
const (
	ProvenServer  = "mcp-server"
	ProvenBrowser = "driven-browser"
)

// Record is what an orchestrator wrote down of what it owns or started: an entry of a registry, or a line of a spawn ledger.
type Record struct {
	Source string `json:"source" redact:"source"`
	ID     string `json:"id" redact:"word"`
	// Status is the owner's state in the record's own word, Kind what a spawn was started for, Role who works.
	Status string `json:"status,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Role   string `json:"role,omitempty" redact:"word"`
	// Terminal is true when the record's own format says positively that its owner has ended, false when it says the opposite.
	// Absent leaves it to Status and the configured list of terminal words.
	Terminal *bool `json:"terminal,omitempty"`
	Retained *bool `json:"retained,omitempty"`
	// Owner is the id of the registry entry for which a spawn was started.
	Owner string `json:"owner,omitempty" redact:"word"`
	Path  string `json:"path,omitempty" redact:"path"`
	// Own is true when Path is a folder that was made for the owner, or was given to it, and false when the owner works in a folder
	// of another owner. Absent where the record does not say it.
	Own *bool `json:"own,omitempty"`
	// Session is a tmux session's name or id, Label a tab's.
	Session string `json:"session,omitempty" redact:"word"`
	Label   string `json:"label,omitempty" redact:"word"`
	// Server is the herdr session (such as default), Pane the terminal id of a pane there and Tab a tab's id.
	Server string `json:"server,omitempty" redact:"word"`
	Pane   string `json:"pane,omitempty" redact:"word"`
	Tab    string `json:"tab,omitempty" redact:"word"`
	// PID and Marker tie the record to processes: Marker is the value that its processes carry in their environment.
	PID    *int   `json:"pid,omitempty"`
	Marker string `json:"marker,omitempty" redact:"value" secret:"value"`
	// When it began and ended, as registries call that, and as spawn ledgers do.
	StartedAt   *time.Time `json:"started_at,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
	SpawnedAt   *time.Time `json:"spawned_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	// Endless is true when an entry of a registry says nothing of an end, false when it does. Absent for spawns.
	Endless *bool `json:"endless,omitempty"`
	// PullRequest is that of the owner's branch, where the record says anything of one.
	PullRequest *PullRequest `json:"pull_request,omitempty"`
}

// Spawn is a Record of a spawn ledger: some orchestrator started something. Entry is one of a registry: who owns what.
type (
	Spawn = Record
	Entry = Record
)

// Asked is a person's own command about one candidate.
type Asked struct {
	// ID is the candidate, by its whole id.
	ID string `json:"id" redact:"id"`
	// By says who asked: user, the one who runs Winnow, whose number is UID.
	By  string `json:"by" jsonschema:"enum=user"`
	UID int    `json:"uid"`
	// Mine is true when they declared that it is theirs and may go.
	Mine bool `json:"mine"`
}

// OpenSession is an agent's own record of a session that it has open. It stays behind when the agent is killed.
type OpenSession struct {
	Source string `json:"source" redact:"source"`
	// Agent is whose record it is, such as claude: a name of rules.agents.
	Agent string `json:"agent,omitempty" redact:"word"`
	// ID is the session's, PID and StartTicks the agent's process (field 22 of its stat), 0 where it is not known which; WrittenAt is when the
	// record was last written.
	ID         string     `json:"id,omitempty" redact:"word" secret:"word"`
	PID        int        `json:"pid"`
	StartTicks *uint64    `json:"start_ticks,omitempty"`
	WrittenAt  *time.Time `json:"written_at,omitempty"`
	// Sole is true where an agent of this kind has one session at a time, so that it had no other since the record was written.
	Sole *bool `json:"sole,omitempty"`
	// Folder is the real path in which the session works, by the record itself: its process may stand elsewhere. Absent where the record does not
	// say it or could not be read.
	Folder string `json:"folder,omitempty" redact:"path"`
	// Ended is true where the record itself shows that the process which wrote it, and had the session alone since, has ended.
	Ended *bool `json:"ended,omitempty"`
	// AnyProcess is true where the agent's records name no process (OpenCode, Gemini CLI, Qwen Code): the session counts as open while any process of the
	// agent lives that began before WrittenAt. The record is then of the session that was written last in Folder.
	AnyProcess bool `json:"any_process,omitempty"`
}

// Ancestry remembers that a process was seen below agents: a process that is handed over when its parent ends shows that no more.
type Ancestry struct {
	BootID     string `json:"boot_id"`
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	// Agents are all that it was ever seen below, those of the last look first and of these the nearest first.
	Agents []AncestryAgent `json:"agents"`
	// LastAt is when it was last seen below one.
	LastAt time.Time `json:"last_at"`
}

// AncestryAgent is an agent that a process was seen below.
type AncestryAgent struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Name       string `json:"name" redact:"word"`
}

// Hold is an operator's or another program's "keep this".
type Hold struct {
	// ID is the candidate that is held.
	ID     string    `json:"id" redact:"id"`
	Owner  string    `json:"owner,omitempty" redact:"word"`
	Reason string    `json:"reason,omitempty" redact:"blank"`
	Since  time.Time `json:"since"`
	// Until is when it lapses; absent is never.
	Until *time.Time `json:"until,omitempty"`
}

// Sighting remembers that earlier sweeps saw a finding on a candidate, with nothing but the wait objecting.
type Sighting struct {
	// Rule is the finding's rule, and Identity what made the candidate the same thing.
	Rule     string    `json:"rule"`
	Identity string    `json:"identity" redact:"blank"`
	FirstAt  time.Time `json:"first_at"`
	LastAt   time.Time `json:"last_at"`
	Count    int       `json:"count"`
	// IdleSince is since when no look has found a process, or anything below it, to have done any work, and Work their measure then.
	// Only of processes.
	IdleSince *time.Time `json:"idle_since,omitempty"`
	Work      *Work      `json:"work,omitempty"`
}

// Work is what a process and all below it have done so far: the difference of two tells what they did in between.
type Work struct {
	// CPU is processor time in seconds, Written in bytes, both with what reaped children had.
	CPU     *float64 `json:"cpu,omitempty"`
	Written *int64   `json:"written,omitempty"`
	// Below counts the processes below it, and Youngest is the latest start among them in clock ticks since boot, 0 without any.
	Below    *int    `json:"below,omitempty"`
	Youngest *uint64 `json:"youngest,omitempty"`
}

// ProjectUntrusted is the state of a project's file that was never trusted: nothing of it holds, and nothing of it is in the snapshot.
const ProjectUntrusted = "untrusted"

// Project is a repository that brings a file of its own for Winnow, which can only keep things, and only what the user trusted of it.
type Project struct {
	// Path is the real path of the main checkout, File the file's.
	Path string `json:"path" redact:"path"`
	File string `json:"file" redact:"path"`
	// State says how the file stands to what was trusted: trusted, changed, gone, refused, untrusted. In all but the last one what was
	// trusted holds. Why says what is the matter.
	State string `json:"state" jsonschema:"enum=trusted,enum=changed,enum=gone,enum=refused,enum=untrusted"`
	Why   string `json:"why,omitempty" redact:"hide"`
	// SHA256 is the digest of what was trusted, in hexadecimal digits.
	SHA256 string `json:"sha256,omitempty" redact:"digest"`
	// Worktrees are the real paths of its linked worktrees. Where they could not be read the source says so.
	Worktrees []string `json:"worktrees,omitempty" redact:"path"`
	// Keeps are the entries that keep things of it, with paths relative to the checkout, Off the rules that are turned off there. Known and
	// empty is [], unknown is absent.
	Keeps *[]Keep   `json:"keeps,omitempty"`
	Off   *[]string `json:"off,omitempty"`
}
