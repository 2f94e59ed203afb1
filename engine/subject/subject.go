// Package subject joins a snapshot into one closed document a candidate: the input of the policies.
//
// The join is a pure function of the snapshot and the operator's parameters, linear in the snapshot's size. It computes ages
// against the snapshot's own time and judges nothing: what a fact means is for the policies to say.
package subject

import (
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Schema names the document's shape.
const Schema = "winnow.subject/v1"

// Subject is one candidate with everything in the snapshot that concerns it. A fact that is unknown is absent.
type Subject struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.subject/v1"`
	ID     string `json:"id"`
	Kind   string `json:"kind" jsonschema:"enum=tab,enum=session,enum=terminal,enum=dir,enum=process"`
	// Identity is one string over everything that makes the candidate the same thing at a later look; absent where some of it
	// is unknown.
	Identity string `json:"identity,omitempty"`
	// Label is what a person calls it, Owner what a cap counts it under.
	Label string `json:"label,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Now is when the snapshot was taken; all ages count back from it.
	Now    time.Time `json:"now"`
	Source SourceRef `json:"source"`
	// The candidate itself, under its kind, as it stands in the snapshot.
	Tab      *snapshot.Tab      `json:"tab,omitempty"`
	Session  *snapshot.Session  `json:"session,omitempty"`
	Terminal *snapshot.Terminal `json:"terminal,omitempty"`
	Dir      *snapshot.Dir      `json:"dir,omitempty"`
	Process  *snapshot.Process  `json:"process,omitempty"`
	// Ages and idle times count only while the machine was awake: what it slept, or was off, since then is left out as far as looks
	// show, and what may lie after then as well.
	//
	// Age is in seconds: since a session's creation, the start of a process or of a terminal's, a folder's last own change (its mtime), the opening of
	// an editor's tab.
	Age *float64 `json:"age,omitempty"`
	// Idle is in seconds: since a session's last activity, a terminal's last output, a folder's last sign of work, since an editor's tab last became
	// the active one of its window.
	Idle *float64 `json:"idle,omitempty"`
	// Made is in seconds by the wall clock since a folder or a session was made, for comparing with the times of records, which count
	// so too. A folder of that path that was there before is another one.
	Made *float64 `json:"made,omitempty"`
	// Used is in seconds by the wall clock since a client was last attached to a session, or pressed a key in it.
	Used *float64 `json:"used,omitempty"`
	// ClientIdle is in seconds since an attached client's last key press; 0 clients give no ClientIdle.
	ClientIdle *float64 `json:"client_idle,omitempty"`
	// Busy is how many processors a process has used over its whole life at least, its ended children's time included: its CPU by the
	// longest that it can have been awake. Absent where either is not known, and for one that has no age yet.
	Busy *Processors `json:"busy,omitempty"`
	// OwnerSeen is in seconds since an earlier look saw a terminal together with its builder's row.
	OwnerSeen *float64 `json:"owner_seen,omitempty"`
	// Holders are the live processes that use a folder, the folder's own list.
	Holders []snapshot.Holder `json:"holders,omitzero"`
	// Open are the agents' sessions that are open and work in a folder or below it, by the agents' own records, or may: wherever their processes stand.
	// Known and empty is [].
	Open []OpenAgent `json:"open,omitzero"`
	// Signs are, in words, what is recorded of a linked worktree's branch besides its commits: its remote branch is gone, somebody has its pull request
	// on record. They are for messages. No rule may take them for a proof that the work has landed.
	Signs []string `json:"signs,omitzero"`
	// Lineage is where a process comes from. Of a terminal it has what is below the terminal's process, and nothing else.
	Lineage *Lineage `json:"lineage,omitempty"`
	// Members are the processes of a session's or tab's panes, but for the shells that those began with, and those elsewhere that carry
	// them. Absent where there are more than 64.
	Members []Member `json:"members,omitempty"`
	// Shown is what stands behind a terminal tab of an editor.
	Shown *Shown `json:"shown,omitempty"`
	// Shells say of each pane of a tmux session that has a process who began it.
	Shells []Shell `json:"shells,omitempty"`
	// Spawns and Entries are the records that concern the candidate; Hold the hold that has not lapsed: on it,
	// on a folder that it lies in or that lies in it, or on a process that ends with it.
	Spawns  []Spawn `json:"spawns,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	// SpawnsKnown and EntriesKnown are true for a process, a session or a tab of which it is known which spawns and which entries mean it by what is not its
	// id: each folder that a process or a session works in is known, or no spawn or entry names any folder; a tab's label is known, or none names a
	// label. Absent where one is not known, so that a record of it may be missing from Spawns or Entries.
	SpawnsKnown  *bool     `json:"spawns_known,omitempty"`
	EntriesKnown *bool     `json:"entries_known,omitempty"`
	Hold         *Hold     `json:"hold,omitempty"`
	Asked        *Asked    `json:"asked,omitempty"`
	Sighting     *Sighting `json:"sighting,omitempty"`
	// Worker is there where policies/observe is asked what became of a worker, and of nothing that is judged. Its own record is then the
	// first of Entries, and Session the one session that bears the recorded name.
	Worker *Worker `json:"worker,omitempty"`
	// Projects are the trusted projects in whose repository the candidate lies, or may lie.
	Projects []Project `json:"projects,omitempty"`
	// Exceptions are those of the policies that match the candidate, or may because something of it is not known. [] means that it was read and is empty.
	Exceptions []Excepted `json:"exceptions"`
	// EvidenceSources are the states of all sources that the candidate, or evidence about it, rests on, by source name.
	EvidenceSources map[string]string `json:"evidence_sources"`
	// RecordsRead lists what was read whole of spawn ledgers and registries, as spawns:<format> and registry:<format>, where every
	// source of that kind and format was.
	RecordsRead []string `json:"records_read,omitempty"`
	Host        Host     `json:"host"`
	// Config is the operator's parameters: the rules section of config.yaml.
	Config *Config `json:"config"`
}

