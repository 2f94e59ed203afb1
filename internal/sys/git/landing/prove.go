package landing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// What shows that the work of a branch is in the upstream.
const (
	// ByAncestry: the upstream reaches the branch's head.
	ByAncestry = "ancestry"
	// ByPatches: each commit of the branch has one on the upstream that makes the same change in the same place, as
	// after a rebase or a cherry-pick.
	ByPatches = "patches"
	// BySquash: one commit of the upstream makes the same change in the same place as all of the branch together.
	BySquash = "squash"
	// ByTree: a merge of the branch would change nothing in the upstream.
	ByTree = "tree"
)

// Proof says how the work of a branch is in the upstream. By is "" where no proof holds.
type Proof struct {
	By string
	// Commits are those of the upstream that brought the work in, for ByPatches and BySquash.
	Commits []string
	// Into is the branch that has it, as the caller names it.
	Into string
	// Since is, where the proof is of the latest part alone, the commit before that part. Before says that there is a proof for what Since
	// has too.
	Since  string
	Before bool
}

// Bounds of what is looked at in one repository.
const (
	// maxSince is how many commits of the upstream are compared; of a branch that is older no patch is looked for.
	maxSince = 10_000
	// maxOwn is how many commits of one branch are compared one by one.
	maxOwn = 500
	// maxMerges is how many merges are tried.
	maxMerges = 1000
	// maxMakers is how many commits of the upstream are asked whether they make one change in the same place.
	maxMakers = 32
	// mergeTime is the time that one of them may take.
	mergeTime = 3 * time.Second
)

// Prove gives for heads that the upstream does not reach how their work got into it, as far as that is known; what was
// found before an error stands. It needs no network, and in a repository that lacks objects it does without them.
//
// That the work is in the upstream's history is what counts: when a later commit took it out again, it has landed all
// the same. What is compared are differences, to the last blank. The same lines may stand in several places of a file:
// so the files must also be the same before and after, or a merge of the one change into the other commit must change
// nothing in it. A branch whose commits together change nothing is not looked for, and a branch that merged something
// in is compared as a whole. Without exactly one merge base there is no proof.
//
// Where a branch was made from another one, at one of its cuts, what was added to it since is looked for as well: forges squash the one
// branch and then the other.
func Prove(
	ctx context.Context, sealed *gitsafe.Sandbox, upstream string, over Ahead, heads []string, cuts map[string]map[string]bool,
) (map[string]Proof, error) {
	p := prover{ctx: ctx, sealed: sealed, upstream: upstream, cuts: cuts}
	err := p.prove(over, heads)
	found := map[string]Proof{}
	for _, b := range p.branches {
		if b.landing == nil || found[b.head].By != "" || b.before != nil && b.landing.By == "" {
			continue
		}
		if b.before != nil {
			b.landing.Since, b.landing.Before = b.before.head, b.before.landing != nil && b.before.landing.By != ""
		}
		found[b.head] = *b.landing
	}
	return found, err
}

// branch is what is compared of one head.
type branch struct {
	head string
	// commits are those that the upstream does not reach; nil where they are not compared one by one.
	commits []pair
	base    string  // the only merge base; "" where there is another number of them
	from    string  // what the whole is compared with: the base, or the last commit that another branch had
	before  *branch // that part of another branch, where this is about the rest alone
	whole   outline
	landing *Proof // nil while it is not known
	tried   bool   // the patches were looked for
}

// prover looks for proofs in one repository.
type prover struct {
	ctx      context.Context
	sealed   *gitsafe.Sandbox
	upstream string
	branches []*branch
	since    since
	cuts     map[string]map[string]bool
	merged   int // how many merges were tried
}

// prove fills in what holds. What was found before an error stands.
func (p *prover) prove(over Ahead, heads []string) error {
	for _, head := range heads {
		b, err := p.branch(over, head)
		if err != nil {
			return err
		}
		p.branches = append(p.branches, b)
		at := 0 // how many of its commits another branch had first
		for i, c := range b.commits {
			if p.cuts[head][c.commit] && c.commit != head {
				at = i + 1
			}
		}
		if at == 0 {
			continue
		}
		cut := b.commits[at-1].commit
		before, err := p.branch(over, cut)
		if err != nil {
			return err
		}
		p.branches = append(p.branches, before, &branch{head: head, commits: b.commits[at:], base: b.base, from: cut, before: before})
	}
	// Where patches cannot be compared, as in a clone without files, the trees may still be.
	return errors.Join(p.byPatches(), p.byTrees())
}

