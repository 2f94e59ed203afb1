package herdr

import (
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	// ringSize is how many events the server remembers; all kinds share them.
	ringSize = 512
	// usualTick is how often herdr looks for events to send.
	usualTick = 100 * time.Millisecond
)

// event is something that happened, as it is told to whoever has asked for it.
type event struct {
	kind string
	line []byte
}

// since is the version from which on there is a kind of events; what is not named has been there from the first that is served here.
var since = map[string]Profile{
	"layout.updated": V074, "pane.updated": V074, "workspace.metadata_updated": V074, "workspace.reordered": V080,
}

// unserved are the kinds that are not served here: those for one pane, and those of layouts.
var unserved = []string{"pane.output_matched", "pane.agent_status_changed", "pane.scroll_changed", "layout.updated"}

// happens notes an event; the caller has the turn. kind is written as in a subscription.
func (s *Server) happens(kind string, data object) {
	if from := since[kind]; from != "" && !s.atLeast(from) {
		return
	}
	said := strings.ReplaceAll(kind, ".", "_")
	data["type"] = said
	line, err := json.Marshal(s.seal(object{"event": said, "data": s.seal(data)}))
	if err != nil {
		line = []byte(err.Error())
	}
	s.checkEvent(kind, line)
	s.m.told++
	s.m.events = append(s.m.events, event{kind, append(line, '\n')})
	s.m.events = s.m.events[max(0, len(s.m.events)-ringSize):]
}

// subscription is one entry of a subscriber: which kind, and from which event on it has not looked.
type subscription struct {
	kind string
	next int
}

// subscriptions are what a request asks for. One that is not known fails all of it.
func (s *Server) subscriptions(req request) ([]*subscription, *refusal) {
	var want struct {
		Subscriptions []struct {
			Type string `json:"type"`
		} `json:"subscriptions"`
	}
	if err := json.Unmarshal(req.Params, &want); err != nil {
		return nil, &refusal{"invalid_request", "invalid request: " + err.Error()}
	}
	from := 0
	if s.atLeast(V091) {
		s.turn.Lock()
		from = s.m.told
		s.turn.Unlock()
	}
	out := []*subscription{}
	for _, one := range want.Subscriptions {
		if from := since[one.Type]; from != "" && !s.atLeast(from) {
			return nil, &refusal{"invalid_request", "invalid request: unknown variant `" + one.Type + "`"}
		}
		if slices.Contains(unserved, one.Type) {
			return nil, &refusal{"not_implemented", one.Type + " is not served here"}
		}
		out = append(out, &subscription{kind: one.Type, next: from})
	}
	return out, nil
}

// stream sends events until either side ends: at every tick one of each kind at most, the oldest first; up to 0.8 from the oldest that is remembered on.
func (s *Server) stream(c net.Conn, life chan struct{}, all []*subscription) {
	left := make(chan struct{})
	s.working.Go(func() { // herdr takes the end of its client's input, and any byte in it, for the client's end
		defer close(left)
		_, _ = io.ReadFull(c, make([]byte, 1))
	})
	tick := s.o.Tick
	if tick == 0 {
		tick = usualTick
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	defer func() { c.Close(); <-left }()
	for {
		select {
		case <-left:
			return
		case <-life:
			return
		case <-ticker.C:
		}
		for _, one := range all {
			line := s.following(one)
			_ = c.SetWriteDeadline(time.Now().Add(lineTime))
			if _, err := c.Write(line); err != nil {
				return
			}
		}
	}
}

// following gives the next event of a subscription, nothing when it is missing.
func (s *Server) following(one *subscription) []byte {
	s.turn.Lock()
	defer s.turn.Unlock()
	oldest := s.m.told - len(s.m.events)
	for one.next = max(one.next, oldest); one.next < s.m.told; {
		e := s.m.events[one.next-oldest]
		one.next++
		if e.kind == one.kind {
			return e.line
		}
	}
	return nil
}

// Subscribers says how many connections get events.
func (s *Server) Subscribers() int { return int(s.subscribers.Load()) }

// Retitle has a pane's title change so many times, as programs do that print: no event of it is about a tab.
func (s *Server) Retitle(paneID string, times int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.mustPane(paneID)
	for range times {
		p.revision++
		s.happens("pane.updated", object{"pane": s.paneInfo(p)})
	}
}

// opened tells of a new tab, with its panes, and of its workspace where it is the first in it.
func (s *Server) opened(t *tab) {
	if len(t.workspace.tabs) == 1 {
		s.happens("workspace.created", object{"workspace": s.workspaceInfo(t.workspace)})
	}
	s.happens("tab.created", object{"tab": s.tabInfo(t)})
	for _, p := range t.panes {
		s.happens("pane.created", object{"pane": s.paneInfo(p)})
	}
}

// exited tells of the end of a pane's program, by itself. Of a tab or a workspace that goes with it herdr says nothing.
func (s *Server) exited(p *pane) {
	at := object{"pane_id": p.id, "workspace_id": p.tab.workspace.id}
	if s.agent(p) != "" && s.atLeast(V075) {
		s.happens("pane.agent_detected", object{"pane_id": p.id, "workspace_id": p.tab.workspace.id, "released": true})
	}
	s.happens("pane.exited", at)
}

// closed tells of a tab that was closed, and of its workspace if that goes too. Of the tab's panes, and of others of the workspace's group, herdr says nothing.
func (s *Server) closed(t *tab) {
	w := t.workspace
	s.happens("tab.closed", object{"tab_id": t.id, "workspace_id": w.id})
	if len(w.tabs) == 1 {
		s.happens("workspace.closed", object{"workspace_id": w.id})
	}
}
