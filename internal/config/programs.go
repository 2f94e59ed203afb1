package config

import (
	"slices"
	"strings"
)

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
	specific("rules.driven_programs", "", c.Rules.DrivenPrograms...)
	for _, m := range c.Rules.MarkerRecords {
		must(m.Marker != "" && m.Format != "", "rules.marker_records: %q with format %q; it wants a marker and the format of the registries that know it", m.Marker, m.Format)
	}
	for _, d := range c.Rules.AgentDaemons {
		must(d.Name != "" && len(d.Programs) > 0 && len(d.Args) > 0,
			"rules.agent_daemons: %q with %d programs and %d args; it wants a name, a program and what its command line begins with", d.Name, len(d.Programs), len(d.Args))
	}
	for _, a := range c.Rules.SessionAgents {
		must(a.Name != "" && len(a.Programs) > 0, "rules.session_agents: %q with %d programs; it wants a name and a program", a.Name, len(a.Programs))
	}
}

// anything is true for a pattern that has no text in it but *, ? and separators.
func anything(glob string) bool { return strings.Trim(glob, "*-_@/.") == "" }
