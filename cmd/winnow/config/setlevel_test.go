package config

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestLevelledKeepsTheRest writes a level into files of every shape: the rule has it, and every other character is as it was.
func TestLevelledKeepsTheRest(t *testing.T) {
	t.Parallel()
	const made = "rules:\n  levels:\n    reap.dirs.mine: on\n"
	for _, c := range []struct{ in, want string }{
		{"", "version: 1\n\n" + made},
		{"# mine\n", "# mine\nversion: 1\n\n" + made},
		{"version: 1 # one\n\n# two\nact: {kinds: [dir]}", "version: 1 # one\n\n# two\nact: {kinds: [dir]}\n\n" + made},
		{"version: 1\nrules:\n    # how long\n    landed_after: 2d\n", "version: 1\nrules:\n    levels:\n      reap.dirs.mine: on\n    # how long\n    landed_after: 2d\n"},
		{"version: 1\nrules: {landed_after: 2d} # short\n", "version: 1\nrules: {levels: {reap.dirs.mine: on}, landed_after: 2d} # short\n"},
		{"version: 1\nrules: {}\n", "version: 1\nrules: {levels: {reap.dirs.mine: on}}\n"},
		{"version: 1\nrules:\n  levels: {} # none\n", "version: 1\nrules:\n  levels: {reap.dirs.mine: on} # none\n"},
		{"version: 1\nrules:\n  levels: {protect.young: {process: off}} # a\n", "version: 1\nrules:\n  levels: {reap.dirs.mine: on, protect.young: {process: off}} # a\n"},
		{"version: 1\nrules:\n  levels:\n    # a\n    reap.dirs.landed: off # b\n", "version: 1\nrules:\n  levels:\n    reap.dirs.mine: on\n    # a\n    reap.dirs.landed: off # b\n"},
		{"version: 1\nrules:\n  levels:\n    reap.dirs.mine:   observe # until May\n    reap.dirs.landed: off\n", "version: 1\nrules:\n  levels:\n    reap.dirs.mine:   on # until May\n    reap.dirs.landed: off\n"},
		{"version: 1\nrules: {levels: {reap.dirs.landed: off, reap.dirs.mine: 'observe'}}\n", "version: 1\nrules: {levels: {reap.dirs.landed: off, reap.dirs.mine: on}}\n"},
		{"version: 1\nrules:\n  levels:\n    reap.dirs.mine: {dir: observe} # a\n", "version: 1\nrules:\n  levels:\n    reap.dirs.mine: {dir: on} # a\n"},
		{"version: 1\nrules:\n  levels:\n    \"reap.dirs.mine\":\n      dir: \"ask\"\n", "version: 1\nrules:\n  levels:\n    \"reap.dirs.mine\":\n      dir: on\n"},
		{"version: 1\r\nrules:\r\n  levels:\r\n    reap.dirs.mine: ask\r\n", "version: 1\r\nrules:\r\n  levels:\r\n    reap.dirs.mine: on\r\n"},
	} {
		got, err := Levelled(c.in, "reap.dirs.mine", "on")
		if err != nil || got != c.want {
			t.Errorf("%q: %v\n got %q\nwant %q", c.in, err, got, c.want)
		}
	}
}

// TestLevelledRefusesWhatItCannotWrite holds that a file of another shape is left for a person.
func TestLevelledRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"version: 1\nrules: 3\n", "version: 1\nrules:\n", "version: 1\nrules:\n  levels: x\n", "version: 1\nrules:\n  levels:\n", "{version: 1}\n", "version: [1\n",
		"version: 1\nrules:\n  levels:\n    reap.dirs.mine: [a]\n", "version: 1\nrules:\n  levels:\n    reap.dirs.mine: |\n      off\n",
		"version: 1\nrules:\n  levels: {a: b, é: c, reap.dirs.mine: 'x\n      y'}\n",
	} {
		got, err := Levelled(in, "reap.dirs.mine", "on")
		if err == nil {
			t.Errorf("%q became %q", in, got)
		}
		if strings.HasPrefix(in, "version: 1\nrules:\n  levels") && !errors.Is(err, ErrByHand) && !strings.Contains(err.Error(), "read the file") {
			t.Errorf("%q: %v; want %v", in, err, ErrByHand)
		}
	}
}

// FuzzLevelled holds of any file that what is written has the level, and says nothing else otherwise.
func FuzzLevelled(f *testing.F) {
	f.Add("version: 1\nrules:\n  levels: {reap.dirs.mine: off, b: {dir: ask}}\n")
	f.Add("rules:\n  levels:\n    'reap.dirs.mine':\n      dir: observe # x\n  é: 1\n")
	f.Add("rules: {é: {reap.dirs.mine: on}, levels: {é: off, reap.dirs.mine: on}}")
	f.Fuzz(func(t *testing.T, data string) {
		out, err := Levelled(data, "reap.dirs.mine", "ask")
		if err != nil {
			return
		}
		levels, err := levelsOf(out)
		if err != nil || levels["reap.dirs.mine"] != "ask" {
			t.Fatalf("%q gave %q, with %q, %v", data, out, levels, err)
		}
		var doc any
		if err := yaml.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
	})
}
