package git

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git/landing"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// A history of a made-up repository, which tests know all of: each commit with the files that it has. The lines of one
// file differ from one another, so that a difference can be told in one way only.

// made is a commit.
type madeCommit struct {
	number  int // its mark, from 1
	parents []*madeCommit
	files   map[string]madeFile
	oid     string
}

type madeFile struct {
	mode   string
	binary string // instead of lines
	lines  string // each with its newline
}

func (f madeFile) content() string { return f.binary + f.lines }

// history makes commits, at random.
type history struct {
	*rand.Rand
	commits  []*madeCommit
	main     *madeCommit
	branches []*madeCommit
	unique   int
}

func (h *history) commit(files map[string]madeFile, parents ...*madeCommit) *madeCommit {
	c := &madeCommit{number: len(h.commits) + 1, parents: parents, files: files}
	h.commits = append(h.commits, c)
	return c
}

func (h *history) line() string {
	h.unique++
	return fmt.Sprintf("line %d\n", h.unique)
}

func (h *history) one(of ...string) string { return of[h.IntN(len(of))] }

// root is the first commit: a few files of many lines.
func (h *history) root() {
	files := map[string]madeFile{}
	for _, name := range []string{"a", "b", "dir/c", "dir/d e"} {
		var text strings.Builder
		for range 30 + h.IntN(30) {
			text.WriteString(h.line())
		}
		files[name] = madeFile{mode: "100644", lines: text.String()}
	}
	h.main = h.commit(files)
}

// edit changes one thing in files: a line, a blank in a line, a few lines, a mode, a binary file, or a file as a
// whole.
func (h *history) edit(files map[string]madeFile) map[string]madeFile {
	files = maps.Clone(files)
	names := slices.Sorted(maps.Keys(files))
	name := names[h.IntN(len(names))]
	f := files[name]
	lines := strings.SplitAfter(f.lines, "\n")
	at := h.IntN(len(lines))
	switch what := h.IntN(20); {
	case what == 0:
		files[fmt.Sprintf("new/%d", h.unique)] = madeFile{mode: "100644", lines: h.line() + h.line()}
	case what == 1 && len(files) > 3:
		delete(files, name)
	case what == 2:
		f.mode = h.one("100644", "100755")
		files[name] = f
	case what == 3 || f.binary != "":
		files["bin"] = madeFile{mode: "100644", binary: fmt.Sprintf("\x00%d", h.IntN(3))}
	case what == 4 && at < len(lines)-1:
		lines[at] = strings.Replace(lines[at], " ", "  ", 1)
	case what < 10 && at < len(lines)-1:
		lines[at] = h.line()
	case what < 13 && at < len(lines)-2:
		lines = slices.Delete(lines, at, at+1+h.IntN(2))
	default:
		lines = slices.Insert(lines, at, h.line())
	}
	if f.lines != "" && files[name].lines == f.lines && files[name].mode == f.mode {
		f.lines = strings.Join(lines, "")
		files[name] = f
	}
	return files
}

// apply makes the change between two states in a third one. It says false where that has not the place for it.
func apply(from, to, onto map[string]madeFile) (map[string]madeFile, bool) {
	out := maps.Clone(onto)
	for _, name := range changedNames(from, to) {
		before, had := from[name]
		after, has := to[name]
		now, there := onto[name]
		switch {
		case had == there && before == now && has:
			out[name] = after
		case had == there && before == now:
			delete(out, name)
		case !had || !has || !there || before.binary+after.binary+now.binary != "" || before.mode != after.mode:
			return nil, false
		default:
			text, ok := patched(strings.SplitAfter(before.lines, "\n"), strings.SplitAfter(after.lines, "\n"), now.lines)
			if !ok {
				return nil, false
			}
			now.lines = text
			out[name] = now
		}
	}
	return out, true
}

// patched replaces in text what differs between two lists of lines, from the first line that differs to the last.
func patched(before, after []string, text string) (string, bool) {
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	around := max(0, head-1)
	old := strings.Join(before[around:len(before)-tail], "")
	fresh := strings.Join(after[around:len(after)-tail], "")
	if old == "" || strings.Count(text, old) != 1 {
		return "", false
	}
	return strings.Replace(text, old, fresh, 1), true
}

