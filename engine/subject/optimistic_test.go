package subject_test

import (
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TestPartIsAsOldAsItCanBe holds since when nothing has happened in the folder that stands for all in a worktree that can be made again.
func TestPartIsAsOldAsItCanBe(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	born, git, own, late := now.Add(-240*time.Hour), now.Add(-100*time.Hour), now.Add(-time.Hour), now.Add(-time.Minute)
	for name, tt := range map[string]struct{ active, modified, want *time.Time }{
		"git was used last":                             {&git, &born, &git},
		"the folder itself changed last, and hides git": {&own, &own, &born},
		"when anything happened is not known":           {nil, &own, nil},
		"when it changed itself is not known":           {&git, nil, &git},
		"something happened lately":                     {&late, &own, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := snapshot.Dir{Path: "/w/x", Name: "x", BornAt: &born, ActiveAt: tt.active, ModifiedAt: tt.modified, Git: &snapshot.Git{Worktree: new(true), Registered: new(true), Locked: new(false)}}
			s := &snapshot.Snapshot{TakenAt: now, Dirs: map[string]snapshot.Dir{"dir:/w/x": d}}
			part, ok := subject.Optimistic(s, &subject.Config{Rebuildable: []string{"node_modules"}, TrimAfter: 3600}).Dirs[subject.PartID("/w/x")]
			if ok != (tt.want != nil) {
				t.Fatalf("there is a part: %v", ok)
			}
			if ok && !part.ActiveAt.Equal(*tt.want) {
				t.Errorf("active at %v, want %v", part.ActiveAt, tt.want)
			}
			if d.Git.Dirty != nil || s.Dirs["dir:/w/x"].HoldersKnown != nil || len(s.Dirs) != 1 {
				t.Errorf("the snapshot itself was changed: %+v", s.Dirs)
			}
		})
	}
}

func TestOnlyALinkedWorktreeThatIsThereHasParts(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]snapshot.Dir{
		"a main checkout":      {Git: &snapshot.Git{Worktree: new(false)}},
		"it is not known":      {Git: &snapshot.Git{}},
		"no checkout":          {Checkout: new(false)},
		"its folder is gone":   {Gone: new(true), Git: &snapshot.Git{Worktree: new(true)}},
		"it could not be read": {Checkout: new(true)},
	} {
		d.Path, d.ActiveAt = "/w/x", new(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		s := &snapshot.Snapshot{TakenAt: d.ActiveAt.Add(1000 * time.Hour), Dirs: map[string]snapshot.Dir{"dir:/w/x": d}}
		best := subject.Optimistic(s, &subject.Config{Rebuildable: []string{"node_modules"}, TrimAfter: 3600})
		if _, ok := best.Dirs[subject.PartID("/w/x")]; ok {
			t.Errorf("%s has parts", name)
		}
	}
}
