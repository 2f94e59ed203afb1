package policy_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// worlds are facts that say something by being there at all, and whose absence is therefore known and not unknown: without
// them it is another world, in which the verdict may be another one. All else that is taken away is a fact that could not be
// read. Each has the reason why it is here; a pattern is matched against the whole path, with * for one step of it.
var worlds = []struct{ path, why string }{
	{"spawns", "no spawn was ever recorded"},
	{"registry", "no entry was ever recorded"},
	{"open_sessions", "no agent wrote down any session; where that could not be read the source says so"},
	{"open_sessions/*/pid", "a record of no process; it is the file's name"},
	{"open_sessions/*/id", "a record of no session names none that a process could be of"},
	{"holds", "there is no hold"},
	{"holds/*/id", "a hold on nothing; the ledger cannot write one"},
	{"spawns/*/path", "a spawn that names no folder concerns none"},
	{"spawns/*/label", "a spawn that names no label concerns no tab by it"},
	{"registry/*/path", "an entry that names no folder concerns none"},
	{"registry/*/session", "an entry that names no session concerns none"},
	{"registry/*/id", "an entry without an id; no registry gives one"},
	{"registry/*/pid", "an entry that names no process concerns none"},
	{"registry/*/marker", "an entry whose processes carry no marker concerns none by it"},
	{"registry/*/pane", "an entry that names no pane concerns no tab by it"},
	{"registry/*/tab", "an entry that names no tab concerns none by it"},
	{"registry/*/terminal", "a record that says nothing of itself leaves it to its status"},
	{"registry/*/retained", "an unmarked record"},
	{"processes", "no process lives: the table was read whole, or its source says so"},
	{"processes/*", "a process that has ended: the table was read whole, or its source says so"},
	{"processes/*/start_ticks", "it is in the process's id; no process is without"},
	{"processes/*/pid", "it is in the process's id; no process is without"},
	{"processes/*/markers/*", "a variable that is not set: the environment was read whole, or markers is absent"},
	{"sessions/*", "a session that has ended: its server was read, or its source says so"},
	{"terminals/*", "a terminal that is not at its Tower any more: its source was read whole, or says so"},
	{"terminals/*/label", "a terminal that is called nothing: what could give it a label was read, or its source says so"},
	{"projects", "no project is trusted"},
	{"projects/*/worktrees", "a project all of whose worktrees lie in it; where they could not be read the source says so"},
	{"host/asleep", "a machine that was not off since an earlier look; it is known wherever the ledger was read, or its source says so"},
	{"host/up_seconds", "a snapshot that no look wrote: one that could not read the clocks is not steady either"},
	{"sources/*", "a source that is not configured; one that a record names is missed"},
}

var another = patterns()

func patterns() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, w := range worlds {
		steps := strings.Split(w.path, "/")
		for i, s := range steps {
			if steps[i] = regexp.QuoteMeta(s); s == "*" {
				steps[i] = "[^\x00]+"
			}
		}
		out = append(out, regexp.MustCompile("^"+strings.Join(steps, "\x00")+"$"))
	}
	return out
}

// drawn reports whether a case is one of those that are taken where one of so many is.
func drawn(name string, many int) bool { return crc32.ChecksumIEEE([]byte(name))%uint32(many) == 0 }

// TestNoVerdictGetsHarsher takes every fact away in turn, in every world that a case plays in, and wants no candidate that was
// spared to be reaped for it. The first stage takes one of 32 cases, and of
// the facts of the great worlds one of eight.
func TestNoVerdictGetsHarsher(t *testing.T) {
	if attack.Raced {
		t.Skip("some ten thousand worlds, in which nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	used := make([]bool, len(worlds))
	all := cases(t)
	all["machine"], all["herd"], all["tower"] = Case{}, Case{World: "herd"}, Case{World: "tower"}
	results := make(chan []int, len(all))
	t.Run("worlds", func(t *testing.T) {
		for name, c := range all {
			if c.Sentence != "" && !drawn(name, stage.Trials(32, 1)) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				config := configOf(t, c)
				world := alone(c, worldOf(t, c), decide(t, e, config, worldOf(t, c)))
				before := decide(t, e, config, world)
				var excused []int
				if c.Sentence != "" && allReaped(before) && !slices.Contains(slices.Collect(maps.Values(c.Want)), nil) {
					results <- excused // nothing in it was spared
					return
				}
				parsed := parse(t, world)
				for _, path := range facts(world, nil) {
					if !concerns(path, c) || c.Sentence == "" && !drawn(strings.Join(path, "/"), stage.Trials(8, 1)) {
						continue
					}
					now := parsedWithout(t, parsed, world, path)
					if c.Sentence == "" && !reflect.DeepEqual(now, parse(t, without(world, path))) {
						t.Fatalf("the world without %s is not what the whole document says", strings.Join(path, " "))
					}
					for id, now := range judged(t, e, config, now) {
						if was := before[id]; now.Verdict != decision.Reap || was != nil && was.Verdict == decision.Reap {
							continue
						}
						if i := slices.IndexFunc(another, func(p *regexp.Regexp) bool { return p.MatchString(strings.Join(path, "\x00")) }); i >= 0 {
							excused = append(excused, i)
							continue
						}
						t.Errorf("without %s %s is reaped", strings.Join(path, " "), id)
					}
				}
				results <- excused
			})
		}
	})
	close(results)
	for excused := range results {
		for _, i := range excused {
			used[i] = true
		}
	}
	for i, w := range worlds {
		if !used[i] && stage.Second() {
			t.Errorf("no case needs the exemption of %s (%s)", w.path, w.why)
		}
	}
}

