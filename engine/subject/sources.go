package subject

import (
	"maps"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Missing is the state of a source that something names and that the snapshot says nothing of. It is not ok, so it protects.
const Missing = "missing"

// sources answers what states the evidence of a candidate rests on. Candidates of the same kind and source share one map.
type sources struct {
	all      map[string]snapshot.Source
	evidence map[kindSource]map[string]string
	read     []string // the forms of records that were read whole, by kind
	// codevRead is whether every state folder of Codev's was read whole, and there is one.
	codevRead bool
}

// kindSource is what candidates have in common whose evidence rests on the same sources. Codev is true for a tab that shows a builder of Codev's.
type kindSource struct {
	kind, source string
	codev        bool
}

// rests says on whose sources the evidence about a candidate rests.
func (x sources) rests(s *snapshot.Snapshot, id, kind, source string) kindSource {
	tab := s.Tabs[id]
	return kindSource{kind, source, kind == snapshot.KindTab && tab.Editor != nil && tab.Editor.Codev != nil}
}

func indexSources(s *snapshot.Snapshot) sources {
	x := sources{all: s.Sources, evidence: map[kindSource]map[string]string{}, read: wholly(s.Sources), codevRead: codevRead(s.Sources)}
	common := map[string]string{}
	for _, name := range []string{snapshot.Proc, snapshot.Ledger} {
		common[name] = x.status(name)
	}
	for name, src := range s.Sources {
		// What a project keeps is not known where it could not be read.
		if name == snapshot.Projects || ofKind(name, src, "spawns") || ofKind(name, src, "registry") {
			common[name] = src.Status
		}
	}
	for _, records := range [][]snapshot.Record{s.Spawns, s.Registry} {
		for i := range records {
			common[records[i].Source] = x.status(records[i].Source)
		}
	}
	// Every pair of kind and source that occurs has its map, so that nothing is written afterwards.
	for _, kind := range snapshot.Kinds {
		for id := range kind.IDs(s) {
			c, _ := kind.Find(s, id)
			if key := x.rests(s, id, kind.Name, c.Source); x.evidence[key] == nil {
				x.evidence[key] = x.states(key, common)
			}
		}
	}
	return x
}

func (x sources) states(of kindSource, common map[string]string) map[string]string {
	states, rests := maps.Clone(common), kinds[of.kind].rests
	if of.codev {
		rests = []string{"codev"}
	}
	states[of.source] = x.status(of.source)
	for name, src := range x.all {
		if slices.ContainsFunc(rests, func(kind string) bool { return ofKind(name, src, kind) }) {
			states[name] = src.Status
		}
	}
	return states
}

// wholly lists kind:format of the spawn ledgers and registries that were all read, sorted.
func wholly(all map[string]snapshot.Source) []string {
	whole := map[string]bool{}
	for name, src := range all {
		for _, kind := range []string{"spawns", "registry"} {
			if src.Format != "" && ofKind(name, src, kind) {
				key := kind + ":" + src.Format
				before, known := whole[key]
				whole[key] = src.Status == snapshot.OK && (before || !known)
			}
		}
	}
	maps.DeleteFunc(whole, func(_ string, ok bool) bool { return !ok })
	return slices.Sorted(maps.Keys(whole))
}

func (x sources) status(name string) string {
	if src, ok := x.all[name]; ok && src.Status != "" {
		return src.Status
	}
	return Missing
}

// ofKind reports whether a source is of a kind, by its word or by its name, which is kind/name.
func ofKind(name string, src snapshot.Source, kind string) bool {
	return src.Kind == kind || strings.HasPrefix(name, kind+"/")
}
