package herdr

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// ringSize is how many events herdr remembers, of all kinds together.
const ringSize = 512

// ring is the events of one life of the server.
type ring struct {
	sync.Mutex
	list []event
	next int // the number of the next one; they start at 0
}

type event struct {
	number int
	kind   string // dotted, as it is subscribed to
	line   []byte
}

// emit tells whoever asked. The name is the pushed one, in snake case; its first word and the rest make the one that is subscribed to.
func (s *Server) emit(name string, data object) {
	data["type"] = name
	s.seal(data)
	line, err := json.Marshal(s.seal(object{"event": name, "data": data}))
	if err != nil {
		line = []byte(err.Error())
	}
	s.check("event", line)
	s.events.Lock()
	defer s.events.Unlock()
	e := event{s.events.next, strings.Replace(name, "_", ".", 1), append(line, '\n')}
	s.events.next++
	s.events.list = append(s.events.list, e)
	if len(s.events.list) > ringSize {
		s.events.list = slices.Clone(s.events.list[1:])
	}
}

func (s *Server) emitLayout(t *tab) {
	if s.atLeast(V074) {
		s.emit("layout_updated", object{"layout": s.layout(t)})
	}
}

func (s *Server) emitFocus(t *tab) {
	s.emit("workspace_focused", object{"workspace_id": t.workspace.id})
	s.emit("tab_focused", object{"tab_id": t.id, "workspace_id": t.workspace.id})
	s.emit("pane_focused", object{"pane_id": t.active.id, "workspace_id": t.workspace.id})
}

// emitAgent tells of an agent that is there now, or of one that has gone.
func (s *Server) emitAgent(p *pane, agent string) {
	data := object{"pane_id": p.id, "workspace_id": p.tab.workspace.id}
	s.optional(data, "agent", agent)
	if agent == "" && s.atLeast(V075) {
		data["released"] = true
	}
	s.emit("pane_agent_detected", data)
}

// from gives the first event of the kind whose number is at least that. A number that the ring has dropped stands for the oldest it has.
func (r *ring) from(number int, kind string) (event, bool) {
	r.Lock()
	defer r.Unlock()
	for _, e := range r.list {
		if e.number >= number && e.kind == kind {
			return e, true
		}
	}
	return event{}, false
}

// since are the subscriptions that not every profile has.
var since = map[string]Profile{
	"layout.updated": V074, "pane.scroll_changed": V074, "pane.updated": V074, "workspace.metadata_updated": V074,
	"workspace.reordered": V080,
}

// subscription is one entry of a request: a kind of events, or with a pane, one thing about that.
type subscription struct {
	Type string  `json:"type"`
	Pane *string `json:"pane_id"`

	next   int    // the number of the next event to look for
	status string // what was last told of the pane
}

// subscribe answers and goes on telling until the client says or closes anything. Every entry starts with what is still in the ring.
func (s *Server) subscribe(c net.Conn, life chan struct{}, req request, fault Fault, after func()) {
	list, refused := s.probe(req)
	after()
	s.send(c, req, s.reply(req.ID, object{"type": "subscription_started"}, refused), fault)
	if refused != nil || fault.kind != none {
		return
	}
	gone := make(chan struct{})
	go func() {
		_, _ = c.Read(make([]byte, 1))
		close(gone)
	}()
	tick := time.NewTicker(max(s.o.Poll, 2*time.Millisecond))
	defer tick.Stop()
	for {
		for _, sub := range list {
			if line := s.news(sub); line != nil {
				_ = c.SetWriteDeadline(time.Now().Add(lineTime))
				if _, err := c.Write(line); err != nil {
					return
				}
			}
		}
		select {
		case <-gone:
			return
		case <-life:
			return
		case <-tick.C:
		}
	}
}

// probe reads what is subscribed to. One entry that cannot be refuses them all.
func (s *Server) probe(req request) ([]*subscription, *refusal) {
	var want struct {
		Subscriptions []*subscription `json:"subscriptions"`
	}
	if err := json.Unmarshal(req.Params, &want); err != nil {
		return nil, &refusal{"invalid_request", "invalid request: " + err.Error()}
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	for _, sub := range want.Subscriptions {
		if p := since[sub.Type]; p != "" && !s.atLeast(p) {
			return nil, &refusal{"invalid_request", "invalid request: unknown variant `" + sub.Type + "`"}
		}
		if sub.Pane == nil {
			continue
		}
		p := s.m.findPane(*sub.Pane)
		if p == nil {
			return nil, noPane(named, *sub.Pane) // it asks as pane.get does
		}
		sub.status = p.status
	}
	return want.Subscriptions, nil
}

// news gives the next line for the entry, if there is one. Of what can be asked about one pane only its agent's status is told.
func (s *Server) news(sub *subscription) []byte {
	if sub.Pane == nil {
		e, ok := s.events.from(sub.next, sub.Type)
		if !ok {
			return nil
		}
		sub.next = e.number + 1
		return e.line
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.m.findPane(*sub.Pane)
	if p == nil || sub.Type != "pane.agent_status_changed" || p.status == sub.status {
		return nil
	}
	sub.status = p.status
	data := object{"pane_id": p.id, "workspace_id": p.tab.workspace.id, "agent_status": s.status(p.status)}
	s.optional(data, "agent", s.agent(p))
	line, err := json.Marshal(s.seal(object{"event": sub.Type, "data": s.seal(data)}))
	if err != nil {
		line = []byte(err.Error())
	}
	s.check("event", line)
	return append(line, '\n')
}
