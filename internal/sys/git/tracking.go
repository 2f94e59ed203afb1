package git

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// PullRequest is what the repository records of a pull request. Number is 0, State and Head are "" where the record does not say them.
type PullRequest struct {
	// By is who keeps the record: ByConfiguration, ByRef or ByGraphite.
	By     string
	Number int64
	// State is open, merged or closed.
	State string
	Head  string
}

// Who keeps records of pull requests in a repository.
const (
	// ByConfiguration: `branch.<name>.merge` is the ref of a pull request, as gh and glab write it for a fork's branch that cannot be pushed to, or
	// `branch.<name>.github-pr-owner-number` names one, as Visual Studio Code's extension and GitLens write it.
	ByConfiguration = "configuration"
	// ByRef: the head of a pull request was fetched, and it is the commit that is checked out.
	ByRef = "ref"
	// ByGraphite: gt's cache of pull requests, the file .graphite_pr_info in the repository's git folder.
	ByGraphite = "Graphite"
)

// follow is what a repository's configuration says of branches. It is evidence that never decides, so that what is written in ways that
// are not read here is unknown.
type follow struct {
	branches map[string]*followed // by their names without refs/heads/
	fetches  map[string][]string  // the refspecs of each remote
	// remotes are those that have a variable; true for those with an address or a refspec.
	remotes map[string]bool
	// unread is true where the configuration includes other files, which may say it otherwise.
	unread bool
}

type followed struct {
	remote  string
	merge   []string
	request string // of branch.<name>.github-pr-owner-number
	base    string // of branch.<name>.gh-merge-base, which gh issue develop --base writes: the branch to which gh pr create proposes it
}

// following reads what variables say of branches and remotes. Of several values of a variable the last one holds; of merge and fetch all.
func following(vars []gitsafe.Variable) follow {
	f := follow{branches: map[string]*followed{}, fetches: map[string][]string{}, remotes: map[string]bool{}}
	for _, v := range vars {
		section, name, key := v.Parts()
		f.unread = f.unread || v.Includes()
		switch {
		case section == "remote" && strings.Count(v.Name, ".") > 1: // with a name, be it empty
			f.remotes[name] = f.remotes[name] || key == "url" || key == "fetch"
			if key == "fetch" {
				f.fetches[name] = append(f.fetches[name], v.Value)
			}
		case section == "branch" && name != "":
			b := f.branches[name]
			if b == nil {
				b = &followed{}
				f.branches[name] = b
			}
			switch key {
			case "remote":
				b.remote = v.Value
			case "merge":
				b.merge = append(b.merge, v.Value)
			case "github-pr-owner-number":
				b.request = v.Value
			case "gh-merge-base":
				b.base = v.Value
			}
		}
	}
	return f
}

// remote is the name of the only remote, or origin.
func (f follow) remote() string {
	var names []string
	for name, usable := range f.remotes {
		if usable {
			names = append(names, name)
		}
	}
	if len(names) == 1 && !f.unread {
		return names[0]
	}
	return "origin"
}

// tracking gives the remote-tracking branch that a branch follows, "" where it follows none or this is not known: a remote that is an address, a
// ref that no refspec fetches, several refs, another branch of this very repository.
func (f follow) tracking(b *followed) string {
	if b == nil || f.unread || len(b.merge) != 1 || b.remote == "" || b.remote == "." {
		return ""
	}
	theirs, found := b.merge[0], ""
	for _, spec := range f.fetches[b.remote] {
		if skip, ok := strings.CutPrefix(spec, "^"); ok {
			if _, hit := matches(skip, theirs); hit {
				return ""
			}
			continue
		}
		from, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !ok || found != "" {
			continue
		}
		star, hit := matches(from, theirs)
		if !hit || strings.Contains(from, "*") != strings.Contains(to, "*") {
			continue
		}
		found = strings.Replace(to, "*", star, 1)
	}
	if !strings.HasPrefix(found, "refs/remotes/") || !validRef(found) {
		return ""
	}
	return found
}

// matches compares a ref with a side of a refspec, and gives what the * in it stands for.
func matches(pattern, ref string) (star string, ok bool) {
	before, after, glob := strings.Cut(pattern, "*")
	if !glob {
		return "", pattern == ref
	}
	if len(ref) < len(before)+len(after) || !strings.HasPrefix(ref, before) || !strings.HasSuffix(ref, after) {
		return "", false
	}
	return ref[len(before) : len(ref)-len(after)], true
}

