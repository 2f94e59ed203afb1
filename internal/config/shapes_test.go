package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// key is one key of config.yaml with the type that it becomes.
type key struct {
	path []string
	of   reflect.Type
}

// keys are all keys of a configuration, sections among them; those of the entries of a list too.
func keys(t reflect.Type, at []string) []key {
	var out []key
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || name == "" && !f.Anonymous:
		case f.Type == reflect.TypeFor[subject.Markers]() || f.Type == reflect.TypeFor[subject.Forge](): // refused: they stand in collect
		case f.Anonymous && name == "":
			out = append(out, keys(f.Type, at)...)
		default:
			path := append(at[:len(at):len(at)], name)
			out = append(out, key{path, f.Type})
			switch f.Type.Kind() {
			case reflect.Struct:
				out = append(out, keys(f.Type, path)...)
			case reflect.Slice:
				if e := f.Type.Elem(); e.Kind() == reflect.Struct && e != reflect.TypeFor[subject.RuleLevel]() {
					out = append(out, keys(e, append(path[:len(path):len(path)], "[]"))...)
				}
			}
		}
	}
	return out
}

// file writes a file in which the key has a value, on a line of its own, and gives that line. A value may have several lines.
func (k key) file(value string) (text string, line int) {
	var b strings.Builder
	line, depth := 1, 0
	if k.path[0] != "version" {
		b.WriteString("version: 1\n")
		line++
	}
	dash := ""
	for i, name := range k.path {
		if name == "[]" {
			dash = "- "
			continue
		}
		pad := strings.Repeat("  ", depth) + dash
		if dash != "" {
			depth++
			dash = ""
		}
		depth++
		if i < len(k.path)-1 {
			fmt.Fprintf(&b, "%s%s:\n", pad, name)
			line++
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s\n", pad, name, value)
	}
	return b.String(), line
}

func (k key) String() string { return strings.ReplaceAll(strings.Join(k.path, "."), ".[]", "[0]") }

// wrong are values that the key cannot have, each with what the message says.
func (k key) wrong() map[string]string {
	null := "has no value"
	bad := map[string]string{"": null, "~": null, "null": null, "&a 1": "an anchor", "*a": "", "!!str x": "a tag"}
	levels, own := reflect.TypeFor[[]subject.RuleLevel](), reflect.TypeFor[map[string]any]()
	duration, _ := isDuration(k.of)
	size := reflect.TypeFor[Size]()
	switch kind := k.of.Kind(); {
	case k.of == size || k.of == reflect.TypeFor[subject.Bytes]():
		bad["[1MB]"], bad["{a: 1MB}"], bad["x"], bad["'1'"], bad["true"], bad["1h"], bad["-1MB"] = "it wants", "it wants", "is no size", "is no size", "is no size", "is no size", "is no size"
	case k.of == levels || k.of == own:
		bad["[a]"], bad["1h"], bad["true"] = "it wants", "it wants", "it wants"
		bad["{a: ~}"] = "" // for levels another mistake, for own a missing value
	case duration || k.of == reflect.TypeFor[time.Duration]():
		bad["[1h]"], bad["{a: 1h}"], bad["30"], bad["soon"], bad["-1h"], bad["true"] = "wants a duration", "wants a duration", "has no unit", "no duration", "negative", "no duration"
	case kind == reflect.Struct:
		bad["[a]"], bad["1h"], bad["true"], bad["[{a: 1}]"] = "it wants keys of its own", "it wants keys of its own", "it wants keys of its own", "it wants keys of its own"
		bad["{zzzzqqqq: 1}"] = "unknown key"
	case kind == reflect.Slice:
		bad["x"], bad["{a: b}"], bad["12"], bad["true"] = "it wants a list", "it wants a list", "it wants a list", "it wants a list"
		bad["[~]"] = null
		if e := k.of.Elem().Kind(); e == reflect.Struct {
			bad["[x]"], bad["[[x]]"], bad["[{zzzzqqqq: 1}]"] = "it wants keys of its own", "it wants keys of its own", "unknown key"
			if k.of.Elem() == reflect.TypeFor[subject.Marker]() {
				delete(bad, "[x]") // a marker may stand there by its name alone
			}
		} else {
			bad["[[x]]"], bad["[{a: b}]"] = "it wants", "it wants"
			if e == reflect.String {
				bad["[12]"], bad["[true]"], bad["['']"] = "it wants a text", "it wants a text", "empty text"
			} else {
				bad["[x]"], bad["[1.5]"] = "it wants a whole number", "it wants a whole number"
			}
		}
	case kind == reflect.Map:
		bad["x"], bad["[a]"], bad["{a: [b]}"], bad["{a: b, a: c}"] = "it wants names and values", "it wants names and values", "it wants a text", "stands twice"
	case kind == reflect.String:
		bad["[x]"], bad["{a: b}"], bad["12"], bad["true"] = "it wants a text", "it wants a text", "it wants a text", "it wants a text"
	case kind == reflect.Bool:
		bad["[true]"], bad["{a: b}"], bad["yes"], bad["1"], bad["x"] = "it wants true or false", "it wants true or false", "it wants true or false", "it wants true or false", "it wants true or false"
	default:
		bad["[1]"], bad["{a: 1}"], bad["x"], bad["'1'"], bad["true"], bad["1h"] = "it wants", "it wants", "it wants", "it wants", "it wants", "it wants"
	}
	return bad
}

// TestEveryWrongShapeIsRefused gives every key of a configuration every wrong kind of value, writes it twice, and misspells it. Each is refused, as wrong
// use, with the file and the line, and nothing of the file is loaded.
func TestEveryWrongShapeIsRefused(t *testing.T) {
	t.Parallel()
	all := keys(reflect.TypeFor[Config](), nil)
	tried := 0
	try := func(k key, what, text string, line int, says string) {
		tried++
		c, err := load("/f.yaml", []byte(text), nil)
		switch {
		case err == nil || c != nil:
			t.Errorf("%s: %s was loaded:\n%s", k, what, text)
		case !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), fmt.Sprintf("/f.yaml:%d: ", line)) || !strings.Contains(err.Error(), says):
			t.Errorf("%s: %s: want line %d and %q, got %v", k, what, line, says, err)
		}
	}
	for i, k := range all {
		if attack.Raced && i%10 != 0 { // all of them take minutes then
			continue
		}
		for value, says := range k.wrong() {
			text, line := k.file(value)
			if value == "*a" {
				text = "x: &a 1\n" + text
				line = 1 // that anchors are not read is said where the first stands
			}
			try(k, fmt.Sprintf("the value %q", value), text, line, says)
		}
		last := k.path[len(k.path)-1]
		text, line := k.file("x")
		pad := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		pad = strings.ReplaceAll(pad[:strings.Index(pad, last)], "-", " ")
		try(k, "a second time", text+pad+last+": x\n", line+1, "stands twice")
		for _, slip := range []string{last[:len(last)-1], last + "s", strings.ToUpper(last), strings.ReplaceAll(last, "_", "-") + "x"} {
			if k.known(all, slip) {
				continue
			}
			bad := key{append(k.path[:len(k.path)-1:len(k.path)-1], slip), k.of}
			text, line := bad.file("x")
			near := "; the nearest is "
			if len(last) < 4 {
				near = "" // of so few letters one or two are much
			}
			try(bad, "a slip", text, line, "unknown key "+fmt.Sprintf("%q", bad.String())+near)
		}
	}
	if len(all) < 100 || tried < 1000 && !attack.Raced {
		t.Errorf("%d keys and %d wrong files", len(all), tried)
	}
}

