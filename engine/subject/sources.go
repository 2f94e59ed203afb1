package subject

import (
	"maps"
	"slices"
	"strings"

	"winnow/engine/snapshot"
)

// Missing is the state of a source that something names and that the snapshot says nothing of. It is not ok, so it protects.
const Missing = "missing"

// sources answers what states the evidence of a candidate rests on. Candidates of the same kind and source share one map.
type sources struct {
	all    map[string]snapshot.Source
	common map[string]string
	byKind map[string]map[string]map[string]string // kind, own source, states
	read   []string                                // the forms of records that were read whole, by kind
}

func indexSources(s *snapshot.Snapshot) sources {
	x := sources{all: s.Sources, common: map[string]string{}, byKind: map[string]map[string]map[string]string{}}
	for _, name := range []string{snapshot.Proc, snapshot.Ledger} {
		x.common[name] = x.status(name)
	}
	if src, ok := s.Sources[snapshot.Projects]; ok { // what a project keeps is not known where it could not be read
		x.common[snapshot.Projects] = src.Status
	}
	for name, src := range s.Sources {
		if of(name, src, "spawns") || of(name, src, "registry") {
			x.common[name] = src.Status
		}
	}
	for _, r := range s.Spawns {
		x.common[r.Source] = x.status(r.Source)
	}
	for _, r := range s.Registry {
		x.common[r.Source] = x.status(r.Source)
	}
	x.read = wholly(s.Sources)
	x.shareAmong(s)
	return x
}

// wholly lists kind:format of the spawn ledgers and registries of which every one was read, sorted.
func wholly(all map[string]snapshot.Source) []string {
	whole := map[string]bool{}
	for name, src := range all {
		for _, kind := range []string{"spawns", "registry"} {
			if src.Format != "" && of(name, src, kind) {
				key := kind + ":" + src.Format
				before, known := whole[key]
				whole[key] = src.Status == snapshot.OK && (before || !known)
			}
		}
	}
	maps.DeleteFunc(whole, func(_ string, ok bool) bool { return !ok })
	return slices.Sorted(maps.Keys(whole))
}

// shareAmong makes the map of every pair of kind and source that occurs, so that nothing is written afterwards.
func (x sources) shareAmong(s *snapshot.Snapshot) {
	for _, kind := range snapshot.Kinds {
		for id := range kind.IDs(s) {
			c, _ := kind.Find(s, id)
			x.share(kind.Name, c.Source)
		}
	}
}

func (x sources) share(kind, own string) {
	if x.byKind[kind][own] != nil {
		return
	}
	if x.byKind[kind] == nil {
		x.byKind[kind] = map[string]map[string]string{}
	}
	states := maps.Clone(x.common)
	states[own] = x.status(own)
	facts, _ := factsOf(kind)
	for name, src := range x.all {
		if slices.ContainsFunc(facts.rests, func(kind string) bool { return of(name, src, kind) }) {
			states[name] = src.Status
		}
	}
	x.byKind[kind][own] = states
}

func (x sources) evidence(kind, own string) map[string]string { return x.byKind[kind][own] }

func (x sources) status(name string) string {
	if src, ok := x.all[name]; ok && src.Status != "" {
		return src.Status
	}
	return Missing
}

// of reports whether a source is of a kind, by its word or by its name, which is kind/name.
func of(name string, src snapshot.Source, kind string) bool {
	return src.Kind == kind || strings.HasPrefix(name, kind+"/")
}
