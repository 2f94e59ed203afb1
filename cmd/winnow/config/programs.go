package config

import (
	"slices"
	"strings"
)

// checkPrograms refuses lists of programs and of markers that have no sense, and patterns that everything is of: a family that everything
// is of would make every agent a program that may be ended.
func (c *Config) checkPrograms(bad func(string, ...any) error) error {
	for _, f := range c.Rules.Families {
		globs := slices.Concat(f.Names, f.Scripts, f.Packages)
		if f.Family == "" || len(globs) == 0 {
			return bad("rules.families: %q; it wants the word for a family, and names, scripts or packages", f.Family)
		}
		if i := slices.IndexFunc(globs, anything); i >= 0 {
			return bad("rules.families: %q of %s is of everything; it wants some text beside the *", globs[i], f.Family)
		}
	}
	for _, d := range c.Rules.PersonalDaemons {
		if anything(d.Name) || d.Is == "" {
			return bad("rules.personal_daemons: %q is %q; it wants the name of a program and a word for what it is", d.Name, d.Is)
		}
	}
	if i := slices.IndexFunc(c.Rules.OwnSockets, anything); i >= 0 {
		return bad("rules.own_sockets: %q is of everything; it wants some text beside the *", c.Rules.OwnSockets[i])
	}
	for _, m := range c.Rules.MarkerRecords {
		if m.Marker == "" || m.Format == "" {
			return bad("rules.marker_records: %q with format %q; it wants a marker and the format of the registries that know it", m.Marker, m.Format)
		}
	}
	return nil
}

// anything is true for a pattern that has no text in it but *, ? and separators.
func anything(glob string) bool { return strings.Trim(glob, "*-_@/.") == "" }
