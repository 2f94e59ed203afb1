package git

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// Program is the git that is run.
type Program = gitsafe.Program

// sandboxes reads once, for all questions to git about one repository, what git is to know of it.
type sandboxes struct {
	mu   sync.Mutex
	repo *gitsafe.Repository
}

func (s *sandboxes) open(ctx context.Context, git Program, common string) (*gitsafe.Repository, error) {
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

// seal makes a git folder that shows view of the repository.
func (r *Repository) seal(ctx context.Context, git Program, view gitsafe.View) (*gitsafe.Sandbox, error) {
	repo, err := r.sandboxes.open(ctx, git, r.CommonDir)
	if err != nil {
		return nil, notRun(err)
	}
	sealed, err := repo.Seal(ctx, view)
	return sealed, notRun(err)
}

// notRun says of an error that it came before git was run.
func notRun(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; git was not run", err)
}

// Await gives what ask gives. What has not come back a moment after ctx has ended hangs in the file system: it is left behind, with the
// cause of that end as the error.
func Await[T any](ctx context.Context, ask func() T) (answer T, err error) {
	lost := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateness, func() { close(lost) }) })()
	got := make(chan T, 1)
	go func() { got <- ask() }()
	select {
	case answer = <-got:
		return answer, nil
	case <-lost:
		return answer, context.Cause(ctx)
	}
}

// lateness is the time for git to be ended and for its output to be read.
const lateness = 50 * time.Millisecond
