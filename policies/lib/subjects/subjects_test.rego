# METADATA
# title: Subjects for tests
# description: One candidate of each kind that every rule agrees may go. Tests change or leave out one fact of it.
package policies.lib.subjects_test

config := {
	"forge": "off",
	"shells": ["bash", "sh", "zsh"],
	"prompt_daemons": ["gitstatusd"],
	"agents": ["claude", "codex"],
	"agent_scripts": ["gemini"],
	"agent_packages": ["@google/gemini-cli"],
	"agent_daemons": [{"name": "codex app-server", "programs": ["codex"], "args": ["app-server", "--managed-daemon"]}],
	"interpreters": ["node", "python3*"],
	"multiplexers": ["tmux: server", "screen"],
	"never_processes": ["git", "git-*", "ssh-agent", "containerd-shim*"],
	"opaque_processes": ["ssh-agent"],
	"families": [{"family": "dev-server", "names": [], "scripts": ["vite"], "packages": ["vite"]}],
	"personal_daemons": [{"name": "emacs", "is": "editor"}],
	"driven_programs": ["*/ms-playwright/*"],
	"own_sockets": ["*/tsx-*/*.pipe"],
	"daemon_folders": ["**/.gradle/daemon/*"],
	"markers": [{"name": "AGENT_SESSION", "value": "session"}, {"name": "CLAUDECODE", "value": "flag", "agent": "claude"}],
	"marker_records": [{"marker": "FLOCK_SESSION", "format": "flock"}],
	"pid_markers": ["AGENT_PID"],
	"id_markers": ["AGENT_SESSION"],
	"pane_markers": ["TMUX"],
	"helper_labels": {"exact": ["rundown"], "prefix": ["review "]},
	"editor_names": {"exact": ["Claude Code"], "prefix": ["agent: "]},
	"herdr_protocols": [17, 19],
	"agent_idle": ["unknown"],
	"worktree_folders": [".worktrees"],
	"recorded_folders": [{"name": ".worktrees", "format": "flock"}],
	"scaffold": [{"tool": "flock", "paths": [".flock-prompt"]}],
	"runaway": {"min_age": 300, "min_cpu": 0.8},
	"session_names": {"exact": ["scratch"], "prefix": ["worker-"]},
	"tool_sessions": {"exact": [], "prefix": ["aoe_"]},
	"disposable_dirs": ["-review-[0-9a-f]{8}$"],
	"rebuildable": ["node_modules"],
	"tool_files": [".DS_Store"],
	"landing_branches": [],
	"named_files": 3,
	"protected": [],
	"terminal_statuses": ["completed", "failed"],
	"spare_listeners": true,
	"grace": {"dir": 900, "spawn": 900, "process": 300, "session": 600, "terminal": 300, "shellper": 3600},
	"confirm_after": 30,
	"confirm_process_after": 300,
	"confirm_busy_after": 1800,
	"dormant_after": 21600,
	"busy": {"cpu": 0.01, "written": 1},
	"landed_after": 86400,
	"abandoned_after": 259200,
	"trim_after": 259200,
	"trim_min": 10000000,
	"attached_idle": 3600,
	"session_idle": 3600,
	"terminal_idle": 600,
	"steady_for": 30,
	"levels": [],
}

host := {
	"boot_id": "boot",
	"uid": 1000,
	"home": "/home/u",
	"pid": 4242,
	"ancestors": [4240, 1],
	"cwd": "/home/u/project",
	"orphan_parents": [1, 900],
	"container": false,
	"steady": 7200,
}

_common := {
	"schema": "winnow.subject/v1",
	"identity": "the same thing",
	"now": "2026-11-20T18:00:00Z",
	"exceptions": [],
	"evidence_sources": {"proc": "ok", "ledger": "ok", "registry/workers": "ok", "spawns/builds": "ok"},
	"host": host,
	"config": config,
}

idle_pane := {
	"id": "%5",
	"shell_pid": 812,
	"shell_start_ticks": 93211,
	"foreground_pgid": 812,
	"foreground": [{"pid": 812, "name": "zsh", "interactive": true, "rest": {"seconds": 7000, "woke": false}}],
	"session_pids": [812],
	"session": [{"pid": 812, "name": "zsh", "interactive": true, "rest": {"seconds": 7000, "woke": false}}],
	"cwd": "/w/x",
	"tty": "pts/4",
	"dead": false,
	"descendants": [],
	"carriers": [],
	"linked": [],
	"error": "",
}

# A pane whose process ended and in which nothing lives.
dead_pane(id) := {"id": id, "dead": true, "session_pids": [], "session": [], "descendants": [], "carriers": [], "linked": [], "error": ""}