func changedNames(from, to map[string]madeFile) []string {
	names := map[string]bool{}
	for name := range from {
		names[name] = from[name] != to[name]
	}
	for name := range to {
		_, had := from[name]
		names[name] = names[name] || !had || from[name] != to[name]
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}

// onMain commits a state of files on main, unless it is nil.
func (h *history) onMain(files map[string]madeFile, ok bool) {
	if ok {
		h.main = h.commit(files, h.main)
	}
}

// branch makes a branch with a few commits, and brings its work to main in some way, or not.
func (h *history) branch() {
	fork := h.main
	for range h.IntN(4) {
		if len(fork.parents) > 0 {
			fork = fork.parents[0]
		}
	}
	own := []*madeCommit{fork}
	add := func(files map[string]madeFile, more ...*madeCommit) {
		own = append(own, h.commit(files, append([]*madeCommit{own[len(own)-1]}, more...)...))
	}
	for range 1 + h.IntN(3) {
		files := own[len(own)-1].files
		for range h.IntN(3) + 1 - h.IntN(2)*h.IntN(2) {
			files = h.edit(files)
		}
		add(files)
	}
	base := fork
	head := func() *madeCommit { return own[len(own)-1] }
	if h.IntN(8) == 0 { // taken back
		add(own[len(own)-2].files)
	}
	if h.IntN(2) == 0 {
		h.onMain(h.edit(h.main.files), true)
	}
	if h.IntN(6) == 0 { // main is merged in
		if merged, ok := apply(fork.files, head().files, h.main.files); ok {
			add(merged, h.main)
			base = h.main
			if h.IntN(2) == 0 {
				h.onMain(h.edit(h.main.files), true)
			}
		}
	}
	switch h.IntN(9) {
	case 0: // it is not brought in
	case 1, 2:
		h.onMain(apply(base.files, head().files, h.main.files))
	case 3: // and then taken back
		before := h.main
		h.onMain(apply(base.files, head().files, h.main.files))
		h.onMain(before.files, before != h.main)
	case 4, 5: // one by one, perhaps not all
		for _, c := range own[1:] {
			if h.IntN(10) > 0 {
				h.onMain(apply(c.parents[0].files, c.files, h.main.files))
			}
		}
	case 6: // in other pieces, file by file
		for _, name := range changedNames(base.files, head().files) {
			files := maps.Clone(base.files)
			delete(files, name)
			if f, ok := head().files[name]; ok {
				files[name] = f
			}
			if h.IntN(10) > 0 {
				h.onMain(apply(base.files, files, h.main.files))
			}
		}
	case 7: // with something else
		if files, ok := apply(base.files, head().files, h.main.files); ok {
			h.onMain(h.edit(files), true)
		}
	case 8: // by a merge of all but the last commit
		part := own[len(own)-1-h.IntN(2)]
		if files, ok := apply(base.files, part.files, h.main.files); ok && part != fork {
			h.main = h.commit(files, h.main, part)
		}
	}
	if h.IntN(3) == 0 { // one more commit after that
		add(h.edit(head().files))
	}
	if h.IntN(2) == 0 {
		h.onMain(h.edit(h.main.files), true)
	}
	h.branches = append(h.branches, head())
}

// stream is the history as git fast-import reads it.
func (h *history) stream() *bytes.Buffer {
	var out bytes.Buffer
	for _, c := range h.commits {
		fmt.Fprintf(&out, "commit refs/heads/all/%d\nmark :%d\ncommitter t <t@example.org> %d +0000\ndata <<EOF\n%d\nEOF\n", c.number, c.number, 1700000000+c.number, c.number)
		for i, p := range c.parents {
			fmt.Fprintf(&out, "%s :%d\n", []string{"from", "merge"}[i], p.number)
		}
		out.WriteString("deleteall\n")
		for _, name := range slices.Sorted(maps.Keys(c.files)) {
			f := c.files[name]
			fmt.Fprintf(&out, "M %s inline %s\ndata %d\n%s\n", f.mode, name, len(f.content()), f.content())
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "reset refs/heads/main\nfrom :%d\n\n", h.main.number)
	return &out
}

// write makes a repository of the history, and learns the commits' names.
func (h *history) write(t testing.TB) *Repository {
	t.Helper()
	dir := filepath.Join(must.Get(filepath.EvalSymlinks(t.TempDir()))(t), "r.git")
	runGit(t, nil, "init", "-q", "--bare", "-b", "main", dir)
	marks := filepath.Join(filepath.Dir(dir), "marks")
	runGit(t, h.stream(), "-C", dir, "fast-import", "--quiet", "--export-marks="+marks)
	// The branches of all commits were there for the import alone.
	must.Do(t, os.RemoveAll(filepath.Join(dir, "refs", "heads", "all")))
	for line := range strings.Lines(string(must.Get(os.ReadFile(marks))(t))) {
		var n int
		var oid string
		must.Get(fmt.Sscanf(line, ":%d %s", &n, &oid))(t)
		h.commits[n-1].oid = oid
	}
	return must.Get(NewFinder().Open(dir))(t)
}

func runGit(t testing.TB, in *bytes.Buffer, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if in != nil {
		cmd.Stdin = in
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// land asks how the branches got onto main.
func (h *history) land(t testing.TB, r *Repository) []*Worktree {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var asked []*Worktree
	for _, b := range h.branches {
		asked = append(asked, &Worktree{Place: Place{Linked: true}, Head: b.oid, Commits: new(1)})
	}
	must.Do(t, r.MeasureAhead(ctx, Program{}, asked))
	must.Do(t, r.ProveMerged(ctx, Program{}, asked))
	return asked
}

// past is a commit with all that it reaches.
func past(c *madeCommit) map[*madeCommit]bool {
	seen := map[*madeCommit]bool{}
	for todo := []*madeCommit{c}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[c] {
			seen[c] = true
			todo = append(todo, c.parents...)
		}
	}
	return seen
}

// mergeBases are the commits that both reach and that no other such commit reaches.
func mergeBases(a, b *madeCommit) []*madeCommit {
	mine, theirs := past(a), past(b)
	common := map[*madeCommit]bool{}
	for c := range mine {
		common[c] = theirs[c]
	}
	var best []*madeCommit
	for c, ok := range common {
		if !ok {
			continue
		}
		behind := false
		for other, ok := range common {
			behind = behind || ok && other != c && past(other)[c]
		}
		if !behind {
			best = append(best, c)
		}
	}
	return best
}

// told is a difference as a text, worked out line by line: nothing of it is git's.
func told(from, to map[string]madeFile) string {
	var out strings.Builder
	for _, name := range changedNames(from, to) {
		a, b := from[name], to[name]
		fmt.Fprintf(&out, "%q %s %s %q %q\n", name, a.mode, b.mode, a.binary, b.binary)
		if a.binary+b.binary != "" {
			continue
		}
		tellLines(&out, lineList(a.lines), lineList(b.lines))
	}
	return out.String()
}

func lineList(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	return lines[:len(lines)-1]
}

// tellLines writes the lines that differ, with three lines around them, by the longest common subsequence.
func tellLines(out *strings.Builder, a, b []string) {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var all []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || longest[i+1][j] >= longest[i][j+1]):
			all = append(all, "-"+a[i])
			i++
		default:
			all = append(all, "+"+b[j])
			j++
		}
	}
	near := make([]bool, len(all))
	for i, line := range all {
		if line[0] != ' ' {
			for k := max(0, i-3); k <= min(len(all)-1, i+3); k++ {
				near[k] = true
			}
		}
	}
	for i, line := range all {
		if near[i] {
			out.WriteString(line)
		} else if i > 0 && near[i-1] {
			out.WriteString("...\n")
		}
	}
}