// branch walks from a head to the upstream's history. A commit without parents ends all proofs: it is the first of
// another history, or the history was cut off there.
func (p *prover) branch(over Ahead, head string) (*branch, error) {
	b := &branch{head: head}
	seen, edge, straight := map[string]bool{}, map[string]bool{}, true
	for todo := []string{head}; len(todo) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[oid] {
			continue
		}
		seen[oid] = true
		parents, ok := over.Commits[oid]
		switch {
		case !ok && over.Edge[oid]:
			edge[oid] = true
			continue
		case !ok || len(parents) == 0:
			return b, nil
		case len(parents) > 1:
			straight = false
		}
		b.commits = append(b.commits, pair{oid, parents[0]})
		todo = append(todo, parents...)
	}
	if !straight || len(b.commits) > maxOwn {
		b.commits = nil
	}
	slices.Reverse(b.commits) // the oldest first
	bases := slices.Sorted(maps.Keys(edge))
	if len(bases) > 1 {
		var err error
		if bases, err = p.independent(bases); err != nil {
			return nil, err
		}
	}
	if len(bases) == 1 {
		b.base, b.from = bases[0], bases[0]
	}
	return b, nil
}

// maxArgs is how many commits are named in one command line.
const maxArgs = 2000

// independent gives those of the commits that no other one of them reaches.
func (p *prover) independent(oids []string) ([]string, error) {
	if len(oids) > maxArgs {
		return nil, nil
	}
	out, err := p.sealed.Output(p.ctx, "", append([]string{"merge-base", "--independent"}, oids...)...)
	found := strings.Fields(out)
	odd := func(oid string) bool { return !gitsafe.IsOID(oid) }
	if err == nil && (len(found) == 0 || slices.ContainsFunc(found, odd)) {
		err = gitsafe.ErrAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("look for the merge base: %w", err)
	}
	return found, nil
}

// byPatches compares what the branches change with what the commits of the upstream do: first which paths, then the
// lines.
func (p *prover) byPatches() error {
	if err := p.readSince(); err != nil {
		return err
	}
	var asked []*branch
	var pairs []pair
	for _, b := range p.branches {
		if b.base == "" {
			continue
		}
		asked = append(asked, b)
		pairs = append(append(pairs, pair{b.head, b.from}), b.commits...)
	}
	var theirs []pair // a merge brings in what other commits changed, and where a commit has no parents the history may have been cut off
	for _, oid := range p.since.commits {
		if parents := p.since.parents[oid]; len(parents) == 1 {
			theirs = append(theirs, pair{oid, parents[0]})
		}
	}
	all, err := outlines(p.ctx, p.sealed, append(pairs, theirs...), len(pairs))
	if err != nil {
		return err
	}
	ours := all[:len(pairs)]
	wanted, given := map[digest]bool{}, map[digest]bool{}
	for _, o := range ours {
		wanted[o.digest] = !o.many && !o.empty()
	}
	var full []pair
	for i, o := range all[len(pairs):] {
		if wanted[o.digest] && !o.many {
			given[o.digest] = true
			full = append(full, theirs[i])
		}
	}
	n := len(full)
	for i, o := range ours {
		if given[o.digest] && !o.many {
			full = append(full, pairs[i])
		}
	}
	sums, err := digests(p.ctx, p.sealed, full)
	if err != nil {
		return err
	}
	makers := map[digest][]string{} // the commits of the upstream that make a change, the latest first
	for i, sum := range sums[:n] {
		makers[sum] = append(makers[sum], full[i].commit)
	}
	own := map[pair]digest{}
	for i, sum := range sums[n:] {
		own[full[n+i]] = sum
	}
	m := matcher{prover: p, makers: map[pair][]string{}, files: map[string]digest{}}
	for i, sum := range sums[n:] {
		m.makers[full[n+i]] = makers[sum]
	}
	for i, o := range all[len(pairs):] {
		m.files[theirs[i].commit] = o.files
	}
	for _, b := range asked {
		mine := ours[:1+len(b.commits)]
		ours = ours[1+len(b.commits):]
		b.whole = mine[0]
		if err := m.match(b, mine[1:]); err != nil {
			return err
		}
	}
	return nil
}

// matcher knows which commits of the upstream make the change of a pair, wherever it stands, and what they did to
// whole files.
type matcher struct {
	*prover
	makers map[pair][]string
	files  map[string]digest
}

