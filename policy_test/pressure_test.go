package policy_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// shortOfAll is a machine that is short of everything.
var shortOfAll = map[string]any{"memory_some": 1.0, "memory_full": 1.0, "io_some": 1.0, "io_full": 1.0, "disk_free": 0.0, "inodes_free": 0.0}

// under puts a pressure into a world; nil takes it away.
func under(world document, pressure map[string]any) document {
	out := maps.Clone(world)
	host, _ := out["host"].(map[string]any)
	host = maps.Clone(host)
	if delete(host, "pressure"); pressure != nil {
		host["pressure"] = pressure
	}
	out["host"] = host
	return out
}

// TestPressureChangesNoVerdict: by the shipped rules a machine that is short of everything keeps, in the world of every case, what one keeps that is short of nothing.
func TestPressureChangesNoVerdict(t *testing.T) {
	stage.NeedSecond(t, "thousands of worlds are decided")
	if attack.Raced {
		t.Skip("hundreds of worlds, in which nothing runs beside anything: without the race detector, as .ci/run does")
	}
	t.Parallel()
	e := shipped(t)
	for name, c := range cases(t) {
		config, world := configOf(t, c), worldOf(t, c)
		if diff := cmp.Diff(decide(t, e, config, under(world, nil)), decide(t, e, config, under(world, shortOfAll))); diff != "" {
			t.Errorf("%s (-calm +short):\n%s", name, diff)
		}
	}
}

// TestARuleOfOnesOwnAsksForPressure is the rule of docs/guides/run-it.md: it fires while a disk is nearly full, not while it is half full, not where that is not known, and an objection
// counts all the same.
func TestARuleOfOnesOwnAsksForPressure(t *testing.T) {
	t.Parallel()
	dir := written(t, "../docs/guides/run-it.md")
	e := shipped(t, policy.Tree{Name: "mine", FS: os.DirFS(dir), Prefix: dir})
	for name, test := range map[string]struct {
		pressure  map[string]any
		untracked int
		want      string
	}{
		"nearly full":                        {map[string]any{"disk_free": 0.02}, 0, "reap reap.dirs.cramped "},
		"nearly full, and something objects": {map[string]any{"disk_free": 0.02}, 2, "spare reap.dirs.cramped protect.unsaved"},
		"half full":                          {map[string]any{"disk_free": 0.5}, 0, ""},
		"short of something else":            {map[string]any{"memory_some": 1.0}, 0, ""},
		"not known":                          {nil, 0, ""},
	} {
		c := Case{Change: map[string]any{"dirs": map[string]any{"dir:/w/feature": map[string]any{
			"name": "scratch-7", "git": map[string]any{"landed": false, "untracked": test.untracked}}}}}
		line := ""
		if got := decide(t, e, configOf(t, c), under(worldOf(t, c), test.pressure))["dir:/w/feature"]; got != nil && len(got.Findings) > 0 {
			line = got.Verdict + " " + strings.Join(got.Findings, ",") + " " + strings.Join(got.Objections, ",")
		}
		if line != test.want {
			t.Errorf("%s: %q, want %q", name, line, test.want)
		}
	}
}
