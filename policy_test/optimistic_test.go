package policy_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// rounds is how many times each world gets other answers to the dear questions; once under the race detector, for nothing in it runs beside anything.
func rounds() int {
	if attack.Raced {
		return 1
	}
	return 3
}

// TestNoAnswerIsBetterThanTheBest gives the folders of every world answers by chance to all dear questions, unknown ones among them, and holds three things. With no answers a rule finds
// a reason that it does not find with the best ones (subject.Optimistic), and with none it objects less. And where a folder is not asked about, because it stays with the best
// answers, the decisions are those that come of asking about all.
func TestNoAnswerIsBetterThanTheBest(t *testing.T) {
	t.Parallel()
	e := shipped(t)
	all := cases(t)
	all["machine"] = Case{}
	var reaped, spared, foregone, parts int
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		if !aboutFolders(c) || !drawn(name, stage.Trials(8, 1)) {
			continue
		}
		world := parse(t, worldOf(t, c))
		if len(world.Dirs) == 0 {
			continue
		}
		config := configOf(t, c)
		world.Processes, world.Sessions, world.Tabs, world.Terminals = nil, nil, nil, nil // of which no folder is judged by; TestBestLeavesNothingOutThatFoldersAreJudgedBy
		for round := range rounds() {
			by := rand.New(rand.NewPCG(uint64(round), uint64(len(name))))
			s := answered(by, world)
			settled, err := e.Prejudge(t.Context(), s, config, func(string) bool { return true })
			must.Do(t, err)
			where := fmt.Sprintf("%s, round %d", name, round)
			best, real := byID(t, e, subject.Optimistic(s, config), config), byID(t, e, s, config)
			for id, d := range real {
				at := s.Dirs[id]
				top, f := best[id], settled[id]
				if at.Content != nil {
					top, f = best[subject.PartID(at.Content.Worktree)], settled[at.Content.ID]
					if f.Part {
						f.Why = ""
					}
				}
				if top.ID != "" || at.Content == nil || f.Why != "" { // a part of what goes as a whole is not decided
					holdsBest(t, where, d, top)
				}
				if goes(d) && f.Why != "" {
					t.Errorf("%s: %s may go, and would not have been asked about, because %s", where, id, f.Why)
				}
				if goes(d) {
					reaped++
				} else {
					spared++
				}
			}
			asked, n := thrifty(s, settled)
			foregone += n
			for id, d := range byID(t, e, asked, config) {
				if goes(d) != goes(real[id]) || goes(d) && !cmp.Equal(d, real[id]) {
					t.Errorf("%s: %s is decided otherwise when less is asked:\n%s", where, id, cmp.Diff(real[id], d))
				}
				if d.Action == decision.Trim && goes(d) {
					parts++
				}
			}
			for id, d := range real {
				if _, there := asked.Dirs[id]; goes(d) && !there {
					t.Errorf("%s: %s may go, and is not there when less is asked", where, id)
				}
			}
		}
	}
	if few := stage.Trials(8, 1); reaped < 20/few || spared < 100/few || foregone < 100/few || parts == 0 {
		t.Errorf("%d that may go, %d spared, %d not asked about, %d parts: these worlds show nothing", reaped, spared, foregone, parts)
	}
}

// aboutFolders leaves out the cases in which all that folders are decided by is as in another case.
func aboutFolders(c Case) bool {
	if c.Sentence == "" || c.Snapshot != nil || c.Config != nil || c.Exceptions != nil {
		return true
	}
	others := []string{"processes", "sessions", "tabs", "terminals", "open_sessions", "sightings", "owners", "ancestries", "workspaces"}
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.Change)), func(part string) bool { return !slices.Contains(others, part) })
}

// goes reports whether something would happen to d, or be reported for it.
func goes(d decision.Decision) bool {
	return len(d.Findings) > 0 && len(d.Objections) == 0 || d.Awaits()
}

func byID(t *testing.T, e *eval.Engine, s *snapshot.Snapshot, c *subject.Config) map[string]decision.Decision {
	t.Helper()
	res, err := e.Decide(t.Context(), s, c)
	if err != nil || len(res.Errors) > 0 {
		t.Fatal(err, res.Errors)
	}
	out := map[string]decision.Decision{}
	for _, d := range res.Decisions {
		if d.Kind == snapshot.KindDir {
			d.Identity.Dir = nil // it has the facts that the rules go by, and no pointers are the same
			out[d.ID] = d
		}
	}
	return out
}