# A session in scope by its name, seen before.
session := object.union(_common, {
	"id": "session:tmux/default/$4",
	"kind": "session",
	"spawns_known": true,
	"entries_known": true,
	"label": "worker-7",
	"source": {"name": "tmux/default", "status": "ok"},
	"evidence_sources": {"tmux/default": "ok"},
	"session": {"source": "tmux/default", "id": "$4", "name": "worker-7", "attached": 0, "program_clients": 0, "ever_attached": false, "group": "", "group_size": 0, "panes": [idle_pane], "popups": [], "error": ""},
	"age": 7200,
	"made": 7200,
	"used": 7200,
	"idle": 3600,
	"sighting": {"rule": "reap.sessions.idle_shell", "identity": "the same thing", "first": 60, "last": 60, "count": 1},
})

# The same session with a process elsewhere that carries its pane.
carried := object.union(session, {
	"session": {"server": {"socket": "/tmp/tmux-1000/default", "pid": 500}, "panes": [object.union(idle_pane, {"carriers": [{"pid": 990, "name": "make"}]})]},
	"members": [{
		"pane": "%5",
		"pid": 990,
		"name": "make",
		"how": "elsewhere",
		"process": {"pid": 990, "start_ticks": 99000, "name": "make"},
		"lineage": {"is_agent": false, "personal": ""},
		"server": 0,
	}],
})

# A finished session in whose pane a server of its agent's was left.
littered := object.union(finished, {
	"session": {"panes": [object.union(idle_pane, {"session_pids": [812, 990], "session": [{"pid": 812, "name": "zsh", "interactive": true, "rest": {"seconds": 7000, "woke": false}}, {"pid": 990, "name": "node"}]})]},
	"members": [leftover],
})

leftover := {
	"pane": "%5",
	"pid": 990,
	"name": "node",
	"how": "session",
	"process": {
		"pid": 990,
		"start_ticks": 99000,
		"name": "node",
		"ppid": 1,
		"pgid": 980,
		"foreground_pgid": 812,
		"uid": 1000,
		"state": "S",
		"listening": [],
	},
	"lineage": {
		"markers": ["CLAUDECODE"],
		"added": ["CLAUDECODE"],
		"sockets": [],
		"family": "mcp-server",
		"is_agent": false,
		"agents": 0,
		"agent_ancestor": false,
		"agent_below": false,
		"listener_below": false,
		"peers": [],
		"intent": [],
		"connections": 0,
		"writes_files": 0,
	},
}

# A session that a registry entry names, and that entry has ended.
finished := object.union(session, {
	"session": {"name": "build"},
	"entries": [{"source": "registry/workers", "id": "w7", "status": "completed", "by": "session", "session": "build", "shared": false, "ended": 600, "endless": false}],
	"sighting": {"rule": "reap.sessions.finished"},
})

# A helper's tab in herdr, seen before.
tab := object.union(_common, {
	"id": "tab:herdr/default/w1:t3",
	"kind": "tab",
	"spawns_known": true,
	"entries_known": true,
	"label": "review TASK-7",
	"source": {"name": "herdr/default", "status": "ok", "server": {"socket": "/run/herdr.sock", "pid": 600, "protocol": 19, "version": "0.8.0"}},
	"evidence_sources": {"herdr/default": "ok"},
	"tab": {
		"source": "herdr/default",
		"id": "w1:t3",
		"label": "review TASK-7",
		"workspace": "w1",
		"last_in_workspace": false,
		"group_parent": false,
		"focused": false,
		"own": false,
		"pane_count": 1,
		"panes": [helper_pane],
	},
	"sighting": {"rule": "reap.tabs.idle_shell", "identity": "the same thing", "first": 60, "last": 60, "count": 1},
})

helper_pane := object.union(idle_pane, {"id": "w1:p4", "terminal": "term_1", "agent_status": "unknown"})

# A Codev terminal whose builder was cleaned up, and whose agent has been at its prompt for long. It was seen before.
terminal := object.union(_common, {
	"id": "terminal:codev/default/b26afcb2-e6ce-4410-9950-93df6cbfe922",
	"kind": "terminal",
	"label": "builder-pir-883",
	"source": {"name": "codev/default", "status": "ok", "server": {"socket": "http://127.0.0.1:4100", "pid": 0}},
	"evidence_sources": {"codev/default": "ok"},
	"terminal": {
		"source": "codev/default",
		"id": "b26afcb2-e6ce-4410-9950-93df6cbfe922",
		"role": "builder-pir-883",
		"role_kind": "builder",
		"status": "running",
		"listed": true,
		"recorded": true,
		"label": "terminal-04739283",
		"error": "",
		"workspace": "/home/u/acme",
		"pid": 6101,
		"start_ticks": 610100,
		"scoped": true,
		"created_at": "2026-11-20T12:26:40Z",
		"started_at": "2026-11-20T12:26:40Z",
		"below": [{"pid": 6102, "name": "bash", "rest": {"seconds": 7000, "woke": false}}, {"pid": 6103, "name": "claude"}],
		"owner": {
			"id": "builder-pir-883",
			"how": "row",
			"recorded": false,
			"worktree": "/home/u/acme/.builders/pir-883-slug",
			"gone": true,
		},
	},
	"age": 20000,
	"idle": 9000,
	"owner_seen": 12000,
	"sighting": {"rule": "reap.terminals.ownerless", "identity": "the same thing", "first": 60, "last": 60, "count": 1},
})

