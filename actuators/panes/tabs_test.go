package panes

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// noting is a program that tabs are of, as far as Tabs sees it: it notes what it is asked.
type noting struct {
	name  string
	asked *[]string
}

func (n noting) note(what string) { *n.asked = append(*n.asked, n.name+" "+what) }

func (n noting) Hold(context.Context, string, decision.Decision) (actuators.Held, error) {
	n.note("hold")
	return nil, actuators.Gone("%s", n.name)
}

func (n noting) Settle(context.Context, decision.Intent) decision.Outcome {
	n.note("settle")
	return decision.Outcome{Detail: n.name}
}

func (n noting) Restore(context.Context, decision.Intent) (actuators.Back, error) {
	n.note("restore")
	return actuators.Back{Where: n.name}, nil
}

func (n noting) Purge(context.Context, decision.Intent) (int64, error) {
	n.note("purge")
	return int64(len(n.name)), nil
}

// TestTabs has every request go to the program that the tab is of, and to no other.
func TestTabs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id   decision.Identity
		want string
	}{
		"a tab of herdr":        {decision.Identity{Key: "k", Tab: &decision.Tab{}}, "herdr"},
		"a tab of an editor":    {decision.Identity{Key: "k", Editor: &decision.Editor{}}, "editor"},
		"one that is not known": {decision.Identity{}, "herdr"},
	} {
		var asked []string
		tabs := Tabs{Herdr: noting{"herdr", &asked}, Editor: noting{"editor", &asked}}
		_, err := tabs.Hold(t.Context(), "act", decision.Decision{ID: "tab:x", Identity: c.id})
		must.Equal(t, c.want, err.Error(), "%s: hold", name)
		in := decision.Intent{Identity: c.id}
		must.Equal(t, c.want, tabs.Settle(t.Context(), in).Detail, "%s: settle", name)
		must.Equal(t, c.want, must.Get(tabs.Restore(t.Context(), in))(t).Where, "%s: restore", name)
		must.Equal(t, int64(len(c.want)), must.Get(tabs.Purge(t.Context(), in))(t), "%s: purge", name)
		must.Equal(t, []string{c.want + " hold", c.want + " settle", c.want + " restore", c.want + " purge"}, asked, "%s: requests", name)
	}
}

func TestATabOfTwoPrograms(t *testing.T) {
	t.Parallel()
	var asked []string
	tabs := Tabs{Herdr: noting{"herdr", &asked}, Editor: noting{"editor", &asked}}
	_, err := tabs.Hold(t.Context(), "act", decision.Decision{ID: "tab:x", Identity: decision.Identity{Tab: &decision.Tab{}, Editor: &decision.Editor{}}})
	if !errors.Is(err, actuators.ErrRefused) || len(asked) != 0 {
		t.Errorf("%v, asked %v", err, asked)
	}
}

// TestPlansOfEditorsTabs have a window and no panes, and no plan has both.
func TestPlansOfEditorsTabs(t *testing.T) {
	t.Parallel()
	trash := t.TempDir()
	for _, c := range []struct {
		plan map[string]any
		ok   bool
	}{
		{map[string]any{"act": "a", "socket": "/s", "window": "0a0b0c0d"}, true},
		{map[string]any{"act": "a", "socket": "/s"}, false},
		{map[string]any{"act": "a", "socket": "s", "window": "0a0b0c0d"}, false},
		{map[string]any{"act": "a", "socket": "/s", "window": "0a0b0c0d", "panes": []map[string]string{{"file": "pane-0.txt"}}}, false},
	} {
		kept, err := ReadPlan(trash, decision.Intent{ID: "a", Plan: must.Get(json.Marshal(c.plan))(t)}, &struct{}{})
		must.Equal(t, c.ok, err == nil, "%v: %v", c.plan, err)
		if c.ok {
			must.Equal(t, Kept{Trash: trash, Act: "a"}, kept, "what is kept")
		}
	}
}
