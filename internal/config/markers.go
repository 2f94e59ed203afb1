package config

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// MarkerNames are the variables that are read.
func (c *Config) MarkerNames() []string {
	var names []string
	for _, m := range c.Collect.Processes.Markers {
		names = append(names, m.Name)
	}
	return names
}

// markers reads a marker that is given by its name alone.
func markers(from, to reflect.Type, data any) (any, error) {
	if list, ok := data.(string); ok && to == reflect.TypeFor[[]subject.Marker]() { // from the environment
		return strings.Split(list, ","), nil
	}
	if to == reflect.TypeFor[subject.Marker]() && from.Kind() == reflect.String {
		return subject.Marker{Name: strings.TrimSpace(reflect.ValueOf(data).String())}, nil
	}
	return data, nil
}

// shipped are the markers that config.yaml describes, by their names.
var shipped = sync.OnceValues(func() (map[string]subject.Marker, error) {
	var c struct {
		Collect struct {
			Processes struct{ Markers []subject.Marker }
		}
	}
	if err := yaml.NewDecoder(bytes.NewReader(winnow.DefaultConfig)).Decode(&c); err != nil {
		return nil, fmt.Errorf("read the defaults: %w", err)
	}
	out := map[string]subject.Marker{}
	for _, m := range c.Collect.Processes.Markers {
		out[m.Name] = m
	}
	return out, nil
})

// pane is what the value of a multiplexer's own marker is: the place where a process was started. It says nothing of who did.
const pane = "pane"

// describeMarkers hands the rules what the value of each marker is. One that is given by its name alone is what the defaults say of it, or the
// lists of identifying markers (rules.id_markers, rules.pid_markers, rules.marker_records); one that is on none is a flag.
func (c *Config) describeMarkers(file string) error {
	c.Rules.Markers = subject.Markers{}
	for i, m := range c.Collect.Processes.Markers {
		where := fmt.Sprintf("%s: collect.processes.markers[%d]", file, i)
		if m.Name == "" || strings.ContainsAny(m.Name, "= \x00") {
			return Usagef("%s: %q is no name of a variable; it wants {name: MY_AGENT_SESSION, value: session}; nothing was done", where, m.Name)
		}
		if values := []string{subject.MarkerSession, subject.MarkerPID, subject.MarkerFlag, pane}; m.Value != "" && !slices.Contains(values, m.Value) {
			return Usagef("%s: the value of %s is %q; it is session, pid, flag or pane%s; nothing was done", where, m.Name, m.Value, spelling.Hint(m.Value, values))
		}
		if m.Value == "" { // only then the defaults are read once more
			known, err := shipped()
			if err != nil {
				return err
			}
			m = cmp.Or(known[m.Name], m)
		}
		if m.Value == "" {
			m.Value = c.Rules.Marker(m.Name).Value
		}
		if m.Value == pane || slices.Contains(c.Rules.PaneMarkers, m.Name) || slices.Contains(snapshot.PaneMarkers, m.Name) {
			if !slices.Contains(c.Rules.PaneMarkers, m.Name) {
				c.Rules.PaneMarkers = append(slices.Clip(c.Rules.PaneMarkers), m.Name)
			}
			continue
		}
		if m.Value == subject.MarkerPID && !slices.Contains(c.Rules.PIDMarkers, m.Name) {
			c.Rules.PIDMarkers = append(slices.Clip(c.Rules.PIDMarkers), m.Name)
		}
		c.Rules.Markers = append(c.Rules.Markers, m)
	}
	return nil
}
