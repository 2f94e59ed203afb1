// Package herdr asks a herdr server: one request a connection, one line each way. It has the calls that change nothing; those that
// change something are in package act, which collectors may not import.
//
// What the answers hold is in wire.go. https://herdr.dev describes the protocol.
package herdr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/herdr/internal/rpc"
)

// MaxPath is the longest path of a socket, in bytes.
const MaxPath = rpc.MaxPath

// The reasons for which a call failed, besides a Refusal and those of package peer.
var (
	ErrNoServer = rpc.ErrNoServer
	ErrAnother  = rpc.ErrAnother
	ErrNotSent  = rpc.ErrNotSent
	// ErrUntold says that an answer about one pane does not say what was asked.
	ErrUntold = errors.New("herdr does not say")
)

// The codes of refusals that are handled apart.
const InvalidRequest = rpc.InvalidRequest

// Refusal is an answer that says no to one request.
type Refusal = rpc.Refusal

// Code is the code of the server's refusal in err, "" where err is not a refusal.
func Code(err error) string {
	if no, ok := errors.AsType[*Refusal](err); ok {
		return no.Code
	}
	return ""
}

// Client asks one server. Its fields are those of rpc.Conn, which does not have its methods: a request that no method here makes can be
// made by package act only. The errors of the methods are those of rpc.Conn.Call.
type Client rpc.Conn

func (c *Client) call(ctx context.Context, method string, params any, kind string, out rpc.Result) (int, error) {
	return (*rpc.Conn)(c).Call(ctx, method, params, kind, out)
}

// none are the parameters of a method that takes none; the member must be there all the same.
var none = struct{}{}

// Pong is who a server says that it is.
type Pong struct {
	Version  string `json:"version"`
	Protocol *int   `json:"protocol"`
}

// Ping asks the server who it is, and gives the pid of the process that listens, 0 for one outside of this pid namespace. That it
// answers says nothing of its health: a ping does not reach its main loop.
func (c *Client) Ping(ctx context.Context) (Pong, int, error) {
	var out struct {
		rpc.Type
		Pong
	}
	pid, err := c.call(ctx, "ping", none, "pong", &out)
	return out.Pong, pid, err
}

// Look gives the server's whole state as of one moment. It takes one request; servers before 0.7.2 do not know that request.
func (c *Client) Look(ctx context.Context) (*World, error) {
	var out struct {
		rpc.Type
		Snapshot *World `json:"snapshot"`
	}
	pid, err := c.call(ctx, "session.snapshot", none, "session_snapshot", &out)
	w := out.Snapshot
	switch {
	case Code(err) == InvalidRequest:
		if w, err = c.lists(ctx); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case w == nil:
		return nil, errors.New("the answer to session.snapshot has no snapshot; see what listens there")
	default:
		w.Server = pid
	}
	if err := w.check(); err != nil {
		return nil, fmt.Errorf("%w; look again, and if it stays so this version of herdr speaks differently", err)
	}
	return w, nil
}

// lists takes the server's state list by list, twice: what every list gave both times was so at the moment in between.
func (c *Client) lists(ctx context.Context) (*World, error) {
	before, err := c.round(ctx)
	if err != nil {
		return nil, err
	}
	after, err := c.round(ctx)
	if err != nil {
		return nil, err
	}
	if !alike(before, after) {
		return nil, errors.New("its tabs changed while it was read, and this version cannot give them at once; look again")
	}
	return after, nil
}

