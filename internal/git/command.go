package git

import (
	"context"
	"sync"
	"time"

	"winnow/internal/gitcmd"
)

// Program is the git that is run.
type Program = gitcmd.Program

// sealing reads once, for all questions to git about one repository, what git is to know of it.
type sealing struct {
	mu   sync.Mutex
	repo *gitcmd.Repository
}

func (s *sealing) open(ctx context.Context, git Program, common string) (*gitcmd.Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo != nil {
		return s.repo, nil
	}
	repo, err := git.Open(ctx, common)
	if err == nil {
		s.repo = repo
	}
	return repo, err
}

// Lost is closed a moment after ctx has ended: time for git to be ended and for its output to be read. What has not come back
// by then hangs in the file system.
func Lost(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	context.AfterFunc(ctx, func() {
		time.AfterFunc(lateness, func() { close(gone) })
	})
	return gone
}

const lateness = 50 * time.Millisecond
