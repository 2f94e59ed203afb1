package redact

import (
	"reflect"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// action gives what stands for a text.
type action func(r *Redacter, text string) string

// actions are those of the tables, by their names. hide leaves of a text only whether there is one, blank nothing, and drop not even that: without the glob
// over ids an entry keeps more;
// glob replaces of the parts between slashes those without a wildcard, which are names. What the others leave is said
// at the methods.
var actions = map[string]action{
	"word": (*Redacter).word, "path": (*Redacter).path, "id": (*Redacter).id,
	"source": (*Redacter).source, "value": (*Redacter).value, "digest": (*Redacter).digest,
	"drop":  func(*Redacter, string) string { return "" },
	"blank": func(*Redacter, string) string { return redacted },
	"hide": func(_ *Redacter, text string) string {
		if text == "" {
			return ""
		}
		return redacted
	},
	"glob": func(r *Redacter, text string) string {
		parts := strings.Split(text, "/")
		for i, part := range parts {
			if part != "~" && !wildcard(part) {
				parts[i] = r.word(part)
			}
		}
		return strings.Join(parts, "/")
	},
}

// redacted stands for a text that may name anything.
const redacted = "redacted"

// fields are the fields of one type whose texts are replaced, by what is done with them: texts, lists and maps of
// texts, known or unknown. With "keys of" before an action it is done with the keys of a map.
type fields map[string]string

// names are all texts of a snapshot that may name a person, a machine or a project, by the types of package snapshot.
var names = newTable(map[string]fields{
	"Snapshot": {"keys of id": "Sessions Tabs Terminals Dirs Processes Labels Sightings",
		"keys of source": "Sources"},
	"Host":       {"word": "Name User", "path": "Home Cwd"},
	"Source":     {"path": "Path", "hide": "Error Refused Fetch"},
	"Server":     {"path": "Socket"},
	"Session":    {"source": "Source", "word": "ID Name Group", "hide": "Error", "digest": "State"},
	"Tab":        {"source": "Source", "word": "ID Label Workspace", "digest": "State"},
	"EditorTab":  {"word": "Window Name CreationName Program", "path": "Folders", "hide": "Error"},
	"EditorProc": {"word": "Name"},
	"CodevTab":   {"word": "ID Key"},
	"Pane":       {"path": "Cwd", "word": "ID Terminal Linked StartedAs", "hide": "Error"},
	"PaneProc":   {"word": "Name"},
	"Workspace":  {"source": "Source", "path": "Path"},
	"Builder":    {"word": "ID Key"},
	"Terminal": {"source": "Source", "word": "ID Role Label", "path": "Workspace Cwd", "hide": "Error",
		"digest": "State"},
	"TerminalOwner": {"word": "ID Key", "path": "Worktree"},
	"Owner":         {"source": "Source", "word": "Builder Terminal", "path": "Workspace Worktree"},
	"Dir": {"source": "Source", "word": "Name", "path": "Path Root Nested", "hide": "Error Skipped",
		"digest": "State"},
	"Holder":  {"word": "Name"},
	"Pointer": {"path": "Path"},
	"Content": {"path": "Worktree Main", "word": "Name Maker", "id": "ID"},
	"Git": {"path": "Main CommonDir AdminDir Branch Upstream Followed UntrackedPaths IgnoredPaths UnmarkedPaths " +
		"DifferingPaths OnlyHerePaths LeftOutPaths Nested", "hide": "LandingError"},
	"Landing": {"path": "Into"},
	"Lock":    {"hide": "Text", "word": "Owner"},
	"Process": {"word": "Name Script Package", "path": "Exe Cwd UnixSockets", "digest": "ArgvDigest",
		"value": "Markers"},
	"Record": {"source": "Source", "word": "ID Role Owner Session Server Pane Tab Label", "path": "Path",
		"value": "Marker"},
	"Worker":        {"source": "Source", "word": "ID Name", "blank": "Why NextCommand", "id": "Session"},
	"Hold":          {"id": "ID", "word": "Owner", "blank": "Reason"},
	"Asked":         {"id": "ID"},
	"Project":       {"digest": "SHA256", "path": "Path File Worktrees", "hide": "Why"},
	"Keep":          {"hide": "Why Who", "blank": "Tree File"},
	"Match":         {"glob": "Path Label Owner", "drop": "ID"},
	"OpenSession":   {"source": "Source", "word": "ID Agent", "path": "Folder"},
	"AncestryAgent": {"word": "Name"},
	"Sighting":      {"blank": "Identity"}, // see sightings
})

// secrets are the texts that hold values of variables of the environment.
var secrets = newTable(map[string]fields{
	"Process":     {"digest": "ArgvDigest", "value": "Markers"},
	"Record":      {"value": "Marker"},
	"OpenSession": {"word": "ID"},
})

// step is what is done with a field: with its texts, and with the keys of a map.
type step struct {
	field     int
	text, key action
}

// table has the steps of each type. Fields in which nothing is replaced have none.
type table struct {
	listed map[string]step // by Type.Field
	known  map[reflect.Type][]step
}

func newTable(types map[string]fields) *table {
	t := &table{listed: map[string]step{}, known: map[reflect.Type][]step{}}
	for of, lists := range types {
		for what, list := range lists {
			name, keys := strings.CutPrefix(what, "keys of ")
			for field := range strings.FieldsSeq(list) {
				if keys {
					t.listed[of+"."+field] = step{key: actions[name]}
				} else {
					t.listed[of+"."+field] = step{text: actions[name]}
				}
			}
		}
	}
	t.steps(reflect.TypeFor[snapshot.Snapshot]())
	return t
}

// steps are those of a struct, or of what a type leads to.
func (t *table) steps(of reflect.Type) []step {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := t.known[of]; ok {
		return known
	}
	var all []step
	for i := range of.NumField() {
		f := of.Field(i)
		s, listed := t.listed[of.Name()+"."+f.Name]
		below := t.steps(f.Type)
		if s.field = i; listed || len(below) > 0 {
			all = append(all, s)
		}
	}
	t.known[of] = all
	return all
}

// replace puts a changed copy of what v leads to in its place.
func (r *Redacter) replace(v reflect.Value, t *table, s step) {
	switch {
	case v.Kind() == reflect.String:
		if s.text != nil {
			v.SetString(s.text(r, v.String()))
		}
	case v.Kind() == reflect.Struct:
		for _, s := range t.known[v.Type()] {
			r.replace(v.Field(s.field), t, s)
		}
	case v.Kind() != reflect.Pointer && v.Kind() != reflect.Slice && v.Kind() != reflect.Map || v.IsNil():
	case v.Kind() == reflect.Pointer:
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(v.Elem())
		r.replace(out.Elem(), t, s)
		v.Set(out)
	case v.Kind() == reflect.Slice:
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(out, v)
		for i := range v.Len() {
			r.replace(out.Index(i), t, s)
		}
		v.Set(out)
	case v.Kind() == reflect.Map:
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for at := v.MapRange(); at.Next(); {
			key, one := at.Key(), reflect.New(v.Type().Elem()).Elem()
			if s.key != nil {
				key = reflect.ValueOf(s.key(r, key.String())).Convert(v.Type().Key())
			}
			one.Set(at.Value())
			r.replace(one, t, s)
			out.SetMapIndex(key, one)
		}
		v.Set(out)
	}
}
