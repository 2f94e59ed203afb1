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

// Fields stand between tabs: with -u tmux gives them as they are, and newer versions write other control characters in
// octal. No value holds one, since tmux escapes them in names.
var (
	serverFormat = row(rowServer, "#{pid}", "#{start_time}", "#{version}")
	// The name comes last.
	sessionFormat = row(rowSession, "#{session_id}", "#{session_created}", "#{session_activity}", "#{session_group_size}",
		"#{session_group}", "#{session_name}")
	paneFormat = row(rowPane, "#{session_id}", "#{pane_id}", "#{pane_pid}", "#{pane_dead}", "#{window_activity}", "#{pane_tty}")
	// A client that shows no session is not listed.
	clientFormat = row(rowClient, "#{session_id}", "#{client_control_mode}", "#{client_activity}")
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