// match looks for the commits of the upstream that make the changes of a branch.
func (m *matcher) match(b *branch, outlines []outline) error {
	if !m.since.bases[b.base] { // not all is known that the upstream has since then
		return nil
	}
	b.tried = true
	if b.whole.empty() {
		return nil
	}
	var commits []string
	for i, c := range b.commits {
		if outlines[i].empty() { // it holds a message, and nothing else
			continue
		}
		oid, err := m.maker(b, c, outlines[i], commits)
		if err != nil {
			return err
		}
		if oid == "" {
			commits = nil
			break
		}
		commits = append(commits, oid)
	}
	if len(commits) > 0 {
		b.landing = &Proof{By: ByPatches, Commits: commits}
		return nil
	}
	oid, err := m.maker(b, pair{b.head, b.from}, b.whole, nil)
	if oid != "" {
		b.landing = &Proof{By: BySquash, Commits: []string{oid}}
	}
	return err
}

// maker gives the commit of the upstream that makes a change of a branch in the same place, but none of the used ones;
// "" where no commit is known to.
func (m *matcher) maker(b *branch, change pair, o outline, used []string) (string, error) {
	older, known := m.since.older[b.base]
	if !known {
		older = m.since.parents.Reach(b.base)
		m.since.older[b.base] = older
	}
	makers := slices.DeleteFunc(slices.Clone(m.makers[change]), func(oid string) bool { return older[oid] || slices.Contains(used, oid) })
	if i := slices.IndexFunc(makers, func(oid string) bool { return m.files[oid] == o.files }); i >= 0 {
		return makers[i], nil
	}
	for i, oid := range makers {
		if i == maxMakers {
			b.tried = false
			break
		}
		// In the same place it is where the change, merged into that commit, would change nothing.
		out, known, err := m.merge(change.against, oid, change.commit)
		switch {
		case err != nil:
			return "", err
		case known && sameFiles.MatchString(out):
			return oid, nil
		}
		b.tried = b.tried && known
	}
	return "", nil
}

