package codev

import (
	"regexp"
	"strings"
)

// The words of Terminal.RoleKind.
const (
	builderKind   = "builder"
	devKind       = "dev"
	architectKind = "architect"
	shellKind     = "shell"
	shellperKind  = "shellper"
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

// key is what two roles have in common that may be one builder's. It is coarser than Normal: that a builder is on record is reported too
// often rather than too rarely. Codev's own mapping from folder names strips zeros from mixed ids as well, and old rows have no prefix.
func key(role string) string {
	return eachSegment(strings.TrimPrefix(Normal(role), builderPrefix), withoutZeros)
}

// folderName is how Codev names a worktree: <protocol>-<id>, and maybe a slug.
var folderName = regexp.MustCompile(`^([a-z]+)-([a-z0-9]+)`)

// roleOf is the role that Codev gives a folder of worktrees by its name (worktreeNameToRoleId in its overview.ts); "" where it gives none.
// Several folders may have one role.
func roleOf(folder string) string {
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

// labelKind is the kind of terminal that a label tells of, and the builder's role where it is a development server's; "" where it
// tells of none. A builder's own label is an id or a name that a person could give to a shell too.
func labelKind(label string) (kind, role string) {
	if role, ok := strings.CutPrefix(label, devLabel); ok && strings.TrimSpace(role) != "" {
		return devKind, Normal(role)
	}
	switch {
	case strings.HasPrefix(label, "Architect"):
		return architectKind, ""
	case strings.HasPrefix(label, "Shell "):
		return shellKind, ""
	}
	return "", ""
}
