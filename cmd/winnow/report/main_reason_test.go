package report

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/policies"
)

func because(rule, message string, evidence map[string]any) decision.Reason {
	return decision.Reason{Rule: rule, Message: message, Evidence: evidence}
}

// TestTheMainReason gives candidates with several objections, and holds which one a person is told.
func TestTheMainReason(t *testing.T) {
	t.Parallel()
	holders := map[string]any{"holders": []any{map[string]any{"pid": 24, "name": "claude", "how": "cwd"}, map[string]any{"pid": 0, "name": "loop0", "how": "loop"}}}
	thrift := because("protect.unsaved", "it was not looked into, because it is in use by claude (24)", nil)
	live := because("protect.live", "claude (24) uses it", holders)
	held := because("protect.held", "held by u: bench", map[string]any{"owner": "u"})
	files := because("protect.unsaved", "it holds work that is nowhere else: untracked files: 1", nil)
	young := because("protect.young", "it changed 2 min ago; at least 15 min is required", nil)
	once := because("protect.seen_once", "it needs a second look, 30 s after the first", nil)
	blind := because("protect.live", "whether a process uses it is unknown: not every process could be read", map[string]any{"holders": []any{}})
	mine := because("protect.mine", "the moon is full", nil)
	finding := []decision.Reason{because("reap.dirs.landed", "all its work is on origin/main.", nil)}
	no, worktree := false, true
	looked := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a b": {Git: &snapshot.Git{Worktree: &worktree, Landed: &no, Upstream: "refs/remotes/origin/main"}}}}
	for name, c := range map[string]struct {
		findings, objections []decision.Reason
		verdict              string
		want                 decision.Main
	}{
		"goes":                             {findings: finding, verdict: decision.Reap, want: decision.Main{Rule: "reap.dirs.landed", Group: "reap.dirs.landed", Message: "all its work is on origin/main"}},
		"waits":                            {findings: finding, objections: []decision.Reason{once}, want: decision.Main{Rule: "reap.dirs.landed", Group: "reap.dirs.landed", Message: "all its work is on origin/main"}},
		"the look's thrift is no reason":   {findings: finding, objections: []decision.Reason{thrift, live}, want: decision.Main{Rule: "protect.live", Group: "in use", Message: "in use by claude (24), loop0"}},
		"a person's word before a user":    {findings: finding, objections: []decision.Reason{live, held}, want: decision.Main{Rule: "protect.held", Group: "held", Message: "held by u: bench", Next: "winnow release 'dir:/w/a b'"}},
		"work before youth":                {objections: []decision.Reason{young, files}, want: decision.Main{Rule: "protect.unsaved", Group: "hold files found only there", Message: files.Message, Next: "git -C '/w/a b' status --short --ignored"}},
		"not landed before youth":          {objections: []decision.Reason{young, thrift}, want: decision.Main{Group: "not on origin/main", Message: "its commits are not all on origin/main", Next: "git -C '/w/a b' log --oneline origin/main..HEAD"}},
		"youth before a second look":       {findings: finding, objections: []decision.Reason{once, young}, want: decision.Main{Rule: "protect.young", Group: "young", Message: young.Message}},
		"what is known before what is not": {findings: finding, objections: []decision.Reason{blind, files}, want: decision.Main{Rule: "protect.unsaved", Group: "hold files found only there", Message: files.Message, Next: "git -C '/w/a b' status --short --ignored"}},
		"what is not known":                {findings: finding, objections: []decision.Reason{young, blind}, want: decision.Main{Rule: "protect.live", Group: "not fully known", Message: blind.Message}},
		"a rule of one's own":              {findings: finding, objections: []decision.Reason{young, mine}, want: decision.Main{Rule: "protect.mine", Group: "kept by mine", Message: mine.Message}},
		"thrift alone":                     {findings: finding, objections: []decision.Reason{thrift}, want: decision.Main{Rule: "protect.unsaved", Group: "not looked into", Message: thrift.Message}},
	} {
		d := decision.Decision{
			ID: "dir:/w/a b", Kind: snapshot.KindDir, Verdict: c.verdict, Findings: c.findings, Objections: c.objections,
			About: &decision.About{Repository: "/w/main"},
		}
		if d.Verdict == "" {
			d.Verdict = decision.Spare
		}
		if got := Main(d, looked); *got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *got, c.want)
		}
	}
	d := decision.Decision{ID: "dir:/w/plain", Verdict: decision.Spare, Objections: []decision.Reason{files}}
	if got := Main(d, looked); got.Next != "" {
		t.Errorf("a command of git's for what is no worktree: %q", got.Next)
	}
	d = decision.Decision{ID: "process:1@2", Verdict: decision.Spare}
	if got := Main(d, looked); got.Message != "no rule found a reason to reap it" {
		t.Errorf("a candidate without any reason: %+v", got)
	}
	d.About = &decision.About{Agent: "claude (24)"}
	two, yes, idle := 2, true, 7200.0
	at := func(g snapshot.Git) *decision.Main {
		g.Worktree, g.Upstream = &yes, "refs/heads/main"
		x := decision.Decision{ID: "dir:/w/x", Kind: snapshot.KindDir, Verdict: decision.Spare, About: &decision.About{Idle: &idle}}
		return Main(x, &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/x": {Git: &g}}})
	}
	for want, g := range map[string]snapshot.Git{
		"2 commits that are not on main": {Landed: &no, Ahead: &two},
		"its work has landed; it may go when nothing has happened in it for rules.landed_after": {Landed: &no, Ahead: &two, Landing: &snapshot.Landing{By: "squash"}},
		"its commits are not all on main":   {Landed: &no},
		"no rule found a reason to reap it": {},
	} {
		if got := at(g); got.Message != want {
			t.Errorf("got %q, want %q", got.Message, want)
		}
	}
	if got := Main(d, looked); got.Group != "of an agent that is alive" || !strings.Contains(got.Message, "claude (24)") {
		t.Errorf("a process of a living agent: %+v", got)
	}
}

