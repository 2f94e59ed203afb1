// Package rules has small policies for tests of all that loads or asks policies.
package rules

import (
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
)

// A whole policy: one reason to reap a folder and one to keep anything.
const (
	SmallReap = `# METADATA
# title: Disposable
# description: A folder whose name says that it was made to be thrown away.
package policies.reap.dirs.disposable

# METADATA
# title: In scope
# description: True for a folder with a disposable name.
in_scope if {
	some pattern in input.config.disposable_dirs
	regex.match(pattern, input.dir.name)
}

# METADATA
# title: A disposable folder
# description: Its name says so.
findings contains {"message": $"{input.dir.name} is disposable", "evidence": {"name": input.dir.name}} if in_scope
`
	SmallProtect = `# METADATA
# title: Held
# description: Somebody said keep this.
package policies.protect.held

# METADATA
# title: Held
# description: There is a hold on it.
objections contains {"message": $"held by {input.hold.owner}", "evidence": {}} if input.hold
`
)

// Small is a whole policy of one rule that reaps and one that keeps, with more files; an empty text takes one of its own away.
func Small(more map[string]string) fs.FS {
	files := map[string]string{
		"reap/dirs/disposable/disposable.rego": SmallReap,
		"protect/held/held.rego":               SmallProtect,
		".manifest":                            `{"revision": "1.2.3", "roots": ["policies"]}`,
	}
	maps.Copy(files, more)
	return Tree(files)
}

// Tree is a folder of files by path; those without a text are left out.
func Tree(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			out[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

// Objection is a protect package with one rule's body, the body being on line 4.
func Objection(body string) map[string]string {
	return map[string]string{"protect/mine/mine.rego": fmt.Sprintf(`package policies.protect.mine

objections contains {"message": "mine", "evidence": {}} if {
	%s
}
`, body)}
}

// Finding is a package about folders with one rule's body, on line 6.
func Finding(body string) map[string]string {
	return map[string]string{"reap/dirs/mine/mine.rego": fmt.Sprintf(`package policies.reap.dirs.mine

in_scope if input.dir.name != ""

findings contains {"message": "mine", "evidence": {}} if {
	%s
}
`, body)}
}

// Texts are the policies of a tree without their tests, by path.
func Texts(t testing.TB, tree fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".rego") || strings.HasSuffix(p, "_test.rego") {
			return err
		}
		data, err := fs.ReadFile(tree, p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Shipped is the policy that Winnow comes with.
func Shipped(t testing.TB) *policy.Policy {
	t.Helper()
	return Load(t, policy.Tree{Name: "embedded", FS: policies.Files, Prefix: "policies"})
}

// Load loads trees of policies.
func Load(t testing.TB, trees ...policy.Tree) *policy.Policy {
	t.Helper()
	p, err := policy.Load(t.Context(), policy.LoadOptions{Trees: trees})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Doubled is a text of a few bytes that a chain of steps makes 2^31 times as long.
func Doubled(step string) string {
	lines := []string{`s0 := "0123456789abcdef"`}
	for i := range 31 {
		line := strings.Replace(step, "%d", strconv.Itoa(i), 2)
		lines = append(lines, "s"+strconv.Itoa(i+1)+" := "+strings.ReplaceAll(line, "%%", "%"))
	}
	return strings.Join(append(lines, `s31 == ""`), "\n\t")
}