// truth is what is so of a branch, by all that is known of the history.
type truth struct {
	by string
	// tree says whether main has, in each file that the branch changed, exactly what the branch has; may whether it
	// has at least every line that the branch added, and no line that it removed.
	tree, may bool
	unasked   bool
}

func (h *history) truth(head *madeCommit) truth {
	theirs := past(h.main)
	if theirs[head] {
		return truth{by: landing.ByAncestry}
	}
	bases := mergeBases(head, h.main)
	if len(bases) != 1 {
		return truth{unasked: true}
	}
	base := bases[0]
	older := past(base)
	makers := map[string]int{}
	for c := range theirs {
		if !older[c] && len(c.parents) == 1 {
			makers[told(c.parents[0].files, c.files)]++
		}
	}
	straight, full := true, 0
	for c := range past(head) {
		if theirs[c] {
			continue
		}
		straight = straight && len(c.parents) == 1
		if change := told(c.parents[0].files, c.files); change != "" {
			full++
			if makers[change]--; makers[change] < 0 {
				full = -1 << 20
			}
		}
	}
	clear(makers)
	for c := range theirs {
		if !older[c] && len(c.parents) == 1 {
			makers[told(c.parents[0].files, c.files)]++
		}
	}
	whole := told(base.files, head.files)
	switch {
	case whole == "":
		return truth{}
	case straight && full > 0:
		return truth{by: landing.ByPatches}
	case makers[whole] > 0:
		return truth{by: landing.BySquash}
	}
	tr := truth{tree: true, may: true}
	for _, name := range changedNames(base.files, head.files) {
		was, had := base.files[name]
		is, has := head.files[name]
		now, there := h.main.files[name]
		if has != there || is != now {
			tr.tree = false
		}
		before, after, main := lineSet(was), lineSet(is), lineSet(now)
		for line := range after {
			tr.may = tr.may && (before[line] || main[line])
		}
		for line := range before {
			tr.may = tr.may && (after[line] || !main[line])
		}
		tr.may = tr.may && is.binary == now.binary && (was.mode == is.mode || is.mode == now.mode) && (had || !has || there) && (has || !there)
	}
	return tr
}

