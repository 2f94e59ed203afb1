package tmux

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	sessionID = regexp.MustCompile(`^\$[0-9]+$`)
	paneID    = regexp.MustCompile(`^%[0-9]+$`)
)

// view is one session as its server shows it at one moment.
type view struct {
	// serverPID and serverStart identify the server, as it says itself; they are there whether the session is or not.
	serverPID   int
	serverStart string
	// id is empty where the server has no such session.
	id, created, activity, grouped, name string
	// attached counts the clients that show the session; attachedAll is the server's own count, and attachedTo names them.
	attached                int
	attachedAll, attachedTo string
	panes                   []paneView
}

// paneView is a pane with its window.
type paneView struct {
	window, layout string
	width, height  int
	linked         bool
	id             string
	pid            int
	dead           bool
	// command is the program in front, as the server names it; activity when its window last showed something, in seconds since 1970.
	command, activity string
	windowName        string
}

const tab = "\t"

// text is a value that may hold anything, without what ends fields and rows: tmux lets tabs and newlines into the names of windows, and
// until 3.1c of sessions.
func text(of string) string { return "#{s/[\t\n]/?/:" + of + "}" }

// look asks the server for one session. Fields stand between tabs.
func (c client) look(ctx context.Context, id string) (*view, error) {
	own := "#{==:#{session_id}," + id + "}"
	out, err := c.run(ctx, quiet,
		"display-message", "-p", join("server", "#{pid}", "#{start_time}"), ";",
		"list-sessions", "-F", "#{?"+own+","+join("session", "#{session_id}", "#{session_created}", "#{session_activity}",
			"#{session_grouped}", "#{session_attached}", "#{session_attached_list}", text("session_name"))+",other}", ";",
		"display-message", "-p", "listed", ";",
		"list-panes", "-a", "-F", "#{?"+own+","+join("pane", "#{window_id}", "#{window_layout}", "#{window_width}", "#{window_height}",
			"#{window_linked}", "#{pane_id}", "#{pane_pid}", "#{pane_dead}", text("pane_current_command"), "#{window_activity}", text("window_name"))+",}", ";",
		"list-clients", "-F", "#{?"+own+",client,}", ";",
		"display-message", "-p", "end")
	v, whole := parseView(out)
	if whole {
		return v, nil
	}
	if err == nil {
		err = fmt.Errorf("the tmux server on %s gave an answer that cannot be read whole", c.socket)
	}
	return nil, fmt.Errorf("look at session %s: %w", id, err)
}

func join(fields ...string) string { return strings.Join(fields, tab) }

// parseView reads the answer, and says whether it is the whole of one. A server without any session ends the chain before its
// panes: it calls listing them an error.
func parseView(out string) (v *view, whole bool) {
	v = &view{}
	var listed, others bool
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), tab)
		ok := true
		switch {
		case whole:
			return nil, false
		case f[0] == "server" && len(f) == 3:
			v.serverPID, ok = positive(f[1])
			v.serverStart = f[2]
		case f[0] == "session" && len(f) == 8 && v.id == "" && sessionID.MatchString(f[1]):
			v.id, v.created, v.activity, v.grouped, v.attachedAll, v.attachedTo, v.name = f[1], f[2], f[3], f[4], f[5], f[6], f[7]
		case f[0] == "pane" && len(f) == 12:
			var p paneView
			p, ok = parsePane(f)
			v.panes = append(v.panes, p)
		case line == "client\n":
			v.attached++
		case line == "listed\n":
			listed = true
		case line == "end\n":
			whole = true
		case line == "other\n":
			others = true
		case line != "\n": // a pane or client of another session
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	none := listed && v.id == "" && !others
	return v, v.serverPID > 0 && (whole || none)
}

func parsePane(f []string) (paneView, bool) {
	p := paneView{window: f[1], layout: f[2], linked: f[5] != "0", id: f[6], dead: f[8] != "0", command: f[9], activity: f[10], windowName: f[11]}
	var ok [3]bool
	p.width, ok[0] = positive(f[3])
	p.height, ok[1] = positive(f[4])
	p.pid, ok[2] = positive(f[7])
	return p, ok[0] && ok[1] && (ok[2] || p.dead) && paneID.MatchString(p.id)
}

func positive(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0
}
