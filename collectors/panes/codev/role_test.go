package codev

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for spelling, want := range map[string]string{
		"builder-pir-883":             "builder-pir-883",
		"builder-pir-0883":            "builder-pir-883",
		"BUILDER-Pir-883":             "builder-pir-883",
		"builder-builder-pir-883":     "builder-pir-883",
		"Builder-builder-PIR-000883 ": "builder-pir-883",
		"dev-builder-pir-883":         "builder-pir-883",
		"builder-task-AbCd":           "builder-task-abcd",
		"builder-task-0a1":            "builder-task-0a1",
		"builder-spec-0":              "builder-spec-0",
		"builder-spec-000":            "builder-spec-0",
		"worktree-X":                  "worktree-x",
		"builder-worktree-x":          "worktree-x",
		"dev-worktree-x":              "worktree-x",
		"dev-tools":                   "dev-tools",
		"shell-1":                     "shell-1",
		"main":                        "main",
		"":                            "",
	} {
		if got := Normal(spelling); got != want {
			t.Errorf("%q is %q, want %q", spelling, got, want)
		}
	}
	for _, pair := range [][2]string{
		{"builder-pir-883", "builder-pir-88"}, {"builder-pir-883", "builder-pir-8830"}, {"builder-pir-1", "builder-bugfix-1"},
		{"builder-task-abcd", "worktree-abcd"}, {"builder-pir-0", "builder-pir"},
	} {
		if key(pair[0]) == key(pair[1]) {
			t.Errorf("%v are one", pair)
		}
	}
}

// Every way in which Codev itself writes a builder's id is the same key.
func FuzzNormal(f *testing.F) {
	for _, seed := range []string{"pir-883", "task-AbCd", "0126", "bugfix-000", "x", "builder-", "dev-builder-", "--0", "İ-00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		role := "builder-" + id
		want := Normal(role)
		if Normal(want) != want {
			t.Errorf("%q is %q, and that %q", role, want, Normal(want))
		}
		if key(want) != key(role) {
			t.Errorf("%q is found as %q", role, key(want))
		}
		for _, spelling := range []string{"builder-" + role, "dev-" + role, "builder-builder-" + role} {
			if Normal(spelling) != want || key(spelling) != key(role) {
				t.Errorf("%q is %q, %q is %q", spelling, Normal(spelling), role, want)
			}
		}
		if isASCII(id) && key(strings.ToUpper(role)) != key(role) {
			t.Errorf("%q in capitals is %q", role, key(strings.ToUpper(role)))
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"terminals":[{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922","pid":-1,"status":"running","lastDataAt":1795196884109.5}]}`,
		`{"candidates":[{"pid":5688,"rssKb":62468,"ageMs":118665.26220703125}],"graceMs":0}`, `{"version":"3.3.1"}`, `{"error":"STARTING_UP"}`, `null`, `[]`,
		`{"terminals":[{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922"},{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseTerminals(body)
		seen := map[string]bool{}
		for _, e := range entries {
			if err != nil || !terminalID.MatchString(e.ID) || seen[e.ID] || e.pid() < 0 {
				t.Errorf("gave %+v, %v", e, err)
			}
			seen[e.ID] = true
		}
		pids, err := parseHusks(body)
		for _, pid := range pids {
			if err != nil || pid <= 0 {
				t.Errorf("gave %d, %v", pid, err)
			}
		}
		if v, err := parseVersion(body); (v == "") != (err != nil) {
			t.Errorf("gave %q, %v", v, err)
		}
		word(body)
	})
}

// As worktreeNameToRoleId of Codev's overview.ts has it.
func TestRoleOfAFolder(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"pir-883-slug": "builder-pir-883", "PIR-0883": "builder-pir-883", "bugfix-799-fix-it": "builder-bugfix-799", "task-AbCd": "builder-task-abcd",
		"worktree-x1": "worktree-x1", "0003-feature": "", "x": "", "": "", ".": "", "-7": "", "pir_7": "",
	} {
		if got := roleOf(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	const marker = "/usr/lib/codev/shellper-main.js"
	for name, tc := range map[string]struct {
		argv []string
		want command
	}{
		"a shellper": {[]string{"node", marker, `{"command":"x","socketPath":"/run/a/shellper-1.sock","env":{"A":"B"},"cols":80}`},
			command{known: true, shellper: true, socket: "/run/a/shellper-1.sock"}},
		"of another folder, for an architect": {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"CODEV_AGENT_FARM_DIR":"/farm","CODEV_ARCHITECT_NAME":"main"}}`},
			command{known: true, shellper: true, socket: "/r/s.sock", farm: "/farm", architect: "main"}},
		"its environment names a socket": {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"SSH_AUTH_SOCK":"/r2/s.sock"}}`},
			command{known: true, shellper: true, socket: "/r/s.sock"}},
		"where it starts its program": {[]string{"node", marker, `{"cwd":"/w/.builders/x/","env":{"cwd":"/y"},"socketPath":"/r/s.sock"}`},
			command{known: true, shellper: true, socket: "/r/s.sock", cwd: "/w/.builders/x"}},
		"a folder that counts from another": {[]string{"node", marker, `{"cwd":"x","socketPath":"/r/s.sock"}`},
			command{known: true, shellper: true, socket: "/r/s.sock"}},
		"two folders":             {[]string{"node", marker, `{"cwd":"/a"}`, `{"cwd":"/b"}`}, command{shellper: true}},
		"two sockets":             {[]string{"node", marker, `{"a":"/r/s.sock","b":"/r2/s.sock"}`}, command{shellper: true}},
		"a socket as an argument": {[]string{"node", marker, "/r/s.sock"}, command{known: true, shellper: true, socket: "/r/s.sock"}},
		"cut short":               {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"A`}, command{shellper: true}},
		"no socket":               {[]string{"node", marker, `{}`}, command{known: true, shellper: true}},
		"nothing more":            {[]string{"node", marker}, command{known: true, shellper: true}},
		"another program":         {[]string{"grep", "shellper-main.jsx", "/r/s.sock"}, command{known: true}},
		"a folder of that name":   {[]string{"ls", "/shellper-main.js/x"}, command{known: true}},
		"an environment of text":  {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"CODEV_AGENT_FARM_DIR":7}}`}, command{shellper: true}},
		"nothing can be read":     {nil, command{}},
		"an empty one":            {[]string{""}, command{known: true}},
	} {
		text := strings.Join(tc.argv, "\x00")
		if tc.argv != nil {
			text += "\x00"
		}
		if got := parseCommand([]byte(text)); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add([]byte("node\x00shellper-main.js\x00{\"socketPath\":\"/r/s.sock\",\"env\":{\"CODEV_AGENT_FARM_DIR\":\"/x\"}}\x00"))
	f.Add([]byte("\x00\x00shellper-main.js"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := parseCommand(text)
		if (c.socket != "" || c.cwd != "" || c.farm != "" || c.architect != "") && (!c.shellper || !c.known) {
			t.Errorf("gave %+v", c)
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("1 (a) b) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 42 1 1"))
	f.Add([]byte(") Z"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if ticks, err := started(text); err != nil && ticks != 0 {
			t.Errorf("gave %d, %v", ticks, err)
		}
	})
}