// SourceRef is the source that the candidate itself came from.
type SourceRef struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	// Server is the multiplexer's server, for tabs.
	Server *snapshot.Server `json:"server,omitempty"`
}

// Host is what rules may know of the machine and of the looking process.
type Host struct {
	BootID        string `json:"boot_id,omitempty"`
	UID           *int   `json:"uid,omitempty"`
	Home          string `json:"home,omitempty"`
	PID           *int   `json:"pid,omitempty"`
	Ancestors     []int  `json:"ancestors,omitzero"`
	Cwd           string `json:"cwd,omitempty"`
	OrphanParents []int  `json:"orphan_parents,omitempty"`
	Container     *bool  `json:"container,omitempty"`
	// Steady is for how many seconds no boot, resume or jump of the clock has been noticed.
	Steady *float64 `json:"steady,omitempty"`
	// Pressure is how short the machine is of memory and disk. Shipped rules do not ask for it.
	Pressure *snapshot.Pressure `json:"pressure,omitempty"`
}

// Lineage says where a process comes from, as far as the processes that are alive show.
type Lineage struct {
	// Markers are the agent markers that it carries, those of multiplexers left out, by name. Absent where its environment
	// could not be read.
	Markers *[]string `json:"markers,omitempty"`
	// Identifying are those of Markers whose value is a session or a pid (config.markers): all others are hints, which a person's own terminal
	// may carry.
	Identifying *[]string `json:"identifying,omitempty"`
	// Added are those of Markers that the leader of its session does not carry with the same value: they were set after the leader was started.
	// Absent where it leads its session itself, and where the leader is gone or could not be read.
	Added *[]string `json:"added,omitempty"`
	// IsAgent is true when the process is an agent by its name, by what it was started from (a file of an agent's name, or one below its
	// versions), by the program or package that an interpreter runs there, or is a daemon of an agent's vendor; false when what it was
	// started from is known and is not an agent. Absent where what it was started from could not be read, and for what an interpreter runs
	// and is Unidentified.
	IsAgent *bool `json:"is_agent,omitempty"`
	// Interpreter is the interpreter that it runs in, by name, and Family what it positively is: by config.families its name, or the file
	// or package that the interpreter runs, else what it is proven to be. Each is absent for a process to which it does not apply.
	Interpreter string `json:"interpreter,omitempty"`
	Family      string `json:"family,omitempty"`
	// Unidentified is true for what runs in an interpreter, carries an agent's marker or has one above it that does or is an agent, and is
	// of no known family: it may be an agent. UnidentifiedBelow says whether one below it is; then AgentBelow is absent.
	Unidentified      *bool `json:"unidentified,omitempty"`
	UnidentifiedBelow *bool `json:"unidentified_below,omitempty"`
	// Sockets are the unix sockets that it listens on, those of config.own_sockets left out. Absent where they are not known.
	Sockets *[]string `json:"sockets,omitempty"`
	// Personal is the word of config.personal_daemons for a program that people use too, "" for every other program.
	Personal *string `json:"personal,omitempty"`
	// Strangers are the markers of config.marker_records whose value no record names. Absent where its environment could not be read.
	Strangers *[]string `json:"strangers,omitempty"`
	// StarterGone is true when a marker of config.pid_markers names a process that has ended, or whose number another process has now; false when
	// that process lives. Absent where no marker says so, or it says so of another pid namespace.
	StarterGone *bool `json:"starter_gone,omitempty"`
	// SessionGone is true when an agent's own record says which process had the session open that a marker names, and that process has ended;
	// false when an agent has that session open. Absent where no record names it, and where it is not known.
	SessionGone *bool `json:"session_gone,omitempty"`
	// Seen are the agents that looks have seen it below, the present look included; absent where no look has. SeenGone is
	// true when there are such agents and all of them have ended, false when one of them lives. Absent where there are none, and where it
	// is not known.
	Seen     []Seen `json:"seen,omitempty"`
	SeenGone *bool  `json:"seen_gone,omitempty"`
	// Multiplexer is true when its environment says that it comes out of a multiplexer's pane. MultiplexerMarked is then
	// true when that server carries the same markers, so that they prove nothing; absent where the server is gone or could
	// not be read.
	Multiplexer       *bool `json:"multiplexer,omitempty"`
	MultiplexerMarked *bool `json:"multiplexer_marked,omitempty"`
	// Agents counts the living agents that may have started it or taken it over: those not younger than it and not known to carry another
	// value of an identifying marker, and those of any age that carry the same value. One that is unidentified counts where it
	// carries a marker and is not part of an orphaned tree, and so does the process that a marker names by its pid. Agent is one of them. A
	// daemon of an agent's vendor is one of them while something runs below it.
	// Absent where the processes could not be read whole.
	Agents *int               `json:"agents,omitempty"`
	Agent  *snapshot.PaneProc `json:"agent,omitempty"`
	// Cleared counts the living agents that are old enough to have started it and positively did not: its markers name another one, looks have
	// seen it below others, or it comes out of a pane that the agent is not in. They are not among Agents.
	Cleared *int `json:"cleared,omitempty"`
	// Copyless counts those of Agents that have no living copy of the same program below themselves: same package, script and command
	// line. Only of an MCP server, and absent where that is not known.
	Copyless *int `json:"copyless,omitempty"`
	// PossibleAgent is what Agents is absent for: an earlier process that may be an agent and does not show it (its file cannot be read, or what
	// an interpreter runs).
	PossibleAgent *snapshot.PaneProc `json:"possible_agent,omitempty"`
	// Ancestors are its living parents of this same user, nearest first: as far up as they are known and that user's, and no more than
	// 16. Known and empty is [], absent where its own parent, or who this user is, is not known.
	Ancestors *[]Ancestor `json:"ancestors,omitempty"`
	// AgentAncestor is true when one of its living ancestors is an agent, MultiplexerAncestor when one is a multiplexer.
	AgentAncestor       *bool `json:"agent_ancestor,omitempty"`
	MultiplexerAncestor *bool `json:"multiplexer_ancestor,omitempty"`
	// Descendants counts the processes below it; AgentBelow and TTYBelow say whether one of them is an agent or has a
	// terminal, ListenerBelow whether one listens.
	Descendants *int  `json:"descendants,omitempty"`
	AgentBelow  *bool `json:"agent_below,omitempty"`
	TTYBelow    *bool `json:"tty_below,omitempty"`
	// AgentNamedBelow is AgentBelow also where one below it is unidentified: false where none is called or started as an agent.
	AgentNamedBelow *bool `json:"agent_named_below,omitempty"`
	// ListenerBelow is false only when of every process below it is known that it listens neither on a port nor on a unix socket.
	ListenerBelow *bool `json:"listener_below,omitempty"`
	// Below are the processes below it, all of them. Absent where they are not known, and where there are more than 64.
	Below *[]Below `json:"below,omitempty"`
	// Peers are the processes outside of its tree that can speak with it or with what lives below it (Process.Peers), by pid. Known and empty is [];
	// absent where that is not known of all of the tree.
	Peers *[]Peer `json:"peers,omitempty"`
	// Ports are the TCP ports that it and all below it listen on, TreeSockets such unix sockets, and Clients counts the connections that are open
	// to what they listen on, unix sockets of a program's own among them. Each is absent where it is not known of all.
	Ports       *[]int    `json:"ports,omitempty"`
	TreeSockets *[]string `json:"tree_sockets,omitempty"`
	Clients     *int      `json:"clients,omitempty"`
	// Intent says what shows that it, or a process below it, was meant to outlive what started it: hangup (it ignores SIGHUP), nohup, systemd-run or at
	// (snapshot.Process.StartedBy), or multiplexer or at where the nearest of agents, multiplexers and atd above it is that. Known and empty is
	// [], absent where nothing shows it and it is not known of all.
	Intent *[]string `json:"intent,omitempty"`
	// Connections counts the open connections of it and all below it to anything else, on this machine or not, and Connected is for how many seconds,
	// at least, one of them has had connections at each look (snapshot.Process.ConnectedSince). WritesFiles counts the regular files that
	// they have open for writing, and Output is for how many seconds, at least, none of these has changed. Each is absent where it is not known
	// of all, Output also where there is no such file.
	Connections *int     `json:"connections,omitempty"`
	Connected   *float64 `json:"connected,omitempty"`
	WritesFiles *int     `json:"writes_files,omitempty"`
	Output      *float64 `json:"output,omitempty"`
	// AgentDir is the folder that agents are known to work in and that its working directory lies in: a candidate folder, or
	// one that a spawn or registry entry names.
	AgentDir string `json:"agent_dir,omitempty"`
	// Pane is the id of the pane whose session it belongs to, "" for a process whose session is known and is not a pane's.
	Pane *string `json:"pane,omitempty"`
}

