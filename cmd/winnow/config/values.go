package config

import (
	"fmt"
	"math"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"winnow/cmd/winnow/strict"
	"winnow/engine/policy"
	"winnow/engine/subject"
)

// shape is what a configuration must be.
func shape() strict.Shape {
	return strict.Shape{Type: reflect.TypeFor[Config](), Required: []string{"version"}, Leaf: leaf}
}

// isDuration says whether a value is written as a duration, and whether it becomes a number of seconds.
func isDuration(t reflect.Type) (is, inSeconds bool) {
	inSeconds = t.Kind() == reflect.Float64 && t != reflect.TypeFor[Ratio]() && t != reflect.TypeFor[subject.Processors]()
	return inSeconds || t == reflect.TypeFor[time.Duration](), inSeconds
}

// leaf holds values that are written in a way of their own against that.
func leaf(t reflect.Type, n *yaml.Node) (string, bool) {
	switch t {
	case reflect.TypeFor[subject.Marker]():
		return "", n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" // by its name alone
	case reflect.TypeFor[subject.Markers]():
		return "they are described in collect.processes.markers: write {name: MY_AGENT_SESSION, value: session} there", true
	}
	if t != reflect.TypeFor[[]subject.RuleLevel]() {
		return durationLeaf(t, n)
	}
	if n.Kind != yaml.MappingNode {
		return "it wants rules and their levels, such as {reap.dirs.disposable: off}", true
	}
	return "", true // readLevels looks at each
}

func durationLeaf(t reflect.Type, n *yaml.Node) (string, bool) {
	if is, _ := isDuration(t); !is {
		return "", false
	}
	var data any
	if n.Kind != yaml.ScalarNode {
		return "it wants a duration: 90s, 15m, 48h or 2d", true
	}
	if err := n.Decode(&data); err != nil {
		return err.Error(), true
	}
	if _, err := duration(data); err != nil {
		return err.Error(), true
	}
	return "", true
}

// durations reads 90s and 15m where seconds or a duration are wanted.
func durations(_, to reflect.Type, data any) (any, error) {
	is, inSeconds := isDuration(to)
	if !is {
		return data, nil
	}
	d, err := duration(data)
	switch {
	case err != nil:
		return nil, err
	case inSeconds:
		return d.Seconds(), nil
	}
	return d, nil
}

// duration reads a value that stands for a time. A bare number other than 0 has no unit, and an empty text is not a zero.
func duration(data any) (time.Duration, error) {
	switch x := data.(type) {
	case string:
		if x == "0" {
			return 0, nil
		}
		d, err := Duration(x)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration: write 90s, 15m, 48h or 2d", x)
		}
		if d < 0 {
			return 0, fmt.Errorf("%s is negative", x)
		}
		return d, nil
	case int:
		if x == 0 {
			return 0, nil
		}
		return 0, fmt.Errorf("%d has no unit: write %ds, %dm or %dh", x, x, x, x)
	}
	return 0, fmt.Errorf("%v is no duration: write 90s, 15m, 48h or 2d", data)
}

var days = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)d(.*)$`)

// Duration is time.ParseDuration with days of 24 hours in front: 2d, 1d12h.
func Duration(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	if m == nil {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	var rest time.Duration
	if m[2] != "" {
		if rest, err = time.ParseDuration(m[2]); err != nil {
			return 0, err
		}
	}
	sum := n*24*float64(time.Hour) + float64(rest)
	if rest < 0 || sum >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return time.Duration(n*24*float64(time.Hour)) + rest, nil
}

// checkPatterns refuses invalid patterns, which would protect everything or nothing, and texts that are empty, wherever they come
// from: a variable of the environment can hold them too.
func (c *Config) checkPatterns(must need) {
	empty := emptyText(reflect.ValueOf(c).Elem(), "")
	must(empty == "", "%s has an empty text in it; give it a value or remove it", empty)
	for key, list := range map[string][]string{"rules.protected": c.Rules.Protected, "rules.never_processes": c.Rules.NeverProcesses} {
		for _, p := range list {
			err := policy.CheckGlob(p)
			must(err == nil, "%s: %q is no pattern: %v", key, p, err)
		}
	}
	for _, p := range c.Rules.Protected {
		must(!strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../"),
			"rules.protected: %q is a path that does not begin at the root and would protect nothing: write it out, or **/ before its end", p)
	}
	for _, p := range c.Rules.Rebuildable {
		_, err := path.Match(p, "")
		must(err == nil, "rules.rebuildable: %q is no pattern: %v", p, err)
	}
	for _, re := range c.Rules.DisposableDirs {
		_, err := regexp.Compile(re)
		must(err == nil, "rules.disposable_dirs: %v", err)
	}
}

// emptyText finds a list of texts with an empty one.
func emptyText(v reflect.Value, at string) string {
	switch v.Kind() {
	case reflect.Struct:
		for f, x := range v.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			key := strings.TrimPrefix(at+"."+name, ".")
			if name == "" {
				key = at
			}
			if found := emptyText(x, key); found != "" {
				return found
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			x := v.Index(i)
			if x.Kind() == reflect.String && x.Len() == 0 {
				return at
			}
			if found := emptyText(x, at); found != "" {
				return found
			}
		}
	}
	return ""
}

// Seconds is a number of seconds as a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
