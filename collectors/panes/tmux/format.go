package tmux

import "strings"

// The first field of a row says what it is.
const (
	rowServer  = "server"
	rowSession = "session"
	rowListed  = "listed" // all sessions were listed
	rowPane    = "pane"
	rowClient  = "client"
	rowEnd     = "end"
)

// odd stands for a tab or newline in a session's name, where tmux leaves them in (until 3.1c).
const odd = "\x01"

// Fields stand between tabs: with -u tmux gives them as they are. Names may hold tabs and newlines themselves: a group's in 3.1c to 3.5a,
// a session's in 3.1c (3.3a and 3.5a escape them in it, 3.7c takes neither). testdata/answers has what each version gives. s/// with an
// expression works from 3.1 on; an older version changes nothing.
var (
	serverFormat = row(rowServer, "#{pid}", "#{start_time}", "#{version}")
	// The name comes last.
	sessionFormat = row(rowSession, "#{session_id}", "#{session_created}", "#{session_activity}", "#{session_group_size}",
		"#{s/[\t\n]/?/:session_group}", "#{s/[\t\n]/"+odd+"/:session_name}")
	paneFormat = row(rowPane, "#{session_id}", "#{pane_id}", "#{pane_pid}", "#{pane_dead}", "#{window_activity}", "#{pane_tty}")
	// A client that shows no session is not listed.
	clientFormat = row(rowClient, "#{session_id}", "#{client_control_mode}", "#{client_activity}", "#{client_tty}")
)

func row(fields ...string) string { return strings.Join(fields, "\t") }

// commands is one chain of tmux commands that reads a server, as arguments of the program. None of them starts a server.
//
// The server runs a client's chain without a break, so that it gives one state. It ends at the first command that fails: a
// server without sessions has no panes to list, and calls that an error.
func commands() []string {
	return []string{
		"display-message", "-p", serverFormat, ";",
		"list-sessions", "-F", sessionFormat, ";",
		"display-message", "-p", rowListed, ";",
		"list-panes", "-a", "-F", paneFormat, ";",
		"list-clients", "-F", clientFormat, ";",
		"display-message", "-p", rowEnd,
	}
}
