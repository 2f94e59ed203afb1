package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// slips are mistakes that a person makes in a file, each with what the message says. Every one also protects a path, which must never
// be lost.
var slips = []struct{ name, text, says string }{
	{"a tab", "version: 1\nrules:\n\tprotected: [/keep]\n", ":3: found character that cannot start any token"},
	{"a list that does not end", "version: 1\nrules: {protected: [/keep}\n", "did not find expected ',' or ']'"},
	{"a section that does not end", "version: 1\nrules: {protected: [/keep]\n", "did not find expected ',' or '}'"},
	{"a quote that does not end", "version: 1\nrules: {protected: ['/keep]}\n", "unexpected end of stream"},
	{"an indent too much", "version: 1\nrules:\n  protected: [/keep]\n   grace: {dir: 1h}\n", "did not find expected key"},
	{"an indent too few", "version: 1\nrules:\nprotected: [/keep]\n", `:2: key "rules" has no value`},
	{"a section's key at the top", "version: 1\nprotected: [/keep]\n", `:2: unknown key "protected"; the nearest is "rules.protected"`},
	{"no colon", "version: 1\nrules\n  protected: [/keep]\n", "could not find expected ':'"},
	{"version misspelt", "versoin: 1\nrules: {protected: [/keep]}\n", `:1: unknown key "versoin"; the nearest is "version"`},
	{"version missing", "rules: {protected: [/keep]}\n", "version is missing: a file of Winnow begins with version: 1"},
	{"version of another program", "version: 2\nrules: {protected: [/keep]}\n", "version is 2; this program reads version 1"},
	{"version as a text", "version: \"1\"\nrules: {protected: [/keep]}\n", `:1: version: it is "1"; it wants a whole number`},
	{"version as a fraction", "version: 1.0\nrules: {protected: [/keep]}\n", `version: it is "1.0"; it wants a whole number`},
	{"a section misspelt", "version: 1\ncolect: {timeout: 1s}\nrules: {protected: [/keep]}\n", `:2: unknown key "colect"; the nearest is "collect"`},
	{"a section in capitals", "version: 1\nRules: {protected: [/keep]}\n", `:2: unknown key "Rules"; the nearest is "rules"`},
	{"a key in capitals", "version: 1\nrules: {Protected: [/keep]}\n", `unknown key "rules.Protected"; the nearest is "rules.protected"`},
	{"all in capitals", "VERSION: 1\nrules: {protected: [/keep]}\n", `unknown key "VERSION"; the nearest is "version"`},
	{"a key misspelt", "version: 1\nrules:\n  protcted: [/keep]\n", `:3: unknown key "rules.protcted"; the nearest is "rules.protected"`},
	{"a section in a section misspelt", "version: 1\nrules: {runawy: {min_cpu: 1}, protected: [/keep]}\n", `unknown key "rules.runawy"; the nearest is "rules.runaway"`},
	{"a key three levels down misspelt", "version: 1\nrules: {protected: [/keep], runaway: {min_cp: 1}}\n", `unknown key "rules.runaway.min_cp"; the nearest is "rules.runaway.min_cpu"`},
	{"a key with dots", "version: 1\nrules.protected: [/keep]\n", `unknown key "rules.protected"; the nearest is "rules.protected"`},
	{"a hyphen for an underscore", "version: 1\nrules: {protected: [/keep], confirm-after: 30s}\n", `the nearest is "rules.confirm_after"`},
	{"a key of a list's item misspelt", "version: 1\nrules: {protected: [/keep]}\ncollect: {spawns: [{nmae: x, format: json, path: /x}]}\n", `:3: unknown key "collect.spawns[0].nmae"; the nearest is "collect.spawns[0].name"`},
	{"a section alone", "version: 1\nrules: {protected: [/keep]}\nalarms:\n", `:3: key "alarms" has no value`},
	{"a key alone", "version: 1\nrules:\n  protected:\n", `:3: key "rules.protected" has no value`},
	{"a tilde for a value", "version: 1\nrules: {protected: ~}\n", `key "rules.protected" has no value`},
	{"a tilde in a list", "version: 1\nrules: {protected: [/keep, ~]}\n", `key "rules.protected[1]" has no value`},
	{"an empty text in a list", "version: 1\nrules: {protected: [/keep, '']}\n", "rules.protected[1] is an empty text"},
	{"a list for a section", "version: 1\nrules: {protected: [/keep]}\nact: [dir]\n", ":3: act is a list; it wants keys of its own, such as caps"},
	{"a list for policies", "version: 1\nrules: {protected: [/keep]}\npolicy: [mine]\n", "policy is a list; it wants keys of its own"},
	{"a value for a section", "version: 1\nrules: {protected: [/keep], grace: 1h}\n", `rules.grace is the single value "1h"; it wants keys of its own, such as dir`},
	{"a list of sections", "version: 1\nrules: [{protected: [/keep]}]\n", ":2: rules is a list; it wants keys of its own"},
	{"keys as a list", "version: 1\nrules:\n  - protected: [/keep]\n", "rules is a list; it wants keys of its own"},
	{"a list of everything", "- version: 1\n- rules: {protected: [/keep]}\n", "the file is a list; it wants keys and values"},
	{"a text alone", "winnow\n", `the file is the single value "winnow"`},
	{"a value for a list", "version: 1\nrules: {protected: /keep}\n", `rules.protected is the single value "/keep"; it wants a list: [/keep]`},
	{"a section for a list", "version: 1\nrules: {protected: {/keep: true}}\n", "rules.protected is a section with keys; it wants a list"},
	{"a list in a list", "version: 1\nrules: {protected: [[/keep]]}\n", "rules.protected[0]: it is a list; it wants a text"},
	{"a number in a list of texts", "version: 1\nrules: {protected: [/keep, 12]}\n", `rules.protected[1]: it is "12"; it wants a text: put quotes around it`},
	{"a key twice", "version: 1\nrules: {protected: [/keep]}\nrules: {confirm_after: 1s}\n", `:3: key "rules" stands twice, on line 2 too`},
	{"a key twice in a section", "version: 1\nrules:\n  protected: [/keep]\n  protected: []\n", `:4: key "rules.protected" stands twice, on line 3 too`},
	{"two documents", "version: 1\nrules: {protected: [/keep]}\n---\nversion: 1\n", "a second document begins here"},
	{"a second document that cannot be read", "version: 1\n---\n\t[\n", "found character that cannot start any token"},
	{"an anchor", "version: 1\nrules: {protected: &p [/keep]}\n", "rules.protected: an anchor or its alias"},
	{"an alias", "version: 1\nx: &p [/keep]\nrules: {protected: *p}\n", "an anchor or its alias"},
	{"a merge", "version: 1\nrules: {<<: {protected: [/keep]}}\n", "rules: an anchor, its alias or a merge"},
	{"a tag", "version: 1\nrules: {protected: !!set [/keep]}\n", "rules.protected: a tag (!!set)"},
	{"a key that is no text", "version: 1\nrules: {protected: [/keep]}\n1: 2\n", "a key that is no plain text"},
	{"a byte order mark", "\ufeffversion: 1\nrules: {protected: [/keep]}\n", "byte order mark"},
	{"UTF-16", "\xff\xfev\x00e\x00r\x00", "not UTF-8"},
	{"an empty file", "", "it is empty"},
	{"spaces alone", " \n\n", "it is empty"},
	{"comments alone", "# version: 1\n", "it has comments only"},
	{"a document without anything", "---\n...\n", "it has comments only"},
	{"a malformed glob", "version: 1\nrules: {protected: ['/keep/[']}\n", `rules.protected: "/keep/[" is no pattern`},
	{"a path that begins nowhere", "version: 1\nrules: {protected: [./keep]}\n", `rules.protected: "./keep" is a path that does not begin at the root`},
	{"a database without a column", "version: 1\ncollect: {dirs: {projects: [{tool: x, path: /x.db, format: sqlite, at: project}]}}\n", `at of x is "project"; a database wants its table and the column: project.worktree`},
	{"a path in another user's home", "version: 1\nrules: {protected: [~bob/keep]}\n", `rules.protected: "~bob/keep" is in another user's home`},
	{"a malformed glob of a process", "version: 1\nrules: {protected: [/keep], never_processes: ['{git']}\n", `rules.never_processes: "{git" is no pattern`},
	{"a malformed glob of what is rebuilt", "version: 1\nrules: {protected: [/keep], rebuildable: ['[']}\n", `rules.rebuildable: "[" is no pattern`},
	{"a mark of any name", "version: 1\nrules: {protected: [/keep], makers: [{maker: x, names: [dist], marks: ['*']}]}\n", `rules.makers: "*" of x is any name`},
	{"a mark for folders of any name", "version: 1\nrules: {protected: [/keep], makers: [{maker: x, marks: [mine]}]}\n", `rules.makers: x wants names of folders that it makes`},
	{"a name that people use, without a mark", "version: 1\nrules: {protected: [/keep], rebuildable: [bin], makers: []}\n", `rules.rebuildable: people use the name "bin" too`},
	{"a malformed expression", "version: 1\nrules: {protected: [/keep], disposable_dirs: ['(']}\n", `:2: rules.disposable_dirs: "(" is no regular expression: error parsing regexp`},
	{"a family of everything", "version: 1\nrules: {protected: [/keep], families: [{family: x, scripts: ['*']}]}\n", `rules.families: "*" of x matches everything`},
	{"a family of nothing", "version: 1\nrules: {protected: [/keep], families: [{family: x}]}\n", `rules.families: "x"; it wants`},
	{"a family without a word", "version: 1\nrules: {protected: [/keep], families: [{scripts: [x]}]}\n", `rules.families: ""; it wants`},
	{"a slip in a family", "version: 1\nrules: {protected: [/keep], families: [{family: x, script: [x]}]}\n", `unknown key`},
	{"a daemon without a word", "version: 1\nrules: {protected: [/keep], personal_daemons: [{name: x}]}\n", `rules.personal_daemons: "x" is ""`},
	{"a socket of everything", "version: 1\nrules: {protected: [/keep], own_sockets: ['*/*']}\n", `rules.own_sockets: "*/*" matches everything`},
	{"a marker without a format", "version: 1\nrules: {protected: [/keep], marker_records: [{marker: X}]}\n", `rules.marker_records: "X" with format ""`},
	{"a duration without a unit", "version: 1\nrules: {protected: [/keep], landed_after: 30}\n", "rules.landed_after: 30 has no unit: write 30s, 30m or 30h"},
	{"a duration of weeks", "version: 1\nrules: {protected: [/keep], landed_after: 2w}\n", `rules.landed_after: "2w" is no duration: write 90s, 15m, 48h or 2d`},
	{"a duration before it began", "version: 1\nrules: {protected: [/keep], landed_after: -2h}\n", "rules.landed_after: -2h is negative"},
	{"a duration of ages", "version: 1\nrules: {protected: [/keep], landed_after: 999999999d}\n", "is no duration"},
	{"a duration that is a list", "version: 1\nrules: {protected: [/keep], landed_after: [2h]}\n", "rules.landed_after: it wants a duration"},
	{"yes for true", "version: 1\nrules: {protected: [/keep], spare_listeners: yes}\n", `rules.spare_listeners: it is "yes"; it wants true or false`},
	{"a text for a number", "version: 1\nrules: {protected: [/keep]}\nact: {caps: {per_sweep: many}}\n", `:3: act.caps.per_sweep: it is "many"; it wants a whole number`},
	{"a fraction of a count", "version: 1\nrules: {protected: [/keep]}\nact: {caps: {per_sweep: 1.5}}\n", "it wants a whole number"},
	{"a share that is no number", "version: 1\nrules: {protected: [/keep]}\nact: {caps: {share: .nan}}\n", "act.caps.share: it is \".nan\"; it wants a number"},
	{"a share of percent", "version: 1\nrules: {protected: [/keep]}\nact: {caps: {share: 50%}}\n", "it wants a number"},
	{"a share above all", "version: 1\nrules: {protected: [/keep]}\nact: {caps: {share: 50}}\n", "act.caps.share is 50"},
	{"a memory below nothing", "version: 1\nrules: {protected: [/keep]}\npolicy: {memory: -1}\n", "a whole number that is not negative"},
	{"an unknown kind", "version: 1\nrules: {protected: [/keep]}\nact: {kinds: [dirs]}\n", `act.kinds: unknown kind "dirs"; the nearest is "dir"`},
	{"a variable that is not allowed", "version: 1\nrules: {protected: [$PROJECT/keep]}\n", "$PROJECT is not a variable that a path may have: $HOME, $USER, $TMPDIR and $XDG_* are"},
	{"a marker of an unknown sort", "version: 1\ncollect: {processes: {markers: [{name: MINE, value: sesion}]}}\n", `the value of MINE is "sesion"; it is session, pid, flag or pane; the nearest is "session"`},
	{"a marker without a name", "version: 1\ncollect: {processes: {markers: [{value: session}]}}\n", `collect.processes.markers: "" is no name of a variable`},
	{"a key of a marker", "version: 1\ncollect: {processes: {markers: [{name: MINE, sort: pid}]}}\n", `unknown key "collect.processes.markers[0].sort"`},
	{"markers in another place", "version: 1\nrules: {markers: [{name: MINE, value: pid}]}\n", "they are described in collect.processes.markers"},
	{"metrics for everybody", "version: 1\nrun: {metrics: {listen: '0.0.0.0:9479'}}\n", "can be reached by others: give a token_file"},
	{"metrics by a name", "version: 1\nrun: {metrics: {listen: 'host.example:9479'}}\n", "can be reached by others: give a token_file"},
	{"metrics on all addresses", "version: 1\nrun: {metrics: {listen: ':9479'}}\n", "can be reached by others: give a token_file"},
	{"metrics without a port", "version: 1\nrun: {metrics: {listen: 127.0.0.1}}\n", "it wants an address such as 127.0.0.1:9479"},
	{"metrics at any port", "version: 1\nrun: {metrics: {listen: '127.0.0.1:0'}}\n", "nobody would find a port that changes"},
	{"metrics on a socket somewhere", "version: 1\nrun: {metrics: {listen: 'unix:metrics.sock'}}\n", "it wants the whole path of a socket"},
	{"a token for nothing", "version: 1\nrun: {metrics: {token_file: /t}}\n", "no address in listen"},
	{"a certificate without a key", "version: 1\nrun: {metrics: {listen: '127.0.0.1:9479', cert_file: /c}}\n", "cert_file and key_file go together"},
	{"an empty path", "version: 1\nstate: ''\nrules: {protected: [/keep]}\n", `state: path "": is empty`},
}

