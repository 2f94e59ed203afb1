package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
	places, err := places()
	if err != nil {
		return "", nil, err
	}
	for _, p := range places {
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
func places() ([]string, error) {
	var places []string
	if base, err := pathVariable("XDG_CONFIG_HOME"); err == nil { // without a home there is no such place
		places = append(places, filepath.Join(base, "winnow", Name))
	}
	return append(places, filepath.Join("/etc", "winnow", Name)), nil
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
func UserPlace() string {
	places, err := places()
	if err != nil || len(places) == 0 {
		return "~/.config/winnow/" + Name
	}
	return text.Home(places[0])
}

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