func lineSet(f madeFile) map[string]bool {
	set := map[string]bool{}
	for _, line := range lineList(f.lines) {
		set[line] = true
	}
	return set
}

// TestLandingOfRandomHistories compares each proof for a thousand branches (in the first stage a quarter of them) with what is so.
func TestLandingOfRandomHistories(t *testing.T) {
	if attack.Raced {
		t.Skip("it waits for thousands of runs of git; .ci/run runs it without the race detector")
	}
	t.Parallel()
	repositories, branches := stage.Trials(2, 20), 50
	counts := map[string]int{}
	for seed := range uint64(repositories) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 11))}
		h.root()
		for range branches {
			h.branch()
		}
		for i, w := range h.land(t, h.write(t)) {
			want, got := h.truth(h.branches[i]), "unknown"
			switch {
			case w.Landed != nil && *w.Landed:
				got = landing.ByAncestry
			case w.Landing != nil:
				got = w.Landing.By
			}
			counts[got]++
			ok := got == want.by
			switch {
			case want.unasked:
				ok = got == "unknown"
			case want.by == "" && want.tree:
				ok = got == landing.ByTree
			case want.by == "" && want.may:
				ok = got == landing.ByTree || got == ""
			}
			if !ok {
				t.Errorf("history %d, branch %d (%s): want %+v, got %q", seed, i, w.Head, want, got)
			}
			if w.Landing != nil {
				h.madeBy(t, h.branches[i], w.Landing)
			}
		}
	}
	figures.Logf(t, "%d branches: %v", repositories*branches, counts)
	for _, by := range []string{landing.ByAncestry, landing.ByPatches, landing.BySquash, landing.ByTree, ""} {
		if counts[by] < repositories/2 {
			t.Errorf("only %d of %d branches are %q: the histories are not what they were made for", counts[by], repositories*branches, by)
		}
	}
}

