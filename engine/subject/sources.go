package subject

import (
	"maps"
	"slices"
	"time"

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
	x := sources{all: s.Sources, evidence: map[kindSource]map[string]string{}, read: wholly(s.Sources)}
	common := map[string]string{snapshot.Proc: x.status(snapshot.Proc), snapshot.Ledger: x.status(snapshot.Ledger)}
	whole := true // all that was read of Codev's
	for name, src := range s.Sources {
		// What a project keeps is not known where it could not be read.
		if name == snapshot.Projects || src.HasKind(name, "spawns") || src.HasKind(name, "registry") {
			common[name] = src.Status
		}
		if src.HasKind(name, "codev") {
			x.codevRead, whole = true, whole && src.Status == snapshot.OK
		}
	}
	x.codevRead = x.codevRead && whole
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
		if slices.ContainsFunc(rests, func(kind string) bool { return src.HasKind(name, kind) }) {
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
			if src.Format != "" && src.HasKind(name, kind) {
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

// since is for how many seconds the machine was awake between t and the snapshot, at least: what it may have slept since then is left
// out. A time to come gives a negative age, which is younger than any limit. It is unknown where sleep is.
func (j *Index) since(t *time.Time) *float64 { return Awake(j.snap, t) }

// secondsBefore is SecondsBefore of the joined snapshot, for comparing one time with another.
func (j *Index) secondsBefore(t *time.Time) *float64 { return SecondsBefore(j.snap, t) }

// SecondsBefore is how many seconds before the snapshot t was by the wall clock. It is nil where t is, and a pure function.
func SecondsBefore(s *snapshot.Snapshot, t *time.Time) *float64 {
	if t == nil {
		return nil
	}
	return new(s.TakenAt.Sub(*t).Seconds())
}

// atMost is since from the other side: only the time that the machine is known to have slept since t is left out.
func (j *Index) atMost(t *time.Time) *float64 {
	least, _, ok := slept(j.snap, t)
	if !ok {
		return nil
	}
	return new(j.snap.TakenAt.Sub(*t).Seconds() - least)
}

// Awake is for how many seconds the machine was awake between t and the snapshot, at least. It is nil where t is, and where it is not
// known how long the machine slept. It is a pure function.
func Awake(s *snapshot.Snapshot, t *time.Time) *float64 {
	_, most, ok := slept(s, t)
	if !ok {
		return nil
	}
	passed := s.TakenAt.Sub(*t).Seconds()
	if passed <= 0 {
		return &passed
	}
	return new(max(0, passed-most))
}

// slept is for how many seconds the machine slept after t, at least and at most. Where in a stretch it slept is not known: a time
// within one has all of that sleep after it, or none but what does not fit before it.
func slept(s *snapshot.Snapshot, t *time.Time) (least, most float64, ok bool) {
	list, ok := asleep(&s.Host, s.TakenAt)
	if t == nil || !ok {
		return 0, 0, false
	}
	for _, a := range list {
		if a.From.IsZero() || a.Until.Before(a.From) || !(a.Seconds > 0) {
			return 0, 0, false
		}
		least += min(a.Seconds, max(0, a.Seconds-t.Sub(a.From).Seconds()))
		most += min(a.Seconds, max(0, a.Until.Sub(*t).Seconds()))
	}
	return least, most, true
}

// asleep is when the machine slept. A snapshot that does not tell still shows for how long it was suspended since the boot. One without
// any clock was made by hand, and is taken as it says: a look that could not read the clocks is not steady, which keeps everything.
func asleep(h *snapshot.Host, now time.Time) ([]snapshot.Asleep, bool) {
	switch {
	case h.Asleep != nil:
		return *h.Asleep, true
	case h.UpSeconds == nil && h.AwakeSeconds == nil:
		return nil, true
	case h.BootedAt == nil || h.UpSeconds == nil || h.AwakeSeconds == nil:
		return nil, false
	}
	if suspended := *h.UpSeconds - *h.AwakeSeconds; suspended > 0 {
		return []snapshot.Asleep{{From: *h.BootedAt, Until: now, Seconds: suspended}}, true
	}
	return nil, true
}