// TestASlipIsAnError wants of each slip that nothing is loaded, that the exit is the one for wrong use, and that the message says where
// and what.
func TestASlipIsAnError(t *testing.T) {
	t.Parallel()
	for _, s := range slips {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, s.text)
			c, err := Load(file, nil)
			switch {
			case err == nil:
				t.Fatalf("it was loaded; protected is %q", c.Rules.Protected)
			case c != nil:
				t.Error("a configuration came with the error")
			case !errors.As(err, new(UsageError)):
				t.Errorf("the exit is not that for wrong use: %v", err)
			case !strings.Contains(err.Error(), s.says) || !strings.Contains(err.Error(), file):
				t.Errorf("want %q about %s, got %q", s.says, file, err)
			}
		})
	}
	if len(slips) < 40 {
		t.Errorf("%d slips, want 40 or more", len(slips))
	}
}

// TestAGoodFileLoads holds that strictness refuses nothing that is well written.
func TestAGoodFileLoads(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"the defaults":           string(winnow.DefaultConfig),
		"the version alone":      "version: 1\n",
		"a document's marks":     "---\nversion: 1\nrules: {protected: [/keep]}\n...\n",
		"carriage returns":       "version: 1\r\nrules:\r\n  protected:\r\n    - /keep\r\n",
		"comments and quotes":    "# mine\nversion: 1 # one\n\"rules\": {'protected': ['/keep', \"/keep\"]}\n",
		"lists in lines":         "version: 1\nrules:\n  protected:\n  - /keep\n  session_names:\n    prefix: [worker-]\n",
		"a zero":                 "version: 1\nrules: {grace: {dir: 0}}\nact: {trash_ttl: 0s}\n",
		"a folded text":          "version: 1\nrules:\n  protected:\n    - >-\n      /keep\n",
		"fields of a registry":   "version: 1\ncollect: {registry: [{name: k, format: kapi, path: /x, fields: {id: slug}}]}\n",
		"variables":              "version: 1\nstate: $HOME/state\nrules: {protected: [~/keep, $HOME/x, worker-*, 'dir:/w/*']}\n",
		"whole numbers as share": "version: 1\nact: {caps: {share: 1}}\nrules: {runaway: {min_cpu: 1}}\n",
	} {
		c, err := Load(write(t, text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(text, "protected: [/keep") && !slices.Contains(c.Rules.Protected, "/keep") {
			t.Errorf("%s: protected is %q", name, c.Rules.Protected)
		}
	}
}

// TestMarkersSayWhatTheirValueIs: by themselves, by what the defaults say of the name, or by the lists of identifying markers.
func TestMarkersSayWhatTheirValueIs(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, `version: 1
collect: {processes: {markers: [CLAUDE_PID, CLAUDECODE, {name: MINE, value: session, agent: me, since: "2"}, {name: NUMBER, value: pid}, RECORDED, IDENTIFYING, ELSE, TMUX, {name: PLACE, value: pane}]}}
rules: {id_markers: [IDENTIFYING], marker_records: [{marker: RECORDED, format: json}]}
`), nil)
	must.Do(t, err)
	want := subject.Markers{
		{Name: "CLAUDE_PID", Value: "pid", Agent: "claude", Since: "2.1.214"}, {Name: "CLAUDECODE", Value: "flag", Agent: "claude"},
		{Name: "MINE", Value: "session", Agent: "me", Since: "2"}, {Name: "NUMBER", Value: "pid"}, {Name: "RECORDED", Value: "session"},
		{Name: "IDENTIFYING", Value: "session"}, {Name: "ELSE", Value: "flag"},
	}
	if !slices.Equal(c.Rules.Markers, want) {
		t.Errorf("markers %+v, want %+v", c.Rules.Markers, want)
	}
	if !slices.Equal(c.Rules.PIDMarkers, []string{"CLAUDE_PID", "NUMBER"}) || !slices.Contains(c.Rules.PaneMarkers, "PLACE") {
		t.Errorf("pid markers %q, pane markers %q", c.Rules.PIDMarkers, c.Rules.PaneMarkers)
	}
	if want := []string{"CLAUDE_PID", "CLAUDECODE", "MINE", "NUMBER", "RECORDED", "IDENTIFYING", "ELSE", "TMUX", "PLACE"}; !slices.Equal(c.MarkerNames(), want) {
		t.Errorf("%q are read, want %q", c.MarkerNames(), want)
	}
	fromEnv, err := Load("", []string{"WINNOW_COLLECT_PROCESSES_MARKERS=CLAUDE_PID,MINE"})
	if err != nil || !slices.Equal(fromEnv.MarkerNames(), []string{"CLAUDE_PID", "MINE"}) {
		t.Errorf("from the environment: %v", err)
	}
}

