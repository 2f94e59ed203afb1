package look

import (
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// settled is how old a process must be to count for what /proc gave: what a build starts comes and goes.
const settled = 15 * time.Minute

// Speakers are how much was read from each source that speaks for owners: records, and of /proc the processes that are not new.
func Speakers(s *snapshot.Snapshot) map[string]int {
	out := map[string]int{}
	for name, src := range s.Sources {
		if src.Status == snapshot.OK && (src.Kind == "registry" || src.Kind == "spawns") {
			out[name] = src.Seen
		}
	}
	if s.Sources[snapshot.Proc].Status == snapshot.OK && s.Host.UpSeconds != nil {
		old := 0
		for _, p := range s.Processes {
			if float64(p.StartTicks)/ticks <= *s.Host.UpSeconds-settled.Seconds() {
				old++
			}
		}
		out[snapshot.Proc] = old
	}
	return out
}

// ticks are the clock ticks of a second in /proc: USER_HZ, which is 100 on every Linux that this program runs on.
const ticks = 100
