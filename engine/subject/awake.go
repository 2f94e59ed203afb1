package subject

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

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