// TestAttackThousandsOfMistakes holds that a file which is wrong all over is refused as quickly as another.
func TestAttackThousandsOfMistakes(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a configuration with tens of thousands of unknown keys")
	for _, section := range []string{"", "rules:\n  ", "act:\n  caps:\n    "} {
		var b strings.Builder
		b.WriteString("version: 1\n" + section)
		for i := 0; b.Len() < MaxFile-100; i++ {
			fmt.Fprintf(&b, "k%d: 1\n%s", i, strings.Repeat(" ", len(section)-strings.LastIndexByte(section, '\n')-1))
		}
		began := time.Now()
		_, err := Load(write(t, strings.TrimRight(b.String(), " ")), nil)
		if took := time.Since(began); err == nil || took > wait.Patience {
			a.Lost("%q: %s, %v", section, took, err)
			continue
		}
		a.Held()
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"2d": 172800, "1d12h": 129600, "0.5d": 43200, "0d": 0, "48h": 172800} {
		c, err := Load(write(t, "version: 1\nrules: {landed_after: "+text+"}\nact: {trash_ttl: "+text+"}\n"), nil)
		if err != nil || c.Rules.LandedAfter != want || c.Act.TrashTTL.Seconds() != want {
			t.Errorf("%s: want %v seconds, got %+v, %v", text, want, c, err)
		}
	}
}

