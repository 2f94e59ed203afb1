package tmux

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listing is what a server said of itself, in its own order.
type listing struct {
	pid      int
	started  time.Time
	version  string
	sessions []sessionRow
	panes    []paneRow
	clients  []clientRow
}

type sessionRow struct {
	id                string
	created, activity time.Time
	groupSize         int
	group, name       string
	// odd is true where the name holds what could not be read as it is.
	odd bool
}

// paneRow is a pane as one session shows it: one that several sessions show has a row for each.
type paneRow struct {
	session, id string
	pid         int // 0 for a pane without a process
	dead        bool
	activity    time.Time // of its window
	tty         string
}

type clientRow struct {
	session  string
	control  bool
	activity time.Time
	tty      string // empty for one without a terminal, which a control client may be
}

// living lists the first process of every pane that has one, each once.
func (l *listing) living() *[]int {
	out := []int{}
	for _, p := range l.panes {
		if p.pid > 0 && !p.dead {
			out = append(out, p.pid)
		}
	}
	slices.Sort(out)
	return new(slices.Compact(out))
}

// parse reads what the chain of commands printed. An error says that it is not the whole of it; there is then no listing.
func parse(out string) (*listing, error) {
	p := parser{}
	for line := range strings.Lines(out) {
		if p.ended {
			return nil, errors.New("a row after the end")
		}
		p.row(strings.TrimSuffix(line, "\n"))
		if p.err != nil {
			return nil, p.err
		}
	}
	if p.pid == 0 || !p.ended && !(p.listed && len(p.sessions) == 0) {
		return nil, fmt.Errorf("the answer is cut short: %d sessions and %d panes came, and no end mark", len(p.sessions), len(p.panes))
	}
	return &p.listing, nil
}

const (
	// maxRows and maxField, in bytes, bound what a server may list: a person's has tens of rows.
	maxRows  = 50_000
	maxField = 4 << 10
	// maxFields is more than any row has.
	maxFields = 8
)

type parser struct {
	listing
	rows          int
	known         map[string]bool // session ids
	listed, ended bool
	err           error
}

// widths are the fields of each row, the first among them.
var widths = map[string]int{rowServer: 4, rowSession: 7, rowListed: 1, rowPane: 7, rowClient: 5, rowEnd: 1}

func (p *parser) row(line string) {
	f := strings.SplitN(line, "\t", maxFields+1)
	if f[0] == rowSession { // what comes last may hold tabs
		f = strings.SplitN(line, "\t", widths[rowSession])
	}
	if p.rows++; p.rows > maxRows {
		p.err = fmt.Errorf("more than %d sessions, panes and clients, which is more than winnow reads", maxRows)
		return
	}
	if slices.ContainsFunc(f, func(s string) bool { return len(s) > maxField }) {
		p.err = fmt.Errorf("a name or another field is longer than the %d bytes that winnow reads", maxField)
		return
	}
	width, ok := widths[f[0]]
	if !ok || len(f) != width || (p.pid == 0) != (f[0] == rowServer) {
		p.err = fmt.Errorf("a %q row with %d fields, which does not belong there", f[0], len(f))
		return
	}
	switch f[0] {
	case rowServer:
		if p.pid, p.started, p.version = p.number(f[1]), p.time(f[2]), f[3]; p.pid <= 0 && p.err == nil {
			p.err = fmt.Errorf("a server with pid %q", f[1])
		}
		p.known = map[string]bool{}
	case rowSession:
		p.session(f)
	case rowListed:
		p.listed = true
	case rowPane:
		p.panes = append(p.panes, paneRow{session: p.one(f[1]), id: p.native(f[2], '%'), pid: p.number(f[3]), dead: p.flag(f[4]),
			activity: p.time(f[5]), tty: f[6]})
	case rowClient:
		p.clients = append(p.clients, clientRow{session: p.one(f[1]), control: p.flag(f[2]), activity: p.time(f[3]), tty: f[4]})
	case rowEnd:
		p.ended = true
	}
}

func (p *parser) session(f []string) {
	s := sessionRow{id: p.native(f[1], '$'), created: p.time(f[2]), activity: p.time(f[3]), group: f[5], name: f[6]}
	if s.odd = strings.ContainsAny(s.name, odd+"\t"); s.odd {
		s.name = strings.NewReplacer(odd, "\ufffd", "\t", "\ufffd").Replace(s.name)
	}
	if f[4] != "" {
		s.groupSize = p.number(f[4])
	}
	if p.known[s.id] && p.err == nil {
		p.err = fmt.Errorf("session %s is listed twice", s.id)
	}
	p.known[s.id] = true
	p.sessions = append(p.sessions, s)
}

// one is the id of a session that was listed.
func (p *parser) one(id string) string {
	if !p.known[id] && p.err == nil {
		p.err = fmt.Errorf("a row of session %q, which was not listed", id)
	}
	return id
}

// native is an id of tmux's: $ for sessions, % for panes, then digits.
func (p *parser) native(id string, mark byte) string {
	if !native(id, mark) && p.err == nil {
		p.err = fmt.Errorf("%q is no id that begins with %c", id, mark)
	}
	return id
}

func native(id string, mark byte) bool {
	if len(id) < 2 || id[0] != mark {
		return false
	}
	_, err := strconv.ParseUint(id[1:], 10, 32)
	return err == nil && id[1] != '+'
}

func (p *parser) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%q is no number", s)
	}
	return n
}

// time reads seconds since 1970.
func (p *parser) time(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if (err != nil || n <= 0) && p.err == nil {
		p.err = fmt.Errorf("%q is no time in seconds since 1970", s)
	}
	return time.Unix(n, 0).UTC()
}

func (p *parser) flag(s string) bool {
	if s != "0" && s != "1" && p.err == nil {
		p.err = fmt.Errorf("%q is neither 0 nor 1", s)
	}
	return s == "1"
}