// byTrees tries for the remaining branches what a merge would give.
func (p *prover) byTrees() error {
	var asked []*branch
	for _, b := range p.branches {
		if b.base != "" && b.landing == nil && b.before == nil {
			asked = append(asked, b)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	var in strings.Builder
	in.WriteString(p.upstream + "^{tree}\n")
	for _, b := range asked {
		in.WriteString(b.head + "^{tree}\n" + b.base + "^{tree}\n")
	}
	out, err := p.sealed.Output(p.ctx, in.String(), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return fmt.Errorf("read trees: %w", err)
	}
	trees := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(trees) != 1+2*len(asked) {
		return gitsafe.ErrAnswer
	}
	open, err := p.untouched(asked)
	if err != nil {
		return err
	}
	for i, b := range asked {
		mine, before := trees[1+2*i], trees[2+2*i]
		if !gitsafe.IsOID(trees[0]) || !gitsafe.IsOID(mine) || !gitsafe.IsOID(before) {
			continue // a clone that lacks trees
		}
		if mine == before { // nothing that could be looked for
			b.landing = &Proof{}
			continue
		}
		if open[b] {
			if b.tried {
				b.landing = &Proof{}
			}
			continue
		}
		out, known, err := p.merge("--write-tree", "--no-messages", p.upstream, b.head)
		switch {
		case err != nil:
			return err
		case out == trees[0]+"\n":
			b.landing = &Proof{By: ByTree}
		case known && b.tried:
			b.landing = &Proof{}
		}
	}
	return nil
}

// untouched tells which of the branches changed a file that the upstream has as it was before: a merge would change
// it. So for most branches whose work is nowhere else no merge need be tried.
func (p *prover) untouched(asked []*branch) (map[*branch]bool, error) {
	var in strings.Builder
	n := 0
	for _, b := range asked {
		for _, c := range b.whole.some {
			in.WriteString(p.upstream + ":" + c.path + "\n")
			n++
		}
	}
	out, err := p.sealed.Output(p.ctx, in.String(), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, fmt.Errorf("read files' names: %w", err)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != n+1 {
		return nil, gitsafe.ErrAnswer
	}
	open := map[*branch]bool{}
	for _, b := range asked {
		for _, c := range b.whole.some {
			now := lines[0]
			lines = lines[1:]
			missing := !gitsafe.IsOID(now) && strings.HasSuffix(now, " missing")
			open[b] = open[b] || now == c.was || missing && gitsafe.IsZero(c.was)
		}
	}
	return open, nil
}

// sameFiles is what git merge-tree prints of files that both sides changed. The lines that a merge would change follow
// each of them.
var sameFiles = regexp.MustCompile(`\A(changed in both\n(  (base|our|their)  +[0-7]+ [0-9a-f]+ .*\n){3})*\z`)

// merge runs git merge-tree, which writes into no repository, and gives what it prints. That is not known where git lacks objects, takes too
// long, or, for a merge of more than files alone, is older than 2.38.
func (p *prover) merge(args ...string) (out string, known bool, err error) {
	if p.merged++; p.merged > maxMerges {
		return "", false, fmt.Errorf("more than %d merges would have to be tried; the rest is not known", maxMerges)
	}
	ctx, cancel := context.WithTimeout(p.ctx, mergeTime)
	defer cancel()
	out, err = p.sealed.Output(ctx, "", append([]string{"-c", "core.fsync=none", "merge-tree"}, args...)...)
	var exit *exec.ExitError
	switch {
	case p.ctx.Err() != nil:
		return "", false, context.Cause(p.ctx)
	case errors.As(err, &exit) && exit.ExitCode() == 1 && ctx.Err() == nil:
		return "conflicts", true, nil
	case errors.Is(err, gitsafe.ErrNoGit):
		return "", false, err
	case err != nil:
		return "", false, nil
	}
	return out, true, nil
}

// since is what the upstream has since the oldest merge base that is not too old: its commits, the latest first.
type since struct {
	commits []string
	parents Graph
	bases   map[string]bool
	older   map[string]map[string]bool // those of them that each base reaches
}

// readSince reads the upstream's commits since the oldest of the merge bases. Where they are too many, it is the newer
// half of the bases whose branches are looked for, and so on.
func (p *prover) readSince() error {
	bases, err := p.newestFirst()
	if err != nil {
		return err
	}
	for ; len(bases) > 0; bases = bases[:len(bases)/2] {
		s, err := p.sinceAll(bases)
		if err != nil {
			return err
		}
		if len(s.commits) <= maxSince {
			p.since = s
			return nil
		}
	}
	return nil
}

// newestFirst gives the merge bases of the branches by their time.
func (p *prover) newestFirst() ([]string, error) {
	set := map[string]bool{}
	for _, b := range p.branches {
		if b.base != "" {
			set[b.base] = true
		}
	}
	if len(set) < 2 {
		return slices.Collect(maps.Keys(set)), nil
	}
	var bases []string
	in := strings.NewReader(strings.Join(slices.Sorted(maps.Keys(set)), "\n") + "\n")
	err := revList(p.ctx, p.sealed, in, func(oids []string, _ bool) error {
		if !set[oids[0]] {
			return gitsafe.ErrAnswer
		}
		bases = append(bases, oids[0])
		return nil
	}, "--no-walk=sorted")
	if err != nil {
		return nil, fmt.Errorf("look for the oldest merge base: %w", err)
	}
	return bases[:min(len(bases), maxArgs)], nil
}

// sinceAll reads what the upstream has since a commit that all these bases have in their history.
func (p *prover) sinceAll(bases []string) (since, error) {
	s := since{parents: Graph{}, bases: map[string]bool{}, older: map[string]map[string]bool{}}
	oldest := bases[0]
	if len(bases) > 1 {
		out, err := p.sealed.Output(p.ctx, "", append([]string{"merge-base", "--octopus"}, bases...)...)
		var exit *exec.ExitError
		if oldest = strings.TrimSuffix(out, "\n"); errors.As(err, &exit) && exit.ExitCode() == 1 {
			oldest, err = "", nil // they have nothing in common
		} else if err == nil && !gitsafe.IsOID(oldest) {
			err = gitsafe.ErrAnswer
		}
		if err != nil {
			return s, fmt.Errorf("look for the oldest merge base: %w", err)
		}
	}
	before := map[string]bool{}
	if oldest != "" {
		before[oldest] = true
	}
	in := revisions(map[string]bool{p.upstream: true}, before)
	err := revList(p.ctx, p.sealed, in, func(oids []string, _ bool) error {
		s.commits = append(s.commits, oids[0])
		s.parents[oids[0]] = oids[1:]
		return nil
	}, "--parents", fmt.Sprintf("--max-count=%d", maxSince+1))
	if err != nil {
		return s, fmt.Errorf("list the upstream's commits: %w", err)
	}
	for _, base := range bases {
		s.bases[base] = true
	}
	return s, nil
}
