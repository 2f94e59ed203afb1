package report

import (
	"cmp"
	"context"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func because(rule, message string, evidence map[string]any) decision.Reason {
	return decision.Reason{Rule: rule, Message: message, Evidence: evidence}
}

var shippedPolicies = sync.OnceValues(func() (*policy.Policy, error) {
	return policy.Load(context.Background(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}}})
})

func shipped(t *testing.T) *policy.Policy {
	t.Helper()
	return must.Get(shippedPolicies())(t)
}

// TestTheMainReason gives candidates with several objections, and holds which one a person is told.
func TestTheMainReason(t *testing.T) {
	t.Parallel()
	holders := map[string]any{"holders": []any{map[string]any{"pid": 24, "name": "claude", "how": "cwd"}, map[string]any{"pid": 0, "name": "loop0", "how": "loop"}}}
	thrift := because("protect.unsaved", "it was not looked into, because it is in use by claude (24)", nil)
	live := because("protect.live", "claude (24) uses it", holders)
	held := because("protect.held", "held by u: bench", map[string]any{"owner": "u"})
	files := because("protect.unsaved", "it holds work that is nowhere else: untracked files: 1", nil)
	young := because("protect.young", "it changed 2m ago; it waits for 15m", nil)
	once := because("protect.debounce", "it needs a second look, 30s after the first", nil)
	blind := because("protect.live", "whether a process uses it is unknown: not every process could be read", map[string]any{"holders": []any{}})
	mine := because("protect.mine", "the moon is full", nil)
	finding := []decision.Reason{because("reap.dirs.landed", "all its work is on origin/main.", nil)}
	no, worktree := false, true
	looked := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a b": {Git: &snapshot.Git{Worktree: &worktree, Landed: &no, Upstream: "refs/remotes/origin/main"}}},
		Sessions: map[string]snapshot.Session{"session:tmux/default/$4": {Name: "acme", Panes: []snapshot.Pane{{ID: "%4", SessionPIDs: []int{23, 24}}}}}}
	for name, c := range map[string]struct {
		findings, objections []decision.Reason
		verdict              string
		want                 decision.Main
	}{
		"goes":                             {findings: finding, verdict: decision.Reap, want: decision.Main{Rule: "reap.dirs.landed", Group: "reap.dirs.landed", Message: "all its work is on origin/main"}},
		"waits":                            {findings: finding, objections: []decision.Reason{once}, want: decision.Main{Rule: "reap.dirs.landed", Group: "reap.dirs.landed", Message: "all its work is on origin/main"}},
		"the look's thrift is no reason":   {findings: finding, objections: []decision.Reason{thrift, live}, want: decision.Main{Rule: "protect.live", Group: "in use", Message: "in use by claude (24) in pane %4 of acme, loop0"}},
		"a person's word before a user":    {findings: finding, objections: []decision.Reason{live, held}, want: decision.Main{Rule: "protect.held", Group: "held", Message: "held by u: bench", Next: "winnow release 'dir:/w/a b'"}},
		"work before youth":                {objections: []decision.Reason{young, files}, want: decision.Main{Rule: "protect.unsaved", Group: "hold files found only there", Message: files.Message, Next: "git -C '/w/a b' status --short --ignored"}},
		"not landed before youth":          {objections: []decision.Reason{young, thrift}, want: decision.Main{Group: "not on origin/main", Message: "its commits are not all on origin/main", Next: "git -C '/w/a b' log --oneline origin/main..HEAD"}},
		"youth before a second look":       {findings: finding, objections: []decision.Reason{once, young}, want: decision.Main{Rule: "protect.young", Group: "young", Message: young.Message, Passes: true}},
		"what is known before what is not": {findings: finding, objections: []decision.Reason{blind, files}, want: decision.Main{Rule: "protect.unsaved", Group: "hold files found only there", Message: files.Message, Next: "git -C '/w/a b' status --short --ignored"}},
		"what is not known":                {findings: finding, objections: []decision.Reason{young, blind}, want: decision.Main{Rule: "protect.live", Group: "not fully known", Message: blind.Message}},
		"a rule of one's own":              {findings: finding, objections: []decision.Reason{young, mine}, want: decision.Main{Rule: "protect.mine", Group: "kept by mine", Message: mine.Message}},
		"a hold whose reason says that something is not known": {objections: []decision.Reason{because("protect.held", "held by u: why is not known", map[string]any{"owner": "u"})},
			want: decision.Main{Rule: "protect.held", Group: "held", Message: "held by u: why is not known", Next: "winnow release 'dir:/w/a b'"}},
		"locked": {findings: finding, objections: []decision.Reason{because("protect.protected", "it is a locked worktree: locked without a reason: git -C /w/main/.git worktree unlock '/w/a b' removes the lock", nil)},
			want: decision.Main{Rule: "protect.protected", Group: "locked", Message: "it is a locked worktree: locked without a reason", Next: "git -C /w/main worktree unlock '/w/a b'"}},
		"thrift alone": {findings: finding, objections: []decision.Reason{thrift}, want: decision.Main{Rule: "protect.unsaved", Group: "not looked into", Message: thrift.Message}},
	} {
		d := decision.Decision{
			ID: "dir:/w/a b", Kind: snapshot.KindDir, Verdict: c.verdict, Findings: c.findings, Objections: c.objections,
			About: &decision.About{Repository: "/w/main"},
		}
		if d.Verdict == "" {
			d.Verdict = decision.Spare
		}
		if got := Main(d, looked, nil, shipped(t)); *got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *got, c.want)
		}
	}
	removed := decision.Decision{ID: "dir:/w/gone", Verdict: decision.Spare, Objections: []decision.Reason{files}, About: &decision.About{Repository: "/w/main", Gone: true}}
	if got := Main(removed, looked, nil, shipped(t)); got.Next != "" {
		t.Errorf("a command in a folder that is gone: %q", got.Next)
	}
	d := decision.Decision{ID: "dir:/w/plain", Verdict: decision.Spare, Objections: []decision.Reason{files}}
	if got := Main(d, looked, nil, shipped(t)); got.Next != "" {
		t.Errorf("a command of git's for what is no worktree: %q", got.Next)
	}
	d = decision.Decision{ID: "dir:/w/x", Verdict: decision.Spare, About: &decision.About{Repository: "/w/main"}}
	for followed, next := range map[string]string{"": "", "refs/remotes/fork/x": "git -C /w/main remote set-head fork --auto"} {
		looked.Dirs["dir:/w/x"] = snapshot.Dir{Git: &snapshot.Git{Worktree: &worktree, Commits: new(1), Head: "1a2b", Followed: followed}}
		if got := Main(d, looked, nil, shipped(t)); got.Group != "without a known default branch" || got.Next != next {
			t.Errorf("a worktree of a repository whose default branch is not known: %+v", got)
		}
	}
	looked.Dirs["dir:/w/x"] = snapshot.Dir{Error: "its repository /w/lost is gone"}
	d.Kind, d.Objections = snapshot.KindDir, []decision.Reason{because("protect.unknown", "its identity could not be read whole", nil)}
	if got := Main(d, looked, nil, shipped(t)); got.Message != "its repository /w/lost is gone" || got.Group != "not fully known" {
		t.Errorf("a worktree whose repository is gone: %+v", got)
	}
	d = decision.Decision{ID: "process:1@2", Verdict: decision.Spare}
	if got := Main(d, looked, nil, shipped(t)); got.Message != "no rule found a reason to reap it" {
		t.Errorf("a candidate without any reason: %+v", got)
	}
	d = decision.Decision{ID: "session:x", Kind: snapshot.KindSession, Verdict: decision.Spare, About: &decision.About{Idle: new(600.0)}}
	looked.TakenAt = time.Now()
	for limit, want := range map[float64]string{3600: "idle for 10m of 1h; it may go at " + Clock(looked.TakenAt.Add(50*time.Minute)), 600: "no rule found a reason to reap it"} {
		if got := Main(d, looked, &subject.Config{SessionIdle: limit}, shipped(t)); got.Message != want {
			t.Errorf("a session that is idle for 10m of %gs: %+v", limit, got)
		}
	}
	d.About = &decision.About{Agent: "claude (24)"}
	two, yes, idle := 2, true, 7200.0
	at := func(g snapshot.Git) *decision.Main {
		g.Worktree, g.Upstream, g.Untracked = &yes, "refs/heads/main", new(0)
		x := decision.Decision{ID: "dir:/w/x", Kind: snapshot.KindDir, Verdict: decision.Spare, About: &decision.About{Idle: &idle}}
		return Main(x, &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/x": {Git: &g}}}, nil, shipped(t))
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
	if got := Main(d, looked, nil, shipped(t)); got.Group != "may be of an agent that is alive" || !strings.Contains(got.Message, "claude (24)") {
		t.Errorf("a process of a living agent: %+v", got)
	}
}

// TestWhatIsRecordedOfABranch holds what a person is told where no proof holds, and something else suggests that the work has landed.
func TestWhatIsRecordedOfABranch(t *testing.T) {
	t.Parallel()
	const main, head = "refs/remotes/origin/main", "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"
	now := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	pulls := func(all ...snapshot.PullRequest) *[]snapshot.PullRequest { return &all }
	merged := snapshot.PullRequest{By: "Shepherd", Number: new(int64(12)), State: snapshot.PullMerged}
	entry := func(path string, own bool) snapshot.Entry {
		return snapshot.Entry{Path: path, Own: &own, PullRequest: &merged}
	}
	for name, c := range map[string]struct {
		git     snapshot.Git
		entries []snapshot.Entry
		want    string
	}{
		"nothing is recorded": {snapshot.Git{FollowedGone: new(false), PullRequests: pulls()}, nil, ""},
		"all of it": {snapshot.Git{FollowedGone: new(true), FetchedAt: new(now.Add(-time.Hour))}, []snapshot.Entry{entry("/w/a", true)},
			"; the remote branch is gone and Shepherd records pull request 12 as merged: `winnow sweep --fetch` may show that they have landed"},
		"just fetched":      {snapshot.Git{FollowedGone: new(true), FetchedAt: &now}, nil, "; the remote branch is gone, which is no proof that they have landed"},
		"without a remote":  {snapshot.Git{Upstream: "refs/heads/main"}, []snapshot.Entry{entry("/w/a", true)}, "; Shepherd records pull request 12 as merged, which is no proof that they have landed"},
		"of another folder": {snapshot.Git{}, []snapshot.Entry{entry("/w/b", true), entry("/w/a", false)}, ""},
		"open":              {snapshot.Git{PullRequests: pulls(snapshot.PullRequest{By: "Graphite", Number: new(int64(3)), State: snapshot.PullOpen})}, nil, "; Graphite records pull request 3 as open"},
		"at an earlier commit": {snapshot.Git{PullRequests: pulls(snapshot.PullRequest{By: "Graphite", State: snapshot.PullMerged, Head: strings.Repeat("f", 40)})}, nil,
			"; Graphite records a pull request as merged, for another commit (ffffffffff): `winnow sweep --fetch` may show that they have landed"},
		"by its number alone": {snapshot.Git{PullRequests: pulls(snapshot.PullRequest{By: "configuration", Number: new(int64(12))})}, nil, "; its branch is that of pull request 12"},
		"by its number, and more of it": {snapshot.Git{PullRequests: pulls(snapshot.PullRequest{By: "configuration", Number: new(int64(12))}, snapshot.PullRequest{By: "ref", Number: new(int64(12)), Head: head})},
			[]snapshot.Entry{entry("/w/a", true)}, "; Shepherd records pull request 12 as merged: `winnow sweep --fetch` may show that they have landed"},
	} {
		c.git.Worktree, c.git.Landed, c.git.Ahead, c.git.Head = new(true), new(false), new(2), head
		c.git.Upstream = cmp.Or(c.git.Upstream, main)
		s := &snapshot.Snapshot{TakenAt: now, Registry: c.entries, Dirs: map[string]snapshot.Dir{"dir:/w/a": {Path: "/w/a", Git: &c.git}}}
		got := Main(decision.Decision{ID: "dir:/w/a", Kind: snapshot.KindDir, Verdict: decision.Spare}, s, nil, shipped(t))
		want := "2 commits that are not on " + branchName(c.git.Upstream) + c.want
		if got.Message != want || got.Group != "not on "+branchName(c.git.Upstream) {
			t.Errorf("%s:\n got %+v\nwant %q", name, got, want)
		}
	}
}

// TestEveryShippedRuleHasAPlace walks the shipped rules that protect: the METADATA of each says how a person is told of it, and each message of what is not known
// is told from one that states something.
func TestEveryShippedRuleHasAPlace(t *testing.T) {
	t.Parallel()
	folders := must.Get(fs.ReadDir(policies.Files, "protect"))(t)
	unknown := regexp.MustCompile(`contains reasons\.keep\([^"\n]*"([^"]+)"`)
	seen := 0
	for _, f := range folders {
		rule := "protect." + f.Name()
		if len(shipped(t).Rule(rule).Summaries) == 0 {
			t.Errorf("the METADATA of %s has no summary", rule)
		}
		files := must.Get(fs.Glob(policies.Files, "protect/"+f.Name()+"/*.rego"))(t)
		var source []byte
		for _, name := range files {
			text := must.Get(fs.ReadFile(policies.Files, name))(t)
			source = append(source, text...)
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

// TestWhenAWorktreeMayGo holds that a time of the configuration is said with its value and with what has passed of it.
func TestWhenAWorktreeMayGo(t *testing.T) {
	t.Parallel()
	const main = "refs/remotes/origin/main"
	rules := &subject.Config{LandedAfter: 86400, AbandonedAfter: 259200}
	landed := snapshot.Git{Landed: new(true), Upstream: main, Commits: new(2)}
	for want, c := range map[string]struct {
		git   snapshot.Git
		about decision.About
	}{
		"its work has landed; it may go when nothing has happened in it for 1d (rules.landed_after), and the last was 3m ago": {landed, decision.About{Idle: new(180.0)}},
		"its work has landed; it may go when nothing has happened in it for rules.landed_after":                               {landed, decision.About{}},
		"its work has landed; another condition of the rule does not hold":                                                    {landed, decision.About{Idle: new(86400.0)}},
		"nothing was committed in it yet; it may go when nothing has happened in it for 3d (rules.abandoned_after), and the last was 2d5h ago": {
			snapshot.Git{Landed: new(true), Upstream: main, Commits: new(0)}, decision.About{Idle: new(53 * 3600.0)}},
		"its folder is gone; git still lists it; it may go when nothing has happened in it for 1d (rules.landed_after), and the last was 1s ago": {
			snapshot.Git{Landed: new(true), Upstream: main, Commits: new(0)}, decision.About{Gone: true, Idle: new(1.0)}},
		"2 commits that are not on origin/main; whether their changes were squashed into it is looked at once nothing has happened in it for 1d": {
			snapshot.Git{Landed: new(false), Upstream: main, Ahead: new(2)}, decision.About{Idle: new(180.0)}},
		"2 commits that are not on origin/main": {
			snapshot.Git{Landed: new(false), Upstream: main, Ahead: new(2), Landing: &snapshot.Landing{}}, decision.About{Idle: new(180.0)}},
	} {
		c.git.Worktree, c.git.Untracked = new(true), new(0)
		s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a": {Git: &c.git}}}
		got := Main(decision.Decision{ID: "dir:/w/a", Kind: snapshot.KindDir, Verdict: decision.Spare, About: &c.about}, s, rules, shipped(t))
		if got.Message != want {
			t.Errorf("want %q,\n got %q", want, got.Message)
		}
	}
}

// TestWhyAWorktreeHasNotLanded holds what a person is told of a worktree that no rule found, by what git knows of it.
func TestWhyAWorktreeHasNotLanded(t *testing.T) {
	t.Parallel()
	const main = "refs/remotes/origin/main"
	for want, g := range map[string]snapshot.Git{
		"1 commit that is not on origin/main":                                                             {Landed: new(false), Upstream: main, Ahead: new(1), Commits: new(1)},
		"3 commits that are not on origin/main":                                                           {Landed: new(false), Upstream: main, Ahead: new(3), Landing: &snapshot.Landing{Into: main}},
		"2 commits that are not on trunk":                                                                 {Landed: new(false), Upstream: "refs/heads/trunk", Ahead: new(2)},
		"its work has landed; it may go when nothing":                                                     {Landed: new(false), Upstream: main, Ahead: new(3), Landing: &snapshot.Landing{By: "squash", Into: main}},
		"the branch that was brought here has landed":                                                     {Landed: new(false), Upstream: main, Commits: new(0), Ahead: new(2), Landing: &snapshot.Landing{By: "squash", Into: main}},
		"nothing was committed in it yet; it may go when":                                                 {Landed: new(true), Upstream: main, Commits: new(0)},
		"nothing was committed in it yet; its files are looked at later, and may keep it; it may go when": {Landed: new(true), Upstream: main, Commits: new(0)},
		"the default branch is checked out in it":                                                         {Landed: new(true), Upstream: main, Commits: new(2), Branch: "refs/heads/main"},
		"no rule found a reason to reap it":                                                               {Upstream: main},
		"its commits are not all on the default branch":                                                   {Landed: new(false)},
		"its work has landed; it may go when nothing has":                                                 {Landed: new(true), Upstream: main, Commits: new(2), Branch: "refs/heads/x"},
	} {
		g.Worktree = new(true)
		if !strings.Contains(want, "looked at later") {
			g.Untracked = new(0)
		}
		s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a": {Git: &g}}}
		got := Main(decision.Decision{ID: "dir:/w/a", Kind: snapshot.KindDir, Verdict: decision.Spare}, s, nil, shipped(t))
		if !strings.HasPrefix(got.Message, want) {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}

// A branch may be called like what stands for the candidate in a command.
func TestACommandNamesABranchAsItIs(t *testing.T) {
	t.Parallel()
	no, worktree := false, true
	s := &snapshot.Snapshot{Dirs: map[string]snapshot.Dir{"dir:/w/a": {Git: &snapshot.Git{Worktree: &worktree, Landed: &no, Upstream: "refs/remotes/origin/REPO-IDEAS"}}}}
	d := decision.Decision{ID: "dir:/w/a", Kind: snapshot.KindDir, Verdict: decision.Spare, About: &decision.About{Repository: "/w/main"}}
	if got, want := Main(d, s, nil, shipped(t)).Next, "git -C /w/a log --oneline origin/REPO-IDEAS..HEAD"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
