package config

import (
	"encoding/json"
	"reflect"
	"slices"
)

// direction says in which direction a parameter keeps more.
type direction int

const (
	// unknown is one without a known direction: every change may reap more.
	unknown direction = iota
	// larger keeps more where the number is larger, smaller where it is smaller.
	larger
	smaller
	// more keeps more with every entry that is added to the list, fewer with every one that is taken out of it.
	more
	fewer
	// yes keeps more where it is true.
	yes
	// neither changes no verdict.
	neither
)

// directions are those of all parameters, by their keys below rules. A parameter of one's own rules has none, so it is unknown. A test of the shipped
// policies moves each of them both ways in worlds of the cases, and holds that nothing goes with the value that keeps more and stays with the other one.
// Of lists that collectors go by (rebuildable, tool_files, scaffold, own_sockets, opaque_processes) no saved snapshot can show it: an entry less
// there is one thing more that is work, or that could not be read.
var directions = map[string]direction{
	"abandoned_after":       larger,
	"agent_daemons":         unknown,
	"agent_idle":            fewer,
	"session_agents":        unknown,
	"agent_packages":        more,
	"agent_scripts":         more,
	"agents":                more,
	"attached_idle":         larger,
	"busy.cpu":              smaller,
	"busy.written":          smaller,
	"clock_jump":            unknown,
	"confirm_after":         larger,
	"confirm_busy_after":    larger,
	"confirm_process_after": larger,
	"disposable_content":    fewer,
	"disposable_dirs":       unknown,
	"driven_programs":       unknown,
	"editor_names.exact":    fewer,
	"editor_names.prefix":   fewer,
	"families":              fewer,
	"grace.dir":             larger,
	"grace.process":         larger,
	"grace.session":         larger,
	"grace.shellper":        larger,
	"grace.spawn":           larger,
	"grace.terminal":        larger,
	"helper_labels.exact":   fewer,
	"helper_labels.prefix":  fewer,
	"herdr_protocols":       fewer,
	"id_markers":            unknown,
	"interpreters":          unknown,
	"landed_after":          larger,
	"lock_reasons":          fewer,
	"makers":                unknown,
	"marker_records":        unknown,
	"multiplexers":          unknown,
	"named_files":           neither,
	"never_processes":       more,
	"opaque_processes":      fewer,
	"over_statuses":         unknown,
	"own_sockets":           fewer,
	"pane_markers":          unknown,
	"personal_daemons":      unknown,
	"pid_markers":           unknown,
	"prompt_daemons":        fewer,
	"protected":             more,
	"rebuildable":           fewer,
	"recorded_folders":      more,
	"runaway.min_age":       larger,
	"runaway.min_cpu":       larger,
	"scaffold":              fewer,
	"session_idle":          larger,
	"session_names.exact":   fewer,
	"session_names.prefix":  fewer,
	"shells":                fewer,
	"spare_listeners":       yes,
	"steady_for":            larger,
	"terminal_idle":         larger,
	"terminal_statuses":     fewer,
	"tool_files":            fewer,
	"trim_after":            larger,
	"trim_min":              larger,
	"worktree_folders":      fewer,
}

// harsher reports whether a parameter may reap more at now than at said. Both are as JSON has them.
func (d direction) harsher(said, now any) bool {
	switch d {
	case larger:
		return !(number(now) >= number(said))
	case smaller:
		return !(number(now) <= number(said))
	case more:
		return !holds(now, said)
	case fewer:
		return !holds(said, now)
	case yes:
		return now != true && said != now
	case neither:
		return false
	}
	return !reflect.DeepEqual(said, now)
}

// than says what is wrong with a value that is harsher than another one.
func (d direction) than(said string) string {
	switch d {
	case more:
		return "leaves out entries of " + said
	case fewer:
		return "adds entries to " + said
	case unknown:
		return "is another value than " + said + ", and of this parameter it is not known which value keeps more"
	}
	return "reaps more than " + said
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// holds reports whether a list has all entries of another one.
func holds(list, all any) bool {
	has := texts(list)
	for _, t := range texts(all) {
		if !slices.Contains(has, t) {
			return false
		}
	}
	return true
}

// texts are the entries of a list, each as JSON.
func texts(list any) []string {
	entries, _ := list.([]any)
	var out []string
	for _, e := range entries {
		data, err := json.Marshal(e)
		if err == nil {
			out = append(out, string(data))
		}
	}
	return out
}

// Direction is in which direction a parameter keeps more, in a word: larger, smaller, more, fewer, yes, neither or unknown.
func Direction(key string) string {
	return []string{"unknown", "larger", "smaller", "more", "fewer", "yes", "neither"}[directions[key]]
}
