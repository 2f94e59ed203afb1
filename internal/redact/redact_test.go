package redact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func redacted1(t *testing.T, o Options, s *snapshot.Snapshot) (*snapshot.Snapshot, string) {
	t.Helper()
	out := New(o).Snapshot(s)
	return out, string(must.Get(json.Marshal(out))(t))
}

// TestSentencesAndMemoriesNameNothing has texts of sources and what looks remember of sessions name a project, which no copy may do; what is
// remembered must still be about the same session.
func TestSentencesAndMemoriesNameNothing(t *testing.T) {
	t.Parallel()
	const id = "session:tmux/project-x/$4"
	s := &snapshot.Snapshot{
		Sources:  map[string]snapshot.Source{"dirs//w/project-x": {Refused: []string{"/w/project-x/a is another user's"}, Fetch: []string{"fetch project-x: no answer"}}},
		Sessions: map[string]snapshot.Session{id: {Source: "tmux/project-x", Name: "project-x"}},
		Labels:   map[string]string{id: snapshot.Live},
		Dirs: map[string]snapshot.Dir{"dir:/w/project-x": {Path: "/w/project-x", Git: &snapshot.Git{LandingError: "project-x", Lock: &snapshot.Lock{Text: new("project-x"), Owner: "project-x"},
			Landing: &snapshot.Landing{Into: "refs/remotes/origin/project-x"}, DifferingPaths: &[]string{"project-x"}, OnlyHerePaths: &[]string{"project-x"}}}},
	}
	out, text := redacted1(t, Options{Config: &subject.Config{Agents: []string{"claude"}}}, s)
	if i := strings.Index(text, "project-x"); i >= 0 {
		t.Errorf("the copy names it: ...%s...", text[max(0, i-80):min(len(text), i+40)])
	}
	for name := range out.Sessions {
		must.Equal(t, snapshot.Live, out.Labels[name], "its label")
	}
	must.Equal(t, "/w/project-x/a is another user's", s.Sources["dirs//w/project-x"].Refused[0], "the original")
}

// open are the fields whose words are of a program, and not of a person: they stay as they are.
var open = regexp.MustCompile(`^(schema|host\.boot_id|sources\.\*\.(kind|status|cause|format|server\.version)|.*\.server\.(version|lacks)|.*\.agent_status|.*\.tty|` +
	`tabs\.\*\.editor\.(shape|codev\.kind|markers)|terminals\.\*\.(role_kind|status|owner\.how)|owners\.(kind|boot_id)|(spawns|registry)\.(status|kind|pull_request\.(by|state|head))|ancestries\.boot_id|dirs\.\*\.pointers\.kind|sightings\.\*\.rule|` +
	`workers\.(status|observation)|asked\.by|labels\.\*|projects\.(state|off|keeps\.(until|rules|match\.kind))|dirs\.\*\.(content\.pattern|git\.(head|operation|lock\.tool|landing\.(by|commits|since)|pull_requests\.(by|state|head))|holders\.how)|` +
	`processes\.\*\.(state|daemon|started_by|proven|markers\.key))$`)

// TestEveryTextOfASnapshotIsReplaced puts a word of its own into every text that a snapshot can hold, keys among them, so that a field that is added
// later is either replaced or on the list above.
func TestEveryTextOfASnapshotIsReplaced(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{}
	canaries := map[string]string{}
	fill(reflect.ValueOf(s).Elem(), "", canaries, 0)
	if len(canaries) < 150 {
		t.Fatalf("%d texts were filled in; a snapshot has more", len(canaries))
	}
	_, text := redacted1(t, Options{Config: &subject.Config{}}, s)
	for canary, at := range canaries {
		if stays := strings.Contains(text, canary); stays != open.MatchString(at) {
			t.Errorf("%s: it stays: %v", at, stays)
		}
	}
}

func fill(v reflect.Value, at string, canaries map[string]string, depth int) {
	mark := func(at string) string {
		word := fmt.Sprintf("canary%dy", len(canaries))
		canaries[word] = at
		return word
	}
	if depth > 12 || v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[snapshot.Redaction]() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(mark(at))
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			fill(v.Field(i), strings.TrimPrefix(at+"."+name, "."), canaries, depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), at, canaries, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), at, canaries, depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, one := mark(at+".key"), reflect.New(v.Type().Elem()).Elem()
		if strings.HasSuffix(at, "s") && !strings.Contains(at, ".") {
			canaries[key], key = at+".id", strings.TrimSuffix(at, "s")+":"+key
			if at == "sources" {
				key = "dirs/" + strings.TrimPrefix(key, "source:")
			}
		}
		fill(one, at+".*", canaries, depth+1)
		v.SetMapIndex(reflect.ValueOf(key), one)
	}
}

