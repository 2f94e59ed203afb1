package policytest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
)

// Case is a whole snapshot with what has to be decided on it: one of those that Winnow ships, each with something that went wrong somewhere or could,
// or a person's own.
type Case struct {
	// Sentence says what is held.
	Sentence string `json:"sentence"`
	// Snapshot is a whole one, as it was saved where a decision was wrong. Without it the case plays in a world.
	Snapshot map[string]any `json:"snapshot"`
	// World is a file in worlds without its ending; machine where it is left out.
	World string `json:"world"`
	// Change is a JSON merge patch on the snapshot: an object is merged, null takes a fact away, all else replaces.
	Change map[string]any `json:"change"`
	// Config is a merge patch on the rules section of config.yaml.
	Config map[string]any `json:"config"`
	// Exceptions are those of a tree of policies, as in its exceptions.yaml.
	Exceptions []any `json:"exceptions"`
	// Seen are the sightings of earlier looks. Without it every session, every tab, every terminal and every process has a fitting one.
	Seen map[string]Seen `json:"seen"`
	// Want has the decision of each candidate that the sentence speaks of; null is one that is out of scope.
	Want map[string]*Want `json:"want"`
	// Remembered says of candidates whether a sighting of them is left after this look.
	Remembered map[string]bool `json:"remembered"`
}

// Seen is a sighting: which reason, how many seconds ago, and whether it was of the world after Change. Of a process also how many
// seconds ago it was last seen at work, 0 for as long ago, and what it has done since.
type Seen struct {
	Rule    string        `json:"rule"`
	Ago     float64       `json:"ago"`
	Changed bool          `json:"changed"`
	Worked  float64       `json:"worked"`
	Done    snapshot.Work `json:"done"`
}

// Want is a decision, its reasons by their rules, each rule once, sorted.
type Want struct {
	Verdict    string   `json:"verdict"`
	Level      string   `json:"level"`
	Findings   []string `json:"findings"`
	Objections []string `json:"objections"`
}

// Document is a snapshot as plain JSON, in which facts can be taken away that Go's types would bring back.
type Document = map[string]any

// folder is where the cases and their worlds lie among what ships.
const folder = "policy_test"

// Incidents are the cases that Winnow ships, by the name of their file, without its ending.
func Incidents() (map[string]Case, error) {
	files, err := fs.Glob(winnow.Incidents, folder+"/cases/*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("list incidents: %d files: %w", len(files), err)
	}
	out := map[string]Case{}
	for _, f := range files {
		var c Case
		if err := read(f, &c); err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(path.Base(f), ".json")] = c
	}
	return out, nil
}

func read(file string, into any) error {
	data, err := winnow.Incidents.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read incident %s: %w", file, err)
	}
	return nil
}

// Look is the case's snapshot.
func (c Case) Look() (*snapshot.Snapshot, error) {
	doc, err := c.Document()
	if err != nil {
		return nil, err
	}
	return Parse(doc)
}

// Document is the case's snapshot, remembered sightings among it.
func (c Case) Document() (Document, error) {
	base := c.Snapshot
	if base == nil {
		if err := read(folder+"/worlds/"+cmp.Or(c.World, "machine")+".json", &base); err != nil {
			return nil, err
		}
	}
	changed := Merge(base, c.Change)
	knownEmpty(base, nil)
	knownEmpty(changed, c.Change)
	if _, own := base["sightings"]; own {
		return changed, nil
	}
	before, err := Parse(base)
	if err != nil {
		return nil, err
	}
	after, err := Parse(changed)
	if err != nil {
		return nil, err
	}
	var found map[string]string
	if err := read(folder+"/found.json", &found); err != nil {
		return nil, err
	}
	changed["sightings"], err = Plain(remembered(before, after, c.Seen, found))
	return changed, err
}

// knownEmpty puts down in a world what a look always writes, where who wrote the world left it out because there is nothing: a fact that
// change takes away stays away.
func knownEmpty(world, change Document) {
	entries, _ := world["registry"].([]any)
	for _, e := range entries {
		entry, _ := e.(Document)
		fill(e, nil, Document{"endless": entry["ended_at"] == nil})
	}
	for kind, of := range map[string]Document{"sessions": {"error": "", "group_size": 0, "program_clients": 0, "ever_attached": false}, "tabs": {}, "terminals": {"error": ""}} {
		things, _ := world[kind].(Document)
		changed, _ := change[kind].(Document)
		for id, t := range things {
			fill(t, changed[id], of)
			thing, _ := t.(Document)
			panes, _ := thing["panes"].([]any)
			for _, p := range panes {
				fill(p, nil, Document{"linked": []any{}, "error": ""})
				pane, _ := p.(Document)
				if pane["session"] != nil || pane["dead"] == true {
					fill(p, nil, Document{"descendants": []any{}, "carriers": []any{}})
				}
				if pane["dead"] == true {
					fill(p, nil, Document{"session_pids": []any{}, "session": []any{}})
				}
			}
		}
	}
}

// fill puts values into a thing of a world, where the name is missing.
func fill(thing, change any, values Document) {
	of, ok := thing.(Document)
	if !ok { // a case of somebody's own may be wrong: what reads it says so
		return
	}
	changed, _ := change.(Document)
	for name, value := range values {
		_, there := of[name]
		if _, away := changed[name]; !there && !away {
			of[name] = value
		}
	}
}

