package keep_test

import (
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const one = `exceptions:
  - match: {label: x}
    why: y
    who: z
    until: never
`

// ends is when an entry ends, "" for never.
func ends(t *testing.T, k snapshot.Keep) string {
	t.Helper()
	end, known := k.Ends()
	if !known {
		t.Errorf("%q was read, and is no time", k.Until)
	}
	if end == nil {
		return ""
	}
	return end.Format(time.RFC3339)
}

func TestExceptionsAreRead(t *testing.T) {
	t.Parallel()
	all, err := keep.ReadExceptions(keep.Source{Tree: "team", File: "team/exceptions.yaml"}, []byte(`# head
exceptions:
  - match: {id: "session:tmux/*/$4", path: ~/code/acme/, label: "release-*", owner: "ann-?", kind: session}
    why: the measurement
      runs
    who: ann
    until: 2026-12-01
  - {match: {path: /w/**}, why: "y", who: "7", until: 2026-12-01T10:00:00+02:00, rules: [reap.dirs.landed, reap.dirs.prunable]}
`))
	must.Do(t, err)
	must.Equal(t, 2, len(all), "entries")
	a, b := all[0], all[1]
	must.Equal(t, "~/code/acme", a.Match.Path, "the path without its last slash")
	must.Equal(t, snapshot.KindSession, a.Match.Kind, "kind")
	must.Equal(t, "the measurement runs", a.Why, "why, in one line")
	must.Equal(t, 3, a.Line, "line")
	must.Equal(t, "team", a.Tree, "tree")
	must.Equal(t, "2026-12-02T00:00:00Z", ends(t, a), "a day is over at its end")
	must.Equal(t, "2026-12-01T08:00:00Z", ends(t, b), "a time")
	must.Equal(t, "reap.dirs.landed reap.dirs.prunable", strings.Join(b.Rules, " "), "rules")
	all = must.Get(keep.ReadExceptions(keep.Source{}, []byte(one)))(t)
	must.Equal(t, "", ends(t, all[0]), "one without an end")
	all = must.Get(keep.ReadExceptions(keep.Source{}, []byte("exceptions: []\n")))(t)
	must.Equal(t, 0, len(all), "entries of an empty list")
}

// TestMistakesInExceptionsAreNamed has one mistake each, and wants the line and what is wrong.
func TestMistakesInExceptionsAreNamed(t *testing.T) {
	t.Parallel()
	entry := func(match, rest string) string {
		return "exceptions:\n  - match: " + match + "\n    why: y\n    who: z\n    until: never\n" + rest
	}
	for text, want := range map[string]string{
		"":                                 "x.yaml: it is empty: write exceptions: []",
		"# only\n":                         "x.yaml: it has comments only: write exceptions: []",
		"{}\n":                             "x.yaml:1: exceptions is missing: write exceptions: and below it a list",
		"- a\n":                            "x.yaml:1: the file is a list",
		"exceptions:\n":                    `x.yaml:1: key "exceptions" has no value`,
		"exceptions: {}\n":                 "x.yaml:1: exceptions is a section with keys; it wants a list",
		"exception: []\n":                  `x.yaml:1: unknown key "exception"; the nearest is "exceptions"`,
		"exceptions: []\nexceptions: []\n": `x.yaml:2: key "exceptions" stands twice, on line 1 too`,
		"exceptions: []\n---\na: 1\n":      "x.yaml:2: a second document begins here",
		"exceptions: [\n":                  "x.yaml:1: did not find expected node content",
		"exceptions:\n\t- a\n":             "x.yaml:2: found character that cannot start any token",
		"exceptions:\n- \xff\n":            "not UTF-8",
		"exceptions:\n- label\n":           "x.yaml:2: exceptions[0] is the single value",
		"exceptions:\n- match: {label: x}\n  why: y\n  who: z\n":            "x.yaml:2: exceptions[0].until is missing: write a day",
		"exceptions:\n- match: {label: x}\n  who: y\n  until: never\n":      "x.yaml:2: exceptions[0].why is missing",
		"exceptions:\n- match: {label: x}\n  why: y\n  until: never\n":      "x.yaml:2: exceptions[0].who is missing",
		"exceptions:\n- why: y\n  who: z\n  until: never\n":                 "x.yaml:2: exceptions[0].match is missing",
		strings.Replace(one, "never", "tomorrow", 1):                        `x.yaml:5: exceptions[0].until: "tomorrow" is no time`,
		strings.Replace(one, "never", "2026-13-01", 1):                      "x.yaml:5: exceptions[0].until:",
		strings.Replace(one, "never", "2026-12-01 10:00", 1):                "x.yaml:5: exceptions[0].until:",
		strings.Replace(one, "never", "Never", 1):                           "x.yaml:5: exceptions[0].until:",
		strings.Replace(one, "never", "~", 1):                               `x.yaml:5: key "exceptions[0].until" has no value`,
		strings.Replace(one, "why: y", `why: " "`, 1):                       "x.yaml:3: exceptions[0].why: it is empty",
		strings.Replace(one, "who: z", "who: [z]", 1):                       "x.yaml:4: exceptions[0].who: it is no text",
		strings.Replace(one, "who: z", "who: 12", 1):                        "x.yaml:4: exceptions[0].who: it is no text: put quotes around it",
		strings.Replace(one, "who: z", `who: "a\e[1m"`, 1):                  "x.yaml:4: exceptions[0].who: it has a character that cannot be printed",
		strings.Replace(one, "why: y", "why: "+strings.Repeat("y", 501), 1): "x.yaml:3: exceptions[0].why: it has 501 bytes",
		entry("{}", ""):                     "x.yaml:2: exceptions[0]: match has no id, path, label or owner",
		entry("{kind: dir}", ""):            "x.yaml:2: exceptions[0]: match has no id, path, label or owner",
		entry("{label: x, kind: dirs}", ""): `x.yaml:2: exceptions[0].match.kind: "dirs" is no kind; the nearest is "dir"`,
		"exceptions:\n- match: {pth: ~/x, kind: dirs}\n  why:\n  who: ann\n": "x.yaml:2: exceptions[0].until is missing",
		entry("{lable: x}", ""):                              `x.yaml:2: unknown key "exceptions[0].match.lable"; the nearest is "exceptions[0].match.label"`,
		entry("{label: *x}", ""):                             "x.yaml:2: *x is an alias in YAML: put quotes around",
		entry("{label: '*'}", ""):                            "matches everything",
		entry("{label: '**'}", ""):                           "matches everything",
		entry("{owner: '?*'}", ""):                           "matches everything",
		entry("{path: '/*'}", ""):                            "matches everything",
		entry("{path: /, label: x}", ""):                     "matches everything",
		entry("{path: ~/**}", ""):                            "",
		entry("{path: '/**'}", ""):                           "matches everything",
		entry("{id: '**'}", ""):                              "matches everything",
		entry("{id: 'dir:**'}", ""):                          "",
		entry("{path: code/acme}", ""):                       `x.yaml:2: exceptions[0].match.path: "code/acme" does not begin with / or ~/`,
		entry("{path: '$HOME/acme'}", ""):                    "does not begin with / or ~/",
		entry("{path: ~ann/acme}", ""):                       "does not begin with / or ~/",
		entry("{path: /w/../x}", ""):                         "has . or ..",
		entry("{path: '/w/**/x'}", ""):                       "has ** before its end",
		entry("{path: '/w/a**'}", ""):                        "has ** before its end",
		entry("{label: 'a[b]'}", ""):                         `has one of []{}!\`,
		entry("{label: ''}", ""):                             "x.yaml:2: exceptions[0].match.label: it is empty",
		entry("{label: !!str x}", ""):                        "x.yaml:2: exceptions[0].match.label: a tag (!!str)",
		entry("&a {label: x}", ""):                           "x.yaml:2: exceptions[0].match: an anchor",
		entry("{label: x}", "    rules: []\n"):               "x.yaml:2: exceptions[0]: rules is no list of 1",
		entry("{label: x}", "    rules: reap.dirs.x\n"):      "x.yaml:6: exceptions[0].rules is the single value",
		entry("{label: x}", "    rules: [protect.live]\n"):   `x.yaml:6: exceptions[0].rules[0]: "protect.live" is no rule that reaps`,
		entry("{label: x}", "    rules: [reap.a, reap.a]\n"): "x.yaml:2: exceptions[0]: rules is no list of 1 to 50 rules, each once",
		entry("{label: x}", "    line: 3\n"):                 "x.yaml:6: exceptions[0].line: winnow policy bundle alone writes it",
		one + strings.TrimPrefix(one, "exceptions:\n"):       "x.yaml:6: exceptions[1]: the entry on line 2 keeps the same",
		strings.Repeat("#", 256<<10) + "\n" + one:            "x.yaml: it has 262",
		"exceptions:\n" + strings.Repeat("- {match: {label: x}, why: y, who: z, until: never}\n", 501): "exceptions has 501 entries, and 500 are the most",
	} {
		all, err := keep.ReadExceptions(keep.Source{File: "x.yaml"}, []byte(text))
		switch {
		case want == "" && (err != nil || len(all) != 1):
			t.Errorf("%.200q: %v", text, err)
		case want == "":
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%.200q: want %q, got %v", text, want, err)
		case len(all) != 0:
			t.Errorf("%.200q: it is refused, and %d of it are used", text, len(all))
		}
	}
}

func FuzzExceptions(f *testing.F) {
	f.Add([]byte(one))
	f.Add([]byte("exceptions: [{match: {path: ~/**}, why: y, who: z, until: 2026-12-01, rules: [reap.a]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := keep.ReadExceptions(keep.Source{File: "x.yaml"}, data)
		if err != nil && len(all) > 0 {
			t.Errorf("refused, and %d are used", len(all))
		}
		for _, e := range all {
			if e.Why == "" || e.Who == "" || e.Until == "" || e.Match.ID+e.Match.Path+e.Match.Label+e.Match.Owner == "" || (ends(t, e) == "") != (e.Until == snapshot.Never) {
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestAllMistakesOfAnExceptionAreSaid(t *testing.T) {
	t.Parallel()
	_, err := keep.ReadExceptions(keep.Source{File: "x.yaml"}, []byte("exceptions:\n- match: {lable: x, kind: dirs}\n  why:\n  until: soon\n"))
	for _, want := range []string{`match.kind: "dirs" is no kind`, `:2: unknown key "exceptions[0].match.lable"`, `:3: key "exceptions[0].why" has no value`, ":2: exceptions[0].who is missing", `:4: exceptions[0].until: "soon" is no time`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}
