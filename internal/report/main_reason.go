package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/metadata"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Ranks of what is not an objection that a rule's METADATA gives a rank to. Rules that ship have those below rankOwn for what states something, and those
// above rankNothing for what passes by itself. Above rankNoReason is what a look skipped: it says nothing of the candidate where anything else does.
const (
	rankOwn      = 100
	rankError    = 110
	rankUnknown  = 130 // protect.unknown, which names the cause
	rankUnread   = 131
	rankNothing  = 200
	rankNoReason = 300
	rankSkipped  = 400
	rankLast     = 1000
)

// Main is the one reason that says most of d. s is what it was decided on, rules are the times and p the policies; each is nil where it is not at hand.
func Main(d decision.Decision, s *snapshot.Snapshot, rules *subject.Config, p *policy.Policy) *decision.Main {
	if d.Verdict == decision.Reap || d.Level != "" || d.Waits() {
		_, counting := d.Counting()
		if len(counting) == 0 {
			counting = d.Findings
		}
		if len(counting) > 0 {
			return &decision.Main{Rule: counting[0].Rule, Group: counting[0].Rule, Message: Messages(counting)}
		}
	}
	best, lowest := (*decision.Main)(nil), rankLast
	for _, o := range d.Objections {
		if w := weigh(o, p); w.Rank < lowest {
			best, lowest = tell(w, d, o, s), w.Rank
		}
	}
	if best != nil && s != nil && lowest >= rankUnknown && lowest < rankNothing {
		best.Message = cmp.Or(s.Dirs[d.ID].Error, best.Message) // the cause says more than what could not be read because of it
	}
	if len(d.Findings) > 0 {
		return best
	}
	if m := unfound(d, s, rules); m != nil && rankNothing < lowest {
		return m
	}
	if best == nil || rankNoReason < lowest {
		return &decision.Main{Group: "without a reason to reap them", Message: "no rule found a reason to reap it"}
	}
	return best
}

// MainOf is the main reason of a decision, also of one in a report that was not made here.
func MainOf(d decision.Decision) *decision.Main {
	if d.Main != nil {
		return d.Main
	}
	return Main(d, nil, nil, nil)
}

// weigh gives how a person is told of an objection: as the METADATA of its rule says, where it states something.
func weigh(o decision.Reason, p *policy.Policy) metadata.Summary {
	if !Says(o) {
		return metadata.Summary{Rank: rankSkipped, Group: "not looked into"}
	}
	if o.Rule == decision.PolicyError {
		return metadata.Summary{Rank: rankError, Group: "without an answer of the policies"}
	}
	var all []metadata.Summary
	if p != nil {
		all = p.Rule(o.Rule).Summaries
	}
	known := len(all) == 0 || stated(o)
	for _, w := range all {
		if about(w, o) && (known || len(w.Evidence) > 0 || w.Passes || w.Rank >= rankUnknown) {
			return w
		}
	}
	if !known {
		return metadata.Summary{Rank: rankUnread, Group: "not fully known"}
	}
	return metadata.Summary{Rank: rankOwn, Group: "kept by " + decision.Leaf(o.Rule)}
}

// about reports whether a summary is about an objection.
func about(w metadata.Summary, o decision.Reason) bool {
	return strings.Contains(o.Message, w.Word) && (len(w.Evidence) == 0 || slices.ContainsFunc(w.Evidence, func(name string) bool { return has(o, name) }))
}

