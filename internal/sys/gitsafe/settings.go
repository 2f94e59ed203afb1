package gitsafe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// settings are those that change what git answers and run nothing. They are carried over, each checked for its few values:
//
//   - core.fileMode: on file systems without an executable bit each file would count as changed
//   - core.autocrlf, core.eol: how line ends are compared
//   - core.sparseCheckout: git then compares files that are there although they were left out
//   - core.excludesFile: the user's own patterns of what is ignored; they are copied, and read as data
//
// core.symlinks, core.ignoreCase, core.trustctime, core.checkStat and core.ignoreStat are fixed so that no change is overlooked;
// core.precomposeUnicode means nothing on Linux. core.attributesFile is left out: attributes without it convert less, so that at most
// more counts as changed.
type settings map[string]string

// extend gives s with what vars set besides.
func (s settings) extend(vars []Variable) settings {
	out := settings{}
	maps.Copy(out, s)
	for _, v := range vars {
		switch v.Name {
		case "core.filemode", "core.sparsecheckout":
			if on, err := v.Bool(); err == nil {
				out[v.Name] = strconv.FormatBool(on)
			}
		case "core.autocrlf":
			if strings.EqualFold(v.Value, "input") {
				out[v.Name] = "input"
			} else if on, err := v.Bool(); err == nil {
				out[v.Name] = strconv.FormatBool(on)
			}
		case "core.eol":
			if value := strings.ToLower(v.Value); value == "lf" || value == "crlf" || value == "native" {
				out[v.Name] = value
			}
		case "core.excludesfile":
			out[v.Name] = v.Value
		}
	}
	return out
}

// unsure takes away, where vars include another file, what that file could set: the defaults then overlook nothing.
func (s settings) unsure(vars []Variable) settings {
	for _, v := range vars {
		if v.Includes() {
			for _, name := range []string{"core.filemode", "core.autocrlf", "core.eol", "core.excludesfile"} {
				delete(s, name)
			}
		}
	}
	return s
}

// drivers adds the names of the content filters that a configuration defines: programs that git would run on
// files.
func drivers(into map[string]bool, vars []Variable) {
	for _, v := range vars {
		if section, name, _ := v.Parts(); section == "filter" && name != "" {
			into[name] = true
		}
		if v.Includes() {
			into[anyDriver] = true
		}
	}
}

// anyDriver stands for all that an included file may define.
const anyDriver = ""

// maxIncludes is how deep files may include one another, as in git (MAX_INCLUDE_DEPTH).
const maxIncludes = 10

// userConfig reads the user's own configuration: the machine's, that in XDG_CONFIG_HOME, that in HOME. It follows what they include
// without a condition. A condition would have to be judged for each repository, so what it includes is left out. So is a file that
// cannot be read. Without them at most more counts as changed, or as untracked instead of ignored.
func userConfig(ctx context.Context) []Variable {
	home := os.Getenv("HOME")
	paths := []string{"/etc/gitconfig"}
	if dir := xdg(home); dir != "" {
		paths = append(paths, filepath.Join(dir, "git", "config"))
	}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".gitconfig"))
	}
	var vars []Variable
	for _, path := range paths {
		vars = append(vars, included(ctx, home, path, maxIncludes)...)
	}
	return vars
}

func xdg(home string) string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config")
}

func included(ctx context.Context, home, path string, depth int) []Variable {
	data, _ := readLinked(ctx, path, maxConfig)
	vars, err := ParseConfig(data)
	if err != nil {
		return nil
	}
	var all []Variable
	for _, v := range vars {
		all = append(all, v)
		if v.Name == "include.path" && depth > 0 {
			inner := expandHome(home, v.Value)
			if !filepath.IsAbs(inner) {
				inner = filepath.Join(filepath.Dir(path), inner)
			}
			all = append(all, included(ctx, home, inner, depth-1)...)
		}
	}
	return all
}

func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// excludes reads the patterns that the settings name, or those that git reads where they name none. What cannot be read excludes
// nothing: what would be ignored then counts as untracked.
func (s settings) excludes(ctx context.Context) []byte {
	home := os.Getenv("HOME")
	path, named := s["core.excludesfile"]
	if path = expandHome(home, path); !named {
		if dir := xdg(home); dir != "" {
			path = filepath.Join(dir, "git", "ignore")
		}
	}
	if !filepath.IsAbs(path) {
		return nil
	}
	data, _ := readLinked(ctx, path, maxPattern)
	return data
}

