package tmux

import (
	"regexp"
	"strconv"
	"strings"
)

// The first field of a row says what it is.
const (
	rowServer  = "server"
	rowSession = "session"
	rowListed  = "listed" // all sessions were listed
	rowPane    = "pane"
	rowClient  = "client"
	rowState   = "state"
	rowWindow  = "window" // a pane of the session with the state, and its window
	rowEnd     = "end"
)

// odd stands for a tab or newline in a session's name, where tmux leaves them in (until 3.1c).
const odd = "\x01"

// Fields stand between tabs: with -u tmux gives them as they are. Names may hold tabs and newlines themselves: a group's in 3.1c to 3.5a,
// a session's in 3.1c (3.3a and 3.5a escape them in it, 3.7c takes neither), a window's. testdata/answers has what each version gives. s///
// with an expression works from 3.1 on; an older version changes nothing.
var (
	serverFormat = row(rowServer, "#{pid}", "#{start_time}", "#{version}")
	// The name comes last.
	sessionFormat = row(rowSession, "#{session_id}", "#{session_created}", "#{session_activity}", "#{session_last_attached}", "#{session_group_size}",
		text("session_group"), "#{s/[\t\n]/"+odd+"/:session_name}")
	// A dead pane has no process that could say since when it is dead, and where it was started.
	paneFormat = row(rowPane, "#{session_id}", "#{pane_id}", "#{pane_pid}",
		"#{pane_dead}#{?pane_dead, #{pane_dead_time} #{s/[\t\n]/"+odd+"/:pane_start_path},}",
		"#{window_activity}", "#{pane_tty}",
		"#{="+strconv.Itoa(maxCommand)+";s/[\t\n]/?/:pane_start_command}")
	// A client that shows no session is not listed.
	clientFormat = row(rowClient, "#{session_id}", "#{client_control_mode}", "#{client_activity}", "#{client_tty}")
	stateFormat  = row(rowState, State, Outputs)
	windowFormat = row(rowWindow, "#{pane_id}", "#{window_id}", "#{window_layout}", "#{window_width}", "#{window_height}", text("window_name"))
)

// maxCommand is how much is read of the command that a pane was started with, in characters.
const maxCommand = 500

func row(fields ...string) string { return strings.Join(fields, "\t") }

// text is a value that may hold anything, without what ends fields and rows.
func text(of string) string { return "#{s/[\t\n]/?/:" + of + "}" }

// commands is one chain of tmux commands that reads a server, as arguments of the program. They start no server.
//
// The server runs a client's chain without a break, so that it gives one state. It ends at the first command that fails: a
// server without sessions has no panes to list, and calls that an error.
func commands(detail string) []string {
	out := []string{
		"display-message", "-p", serverFormat, ";",
		"list-sessions", "-F", sessionFormat, ";",
		"display-message", "-p", rowListed, ";",
		"list-panes", "-a", "-F", paneFormat, ";",
		"list-clients", "-F", clientFormat, ";",
	}
	if detail != "" { // only what is of that session is expanded: a program's name costs the server a reading of /proc
		only := func(format string) string { return "#{?#{==:#{session_id}," + detail + "}," + format + ",}" }
		out = append(out, "list-sessions", "-F", only(stateFormat), ";", "list-panes", "-a", "-F", only(windowFormat), ";")
	}
	return append(out, "display-message", "-p", rowEnd)
}

// State is what of a session must not have changed between a judgement and an act, as a format of tmux's. session_activity moves with every
// key that an attached client presses, and Mark with what is sent to a pane while act.Arm's hooks are there.
const State = "#{pid} #{start_time} #{session_id} #{session_created} #{session_activity} #{session_grouped} #{session_attached} " +
	"[#{session_attached_list}] [#{" + Mark + "}] " +
	"#{W:#{P:#{pane_id}=#{pane_pid}=#{pane_dead}=#{window_linked}=#{?pane_dead,,#{pane_current_command}} }}"

// Outputs is when each window last showed something. It is added to State where every pane waits at a prompt, which shows nothing by itself.
const Outputs = "#{W:#{window_activity} }"

// Mark is an option of the session that is set once something was sent to it.
const Mark = "@winnow_input"

// StateFields says what the fields of State are, but for its panes, for a message.
var StateFields = []string{"the server", "the server", "the session's id", "its creation", "its activity (it was used)", "its group",
	"who is attached", "who is attached", "something was sent to it"}

// comparable is a state that can stand in a condition: it holds no character that means anything to tmux but the commas. MaxState keeps the
// command with it below what one message to a server may hold (MAX_IMSGSIZE, 16 KiB).
var comparable = regexp.MustCompile(`^[A-Za-z0-9_.+:@/~,$%=\[\] -]*$`)

// MaxState is in bytes, with the escapes.
const MaxState = 13 << 10

// Equals is the condition that State and Outputs have those values, the outputs only where they are asked for.
func Equals(state, outputs string) (format, condition string) {
	if format = State; outputs != "" {
		format += Outputs
	}
	return format, "#{==:" + format + "," + strings.ReplaceAll(state+outputs, ",", "#,") + "}"
}
