package review

import (
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Glob is what protects a candidate in rules.protected: a folder's path, and the name of anything else.
func Glob(d decision.Decision) string {
	name := d.Label
	if d.Kind == snapshot.KindDir {
		name = strings.TrimPrefix(d.ID, snapshot.KindDir+":")
	}
	if text.Clean(name) != name { // a person could not read what was written
		return ""
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
