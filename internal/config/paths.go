package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

// expand resolves ~ and $VAR in every path. A path that is not absolute counts from the folder of the file that it stands in, never
// from the working folder, which may be an untrusted clone; one from the environment, which at names by its key, from the working
// folder, where it was typed.
func (c *Config) expand(at sites) error {
	byDefault := c.State == defaultState
	paths := pathsIn(reflect.ValueOf(c).Elem(), "")
	for i := range c.Policy.Bundles {
		if b := &c.Policy.Bundles[i]; b.From != "" && !b.Remote() {
			paths = append(paths, place{"policy.bundles", &b.From})
		}
	}
	add := func(key string, list []string, all bool) {
		for i, p := range list {
			if all || isPath(p) {
				paths = append(paths, place{key, &list[i]})
			}
		}
	}
	add("rules.protected", c.Rules.Protected, false)
	add("rules.disposable_content", c.Rules.DisposableContent, true)
	add("rules.daemon_folders", c.Rules.DaemonFolders, false)
	for _, p := range paths {
		abs, err := expandFrom(at.folder(p.key), *p.path)
		if err != nil {
			text := fmt.Sprintf("%s: path %q: %v; nothing was done", p.key, *p.path, err)
			return Usagef("%s: %s", at.placeOf(text), text)
		}
		*p.path = abs
	}
	if byDefault {
		c.State = inUse(c.State)
	}
	return nil
}

// place is a path of the configuration, by its key.
type place struct {
	key  string
	path *string
}

// pathsIn are the paths in the fields with the tag path: given ones, those that are not the word auto, and optional ones that are not empty. What lies in
// a list has the key of the list.
func pathsIn(v reflect.Value, key string) (found []place) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			for _, p := range pathsIn(v.Index(i), key) {
				found = append(found, place{key, p.path})
			}
		}
	case reflect.Struct:
		for f, at := range v.Fields() {
			name := strings.TrimPrefix(key+"."+f.Tag.Get("json"), ".")
			how, isPath := f.Tag.Lookup("path")
			switch {
			case !f.IsExported():
			case !isPath:
				found = append(found, pathsIn(at, name)...)
			case at.Kind() == reflect.String:
				if p := at.Addr().Interface().(*string); *p != "" || how != "optional" {
					found = append(found, place{name, p})
				}
			default:
				for i, p := range at.Interface().([]string) {
					if how != Auto || p != Auto {
						found = append(found, place{name, &at.Interface().([]string)[i]})
					}
				}
			}
		}
	}
	return found
}

// defaultState is where the state folder is unless something else is asked for; config.yaml has it.
const defaultState = "$XDG_STATE_HOME/winnow"

// inUse gives the state folder that was used before $XDG_STATE_HOME was set, as long as that one has a ledger and the new one does not: what
// it set aside can be brought back, and what is held there stays held.
func inUse(state string) string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return state
	}
	older := filepath.Join(home, xdgDefaults["XDG_STATE_HOME"], "winnow")
	if _, err := os.Lstat(filepath.Join(state, "ledger.db")); !errors.Is(err, fs.ErrNotExist) {
		return state
	}
	if _, err := os.Lstat(filepath.Join(older, "ledger.db")); err != nil {
		return state
	}
	return older
}

// xdgDefaults are the places below the home that the XDG Base Directory Specification gives where a variable is not set, or not absolute.
var xdgDefaults = map[string]string{
	"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache",
}

// isPath tells an entry of rules.protected that is a path from one that is a name, a label or an id.
func isPath(p string) bool {
	return p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "$") || strings.HasPrefix(p, "/")
}

// Variables that may stand in a path. Any other one may be set by what a folder's tools put into the environment, and a path that it
// leads astray is one where Winnow writes, or acts.
var pathVariables = []string{"HOME", "USER", "TMPDIR"}

const xdgVariables = "XDG_"

// Path gives an absolute path, from the working folder where it is not.
func Path(p string) (string, error) { return expandFrom("", p) }

// expandFrom gives an absolute path, from a folder where it is not; no folder is the working one. A variable that is not allowed or not
// set is an error: "$WT/x" must never become "/x".
func expandFrom(folder, p string) (string, error) {
	if p == "" {
		return "", errors.New("is empty")
	}
	if strings.ContainsRune(p, 0) {
		return "", errors.New("has a byte of zero in it")
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("$HOME is %q, which is not absolute", home)
		}
		p = home + p[1:]
	}
	var wrong error
	p = os.Expand(p, func(name string) string {
		val, err := pathVariable(name)
		if err != nil && wrong == nil {
			wrong = err
		}
		return val
	})
	if wrong != nil {
		return "", wrong
	}
	if folder != "" && !filepath.IsAbs(p) {
		return filepath.Join(folder, p), nil
	}
	return filepath.Abs(p)
}

