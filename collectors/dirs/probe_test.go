package dirs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
)

// TestWhatDoesNotAnswerCostsItselfAlone has questions that never come back, as those to a dead mount: each is given up on, later ones sooner, and
// what answers is still known.
func TestWhatDoesNotAnswerCostsItselfAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := newProber(t.Context(), Options{Timeout: 10 * time.Second})
		began := time.Now()
		for i := range 100 {
			answer, err := ask(s, func(f *git.Finder) (int, error) {
				if i%2 == 0 {
					<-release
				}
				return i, nil
			})
			switch {
			case i%2 == 0 && (!errors.Is(err, errTimeout) || !errors.Is(err, context.DeadlineExceeded)):
				t.Fatalf("question %d: %v", i, err)
			case i%2 == 1 && (err != nil || answer != i):
				t.Fatalf("question %d: %d, %v", i, answer, err)
			}
		}
		// Two of 2 s, 48 of 0.1 s, and what is waited besides for each.
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("all of them took %s", took)
		}
	})
}

// TestTwoSourcesLookOnce has two sources with the same worktree: one look into it serves both, and one in another state is a look of its own.
func TestTwoSourcesLookOnce(t *testing.T) {
	t.Parallel()
	s := NewLookCache()
	at := func(head string) *candidate {
		c := &candidate{worktree: &git.Worktree{Head: head}}
		c.dir.Path = "/w/a"
		return c
	}
	first, mine := s.claim(at("a"))
	if !mine {
		t.Fatal("the first source is to look itself")
	}
	second, mine := s.claim(at("a"))
	if mine || second != first {
		t.Error("the second source is to wait for the first")
	}
	if _, mine := s.claim(at("b")); !mine {
		t.Error("a worktree with another HEAD is in another state")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errNotReached)
	if got := second.wait(ctx); !errors.Is(got.err, errNotReached) {
		t.Errorf("a look that never ends: %+v", got)
	}
	first.found.reports = 7
	close(first.done)
	if got := second.wait(t.Context()); got.reports != 7 {
		t.Errorf("the answer of the first: %+v", got)
	}
}

// What all sources of one look share is for a look at everything: before an act each reads for itself.
func TestSingleFoldersAreReadAnew(t *testing.T) {
	t.Parallel()
	shared := NewLookCache()
	for _, tt := range []struct {
		name string
		of   Options
		same bool
	}{
		{"one look at everything", Options{Later: true, Cache: shared}, true},
		{"a look at single folders", Options{Later: true, Cache: shared, Only: []string{"/w/a"}}, false},
		{"readings that are not of one look", Options{Cache: shared}, false},
	} {
		if first, second := tt.of.finder(), tt.of.finder(); (first == second) != tt.same || (first == shared.finder) != tt.same {
			t.Errorf("%s: two sources find places together: %t", tt.name, first == second)
		}
	}
}
