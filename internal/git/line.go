package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/gitcmd"
)

// Commit is what a commit says of itself. Author and Subject are another's words.
type Commit struct {
	ID string
	// Parents are its parents' names, the first one first.
	Parents []string
	// Date is when it was written, by its author's clock.
	Date            time.Time
	Author, Subject string
}

// ErrLine says that a commit is not on the line of another one.
var ErrLine = errors.New("it is not on the line of commits that leads there")

// Line are the commits after base that changed something below a folder, from the oldest to r, or to the last one before it that did; "" or
// "." is the whole repository. A line goes from a commit to its first parent, as the branch grew: a merge is one commit, which brought all that
// it changed. A base that is not on the line is ErrLine, and so are more than most commits an error.
func (r *Revision) Line(ctx context.Context, base *Revision, dir string, most int) ([]Commit, error) {
	fail := func(err error) ([]Commit, error) {
		return nil, fmt.Errorf("list the commits from %s to %s: %w", base.name, r.name, err)
	}
	if strings.ContainsAny(dir, "\x00\n") {
		return fail(ErrNoPath)
	}
	sealed, err := r.repo.Seal(ctx, gitcmd.View{})
	if err != nil {
		return fail(fmt.Errorf("%w; git was not run", err))
	}
	defer func() { _ = sealed.Close() }()
	// The oldest commit of the line that base does not lead to comes right after base.
	all, err := sealed.Output(ctx, "", "rev-list", "--first-parent", "--parents", r.Commit, "^"+base.Commit)
	if err != nil {
		return fail(err)
	}
	lines := strings.Split(strings.TrimSpace(all), "\n")
	switch first := strings.Fields(lines[len(lines)-1]); {
	case r.Commit == base.Commit:
		return nil, nil
	case len(first) == 0:
		return fail(fmt.Errorf("%w: %s is older than %s; write the older one first", ErrLine, r.name, base.name))
	case len(first) < 2:
		return fail(fmt.Errorf("%w: both have no commit in common", ErrLine))
	case first[1] != base.Commit:
		return fail(fmt.Errorf("%w: the line of %s leaves what %s has at %s; name that commit, or a later one of the line", ErrLine, r.name, base.name, first[1]))
	}
	args := []string{"--literal-pathspecs", "log", "-z", "--first-parent", "--format=%H%n%P%n%at%n%an%n%s", r.Commit, "^" + base.Commit, "--"}
	if dir = below(dir); dir != "" {
		args = append(args, dir)
	}
	var out []Commit
	_, err = sealed.Run(ctx, gitcmd.Call{Args: args}, func(record []byte) error {
		c, err := parseCommit(string(record))
		if out = append(out, c); err == nil && len(out) > most {
			err = fmt.Errorf("%d commits are the most: name a later one than %s", most, base.name)
		}
		return err
	})
	if err != nil {
		return fail(err)
	}
	slices.Reverse(out)
	return out, nil
}

// parseCommit reads what --format of Line prints, a field a line.
func parseCommit(text string) (Commit, error) {
	fields := strings.SplitN(text, "\n", 5)
	if len(fields) != 5 || !IsOID(fields[0]) {
		return Commit{}, errAnswer
	}
	seconds, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Commit{}, errAnswer
	}
	return Commit{ID: fields[0], Parents: strings.Fields(fields[1]), Date: time.Unix(seconds, 0).UTC(), Author: fields[3], Subject: fields[4]}, nil
}

// Fork is a commit that both lead to and that no newer one of these leads to, "" where there is none.
func (r *Revision) Fork(ctx context.Context, a, b string) (string, error) {
	sealed, err := r.repo.Seal(ctx, gitcmd.View{})
	if err != nil {
		return "", fmt.Errorf("find where %s and %s part: %w; git was not run", a, b, err)
	}
	defer func() { _ = sealed.Close() }()
	out, err := sealed.Output(ctx, "", "merge-base", "--all", a, b)
	first, _, _ := strings.Cut(out, "\n")
	if !IsOID(first) { // it exits with 1 where there is none
		return "", context.Cause(ctx)
	}
	return first, err
}
