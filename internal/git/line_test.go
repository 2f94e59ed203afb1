package git_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/git"
	"github.com/winnow-reaper/winnow/testkit/must"
)

// TestLine lists what changed a folder, along first parents: a merge stands for all that it brought.
func TestLine(t *testing.T) {
	t.Parallel()
	f := newFork(t)
	f.put(f.main, "rules/a.rego", "one\n")
	f.git(f.main, "tag", "good")
	f.put(f.main, "other/b", "b\n")
	two := f.putAs(f.main, "rules/a.rego", "two\n", "second: of two\n\nwith a body")
	f.git(f.main, "checkout", "-q", "-b", "side")
	inner := f.putAs(f.main, "rules/c.rego", "c\n", "on the side")
	f.git(f.main, "checkout", "-q", "main")
	f.put(f.main, "other/b", "bb\n")
	f.git(f.main, "merge", "-q", "--no-ff", "-m", "merge of side", "side")
	merge := f.git(f.main, "rev-parse", "HEAD")
	f.put(f.main, "other/b", "bbb\n")

	good, head := f.revision(f.main, "good"), f.revision(f.main, "main")
	line := must.Get(head.Line(t.Context(), good, "rules", 10))(t)
	if len(line) != 2 || line[0].ID != two || line[1].ID != merge || line[0].Subject != "second: of two" || line[0].Author == "" || line[0].Date.IsZero() {
		t.Fatalf("line: %+v; want %s and %s", line, two, merge)
	}
	must.Equal(t, 2, len(line[1].Parents), "parents of the merge")
	must.Equal(t, 5, len(must.Get(head.Line(t.Context(), good, ".", 10))(t)), "commits of all folders")
	must.Equal(t, 0, len(must.Get(head.Line(t.Context(), head, "rules", 10))(t)), "commits of nothing")
	must.Equal(t, 0, len(must.Get(head.Line(t.Context(), good, "ru*", 10))(t)), "commits of a folder with a star")
	must.Equal(t, two, must.Get(head.Fork(t.Context(), line[1].Parents[0], line[1].Parents[1]))(t)[:len(two)], "where the side began")

	for name, c := range map[string]struct{ from, to, want string }{
		"the wrong way round": {"main", "good", "write the older one first"},
		"on the side":         {inner, "main", "leaves what " + inner + " has at " + two},
	} {
		_, err := f.revision(f.main, c.to).Line(t.Context(), f.revision(f.main, c.from), "rules", 10)
		if !errors.Is(err, git.ErrLine) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	if _, err := head.Line(t.Context(), good, ".", 2); err == nil || !strings.Contains(err.Error(), "2 commits are the most") {
		t.Errorf("too many: %v", err)
	}
}

// putAs commits a file with a message of its own, and gives the commit.
func (p fork) putAs(folder, name, text, message string) string {
	p.Helper()
	p.put(folder, name, text)
	p.git(folder, "commit", "-q", "--amend", "-m", message)
	return p.git(folder, "rev-parse", "HEAD")
}