// readFollowed fills in what the repository records of the worktree's branch besides its commits.
func (r *Repository) readFollowed(w *Worktree) {
	if w.Head == "" {
		return
	}
	name := strings.TrimPrefix(w.Branch, "refs/heads/")
	b := r.follow.branches[name]
	if ref := r.follow.tracking(b); ref != "" {
		_, err := r.refs.Resolve(r.CommonDir, ref)
		if missing := errors.Is(err, fs.ErrNotExist); err == nil || missing {
			w.Followed, w.FollowedGone = ref, &missing
		}
	}
	for _, ref := range []string{w.Followed, r.line() + name} {
		log, _ := readReflog(filepath.Join(r.CommonDir, "logs", ref))
		if n := len(log.entries); n > 0 && log.entries[n-1].message == "update by push" && w.made[log.entries[n-1].new] {
			w.PushedAt = log.mod
		}
	}
	records, err := r.records()
	if err != nil || r.follow.unread {
		return
	}
	all := []PullRequest{}
	if n := b.number(); n != 0 {
		all = append(all, PullRequest{By: ByConfiguration, Number: n})
	}
	if w.Branch != "" {
		all = append(all, records.branches[name]...)
	}
	for _, n := range records.heads[w.Head] {
		all = append(all, PullRequest{By: ByRef, Number: n, Head: w.Head})
	}
	w.PullRequests = &all
}

// number gives the pull request that the configuration of a branch names, 0 where it names none.
func (b *followed) number() int64 {
	if b == nil {
		return 0
	}
	for _, ref := range b.merge {
		if n := numbered(ref); n != 0 {
			return n
		}
	}
	// owner#repository#number
	if parts := strings.Split(b.request, "#"); len(parts) == 3 {
		return pullNumber(parts[2])
	}
	return 0
}

// forges are the folders of refs in which forges publish the heads of pull requests, and in which people fetch them.
var forges = []string{"pull", "pulls", "pr", "pull-requests", "merge-requests", "mr"}

// numbered gives the pull request whose head a ref is, 0 for any other ref: refs/pull/12/head (GitHub, Gitea, Forgejo),
// refs/merge-requests/12/head (GitLab), refs/pull-requests/12/from (Bitbucket), and refs/remotes/origin/pr/12 or the like where these are fetched to.
func numbered(ref string) int64 {
	parts := strings.Split(ref, "/")
	if last := parts[len(parts)-1]; last == "head" || last == "from" {
		parts = parts[:len(parts)-1]
	}
	n := len(parts)
	switch {
	case parts[0] != "refs" || n < 3 || !slices.Contains(forges, parts[n-2]):
		return 0
	case n == 3 || n == 5 && parts[1] == "remotes":
		return pullNumber(parts[n-1])
	}
	return 0
}

// pullNumber reads the number of a pull request, 0 where it is not one.
func pullNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || text[0] == '+' {
		return 0
	}
	return n
}

// records is what a repository records of pull requests: by branch, and by the commits that are heads of fetched ones.
type records struct {
	branches map[string][]PullRequest
	heads    map[string][]int64
}

// maxGraphite is more than the cache of thousands of pull requests, whose texts it holds, in bytes.
const maxGraphite = 64 << 20

// readRecords reads the records of one repository.
func (r *Repository) readRecords() (records, error) {
	branches, err := readGraphite(filepath.Join(r.CommonDir, ".graphite_pr_info"))
	if err != nil {
		return records{}, err
	}
	heads, err := r.refs.requests()
	return records{branches: branches, heads: heads}, err
}

// requests gives the numbers of the pull requests whose heads were fetched, by these.
func (r Refs) requests() (map[string][]int64, error) {
	remotes, err := r.remotes()
	if err != nil {
		return nil, err
	}
	heads := map[string][]int64{}
	for _, above := range append(remotes, "refs") {
		for _, forge := range forges {
			if err := r.eachRef(above+"/"+forge+"/", func(name, oid string) {
				if n := numbered(name); n != 0 && oid != "" && !slices.Contains(heads[oid], n) {
					heads[oid] = append(heads[oid], n)
				}
			}); err != nil {
				return nil, err
			}
		}
	}
	for _, numbers := range heads {
		slices.Sort(numbers)
	}
	return heads, nil
}

// readGraphite reads gt's cache of pull requests, by branch. One that is missing is empty.
func readGraphite(path string) (map[string][]PullRequest, error) {
	f, err := readFile(path, maxGraphite)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Graphite's record of pull requests: %w", err)
	}
	var cache struct {
		Infos []struct {
			Number   int64  `json:"prNumber"`
			State    string `json:"state"`
			Branch   string `json:"headRefName"`
			Versions []struct {
				Head string `json:"headSha"`
				At   string `json:"createdAt"`
			} `json:"versions"`
		} `json:"prInfos"`
	}
	if err := json.Unmarshal(f.Data, &cache); err != nil {
		return nil, fmt.Errorf("read Graphite's record of pull requests: %q: %w", path, err)
	}
	branches := map[string][]PullRequest{}
	for _, info := range cache.Infos {
		p := PullRequest{By: ByGraphite, Number: pullNumber(strconv.FormatInt(info.Number, 10))}
		if state := strings.ToLower(info.State); state == "open" || state == "merged" || state == "closed" {
			p.State = state
		}
		latest := ""
		for _, v := range info.Versions { // their times are written so that they sort as text
			if gitsafe.IsOID(v.Head) && v.At >= latest {
				p.Head, latest = v.Head, v.At
			}
		}
		if p.Number != 0 && info.Branch != "" {
			branches[info.Branch] = append(branches[info.Branch], p)
		}
	}
	return branches, nil
}
