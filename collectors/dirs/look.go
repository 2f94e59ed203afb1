package dirs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
)

// maxExecs is how many git status run at a time.
var maxExecs = max(2, min(runtime.NumCPU(), 8))

// candidate is one folder on its way into the snapshot.
type candidate struct {
	dir      snapshot.Dir
	place    git.Place
	repo     *git.Repository
	worktree *git.Worktree
	// gone is the entry of a worktree whose folder is gone, as it was read first; nil for a folder that is there.
	gone     *goneEntry
	problems []string
	// around is the worktree that a folder in it lies in, which is a candidate of its own; nil for all others.
	around *candidate
	// ignored are the paths that git ignores, nil where git was not asked; made are those of them that tools make again.
	ignored, made []string
}

func (c *candidate) fail(err error) {
	if err != nil {
		c.problems = append(c.problems, err.Error())
	}
}

// look is one reading of a source.
type look struct {
	reader
	prober     *prober
	candidates []*candidate
	// dealt is called for each folder that was listed, when all is known of it that will be.
	dealt  func()
	mounts *mounts
	trust  *trust
	// pointing is what leads into folders, for a look that is about some of them alone.
	pointing pointing
	// left is how many entries of plain folders are looked at still.
	left atomic.Int64
	// refused says of folders that were found why they are not candidates, and notes says so of entries in a repository.
	refused, notes []string
	// unreadable counts what could not be listed.
	unreadable int
	// groups are the candidates by the repository that they are checkouts of, and at last those that are in none. asks are the repositories
	// of which git is asked.
	groups [][]*candidate
	asks   map[string]bool

	probe sync.Once
	noGit error // not nil when git was found to fail at every request
}

// base reads what is cheap and needs no git.
func (l *look) base(list []found) {
	mounts, err := l.o.mounts()
	if err != nil {
		l.o.Log.Warn("mounts are unknown", "error", err)
	}
	l.mounts = mounts
	for _, f := range list {
		if f.entry != "" {
			l.baseGone(f, err)
			continue
		}
		c := &candidate{dir: snapshot.Dir{Name: filepath.Base(f.path), Path: f.path, Root: f.root}}
		g, gerr := l.prober.glance(f)
		switch {
		case gone(g.ownErr):
			l.dealt()
			continue
		case g.ownErr != nil:
			l.refuse(f.path, g.ownErr)
			l.dealt()
			continue
		case gerr != nil: // what does not answer is shown as unread
			c.fail(fmt.Errorf("read folder: %w", gerr))
		default:
			c.dir = g.dir
			c.fail(err)
			l.locate(c, g)
		}
		c.dir.Source = l.name
		l.candidates = append(l.candidates, c)
	}
}

// locate takes note of whether the folder is a checkout. Nothing was read through a link.
func (l *look) locate(c *candidate, g glance) {
	if c.dir.Symlink == nil || *c.dir.Symlink {
		return
	}
	if l.mounts != nil {
		c.dir.Mounts = new(l.mounts.count[c.dir.Path])
	}
	c.dir.SharedOutside = new(l.o.outside(c.dir.Path))
	c.dir.Empty = g.empty
	c.fail(g.emptyErr)
	c.dir.ActiveAt = c.dir.ModifiedAt
	place, err := g.place, g.placeErr
	switch {
	case errors.Is(err, git.ErrNone):
		c.dir.Checkout = new(false)
	case denied(err):
		c.fail(err)
	case err != nil:
		c.dir.Checkout = new(true)
		c.dir.Git = located(place)
		if place.Lost && place.Linked && place.CommonDir != "" {
			if err = l.trust.repository(l.prober, git.Place{Path: place.Path, CommonDir: place.CommonDir, AdminDir: place.CommonDir}); err == nil {
				c.place = place
			}
		}
		c.fail(err)
	default:
		c.dir.Checkout = new(true)
		if err := l.trust.repository(l.prober, place); err != nil {
			c.dir.Git = located(place)
			c.fail(err)
			return
		}
		c.place = place
	}
}

// located is what is known of a checkout whose git folders cannot be read.
func located(p git.Place) *snapshot.Git {
	g := &snapshot.Git{CommonDir: p.CommonDir, AdminDir: p.AdminDir}
	if p.Linked {
		g.Worktree = new(true)
	}
	if p.Lost {
		g.Registered = new(false)
	}
	return g
}

