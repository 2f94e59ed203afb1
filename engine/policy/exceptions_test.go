package policy_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const one = `exceptions:
  - what: {label: x}
    why: y
    who: z
    until: never
`

func TestExceptionsAreRead(t *testing.T) {
	t.Parallel()
	all, err := policy.ReadExceptions("team", "team/exceptions.yaml", []byte(`# head
exceptions:
  - what: {id: "session:tmux/*/$4", path: ~/code/acme/, label: "release-*", owner: "ann-?", kind: session}
    why: the measurement
      runs
    who: ann
    until: 2026-12-01
  - {what: {path: /w/**}, why: "y", who: "7", until: 2026-12-01T10:00:00+02:00, rules: [reap.dirs.landed, reap.dirs.prunable]}
`))
	must.Do(t, err)
	must.Equal(t, 2, len(all), "entries")
	a, b := all[0], all[1]
	must.Equal(t, "~/code/acme", a.What.Path, "the path without its last slash")
	must.Equal(t, snapshot.KindSession, a.What.Kind, "kind")
	must.Equal(t, "the measurement runs", a.Why, "why, in one line")
	must.Equal(t, 3, a.Line, "line")
	must.Equal(t, "team", a.Tree, "tree")
	must.Equal(t, "2026-12-02T00:00:00Z", a.End.Format("2006-01-02T15:04:05Z07:00"), "a day is over at its end")
	must.Equal(t, "2026-12-01T08:00:00Z", b.End.Format("2006-01-02T15:04:05Z07:00"), "a time")
	must.Equal(t, "reap.dirs.landed reap.dirs.prunable", strings.Join(b.Rules, " "), "rules")
	all, err = policy.ReadExceptions("team", "exceptions.yaml", []byte(one))
	must.Do(t, err)
	if all[0].End != nil {
		t.Errorf("never ends at %v", all[0].End)
	}
	all, err = policy.ReadExceptions("team", "exceptions.yaml", []byte("exceptions: []\n"))
	must.Do(t, err)
	must.Equal(t, 0, len(all), "entries of an empty list")
}

