package dirs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// FuzzPlan reads intents: what is accepted names nothing but places of its own.
func FuzzPlan(f *testing.F) {
	const in = `{"id":"A1","candidate":"dir:/r/w","kind":"dir","identity":{"key":"k","dir":{"path":"/r/w","root":"/r","device":1,"inode":2,"born_at":"2026-01-02T03:04:05Z","worktree":true}},` +
		`"findings":[],"at":"2026-01-02T03:04:05Z","plan":{"from":"/r/w","root":"/r","trash":"/s/trash/A1","admin":{"from":"/p/.git/worktrees/w","to":"/s/trash/A1/admin",` +
		`"common":"/p/.git","head":"1111111111111111111111111111111111111111","refs":"refs/winnow/A1/","device":1,"inode":3,"born_at":"2026-01-02T03:04:05Z"}}}`
	f.Add([]byte(in))
	f.Fuzz(func(t *testing.T, text []byte) {
		var in decision.Intent
		if json.Unmarshal(text, &in) != nil {
			return
		}
		if p, err := readPlan(in); err == nil {
			checkPlan(t, in, p)
		}
	})
}

// FuzzManifest reads manifests, which another user may have written.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema":"winnow.trash/v1","intent":{"id":"A1","candidate":"dir:/r/w","kind":"dir","identity":{"key":"k","dir":{"path":"/r/w","root":"/r","device":1,"inode":2,"born_at":"2026-01-02T03:04:05Z","worktree":false}},"findings":[],"at":"2026-01-02T03:04:05Z","plan":{"from":"/r/w","root":"/r","trash":"/r/.winnow-trash/A1"}},"undo":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		const place = "/r/.winnow-trash/A1"
		in, ok, err := readManifest(text, place)
		if err != nil && ok {
			t.Errorf("%q: %v and taken", text, err)
		}
		if !ok {
			return
		}
		p, err := readPlan(in)
		if err != nil || p.Trash != place || p.Root != "/r" || in.ID != "A1" {
			t.Fatalf("%q: %+v %v", text, p, err)
		}
		checkPlan(t, in, p)
	})
}

func checkPlan(t *testing.T, in decision.Intent, p plan) {
	t.Helper()
	if !strings.HasPrefix(p.From, strings.TrimSuffix(p.Root, "/")+"/") || strings.Contains(p.From, "/../") || filepath.Base(p.Trash) != in.ID {
		t.Errorf("a folder outside: %+v", p)
	}
	if a := p.Admin; a != nil && (filepath.Dir(a.From) != a.Common+"/worktrees" && a.Common != "/" || strings.ContainsAny(a.Head+a.Refs, " \n") ||
		a.To != p.Trash+"/admin" && a.To != filepath.Join(a.Common, "winnow-trash", in.ID, "admin")) {
		t.Errorf("an entry that is not its own: %+v", a)
	}
}
