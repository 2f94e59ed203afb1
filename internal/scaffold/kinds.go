package scaffold

import "strings"

// about is what the templates write about one kind of candidate. In its texts %o is the name of the rule's list in
// rules.custom, %w a word that the name of the example begins with.
type about struct {
	Kind, Thing, Several string
	// Field is a word for the name that is compared, Name its path below input.
	Field, Name       string
	Needs, Candidates string
	// Wait says what the duration is for; "" where the rule has none. And, Means and Message say what else must hold.
	Wait, And, Means, Message string
	Conditions                []string
	Evidence                  string
	// Subject is an input that the rule finds, Spare the path and the value that make it stay, SpareName what that is.
	Subject, SpareName, Spare string
	// Facts are the paths without which nothing is found, the path of the name first.
	Facts []string
}

const idleWait = "how long nothing must have happened in one"

var kinds = map[string]about{
	"tabs": {
		Kind: "tab", Thing: "tabs", Several: "Tabs of herdr", Field: "label", Name: "tab.label", Needs: "herdr",
		And: " and that nobody looks at", Means: "Its label is listed, and it does not have the focus.",
		Message:    "its label is listed, and nobody looks at it",
		Conditions: []string{"input.tab.focused == false"}, Evidence: `, "focused": input.tab.focused`,
		Subject: `{
	"kind": "tab",
	"tab": {"label": "%w1", "focused": false},
	"config": {"custom": {"%o": ["%w"]}},
}`,
		SpareName: "one_that_somebody_looks_at", Spare: `"/tab/focused", true`,
		Facts: []string{"/tab/label", "/tab/focused", "/tab", "/kind"},
	},
	"sessions": {
		Kind: "session", Thing: "sessions", Several: "Sessions of tmux", Field: "name", Name: "session.name",
		Needs: "tmux", Wait: idleWait,
		And:        ",\n#   and in which nothing has happened for `rules.custom.%o_after`",
		Means:      "Its name is listed, and nothing has happened in it for long enough.",
		Message:    "its name is listed, and nothing has happened in it for long",
		Conditions: []string{"input.idle >= input.config.custom.%o_after"}, Evidence: `, "idle": input.idle`,
		Subject: `{
	"kind": "session",
	"session": {"name": "%w1"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		SpareName: "one_in_which_something_happened", Spare: `"/idle", 60`,
		Facts: []string{"/session/name", "/session", "/kind", "/idle", "/config/custom/%o_after"},
	},
	"terminals": {
		Kind: "terminal", Thing: "terminals", Several: "Terminals of Codev", Field: "label",
		Name: "terminal.label", Needs: "codev", Wait: "how long one must have printed nothing",
		And:        ",\n#   and that have printed nothing for `rules.custom.%o_after`",
		Means:      "Its label is listed, it has exited, and it has printed nothing for long enough.",
		Message:    "its label is listed, it has exited, and it has printed nothing for long",
		Conditions: []string{`input.terminal.status == "exited"`, "input.idle >= input.config.custom.%o_after"},
		Evidence:   `, "idle": input.idle`,
		Subject: `{
	"kind": "terminal",
	"terminal": {"label": "%w1", "status": "exited"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		SpareName: "one_that_runs", Spare: `"/terminal/status", "running"`,
		Facts: []string{"/terminal/label", "/terminal/status", "/terminal", "/kind", "/idle", "/config/custom/%o_after"},
	},
	"dirs": {
		Kind: "dir", Thing: "folders", Several: "Folders", Field: "name", Name: "dir.name", Needs: "dirs",
		Wait:       idleWait,
		And:        ",\n#   and in which nothing has happened for `rules.custom.%o_after`",
		Means:      "Its name is listed, and nothing has happened in it for long enough.",
		Message:    "its name is listed, and nothing has happened in it for long",
		Conditions: []string{"input.idle >= input.config.custom.%o_after"}, Evidence: `, "idle": input.idle`,
		Subject: `{
	"kind": "dir",
	"dir": {"name": "%w1"},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		SpareName: "one_in_which_something_happened", Spare: `"/idle", 60`,
		Facts: []string{"/dir/name", "/dir", "/kind", "/idle", "/config/custom/%o_after"},
	},
	"content": {
		Kind: "dir", Thing: "folders in worktrees", Several: "Folders in linked worktrees, which git ignores,",
		Field: "name", Name: "dir.name", Needs: "worktrees, parts", Wait: idleWait,
		And: ",\n#   and in whose worktree nothing has happened for `rules.custom.%o_after`. " +
			"What `rules.rebuildable` does not name,\n#   protect.unsaved keeps",
		Means:   "Its name is listed, git ignores it as a whole, and nothing has happened in its worktree for long enough.",
		Message: "its name is listed, git ignores it, and nothing has happened in its worktree for long",
		Conditions: []string{
			"input.dir.content.linked == true", "input.dir.content.ignored == true", "input.dir.content.tracked == 0",
			"input.dir.content.others == 0",
			"input.idle >= input.config.custom.%o_after",
		}, Evidence: `, "idle": input.idle`,
		Subject: `{
	"kind": "dir",
	"dir": {"name": "%w1", "content": {"linked": true, "ignored": true, "tracked": 0, "others": 0}},
	"idle": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		SpareName: "one_with_a_file_that_git_tracks", Spare: `"/dir/content/tracked", 1`,
		Facts: []string{"/dir/name", "/dir/content/linked", "/dir/content/ignored",
			"/dir/content/tracked", "/dir/content/others", "/dir", "/kind", "/idle", "/config/custom/%o_after"},
	},
	"processes": {
		Kind: "process", Thing: "processes",
		Several: "Processes that carry an agent's marker, are no agent themselves, and", Field: "name",
		Name: "process.name", Candidates: "marked",
		Wait: "how long one must have run", And: ",\n#   and that have run for `rules.custom.%o_after`",
		Means:   "Its name is listed, an agent marked it, and it has run for long enough.",
		Message: "its name is listed, an agent marked it, and it has run for long",
		Conditions: []string{
			"count(input.lineage.markers) > 0", "input.lineage.is_agent == false", "input.age >= input.config.custom.%o_after",
		},
		Evidence: `, "age": input.age`,
		Subject: `{
	"kind": "process",
	"process": {"name": "%w1"},
	"lineage": {"markers": ["AGENT_SESSION"], "is_agent": false},
	"age": 300000,
	"config": {"custom": {"%o": ["%w"], "%o_after": 259200}},
}`,
		SpareName: "an_agent", Spare: `"/lineage/is_agent", true`,
		Facts: []string{"/process/name", "/lineage/markers", "/lineage/is_agent", "/lineage", "/kind", "/age",
			"/config/custom/%o_after"},
	},
}

// values are what the templates need for one rule.
type values struct {
	Rule
	about
	Title, Own, Word string
}

func (r Rule) values() values {
	v := values{Rule: r, Title: "Labelled " + r.Leaf, Own: r.Leaf + "_labels",
		Word: strings.ReplaceAll(r.Leaf, "_", "-") + "-"}
	if r.Folder == "" {
		return v
	}
	v.about, v.Own = kinds[r.Folder], r.Leaf+"_"+r.Folder
	v.Title = strings.ToUpper(r.Leaf[:1]) + strings.ReplaceAll(r.Leaf[1:], "_", " ") + " " + v.Thing
	return v
}
