package dirs

import (
	"path"
	"slices"
	"strings"
)

// rebuildable says whether an ignored path can be made again, by the list of names.
func rebuildable(names []string, ignored string) bool {
	parts := strings.Split(strings.TrimSuffix(ignored, "/"), "/")
	for _, name := range names {
		depth := strings.Count(name, "/") + 1
		if depth > len(parts) {
			continue
		}
		tail := strings.Join(parts[len(parts)-depth:], "/")
		if ok, err := path.Match(name, tail); err == nil && ok {
			return true
		}
	}
	return false
}

// work tells the ignored paths that are work from those that tools make again. Work is also what they make, but which holds a repository, or
// may hold one. Nested is nil where it is not known.
func work(ignored, made []string, nested *[]string) (kept, rebuilt []string) {
	for _, p := range ignored {
		if !slices.Contains(made, p) || strings.HasSuffix(p, "/") && holdsRepository(p, nested) {
			kept = append(kept, p)
		} else {
			rebuilt = append(rebuilt, p)
		}
	}
	return kept, rebuilt
}

// toolFile says whether an untracked file is one that only a tool writes, or lies in such a folder. A path with a slash at its end is a
// repository of its own, and never one.
func toolFile(names []string, untracked string) bool {
	if strings.HasSuffix(untracked, "/") {
		return false
	}
	for at := range len(untracked) + 1 {
		if (at == len(untracked) || untracked[at] == '/') && rebuildable(names, untracked[:at]) {
			return true
		}
	}
	return false
}

func holdsRepository(folder string, nested *[]string) bool {
	if nested == nil {
		return true
	}
	for _, n := range *nested {
		if strings.HasPrefix(n+"/", folder) {
			return true
		}
	}
	return false
}