// round asks for panes first and workspaces last: whether a tab is the last of its workspace is then known most freshly.
func (c *Client) round(ctx context.Context) (*World, error) {
	w := &World{}
	out := struct {
		rpc.Type
		*World
	}{World: w}
	for _, list := range []string{"pane", "tab", "workspace"} {
		var err error
		if w.Server, err = c.call(ctx, list+".list", none, list+"_list", &out); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Running asks what runs in a pane, which costs the server a walk through /proc. It wraps ErrUntold where the answer leaves a part of
// it out.
func (c *Client) Running(ctx context.Context, pane string) (*Running, error) {
	var out struct {
		rpc.Type
		Running *Running `json:"process_info"`
	}
	if !PaneID(pane) { // without a pane's id herdr would answer about the one that has the focus
		return nil, fmt.Errorf("%w: %.40q is no id of a pane", ErrNotSent, pane)
	}
	if _, err := c.call(ctx, "pane.process_info", map[string]string{"pane_id": pane}, "pane_process_info", &out); err != nil {
		return nil, err
	}
	if err := out.Running.check(pane); err != nil {
		return nil, err
	}
	return out.Running, nil
}

// Current gives the pane in which a process was started that has the given id in its environment: that pane may have moved since.
func (c *Client) Current(ctx context.Context, caller string) (*Pane, error) {
	var out struct {
		rpc.Type
		Pane *Pane `json:"pane"`
	}
	_, err := c.call(ctx, "pane.current", map[string]string{"caller_pane_id": caller}, "pane_current", &out)
	return out.Pane, err
}

// Text gives what a pane shows and has shown, at most that many lines counted from its end, with lines that were wrapped at its edge in
// one piece.
func (c *Client) Text(ctx context.Context, pane string, lines int) (string, error) {
	var out struct {
		rpc.Type
		Read struct {
			Pane string  `json:"pane_id"`
			Text *string `json:"text"`
		} `json:"read"`
	}
	params := map[string]any{"pane_id": pane, "source": "recent_unwrapped", "format": "text", "lines": lines}
	_, err := c.call(ctx, "pane.read", params, "pane_read", &out)
	switch {
	case err != nil:
		return "", err
	case out.Read.Pane != pane || out.Read.Text == nil:
		return "", fmt.Errorf("%w what pane %s shows", ErrUntold, pane)
	}
	return *out.Read.Text, nil
}

// Newest is the newest protocol whose methods and shapes are known here. A server of a newer one is asked which methods it has.
const Newest = 22

// used are the methods without which no tab can be judged, closed and had again.
var used = []string{"session.snapshot", "pane.current", "pane.process_info", "pane.read", "tab.close", "tab.create"}

// Lacks lists what is used of a server and is missing from it: methods, by the server's own list, and members of w, which it gave. It is empty where nothing is
// missing, and nil where the server does not list its methods.
func (c *Client) Lacks(ctx context.Context, w *World) ([]string, error) {
	has, err := (*rpc.Conn)(c).Methods(ctx)
	if err != nil || has == nil {
		return nil, err
	}
	out := w.lacks()
	for _, method := range used {
		if !slices.Contains(has, method) {
			out = append(out, method)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lacks lists members that every version gives of each workspace, tab and pane, and that some lack. It is never nil.
func (w *World) lacks() []string {
	out := []string{}
	lack := func(what string, missing bool) {
		if missing {
			out = append(out, what)
		}
	}
	for _, x := range w.Workspaces {
		lack("workspace.tab_count", x.TabCount == nil)
	}
	for _, t := range w.Tabs {
		lack("tab.workspace_id", t.Workspace == "")
		lack("tab.label", t.Label == nil)
		lack("tab.focused", t.Focused == nil)
		lack("tab.pane_count", t.PaneCount == nil)
	}
	for _, p := range w.Panes {
		lack("pane.terminal_id", p.Terminal == "")
		lack("pane.agent_status", p.Status == "")
	}
	return out
}

// telling are the kinds of events that may change what goes: what comes, goes or moves, a name, an agent. Every version that winnow reads knows them; one that a server does not
// know would fail the whole request. What panes print, their titles and who looks where are not among them.
var telling = []string{"workspace.created", "workspace.closed", "tab.created", "tab.closed", "tab.renamed", "pane.created", "pane.closed", "pane.exited", "pane.moved", "pane.agent_detected"}

// quiet and held are longer in tests, which wait for no machine.
var (
	// quiet is how long nothing must come until the past counts as told: a server tells one event of a kind every 100 ms.
	quiet = 500 * time.Millisecond
	// held is how long an event may wait at most for the past to be told: it may be a new one.
	held = 5 * time.Second
)

const (
	// past is how long the past may take at most, and remembered how many events it has at most: they are of one kind if it takes the longest.
	past       = 55 * time.Second
	remembered = 512
)

// Watch has the server tell what happens, and calls happened for each event that may change what goes, until ctx or the server ends. listening is called
// once the server has agreed. Up to 0.8 a server first tells what it remembers, without a word that it is past; from 0.9 on it tells nothing of what was before. So the time until then
// counts as one event, which is told at its end, or once in five seconds where it takes longer: a look after it sees what happened between the look before and the agreement.
// Neither function must wait.
//
// The error is never nil. It is that of ctx if that has ended.
func (c *Client) Watch(ctx context.Context, listening, happened func()) error {
	var list []map[string]string
	kinds := map[string]bool{}
	for _, k := range telling {
		list = append(list, map[string]string{"type": k})
		kinds[strings.ReplaceAll(k, ".", "_")] = true
	}
	m := &memory{happened: happened}
	defer m.end()
	var out struct{ rpc.Type }
	return (*rpc.Conn)(c).Stream(ctx, "events.subscribe", map[string]any{"subscriptions": list}, "subscription_started", &out, func() {
		m.begin()
		listening()
	}, func(line []byte) {
		var e struct {
			Event string `json:"event"`
		}
		if json.Unmarshal(line, &e) == nil && kinds[e.Event] {
			m.event(time.Now())
		}
	})
}

// memory is what makes one event of those that a server tells of its past.
type memory struct {
	happened func()

	mu    sync.Mutex
	timer *time.Timer
	last  time.Time
	n     int
	// since is when the first event came that was not told, zero when it is missing, and over whether all of the past was told.
	since time.Time
	over  bool
}

func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Now() // what happened before the server agreed is not known
	m.last = m.since.Add(past)
	m.timer = time.AfterFunc(quiet, m.settled)
}

func (m *memory) event(now time.Time) {
	m.mu.Lock()
	tell := m.over
	m.n++
	switch {
	case m.over:
	case m.n > remembered:
		tell, m.over = true, true
		m.timer.Stop()
	default:
		if m.since.IsZero() {
			m.since = now
		}
		if now.Sub(m.since) >= held {
			tell, m.since = true, time.Time{}
		}
		if now.Before(m.last) {
			m.timer.Reset(quiet)
		}
	}
	m.mu.Unlock()
	if tell {
		m.happened()
	}
}

// settled ends the past.
func (m *memory) settled() {
	m.mu.Lock()
	tell := !m.since.IsZero() && !m.over
	m.over = true
	m.mu.Unlock()
	if tell {
		m.happened()
	}
}

func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true // what the timer still does tells nothing
	if m.timer != nil {
		m.timer.Stop()
	}
}
