package config

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/duration"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// shape is what a configuration must be.
func shape() strict.Shape {
	return strict.Shape{Type: reflect.TypeFor[Config](), Leaf: leaf}
}

// isDuration says whether a value is written as a duration, and whether it becomes a number of seconds.
func isDuration(t reflect.Type) (is, inSeconds bool) {
	inSeconds = t.Kind() == reflect.Float64 && t != reflect.TypeFor[Ratio]() && t != reflect.TypeFor[subject.Processors]()
	return inSeconds || t == reflect.TypeFor[time.Duration](), inSeconds
}

// leaf holds values that are written in a way of their own against that.
func leaf(t reflect.Type, n *yaml.Node, _ string) (string, bool) {
	switch t {
	case reflect.TypeFor[subject.Marker]():
		return "", n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" // by its name alone
	case reflect.TypeFor[subject.Markers]():
		return "they are described in collect.processes.markers: write {name: MY_AGENT_SESSION, value: session} there", true
	case reflect.TypeFor[subject.Forge]():
		return "write collect.forge", true
	case reflect.TypeFor[Size](), reflect.TypeFor[subject.Bytes]():
		return scalarLeaf(n, "it wants a size: 500MB, 20GB or 1.5GiB", size), true
	case reflect.TypeFor[[]subject.RuleLevel]():
		if n.Kind != yaml.MappingNode {
			return "it wants rules and their levels, such as {reap.dirs.disposable: off}", true
		}
		return "", true // takeLevels looks at each
	}
	if is, _ := isDuration(t); is {
		return scalarLeaf(n, "it wants a duration: 90s, 15m, 48h or 2d", duration.Value), true
	}
	return "", false
}