# The development server of the same builder, which still prints.
server := object.union(terminal, {
	"terminal": {
		"role_kind": "dev",
		"recorded": false,
		"label": "Dev: builder-pir-883",
		"below": [{"pid": 6112, "name": "node"}],
		"owner": {"how": "label"},
	},
	"lineage": {"descendants": 1, "agent_below": false, "tty_below": true, "listener_below": true},
	"idle": 1,
})

# A builder's terminal that has exited, whose shellper stays to replay the end. The builder is still on record.
exited := object.union(terminal, {
	"terminal": {
		"status": "exited",
		"exit_code": 0,
		"below": [],
		"owner": {"recorded": true, "gone": false, "unregistered": false},
	},
	"sighting": {"rule": "reap.terminals.exited"},
})

# The same without any process.
ended := json.remove(exited, ["/terminal/pid", "/terminal/start_ticks", "/terminal/scoped", "/terminal/started_at", "/terminal/below"])

# An unknown shellper.
shellper := object.union(
	json.remove(terminal, ["/terminal/role", "/terminal/status", "/terminal/label", "/terminal/workspace", "/terminal/created_at", "/terminal/owner", "/idle", "/owner_seen"]),
	{
		"id": "terminal:codev/default/pid-6101",
		"label": "pid-6101",
		"terminal": {
			"id": "pid-6101",
			"role_kind": "shellper",
			"listed": false,
			"recorded": false,
			"below": [],
		},
		"sighting": {"rule": "reap.terminals.husk"},
	},
)

# All of them.
terminals := {terminal, server, exited, ended, shellper}

# A linked worktree whose work has landed.
dir := object.union(_common, {
	"id": "dir:/w/feature",
	"holders": [],
	"kind": "dir",
	"open": [],
	"label": "/w/feature",
	"source": {"name": "dirs//w", "status": "ok"},
	"evidence_sources": {"dirs//w": "ok"},
	"dir": {
		"source": "dirs//w",
		"name": "feature",
		"path": "/w/feature",
		"symlink": false,
		"uid": 1000,
		"mounts": 0,
		"empty": false,
		"checkout": true,
		"holders_known": true,
		"pointers": [],
		"git": {
			"worktree": true,
			"registered": true,
			"main": "/w/acme",
			"head": "1a2b3c",
			"branch": "feature",
			"locked": false,
			"upstream": "refs/remotes/origin/main",
			"landed": true,
			"commits": 3,
			"unreachable_commits": 0,
			"dirty": 0,
			"untracked": 0,
			"ignored": 0,
			"operation": "",
			"nested": [],
		},
	},
	"age": 200000,
	"idle": 100000,
})

# A folder with a disposable name and nothing in it.
empty := object.union(
	json.remove(dir, ["/dir/git"]),
	{"id": "dir:/w/x-review-1a2b3c4d", "dir": {
		"name": "x-review-1a2b3c4d",
		"path": "/w/x-review-1a2b3c4d",
		"checkout": false,
		"empty": true,
	}},
)

# A worktree whose folder was removed by hand.
gone := object.union(
	json.remove(dir, ["/dir/empty", "/dir/checkout", "/dir/git/dirty", "/dir/git/untracked", "/dir/git/ignored", "/dir/git/landed", "/dir/git/commits"]),
	{
		"idle": 345600,
		"dir": {
			"gone": true,
			"git": {
				"admin_dir": "/w/acme/.git/worktrees/feature",
				"common_dir": "/w/acme/.git",
				"staged": 0,
			},
		},
	},
)

# What can be made again in a worktree that stays.
content := object.union(
	json.remove(dir, ["/dir/git"]),
	{
		"id": "dir:/w/feature/node_modules",
		"label": "/w/feature/node_modules",
		"idle": 345600,
		"dir": {
			"name": "node_modules",
			"path": "/w/feature/node_modules",
			"checkout": false,
			"nested": [],
			"content": {
				"worktree": "/w/feature",
				"id": "dir:/w/feature",
				"name": "feature",
				"main": "/w/acme",
				"linked": true,
				"registered": true,
				"locked": false,
				"pattern": "node_modules",
				"maker": "node_modules",
				"ignored": true,
				"tracked": 0,
				"bytes": 612345678,
				"others": 0,
			},
		},
	},
)

