package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestLevelsAreRead holds what becomes of each way to write a level, and that the rest of the file is read as ever.
func TestLevelsAreRead(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, `version: 1
rules:
  protected: [/keep]
  levels:
    reap.dirs.disposable: off
    reap.processes.Mine: {process: ask}
    reap.dirs.landed: on
    protect.young: {process: off, dir: on}
  confirm_after: 7s
`), nil)
	must.Do(t, err)
	want := []subject.RuleLevel{
		{Rule: "protect.young", Kind: "process", Level: "off"},
		{Rule: "reap.dirs.disposable", Kind: "dir", Level: "off"},
		{Rule: "reap.processes.Mine", Kind: "process", Level: "ask"},
	}
	if !reflect.DeepEqual(c.Rules.Levels, want) || c.Rules.ConfirmAfter != 7 || c.Rules.Protected[0] != "/keep" {
		t.Errorf("want %v, got %v of %+v", want, c.Rules.Levels, c.Rules)
	}
	var m UsageError
	if err := c.CheckLevels([]string{"protect.young", "reap.dirs.disposable", "reap.dirs.landed", "reap.processes.mine"}); !errors.As(err, &m) || !strings.Contains(err.Error(), `the nearest is "reap.processes.mine"`) {
		t.Errorf("a rule that was not loaded: %v", err)
	}
	if err := c.CheckLevels([]string{"protect.young", "reap.dirs.disposable", "reap.processes.Mine"}); !errors.As(err, &m) || !strings.Contains(err.Error(), `there is no rule "reap.dirs.landed"`) {
		t.Errorf("a rule that was not loaded, at on: %v", err)
	}
	all, err := Load(write(t, "version: 1\nrules: {levels: {protect.held: off}}\n"), nil)
	if err != nil || len(all.Rules.Levels) != 5 {
		t.Errorf("a rule for all kinds: %v, %v", all, err)
	}
}

// TestLevelsThatMeanNothingAreRefused wants the file, the line and the key of each mistake.
func TestLevelsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"    reap.dirs.landed: maybe\n":                              `:4: rules.levels.reap.dirs.landed: it is "maybe"; it wants one of on, ask, observe, off`,
		"    reap.dirs.landed: false\n":                              `:4: rules.levels.reap.dirs.landed: it is "false"; it wants`,
		"    reap.dirs.landed: [off]\n":                              ":4: rules.levels.reap.dirs.landed: it wants one of",
		"    reap.dirs.landed: {process: off}\n":                     ":4: rules.levels.reap.dirs.landed.process: \"process\" is no kind that the rule is about; it wants one of dir",
		"    reap.folders.landed: off\n":                             `:4: rules.levels.reap.folders.landed: "folders" is no folder under reap`,
		"    policy_error: off\n":                                    ":4: rules.levels.policy_error: it wants the name of a rule",
		"    reap.dirs.owner_ended: on\n    protect.held: observe\n": ":5: rules.levels.protect.held: a rule that protects cannot be at observe: write on or off",
		"    protect.held:\n      dir: ask\n":                        ":5: rules.levels.protect.held.dir: a rule that protects cannot be at ask",
		"    protect.held: {dir: off, dir: on}\n":                    ":4: rules.levels.protect.held.dir: it stands twice",
		"    protect.held: off\n    protect.held: on\n":              ":5: rules.levels.protect.held: it stands twice",
		"    protect.held: {folder: off}\n":                          ":4: rules.levels.protect.held.folder: \"folder\" is no kind",
		"    - reap.dirs.landed\n":                                   ":4: rules.levels: it wants rules and their levels",
	} {
		c, err := Load(write(t, "version: 1\nrules:\n  levels:\n"+text), nil)
		if err == nil || c != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: want %q, got %v", text, says, err)
		}
	}
	if _, err := Load(write(t, "version: 1\n"), []string{"WINNOW_RULES_LEVELS=x"}); err == nil || !strings.Contains(err.Error(), "write rules.levels in config.yaml") {
		t.Errorf("the environment: %v", err)
	}
}