// TestTheEnvironmentIsHeldToTheSame wants of a value that comes from a variable what is wanted of one in the file.
func TestTheEnvironmentIsHeldToTheSame(t *testing.T) {
	t.Parallel()
	file := write(t, "version: 1\nrules: {protected: [/keep]}\n")
	for env, says := range map[string]string{
		"WINNOW_RULES_PROTECTED=[":               "is no pattern",
		"WINNOW_RULES_PROTECTED=/a,,/b":          "rules.protected has an empty text in it",
		"WINNOW_RULES_PROTECTED=./a":             "does not begin at the root",
		"WINNOW_RULES_PROTECTED=$PROJECT/a":      "$PROJECT is not a variable that a path may have",
		"WINNOW_RULES_DISPOSABLE_DIRS=(":         "WINNOW_RULES_DISPOSABLE_DIRS: rules.disposable_dirs: \"(\" is no regular expression",
		"WINNOW_RULES_LANDED_AFTER=30":           "is no duration",
		"WINNOW_ACT_CAPS_SHARE=NaN":              "act.caps.share is NaN",
		"WINNOW_ACT_CAPS_PER_SWEEP=many":         "WINNOW_ACT_CAPS_PER_SWEEP: ",
		"WINNOW_STATE=$PROJECT":                  "$PROJECT is not a variable that a path may have",
		"WINNOW_COLLECT_SPAWNS=x":                "spawns",
		"WINNOW_COLLECT_DIRS_ROOTS=/a,$NO_SUCH/": "$NO_SUCH is not a variable",
		"WINNOW_ACT_KINDS=dirs":                  `unknown kind "dirs"`,
	} {
		if c, err := Load(file, []string{env}); err == nil || c != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", env, says, err)
		}
	}
	c, err := Load(file, []string{"WINNOW_RULES_PROTECTED=/a,/b", "WINNOW_RULES_LANDED_AFTER=2d"})
	if err != nil || !reflect.DeepEqual(c.Rules.Protected, []string{"/a", "/b"}) || c.Rules.LandedAfter != 172800 {
		t.Errorf("a good list and a good duration: %+v, %v", c, err)
	}
	if got := UnknownEnv([]string{"WINNOW_RULES_PROTECTD=/a"}, nil); len(got) != 1 || !strings.Contains(got[0], "WINNOW_RULES_PROTECTED") {
		t.Errorf("a variable that is misspelt: %q", got)
	}
}