// known reports whether a key of that name stands beside this one.
func (k key) known(all []key, name string) bool {
	for _, other := range all {
		if strings.Join(other.path, ".") == strings.Join(append(k.path[:len(k.path)-1:len(k.path)-1], name), ".") {
			return true
		}
	}
	return false
}

// TestSuggestionsAreNear holds that a message names a key only where it may have been meant.
func TestSuggestionsAreNear(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"colect: {}":                              `unknown key "colect"; the nearest is "collect"`,
		"colect: {timeout: 3s}":                   `unknown key "colect"; the nearest is "collect"`,
		"rules: {runawy: {}}":                     `unknown key "rules.runawy"; the nearest is "rules.runaway"`,
		"rulse: {}":                               `unknown key "rulse"; the nearest is "rules"`,
		"grace: {dir: 1h}":                        `unknown key "grace"; the nearest is "rules.grace"`,
		"rules: {trash_ttl: 1h}":                  `unknown key "rules.trash_ttl"; the nearest is "act.trash_ttl"`,
		"zebra: 1":                                `unknown key "zebra"; at the top there are act, agents, alarms, collect, console, decision_log, notify, policy, record, rules, run, state, ...`,
		"act: {caps: {zebra: 1}}":                 `unknown key "act.caps.zebra"; in act.caps there are jump_within, per_owner, per_sweep, share, share_from, shrunk_within`,
		"act: {cap: {per_sweep: 1}}":              `the nearest is "act.caps"`,
		"rules: {levels: {reap.dir.landed: off}}": `rules.levels.reap.dir.landed: "dir" is no folder under reap; the nearest is "dirs"`,
		"act: {kinds: [worktree]}":                `:2: act.kinds: unknown kind "worktree"; it is one of dir, process, session, tab, terminal`,
	} {
		if _, err := load("/f.yaml", []byte("version: 1\n"+text+"\n"), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", text, says, err)
		}
	}
	for env, says := range map[string]string{
		"WINNOW_COLECT_TIMEOUT=1s":     `WINNOW_COLECT_TIMEOUT (the nearest is WINNOW_COLLECT_TIMEOUT)`,
		"WINNOW_RULES_GRACE_DIRS=1s":   `(the nearest is WINNOW_RULES_GRACE_DIR)`,
		"WINNOW_SOMETHING_OF_A_BIRD=1": "WINNOW_SOMETHING_OF_A_BIRD",
	} {
		if got := UnknownEnv([]string{env}, nil); len(got) != 1 || !strings.HasSuffix(got[0], says) {
			t.Errorf("%s: want %q, got %q", env, says, got)
		}
	}
}

