package tower

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode is a workspace as it stands in a path.
func Encode(workspace string) string { return base64.RawURLEncoding.EncodeToString([]byte(workspace)) }

// inWorkspace makes a route of one whose first * is a workspace.
func inWorkspace(then func(s *Server, workspace string, r request) answer) func(*Server, request) answer {
	return func(s *Server, r request) answer {
		path, err := base64.RawURLEncoding.DecodeString(r.args[0])
		if err != nil || !utf8.Valid(path) || !filepath.IsAbs(string(path)) {
			return answer{status: http.StatusBadRequest, body: object{"error": "Invalid workspace path encoding"}}
		}
		s.turn.Lock()
		defer s.turn.Unlock()
		return then(s, string(path), r)
	}
}

func (s *Server) listWorkspaces(request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	list := []object{}
	for _, w := range s.workspaces() {
		n := len(s.entries(w.path))
		list = append(list, object{"path": w.path, "name": w.name, "active": n > 0, "proxyUrl": proxy(w.path), "terminals": n})
	}
	return ok(object{"workspaces": list})
}

func proxy(workspace string) string { return "/workspace/" + Encode(workspace) + "/" }

func (s *Server) status(request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	list := []object{}
	for _, w := range s.workspaces() {
		terminals := s.tabs(w.path)
		list = append(list, object{
			"workspacePath": w.path, "workspaceName": w.name, "running": len(terminals) > 0, "proxyUrl": proxy(w.path),
			"architectUrl": proxy(w.path) + "?tab=architect", "terminals": terminals, "lastUsed": w.launched,
		})
	}
	return ok(object{"instances": list})
}

func (s *Server) workspaceStatus(workspace string, _ request) answer {
	terminals := s.tabs(workspace)
	return ok(object{"path": workspace, "name": filepath.Base(workspace), "active": len(terminals) > 0, "terminals": terminals})
}

// tabs lists the workspace's terminals as tabs: builders, shells, architects.
func (s *Server) tabs(workspace string) []object {
	list := []object{}
	entries := s.entries(workspace)
	for _, kind := range []string{"builder", "shell", "architect"} {
		for _, t := range entries {
			if t.spec.Type != kind {
				continue
			}
			o := object{"type": kind, "id": t.tab(), "label": t.name(), "url": proxy(workspace) + "?tab=" + t.tab(), "active": true}
			if kind == "architect" {
				o["architectName"], o["pid"], o["terminalId"] = t.spec.RoleID, t.pid, t.id
			}
			list = append(list, o)
		}
	}
	return list
}

// tab is the terminal's id among the workspace's tabs.
func (t *terminal) tab() string {
	switch {
	case t.spec.Type != "architect":
		return t.spec.RoleID
	case t.spec.RoleID == "main":
		return "architect"
	}
	return "architect:" + t.spec.RoleID
}

// name is what the terminal is called in its workspace.
func (t *terminal) name() string {
	if t.spec.Type == "shell" {
		return t.label()
	}
	return t.spec.RoleID
}

func (s *Server) state(workspace string, _ request) answer {
	architects, builders, utils := []object{}, []object{}, []object{}
	for _, t := range s.entries(workspace) {
		o := object{"id": t.spec.RoleID, "name": t.name(), "port": 0, "pid": t.pid, "terminalId": t.id, "persistent": true}
		switch t.spec.Type {
		case "architect":
			delete(o, "id")
			architects = append(architects, o)
		case "builder":
			// All but the id is the same for every builder, whatever the truth.
			o["status"], o["phase"], o["worktree"], o["branch"], o["type"] = "running", "", "", "", "spec"
			o["spawnedByArchitect"] = s.spawner(workspace, t.spec.RoleID)
			builders = append(builders, o)
		default:
			o["lastDataAt"] = t.dataAt().UnixMilli()
			utils = append(utils, o)
		}
	}
	var main any
	if len(architects) > 0 {
		main = architects[0]
	}
	return ok(object{
		"architect": main, "architects": architects, "builders": builders, "utils": utils, "annotations": []object{},
		"workspaceName": filepath.Base(workspace), "version": Version, "teamEnabled": false,
	})
}

