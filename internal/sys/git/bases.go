package git

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// line is the folder of refs that the upstream is in, such as refs/remotes/origin/, or refs/heads/ in a repository without a remote.
func (r *Repository) line() string {
	parts := strings.SplitAfterN(r.Upstream, "/", 4)
	return strings.Join(parts[:len(parts)-1], "")
}

// LandingBranches gives the branches beside the upstream that have one of these names there, which are names or globs.
func (r *Repository) LandingBranches(globs []string) ([]string, error) {
	if len(globs) == 0 || r.Upstream == "" {
		return nil, nil
	}
	found, line := []string{}, r.line()
	take := func(name, _ string) {
		short, beside := strings.CutPrefix(name, line)
		hit := func(glob string) bool { ok, err := path.Match(glob, short); return ok && err == nil }
		if beside && name != r.Upstream && slices.ContainsFunc(globs, hit) {
			found = append(found, name)
		}
	}
	err := r.refs.eachRef(line, take)
	slices.Sort(found)
	return found, err
}

// ReadBases fills in the branches beside the upstream on which the work of a worktree has landed too: the named ones, and those that it was
// made from, by the first line of its branch's reflog, branch.<name>.merge and branch.<name>.gh-merge-base. They are remote branches but in
// a repository without a remote: what a local branch alone has is in no other place.
//
// A branch of the same name is where the branch itself is published. So is one that ever stood at a commit which was made here: work that
// waits for a review is on such a branch, under any name. Where no commit was made here, nothing can have landed there.
func (r *Repository) ReadBases(w *Worktree, named []string) {
	name, local := strings.CutPrefix(w.Branch, "refs/heads/")
	if !local || r.Upstream == "" {
		return
	}
	own := func(ref string) bool { return ref == r.Upstream || ref == r.line()+name }
	w.Bases = slices.DeleteFunc(slices.Clone(named), own)
	if len(w.made) == 0 || w.created.new == "" {
		return
	}
	var origins []string
	if from, ok := strings.CutPrefix(w.created.message, "branch: Created from "); ok {
		origins = append(origins, from)
	}
	if b := r.follow.branches[name]; b != nil && !r.follow.unread {
		origins = append(origins, r.follow.tracking(b), b.base)
	}
	for _, from := range origins {
		ref := r.fullName(from)
		if ref != "" && !own(ref) && !strings.HasSuffix(ref, "/"+name) && !slices.Contains(w.Bases, ref) && !r.published(w, ref) {
			w.Bases = append(w.Bases, ref)
		}
	}
}

// fullName gives the branch beside the upstream, or of another remote, that a name stands for; "" where it is not known. Git takes a local
// branch before a remote one, and that stands here for the remote one of its name.
func (r *Repository) fullName(name string) string {
	short := strings.TrimPrefix(name, "refs/heads/")
	for _, ref := range []string{r.line() + short, "refs/remotes/" + strings.TrimPrefix(short, "refs/remotes/")} {
		if path.Base(ref) == "HEAD" || !validRef(ref) {
			return ""
		}
		if _, err := r.refs.Resolve(r.CommonDir, ref); err == nil {
			return ref
		}
	}
	return ""
}

// published says whether a branch stands, or ever stood, at a commit that was made in the worktree, or may have.
func (r *Repository) published(w *Worktree, ref string) bool {
	at, err := r.refs.Resolve(r.CommonDir, ref)
	if err != nil || w.made[at] {
		return true
	}
	log, err := readReflog(filepath.Join(r.CommonDir, "logs", ref))
	return err != nil && !gone(err) || slices.ContainsFunc(log.entries, func(e entry) bool { return w.made[e.old] || w.made[e.new] })
}

// stack gives the commits at which a worktree's branch may have been made from another one that is not the upstream.
func (r *Repository) stack(w *Worktree) map[string]bool {
	oids := map[string]bool{}
	from, ok := strings.CutPrefix(w.created.message, "branch: Created from ")
	ref := "refs/heads/" + strings.TrimPrefix(from, "refs/heads/")
	if !ok || from == "HEAD" || !validRef(ref) || ref == w.Branch {
		return oids
	}
	log, _ := readReflog(filepath.Join(r.CommonDir, "logs", ref)) // what is missing there proves nothing
	for _, e := range append(log.entries, w.created) {
		oids[e.new] = true
	}
	return oids
}