// Seen is an agent that a process was seen below.
type Seen struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Name       string `json:"name"`
	// Gone is whether it has ended; absent where that is not known. Ago is in seconds since the process was last seen below an agent, 0
	// where it is now.
	Gone *bool   `json:"gone,omitempty"`
	Ago  float64 `json:"ago"`
}

// Ancestor is a process above another one. Exe is the file that it was started from, absent where that is not known.
type Ancestor struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Exe  string `json:"exe,omitempty"`
}

// Below is a process below another one.
type Below struct {
	// ID is its own as a candidate, and Held whether a hold on it was placed and has not lapsed.
	ID   string `json:"id"`
	Held bool   `json:"held"`
	PID  int    `json:"pid"`
	Name string `json:"name"`
	UID  *int   `json:"uid,omitempty"`
	// Waits is Process.Waits of the process below, Personal its Lineage.Personal.
	Waits    *bool   `json:"waits,omitempty"`
	Personal *string `json:"personal,omitempty"`
	// Own is false where it carries an identifying marker that the process above does not carry with that value: another owner's.
	Own *bool `json:"own,omitempty"`
}

// Peer is a process that has the other end of another one's input, output or another descriptor. Name is "" for one that has ended since.
type Peer struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// Member is a process that belongs to a pane.
type Member struct {
	// Pane is the pane's id. How is session for a process of the session that the pane's shell leads, elsewhere for one whose environment
	// names the pane.
	Pane string `json:"pane"`
	PID  int    `json:"pid"`
	Name string `json:"name"`
	How  string `json:"how" jsonschema:"enum=session,enum=elsewhere"`
	// The process as it stands in the snapshot, where it comes from, and its Age and Busy as a process has them.
	Process *snapshot.Process `json:"process,omitempty"`
	Lineage *Lineage          `json:"lineage,omitempty"`
	Age     *float64          `json:"age,omitempty"`
	Busy    *Processors       `json:"busy,omitempty"`
	// Server is the pid of the nearest multiplexer's server above it, 0 where there is no server.
	Server *int `json:"server,omitempty"`
}