// TestAWrongValueIsNamedWithItsLine holds that values which only a second look refuses are named with the line of the entry, or with the variable.
func TestAWrongValueIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	list := func(key, value string) string {
		return "version: 1\nrules:\n  " + key + ":\n    - fine\n    - '" + value + "'\n"
	}
	for text, says := range map[string]string{
		list("protected", "/keep/["):                     `/f.yaml:5: rules.protected: "/keep/[" is no pattern`,
		list("protected", "./keep"):                      `/f.yaml:5: rules.protected: "./keep" is a path`,
		list("protected", "$NO/keep"):                    `/f.yaml:5: rules.protected: path "$NO/keep"`,
		list("never_processes", "{git"):                  `/f.yaml:5: rules.never_processes: "{git" is no pattern`,
		list("rebuildable", "["):                         `/f.yaml:5: rules.rebuildable: "[" is no pattern`,
		list("disposable_dirs", "("):                     `/f.yaml:5: rules.disposable_dirs: "(" is no regular expression`,
		list("daemon_folders", "**/*"):                   `/f.yaml:5: rules.daemon_folders: "**/*" matches everything`,
		list("own_sockets", "*/*"):                       `/f.yaml:5: rules.own_sockets: "*/*" matches everything`,
		"version: 1\nact:\n  caps:\n    share: 7\n":      `/f.yaml:4: act.caps.share is 7`,
		"version: 1\nact:\n  caps:\n    per_sweep: -1\n": `/f.yaml:4: act.caps.per_sweep is negative`,
		"version: 2\n":                                   `/f.yaml:1: version is 2`,
		"version: 1\nrules:\n  disposable_content:\n    - /w/scratch/*\n    - /tmp/*\n": `/f.yaml:5: rules.disposable_content: "/tmp/*" says too much`,
		"version: 1\nrules:\n  disposable_content: ['~/*']\n":                           `/f.yaml:3: rules.disposable_content: `,
		"version: 1\nrules:\n  disposable_content: ['~']\n":                             `/f.yaml:3: rules.disposable_content: `,
		"version: 1\nrules:\n  disposable_content: ['/**']\n":                           `/f.yaml:3: rules.disposable_content: "/**" says too much`,
		"version: 1\nrules:\n  disposable_content: ['~/scratch/[']\n":                   `/f.yaml:3: rules.disposable_content: `,
	} {
		if _, err := load("/f.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", text, says, err)
		}
	}
	c, err := load("/f.yaml", []byte("version: 1\nrules: {levels: {reap.dirs.landed: off,\n  reap.dirs.landde: off}}\n"), nil)
	must.Do(t, err)
	want := `/f.yaml:3: rules.levels: there is no rule "reap.dirs.landde"; the nearest is "reap.dirs.landed"`
	if err := c.CheckLevels([]string{"reap.dirs.landed", "protect.live"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
	if _, err := load("/f.yaml", []byte("version: 1\nrules: {protected: [/keep]}\n"), []string{"WINNOW_RULES_PROTECTED=["}); err == nil || !strings.Contains(err.Error(), `WINNOW_RULES_PROTECTED: rules.protected: "[" is no pattern`) {
		t.Errorf("a variable: %v", err)
	}
	for _, good := range []string{"~/scratch/*", "/w/scratch-*", "/srv/agents/*/tmp-*"} {
		if _, err := load("/f.yaml", []byte("version: 1\nrules: {disposable_content: ['"+good+"']}\n"), nil); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}
