package tower

import (
	"regexp"
	"strings"
)

// What works in a terminal: the words of snapshot.Terminal.RoleKind, and of terminal_sessions but for the last.
const (
	KindBuilder   = "builder"
	KindDev       = "dev"
	KindArchitect = "architect"
	KindShell     = "shell"
	KindShellper  = "shellper"
)

const (
	builderPrefix  = "builder-"
	worktreePrefix = "worktree-"
	devPrefix      = "dev-"
	// devLabel begins the label of a development server's terminal; the rest is the role that it was started for.
	devLabel = "Dev: "
)

// Normal gives the one form of a builder's role for every way in which Codev spells it: lower case, no leading zeros in numbers, and
// without what VS Code's keys put before it. Builder-PIR-0883, builder-builder-pir-883 and dev-builder-pir-883 are builder-pir-883;
// worktree-x has no prefix of its own, so builder-worktree-x is worktree-x.
func Normal(role string) string {
	role = strings.TrimSpace(strings.ToLower(role))
	for {
		rest, ok := strings.CutPrefix(role, builderPrefix)
		if !ok {
			rest, ok = strings.CutPrefix(role, devPrefix)
		}
		if !ok || !strings.HasPrefix(rest, builderPrefix) && !strings.HasPrefix(rest, worktreePrefix) {
			break
		}
		role = rest
	}
	return eachSegment(role, func(s string) string {
		if strings.Trim(s, "0123456789") != "" {
			return s
		}
		return withoutZeros(s)
	})
}

// RoleKey is what two roles have in common that may be one builder's. It is coarser than Normal: that a builder is on record is reported too
// often rather than too rarely. Codev's own mapping from folder names strips zeros from mixed ids as well, and old rows have no prefix.
func RoleKey(role string) string {
	return eachSegment(strings.TrimPrefix(Normal(role), builderPrefix), withoutZeros)
}

// folderName is how Codev names a worktree: <protocol>-<id>, and maybe a slug.
var folderName = regexp.MustCompile(`^([a-z]+)-([a-z0-9]+)`)

// RoleOf is the role that Codev gives a folder of worktrees by its name (worktreeNameToRoleId in its overview.ts); "" where it gives none.
// Several folders may have one role.
func RoleOf(folder string) string {
	parts := folderName.FindStringSubmatch(strings.ToLower(folder))
	switch {
	case parts == nil:
		return ""
	case parts[1]+"-" == worktreePrefix:
		return Normal(parts[0])
	}
	return Normal(builderPrefix + parts[0])
}

func eachSegment(role string, change func(string) string) string {
	segments := strings.Split(role, "-")
	for i, s := range segments {
		segments[i] = change(s)
	}
	return strings.Join(segments, "-")
}

// withoutZeros keeps the last zero of nothing but zeros.
func withoutZeros(s string) string {
	if rest := strings.TrimLeft(s, "0"); rest != "" || s == "" {
		return rest
	}
	return "0"
}

// LabelKind is the kind of terminal that a label tells of, and the builder's role where it is a development server's; "" where it
// tells of none. A builder's own label is an id or a name that a person could give to a shell too.
func LabelKind(label string) (kind, role string) {
	if role, ok := strings.CutPrefix(label, devLabel); ok && strings.TrimSpace(role) != "" {
		return KindDev, Normal(role)
	}
	switch {
	case strings.HasPrefix(label, "Architect"):
		return KindArchitect, ""
	case strings.HasPrefix(label, "Shell "):
		return KindShell, ""
	}
	return "", ""
}

// tabPrefix begins the name that Codev's extension for VS Code gives each of its terminal tabs; the rest is the builder's id.
const tabPrefix = "Codev: "

// TabBuilder says whose tab of an editor it is, by the name that it was opened with: of a builder (Codev: builder-pir-883) or of its development
// server (Dev: builder-pir-883, with Codev: before it or without). id is the builder's in its one form, key what any spelling of it has in common.
// ok is false for every other name: an architect's, a person's shell, another program's tab, and a name that is no builder's id.
func TabBuilder(name string) (kind, id, key string, ok bool) {
	rest, codevs := strings.CutPrefix(name, tabPrefix)
	kind = KindBuilder
	if role, dev := strings.CutPrefix(rest, devLabel); dev {
		kind, rest = KindDev, role
	} else if !codevs {
		return "", "", "", false
	}
	id = Normal(rest)
	if own, builder := strings.CutPrefix(id, builderPrefix); !builder && !strings.HasPrefix(id, worktreePrefix) || builder && own == "" || strings.ContainsAny(id, " \t/") {
		return "", "", "", false
	}
	return kind, id, RoleKey(id), true
}
