package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// weight says how much the objections of a rule tell a person, and under which words they are counted.
type weight struct {
	rule string
	// when is true for the objections of the rule that the line is about; nil for all.
	when func(decision.Reason) bool
	// group is what several of them are counted under.
	group string
	// say gives the reason in words for a person; nil leaves the rule's own message.
	say func(decision.Reason) string
	// next is the command to run about it, with the quoted id in the place of ID, the folder in that of DIR and its repository in that of REPO; "" for
	// no command. One of git's is for worktrees alone, and one in DIR for a folder that is there.
	next string
}

// weights are in the order of what a person wants to know first: what somebody asked for, then who uses it, then what would be lost, then
// what is not known, then what passes by itself. The last two lines are what the look's own thrift made: they tell nothing of the
// candidate where anything else does. A rule that is not listed, such as one of a person's own, stands where own says.
var weights = []weight{
	{rule: "protect.self", when: stated, group: "in use by Winnow itself"},
	{rule: "protect.held", when: by("owner"), group: "held", next: "winnow release ID"},
	{rule: "protect.held", when: stated, group: "retained by their registry"},
	{rule: "protect.excepted", when: stated, group: "excepted by the policies"},
	{rule: "protect.project", when: stated, group: "kept by their project"},
	{rule: "protect.live", when: by("holders"), group: "in use", say: users},
	{rule: "protect.live", when: stated, group: "in use"},
	{rule: "protect.attached", when: stated, group: "shown to a person"},
	{rule: "protect.protected", when: holds("lock"), group: "locked", say: locked, next: "git -C REPO worktree unlock DIR"},
	{rule: "protect.protected", when: stated, group: "protected"},
	{rule: "protect.owned", when: either(by("agent"), by("veiled_by")), group: "may be of an agent that is alive"},
	{rule: "protect.owned", when: stated, group: "have an owner on record that has not ended"},
	{rule: "protect.unsaved", when: holds("commit"), group: "hold commits found only there", next: "git -C DIR log --oneline -5"},
	{rule: "protect.unsaved", when: both(stated, worked), group: "hold files found only there", next: "git -C DIR status --short --ignored"},
	{rule: "protect.nested", when: both(stated, worked), group: "hold another repository or a mount"},
	{rule: "protect.workspace", when: stated, group: "needed by their workspace"},
	{rule: untriedRule, when: stated, group: "of an untried herdr protocol", say: func(decision.Reason) string { return "closing was not tried with its server" }},
	{rule: "protect.shown", when: stated, group: "waiting for what they show"},
	{rule: own},
	{rule: decision.PolicyError, group: "without an answer of the policies"},
	{rule: decision.RuleUnknown, group: "not fully known"},
	{rule: unread, group: "not fully known"},
	{rule: nothing},
	{rule: "protect.young", group: "young"},
	{rule: "protect.awake", group: "waiting for a steady clock"},
	{rule: decision.RuleSeenOnce, group: "waiting for a second look"},
	{rule: noReason},
	{rule: "protect.unsaved", group: "not looked into"},
	{rule: "protect.nested", group: "not looked into"},
}

// Places in weights that are of no single rule.
const (
	// own is a rule that weights does not list.
	own = "own"
	// unread is an objection of a listed rule that says only that something is not known.
	unread = "unread"
	// nothing is that no rule found a reason to reap, where the facts say why not; noReason where they do not.
	nothing  = "nothing"
	noReason = "no reason"
)

// Main is the one reason that says most of d. s is what it was decided on and rules is with which times, nil where that is not at hand.
func Main(d decision.Decision, s *snapshot.Snapshot, rules *subject.Config) *decision.Main {
	if d.Verdict == decision.Reap || d.Level != "" || d.Waits() {
		_, counting := d.Counting()
		if len(counting) == 0 {
			counting = d.Findings
		}
		if len(counting) > 0 {
			return &decision.Main{Rule: counting[0].Rule, Group: counting[0].Rule, Message: Messages(counting)}
		}
	}
	best, place := (*decision.Main)(nil), len(weights)
	for _, o := range d.Objections {
		if at := weigh(o); at < place {
			best, place = weights[at].of(d, o), at
		}
	}
	if len(d.Findings) > 0 {
		return best
	}
	if m := unfound(d, s, rules); m != nil && placeOf(nothing) < place {
		return m
	}
	if best == nil || placeOf(noReason) < place {
		return &decision.Main{Group: "without a reason to reap them", Message: "no rule found a reason to reap it"}
	}
	return best
}

// weigh gives the place of an objection in weights.
func weigh(o decision.Reason) int {
	listed := false
	for i, w := range weights {
		if w.rule != o.Rule {
			continue
		}
		listed = true
		if w.when == nil || w.when(o) {
			return i
		}
	}
	if listed {
		return placeOf(unread)
	}
	return placeOf(own)
}

func placeOf(rule string) int {
	for i, w := range weights {
		if w.rule == rule {
			return i
		}
	}
	return len(weights)
}