// TestAPathCountsFromItsFile holds that the working folder never completes a path of the operator's file.
func TestAPathCountsFromItsFile(t *testing.T) {
	t.Parallel()
	file := write(t, "version: 1\nstate: state\npolicy: {paths: [policies]}\ncollect: {dirs: {roots: [wt]}}\n")
	c := must.Get(Load(file, nil))(t)
	dir := filepath.Dir(file)
	for _, got := range []string{c.State, c.Policy.Paths[0], c.Collect.Dirs.Roots[0]} {
		if filepath.Dir(got) != dir {
			t.Errorf("%s lies elsewhere than %s", got, dir)
		}
	}
}

func TestVariablesThatAreNoPlaceAreRefused(t *testing.T) {
	for _, env := range [][2]string{{"HOME", "clone"}, {"TMPDIR", "."}, {"XDG_RUNTIME_DIR", "run"}, {"USER", "../x"}, {"XDG_NO_SUCH", ""}} {
		t.Setenv(env[0], env[1])
		if p, err := Path("$" + env[0] + "/x"); err == nil {
			t.Errorf("$%s of %q gave %s", env[0], env[1], p)
		}
	}
	if p, err := Path("~/x"); err == nil {
		t.Errorf("~ with a home of clone gave %s", p)
	}
}

