# METADATA
# title: Tabs of editors
# description: What is positively known of a terminal tab of an editor - has its process ended, and is its builder gone.
package policies.lib.tabs

# True for a terminal tab of an editor, and false for a tab of herdr.
editor if input.tab.editor.shape in {"shell", "task", "pty"}

# True for a tab without a process, which an extension of the editor draws.
drawn if {
	input.tab.editor.shape == "pty"
	not input.tab.editor.pid
}

# True for a tab that was opened with a process.
of_process if {
	input.tab.editor.shape in {"shell", "task"}
	input.tab.editor.pid > 0
}

# True when the tab was opened with a process, and that process has ended by /proc.
ended if {
	of_process
	input.shown.ended == true
}

# True when the tab is of a builder of Codev's without a row and a folder, and the window has its workspace open.
ownerless if {
	drawn
	input.tab.editor.codev.key != ""
	input.tab.editor.codev.id != ""
	count(input.shown.workspaces) > 0
	input.shown.recorded == false
	input.shown.worktree == false
}

# True when every terminal that the builder had at its Tower has ended, or the tab shows none.
shows_nothing if ended
shows_nothing if count(input.shown.sessions) == 0

# True when what stands behind the tab was read, and nothing about it failed to be.
read if {
	of_process
	input.tab.editor.error == ""
	is_boolean(input.shown.ended)
	count(input.tab.editor.session) >= 0
}

read if {
	drawn
	input.tab.editor.error == ""
	is_boolean(input.shown.recorded)
	is_boolean(input.shown.worktree)
	count(input.shown.sessions) >= 0
}