func (w weight) of(d decision.Decision, o decision.Reason) *decision.Main {
	said, _, _ := strings.Cut(o.Message, "; "+thrift)
	m := &decision.Main{Rule: o.Rule, Group: w.group, Message: strings.TrimSuffix(said, ".")}
	if m.Group == "" {
		m.Group = "kept by " + strings.TrimPrefix(o.Rule, "protect.")
	}
	if w.say != nil {
		m.Message = w.say(o)
	}
	m.Next = command(w.next, d)
	return m
}

// command writes a command about d, "" where it is git's and d is no worktree, or where it works in a folder that is gone.
func command(pattern string, d decision.Decision) string {
	if pattern == "" {
		return ""
	}
	repository := ""
	if d.About != nil {
		repository = d.About.Repository
	}
	if strings.HasPrefix(pattern, "git ") && repository == "" || strings.HasPrefix(pattern, "git -C DIR ") && d.About.Gone {
		return ""
	}
	words := strings.Split(pattern, " ")
	for i, word := range words {
		switch word {
		case "ID":
			words[i] = text.Quote(d.ID)
		case "DIR":
			words[i] = text.Quote(strings.TrimPrefix(d.ID, snapshot.KindDir+":"))
		case "REPO":
			words[i] = text.Quote(repository)
		}
	}
	return strings.Join(words, " ")
}

// stated is true for an objection that states something, false for one that says only that something is not known. By custom such a message
// begins with what is not known: "whether a process uses it is unknown".
func stated(o decision.Reason) bool {
	for _, word := range []string{"whether ", "what ", "when "} {
		if strings.HasPrefix(o.Message, word) {
			return false
		}
	}
	return !strings.Contains(o.Message, "is not known")
}

// Says is false for an objection that the look's thrift made: it tells a person nothing where anything else was said.
func Says(o decision.Reason) bool { return worked(o) }

// worked is false for an objection that the look's thrift made: something cheaper already kept the folder, so that nobody looked into it.
func worked(o decision.Reason) bool { return !strings.HasPrefix(o.Message, thrift) }

// thrift begins what policies say of a folder that nobody looked into.
const thrift = "it was not looked into"

// Real are the objections without those that the look's thrift made, where there are others.
func Real(objections []decision.Reason) []decision.Reason {
	real := slices.DeleteFunc(slices.Clone(objections), func(o decision.Reason) bool { return !worked(o) })
	if len(real) == 0 {
		return objections
	}
	return real
}

func holds(word string) func(decision.Reason) bool {
	return func(o decision.Reason) bool { return stated(o) && strings.Contains(o.Message, word) }
}

// by is true for an objection whose evidence has something under that name.
func by(name string) func(decision.Reason) bool {
	return func(o decision.Reason) bool {
		switch v := o.Evidence[name].(type) {
		case nil:
			return false
		case []any:
			return len(v) > 0
		case string:
			return v != ""
		}
		return true
	}
}

func both(x, y func(decision.Reason) bool) func(decision.Reason) bool {
	return func(o decision.Reason) bool { return x(o) && y(o) }
}

// locked says who holds a lock; the command that takes it away is the next step.
func locked(o decision.Reason) string {
	said, _, _ := strings.Cut(o.Message, ": git -C ")
	return said
}

func either(x, y func(decision.Reason) bool) func(decision.Reason) bool {
	return func(o decision.Reason) bool { return x(o) || y(o) }
}

// mostUsers is how many users of a folder one line names.
const mostUsers = 3

// users says who uses a folder.
func users(o decision.Reason) string {
	var holders []snapshot.Holder
	data, err := json.Marshal(o.Evidence["holders"])
	if err != nil || json.Unmarshal(data, &holders) != nil || len(holders) == 0 {
		return o.Message
	}
	var names []string
	for _, h := range holders {
		name := fmt.Sprintf("%s (%d)", h.Name, h.PID)
		if h.PID == 0 {
			name = h.Name
		}
		names = append(names, name)
	}
	rest := ""
	if n := len(names) - mostUsers; n > 0 {
		names, rest = names[:mostUsers], fmt.Sprintf(" and %d more", n)
	}
	return "in use by " + strings.Join(names, ", ") + rest
}

// notUpstream is the rest of a range of git's from an upstream on.
func notUpstream(upstream string) string {
	if upstream == "" {
		return ""
	}
	return "..HEAD"
}

