package scaffold

import "strings"

// about is what the templates say of one kind of candidate. Texts with %o stand for the name of the rule's list in rules.custom, with %w for a word
// that the name of the example begins with.
type about struct {
	kind, thing, several string
	// field is a word for the name that is compared, name its path below input.
	field, name string
	needs       string
	candidates  string
	// wait says what the duration is for; "" where the rule has none. and, means and message say what else must hold.
	wait, and, means, message string
	conditions                []string
	evidence                  string
	// subject is an input that the rule finds, spare the path and the value that make it stay, spareName what that is, facts the paths
	// without which nothing is found.
	subject, spareName, spare string
	facts                     []string
	// world, candidate, change and seen make the case.
	world, candidate, change, seen string
}

const idleWait = "how long nothing must have happened in one"

var kinds = map[string]about{
	"tabs": {
		kind: "tab", thing: "tabs", several: "Tabs of herdr", field: "label", name: "tab.label", needs: "herdr",
		and: " and that nobody looks at", means: "Its label is listed, and it does not have the focus.", message: "its label is listed, and nobody looks at it",
		conditions: []string{"input.tab.focused == false"}, evidence: `, "focused": input.tab.focused`,
		subject: `{
	"kind": "tab",
	"tab": {"label": "%w1", "focused": false},
	"config": {"custom": {"%o": ["%w"]}},
}`,
		spareName: "one_that_somebody_looks_at", spare: `"/tab/focused", true`,
		facts: []string{"/tab/label", "/tab/focused", "/tab", "/kind"},
		world: "herd", candidate: "tab:herdr/default/w1:t3", change: "  tabs:\n    tab:herdr/default/w1:t3: {label: %w1}\n",
		seen: "  tab:herdr/default/w1:t3: {rule: %r, ago: 60, changed: true}\n",
	},
	"sessions": {
		kind: "session", thing: "sessions", several: "Sessions of tmux", field: "name", name: "session.name", needs: "tmux", wait: idleWait,
		and: ",\nand in which nothing has happened for `rules.custom.%o_after`", means: "Its name is listed, and nothing has happened in it for long enough.",
		message: "its name is listed, and nothing has happened in it for long", conditions: []string{"input.idle >= input.config.custom.%o_after"}, evidence: `, "idle": input.idle`,
		subject: `{
	"kind": "session",
	"session": {"name": "%w1"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		spareName: "one_in_which_something_happened", spare: `"/idle", 60`,
		facts: []string{"/session/name", "/session", "/kind", "/idle", "/config/custom/%o_after"},
		world: "machine", candidate: "session:tmux/default/$4", change: "  sessions:\n    session:tmux/default/$4: {name: %w1}\n",
		seen: "  session:tmux/default/$4: {rule: %r, ago: 60, changed: true}\n",
	},
	"terminals": {
		kind: "terminal", thing: "terminals", several: "Terminals of Codev", field: "label", name: "terminal.label", needs: "codev", wait: "how long one must have printed nothing",
		and: ",\nand that have printed nothing for `rules.custom.%o_after`", means: "Its label is listed, it has exited, and it has printed nothing for long enough.",
		message: "its label is listed, it has exited, and it has printed nothing for long", conditions: []string{`input.terminal.status == "exited"`, "input.idle >= input.config.custom.%o_after"}, evidence: `, "idle": input.idle`,
		subject: `{
	"kind": "terminal",
	"terminal": {"label": "%w1", "status": "exited"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		spareName: "one_that_runs", spare: `"/terminal/status", "running"`,
		facts: []string{"/terminal/label", "/terminal/status", "/terminal", "/kind", "/idle", "/config/custom/%o_after"},
		world: "tower", candidate: "terminal:codev/default/cd6b3324-a081-4d61-8dfd-2808aa0676dd", change: "  terminals:\n    terminal:codev/default/cd6b3324-a081-4d61-8dfd-2808aa0676dd: {label: %w1}\n",
		seen: "  terminal:codev/default/cd6b3324-a081-4d61-8dfd-2808aa0676dd: {rule: %r, ago: 60, changed: true}\n",
	},
	"dirs": {
		kind: "dir", thing: "folders", several: "Folders", field: "name", name: "dir.name", needs: "dirs", wait: idleWait,
		and: ",\nand in which nothing has happened for `rules.custom.%o_after`", means: "Its name is listed, and nothing has happened in it for long enough.",
		message: "its name is listed, and nothing has happened in it for long", conditions: []string{"input.idle >= input.config.custom.%o_after"}, evidence: `, "idle": input.idle`,
		subject: `{
	"kind": "dir",
	"dir": {"name": "%w1"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		spareName: "one_in_which_something_happened", spare: `"/idle", 60`,
		facts: []string{"/dir/name", "/dir", "/kind", "/idle", "/config/custom/%o_after"},
		world: "machine", candidate: "dir:/w/feature", change: "  dirs:\n    dir:/w/feature: {name: %w1, git: {landed: false}}\n",
	},
	"content": {
		kind: "dir", thing: "folders in worktrees", several: "Folders in linked worktrees, which git ignores,", field: "name", name: "dir.name", needs: "worktrees, parts", wait: idleWait,
		and: ",\nand in whose worktree nothing has happened for `rules.custom.%o_after`. What `rules.rebuildable` does not name,\nprotect.unsaved keeps", means: "Its name is listed, git ignores it as a whole, and nothing has happened in its worktree for long enough.",
		message: "its name is listed, git ignores it, and nothing has happened in its worktree for long",
		conditions: []string{
			"input.dir.content.linked == true", "input.dir.content.ignored == true", "input.dir.content.tracked == 0", "input.dir.content.others == 0",
			"input.idle >= input.config.custom.%o_after",
		}, evidence: `, "idle": input.idle`,
		subject: `{
	"kind": "dir",
	"dir": {"name": "%w1", "content": {"linked": true, "ignored": true, "tracked": 0, "others": 0}},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		spareName: "one_with_a_file_that_git_tracks", spare: `"/dir/content/tracked", 1`,
		facts: []string{"/dir/name", "/dir/content/linked", "/dir/content/ignored", "/dir/content/tracked", "/dir/content/others", "/dir", "/kind", "/idle", "/config/custom/%o_after"},
		world: "machine", candidate: "dir:/w/feature/%w1", change: contentChange,
	},
	"processes": {
		kind: "process", thing: "processes", several: "Processes that carry an agent's marker, are no agent themselves, and", field: "name", name: "process.name", candidates: "marked",
		wait: "how long one must have run", and: ",\nand that have run for `rules.custom.%o_after`", means: "Its name is listed, an agent marked it, and it has run for long enough.",
		message:    "its name is listed, an agent marked it, and it has run for long",
		conditions: []string{"count(input.lineage.markers) > 0", "input.lineage.is_agent == false", "input.age >= input.config.custom.%o_after"}, evidence: `, "age": input.age`,
		subject: `{
	"kind": "process",
	"process": {"name": "%w1"},
	"lineage": {"markers": ["AGENT_SESSION"], "is_agent": false},
	"age": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		spareName: "an_agent", spare: `"/lineage/is_agent", true`,
		facts: []string{"/process/name", "/lineage/markers", "/lineage/is_agent", "/lineage", "/kind", "/age", "/config/custom/%o_after"},
		world: "machine", candidate: "process:7001@700100", change: "  processes:\n    process:7001@700100: {name: %w1}\n",
		seen: "  process:7001@700100: {rule: %r, ago: 3600, changed: true}\n",
	},
}

// contentChange adds a folder to a worktree of the machine.
const contentChange = `  dirs:
    dir:/w/feature:
      git: {landed: false, untracked: 1}
    dir:/w/feature/%w1:
      source: dirs//w
      name: %w1
      path: /w/feature/%w1
      root: /w
      modified_at: 2026-11-10T12:00:00Z
      active_at: 2026-11-12T12:00:00Z
      born_at: 2026-11-01T12:00:00Z
      symlink: false
      device: 2049
      inode: 21
      mount_id: 30
      uid: 1000
      mounts: 0
      empty: false
      checkout: false
      nested: []
      holders: []
      holders_known: true
      pointers: []
      content: {worktree: /w/feature, id: "dir:/w/feature", name: feature, main: /w/acme, linked: true, registered: true, locked: false, pattern: node_modules, maker: npm, ignored: true, tracked: 0, bytes: 612345678, others: 0}
`

// values are what the templates need for one rule.
type values struct {
	ID, Leaf, Kind, Title, Several, Thing, Field, Name, NamePath, Own, Needs, Candidates string
	And, Wait, Means, Message, Evidence                                                  string
	Conditions                                                                           []string
	Subject, SpareName, Spare                                                            string
	Facts                                                                                []string
	Sentence, World, Change, Config, Seen, Candidate, Verdict, Objections                string
	Example, Word                                                                        string
}

func (r Rule) values() values {
	word := strings.ReplaceAll(r.Leaf, "_", "-") + "-"
	v := values{ID: r.ID, Leaf: r.Leaf, Word: word, Example: word + "1"}
	if r.Folder == "" {
		v.Own, v.Title = r.Leaf+"_labels", "Labelled "+r.Leaf
		v.Sentence = "a folder that could go stays, since its label, which is its path, is listed"
		v.World, v.Candidate = "machine", "dir:/w/acme-review-1a2b3c4d"
		v.Change = "  dirs:\n    dir:/w/acme-review-1a2b3c4d: {}\n"
		v.Config = "    " + v.Own + ": [/w/acme-review-]\n"
		v.Verdict, v.Objections = "spare", r.ID
		return v
	}
	k := kinds[r.Folder]
	v.Own = r.Leaf + "_" + r.Folder
	fill := strings.NewReplacer("%o", v.Own, "%w", word, "%r", r.ID).Replace
	v.Kind, v.Several, v.Thing, v.Field, v.Name = k.kind, k.several, k.thing, k.field, k.name
	v.Title = strings.ToUpper(r.Leaf[:1]) + strings.ReplaceAll(r.Leaf[1:], "_", " ") + " " + k.thing
	v.NamePath = "/" + strings.ReplaceAll(k.name, ".", "/")
	v.Needs, v.Candidates, v.And, v.Wait, v.Means, v.Message, v.Evidence = k.needs, k.candidates, strings.ReplaceAll(fill(k.and), "\n", "\n#   "), k.wait, k.means, k.message, fill(k.evidence)
	for _, c := range k.conditions {
		v.Conditions = append(v.Conditions, fill(c))
	}
	v.Subject, v.SpareName, v.Spare = fill(k.subject), k.spareName, k.spare
	facts := append([]string{"/config/custom/%o"}, k.facts...)
	for _, f := range facts {
		v.Facts = append(v.Facts, fill(f))
	}
	v.Sentence = "one of the " + k.thing + " that are listed may go"
	v.World, v.Candidate, v.Change, v.Seen = k.world, fill(k.candidate), fill(k.change), fill(k.seen)
	v.Config = "    " + v.Own + ": [" + word + "]\n"
	if k.wait != "" {
		v.Config += "    " + v.Own + "_after: 1m\n"
	}
	v.Verdict = "reap"
	return v
}
