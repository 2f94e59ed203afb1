package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/text"
)

// TestEveryWayToUseAFolderHasWords holds that explain says in words what the collectors have a short word for.
func TestEveryWayToUseAFolderHasWords(t *testing.T) {
	t.Parallel()
	ways := append(holders.Kinds(), "pane")
	for _, how := range ways {
		if render.HoldsBy[how] == "" {
			t.Errorf("%s: explain has no words for it", how)
		}
		var out bytes.Buffer
		render.Paint{Paint: text.Paint{Width: 120}}.UsersText(&out, &snapshot.Dir{Holders: []snapshot.Holder{{PID: 77, Name: "node", How: how}}, HoldersKnown: new(true)})
		if text := out.String(); !strings.Contains(text, "node (77) "+render.HoldsBy[how]) || strings.Contains(text, "could be read") {
			t.Errorf("%s: %q", how, text)
		}
	}
	if len(render.HoldsBy) != len(ways) {
		t.Errorf("words for %d ways, and there are %d", len(render.HoldsBy), len(ways))
	}
}

// TestWhoUsesAFolder says nothing of a folder without users, and says so where its users are unknown.
func TestWhoUsesAFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		dir  *snapshot.Dir
		want []string
	}{
		{"no folder", nil, nil},
		{"nobody", &snapshot.Dir{HoldersKnown: new(true)}, nil},
		{"not known", &snapshot.Dir{}, []string{"who uses it", "not every process that may use it could be read"}},
		{"one, and maybe more", &snapshot.Dir{HoldersKnown: new(false), Holders: []snapshot.Holder{{PID: 7, Name: "vi", How: "fd"}}},
			[]string{"vi (7) has a file or folder in it open", "not every process"}},
		{"the kernel", &snapshot.Dir{HoldersKnown: new(true), Holders: []snapshot.Holder{{Name: "/dev/loop3", How: "loop"}}},
			[]string{"/dev/loop3 (the kernel) shows a file in it as a device"}},
		{"a way of a later version", &snapshot.Dir{HoldersKnown: new(true), Holders: []snapshot.Holder{{PID: 7, Name: "x\x1b[2J", How: "new"}}},
			[]string{"(7) uses it (new)"}},
	} {
		var out bytes.Buffer
		render.Paint{Paint: text.Paint{Width: 200}}.UsersText(&out, c.dir)
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q, want %q in it", c.name, out.String(), want)
			}
		}
		if c.want == nil && out.Len() > 0 || strings.Contains(out.String(), "\x1b[2J") {
			t.Errorf("%s: %q", c.name, out.String())
		}
	}
}
