package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

// MarkerNames are the variables that are read.
func (c *Config) MarkerNames() []string {
	return text.Map(c.Collect.Processes.Markers, func(m subject.Marker) string { return m.Name })
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

// pane is what the value of a multiplexer's own marker is: the place where a process was started. It says nothing of who did.
const pane = "pane"

// describeMarkers hands the rules what the value of each marker is. One that is given by its name alone is what the agents' files say of it, or the
// lists of identifying markers (rules.id_markers, rules.pid_markers, rules.marker_records); one that is on none is a flag.
func (c *Config) describeMarkers(at sites) error {
	bad := func(format string, args ...any) error {
		text := "collect.processes.markers: " + fmt.Sprintf(format, args...)
		return Usagef("%s: %s; nothing was done", at.placeOf(text), text)
	}
	c.Rules.Forge, c.Rules.Markers = subject.Forge(c.Collect.Forge), subject.Markers{}
	for _, m := range c.Collect.Processes.Markers {
		if m.Name == "" || strings.ContainsAny(m.Name, "= \x00") {
			return bad("%q is no name of a variable; it wants {name: MY_AGENT_SESSION, value: session}", m.Name)
		}
		if values := []string{subject.MarkerSession, subject.MarkerPID, subject.MarkerFlag, pane}; m.Value != "" && !slices.Contains(values, m.Value) {
			return bad("the value of %s is %q; it is session, pid, flag or pane%s", m.Name, m.Value, spelling.Hint(m.Value, values))
		}
		for _, a := range c.Agents.Known {
			for _, known := range a.Collect.Processes.Markers {
				if m.Value == "" && m.Name == known.Name {
					m = known
				}
			}
		}
		m.Value = cmp.Or(m.Value, c.Rules.Marker(m.Name).Value)
		if m.Value == pane || slices.Contains(c.Rules.PaneMarkers, m.Name) || slices.Contains(snapshot.PaneMarkers, m.Name) {
			if !slices.Contains(c.Rules.PaneMarkers, m.Name) {
				c.Rules.PaneMarkers = append(slices.Clip(c.Rules.PaneMarkers), m.Name)
			}
			continue
		}
		if m.Value != subject.MarkerSession && slices.Contains(c.Rules.IDMarkers, m.Name) {
			return bad("%q is in rules.id_markers, and a %s tells no session from another; write value: session, or take it out there", m.Name, m.Value)
		}
		if m.Value == subject.MarkerPID && !slices.Contains(c.Rules.PIDMarkers, m.Name) {
			c.Rules.PIDMarkers = append(slices.Clip(c.Rules.PIDMarkers), m.Name)
		}
		c.Rules.Markers = append(c.Rules.Markers, m)
	}
	return nil
}

// checkPrograms refuses lists of programs and of markers that have no sense, and patterns that everything is of: a family that everything
// is of would make every agent a program that may be ended.
func (c *Config) checkPrograms(must need) {
	specific := func(key, of string, globs ...string) {
		for _, g := range globs {
			must(!anything(g), "%s: %q%s matches everything; it wants some text beside the *", key, g, of)
		}
	}
	for _, f := range c.Rules.Families {
		globs := slices.Concat(f.Names, f.Scripts, f.Packages)
		must(f.Family != "" && len(globs) > 0, "rules.families: %q; it wants the word for a family, and names, scripts or packages", f.Family)
		specific("rules.families", " of "+f.Family, globs...)
	}
	for _, d := range c.Rules.PersonalDaemons {
		must(!anything(d.Name) && d.Is != "", "rules.personal_daemons: %q is %q; it wants the name of a program and a word for what it is", d.Name, d.Is)
	}
	for key, list := range map[string][]string{
		"rules.agents": c.Rules.Agents, "rules.agent_scripts": c.Rules.AgentScripts, "rules.agent_packages": c.Rules.AgentPackages,
	} {
		for _, name := range list {
			must(!strings.ContainsAny(name, "*?[") && !anything(name), "%s: %q; it wants the whole name of an agent's program, without a *", key, name)
		}
	}
	for _, dir := range c.Collect.Dirs.AgentFolders {
		must(narrow(dir), "collect.dirs.agent_folders: %q; it wants a folder in which an agent alone puts worktrees, such as ~/.tool/worktrees/*", dir)
	}
	specific("rules.own_sockets", "", c.Rules.OwnSockets...)
	specific("rules.daemon_folders", "", c.Rules.DaemonFolders...)
	specific("rules.driven_programs", "", c.Rules.DrivenPrograms...)
	for _, m := range c.Rules.MarkerRecords {
		must(m.Marker != "" && m.Format != "", "rules.marker_records: %q with format %q; it wants a marker and the format of the registries that know it", m.Marker, m.Format)
	}
	for _, d := range c.Rules.AgentDaemons {
		must(d.Name != "" && len(d.Programs) > 0 && len(d.Args) > 0,
			"rules.agent_daemons: %q with %d programs and %d args; it wants a name, a program and what its command line begins with", d.Name, len(d.Programs), len(d.Args))
	}
	for _, a := range c.Rules.SessionAgents {
		must(a.Name != "" && len(a.Programs)+len(a.Scripts) > 0, "rules.session_agents: %q without programs and scripts; it wants a name and one of them", a.Name)
	}
}

// anything is true for a pattern that has no text in it but *, ? and separators.
func anything(glob string) bool { return strings.Trim(glob, "*-_@/.") == "" }
