package dirs

import (
	"context"
	"strings"
	"sync"
)

// Shared is what all sources of one look have in common: the bound on how much git runs at a time, and what was found in worktrees, so that one
// that two sources give (a root and its repository) is looked into once.
type Shared struct {
	lanes lanes
	mu    sync.Mutex
	asked map[string]*answer
	// processes is nil until a lock asks for them.
	processes *processTable
}

// NewShared gives what the sources of one look share.
func NewShared() *Shared { return &Shared{lanes: newLanes(), asked: map[string]*answer{}} }

// answer is what came of a look into one worktree in one state; done is closed when it is there.
type answer struct {
	state string
	done  chan struct{}
	found contents
}

// state is that in which a worktree is looked into: two sources that read it in the same one need only one look.
func (c *candidate) state() string {
	w := c.worktree
	return strings.Join([]string{w.AdminDir, w.Head, w.Branch, w.ActiveAt.String()}, "\x00")
}

// claim gives the answer about a candidate's content that another source has, or is about to have; or, with mine, one that the caller is to
// fill and close.
func (s *Shared) claim(c *candidate) (a *answer, mine bool) {
	if c.worktree == nil {
		return &answer{done: make(chan struct{})}, true
	}
	state := c.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.asked[c.dir.Path]; a != nil && a.state == state {
		return a, false
	}
	a = &answer{state: state, done: make(chan struct{})}
	s.asked[c.dir.Path] = a
	return a, true
}

// wait gives the answer once it is there.
func (a *answer) wait(ctx context.Context) contents {
	select {
	case <-a.done:
		return a.found
	case <-ctx.Done():
		return contents{err: context.Cause(ctx)}
	}
}
