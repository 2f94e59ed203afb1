package gitsafe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// transports are the ways to another repository that are used. Git has more of them, some of which run any program.
const transports = "https:ssh:file"

// ofNobody are the variables by which Environ keeps git from reading the user's and the machine's configuration.
func ofNobody(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return name == "GIT_CONFIG_GLOBAL" || name == "GIT_CONFIG_SYSTEM" || name == "GIT_CONFIG_NOSYSTEM"
}

// online are the variables under which git may use the network and asks no person: no terminal, no window, no ssh that waits for a password.
// How this user calls ssh is kept.
func online(ctx context.Context) []string {
	ssh := os.Getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		for _, v := range userConfig(ctx) {
			if v.Name == "core.sshcommand" {
				ssh = v.Value
			}
		}
	}
	return []string{"GIT_ALLOW_PROTOCOL=" + transports, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never",
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
	if at := strings.LastIndexByte(cmp.Or(firstPart(rest), rest), '@'); ok && at > 0 {
		text = strings.ReplaceAll(text, rest[:at+1], "")
	}
	return text
}

func firstPart(rest string) string {
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Shallow says whether the history was cut off. Partial clones are known by their remote (ReadRemote).
func (r *Repository) Shallow() bool { return len(r.shallow) > 0 }