// TestEveryShippedRuleHasAPlace walks the shipped rules that protect: each has its line in weights, and each message of what is not known
// is told from one that states something.
func TestEveryShippedRuleHasAPlace(t *testing.T) {
	t.Parallel()
	folders, err := fs.ReadDir(policies.Files, "protect")
	if err != nil {
		t.Fatal(err)
	}
	unknown := regexp.MustCompile(`"message": words\.said\([^"\n]*"([^"]+)"\)`)
	seen := 0
	for _, f := range folders {
		rule := "protect." + f.Name()
		if placeOf(rule) == len(weights) {
			t.Errorf("%s has no place among the main reasons", rule)
		}
		source, err := fs.ReadFile(policies.Files, "protect/"+f.Name()+"/"+f.Name()+".rego")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range unknown.FindAllStringSubmatch(string(source), -1) {
			if !strings.Contains(m[1], "not known") && !strings.Contains(m[1], "unknown") {
				continue
			}
			seen++
			if stated(decision.Reason{Message: m[1]}) {
				t.Errorf("%s says what is not known in words that state something: %q", rule, m[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d messages of what is not known were found, want more: has their form changed?", seen)
	}
}

// TestWhyAWorktreeHasNotLanded holds what a person is told of a worktree that no rule found, by what git knows of it.
func TestWhyAWorktreeHasNotLanded(t *testing.T) {
	t.Parallel()
	const main = "refs/remotes/origin/main"
	for want, g := range map[string]snapshot.Git{
		"1 commit that is not on origin/main":             {Landed: new(false), Upstream: main, Ahead: new(1), Commits: new(1)},
		"3 commits that are not on origin/main":           {Landed: new(false), Upstream: main, Ahead: new(3), Landing: &snapshot.Landing{Into: main}},
		"2 commits that are not on trunk":                 {Landed: new(false), Upstream: "refs/heads/trunk", Ahead: new(2)},
		"its work has landed; it may go when nothing":     {Landed: new(false), Upstream: main, Ahead: new(3), Landing: &snapshot.Landing{By: "squash", Into: main}},
		"nothing was done in it yet; it may go when":      {Landed: new(true), Upstream: main, Commits: new(0)},
		"the default branch is checked out in it":         {Landed: new(true), Upstream: main, Commits: new(2), Branch: "refs/heads/main"},
		"no rule found a reason to reap it":               {Upstream: main},
		"its commits are not all on the default branch":   {Landed: new(false)},
		"its work has landed; it may go when nothing has": {Landed: new(true), Upstream: main, Commits: new(2), Branch: "refs/heads/x"},
	} {
		g.Worktree = new(true)
		s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a": {Git: &g}}}
		got := Main(decision.Decision{ID: "dir:/w/a", Kind: snapshot.KindDir, Verdict: decision.Spare}, s)
		if !strings.HasPrefix(got.Message, want) {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}