// holdsBest holds a decision against that with the best answers, rule by rule.
func holdsBest(t *testing.T, where string, d, best decision.Decision) {
	t.Helper()
	rules := func(rs []decision.Reason) (out []string) {
		for _, r := range rs {
			out = append(out, r.Rule)
		}
		return out
	}
	for _, rule := range rules(d.Findings) {
		if !slices.Contains(rules(best.Findings), rule) {
			t.Errorf("%s: %s finds a reason of %s that the best answers do not give", where, rule, d.ID)
		}
	}
	for _, rule := range rules(best.Objections) {
		if rule == "protect.nested" && slices.Contains(rules(d.Objections), "protect.unsaved") {
			continue // which speaks for it of what was not looked into
		}
		// Two go by what others find.
		if !slices.Contains([]string{"protect.excepted", "protect.project"}, rule) && !slices.Contains(rules(d.Objections), rule) {
			t.Errorf("%s: %s objects to %s with the best answers, and not with these", where, rule, d.ID)
		}
	}
}

// answered is a world whose folders have other answers to the dear questions, and their worktrees a folder that can be made again.
func answered(by *rand.Rand, world *snapshot.Snapshot) *snapshot.Snapshot {
	out := *world
	out.Dirs = map[string]snapshot.Dir{}
	for _, id := range slices.Sorted(maps.Keys(world.Dirs)) {
		d := world.Dirs[id]
		if d.Content != nil { // what is to be found depends on its worktree
			continue
		}
		answer(by, &d)
		out.Dirs[id] = d
		if g := d.Git; g != nil && g.Worktree != nil && *g.Worktree && d.Gone == nil && d.BornAt != nil {
			part := partOf(by, d)
			out.Dirs["dir:"+part.Path] = part
		}
	}
	return &out
}

// mostly gives the first of some values half of the time, so that not every folder is kept by something.
func mostly[T any](by *rand.Rand, first T, others ...T) T {
	if by.IntN(8) > 0 {
		return first
	}
	return others[by.IntN(len(others))]
}

func count(by *rand.Rand) *int { return mostly(by, new(0), new(1), new(3), nil) }

func listed(by *rand.Rand, name string) *[]string {
	return mostly(by, new([]string{}), new([]string{name}), nil)
}

func answer(by *rand.Rand, d *snapshot.Dir) {
	type users struct {
		list  []snapshot.Holder
		known *bool
	}
	u := mostly(by, users{[]snapshot.Holder{}, new(true)}, users{[]snapshot.Holder{{PID: 77, Name: "vi", How: "fd"}}, new(true)}, users{nil, new(false)}, users{})
	d.Holders, d.HoldersKnown = u.list, u.known
	if d.SharedOutside = mostly(by, nil, new(false), new(true)); d.SharedOutside != nil && *d.SharedOutside {
		d.HoldersKnown = new(false)
	}
	d.Pointers = mostly(by, new([]snapshot.Pointer{}), new([]snapshot.Pointer{{Kind: "unit", Path: "/etc/systemd/system/x.service"}}), nil)
	d.Skipped = mostly(by, "", "there are too many files in it")
	if d.Checkout != nil && !*d.Checkout {
		d.Nested = listed(by, "inner")
	}
	if d.Git == nil {
		return
	}
	g := *d.Git
	d.Git = &g
	g.Dirty, g.Untracked, g.Ignored, g.Staged = count(by), count(by), count(by), count(by)
	g.Same, g.LeftOut, g.Scaffold, g.Reports = count(by), count(by), count(by), count(by)
	g.UntrackedPaths, g.IgnoredPaths, g.LeftOutPaths = listed(by, "a"), listed(by, "b"), listed(by, "node_modules/")
	g.DifferingPaths, g.OnlyHerePaths, g.Nested = listed(by, "a"), listed(by, "b"), listed(by, "inner")
	g.Elsewhere = mostly(by, new(true), new(false), nil)
	g.LandingError = mostly(by, "", "git ended")
	commits := []string{"1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"}
	g.Landing = mostly(by,
		&snapshot.Landing{By: []string{"patches", "squash", "tree", "ancestry"}[by.IntN(4)], Into: g.Upstream, Commits: commits[:by.IntN(3)]},
		&snapshot.Landing{By: "", Into: g.Upstream, Commits: []string{}}, &snapshot.Landing{By: "tree", Into: "refs/remotes/origin/old", Commits: commits}, nil)
	// One of a hundred worlds has all that it takes.
	if by.IntN(3) == 0 && (d.SharedOutside == nil || !*d.SharedOutside) {
		zero := func() *int { return new(0) }
		none := func() *[]string { return new([]string{}) }
		g.Dirty, g.Untracked, g.Ignored, g.Staged, g.Nested = zero(), zero(), zero(), zero(), none()
		d.Holders, d.HoldersKnown, d.Skipped, d.Pointers = []snapshot.Holder{}, new(true), "", new([]snapshot.Pointer{})
	}
}