# A process that an agent left behind, seen before, and idle since.
process := object.union(_common, {
	"id": "process:812@93211",
	"kind": "process",
	"spawns_known": true,
	"entries_known": true,
	"label": "node",
	"source": {"name": "proc", "status": "ok"},
	"evidence_sources": {"tmux/default": "ok"},
	"process": {
		"pid": 812,
		"start_ticks": 93211,
		"ppid": 1,
		"session": 812,
		"tty": "",
		"state": "S",
		"name": "node",
		"exe": "/usr/bin/node",
		"uid": 1000,
		"cwd": "/w/feature",
		"cwd_deleted": false,
		"listening": [],
		"unix_sockets": [],
	},
	"lineage": {
		"markers": ["AGENT_SESSION", "CLAUDECODE"],
		"identifying": ["AGENT_SESSION"],
		"pane": "",
		"interpreter": "node",
		"family": "dev-server",
		"unidentified": false,
		"unidentified_below": false,
		"sockets": [],
		"personal": "",
		"strangers": [],
		"multiplexer": false,
		"is_agent": false,
		"agents": 0,
		"agent_ancestor": false,
		"multiplexer_ancestor": false,
		"descendants": 0,
		"below": [],
		"agent_below": false,
		"tty_below": false,
		"listener_below": false,
		"peers": [],
		"intent": [],
		"connections": 0,
		"writes_files": 0,
	},
	"age": 7200,
	"sighting": {
		"rule": "reap.processes.orphan",
		"identity": "the same thing",
		"first": 360,
		"last": 60,
		"count": 2,
		"idle": 360,
		"cpu": 0,
		"written": 0,
		"changed": false,
	},
})

# A server of an agent's that was left in a pane.
left_in_pane := object.union(process, {
	"process": {"tty": "pts/4", "session": 812, "pgid": 812, "foreground_pgid": 700},
	"lineage": {"sockets": [], "pane": "%5", "multiplexer": true, "added": ["CLAUDECODE"], "family": "mcp-server"},
})

# A process that still runs in a worktree which was deleted, without any marker.
deleted := object.union(process, {
	"process": {"cwd": "/w/.worktrees/acme-7 (deleted)", "cwd_deleted": true},
	"lineage": {"markers": [], "identifying": [], "multiplexer": false},
	"sighting": {"rule": "reap.processes.deleted"},
})

# A process that keeps a processor busy for an owner who has ended, with a parent and a folder of its own.
runaway := object.union(process, {
	"process": {"ppid": 777, "cpu": 7000, "markers": {"AGENT_SESSION": "s1"}},
	"lineage": {"markers": ["AGENT_SESSION"]},
	"busy": 0.97,
	"sighting": {"rule": "reap.processes.runaway", "idle": 0, "cpu": 0.97},
	"entries": [{"source": "registry/flock", "id": "s1", "marker": "s1", "by": "marker", "status": "archived", "terminal": true}],
})

# A development server whose agent, folder and clients are gone.
leaked := object.union(process, {
	"process": {"cwd": "/w/feature (deleted)", "cwd_deleted": true, "listening": [5173], "clients": 0},
	"lineage": {"starter_gone": true, "ports": [5173], "tree_sockets": [], "clients": 0, "listener_below": false},
	"sighting": {"rule": "reap.processes.leaked_server"},
})

# A program that no list names, and that nothing can speak with: an agent may have started it, and lives.
dormant := object.union(process, {
	"process": {"name": "helper", "exe": "/opt/helper", "cpu": 0.4, "input_ended": true, "output_ended": true, "waits": true},
	"lineage": {"interpreter": "", "family": "", "agents": 1, "agent": {"pid": 31, "name": "codex"}},
	"sighting": {"rule": "reap.processes.dormant", "first": 21600, "idle": 21600},
})

# An MCP server whose agent is gone, while an older agent lives that has a copy of its own.
duplicate := object.union(process, {
	"lineage": {"family": "mcp-server", "agents": 1, "agent": {"pid": 31, "name": "codex"}, "copyless": 0},
	"sighting": {"rule": "reap.processes.duplicate_helper"},
})

# The same of a process in an interpreter whose program is not known.
unidentified(subject) := json.patch(subject, [
	{"op": "remove", "path": "/lineage/is_agent"},
	{"op": "remove", "path": "/lineage/family"},
	{"op": "add", "path": "/lineage/unidentified", "value": true},
])

# A candidate with one fact set to another value, and one with some facts left out. Paths are JSON pointers.
changed(subject, path, value) := json.patch(subject, [{"op": "add", "path": path, "value": value}])

without(subject, paths) := json.remove(subject, paths)

# METADATA
# title: Reasons
# description: What fired and what it says, a line for each finding or objection.
reasons(given) := [reason.message | some reason in given]