// TestWhatPatternsNeedStays keeps of a name the part by which a pattern knows it, and says so.
func TestWhatPatternsNeedStays(t *testing.T) {
	t.Parallel()
	config := &subject.Config{
		Shells: []string{"zsh"}, DisposableDirs: []string{`(?i)-review-[0-9a-f]{8}$`}, Protected: []string{"/w/acme/**", "*-keep"}, SessionNames: subject.Names{Prefix: []string{"wk-"}},
		Custom: map[string]any{"mine": []any{"scratch"}},
	}
	s := &snapshot.Snapshot{
		Dirs: map[string]snapshot.Dir{}, Sessions: map[string]snapshot.Session{
			"session:tmux/default/$1": {Name: "wk-secret"}, "session:tmux/default/$2": {Name: "secret"}, "session:tmux/default/$3": {Name: "secret-keep"}},
		Processes: map[string]*snapshot.Process{"process:1@1": {Name: "zsh"}, "process:2@1": {Name: "secretd"}},
	}
	for _, path := range []string{"/w/acme/secret", "/w/secret-review-1a2b3c4d", "/w/secret/my-scratch-9"} {
		s.Dirs["dir:"+path] = snapshot.Dir{Path: path, Name: path[strings.LastIndexByte(path, '/')+1:]}
	}
	out, text := redacted1(t, Options{Config: config, Key: make([]byte, KeySize)}, s)
	if strings.Contains(text, "secret") {
		t.Errorf("the name is there: %s", text)
	}
	for _, part := range []string{`"/w/acme/x`, `-review-1a2b3c4d"`, `-keep"`, `"wk-x`, `"zsh"`, `scratch`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not there: %s", part, text)
		}
	}
	must.Equal(t, []string{"acme", "w", "zsh"}, out.Redaction.Kept, "kept")
	must.Equal(t, []string{}, out.Redaction.Whole, "whole")
	if n := out.Redaction.Parts[config.DisposableDirs[0]]; n != 1 {
		t.Errorf("names that %s needs: %d, want 1: %v", config.DisposableDirs[0], n, out.Redaction.Parts)
	}
	if out.Redaction.Key != KeyName(make([]byte, KeySize)) || strings.Contains(out.Redaction.Key, "0000000000000000") {
		t.Errorf("the key is named %q", out.Redaction.Key)
	}
}

// TestAKeyGivesTheSameStandIns holds that documents of one key join, and those of others do not.
func TestAKeyGivesTheSameStandIns(t *testing.T) {
	t.Parallel()
	key := NewKey()
	name := func(o Options, session string) string {
		out, _ := redacted1(t, o, &snapshot.Snapshot{Sessions: map[string]snapshot.Session{"session:tmux/default/$1": {Name: session}}})
		return out.Sessions["session:tmux/default/$1"].Name
	}
	a, again, other := name(Options{Key: key}, "mine"), name(Options{Key: key}, "mine"), name(Options{Key: key}, "yours")
	fresh, second := name(Options{}, "mine"), name(Options{}, "mine")
	if a != again || a == other || fresh == a || fresh == second {
		t.Errorf("%s, again %s, another name %s, another key %s and %s", a, again, other, fresh, second)
	}
}

// TestSecretsKeepsNames replaces values of the environment and leaves command lines out, everywhere, and nothing else: what ties records to processes
// still does.
func TestSecretsKeepsNames(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{
		Processes: map[string]*snapshot.Process{"process:1@1": {Name: "mine", Cwd: new("/w/mine"), Argv: []string{"mine", "--token=canary"}, ArgvDigest: "canary",
			Markers: &map[string]string{"SESSION": "canary-1", "PID": "4711"}}},
		Registry:     []snapshot.Entry{{ID: "mine", Marker: "canary-1"}},
		OpenSessions: []snapshot.OpenSession{{ID: "canary-1"}},
	}
	out := New(Options{Config: &subject.Config{}}).Secrets(s)
	text := string(must.Get(json.Marshal(out))(t))
	if strings.Contains(text, "canary") || !strings.Contains(text, `"/w/mine"`) || !strings.Contains(text, `"4711"`) {
		t.Errorf("the copy: %s", text)
	}
	value := (*out.Processes["process:1@1"].Markers)["SESSION"]
	if value == "" || out.Registry[0].Marker != value || out.OpenSessions[0].ID != value {
		t.Errorf("the session is %q, %q and %q", value, out.Registry[0].Marker, out.OpenSessions[0].ID)
	}
	if m := *s.Processes["process:1@1"].Markers; m["SESSION"] != "canary-1" {
		t.Error("the original was changed")
	}
}

// TestTextsOfOnesOwnPoliciesAreKept keeps of a name what a rule of one's own looks for in it, and replaces the rest.
func TestTextsOfOnesOwnPoliciesAreKept(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{}}
	for _, name := range []string{"scratch-secret", "my-scratch-", "secret-v2", "exact"} {
		s.Dirs["dir:/w/"+name] = snapshot.Dir{Path: "/w/" + name, Name: name}
	}
	_, text := redacted1(t, Options{Config: &subject.Config{}, Literals: []string{"exact"}, Own: []string{"scratch-", `^[a-z]+-v[0-9]$`}}, s)
	if strings.Contains(text, "my-") || strings.Contains(text, "scratch-secret") {
		t.Errorf("names are there: %s", text)
	}
	for _, want := range []string{`"scratch-x`, `scratch-"`, `"exact"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not there: %s", want, text)
		}
	}
}

// TestExceptionsNameNobody has a configuration whose exceptions name a person and a project: of the copy only what they match is left, by which a redacted
// snapshot is decided like the original.
func TestExceptionsNameNobody(t *testing.T) {
	t.Parallel()
	c := &subject.Config{Exceptions: []snapshot.Keep{{
		Match: snapshot.Match{Label: "demo-*"}, Why: "project-x wants it", Who: "ann", Until: "never", Tree: "/home/ann/team", File: "/home/ann/team/exceptions.yaml", Line: 3,
	}}}
	r := New(Options{Config: c})
	r.Snapshot(&snapshot.Snapshot{})
	text := fmt.Sprintf("%+v", r.Config(c).Exceptions)
	for _, name := range []string{"ann", "project-x", "team"} {
		if strings.Contains(text, name) {
			t.Errorf("the copy names %s: %s", name, text)
		}
	}
	must.Equal(t, "demo-*", r.Config(c).Exceptions[0].Match.Label, "what it matches")
	must.Equal(t, "ann", c.Exceptions[0].Who, "the original")
}
