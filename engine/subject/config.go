package subject

// whole is a copy in which every list is a list: a nil one would be null in the document, which its schema refuses.
func (c *Config) whole() *Config {
	w := *c
	for _, list := range []*[]string{
		&w.Shells, &w.PromptDaemons, &w.Agents, &w.Multiplexers, &w.NeverProcesses, &w.OpaqueProcesses, &w.IDMarkers,
		&w.PaneMarkers, &w.HelperLabels.Exact, &w.HelperLabels.Prefix, &w.SessionNames.Exact, &w.SessionNames.Prefix,
		&w.DisposableDirs, &w.Rebuildable, &w.Protected, &w.TerminalStatuses, &w.AgentIdle, &w.WorktreeFolders,
	} {
		*list = orEmpty(*list)
	}
	w.HerdrProtocols, w.RecordedFolders, w.Scaffold = orEmpty(w.HerdrProtocols), orEmpty(w.RecordedFolders), orEmpty(w.Scaffold)
	return &w
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