// Shell is the first process of a pane, with what speaks for an agent that began it.
type Shell struct {
	// Pane is the pane's id, PID the process's.
	Pane string `json:"pane"`
	PID  int    `json:"pid"`
	// Markers are the names of its markers that name one agent session or an agent's process, and that the multiplexer's server does not carry
	// with that value; where the command that started the server made the session too, those that it does carry. Absent
	// where one of the two environments could not be read.
	Markers *[]string `json:"markers,omitempty"`
	// Agents is Lineage.Agents of the process, or of the server where that carries Markers: the living agents that may
	// have started it.
	Agents *int `json:"agents,omitempty"`
}

// Record is a spawn or a registry entry that concerns the candidate.
type Record struct {
	Source string `json:"source"`
	ID     string `json:"id"`
	Kind   string `json:"kind,omitempty"`
	Status string `json:"status,omitempty"`
	// Terminal is whether the record's format itself says that the owner has ended.
	Terminal *bool  `json:"terminal,omitempty"`
	Role     string `json:"role,omitempty"`
	Path     string `json:"path,omitempty"`
	Own      *bool  `json:"own,omitempty"`
	Session  string `json:"session,omitempty"`
	Retained *bool  `json:"retained,omitempty"`
	// Owner is the id of the registry entry for which a spawn was started. The entries of that id are among the candidate's.
	Owner string `json:"owner,omitempty"`
	// Marker is the value that its processes carry in their environment.
	Marker string `json:"marker,omitempty"`
	// Shared is true when several sessions bear the name or id by which the record is tied to this one, or may, so that which of them it
	// means is not known; false when no other one does. Only of records that are tied by the session.
	Shared *bool `json:"shared,omitempty"`
	// By says what ties it to the candidate: session, pane, tab, label, path, marker, pid, or spawn for the owner of one of its spawns.
	By string `json:"by"`
	// Age is in seconds since a spawn began, Completed since it completed; one without Completed is open. Only time awake counts.
	Age       *float64 `json:"age,omitempty"`
	Completed *float64 `json:"completed,omitempty"`
	// Started and Ended of an entry are in seconds before now by the wall clock. Endless is true of one that says nothing of an end.
	Started *float64 `json:"started,omitempty"`
	Ended   *float64 `json:"ended,omitempty"`
	Endless *bool    `json:"endless,omitempty"`
	// PullRequest is that of the owner's branch, where the record says anything of one.
	PullRequest *snapshot.PullRequest `json:"pull_request,omitempty"`
}

