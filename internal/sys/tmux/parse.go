package tmux

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Listing is what a server reports of itself, in its own order.
type Listing struct {
	PID      int
	Started  time.Time
	Version  string
	Sessions []Session
	Panes    []Pane
	Clients  []Client
	// Detail is of the session that was asked for, nil where the server does not have it.
	Detail *Detail
	// Listener is the process that listens on the socket, as this pid namespace counts it, 0 for one outside.
	Listener int
}

// Session is a session. Name and Group are without tabs and newlines.
type Session struct {
	ID                string
	Created, Activity time.Time
	// Attached is when a client was last attached to it, zero where it never was.
	Attached    time.Time
	GroupSize   int
	Group, Name string
	// Odd is true where the name could not be read as it is.
	Odd bool
}

// Pane is a pane as one session shows it: one that several sessions show is there once for each.
type Pane struct {
	Session, ID string
	PID         int // 0 for a pane without a process
	Dead        bool
	Died        time.Time // zero where it is not dead, and where that is not known (before 3.3)
	StartPath   string    // where a dead pane was started, empty where that is not known
	Activity    time.Time // of its window
	TTY         string
	// Command is the beginning of the command that the pane was started with, empty for a shell alone. It may hold anything that a person types.
	Command string
}

// Client is a client that shows a session.
type Client struct {
	Session  string
	Control  bool
	Activity time.Time
	TTY      string // empty for one without a terminal, which a control client may be
}

// Detail is one session more closely.
type Detail struct {
	// State is the value of the format State, and Outputs of Outputs. State is empty where it cannot be compared: it is too long, or holds a
	// name of a program or client that cannot stand in a condition.
	State, Outputs string
	Windows        []Window
}

// Window is a pane's place. A window with several panes is there once for each.
type Window struct {
	Pane, ID, Layout string
	Width, Height    int
	Name             string // without tabs and newlines
}

// Session finds the session with that id, nil if it is missing.
func (l *Listing) Session(id string) *Session {
	if i := slices.IndexFunc(l.Sessions, func(s Session) bool { return s.ID == id }); i >= 0 {
		return &l.Sessions[i]
	}
	return nil
}