// readLinked reads a file of the user's own settings. Those are often links into a folder that is kept under version control; a link
// is followed where no other user can change what it leads to. Beside an error there is nothing.
func readLinked(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: most})
	if errors.Is(err, safeopen.ErrLink) {
		var real string
		if real, err = safeopen.Path(path); err == nil {
			f, err = safeopen.Read(ctx, real, safeopen.Want{Max: most})
		}
	}
	return f.Data, err
}

// online are the variables under which git may use the network and asks no person: no terminal, no window, no ssh that waits for a password.
// How this user calls ssh is kept. Git has more ways to another repository than these, some of which run any program.
func online(ctx context.Context) []string {
	ssh := os.Getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		for _, v := range userConfig(ctx) {
			if v.Name == "core.sshcommand" {
				ssh = v.Value
			}
		}
	}
	return []string{"GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never",
		"GCM_INTERACTIVE=never", "GIT_SSH_COMMAND=" + cmp.Or(ssh, "ssh") + " -o BatchMode=yes"}
}

// Remote is where a remote branch comes from.
type Remote struct {
	// Address is the other repository's, and may hold a password. Branch is the branch there, and Ref what stands for it here.
	Address, Branch, Ref string
}

// ReadRemote finds in a repository's configuration where one of its remote branches comes from, such as refs/remotes/origin/main. What
// this cannot tell for sure is an error: the address of an included file, one that is no plain address, and a remote whose branches are
// kept elsewhere than git keeps them.
func ReadRemote(ctx context.Context, common, ref string) (Remote, error) {
	vars, err := ReadConfig(ctx, filepath.Join(common, "config"))
	if err != nil {
		return Remote{}, err
	}
	r := Remote{Ref: ref}
	var specs []string
	for _, v := range vars {
		section, name, key := v.Parts()
		branch, ok := strings.CutPrefix(ref, "refs/remotes/"+name+"/")
		switch {
		case section != "remote" || name == "" || !ok:
		case r.Branch != "" && r.Branch != branch:
			return Remote{}, fmt.Errorf("%s may be a branch of two remotes", ref)
		case key == "url" && r.Address == "":
			r.Address, r.Branch = v.Value, branch
		case key == "fetch":
			specs, r.Branch = append(specs, strings.TrimPrefix(v.Value, "+")), branch
		case key == "promisor" || key == "partialclonefilter":
			return Remote{}, errors.New("it is a partial clone, which is not fetched here")
		}
	}
	base := strings.TrimSuffix(ref, r.Branch)
	whole := slices.Contains(specs, "refs/heads/*:"+base+"*") || slices.Contains(specs, "refs/heads/"+r.Branch+":"+ref)
	switch {
	case r.Address == "":
		return Remote{}, fmt.Errorf("its configuration names no address for %s", ref)
	case !whole:
		return Remote{}, fmt.Errorf("its configuration does not say that %s is fetched from a branch of that name", ref)
	case !plainAddress(r.Address):
		return Remote{}, errors.New("the address of its remote is none that is used here: https, ssh, or a whole path")
	}
	return r, nil
}

// plainAddress says whether an address is one of https, ssh or a whole path. Git takes "name::address" for a program of its own, and
// what begins with a dash for an option.
func plainAddress(address string) bool {
	if strings.ContainsAny(address, "\n\x00") || strings.Contains(address, "::") || strings.HasPrefix(address, "-") {
		return false
	}
	if filepath.IsAbs(address) {
		return true
	}
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		return slices.Contains([]string{"https", "ssh", "file"}, scheme) && !strings.HasPrefix(rest, "-")
	}
	host, _, ok := strings.Cut(address, ":") // user@host:path
	return ok && host != "" && !strings.Contains(host, "/")
}

// Hide takes what an address holds of a login out of a text.
func (r Remote) Hide(text string) string {
	_, rest, ok := strings.Cut(r.Address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(cmp.Or(host, rest), '@'); ok && at > 0 {
		text = strings.ReplaceAll(text, rest[:at+1], "")
	}
	return text
}

// Shallow says whether the history was cut off. Partial clones are known by their remote (ReadRemote).
func (r *Repository) Shallow() bool { return len(r.shallow) > 0 }
