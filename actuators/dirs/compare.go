package dirs

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/internal/sys/folder"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// unchanged makes sure that a folder that was moved, and its entry, are what they were before the folder was judged for the last
// time, and that its HEAD is the commit that is kept.
func (s *site) unchanged(ctx context.Context) error {
	tree, err := s.surveyAway(ctx)
	if err != nil {
		return err
	}
	if err := differs("it", tree, s.plan.Tree, survey.strict); err != nil {
		return err
	}
	if s.plan.Gone {
		return s.headStands()
	}
	if s.admin == nil {
		return nil
	}
	entry, err := s.surveyIn(ctx, s.admin.away, *s.admin, surveyEntry())
	if err != nil {
		return err
	}
	if err := differs("its entry in the repository", entry, s.plan.Admin.Entry, survey.strict); err != nil {
		return err
	}
	return s.headStands()
}

func (v survey) strict() string { return v.Strict }

func (v survey) lasting() string { return v.Lasting }

// differs refuses when a survey is not the one that was made before.
func differs(what string, now survey, was *survey, digest func(survey) string) error {
	switch {
	case was == nil || digest(*was) == "":
		return actuators.Refused("what was in %s before was not recorded, so whether something was added is unknown", what)
	case digest(now) != digest(*was):
		return actuators.Refused("%s changed after it was looked at (the latest change: %s)", what, now.latest)
	}
	return nil
}

// surveyAway looks at what lies in the folder in the trash.
func (s *site) surveyAway(ctx context.Context) (survey, error) {
	return s.surveyIn(ctx, s.tree.away, s.tree, s.surveyor())
}

// surveyIn looks at what lies in the folder at path, which must be i.
func (s *site) surveyIn(ctx context.Context, path string, i item, look surveyor) (survey, error) {
	f, err := folder.Open(path)
	if err != nil {
		return survey{}, err
	}
	defer f.Close()
	if at, err := f.Stamp(); err != nil || !at.Equal(i.want) {
		return survey{}, errors.Join(err, actuators.Refused("%s is another folder now", path))
	}
	return look.take(ctx, f)
}

// headStands makes sure that HEAD leads to the commit that is kept. The entry is away, where git cannot follow it; its file HEAD is
// unchanged, and the branch that it names is the repository's.
func (s *site) headStands() error {
	away := s.tree.away
	if s.admin != nil {
		away = s.admin.away
	}
	branch, err := branchOf(away)
	if err != nil || branch == "" {
		return err
	}
	head, err := s.refs().Resolve(s.plan.Admin.Common, branch)
	switch {
	case err != nil:
		return actuators.Refused("read its branch %s: %w", branch, err)
	case head != s.plan.Admin.Head:
		return actuators.Refused("its branch %s moved to %s after it was looked at", branch, head)
	}
	return nil
}

// objectsElsewhere refuses a folder in which a repository keeps objects or refs, its own or borrowed ones: the repository would be broken
// while the folder is away.
func objectsElsewhere(ctx context.Context, common, path string) error {
	stores, err := gitsafe.Stores(ctx, common)
	if err != nil {
		return actuators.Refused("find where its repository keeps objects: %w", err)
	}
	refs, err := filepath.EvalSymlinks(filepath.Join(common, "refs"))
	if err != nil {
		return actuators.Refused("find where its repository keeps refs: %w", err)
	}
	for _, s := range append(stores, gitsafe.Store{Named: refs, Real: refs}) {
		if actuators.IsBelow(s.Named, path) || actuators.IsBelow(s.Real, path) {
			return actuators.Refused("its repository keeps objects or refs in it (%s)", s.Named)
		}
	}
	return nil
}