// partOf is a folder in a worktree that can be made again, as far as chance wants.
func partOf(by *rand.Rand, d snapshot.Dir) snapshot.Dir {
	g, path := d.Git, d.Path+"/node_modules"
	active := d.ActiveAt
	if active != nil && d.ModifiedAt != nil && active.Equal(*d.ModifiedAt) && by.IntN(2) == 0 { // git used it last before that
		active = new(d.BornAt.Add(time.Hour))
	}
	part := snapshot.Dir{
		Source: d.Source, Name: "node_modules", Path: path, Root: d.Root, ModifiedAt: mostly(by, d.BornAt, d.ModifiedAt, nil), ActiveAt: mostly(by, active, d.ActiveAt, nil),
		BornAt: d.BornAt, Symlink: new(false), Device: d.Device, Inode: new(uint64(by.IntN(1 << 20))), MountID: d.MountID, UID: d.UID, Mounts: mostly(by, new(0), new(1), nil),
		Empty: new(false), Checkout: new(false), Nested: listed(by, "store"), Holders: d.Holders, HoldersKnown: d.HoldersKnown, Pointers: d.Pointers,
		Content: &snapshot.Content{
			Worktree: d.Path, ID: "dir:" + d.Path, Name: d.Name, Main: g.Main, Linked: g.Worktree, Registered: g.Registered, Pattern: mostly(by, "node_modules", "mine"),
			Maker:   mostly(by, new("npm"), new(""), nil),
			Ignored: mostly(by, new(true), new(false), nil), Tracked: count(by), Bytes: mostly(by, new(int64(1)<<30), new(int64(1)), nil), Others: count(by),
		},
	}
	if g.Locked != nil {
		part.Content.Locked = new(*g.Locked && !g.Lock.Void())
	}
	return part
}

// thrifty is a world in which the dear questions were asked of those folders alone that are worth them, and git nothing of those that are in use, as
// collectors/dirs does; with how many folders nothing was asked about.
func thrifty(s *snapshot.Snapshot, settled map[string]eval.Prejudged) (*snapshot.Snapshot, int) {
	out := *s
	out.Dirs = map[string]snapshot.Dir{}
	unasked := 0
	for id, d := range s.Dirs {
		if d.Content == nil {
			f := settled[id]
			used := len(d.Holders) > 0 || d.HoldersKnown == nil || !*d.HoldersKnown
			switch {
			case f.Why != "" && !f.Part:
				unasked++
				d = stripped(d)
				d.Holders, d.HoldersKnown, d.Skipped = nil, nil, f.Why
			case used:
				d = stripped(d)
				d.Skipped = "it is in use"
			}
			out.Dirs[id] = d
			continue
		}
		if of := settled[d.Content.ID]; of.Why == "" || of.Part {
			out.Dirs[id] = d
		}
	}
	return &out, unasked
}

// stripped is a folder that was not looked into.
func stripped(d snapshot.Dir) snapshot.Dir {
	d.Nested = nil
	if d.Git == nil {
		return d
	}
	g := *d.Git
	g.Dirty, g.Untracked, g.Ignored, g.Staged, g.Same, g.LeftOut, g.Scaffold, g.Reports = nil, nil, nil, nil, nil, nil, nil, nil
	g.UntrackedPaths, g.IgnoredPaths, g.LeftOutPaths, g.DifferingPaths, g.OnlyHerePaths, g.Nested = nil, nil, nil, nil, nil, nil
	g.Landing, g.LandingError, g.Elsewhere = nil, "", nil
	d.Git = &g
	return d
}

// TestBestLeavesNothingOutThatFoldersAreJudgedBy holds that a folder's document is the same in what subject.Optimistic gives as in the whole world, but for the answers.
func TestBestLeavesNothingOutThatFoldersAreJudgedBy(t *testing.T) {
	t.Parallel()
	for name, c := range cases(t) {
		if !aboutFolders(c) {
			continue
		}
		world, config := parse(t, worldOf(t, c)), configOf(t, c)
		best := subject.Optimistic(world, config)
		whole := *world
		whole.Dirs, whole.Sightings = best.Dirs, nil // no rule about folders goes by sightings
		a, b := subject.Join(&whole, config), subject.Join(best, config)
		for id := range best.Dirs {
			want, _ := a.Subject(id)
			got, _ := b.Subject(id)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(subject.Excepted{})); diff != "" {
				t.Errorf("%s: %s:\n%s", name, id, diff)
			}
		}
	}
}