// holders finds out who uses the candidates that are worth the question.
func (l *look) holders(ctx context.Context) {
	var asked []*candidate
	for _, c := range l.candidates {
		if c.dir.Symlink == nil || *c.dir.Symlink {
			continue
		}
		if known := l.decided(c); known.skip(l.trims(c)) == "" {
			asked = append(asked, c)
		} else {
			c.dir.Holders = known.Users
		}
	}
	if l.o.Holders == nil || len(asked) == 0 {
		return
	}
	held, known, err := l.users(ctx, asked)
	for _, c := range asked {
		if err != nil {
			c.fail(fmt.Errorf("look for holders: %w", err))
			c.dir.HoldersKnown = new(false) // which does not mean that it was not asked
			continue
		}
		var users []snapshot.Holder
		for _, path := range c.places() {
			users = slices.Concat(users, held[path])
		}
		c.dir.SetHolders(users, known)
	}
}

// users are those of the candidates' places, by path.
func (l *look) users(ctx context.Context, of []*candidate) (map[string][]snapshot.Holder, bool, error) {
	if l.o.Later {
		return l.o.Cache.users(ctx, l.o)
	}
	var paths []string
	for _, c := range of {
		paths = append(paths, c.places()...)
	}
	return l.o.Holders(ctx, paths)
}

// places are where somebody may use the candidate: the folder, and of one that is gone its entry too.
func (c *candidate) places() []string {
	if c.gone != nil {
		return []string{c.dir.Path, c.place.AdminDir}
	}
	return []string{c.dir.Path}
}

// decided is what the rules made of a candidate by what is cheap to know.
func (l *look) decided(c *candidate) Prefiltered {
	if !l.o.Later {
		return Prefiltered{}
	}
	return l.o.Cache.prefiltered(ID(c.dir.Path))
}

// repositories reads the admin folders, and asks git two questions for each repository. For one where only a main checkout or
// a clone is a candidate git is not asked, since those are kept anyway.
func (l *look) repositories(ctx context.Context) {
	place := map[string]int{}
	var others []*candidate
	for _, c := range l.candidates {
		common := c.place.CommonDir
		if common == "" {
			others = append(others, c)
			continue
		}
		i, known := place[common]
		if !known {
			i = len(l.groups)
			place[common], l.groups = i, append(l.groups, nil)
		}
		l.groups[i] = append(l.groups[i], c)
	}
	repositories := l.groups
	l.groups = append(slices.Clip(l.groups), others)
	end := reserve(ctx)
	var asked sync.WaitGroup
	defer asked.Wait()
	l.left.Store(git.Budget)
	now := !l.o.Later && !l.o.Places
	if now || l.o.Places {
		asked.Go(func() { l.contents(ctx, end, others) })
	}
	for _, members := range repositories {
		common := members[0].place.CommonDir
		if l.repository(ctx, common, members) && !l.o.Places {
			l.asks[common] = true
		}
		if l.o.Later {
			continue
		}
		asks := l.asks[common]
		// Each repository goes its own way from here, so that one that never answers costs its own worktrees alone.
		asked.Go(func() {
			if asks {
				_ = l.weigh(ctx, end, members) // its members say so
			}
			l.describe(members)
			if now {
				l.into(ctx, end, members)
			}
		})
	}
}

// describe writes what is known of checkouts into the snapshot's words.
func (l *look) describe(members []*candidate) {
	for _, c := range members {
		if c.worktree != nil {
			c.describe()
			if c.gone != nil {
				c.dir.Git.Registered = new(true)
			}
			c.dir.Git.Lock = l.lock(c)
			l.atRest(c)
		}
	}
}

// into looks into the checkouts of one repository, or into folders that are in none.
func (l *look) into(ctx context.Context, end time.Time, members []*candidate) {
	l.contents(ctx, end, members)
	l.landings(ctx, end, members)
}

