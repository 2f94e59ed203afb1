package policies.lib.subjects_test

# A terminal tab of an editor that was opened for an agent, whose process has ended, seen before.
editor_tab := object.union(_common, {
	"id": "tab:vscode/3f9a01bc/7",
	"kind": "tab",
	"spawns_known": true,
	"entries_known": true,
	"label": "Claude Code",
	"source": {"name": "vscode/3f9a01bc", "status": "ok", "server": {"socket": "/run/user/1000/winnow/editors/3f9a01bc.sock", "pid": 900, "protocol": 1, "version": "0.1.0"}},
	"evidence_sources": {"vscode/3f9a01bc": "ok"},
	"tab": {
		"source": "vscode/3f9a01bc",
		"id": "7",
		"label": "Claude Code",
		"focused": false,
		"editor": {
			"window": "3f9a01bc",
			"folders": ["/home/u/acme"],
			"name": "Claude Code",
			"creation_name": "Claude Code",
			"shape": "shell",
			"program": "",
			"markers": [],
			"pid": 4711,
			"start_ticks": 471100,
			"exit_code": 1,
			"typed": true,
			"active": false,
			"opened_at": "2026-11-20T12:26:40Z",
			"session": [{"pid": 4720, "name": "sleep"}],
			"error": "",
		},
	},
	"shown": {"ended": true},
	"age": 20000,
	"sighting": {"rule": "reap.tabs.ended", "identity": "the same thing", "first": 60, "last": 60, "count": 1},
})

# A tab of a builder of Codev's that was cleaned up, seen before.
builder_tab := object.union(
	json.remove(editor_tab, ["/tab/editor/pid", "/tab/editor/start_ticks", "/tab/editor/exit_code", "/tab/editor/session", "/shown/ended"]),
	{
		"id": "tab:vscode/3f9a01bc/2",
		"label": "Codev: builder-pir-883",
		"evidence_sources": {"vscode/3f9a01bc": "ok", "codev/default": "ok"},
		"tab": {
			"id": "2",
			"label": "Codev: builder-pir-883",
			"focused": true,
			"editor": {
				"name": "Codev: builder-pir-883",
				"creation_name": "Codev: builder-pir-883",
				"codev": {"kind": "builder", "id": "builder-pir-883", "key": "pir-883"},
				"shape": "pty",
			},
		},
		"shown": {"workspaces": ["/home/u/acme"], "recorded": false, "worktree": false, "sessions": []},
		"sighting": {"rule": "reap.tabs.ownerless"},
	},
)

# Both of them.
editor_tabs := {editor_tab, builder_tab}