// spawner gives the architect that a builder's row names, null without one.
func (s *Server) spawner(workspace, role string) any {
	var name *string
	_ = s.db.QueryRow(`SELECT spawned_by_architect FROM builders WHERE workspace_path = ? AND id = ?`, workspace, role).Scan(&name)
	if name == nil {
		return nil
	}
	return *name
}

// anyOverview is of the workspace that is asked for, or else of the first that is known.
func (s *Server) anyOverview(r request) answer {
	s.turn.Lock()
	defer s.turn.Unlock()
	if path := r.query.Get("workspace"); path != "" {
		return s.overview(path, r)
	}
	if known := s.workspaces(); len(known) > 0 {
		return s.overview(known[0].path, r)
	}
	return ok(emptyOverview())
}

func emptyOverview() object {
	return object{
		"builders": []object{}, "pendingPRs": []object{}, "backlog": []object{}, "recentlyClosed": []object{}, "architects": []object{},
		"heldCount": 0, "mailboxEscalated": false, "queuedFeedback": object{}, "feedbackMode": "forward",
	}
}

// overview lists the folders below .builders that have a terminal. One that cannot be read is as one that is not there.
func (s *Server) overview(workspace string, _ request) answer {
	o := emptyOverview()
	o["errors"] = object{
		"prs": "GitHub CLI unavailable — could not fetch PRs", "issues": "GitHub CLI unavailable — could not fetch issues",
	}
	live := map[string]*terminal{}
	architects := []object{}
	for _, t := range s.entries(workspace) {
		switch t.spec.Type {
		case "builder":
			live[strings.ToLower(t.spec.RoleID)] = t
		case "architect":
			architects = append(architects, object{"name": t.spec.RoleID, "port": 0, "pid": t.pid, "terminalId": t.id, "persistent": true})
		}
	}
	builders := []object{}
	folders, _ := os.ReadDir(filepath.Join(workspace, ".builders"))
	for _, folder := range folders {
		role, number := roleOf(folder.Name())
		if t := live[role]; t != nil && folder.IsDir() {
			builders = append(builders, s.overviewBuilder(workspace, folder.Name(), role, number, t))
		}
	}
	o["builders"], o["architects"] = builders, architects
	return ok(o)
}

func (s *Server) overviewBuilder(workspace, folder, role, number string, t *terminal) object {
	return object{
		"id": folder, "issueId": issue(number), "issueTitle": nil, "phase": "", "protocolPhase": "", "mode": "soft", "gates": object{},
		"worktreePath": filepath.Join(workspace, ".builders", folder), "roleId": role, "protocol": "", "planPhases": []object{}, "progress": 0,
		"blocked": nil, "blockedGate": nil, "blockedSince": nil, "startedAt": nil, "idleMs": 0, "lastDataAt": iso(t.dataAt()),
		"spawnedByArchitect": s.spawner(workspace, role), "area": "Uncategorized", "prReady": false,
	}
}

var folderName = regexp.MustCompile("^([a-z]+)-([a-z0-9]+)")

// roleOf gives the role that works in a folder below .builders, and its number or name there; "" where the name says nothing.
func roleOf(folder string) (role, number string) {
	parts := folderName.FindStringSubmatch(strings.ToLower(folder))
	if parts == nil {
		return "", ""
	}
	number = parts[2]
	if short := strings.TrimLeft(number, "0"); short != "" {
		number = short
	}
	if parts[1] == "worktree" {
		return "worktree-" + number, number
	}
	return "builder-" + parts[1] + "-" + number, number
}

// issue gives the number of an issue as text without leading zeros, null where there is none.
func issue(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(n)
	}
	return nil
}

func (s *Server) removeMain(string, request) answer {
	return answer{status: http.StatusBadRequest, body: object{"success": false, "error": "Cannot remove the default 'main' architect."}}
}

// deleteTab closes the terminal of a tab.
func (s *Server) deleteTab(workspace string, r request) answer {
	name, err := url.PathUnescape(r.args[1])
	for _, t := range s.entries(workspace) {
		if err == nil && t.tab() == name {
			s.turn.Unlock()
			defer s.turn.Lock()
			s.remove(t, false)
			return answer{status: http.StatusNoContent}
		}
	}
	return answer{status: http.StatusNotFound, body: object{"error": "Tab not found"}}
}