func pathVariable(name string) (string, error) {
	if !slices.Contains(pathVariables, name) && (!strings.HasPrefix(name, xdgVariables) || name == xdgVariables) {
		return "", fmt.Errorf("$%s is not a variable that a path may have: $%s and $%s* are, or write the path out",
			name, strings.Join(pathVariables, ", $"), xdgVariables)
	}
	val := os.Getenv(name)
	if below := xdgDefaults[name]; below != "" && !filepath.IsAbs(val) {
		home, err := pathVariable("HOME")
		if err != nil {
			return "", err
		}
		return filepath.Join(home, below), nil
	}
	switch {
	case val == "":
		return "", fmt.Errorf("$%s is not set", name)
	case name == "USER" && (strings.ContainsRune(val, '/') || val == "." || val == ".."):
		return "", fmt.Errorf("$USER is %q, which is no name", val)
	case name != "USER" && !filepath.IsAbs(val):
		return "", fmt.Errorf("$%s is %q, which is not absolute", name, val)
	}
	return val, nil
}

// Name is what Winnow's file is called in every place.
const Name = "config.yaml"

// MaxFile is how many bytes a configuration may have: far more than any needs.
const MaxFile = 256 << 10

// ruling is what a file that says what Winnow does must be.
var ruling = safeopen.Want{Max: MaxFile, Ruling: true}

// find gives the file that was named, or else the first of the two places that has one, or an empty path. The working folder is
// not one of them: it may be a clone of an untrusted repository.
func find(file string) (string, []byte, error) {
	if file != "" {
		p, err := Path(file)
		if err != nil {
			return "", nil, Usagef("--config: %v", err)
		}
		f, err := safeopen.Read(context.Background(), p, ruling)
		if err != nil {
			return "", nil, Usagef("--config: %v; nothing was done", err)
		}
		return p, f.Data, nil
	}
	for _, p := range places() {
		data, err := readPlace(p)
		switch {
		case err == nil:
			return p, data, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		default:
			return "", nil, Usagef("read configuration: %v; nothing was done: mend the file, or name another one with --config", err)
		}
	}
	return "", nil, nil
}

// places are where a configuration is looked for, the first first. By the XDG specification a $XDG_CONFIG_HOME that is not
// absolute is passed over.
func places() (all []string) {
	if base, err := pathVariable("XDG_CONFIG_HOME"); err == nil { // without a home there is no such place
		all = append(all, filepath.Join(base, "winnow", Name))
	}
	return append(all, filepath.Join("/etc", "winnow", Name))
}

// readPlace reads a configuration in one of the usual places. Many people keep theirs among other files of that kind and link to it:
// a link is followed where only this user and root can change what it leads to.
func readPlace(path string) ([]byte, error) {
	f, err := safeopen.Read(context.Background(), path, ruling)
	if errors.Is(err, safeopen.ErrLink) {
		real, e := safeopen.Path(path)
		if errors.Is(e, fs.ErrNotExist) { // a link to nothing is a slip, and no missing file
			return nil, err
		}
		if e == nil {
			f, e = safeopen.Read(context.Background(), real, ruling)
		}
		if e != nil {
			return nil, fmt.Errorf("%s leads to what may not rule: %w", path, e)
		}
		err = nil
	}
	return f.Data, err
}

// Stray is true when the working folder has a file that looks like Winnow's own and is not read, although the user may rely on it.
// It is looked at and never parsed, and what cannot be looked at is passed over.
func (c *Config) Stray() bool {
	at, err := filepath.Abs(Name)
	if err != nil || at == c.File {
		return false
	}
	f, err := safeopen.Read(context.Background(), at, safeopen.Want{Max: MaxFile, Within: time.Second})
	if err != nil || !looksLikeOurs(f.Data) || bytes.Equal(f.Data, winnow.DefaultConfig) { // the defaults hold anyway
		return false
	}
	if own, err := os.Stat(c.File); err == nil {
		if st, err := os.Lstat(at); err == nil && os.SameFile(own, st) {
			return false
		}
	}
	return true
}

// UserPlace is where a user's own configuration belongs, as a person writes it.
func UserPlace() string { return text.Home(places()[0]) }

// looksLikeOurs tells a config.yaml that was written for Winnow from any other program's: it says its version and has one of our
// sections.
func looksLikeOurs(data []byte) bool {
	version, section := false, false
	for line := range bytes.Lines(data) {
		key, _, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		switch string(key) {
		case "version":
			version = true
		case "collect", "policy", "rules", "act", "alarms", "state":
			section = true
		}
	}
	return version && section
}