func write(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestTheStateFolderFollowsXDG holds where the state folder is: below $XDG_STATE_HOME, below ~/.local/state where that is not set or not
// absolute, and where the only ledger is that an earlier run left.
func TestTheStateFolderFollowsXDG(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	older, newer := filepath.Join(home, ".local/state/winnow"), filepath.Join(xdg, "winnow")
	t.Setenv("HOME", home)
	file := write(t, "version: 1\n")
	state := func(value string) string {
		t.Helper()
		t.Setenv("XDG_STATE_HOME", value)
		c := must.Get(Load(file, nil))(t)
		return c.State
	}
	ledger := func(dir string) {
		t.Helper()
		must.Do(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "ledger.db"), nil, 0o600)))
	}
	for value, want := range map[string]string{"": older, "state": older, xdg: newer} {
		if got := state(value); got != want {
			t.Errorf("XDG_STATE_HOME=%q: %s, want %s", value, got, want)
		}
	}
	ledger(older)
	if got := state(xdg); got != older {
		t.Errorf("a ledger is in %s alone, and %s is used", older, got)
	}
	named := write(t, "version: 1\nstate: "+newer+"\n")
	if c, err := Load(named, nil); err != nil || c.State != newer {
		t.Errorf("a folder that the file names: %+v, %v", c, err)
	}
	ledger(newer)
	if got := state(xdg); got != newer {
		t.Errorf("both have a ledger, and %s is used", got)
	}
}
