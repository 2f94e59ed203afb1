package subject

import "slices"

// whole is a copy in which every list is a list: a nil one would be null in the document, which its schema refuses.
func (c *Config) whole() *Config {
	w := *c
	for _, list := range []*[]string{
		&w.Shells, &w.PromptDaemons, &w.Agents, &w.AgentScripts, &w.AgentPackages, &w.Interpreters, &w.Multiplexers, &w.NeverProcesses, &w.OpaqueProcesses, &w.IDMarkers,
		&w.PaneMarkers, &w.HelperLabels.Exact, &w.HelperLabels.Prefix, &w.SessionNames.Exact, &w.SessionNames.Prefix,
		&w.DisposableDirs, &w.Rebuildable, &w.Protected, &w.TerminalStatuses, &w.AgentIdle, &w.WorktreeFolders,
		&w.OwnSockets, &w.PIDMarkers,
	} {
		*list = orEmpty(*list)
	}
	w.AgentDaemons = slices.Clone(orEmpty(w.AgentDaemons))
	for i := range w.AgentDaemons {
		d := &w.AgentDaemons[i]
		d.Programs, d.Args = orEmpty(d.Programs), orEmpty(d.Args)
	}
	w.PersonalDaemons, w.MarkerRecords = orEmpty(w.PersonalDaemons), orEmpty(w.MarkerRecords)
	families := make([]Family, 0, len(w.Families))
	for _, f := range w.Families {
		f.Names, f.Scripts, f.Packages = orEmpty(f.Names), orEmpty(f.Scripts), orEmpty(f.Packages)
		families = append(families, f)
	}
	w.Families = families
	w.OverStatuses = slices.Clone(orEmpty(w.OverStatuses))
	for i := range w.OverStatuses {
		w.OverStatuses[i].Statuses = orEmpty(w.OverStatuses[i].Statuses)
	}
	w.HerdrProtocols, w.RecordedFolders, w.Scaffold, w.Levels = orEmpty(w.HerdrProtocols), orEmpty(w.RecordedFolders), orEmpty(w.Scaffold), orEmpty(w.Levels)
	return &w
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
