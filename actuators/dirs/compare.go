package dirs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"winnow/actuators"
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
	if s.admin == nil {
		return nil
	}
	entry, err := s.surveyAdmin(ctx)
	if err != nil {
		return err
	}
	if err := differs("its entry in the repository", entry, s.plan.Admin.Entry, survey.strict); err != nil {
		return err
	}
	return s.headStands(ctx)
}

func (v survey) strict() string { return v.Strict }

func (v survey) lasting() string { return v.Lasting }

// differs refuses when a survey is not the one that was made before.
func differs(what string, now survey, was *survey, digest func(survey) string) error {
	switch {
	case was == nil || digest(*was) == "":
		return actuators.Refused("what lay in %s before is not on record, so it cannot be told whether anything came", what)
	case digest(now) != digest(*was):
		return actuators.Refused("%s changed after it was looked at (the latest change: %s)", what, now.latest)
	}
	return nil
}

// surveyAway looks at what lies in the folder in the trash, and surveyAdmin at its entry there.
func (s *site) surveyAway(ctx context.Context) (survey, error) {
	return s.surveyIn(ctx, s.tree.away, s.tree, surveyTree)
}

func (s *site) surveyAdmin(ctx context.Context) (survey, error) {
	return s.surveyIn(ctx, s.admin.away, *s.admin, surveyEntry)
}

// surveyIn looks at what lies in the folder at path, which must be i.
func (s *site) surveyIn(ctx context.Context, path string, i item, look func(context.Context, folder) (survey, error)) (survey, error) {
	f, err := openFolder(path)
	if err != nil {
		return survey{}, err
	}
	defer f.close()
	if at, err := f.stamp(); err != nil || !at.same(i.want) {
		return survey{}, errors.Join(err, actuators.Refused("%s is another folder now", path))
	}
	return look(ctx, f)
}

// headStands makes sure that HEAD leads to the commit that is kept. The entry is away, where git cannot follow it; its file HEAD is
// as it was, and the branch that it names is the repository's.
func (s *site) headStands(ctx context.Context) error {
	branch, err := branchOf(s.admin.away)
	if err != nil || branch == "" {
		return err
	}
	head, err := s.common().commit(ctx, branch)
	switch {
	case err != nil:
		return actuators.Refused("read its branch %s: %w", branch, err)
	case head != s.plan.Admin.Head:
		return actuators.Refused("its branch %s moved to %s after it was looked at", branch, head)
	}
	return nil
}

// commit is the commit that a ref of the repository leads to.
func (r repo) commit(ctx context.Context, ref string) (string, error) {
	out, err := r.run(ctx, "", "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	return strings.TrimSpace(out), err
}

// maxAlternates is how many stores of objects a repository may lean on, as git's own depth.
const maxAlternates = 16

// objectsElsewhere refuses a folder in which a repository keeps objects, itself or as an alternate: the repository would be broken
// while the folder is away.
func objectsElsewhere(common, path string) error {
	todo, seen := []string{filepath.Join(common, "objects"), filepath.Join(common, "refs")}, map[string]bool{}
	for len(todo) > 0 {
		store := todo[0]
		todo = todo[1:]
		real, err := filepath.EvalSymlinks(store)
		if errors.Is(err, os.ErrNotExist) {
			real = filepath.Clean(store)
		} else if err != nil {
			return actuators.Refused("find where its repository keeps objects: %w", err)
		}
		if actuators.Within(real, path) || actuators.Within(filepath.Clean(store), path) {
			return actuators.Refused("its repository keeps objects in it (%s)", store)
		}
		if seen[real] {
			continue
		}
		if seen[real] = true; len(seen) > maxAlternates {
			return actuators.Refused("its repository leans on too many other stores of objects")
		}
		more, err := alternates(real)
		if err != nil {
			return err
		}
		todo = append(todo, more...)
	}
	return nil
}

// alternates reads which other stores a store of objects leans on, see gitrepository-layout(5).
func alternates(store string) ([]string, error) {
	f, err := openFolder(filepath.Join(store, "info"))
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, actuators.Refused("find where its repository keeps objects: %w", err)
	}
	defer f.close()
	text, err := f.read("alternates")
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, actuators.Refused("find where its repository keeps objects: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			return nil, actuators.Refused("its repository leans on a store whose name is quoted (%s), which is not supported", line)
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(store, line)
		}
		out = append(out, line)
	}
	return out, nil
}
