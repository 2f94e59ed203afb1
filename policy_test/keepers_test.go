package policy_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// thing is a candidate of a world: its document, and the folder in which it is, "" for one of no folder.
type thing struct {
	id, kind string
	doc      document
	folder   string
}

func thingOf(world document, id string) thing {
	kind, _, _ := strings.Cut(id, ":")
	docs, _ := world[plural(id)].(document)
	doc, _ := docs[id].(document)
	t := thing{id: id, kind: kind, doc: doc}
	switch kind {
	case "process":
		t.folder, _ = doc["cwd"].(string)
	case "dir":
		t.folder, _ = doc["path"].(string)
	case "session":
		if p := t.pane(); p != nil {
			t.folder, _ = p["cwd"].(string)
		}
	}
	return t
}

// plural is the part of a world that has a candidate.
func plural(id string) string {
	if kind, _, _ := strings.Cut(id, ":"); kind != "process" {
		return kind + "s"
	}
	return "processes"
}

// pane is the first pane of a session or a tab.
func (t thing) pane() document {
	panes, _ := t.doc["panes"].([]any)
	if len(panes) == 0 {
		return nil
	}
	p, _ := panes[0].(document)
	return p
}

// marker is a value by which records may name a process.
func (t thing) marker() string {
	markers, _ := t.doc["markers"].(document)
	for _, name := range slices.Sorted(maps.Keys(markers)) {
		if value, _ := markers[name].(string); value != "" {
			return value
		}
	}
	return ""
}

// keepers each give one record that alone keeps a thing: the list of the world that it belongs to and the record, nil where it keeps no such thing.
var keepers = map[string]struct {
	list   string
	record func(thing) document
}{
	"an entry of its folder": {"registry", func(t thing) document { return tied("path", t.folder) }},
	"an entry of a folder around or in it": {"registry", func(t thing) document {
		if t.kind == "dir" {
			return tied("path", t.folder+"/inner")
		}
		return tied("path", path.Dir(t.folder))
	}},
	"an entry of its name":   {"registry", func(t thing) document { return named(t, "session", "session", "name") }},
	"an entry of its pid":    {"registry", func(t thing) document { return named(t, "process", "pid", "pid") }},
	"an entry of its marker": {"registry", func(t thing) document { return tied("marker", t.marker()) }},
	"an entry of its label":  {"registry", func(t thing) document { return named(t, "tab", "label", "label") }},
	"an entry of its tab":    {"registry", func(t thing) document { return named(t, "tab", "tab", "id") }},
	"an entry of its pane": {"registry", func(t thing) document {
		if p := t.pane(); t.kind == "tab" && p != nil {
			return tied("pane", p["terminal"])
		}
		return nil
	}},
	"a spawn of its folder": {"spawns", func(t thing) document { return tied("path", t.folder) }},
	"a spawn of its label":  {"spawns", func(t thing) document { return named(t, "tab", "label", "label") }},
	"a spawn of its marker": {"spawns", func(t thing) document { return tied("marker", t.marker()) }},
	"a hold on it":          {"holds", func(t thing) document { return document{"id": t.id, "owner": "me", "since": began} }},
	"a hold on a folder in it": {"holds", func(t thing) document {
		if t.kind != "dir" {
			return nil
		}
		return document{"id": "dir:" + t.folder + "/inner", "owner": "me", "since": began}
	}},
	"a project's glob": {"projects", func(t thing) document { return project(t, globbed("**")) }},
	"a project's entry": {"projects", func(t thing) document {
		return project(t, []any{matching("path", path.Base(t.folder))})
	}},
	"an agent's record of its session": {"open_sessions", func(t thing) document {
		if t.kind != "process" {
			return nil
		}
		return document{"source": "agents/claude", "agent": "claude", "id": "c-7", "pid": t.doc["pid"], "start_ticks": t.doc["start_ticks"], "written_at": now}
	}},
	"an agent's record of its folder": {"open_sessions", func(t thing) document {
		if t.kind != "dir" {
			return nil
		}
		return document{"source": "agents/codex", "agent": "codex", "id": "t-7", "pid": 0, "folder": t.folder + "/src", "written_at": now}
	}},
}

const began, now = "2026-11-20T10:00:00Z", "2026-11-20T17:59:00Z"

