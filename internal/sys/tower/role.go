package tower

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
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

// TabBuilder says whose tab of an editor it is, by the name that it was opened with: of a builder (Codev: builder-pir-883) or of its development
// server (Dev: builder-pir-883, with Codev: before it or without). id is the builder's in its one form, key what any spelling of it has in common.
// ok is false for every other name: an architect's, a person's shell, another program's tab, and a name that is no builder's id.
func TabBuilder(name string) (kind, id, key string, ok bool) {
	rest, codevs := strings.CutPrefix(name, "Codev: ")
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

// keyFile is the file of a state folder that holds the key to its Tower.
const keyFile = "local-key"

// maxKey is the greatest key file that is read, in bytes.
const maxKey = 4 << 10

// inFile and inEnv say whether text can be a key: 64 hexadecimal digits, or up to 512 of what a header can hold. They are no regular expressions because those
// with such counts take a millisecond of every start to compile.
func inFile(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

func inEnv(text string) bool {
	return text != "" && len(text) <= 512 && !strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' })
}

// ErrKeyFile says that a key is not used: it cannot be one, or others may know it or have put it there.
var ErrKeyFile = errors.New("read the Tower's key")

// Key gives the key that the Tower of the state folder home wants, as its own clients find it: fromEnv, the value of CODEV_TOWER_KEY, else
// the folder's own. own says that it is the folder's own. The key is in no error.
func Key(home, fromEnv string) (key string, own bool, err error) {
	kept, err := keyIn(filepath.Join(home, keyFile))
	if fromEnv = strings.TrimSpace(fromEnv); fromEnv == "" {
		return kept, err == nil, err
	}
	if !inEnv(fromEnv) {
		return "", false, fmt.Errorf("%w: CODEV_TOWER_KEY holds no key; unset it, or set it to what the Tower was started with", ErrKeyFile)
	}
	return fromEnv, err == nil && kept == fromEnv, nil
}

// keyIn gives the key in a file that only this user can read or write, and only this user and root can put another in the
// place of: what stands in it is sent to the Tower.
func keyIn(path string) (string, error) {
	real, err := safeopen.Path(path)
	var f *os.File
	if err == nil {
		f, err = safeopen.Open(real, safeopen.Want{Max: maxKey, Ruling: true})
	}
	var text []byte
	if err == nil {
		defer f.Close()
		if err = private(f); err == nil {
			text, err = io.ReadAll(io.LimitReader(f, maxKey))
		}
	}
	key := strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the Tower's key: there is no %s; start the Tower once, or set CODEV_TOWER_KEY", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("read the Tower's key in %s: %w; let this user read the file", path, fs.ErrPermission)
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable), errors.Is(err, errOpen):
		return "", fmt.Errorf("%w: %w; no Tower was asked: let %s and each folder above it belong to this user, with no other user's write, and chmod 600 it", ErrKeyFile, err, path)
	case errors.Is(err, safeopen.ErrNotRegular), errors.Is(err, safeopen.ErrTooLarge), err == nil && !inFile(key):
		return "", fmt.Errorf("%w: %s holds no key of 64 hexadecimal digits; start the Tower again, or set CODEV_TOWER_KEY", ErrKeyFile, path)
	case err != nil:
		return "", fmt.Errorf("read the Tower's key: %w", err)
	}
	return key, nil
}

var errOpen = errors.New("it is not a file that only this user can read")

// private makes sure that no other user may know what the file holds.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if safeopen.Owner(info) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return errOpen
	}
	return nil
}