// Living lists the first process of every pane that has one, each once, sorted.
func (l *Listing) Living() []int {
	out := []int{}
	for _, p := range l.Panes {
		if p.PID > 0 && !p.Dead {
			out = append(out, p.PID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parse reads what the chain of commands printed. An error says that it is not the whole of it; there is then no listing.
func parse(out string, detailed bool) (*Listing, error) {
	p := parser{detailed: detailed}
	for line := range strings.Lines(out) {
		if p.ended {
			return nil, errors.New("a row after the end")
		}
		p.row(strings.TrimSuffix(line, "\n"))
		if p.err != nil {
			return nil, p.err
		}
	}
	if p.PID == 0 || !p.ended && !(p.listed && len(p.Sessions) == 0) {
		return nil, fmt.Errorf("the answer is cut short: %d sessions and %d panes came, and no end mark", len(p.Sessions), len(p.Panes))
	}
	return &p.Listing, nil
}

const (
	// maxRows and maxField, in bytes, bound what a server may list: a person's has tens of rows.
	maxRows  = 50_000
	maxField = 4 << 10
	// maxDetail is maxField for a state and a layout, which have some tens of bytes for each pane.
	maxDetail = 64 << 10
	// maxFields is more than any row has.
	maxFields = 8
)

type parser struct {
	Listing
	rows          int
	known         map[string]bool // session ids
	detailed      bool            // an empty row is of another session than the one that was asked for
	listed, ended bool
	err           error
}

// widths are the fields of each row, the first among them.
var widths = map[string]int{rowServer: 4, rowSession: 8, rowListed: 1, rowPane: 8, rowClient: 5, rowState: 3, rowWindow: 7, rowEnd: 1}

func (p *parser) row(line string) {
	if p.rows++; p.rows > maxRows {
		p.err = fmt.Errorf("more than %d sessions, panes and clients, which is more than winnow reads", maxRows)
		return
	}
	if p.detailed && line == "" && p.PID != 0 {
		return
	}
	f := strings.SplitN(line, "\t", maxFields+1)
	if f[0] == rowSession { // what comes last may hold tabs
		f = strings.SplitN(line, "\t", widths[rowSession])
	}
	most := maxField
	if f[0] == rowState || f[0] == rowWindow {
		most = maxDetail
	}
	if slices.ContainsFunc(f, func(s string) bool { return len(s) > most }) {
		p.err = fmt.Errorf("a name or another field is longer than the %d bytes that winnow reads", most)
		return
	}
	width, ok := widths[f[0]]
	if !ok || len(f) != width || (p.PID == 0) != (f[0] == rowServer) {
		p.err = fmt.Errorf("a %q row with %d fields, which does not belong there", f[0], len(f))
		return
	}
	switch f[0] {
	case rowServer:
		p.PID, p.Started, p.Version = p.number(f[1]), p.time(f[2]), f[3]
		p.must(p.PID > 0, "a server with pid %q", f[1])
		p.known = map[string]bool{}
	case rowSession:
		p.session(f)
	case rowListed:
		p.listed = true
	case rowPane:
		p.Panes = append(p.Panes, p.died(f[4], Pane{Session: p.one(f[1]), ID: p.pane(f[2]), PID: p.number(f[3]),
			Activity: p.time(f[5]), TTY: f[6], Command: f[7]}))
	case rowClient:
		p.Clients = append(p.Clients, Client{Session: p.one(f[1]), Control: p.flag(f[2]), Activity: p.time(f[3]), TTY: f[4]})
	case rowState, rowWindow:
		p.detail(f)
	case rowEnd:
		p.ended = true
	}
}

func (p *parser) session(f []string) {
	s := Session{ID: f[1], Created: p.time(f[2]), Activity: p.time(f[3]), Group: f[6], Name: f[7]}
	if s.Odd = strings.ContainsAny(s.Name, odd+"\t"); s.Odd {
		s.Name = strings.NewReplacer(odd, "\ufffd", "\t", "\ufffd").Replace(s.Name)
	}
	if f[4] != "" && f[4] != "0" { // empty for one that no client was ever attached to
		s.Attached = p.time(f[4])
	}
	if f[5] != "" {
		s.GroupSize = p.number(f[5])
	}
	p.must(IsSession(s.ID), "%q is not the id of a session", s.ID)
	p.must(!p.known[s.ID], "session %s is listed twice", s.ID)
	p.known[s.ID] = true
	p.Sessions = append(p.Sessions, s)
}

func (p *parser) detail(f []string) {
	switch {
	case !p.detailed || (p.Detail == nil) != (f[0] == rowState):
		p.err = fmt.Errorf("a %q row, which was not asked for", f[0])
	case f[0] == rowState:
		p.Detail = &Detail{State: f[1], Outputs: f[2]}
		if !comparable.MatchString(f[1]) || len(f[1])+strings.Count(f[1], ",")+len(f[2]) > MaxState {
			p.Detail.State = ""
		}
	default:
		p.Detail.Windows = append(p.Detail.Windows, Window{Pane: p.pane(f[1]), ID: f[2], Layout: f[3], Width: p.number(f[4]), Height: p.number(f[5]), Name: f[6]})
	}
}

// must notes what is wrong unless it is right, if nothing was wrong before.
func (p *parser) must(right bool, format string, args ...any) {
	if !right && p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// one is the id of a session that was listed.
func (p *parser) one(id string) string {
	p.must(p.known[id], "a row of session %q, which was not listed", id)
	return id
}

func (p *parser) pane(id string) string {
	p.must(IsPane(id), "%q is not the id of a pane", id)
	return id
}

// died adds to a pane whether it is dead, since when, and where it was started.
func (p *parser) died(field string, pane Pane) Pane {
	dead, rest, _ := strings.Cut(field, " ")
	at, path, _ := strings.Cut(rest, " ")
	if pane.Dead = p.flag(dead); at != "" {
		pane.Died = p.time(at)
	}
	if !strings.Contains(path, odd) {
		pane.StartPath = path
	}
	return pane
}

func (p *parser) number(s string) int {
	n, err := strconv.Atoi(s)
	p.must(err == nil, "%q is not a number", s)
	return n
}

// time reads seconds since 1970.
func (p *parser) time(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	p.must(err == nil && n > 0, "%q is not a time in seconds since 1970", s)
	return time.Unix(n, 0).UTC()
}

func (p *parser) flag(s string) bool {
	p.must(s == "0" || s == "1", "%q is neither 0 nor 1", s)
	return s == "1"
}

// StartedFor is the session that the server with that pid started a process for, by the process's TMUX: the socket, the server's pid and
// the session's number, which is -1 for none. It is not known where TMUX is another server's, or no such text.
func StartedFor(value string, server int) (session string, known bool) {
	parts := strings.Split(value, ",")
	if len(parts) < 3 || parts[len(parts)-2] != strconv.Itoa(server) {
		return "", false
	}
	return "$" + parts[len(parts)-1], true
}

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