// tied is a record that has not ended and names one thing.
func tied(by string, value any) document {
	if value == nil || value == "" || value == "." {
		return nil
	}
	return document{"id": "kept-1", "status": "running", by: value, "spawned_at": began, "endless": true}
}

// named is such a record of a thing of one kind, by a fact of it.
func named(t thing, kind, by, fact string) document {
	if t.kind != kind {
		return nil
	}
	return tied(by, t.doc[fact])
}

// project is one around the folder in which a thing is.
func project(t thing, keeps []any) document {
	if t.folder == "" {
		return nil
	}
	main := path.Dir(t.folder)
	return document{"path": main, "file": main + "/.winnow/config.yaml", "state": "trusted", "keeps": keeps, "off": []any{}}
}

// sourcesOf are those of the records, by their lists.
var sourcesOf = map[string][2]string{
	"registry": {"registry/kept", "registry"}, "spawns": {"spawns/kept", "spawns"}, "open_sessions": {"agents/claude", "agents"}, "projects": {"projects", "projects"},
}

// TestNoKeeperIsLost has each thing that a case reaps be kept by one record alone, and takes every fact of that look away in turn: where the
// record still stands, whether it concerns the thing may then be unknown, and the thing stays. It is one thing a rule and a kind.
func TestNoKeeperIsLost(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("thousands of worlds, in which nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	tried, kept := map[string]bool{}, make(chan string, 10000)
	all := cases(t)
	t.Run("things", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c := all[name]
			for id, want := range c.Want {
				kind, _, _ := strings.Cut(id, ":")
				if want == nil || want.Verdict != decision.Reap || tried[kind+strings.Join(want.Findings, " ")] {
					continue
				}
				tried[kind+strings.Join(want.Findings, " ")] = true
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					config := configOf(t, c)
					this := Case{Sentence: c.Sentence, Want: map[string]*Want{id: nil}, Change: document{"processes": c.Change["processes"]}}
					world := alone(this, worldOf(t, c), decide(t, e, config, worldOf(t, c)))
					for by, k := range keepers {
						record := k.record(thingOf(world, id))
						if record == nil {
							continue
						}
						world := recorded(world, k.list, record)
						parsed := parse(t, world)
						if d := judged(t, e, config, parsed)[id]; d != nil && d.Verdict == decision.Reap {
							continue // this record keeps no such thing
						}
						kept <- by
						for _, fact := range facts(world, nil) {
							if len(fact) < 2 || fact[0] != k.list && (fact[0] != plural(id) || fact[1] != id) {
								continue // TestNoVerdictGetsHarsher takes it away
							}
							if d := judged(t, e, config, parsedWithout(t, parsed, world, fact))[id]; d != nil && d.Verdict == decision.Reap && !excused(fact) {
								t.Errorf("kept by %s alone; without %s it is reaped", by, strings.Join(fact, " "))
							}
						}
					}
				})
			}
		}
	})
	close(kept)
	by := map[string]bool{}
	for k := range kept {
		by[k] = true
	}
	for k := range keepers {
		if !by[k] {
			t.Errorf("%s kept nothing: it is not tried", k)
		}
	}
}

// recorded is a world with one more record, and with its source.
func recorded(world document, list string, record document) document {
	out, sources := maps.Clone(world), maps.Clone(world["sources"].(document))
	if source, ok := sourcesOf[list]; ok {
		if list == "registry" || list == "spawns" {
			record["source"] = source[0]
		}
		sources[source[0]] = document{"kind": source[1], "status": "ok", "took": 0.01, "seen": 1}
	}
	before, _ := world[list].([]any)
	out["sources"], out[list] = sources, append(slices.Clone(before), record)
	return out
}

// excused reports whether the lack of a fact is another world, as in TestNoVerdictGetsHarsher: a record that names nothing concerns nothing.
func excused(fact []string) bool {
	if len(fact) == 3 && slices.Contains([]string{"registry", "spawns"}, fact[0]) && slices.Contains([]string{"label", "marker", "pane", "tab"}, fact[2]) {
		return true
	}
	at := strings.Join(fact, "\x00")
	for _, p := range another {
		if p.MatchString(at) {
			return true
		}
	}
	return false
}