// has is true for an objection whose evidence has something under that name.
func has(o decision.Reason, name string) bool {
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

// tell writes the main reason of a decision from an objection.
func tell(w metadata.Summary, d decision.Decision, o decision.Reason, s *snapshot.Snapshot) *decision.Main {
	m := &decision.Main{Rule: o.Rule, Group: w.Group, Message: o.Message, Next: command(w.Next, d), Passes: w.Passes}
	if slices.Contains(w.Evidence, "holders") { // who uses a folder is named in few words
		if names := holders(o.Evidence["holders"], s); names != "" {
			m.Message = "in use by " + names
		}
	}
	if w.Message != "" {
		m.Message, m.Once = w.Message, o.Message
	}
	m.Message, _, _ = strings.Cut(m.Message, "; "+thrift)
	if m.Next != "" { // the command that Next is
		m.Message, _, _ = strings.Cut(m.Message, ": git -C ")
	}
	m.Message = strings.TrimSuffix(m.Message, ".")
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
	begins := func(word string) bool { return strings.HasPrefix(o.Message, word) }
	return !slices.ContainsFunc([]string{"whether ", "what ", "when "}, begins) && !strings.Contains(o.Message, "is not known")
}

// Says is false for an objection that the look's thrift made, since something cheaper already kept the folder: it tells a person nothing where
// anything else was said.
func Says(o decision.Reason) bool { return !strings.HasPrefix(o.Message, thrift) }

// thrift begins what policies say of a folder that was not looked into.
const thrift = "it was not looked into"

// Real are the objections without those that the look's thrift made, where there are others.
func Real(objections []decision.Reason) []decision.Reason {
	real := slices.DeleteFunc(slices.Clone(objections), func(o decision.Reason) bool { return !Says(o) })
	if len(real) == 0 {
		return objections
	}
	return real
}

// mostUsers is how many users of a folder one line names.
const mostUsers = 3

// pane names the pane and the session that a process runs in, "" where they are not known.
func pane(s *snapshot.Snapshot, pid int) string {
	if s == nil {
		return ""
	}
	for _, session := range s.Sessions {
		for _, p := range session.Panes {
			if slices.Contains(p.SessionPIDs, pid) {
				return " in pane " + p.ID + " of " + session.Name
			}
		}
	}
	return ""
}

// holders are the names, pids and panes of the users of a folder, "" where there are none.
func holders(list any, s *snapshot.Snapshot) string {
	var hs []snapshot.Holder
	if data, err := json.Marshal(list); err != nil || json.Unmarshal(data, &hs) != nil {
		return ""
	}
	var names []string
	for _, h := range hs {
		name := fmt.Sprintf("%s (%d)", h.Name, h.PID)
		if h.PID == 0 {
			name = h.Name
		}
		names = append(names, name+pane(s, h.PID))
	}
	rest := ""
	if n := len(names) - mostUsers; n > 0 {
		names, rest = names[:mostUsers], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + rest
}

// unfound says why no rule found a reason to reap, where the facts of the candidate show it.
func unfound(d decision.Decision, s *snapshot.Snapshot, rules *subject.Config) *decision.Main {
	if d.About != nil && d.About.Agent != "" {
		return &decision.Main{Group: "may be of an agent that is alive", Message: "its agent may be " + d.About.Agent + ", which is alive"}
	}
	if s == nil {
		return nil
	}
	if at := idle(d); d.Kind == snapshot.KindSession && rules != nil && at >= 0 && at < rules.SessionIdle {
		return &decision.Main{Group: "idle for too short a time", Message: fmt.Sprintf("idle for %s of %s; it may go at %s", span(at), span(rules.SessionIdle),
			Clock(s.TakenAt.Add(config.Seconds(rules.SessionIdle-at))))}
	}
	g := s.Dirs[d.ID].Git
	if g == nil || g.Worktree == nil || !*g.Worktree {
		return nil
	}
	if g.Landed == nil && g.Upstream == "" && g.Commits != nil && d.About != nil && !d.About.Gone {
		return &decision.Main{Group: "without a known default branch", Message: "its repository's default branch is not known, so nothing shows whether its work has landed",
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
		return later(d, g, "gone lately", "its folder is gone; git still lists it", rules.LandedAfter, "rules.landed_after")
	case ofDefault(g):
		return &decision.Main{Group: "the default branch", Message: "the default branch is checked out in it"}
	case *g.Landed && g.Commits != nil && *g.Commits == 0:
		m := later(d, g, "without a commit of their own", "nothing was committed in it yet", rules.AbandonedAfter, "rules.abandoned_after")
		if g.Untracked != nil {
			m.Next = command("winnow cleanup ID --safe --mine", d)
		}
		return m
	case proven && !*g.Landed && g.Commits != nil && *g.Commits == 0:
		return &decision.Main{Group: "landed lately", Message: "the branch that was brought here has landed; it may go after rules.abandoned_after"}
	case *g.Landed || proven:
		return later(d, g, "landed lately", "its work has landed", rules.LandedAfter, "rules.landed_after")
	default:
		said := "its commits are not all on " + cmp.Or(upstream, "the default branch")
		if g.Ahead != nil && *g.Ahead > 0 {
			are := "that are"
			if *g.Ahead == 1 {
				are = "that is"
			}
			said = fmt.Sprintf("%s %s not on %s", text.Plural(*g.Ahead, "commit"), are, cmp.Or(upstream, "the default branch"))
		}
		if g.Landing == nil && rules.LandedAfter > 0 && idle(d) < rules.LandedAfter {
			said += "; whether their changes were squashed into it is looked at once nothing has happened in it for " + span(rules.LandedAfter)
		}
		next := "git -C DIR log --oneline " + text.Quote(cmp.Or(upstream, "-5"))
		if upstream != "" {
			next += "..HEAD"
		}
		if g.PushedAt != nil && (g.FetchedAt == nil || g.PushedAt.After(*g.FetchedAt)) {
			said += "; its branch was pushed after the last fetch, so that a fetch may show that they have landed"
			next = "git -C DIR fetch"
		}
		return &decision.Main{Group: "not on " + cmp.Or(upstream, "the default branch"), Message: said + signs(d.ID, s), Next: command(next, d)}
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

// later says when a worktree may go that was used too lately, by the time that a key of the configuration gives, in seconds. One whose files were not
// looked at may hold work.
func later(d decision.Decision, g *snapshot.Git, group, said string, limit float64, key string) *decision.Main {
	if g.Untracked == nil && (d.About == nil || !d.About.Gone) {
		said += "; its files are looked at later, and may keep it"
	}
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

// spans are the facts that are a number of seconds, by the last part of their name.
var spans = []string{
	"age", "idle", "made", "client_idle", "owner_seen", "steady", "first", "last", "completed", "ended", "started", "seen", "quiet",
}

// Counterfactual says in words what would have to be otherwise: "it would go if input.dir.git.dirty were 0 (it is 3)". Empty where that was not
// searched.
func Counterfactual(o *decision.Counterfactual) string {
	if o == nil {
		return ""
	}
	would := "it would go"
	if o.Verdict == decision.Spare {
		would = "it would stay"
	}
	if len(o.Ways) == 0 {
		return o.Limit
	}
	return would + " " + text.Join(o.Ways, ", or ", func(w decision.Way) string { return "if " + Way(w) })
}

// factPath is a fact's place in what rules read.
var factPath = regexp.MustCompile(`\binput\.(?:(?:dir|session|tab|terminal|process)\.)?(?:git\.)?([\w.]+)`)

// PlainCounterfactual is Counterfactual in one sentence, with facts by their names alone.
func PlainCounterfactual(o *decision.Counterfactual) string {
	first, _, _ := strings.Cut(Counterfactual(o), ". --rules")
	return factPath.ReplaceAllStringFunc(first, func(fact string) string {
		return strings.ReplaceAll(factPath.FindStringSubmatch(fact)[1], "_", " ")
	})
}

// Way is one way in words, without the "if" before it.
func Way(w decision.Way) string {
	return text.Join(w, " and ", change)
}

func change(c decision.Change) string {
	if c.Fact == "input.sighting" {
		return earlier(c)
	}
	if _, object := c.To.(map[string]any); object && strings.Contains(c.Fact, ".panes[") && strings.HasSuffix(c.Fact, "]") {
		return "nothing but its shell ran in " + c.Fact
	}
	list, _ := c.To.([]any)
	_, isList := c.To.([]any)
	_, object := c.From.(map[string]any)
	switch {
	case c.Gone && (object || strings.HasSuffix(c.Fact, "]")):
		return "there were no " + c.Fact + is(c)
	case c.Gone:
		return c.Fact + " were not known" + is(c)
	case c.Fact == "input.holders" && isList && len(list) == 0 && holders(c.From, nil) != "":
		return holders(c.From, nil) + " had left it"
	case isList && len(list) == 0, c.To == "":
		return c.Fact + " were empty" + is(c)
	}
	to := shown(c.Fact, c.To)
	if c.Bound != "" {
		to = c.Bound + " " + to
	}
	return c.Fact + " were " + to + is(c)
}

// earlier is an earlier look that found the same.
func earlier(c decision.Change) string {
	if c.Gone {
		return "no earlier look had found the same"
	}
	to, _ := c.To.(map[string]any)
	said := fmt.Sprintf("a look %s ago had found the same", shown("first", to["first"]))
	if _, idle := to["idle"]; idle {
		said += ", and it had done nothing since"
	}
	return said
}

// maxFrom is how many columns of what a fact is are shown in a sentence.
const maxFrom = 60

// is says what the fact is now.
func is(c decision.Change) string {
	if c.Unknown {
		return " (it is not known)"
	}
	from := shown(c.Fact, c.From)
	if list, ok := c.From.([]any); ok && len(from) > maxFrom {
		return fmt.Sprintf(" (it has %d)", len(list))
	}
	if len(from) > maxFrom {
		return ""
	}
	return " (it is " + from + ")"
}

// shown is a fact's value for a person: seconds as a span of time.
func shown(fact string, v any) string {
	if n, ok := number(v); ok && slices.Contains(spans, fact[strings.LastIndex(fact, ".")+1:]) && n >= 1 {
		return text.Span(time.Duration(n * float64(time.Second)))
	}
	data, err := json.Marshal(v)
	if err != nil {
		return text.Clean(fmt.Sprint(v))
	}
	return text.Clean(string(termsafe.JSON(data)))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}