// repository reads the admin folders of a repository's checkouts, and says whether git is to be asked about them. Where it does not answer,
// nothing more of it is read.
func (l *look) repository(ctx context.Context, common string, members []*candidate) (asks bool) {
	prober := newProber(ctx, l.o)
	repo, err := ask(prober, func(f *git.Finder) (*git.Repository, error) { return f.Open(common) })
	var named []string
	if err == nil {
		named, err = ask(prober, func(*git.Finder) ([]string, error) { return repo.LandingBranches(l.o.LandingBranches) })
	}
	linked := false
	for _, c := range members {
		if err != nil {
			c.dir.Git = located(c.place)
			c.fail(err)
			continue
		}
		if c.place.Lost {
			c.lose(repo)
			continue
		}
		var w *git.Worktree
		if w, err = ask(prober, func(*git.Finder) (*git.Worktree, error) {
			w := l.entry(repo, c.place)
			repo.ReadBases(w, named)
			return w, nil
		}); err != nil {
			c.dir.Git = located(c.place)
			c.fail(fmt.Errorf("read admin folder: %w", err))
			continue
		}
		c.repo, c.worktree = repo, w
		linked = linked || c.place.Linked
	}
	l.o.Log.Debug("read repository", "path", common, "worktrees", len(members))
	return linked || l.o.Full && err == nil
}

// weigh asks git the questions about a whole repository, for these checkouts of it.
func (l *look) weigh(ctx context.Context, end time.Time, members []*candidate) error {
	own, cancel := context.WithDeadlineCause(ctx, end, errTimeout)
	defer cancel()
	leave, err := l.o.Cache.limiter.enter(own)
	if err == nil {
		var worktrees []*git.Worktree
		var repo *git.Repository
		for _, c := range members {
			if c.worktree == nil {
				continue
			}
			if repo == nil {
				repo = c.repo
			}
			c.repo, worktrees = repo, append(worktrees, c.worktree) // what it finds out stays with the repository that was asked
		}
		if repo != nil {
			err = repo.MeasureAhead(own, git.Program{Path: l.o.Git}, worktrees)
		}
		leave()
		l.gitFails(ctx, err)
	}
	for _, c := range members {
		c.fail(err)
	}
	return err
}

// describe writes what the admin folder and the two questions gave into the snapshot's words.
func (c *candidate) describe() {
	w, r := c.worktree, c.repo
	c.dir.Git = &snapshot.Git{
		Worktree: new(w.Linked), Registered: w.Registered, Main: r.Main, CommonDir: w.CommonDir, AdminDir: w.AdminDir,
		Head: w.Head, Branch: w.Branch, Detached: w.Detached, Locked: w.Locked, Upstream: r.Upstream,
		FetchedAt: known(r.FetchedAt), Landed: w.Landed, Ahead: w.Ahead, Commits: w.Commits, Unreachable: w.Unreachable, Operation: w.Operation,
		Bases: w.Bases, PushedAt: known(w.PushedAt), Followed: w.Followed, FollowedGone: w.FollowedGone, PullRequests: pulls(w.PullRequests),
	}
	if w.Landed != nil && *w.Landed {
		c.dir.Git.Landing = &snapshot.Landing{By: landing.ByAncestry, Into: r.Upstream, Commits: []string{}}
	}
	if c.dir.ActiveAt != nil && w.ActiveAt.After(*c.dir.ActiveAt) {
		c.dir.ActiveAt = known(w.ActiveAt)
	}
	for _, err := range w.Errors {
		c.fail(err)
	}
}

// pulls writes a repository's records of pull requests in the snapshot's words.
func pulls(records *[]git.PullRequest) *[]snapshot.PullRequest {
	if records == nil {
		return nil
	}
	out := make([]snapshot.PullRequest, 0, len(*records))
	for _, r := range *records {
		p := snapshot.PullRequest{By: r.By, State: r.State, Head: r.Head}
		if r.Number != 0 {
			p.Number = &r.Number
		}
		out = append(out, p)
	}
	return &out
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// part hands over what was found.
func (l *look) part() collectors.Part {
	p := collectors.Part{Dirs: make(map[string]snapshot.Dir, len(l.candidates)), Unreadable: l.unreadable, Refused: slices.Concat(l.refused, l.notes)}
	for _, c := range l.candidates {
		if len(c.problems) > 0 {
			c.dir.Error = strings.Join(c.problems, "; ")
			p.Unreadable++
		}
		p.Dirs[ID(c.dir.Path)] = c.dir
	}
	return p
}