// TestLandingInRepetitiveFiles compares the answer for a file whose sections are the same but for their first line
// with what is so: a branch turns one section on, and main turns on the same one, others, or one before it in which
// lines were added above.
func TestLandingInRepetitiveFiles(t *testing.T) {
	t.Parallel()
	const repositories, branches = 8, 15
	counts := map[string]int{}
	for seed := range uint64(repositories) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 27))}
		sections := make([]bool, 40)
		above := ""
		files := func() map[string]madeFile {
			text := above
			for i, on := range sections {
				text += fmt.Sprintf("section %d\n%sswitch %v\n%s", i, strings.Repeat("same\n", 5), on, strings.Repeat("same\n", 5))
			}
			return map[string]madeFile{"sections": {mode: "100644", lines: text}}
		}
		type flip struct {
			section int
			on      bool
		}
		change := func(section int) (flip, map[string]madeFile) {
			sections[section] = !sections[section]
			return flip{section, sections[section]}, files()
		}
		h.main = h.commit(files())
		var mine, main []flip
		var forks []int
		for range branches {
			own, text := change(h.IntN(len(sections)))
			h.branches, mine, forks = append(h.branches, h.commit(text, h.main)), append(mine, own), append(forks, len(main))
			change(own.section)
			for range 1 + h.IntN(2) {
				if h.IntN(3) == 0 {
					above += h.line()
					h.onMain(files(), true)
				}
				section := h.IntN(len(sections))
				if h.IntN(4) == 0 {
					section = own.section
				}
				done, text := change(section)
				main = append(main, done)
				h.onMain(text, true)
			}
		}
		for i, w := range h.land(t, h.write(t)) {
			want := ""
			if slices.Contains(main[forks[i]:], mine[i]) {
				want = landing.ByPatches
			}
			if w.Landing == nil || w.Landing.By != want {
				t.Errorf("repository %d, branch %d (%s): want %q, got %+v", seed, i, w.Head, want, w.Landing)
				continue
			}
			counts[w.Landing.By]++
		}
	}
	figures.Logf(t, "%d branches: %v", repositories*branches, counts)
	if counts[landing.ByPatches] < 20 || counts[""] < 20 {
		t.Errorf("too few branches have landed, or too few have not: %v", counts)
	}
}

// madeBy holds that the commits that a proof names are main's, and make the change.
func (h *history) madeBy(t *testing.T, head *madeCommit, l *landing.Proof) {
	t.Helper()
	theirs := past(h.main)
	byName := map[string]*madeCommit{}
	for c := range theirs {
		byName[c.oid] = c
	}
	ours := map[string]bool{}
	for c := range past(head) {
		if !theirs[c] && len(c.parents) > 0 {
			ours[told(c.parents[0].files, c.files)] = true
		}
	}
	for _, oid := range l.Commits {
		c := byName[oid]
		switch {
		case c == nil:
			t.Errorf("%s names %s, which is not on main", l.By, oid)
		case l.By == landing.ByPatches && !ours[told(c.parents[0].files, c.files)]:
			t.Errorf("%s makes no change that the branch makes", oid)
		case l.By == landing.BySquash && told(c.parents[0].files, c.files) != told(mergeBases(head, h.main)[0].files, head.files):
			t.Errorf("%s does not make the branch's change", oid)
		}
	}
}

// BenchmarkLanding looks for the proofs of 1,000 branches of one repository, against git cherry for each, of which a
// sample is timed.
func BenchmarkLanding(b *testing.B) {
	const branches, sample = 1000, 20
	h := &history{Rand: rand.New(rand.NewPCG(1, 1))}
	h.root()
	for range branches {
		h.branch()
	}
	r := h.write(b)
	for b.Loop() {
		h.land(b, r)
	}
	ours := b.Elapsed().Seconds() / float64(b.N)
	b.StopTimer()
	start := time.Now()
	for _, c := range h.branches[:sample] {
		runGit(b, nil, "-C", r.CommonDir, "cherry", "main", c.oid)
	}
	cherry := time.Since(start).Seconds() / sample * branches
	b.ReportMetric(ours*1e3/branches, "ms/branch")
	b.ReportMetric(cherry*1e3/branches, "cherry-ms/branch")
	b.ReportMetric(cherry/ours, "x-cherry")
}
