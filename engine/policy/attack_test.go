package policy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/rules"
)

// TestAttackSchemas: a schema that a file brings would let a misspelt field through, and with it a rule that never keeps.
func TestAttackSchemas(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "METADATA of a policy opens the closed schema of the input")
	for _, scope := range []string{"rule", "document", "package", "subpackages", ""} {
		for _, s := range []string{"input: {type: object}", "input: schema.input", "input.dir: {type: object}", "input: schema[\"subject\"]", "input: {}", "data.x: {type: object}"} {
			for _, own := range []bool{true, false} {
				head := "# METADATA\n"
				if scope != "" {
					head += "# scope: " + scope + "\n"
				}
				head += "# schemas:\n#   - " + s + "\n"
				text := rules.Objection("input.dir.naem == \"\"")["protect/mine/mine.rego"]
				if scope == "package" || scope == "subpackages" {
					text = head + text
				} else {
					text = strings.Replace(text, "objections", head+"objections", 1)
				}
				trees := []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: rules.Tree(map[string]string{"protect/mine/mine.rego": text}), Prefix: "my"}}
				if !own {
					trees = []policy.Tree{{Name: "embedded", FS: rules.Small(map[string]string{"protect/mine/mine.rego": text}), Prefix: "my"}}
				}
				_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: trees})
				if err == nil || !strings.Contains(err.Error(), "my/protect/mine/mine.rego:") || strings.Contains(s, "type: object") && !strings.Contains(err.Error(), "METADATA with schemas") {
					a.Lost("scope %q, %s: %v", scope, s, err)
					continue
				}
				a.Held()
			}
		}
	}
	honest := "# METADATA\n# title: Mine\n# description: A rule.\n# entrypoint: true\n# custom:\n#   by: me\n# authors:\n# - me\n"
	text := strings.Replace(rules.Objection("input.dir.name == \"x\"")["protect/mine/mine.rego"], "objections", honest+"objections", 1)
	if _, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: rules.Small(map[string]string{"protect/mine/mine.rego": text}), Prefix: "p"}}}); err != nil {
		t.Errorf("METADATA that changes nothing was refused: %v", err)
	}
}

// TestTooManyFiles bounds what is read at all.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a folder with more files, folders or bytes than anybody writes")
	for name, fill := range map[string]func(fstest.MapFS){
		"policies": func(f fstest.MapFS) {
			for i := range 2500 {
				f[fmt.Sprintf("lib/x/x%d.rego", i)] = &fstest.MapFile{Data: []byte("package policies.lib.x\n")}
			}
		},
		"other files": func(f fstest.MapFS) {
			for i := range policy.MaxPolicyEntries + 1 {
				f[fmt.Sprintf("lib/x/x%d.txt", i)] = &fstest.MapFile{}
			}
		},
		"bytes": func(f fstest.MapFS) {
			for i := range 10 {
				f[fmt.Sprintf("lib/x/x%d.rego", i)] = &fstest.MapFile{Data: make([]byte, 1<<20)}
			}
		},
		"a link to a folder": func(f fstest.MapFS) {
			f["lib/x/x.rego"] = &fstest.MapFile{Data: []byte("package policies.lib.x\n")}
			f["protect"] = &fstest.MapFile{Data: []byte("elsewhere"), Mode: fs.ModeSymlink | 0o777}
		},
	} {
		files := fstest.MapFS{}
		fill(files)
		_, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: rules.Small(nil), Prefix: "p"}, {Name: "mine", FS: files, Prefix: "my"}}})
		var refused lint.Refusals
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "my: read policies") {
			a.Lost("%s: %v", name, err)
			continue
		}
		a.Held()
	}
}