// unfound says why no rule found a reason to reap, where the facts of the candidate show it.
func unfound(d decision.Decision, s *snapshot.Snapshot, rules *subject.Config) *decision.Main {
	if d.About != nil && d.About.Agent != "" {
		return &decision.Main{Group: "may be of an agent that is alive", Message: "its agent may be " + d.About.Agent + ", which is alive"}
	}
	if s == nil {
		return nil
	}
	g := s.Dirs[d.ID].Git
	if g == nil || g.Worktree == nil || !*g.Worktree {
		return nil
	}
	if g.Landed == nil && g.Upstream == "" && g.Commits != nil && d.About != nil && !d.About.Gone {
		return &decision.Main{Group: "without a known default branch", Message: "which branch is its repository's default one is not known, so that it is not known either whether its work has landed",
			Next: setHead(d, g)}
	}
	if g.Landed == nil {
		return nil
	}
	if rules == nil {
		rules = &subject.Config{}
	}
	upstream := branchName(g.Upstream)
	proven := g.Landing != nil && g.Landing.By != ""
	switch {
	case d.About != nil && d.About.Gone:
		return later(d, "gone lately", "its folder is gone; git still lists it", rules.LandedAfter, "rules.landed_after")
	case ofDefault(g):
		return &decision.Main{Group: "the default branch", Message: "the default branch is checked out in it"}
	case *g.Landed && g.Commits != nil && *g.Commits == 0:
		m := later(d, "without a commit of their own", "nothing was committed in it yet", rules.AbandonedAfter, "rules.abandoned_after")
		m.Next = command("winnow cleanup ID --safe --mine", d)
		return m
	case proven && !*g.Landed && g.Commits != nil && *g.Commits == 0:
		return &decision.Main{Group: "landed lately", Message: "the branch that was brought here has landed; it may go when nobody has touched it for rules.abandoned_after"}
	case *g.Landed || proven:
		return later(d, "landed lately", "its work has landed", rules.LandedAfter, "rules.landed_after")
	default:
		said := "its commits are not all on " + cmp.Or(upstream, "the default branch")
		if g.Ahead != nil && *g.Ahead > 0 {
			said = counted(*g.Ahead, "commit that is", "commits that are") + " not on " + cmp.Or(upstream, "the default branch")
		}
		if g.Landing == nil && rules.LandedAfter > 0 && idle(d) < rules.LandedAfter {
			said += "; whether their changes were squashed into it is looked at once nothing has happened in it for " + span(rules.LandedAfter)
		}
		return &decision.Main{Group: "not on " + cmp.Or(upstream, "the default branch"), Message: said + signs(d.ID, s),
			Next: command("git -C DIR log --oneline "+cmp.Or(text.Quote(upstream), "-5")+notUpstream(upstream), d)}
	}
}

// setHead is the command that asks the remote for its default branch, "" where nothing shows that there is one.
func setHead(d decision.Decision, g *snapshot.Git) string {
	remote, _, _ := strings.Cut(strings.TrimPrefix(g.Followed, "refs/remotes/"), "/")
	if remote == "" && g.FetchedAt == nil {
		return ""
	}
	return command("git -C REPO remote set-head "+text.Quote(cmp.Or(remote, "origin"))+" --auto", d)
}

// freshFetch is the time after a fetch for which another one is not advised.
const freshFetch = 10 * time.Minute

// signs says what besides its commits suggests that the work of a worktree has landed, or that it has not, and what may show it; "" where
// nothing is recorded.
func signs(id string, s *snapshot.Snapshot) string {
	d := s.Dirs[id]
	var records []snapshot.PullRequest
	for _, e := range s.Registry {
		if e.PullRequest != nil && e.Path == d.Path && e.Own != nil && *e.Own {
			records = append(records, *e.PullRequest)
		}
	}
	said := strings.Join(d.Git.Signs(records), " and ")
	fresh := d.Git.FetchedAt != nil && s.TakenAt.Sub(*d.Git.FetchedAt) < freshFetch
	switch {
	case said == "":
		return ""
	case !d.Git.MayHaveLanded(records):
		return "; " + said
	case fresh || !strings.HasPrefix(d.Git.Upstream, "refs/remotes/"):
		return "; " + said + ", which is no proof that they have landed"
	}
	return "; " + said + ": `winnow sweep --fetch` may show that they have landed"
}

// later says when a worktree may go that was used too lately, by the time that a key of the configuration gives, in seconds.
func later(d decision.Decision, group, said string, limit float64, key string) *decision.Main {
	m := &decision.Main{Group: group, Message: said + "; it may go when nothing has happened in it for " + key}
	switch at := idle(d); {
	case limit <= 0 || at < 0:
	case at < limit:
		m.Message = fmt.Sprintf("%s; it may go when nothing has happened in it for %s (%s), and the last was %s ago", said, span(limit), key, span(at))
	default: // long enough: one of the rule's other conditions does not hold
		m.Message, m.Next = said+"; another condition of the rule does not hold", command("winnow explain ID --rules", d)
	}
	return m
}

// idle is for how many seconds nothing has happened in a candidate, -1 where that is not known.
func idle(d decision.Decision) float64 {
	if d.About == nil || d.About.Idle == nil {
		return -1
	}
	return *d.About.Idle
}

func span(seconds float64) string { return text.Span(config.Seconds(seconds)) }

// branchName is a branch as git takes it and a person says it.
func branchName(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
}

// ofDefault says whether a worktree has the default branch checked out, as policies/lib/dirs does.
func ofDefault(g *snapshot.Git) bool {
	branch := branchName(g.Branch)
	return branch != "" && (branch == "main" || branch == "master" || branch == "trunk" || strings.HasSuffix(g.Upstream, "/"+branch))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