// Spawn is a Record of a spawn ledger, Entry one of a registry.
type (
	Spawn = Record
	Entry = Record
)

// Asked is that a person asked for this very candidate to be cleaned up, by name and alone.
type Asked struct {
	// By says who: user, the one who runs Winnow, whose number is UID.
	By  string `json:"by" jsonschema:"enum=user"`
	UID int    `json:"uid"`
	// Mine is true when they declared that it is theirs and may go.
	Mine bool `json:"mine"`
}

// Worker is what an observation goes by besides the records and the session.
type Worker struct {
	// Format is that of its registry.
	Format string `json:"format"`
	// Live are the ids of all sessions that bear the recorded name or id.
	Live []string `json:"live"`
	// RegistryRead, TmuxRead and HoldsRead are whether its own registry was read whole, any tmux server is looked for, and the holds were
	// read.
	RegistryRead bool `json:"registry_read"`
	TmuxRead     bool `json:"tmux_read"`
	HoldsRead    bool `json:"holds_read"`
	// UnreadTmux and UnreadRegistry are the first tmux server and the first registry of sessions that could not be read, "" where all were read.
	UnreadTmux     string `json:"unread_tmux"`
	UnreadRegistry string `json:"unread_registry"`
}

// Hold is a hold that has not lapsed.
type Hold struct {
	Owner  string `json:"owner,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Left is in seconds; absent for a hold without an end.
	Left *float64 `json:"left,omitempty"`
}

// Project is a repository whose own file keeps things, once the user trusted it.
type Project struct {
	// Path is the real path of its main checkout, File the file's.
	Path string `json:"path,omitempty"`
	File string `json:"file,omitempty"`
	// Keeps are the entries of the file that match the candidate, or may; [] without one. Absent where they, or whether the candidate lies in the
	// project, are not known.
	Keeps *[]Excepted `json:"keeps,omitempty"`
	// Off are the rules that are turned off there.
	Off *[]string `json:"off,omitempty"`
}

// Sighting is the memory of earlier looks, with its times as seconds before now.
type Sighting struct {
	Rule     string  `json:"rule"`
	Identity string  `json:"identity"`
	First    float64 `json:"first"`
	Last     float64 `json:"last"`
	Count    int     `json:"count"`
	// Idle is for how many seconds looks have found a process and all below it to do nothing to speak of (rules.busy): 0 where they
	// have done something since the look before, absent where that is not known. CPU and Written are what they used and wrote since
	// then, in processors and in bytes a second; Changed is true where another process is below it, or one less.
	Idle    *float64    `json:"idle,omitempty"`
	CPU     *Processors `json:"cpu,omitempty"`
	Written *float64    `json:"written,omitempty"`
	Changed *bool       `json:"changed,omitempty"`
}

// Config is the operator's parameters, the rules section of config.yaml under the same names. Durations are in seconds.
type Config struct {
	Shells        []string `json:"shells" keeps:"fewer"`
	PromptDaemons []string `json:"prompt_daemons" keeps:"fewer"`
	Agents        []string `json:"agents" keeps:"more"`
	// AgentScripts and AgentPackages are the program files and packages of agents that an interpreter runs, AgentDaemons what their
	// vendors run for all of them together.
	AgentScripts  []string      `json:"agent_scripts" keeps:"more"`
	AgentPackages []string      `json:"agent_packages" keeps:"more"`
	AgentDaemons  []AgentDaemon `json:"agent_daemons" keeps:"unknown"`
	// SessionAgents are the agents whose records of open sessions are read (collectors/opensessions). Their processes may stand in another folder than the
	// one in which a session works.
	SessionAgents   []SessionAgent `json:"session_agents" keeps:"unknown"`
	Interpreters    []string       `json:"interpreters" keeps:"unknown"`
	Multiplexers    []string       `json:"multiplexers" keeps:"unknown"`
	NeverProcesses  []string       `json:"never_processes" keeps:"more"`
	OpaqueProcesses []string       `json:"opaque_processes" keeps:"fewer"`
	// Families are what an interpreter may positively be running. PersonalDaemons are names of what people use too. OwnSockets are globs
	// over unix sockets that serve only the program that made them, DaemonFolders over folders in which build tools run daemons that a build starts again.
	Families        []Family         `json:"families" keeps:"fewer"`
	PersonalDaemons []PersonalDaemon `json:"personal_daemons" keeps:"unknown"`
	OwnSockets      []string         `json:"own_sockets" keeps:"fewer"`
	DaemonFolders   []string         `json:"daemon_folders" keeps:"fewer"`
	// DrivenPrograms are globs over the files of programs that tools install for agents and tests to drive.
	DrivenPrograms []string `json:"driven_programs" keeps:"unknown"`
	// Forge is collect.forge: the program by which the forge is asked for pull requests, or off.
	Forge Forge `json:"forge" keeps:"unknown"`
	// Markers are collect.processes.markers, those that say who started a process: what the value of each is.
	Markers Markers `json:"markers"`
	// Vendors are the agents that the files of the program describe, with the names of their programs and their packages. They are no part of the document.
	Vendors []SessionAgent `json:"-"`
	// MarkerRecords are markers whose value names a session that an orchestrator has on record, PIDMarkers those whose value is the pid of
	// the agent that started the process.
	MarkerRecords []MarkerRecord `json:"marker_records" keeps:"unknown"`
	PIDMarkers    []string       `json:"pid_markers" keeps:"unknown"`
	IDMarkers     []string       `json:"id_markers" keeps:"unknown"`
	PaneMarkers   []string       `json:"pane_markers" keeps:"unknown"`
	HelperLabels  Names          `json:"helper_labels"`
	// EditorNames are the names that agents' terminal tabs of editors are opened with, ToolSessions those that
	// orchestrators give their tmux sessions.
	EditorNames  Names `json:"editor_names"`
	ToolSessions Names `json:"tool_sessions"`
	// HerdrProtocols are the protocols of herdr that closing a tab was tried with, AgentIdle herdr's words for a pane without an
	// agent.
	HerdrProtocols []int    `json:"herdr_protocols" keeps:"fewer"`
	AgentIdle      []string `json:"agent_idle" keeps:"fewer"`
	// WorktreeFolders are names of folders that orchestrators keep their agents' worktrees in. RecordedFolders are names of folders
	// below which nothing may be cleared without the records of the named format.
	WorktreeFolders []string         `json:"worktree_folders" keeps:"fewer"`
	RecordedFolders []RecordedFolder `json:"recorded_folders" keeps:"more"`
	Runaway         Runaway          `json:"runaway"`
	SessionNames    Names            `json:"session_names"`
	DisposableDirs  []string         `json:"disposable_dirs" keeps:"unknown"`
	Rebuildable     []string         `json:"rebuildable" keeps:"fewer"`
	// Makers are the tools that make folders of names that people use too.
	Makers []Maker `json:"makers" keeps:"unknown"`
	// ToolFiles are names that only a tool uses: no work, ignored or not.
	ToolFiles []string `json:"tool_files" keeps:"fewer"`
	// LandingBranches are names and globs of branches on which work has landed as on the default branch.
	LandingBranches []string `json:"landing_branches" keeps:"unknown"`
	// NamedFiles is how many files of a kind a message names.
	NamedFiles int        `json:"named_files" keeps:"neither"`
	Scaffold   []Scaffold `json:"scaffold" keeps:"fewer"`
	// LockReasons are the forms in which tools write why a worktree is locked while an agent of theirs works in it.
	LockReasons      []LockReason `json:"lock_reasons" keeps:"fewer"`
	Protected        []string     `json:"protected" keeps:"more"`
	TerminalStatuses []string     `json:"terminal_statuses" keeps:"fewer"`
	// OverStatuses are those words for the formats of others, which are read by them and by no others.
	OverStatuses   []OverStatuses `json:"over_statuses" keeps:"unknown"`
	SpareListeners bool           `json:"spare_listeners" keeps:"yes"`
	Grace          Grace          `json:"grace"`
	ConfirmAfter   float64        `json:"confirm_after" keeps:"larger"`
	// ConfirmProcessAfter is for how long a process must have been seen idle, ConfirmBusyAfter for how long one that is busy, by Busy,
	// must have been found over and over.
	ConfirmProcessAfter float64 `json:"confirm_process_after" keeps:"larger"`
	ConfirmBusyAfter    float64 `json:"confirm_busy_after" keeps:"larger"`
	// DormantAfter is for how long what nothing can speak with must have been seen to do nothing.
	DormantAfter float64 `json:"dormant_after" keeps:"larger"`
	Busy         Busy    `json:"busy"`
	LandedAfter  float64 `json:"landed_after" keeps:"larger"`
	AttachedIdle float64 `json:"attached_idle" keeps:"larger"`
	// SessionIdle is for how long a tmux session that an agent left must have been without activity.
	SessionIdle float64 `json:"session_idle" keeps:"larger"`
	// AbandonedAfter is for how long a worktree must be untouched in which nothing was done.
	AbandonedAfter float64 `json:"abandoned_after" keeps:"larger"`
	// TrimAfter is for how long nothing may have happened in a worktree before what can be made again in it goes, and TrimMin how much
	// that must be.
	TrimAfter float64 `json:"trim_after" keeps:"larger"`
	TrimMin   Bytes   `json:"trim_min" keeps:"larger"`
	// TerminalIdle is for how long a terminal must have printed nothing: an exited one, and one with an agent whose builder is gone.
	TerminalIdle float64 `json:"terminal_idle" keeps:"larger"`
	SteadyFor    float64 `json:"steady_for" keeps:"larger"`
	// DisposableContent are globs over the paths of folders outside of git whose files are declared disposable.
	DisposableContent []string `json:"disposable_content" keeps:"fewer"`
	// Custom are the parameters that rules of one's own declare (METADATA custom.own), by name: a number (of seconds for a duration), a text,
	// a boolean or a list of texts.
	Custom map[string]any `json:"custom"`
	// Exceptions are those that the loaded policies bring. They are no part of the document: Subject.Exceptions has those that concern the candidate.
	Exceptions []snapshot.Keep `json:"-"`
	// Levels are the rules that are not on, with the kind that they are so for.
	Levels []RuleLevel `json:"levels"`
}

// RuleLevel is what the operator made of a rule for candidates of one kind.
type RuleLevel struct {
	Rule  string `json:"rule"`
	Kind  string `json:"kind"`
	Level string `json:"level" jsonschema:"enum=ask,enum=observe,enum=off"`
}

// Level is that of a rule for a kind: on where it is not among Levels.
func (c *Config) Level(kind, rule string) string {
	for _, l := range c.Levels {
		if l.Rule == rule && l.Kind == kind {
			return l.Level
		}
	}
	return decision.On
}

// Family is a sort of program that is known to be no agent. Names are globs over comm, Scripts over comm and the name of the file that
// an interpreter runs, Packages over its npm package or python module.
type Family struct {
	Family   string   `json:"family"`
	Names    []string `json:"names"`
	Scripts  []string `json:"scripts"`
	Packages []string `json:"packages"`
}

// PersonalDaemon is a program that people use too: a glob over comm and the file's name, and a word for what it is.
type PersonalDaemon struct {
	Name string `json:"name"`
	Is   string `json:"is"`
}

// Forge is who is asked for the pull requests of branches: off, gh or glab.
type Forge string

// Markers are variables of the environment, each once.
type Markers []Marker

// Marker is a variable of the environment that says that an agent started a process.
type Marker struct {
	Name string `json:"name" yaml:"name"`
	// Value says what its value is. A session is an agent session's or thread's id. A pid is the number of the agent's process. A flag has no
	// value that tells one agent from another, and a person's own terminal may carry it: it is a hint.
	Value string `json:"value" yaml:"value" jsonschema:"enum=session,enum=pid,enum=flag"`
	// Agent is whose programs set it, by a name of config.agents; "" where it is not known. Since is the first version that does.
	Agent string `json:"agent,omitempty"`
	Since string `json:"since,omitempty"`
}

// What the value of a marker is.
const (
	MarkerSession = "session"
	MarkerPID     = "pid"
	MarkerFlag    = "flag"
)

// Marker is what is known of a marker by its name. One that is not described is what the lists of identifying markers make of it, and a flag
// where it is on none.
func (c *Config) Marker(name string) Marker {
	for _, m := range c.Markers {
		if m.Name == name && m.Value != "" {
			return m
		}
	}
	out := Marker{Name: name, Value: MarkerFlag}
	switch {
	case slices.Contains(c.PIDMarkers, name):
		out.Value = MarkerPID
	case slices.Contains(c.IDMarkers, name), slices.ContainsFunc(c.MarkerRecords, func(r MarkerRecord) bool { return r.Marker == name }):
		out.Value = MarkerSession
	}
	return out
}

// MarkerRecord ties a marker to the format of the registries that know the sessions that it names.
type MarkerRecord struct {
	Marker string `json:"marker"`
	Format string `json:"format"`
}

// AgentDaemon is a process that an agent's vendor runs for all of its agents together: the names of its program (comm, or the name of the
// file), and the words that its command line begins with behind it.
type AgentDaemon struct {
	Name     string   `json:"name"`
	Programs []string `json:"programs"`
	Args     []string `json:"args"`
}

// SessionAgent is an agent whose records of open sessions are read as the source agents/<name>, and how its processes are
// known: by their programs (by name, file, or what an interpreter runs), packages and scripts (what an interpreter runs;
// by name or file too where a record stands beside it).
type SessionAgent struct {
	Name     string   `json:"name"`
	Programs []string `json:"programs"`
	Packages []string `json:"packages"`
	Scripts  []string `json:"scripts"`
}

// OverStatuses are the words of a registry's format that say that an owner has ended; any other word, or a missing one, means that it has not ended.
// Close is the command, with ID for the owner's id, with which its agent ends what still runs for such an owner and keeps
// what can be resumed; it is only said.
type OverStatuses struct {
	Format   string   `json:"format"`
	Statuses []string `json:"statuses"`
	Close    string   `json:"close,omitempty"`
}

// RecordedFolder ties a folder's name to the format of the records of what lies in it.
type RecordedFolder struct {
	Name   string `json:"name"`
	Format string `json:"format"`
}

// Maker is a tool that makes folders of names that people use too. A folder of one of Names, which are globs as in rules.rebuildable, can be made again only
// where one of Marks lies in it and all of Beside lie in the folder that holds it: globs over paths there. Without Names a mark counts in any folder.
type Maker struct {
	Maker  string   `json:"maker"`
	Names  []string `json:"names,omitempty"`
	Marks  []string `json:"marks"`
	Beside []string `json:"beside,omitempty"`
}

// Scaffold is what a tool writes into worktrees for itself, by exact path in the worktree.
type Scaffold struct {
	Tool string `json:"tool"`
	// In are names of the folders that its worktrees lie directly in; empty means any folder.
	In []string `json:"in,omitempty"`
	// Paths are regular files, Links symbolic links to the same path in the main checkout.
	Paths []string `json:"paths,omitempty"`
	Links []string `json:"links,omitempty"`
	// Reports says that the files are what a spawned agent leaves for its starter: work until its spawn is completed.
	Reports bool `json:"reports,omitempty"`
}

// LockReason is the form of such a reason: a regular expression over all of it with the groups pid and, where it has them, start and owner.
// Names are what the process is called, by comm.
type LockReason struct {
	Tool    string   `json:"tool"`
	Pattern string   `json:"pattern"`
	Names   []string `json:"names,omitempty"`
}

// Runaway is what a process of an owner that has ended must reach to be one: MinAge is in seconds, MinCPU in processors over its
// whole life.
type Runaway struct {
	MinAge float64    `json:"min_age" keeps:"larger"`
	MinCPU Processors `json:"min_cpu" keeps:"larger"`
}

// Busy is what a process and all below it may use between two looks and still be idle: CPU in processors, Written in bytes a second.
type Busy struct {
	CPU     Processors `json:"cpu" keeps:"smaller"`
	Written int64      `json:"written" keeps:"smaller"`
}

// Processors is an amount of processing: 1 is one processor at work all the time.
type Processors float64

// Bytes is an amount of storage.
type Bytes int64

// Names is a scope by name.
type Names struct {
	Exact  []string `json:"exact" keeps:"fewer"`
	Prefix []string `json:"prefix" keeps:"fewer"`
}

// Grace is how young a thing is spared, in seconds.
type Grace struct {
	Dir     float64 `json:"dir" keeps:"larger"`
	Spawn   float64 `json:"spawn" keeps:"larger"`
	Process float64 `json:"process" keeps:"larger"`
	Session float64 `json:"session" keeps:"larger"`
	// Terminal is since the start of a terminal's process, Shellper the same of one that neither Tower nor store knows.
	Terminal float64 `json:"terminal" keeps:"larger"`
	Shellper float64 `json:"shellper" keeps:"larger"`
}
