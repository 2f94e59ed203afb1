package dirs

import (
	"path"
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

// work gives the ignored paths that are work: those that cannot be made again, and those that could but hold a repository, or may
// hold one. Nested is nil where it is not known.
func work(names, ignored []string, nested *[]string) []string {
	var kept []string
	for _, p := range ignored {
		if !rebuildable(names, p) || strings.HasSuffix(p, "/") && holdsRepository(p, nested) {
			kept = append(kept, p)
		}
	}
	return kept
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