// scalarLeaf says what is wrong with a value that is written as one word or number.
func scalarLeaf[T any](n *yaml.Node, wants string, read func(any) (T, error)) string {
	var data any
	if n.Kind != yaml.ScalarNode {
		return wants
	}
	err := n.Decode(&data)
	if err == nil {
		_, err = read(data)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// amounts reads 20GB where bytes are wanted.
func amounts(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[Size]() && to != reflect.TypeFor[subject.Bytes]() {
		return data, nil
	}
	n, err := size(data)
	return int64(n), err
}

// durations reads 90s and 15m where seconds or a duration are wanted.
func durations(_, to reflect.Type, data any) (any, error) {
	is, inSeconds := isDuration(to)
	if !is {
		return data, nil
	}
	d, err := duration.Value(data)
	switch {
	case err != nil:
		return nil, err
	case inSeconds:
		return d.Seconds(), nil
	}
	return d, nil
}

// checkPatterns refuses invalid patterns, which would protect everything or nothing, and texts that are empty, wherever they come
// from: a variable of the environment can hold them too.
func (c *Config) checkPatterns(must need) {
	empty := emptyText(reflect.ValueOf(c).Elem(), "")
	must(empty == "", "%s has an empty text in it; give it a value or remove it", empty)
	for key, list := range map[string][]string{
		"rules.protected": c.Rules.Protected, "rules.never_processes": c.Rules.NeverProcesses, "rules.disposable_content": c.Rules.DisposableContent,
		"rules.daemon_folders": c.Rules.DaemonFolders,
	} {
		for _, p := range list {
			err := keep.CheckGlob(p)
			must(err == nil, "%s: %q is no pattern: %v", key, p, err)
		}
	}
	for _, p := range c.Rules.Protected {
		must(!strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../"),
			"rules.protected: %q is a path that does not begin at the root and would protect nothing: write it out, or **/ before its end", p)
		must(!strings.HasPrefix(p, "~") || isPath(p), "rules.protected: %q is in another user's home, which is not looked up, and would protect nothing: write its path out", p)
	}
	for _, p := range c.Rules.DisposableContent {
		must(narrow(p), "rules.disposable_content: %q says too much: name two folders at least before a * that stands alone, such as ~/scratch/*, and not your home", p)
	}
	for key, list := range map[string][]string{"rebuildable": c.Rules.Rebuildable, "tool_files": c.Rules.ToolFiles, "landing_branches": c.Rules.LandingBranches} {
		for _, p := range list {
			_, err := path.Match(p, "")
			must(err == nil, "rules.%s: %q is no pattern: %v", key, p, err)
		}
	}
	for _, p := range c.Rules.LandingBranches {
		must(strings.Trim(p, "*?/") != "", "rules.landing_branches: %q is every branch: name those that work lands on", p)
	}
	for _, m := range c.Rules.Makers {
		must(m.Maker != "" && len(m.Marks) > 0, "rules.makers: %q wants the tool's name, and marks in folders that it makes", m.Maker)
		must(len(m.Names) > 0 || slices.Equal(m.Marks, []string{"CACHEDIR.TAG"}),
			"rules.makers: %s wants names of folders that it makes; a CACHEDIR.TAG alone is a mark in folders of any name", m.Maker)
		for _, p := range slices.Concat(m.Names, m.Marks, m.Beside) {
			_, err := path.Match(p, "")
			must(err == nil && filepath.IsLocal(p), "rules.makers: %q of %s is no pattern for a path in a folder", p, m.Maker)
			must(!anything(p), "rules.makers: %q of %s is any name", p, m.Maker)
		}
	}
	claim := func(makers []subject.Maker, name string) bool {
		return slices.ContainsFunc(makers, func(m subject.Maker) bool { return slices.Contains(m.Names, name) })
	}
	for _, p := range c.Rules.Rebuildable {
		must(claim(c.Rules.Makers, p) || !claim(c.shipped.Rules.Makers, p),
			"rules.rebuildable: people use the name %q too, and your rules.makers has no mark for it: add a maker with that name", p)
	}
	for _, r := range c.Rules.LockReasons {
		re, err := regexp.Compile(r.Pattern)
		must(err == nil, "rules.lock_reasons: the pattern of %s: %v", r.Tool, err)
		must(err != nil || r.Tool != "" && re.SubexpIndex("pid") >= 0 && strings.HasPrefix(r.Pattern, "^") && strings.HasSuffix(r.Pattern, "$"),
			"rules.lock_reasons: %q of %q wants the tool's name, and a pattern from ^ to $ with a group (?P<pid>...)", r.Pattern, r.Tool)
	}
	for _, re := range c.Rules.DisposableDirs {
		_, err := regexp.Compile(re)
		must(err == nil, "rules.disposable_dirs: %q is no regular expression: %v", re, err)
	}
}

// narrow is true for a glob over paths that cannot mean everything somewhere: two of its folders have names, and these are not all on the way to
// the user's home before the first * that stands alone.
func narrow(glob string) bool {
	home, err := os.UserHomeDir()
	named := 0
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(glob, "/"), "/") {
		if anything(part) {
			return named >= 2 && err == nil && at != home && !strings.HasPrefix(home, strings.TrimSuffix(at, "/")+"/")
		}
		named++
		at = path.Join(at, part)
	}
	return named >= 2 && at != home && !strings.HasPrefix(home, at+"/")
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

// Size is an amount of storage in bytes, written with a unit: 500MB, 20GB, 1.5GiB.
type Size int64

var sizes = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?B?|B)$`)

// units lead from the first letter of a unit to its power of 1000, or of 1024 with an i behind it.
var units = map[byte]float64{'B': 0, 'k': 1, 'K': 1, 'M': 2, 'G': 3, 'T': 4}

const sizeForm = "write 500MB, 20GB or 1.5GiB"

// ParseSize reads a size. A bare number other than 0 has no unit.
func ParseSize(s string) (Size, error) {
	if s == "0" {
		return 0, nil
	}
	m := sizes.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: %s", s, sizeForm)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %s", s, sizeForm)
	}
	base := 1000.0
	if len(m[2]) > 1 && m[2][1] == 'i' {
		base = 1024
	}
	if n *= math.Pow(base, units[m[2][0]]); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return Size(n), nil
}

// size reads a value that stands for an amount of storage.
func size(data any) (Size, error) {
	switch x := data.(type) {
	case string:
		return ParseSize(x)
	case int:
		if x == 0 {
			return 0, nil
		}
		return 0, fmt.Errorf("%d has no unit: write %dMB or %dGB", x, x, x)
	}
	return 0, fmt.Errorf("%v is no size: %s", data, sizeForm)
}
