package herdr

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// answer does what the request asks, in one turn of the app loop; ping does without.
func (s *Server) answer(req request) (object, *refusal) {
	var t target
	if err := json.Unmarshal(req.Params, &t); err != nil {
		return nil, &refusal{"invalid_request", "invalid request: " + err.Error()}
	}
	switch req.Method {
	case "ping":
		can := object{"live_handoff": true, "detached_server_daemon": true}
		if s.atLeast(V091) {
			can["endpoint_protocol_generation"], can["surface_interest"], can["health_check"] = 1, false, true
		}
		return object{"type": "pong", "version": s.Version(), "protocol": s.Protocol(), "capabilities": s.seal(can)}, nil
	case "pane.process_info":
		return s.processInfo(t)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	switch req.Method {
	case "session.snapshot":
		return object{"type": "session_snapshot", "snapshot": s.snapshot()}, nil
	case "workspace.list":
		return object{"type": "workspace_list", "workspaces": each(s.m.shown(), s.workspaceInfo)}, nil
	case "tab.list":
		return s.tabList(t)
	case "tab.create":
		return s.tabCreate(req.Params)
	case "tab.close":
		found := s.m.tabs()[*t.Tab]
		if found == nil {
			return nil, &refusal{"tab_not_found", fmt.Sprintf("tab %s not found", *t.Tab)}
		}
		return object{"type": "ok"}, s.closeTab(found)
	case "pane.list":
		return s.paneList(t)
	case "pane.current":
		return s.withPane(t.Caller, unnamed, func(p *pane) (object, *refusal) {
			return object{"type": "pane_current", "pane": s.paneInfo(p)}, nil
		})
	case "pane.read":
		return s.withPane(t.Pane, named, func(p *pane) (object, *refusal) { return s.paneRead(p, req.Params) })
	}
	return nil, &refusal{"not_implemented", req.Method + " is not served here"}
}

func noWorkspace(id string) *refusal {
	return &refusal{"workspace_not_found", fmt.Sprintf("workspace %s not found", id)}
}

// The answer about a missing pane, where the method says which one and where it does not (src/app/api/panes.rs).
const (
	named   = "pane %s not found"
	unnamed = "pane not found"
)

func noPane(said, id string) *refusal {
	if said == named {
		said = fmt.Sprintf(named, id)
	}
	return &refusal{"pane_not_found", said}
}

// withPane finds a pane; without an id it is the one that has the focus, whichever that is now.
func (s *Server) withPane(id *string, said string, then func(*pane) (object, *refusal)) (object, *refusal) {
	p := s.focusedPane()
	if id != nil {
		p = s.m.findPane(*id)
	}
	if p == nil {
		return nil, noPane(said, deref(id))
	}
	return then(p)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (s *Server) tabList(t target) (object, *refusal) {
	tabs := s.allTabs()
	if t.Workspace != nil {
		w := s.m.findWorkspace(*t.Workspace)
		if w == nil {
			return nil, noWorkspace(*t.Workspace)
		}
		tabs = w.tabs
	}
	return object{"type": "tab_list", "tabs": each(tabs, s.tabInfo)}, nil
}

func (s *Server) paneList(t target) (object, *refusal) {
	panes := s.listed()
	if t.Workspace != nil {
		w := s.m.findWorkspace(*t.Workspace)
		if w == nil {
			return nil, noWorkspace(*t.Workspace)
		}
		var own []*pane
		for _, p := range panes {
			if p.tab.workspace == w {
				own = append(own, p)
			}
		}
		panes = own
	}
	return object{"type": "pane_list", "panes": each(panes, s.paneInfo)}, nil
}

func (s *Server) tabCreate(params json.RawMessage) (object, *refusal) {
	var want struct {
		Workspace *string           `json:"workspace_id"`
		Label     *string           `json:"label"`
		Cwd       *string           `json:"cwd"`
		Env       map[string]string `json:"env"`
		Focus     bool              `json:"focus"`
	}
	if err := json.Unmarshal(params, &want); err != nil {
		return nil, &refusal{"invalid_request", "invalid request: " + err.Error()}
	}
	w := s.m.focused
	if want.Workspace != nil {
		if w = s.m.findWorkspace(*want.Workspace); w == nil {
			return nil, noWorkspace(*want.Workspace)
		}
	}
	if w == nil {
		return nil, &refusal{"workspace_not_found", "no active workspace"}
	}
	var spec Pane
	if want.Cwd != nil {
		spec.Dir = *want.Cwd
	}
	for key, value := range want.Env {
		spec.Env = append(spec.Env, key+"="+value)
	}
	t := s.openTab(w, want.Label, spec)
	if want.Focus {
		s.focus(t)
	}
	return object{"type": "tab_created", "tab": s.tabInfo(t), "root_pane": s.paneInfo(t.panes[0])}, nil
}

var escape = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")

// paneRead gives lines as they were printed, the only way that Winnow asks for: source recent_unwrapped, as text.
func (s *Server) paneRead(p *pane, params json.RawMessage) (object, *refusal) {
	var want struct {
		Source string `json:"source"`
		Format string `json:"format"`
		Lines  *int   `json:"lines"`
	}
	if err := json.Unmarshal(params, &want); err != nil {
		return nil, &refusal{"invalid_request", "invalid request: " + err.Error()}
	}
	if want.Source != "recent_unwrapped" || want.Format != "text" {
		return nil, &refusal{"not_implemented", "pane.read is served here for recent_unwrapped text alone"}
	}
	text := ""
	if p.child != nil {
		text, _ = p.child.out.Text()
	}
	lines := strings.Split(escape.ReplaceAllString(strings.ReplaceAll(text, "\r", ""), ""), "\n")
	cut := 0
	if want.Lines != nil {
		cut = max(0, len(lines)-*want.Lines)
	}
	return object{"type": "pane_read", "read": s.seal(object{
		"pane_id": p.id, "workspace_id": p.tab.workspace.id, "tab_id": p.tab.id, "source": want.Source, "format": want.Format,
		"text": strings.Join(lines[cut:], "\n"), "revision": p.revision, "truncated": cut > 0,
	})}, nil
}