// TestMistakesInExceptionsAreNamed has one mistake each, and wants the line and what is wrong.
func TestMistakesInExceptionsAreNamed(t *testing.T) {
	t.Parallel()
	entry := func(what, rest string) string {
		return "exceptions:\n  - what: " + what + "\n    why: y\n    who: z\n    until: never\n" + rest
	}
	for text, want := range map[string]string{
		"":                                 "x.yaml: nothing is in it",
		"# only\n":                         "x.yaml: nothing is in it",
		"{}\n":                             "x.yaml: it has no key exceptions",
		"- a\n":                            "x.yaml:1: the file is no section",
		"exceptions:\n":                    "x.yaml:1: exceptions has no value",
		"exceptions: {}\n":                 "x.yaml:1: exceptions is no list",
		"exception: []\n":                  `x.yaml:1: unknown key "exception": did you mean exceptions?`,
		"exceptions: []\nexceptions: []\n": `x.yaml:2: key "exceptions" stands twice, on line 1 too`,
		"exceptions: []\n---\na: 1\n":      "x.yaml:2: a second document begins here",
		"exceptions: [\n":                  "is not YAML",
		"exceptions:\n\t- a\n":             "x.yaml:2: it is not YAML",
		"exceptions:\n- \xff\n":            "not UTF-8",
		"exceptions:\n- label\n":           "x.yaml:2: an exception is no section",
		"exceptions:\n- what: {label: x}\n  why: y\n  who: z\n":             "x.yaml:2: an exception has no until: write a day",
		"exceptions:\n- what: {label: x}\n  who: y\n  until: never\n":       "x.yaml:2: an exception has no why",
		"exceptions:\n- what: {label: x}\n  why: y\n  until: never\n":       "x.yaml:2: an exception has no who",
		"exceptions:\n- why: y\n  who: z\n  until: never\n":                 "x.yaml:2: an exception has no what",
		strings.Replace(one, "never", "tomorrow", 1):                        `x.yaml:5: until: "tomorrow" is no time`,
		strings.Replace(one, "never", "2026-13-01", 1):                      "x.yaml:5: until:",
		strings.Replace(one, "never", "2026-12-01 10:00", 1):                "x.yaml:5: until:",
		strings.Replace(one, "never", "Never", 1):                           "x.yaml:5: until:",
		strings.Replace(one, "never", "~", 1):                               "x.yaml:5: until has no value",
		strings.Replace(one, "why: y", `why: " "`, 1):                       "x.yaml:3: why is empty",
		strings.Replace(one, "who: z", "who: [z]", 1):                       "x.yaml:4: who is no text",
		strings.Replace(one, "who: z", "who: 12", 1):                        "x.yaml:4: who is no text: put quotes around it",
		strings.Replace(one, "who: z", `who: "a\e[1m"`, 1):                  "x.yaml:4: who has a character that cannot be printed",
		strings.Replace(one, "why: y", "why: "+strings.Repeat("y", 501), 1): "x.yaml:3: why has 501 bytes",
		entry("{}", ""):                     "x.yaml:2: what has no id, path, label or owner",
		entry("{kind: dir}", ""):            "x.yaml:2: what has no id, path, label or owner",
		entry("{label: x, kind: dirs}", ""): `x.yaml:2: "dirs" is no kind: did you mean dir?`,
		"exceptions:\n- what: {pth: ~/x, kind: dirs}\n  why:\n  who: ann\n": "x.yaml:2: an exception has no until",
		entry("{lable: x}", ""):                              `x.yaml:2: unknown key "lable": did you mean label?`,
		entry("{label: *x}", ""):                             "x.yaml:2: it is not YAML: *x is an alias in YAML: put quotes around",
		entry("{label: '*'}", ""):                            "matches everything",
		entry("{label: '**'}", ""):                           "matches everything",
		entry("{owner: '?*'}", ""):                           "matches everything",
		entry("{path: '/*'}", ""):                            "matches everything",
		entry("{path: /, label: x}", ""):                     "matches everything",
		entry("{path: ~/**}", ""):                            "",
		entry("{path: '/**'}", ""):                           "matches everything",
		entry("{id: '**'}", ""):                              "matches everything",
		entry("{id: 'dir:**'}", ""):                          "",
		entry("{path: code/acme}", ""):                       `x.yaml:2: path: "code/acme" does not begin with / or ~/`,
		entry("{path: '$HOME/acme'}", ""):                    "does not begin with / or ~/",
		entry("{path: ~ann/acme}", ""):                       "does not begin with / or ~/",
		entry("{path: /w/../x}", ""):                         "has . or ..",
		entry("{path: '/w/**/x'}", ""):                       "has ** before its end",
		entry("{path: '/w/a**'}", ""):                        "has ** before its end",
		entry("{label: 'a[b]'}", ""):                         `has one of []{}!\`,
		entry("{label: ''}", ""):                             "x.yaml:2: label is empty",
		entry("{label: !!str x}", ""):                        "x.yaml:2: label has an anchor, an alias or a tag",
		entry("&a {label: x}", ""):                           "x.yaml:2: what has an anchor",
		entry("{label: x}", "    rules: []\n"):               "x.yaml:6: rules is no list of 1",
		entry("{label: x}", "    rules: reap.dirs.x\n"):      "x.yaml:6: rules is no list",
		entry("{label: x}", "    rules: [protect.live]\n"):   `x.yaml:6: "protect.live" is no rule that reaps`,
		entry("{label: x}", "    rules: [reap.a, reap.a]\n"): "x.yaml:6: reap.a stands twice",
		entry("{label: x}", "    line: 3\n"):                 `x.yaml:6: unknown key "line"`,
		one + strings.TrimPrefix(one, "exceptions:\n"):       "x.yaml:6: the exception of z on line 2 keeps the same",
		strings.Repeat("#", 256<<10) + "\n" + one:            "x.yaml: 262",
		"exceptions:\n" + strings.Repeat("- {what: {label: x}, why: y, who: z, until: never}\n", 501): "501 exceptions, and 500 are the most",
	} {
		all, err := policy.ReadExceptions("team", "x.yaml", []byte(text))
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
	f.Add([]byte("exceptions: [{what: {path: ~/**}, why: y, who: z, until: 2026-12-01, rules: [reap.a]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := policy.ReadExceptions("team", "x.yaml", data)
		if err != nil && len(all) > 0 {
			t.Errorf("refused, and %d are used", len(all))
		}
		for _, e := range all {
			if e.Why == "" || e.Who == "" || e.Until == "" || e.What.ID+e.What.Path+e.What.Label+e.What.Owner == "" || (e.End == nil) != (e.Until == policy.Never) {
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestAllMistakesOfAnExceptionAreSaid(t *testing.T) {
	t.Parallel()
	_, err := policy.ReadExceptions("team", "x.yaml", []byte("exceptions:\n- what: {lable: x, kind: dirs}\n  why:\n  until: soon\n"))
	for _, want := range []string{`:2: "dirs" is no kind`, `:2: unknown key "lable"`, ":3: why has no value", ":2: an exception has no who", `:4: until: "soon" is no time`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}

// TestExceptionsAreNeverPassedOver has files that may be meant for exceptions and are not read.
func TestExceptionsAreNeverPassedOver(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"exceptions.yml", "exceptions.json", "Exceptions.yaml", "exception.yaml", "sub/exceptions.yaml", "reap/dirs/x/exceptions.yaml", "exceptions.yaml/x.rego"} {
		tree := policy.Tree{Name: "mine", Prefix: "mine", FS: fstest.MapFS{name: {Data: []byte(one)}, "protect/x/x.rego": {Data: []byte("package policies.protect.x\n")}}}
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{tree}})
		if err == nil || !strings.Contains(err.Error(), "exceptions") {
			t.Errorf("%s: %v", name, err)
		}
	}
	hidden := policy.Tree{Name: "mine", Prefix: "mine", FS: fstest.MapFS{".x/exceptions.yaml": {Data: []byte(one)}, "exceptions.yaml": {Data: []byte(one)}}}
	s, err := policy.Read(t.Context(), policy.LoadOptions{Trees: []policy.Tree{hidden}})
	must.Do(t, err)
	must.Do(t, s.Err())
	must.Equal(t, 1, len(s.Exceptions()), "those at the top")
}

// TestExceptionsOfTwoTreesAreBothRead wants each under the name that its file has.
func TestExceptionsOfTwoTreesAreBothRead(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{policy.ExceptionsName: {Data: []byte(one)}}
	s, err := policy.Read(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "a", FS: files}, {Name: "b", FS: files}}})
	must.Do(t, err)
	must.Do(t, s.Err())
	all := s.Exceptions()
	must.Equal(t, 2, len(all), "exceptions")
	must.Equal(t, "exceptions.yaml b:exceptions.yaml", all[0].File+" "+all[1].File, "files")
	must.Equal(t, "a b", all[0].Tree+" "+all[1].Tree, "trees")
}
