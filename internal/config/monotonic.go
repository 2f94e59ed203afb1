package config

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// direction says in which direction a parameter keeps more.
type direction string

const (
	// unknown is one without a known direction: every change may reap more.
	unknown direction = "unknown"
	// larger keeps more where the number is larger, smaller where it is smaller.
	larger  direction = "larger"
	smaller direction = "smaller"
	// more keeps more with every entry that is added to the list, fewer with every one that is taken out of it.
	more  direction = "more"
	fewer direction = "fewer"
	// yes keeps more where it is true.
	yes direction = "yes"
	// neither changes no verdict.
	neither direction = "neither"
)

// directions are those of all parameters, by their keys below rules, as the tags (keeps) of their fields say them. A parameter of one's own rules has none,
// so it is unknown. A test of the shipped policies moves each of them both ways in worlds of the cases, and holds that nothing goes with the value that
// keeps more and stays with the other one. Of lists that collectors go by (rebuildable, tool_files, scaffold, own_sockets, opaque_processes) no saved
// snapshot can show it: an entry less there is one thing more that is work, or that could not be read.
var directions = sync.OnceValue(func() map[string]direction {
	out := map[string]direction{}
	var walk func(t reflect.Type, at string)
	walk = func(t reflect.Type, at string) {
		for f := range t.Fields() {
			if keeps, ok := f.Tag.Lookup("keeps"); ok {
				out[at+f.Tag.Get("json")] = direction(keeps)
			} else if f.Type.Kind() == reflect.Struct {
				walk(f.Type, strings.TrimPrefix(at+f.Tag.Get("json")+".", "."))
			}
		}
	}
	walk(reflect.TypeFor[Rules](), "")
	return out
})

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
	case unknown, "":
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
	return !slices.ContainsFunc(texts(all), func(t string) bool { return !slices.Contains(has, t) })
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
func Direction(key string) string { return string(cmp.Or(directions()[key], unknown)) }