func allReaped(decided map[string]*Want) bool {
	for _, d := range decided {
		if d.Verdict != decision.Reap {
			return false
		}
	}
	return true
}

// alone keeps the work in bounds: it is a case's world without the candidates in scope that the case neither speaks of nor
// changes, which are judged in their own cases, and without any process where it is about none and about nothing that one belongs to.
func alone(c Case, world document, decided map[string]*Want) document {
	if c.Sentence == "" { // the world itself
		return world
	}
	for id := range decided {
		for kind, of := range world {
			changed, _ := c.Change[kind].(map[string]any)
			_, wanted := c.Want[id]
			_, mine := changed[id]
			if all, isMap := of.(map[string]any); isMap && all[id] != nil && kind != "sightings" && !wanted && !mine {
				world = without(world, []string{kind, id})
			}
		}
	}
	about := c.Change["processes"] != nil
	for id := range c.Want {
		about = about || strings.HasPrefix(id, "process:") || strings.HasPrefix(id, "terminal:")
	}
	if !about {
		world = without(world, []string{"processes"})
	}
	return world
}

// concerns keeps the work in bounds: in the world of a case that changes little, only what the change is part of can matter in
// another way than in the world before the change.
func concerns(path []string, c Case) bool {
	if c.Sentence == "" {
		return true
	}
	if path[0] == "sightings" { // and of what is changed: a sighting is of the candidate before that
		return c.Seen != nil || c.Change["sessions"] != nil || c.Change["tabs"] != nil || c.Change["terminals"] != nil
	}
	changed, ok := c.Change[path[0]]
	if !ok {
		return false
	}
	if top, isMap := changed.(map[string]any); isMap && len(path) > 1 {
		_, mine := top[path[1]]
		return mine || path[0] == "host"
	}
	return true
}

// facts are the paths of all values below v, those of lists' elements left out: an element is not a fact about anything else.
func facts(v any, at []string) [][]string {
	var out [][]string
	add := func(step string, x any, isFact bool) {
		path := append(slices.Clone(at), step)
		if isFact {
			out = append(out, path)
		}
		out = append(out, facts(x, path)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			add(k, v[k], true)
		}
	case []any:
		for i, x := range v {
			add(strconv.Itoa(i), x, false)
		}
	}
	return out
}

// without is a copy of doc without one fact.
func without(doc document, path []string) document {
	return cut(doc, path).(document)
}

// parsedWithout is what parse gives for the world without one fact. Only the part of it that the fact is in is read again.
func parsedWithout(t *testing.T, whole *snapshot.Snapshot, world document, path []string) *snapshot.Snapshot {
	t.Helper()
	out := *whole
	part := document{}
	if rest := without(world, path)[path[0]]; rest != nil {
		part[path[0]] = rest
	}
	fields := reflect.ValueOf(&out).Elem()
	for field := range fields.Type().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == path[0] {
			fields.FieldByIndex(field.Index).SetZero()
		}
	}
	data := must.Get(json.Marshal(part))(t)
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("read the world without %s: %v", strings.Join(path, " "), err)
	}
	return &out
}

func cut(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		if len(path) == 1 {
			delete(out, path[0])
		} else {
			out[path[0]] = cut(out[path[0]], path[1:])
		}
		return out
	case []any:
		out := slices.Clone(v)
		i, err := strconv.Atoi(path[0])
		if err != nil {
			panic(fmt.Sprintf("%s is no place in a list", path[0]))
		}
		out[i] = cut(out[i], path[1:])
		return out
	}
	return v
}
