package scaffold

import (
	"testing"
	"testing/fstest"

	"winnow/engine/policy"
	"winnow/policies"
)

func TestDump(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, id := range []string{"reap.tabs.mine", "reap.sessions.mine", "reap.terminals.mine", "reap.dirs.mine", "reap.content.mine", "reap.processes.mine", "protect.mine"} {
		r, err := Parse(id)
		if err != nil {
			t.Fatal(err)
		}
		fs, err := r.Files()
		if err != nil {
			t.Fatal(err)
		}
		for n, d := range fs {
			fsys[n] = &fstest.MapFile{Data: d}
		}
	}
	if _, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "e", FS: policies.Files}, {Name: "m", FS: fsys, Prefix: "m"}}}); err != nil {
		t.Error(err)
	}
}
