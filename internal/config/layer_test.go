package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestEveryParameterHasADirection wants an entry for each parameter that there is, also where its direction is not known, and none for another one.
func TestEveryParameterHasADirection(t *testing.T) {
	t.Parallel()
	if have, want := Parameters(), slices.Sorted(maps.Keys(flat(must.Get(Defaults())(t).Rules))); !slices.Equal(have, want) {
		t.Errorf("directions has %q, and the parameters are %q", have, want)
	}
}

// TestHarsher holds what counts as reaping more, by direction.
func TestHarsher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d         direction
		said, now any
		harsher   bool
	}{
		{larger, 60.0, 59.0, true}, {larger, 60.0, 60.0, false}, {larger, 60.0, 61.0, false},
		{smaller, 1.0, 2.0, true}, {smaller, 1.0, 0.5, false},
		{more, []any{"a", "b"}, []any{"a"}, true}, {more, []any{"a"}, []any{"b", "a"}, false}, {more, []any{"a"}, nil, true},
		{fewer, []any{"a"}, []any{"a", "b"}, true}, {fewer, []any{"a"}, []any{}, false},
		{fewer, []any{map[string]any{"tool": "x"}}, []any{map[string]any{"tool": "y"}}, true},
		{yes, true, false, true}, {yes, false, true, false}, {yes, false, false, false},
		{neither, 3.0, 9.0, false},
		{unknown, []any{"a"}, []any{"b"}, true}, {unknown, []any{"a"}, []any{"a"}, false}, {unknown, "3d", "2d", true},
	} {
		if c.d.harsher(c.said, c.now) != c.harsher {
			t.Errorf("direction %q from %v to %v: want %v", c.d, c.said, c.now, c.harsher)
		}
	}
}

func readLayer(t *testing.T, name, text string, published bool) *Layer {
	t.Helper()
	l := must.Get(ReadLayer(name, name+"/layer.yaml", []byte(text)))(t)
	l.Published = published
	return l
}

// TestStand puts layers below a configuration, and takes them away again.
func TestStand(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, "version: 1\nrules:\n  landed_after: 72h\n  levels: {reap.dirs.landed: off}\n"), nil)
	must.Do(t, err)
	org := readLayer(t, "org", "levels: {reap.dirs.landed: observe, protect.young: on, reap.dirs.prunable: ask}\nparameters: {landed_after: 48h, abandoned_after: 96h}\ngrants: [parameters.abandoned_after]\n", true)
	mine := readLayer(t, "mine", "levels: {reap.dirs.prunable: off}\nparameters: {abandoned_after: 1h, session_idle: 3h}\n", false)
	for range 2 { // it begins again each time
		must.Do(t, c.Stand([]*Layer{org, mine}))
		if c.Rules.LandedAfter != 72*3600 || c.Rules.AbandonedAfter != 3600 || c.Rules.SessionIdle != 3*3600 {
			t.Errorf("landed_after %v, abandoned_after %v, session_idle %v", c.Rules.LandedAfter, c.Rules.AbandonedAfter, c.Rules.SessionIdle)
		}
		if c.Rules.Level("dir", "reap.dirs.landed") != "off" || c.Rules.Level("dir", "reap.dirs.prunable") != "off" || c.Rules.Level("dir", "protect.young") != "on" || len(c.Rules.Levels) != 2 {
			t.Errorf("levels: %v", c.Rules.Levels)
		}
	}
	if err := c.Stand(nil); err != nil || c.Rules.LandedAfter != 72*3600 || c.Rules.AbandonedAfter == 3600 || len(c.Rules.Levels) != 1 {
		t.Errorf("without layers: %v, abandoned_after %v, levels %v", err, c.Rules.AbandonedAfter, c.Rules.Levels)
	}
}

// TestDefaultsThatAreHeld: what a layer does not give is held at the program's defaults where it says so, and only there.
func TestDefaultsThatAreHeld(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, "version: 1\nrules:\n  landed_after: 1h\n  abandoned_after: 9000h\n  levels: {protect.young: {dir: off}, reap.dirs.prunable: off}\n"), nil)
	must.Do(t, err)
	if err := c.Stand([]*Layer{readLayer(t, "org", "grants: [reap.*]\ndefaults: free\n", true)}); err != nil {
		t.Errorf("defaults that are free: %v", err)
	}
	err = c.Stand([]*Layer{readLayer(t, "org", "grants: [reap.*]\ndefaults: held\n", true)})
	for _, want := range []string{
		"config.yaml:3: rules.landed_after: 3600 reaps more than 86400, which org says (org/layer.yaml:2)",
		"config.yaml:5: rules.levels.protect.young: off for the kind dir reaps more than on, which org says (org/layer.yaml:2)",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "abandoned_after") || strings.Contains(err.Error(), "reap.dirs.prunable")) {
		t.Errorf("what keeps more is refused: %v", err)
	}
	if err := c.Stand([]*Layer{readLayer(t, "org", "grants: [levels.protect.*, parameters.*]\ndefaults: held\n", true)}); err != nil {
		t.Errorf("with grants: %v", err)
	}
	if _, err := ReadLayer("org", "org/layer.yaml", []byte("defaults: helt\n")); err == nil || !strings.Contains(err.Error(), `org/layer.yaml:1: defaults: unknown word "helt"; the nearest is "held"`) {
		t.Errorf("a misspelt word: %v", err)
	}
}

// TestWhatAnotherBundleGrantsIsNotGranted: a bundle cannot give away what another one says.
func TestWhatAnotherBundleGrantsIsNotGranted(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, "version: 1\nrules:\n  levels: {reap.dirs.landed: on}\n"), nil)
	must.Do(t, err)
	says := readLayer(t, "one", "levels: {reap.dirs.landed: observe}\n", true)
	grants := readLayer(t, "two", "grants: [levels.*]\n", true)
	var m UsageError
	if err := c.Stand([]*Layer{says, grants}); !errors.As(err, &m) || !strings.Contains(err.Error(), "have one grant it (in its layer.yaml: grants: [levels.reap.dirs.landed])") {
		t.Errorf("want it refused, have %v", err)
	}
	if err := c.Stand([]*Layer{readLayer(t, "one", "levels: {reap.dirs.landed: observe}\ngrants: [levels.reap.*]\n", true), grants}); err != nil {
		t.Errorf("it grants it itself: %v", err)
	}
}