// remembered are the sightings of an earlier look. Without seen there is one a minute ago of every session, every tab and every
// terminal, with the reason that the shipped policies find in the worlds, and one an hour ago of every process.
func remembered(s, changed *snapshot.Snapshot, seen map[string]Seen, found map[string]string) map[string]snapshot.Sighting {
	if seen == nil {
		seen = map[string]Seen{}
		for id := range s.Sessions {
			seen[id] = Seen{Rule: found["session"], Ago: 60}
		}
		for id, of := range s.Tabs {
			seen[id] = Seen{Rule: found[tabWord(&of)], Ago: 60}
		}
		for id, of := range s.Terminals {
			seen[id] = Seen{Rule: found[terminalWord(&of)], Ago: 60}
		}
		for id, of := range changed.Processes {
			seen[id] = Seen{Rule: found[processWord(of)], Ago: 3600, Changed: true}
		}
		for _, e := range s.Registry {
			for id, of := range s.Sessions {
				if of.Name == e.Session {
					seen[id] = Seen{Rule: found["recorded session"], Ago: 60}
				}
			}
		}
	}
	before, after := subject.Join(s, &subject.Config{}), subject.Join(changed, &subject.Config{})
	out := map[string]snapshot.Sighting{}
	for id, at := range seen {
		j := before
		if at.Changed {
			j = after
		}
		first := s.TakenAt.Add(-time.Duration(at.Ago * float64(time.Second)))
		sighting := snapshot.Sighting{Rule: at.Rule, Identity: j.Identity(id).Key, FirstAt: first, LastAt: first, Count: 1}
		if work := after.Work(id); work != nil {
			idle := s.TakenAt.Add(-time.Duration(cmp.Or(at.Worked, at.Ago) * float64(time.Second)))
			sighting.IdleSince, sighting.Work = &idle, less(*work, at.Done)
		}
		out[id] = sighting
	}
	return out
}

// less is what was done before done was.
func less(now, done snapshot.Work) *snapshot.Work {
	if now.CPU != nil && done.CPU != nil {
		now.CPU = new(*now.CPU - *done.CPU)
	}
	if now.Written != nil && done.Written != nil {
		now.Written = new(*now.Written - *done.Written)
	}
	if now.Below != nil && done.Below != nil {
		now.Below = new(*now.Below - *done.Below)
	}
	return &now
}

// processWord names a process by what it is, for the reason that there may be to end it.
func processWord(p *snapshot.Process) string {
	switch {
	case p.CwdDeleted != nil && *p.CwdDeleted && (p.Cwd != nil && strings.Contains(*p.Cwd, "worktrees/") || p.Markers == nil || len(*p.Markers) == 0):
		return "process in a deleted folder"
	case p.CPU != nil && *p.CPU > 100:
		return "busy process"
	}
	return "process"
}

// tabWord names a tab by what it is, for the reason that there may be to close it.
func tabWord(t *snapshot.Tab) string {
	switch {
	case t.Editor == nil:
		return "tab"
	case t.Editor.Shape == "pty":
		return "editor's terminal"
	}
	return "editor's tab"
}

// terminalWord names a terminal by what it is, for the reason that there may be to close it.
func terminalWord(t *snapshot.Terminal) string {
	switch {
	case t.RoleKind == "shellper":
		return "shellper"
	case t.Status == "exited":
		return "exited terminal"
	}
	return "terminal"
}

// Rules is the rules section of the shipped config.yaml with sessions named worker- in scope, and the case's changes.
func (c Case) Rules() (*subject.Config, error) {
	shipped, err := shippedRules()
	if err != nil {
		return nil, err
	}
	out := subject.Config{Vendors: shipped.Vendors}
	plain, err := Plain(shipped)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(Merge(plain, c.Config))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read the case's config: %w", err)
	}
	if len(c.Exceptions) > 0 {
		if data, err = json.Marshal(map[string]any{"exceptions": c.Exceptions}); err == nil {
			out.Exceptions, err = policy.ReadExceptions("incident", policy.ExceptionsName, data)
		}
	}
	return &out, err
}

// shippedRules reads once what cases begin with: there are hundreds of them. It is never changed.
var shippedRules = sync.OnceValues(func() (*subject.Config, error) {
	c, err := config.Defaults()
	if err != nil {
		return nil, err
	}
	c.Rules.SessionNames.Prefix = []string{"worker-"}
	return &c.Rules.Config, nil
})

// Merge applies a JSON merge patch (RFC 7386) to a copy.
func Merge(base, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			under, _ := out[k].(map[string]any)
			out[k] = Merge(under, v)
		default:
			out[k] = v
		}
	}
	return out
}

// Parse reads a document as a snapshot.
func Parse(doc Document) (*snapshot.Snapshot, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var s snapshot.Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read the case's snapshot: %w", err)
	}
	s.FillNull()
	return &s, nil
}

// Plain is a value as plain JSON.
func Plain(v any) (Document, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out Document
	return out, json.Unmarshal(data, &out)
}
