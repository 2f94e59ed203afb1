package eval

import (
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// look is a snapshot that was joined. It must not be decided twice at the same time.
type look struct {
	snapshot *snapshot.Snapshot
	config   *subject.Config
	joined   *subject.Index
	encoder  *plan.Encoder
	// guess takes OPA's plan at its word: what is said only serves to leave something out that would be read.
	guess bool
}

func joined(s *snapshot.Snapshot, c *subject.Config) *look {
	j := subject.Join(s, c)
	return &look{snapshot: s, config: c, joined: j, encoder: plan.NewEncoder(j)}
}
