// Package herdr reads herdr servers: which tabs they have, where these stand, and what runs in the panes of those in scope.
//
// One server is one source. Its tabs and panes are one state of it; what runs in a pane is asked pane by pane, which costs the
// server a walk through /proc each, so it is asked only where a person may want to close the tab. Nothing that herdr says of
// processes is believed until package panes has found the same ones here: a socket can lead to another machine.
package herdr

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
)

// Kind is the kind of a source that is a herdr server, and what its name begins with.
const Kind = "herdr"

const (
	// auto stands in Options.Sockets for the sockets that herdr itself would use.
	auto = "auto"
	// unnamed is the session without a name, whose socket lies in no folder of its own.
	unnamed = "default"
	// unlistedName stands for a folder of sessions that could not be listed; no session can be called so.
	unlistedName = "sessions folder"

	socketFile     = "herdr.sock"
	sessionsFolder = "sessions"
)

// sessionName is what herdr takes for a session's name, but for . and .. .
var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Options says which servers are read, and how.
type Options struct {
	// Sockets are absolute paths of sockets, or "auto" for the default session, every named one, and what the environment says.
	Sockets []string
	// Env gives the environment of the look; nil is an empty one.
	Env collectors.Env
	// IsSet reports whether the environment has a variable, be it empty: an empty XDG_CONFIG_HOME makes herdr's folder a relative
	// one. nil takes an empty variable for one that is not there.
	IsSet func(string) bool
	// Home is the user's home folder; empty means unknown, and herdr then uses the folder for temporary files.
	Home string
	// UID is whose servers are read: another user's is refused.
	UID int
	// Inspect says by a tab's label whether it is asked what runs in the tab's panes; nil asks for every tab.
	Inspect func(label string) bool
	// Only, tabs' native ids such as w1:t3, gives nothing but those tabs, and what runs in them for any label, for another look
	// before an act; empty is all. The server is still asked for all tabs: a tab's position is one of its facts.
	Only []string
	// ProcRoot is where procfs is mounted; empty is /proc.
	ProcRoot string
	// Log may be nil.
	Log hclog.Logger
}

// ID is the candidate's id of the tab that source knows as native.
func ID(source, native string) string { return snapshot.KindTab + ":" + source + "/" + native }

// Sources gives one source a socket, sorted by path. A session without a socket file gives none; a folder of sessions that cannot
// be listed, and a HERDR_SESSION that herdr would refuse, are sources that fail. The only error is a socket that is not an absolute
// path.
//
// A source is named herdr/ and its session's name, or the socket's file name for a socket that is not a session's. Servers of herdr's
// debug builds have ~dev behind it. Of two sockets that would have the same name, those that are not a session's get a suffix made
// from their path, which stays the same at every look.
func Sources(o Options) ([]collectors.Source, error) {
	f := finder{Options: o, folders: folders(o)}
	for _, s := range o.Sockets {
		switch {
		case s == auto:
			f.auto()
		case filepath.IsAbs(s):
			f.paths = append(f.paths, filepath.Clean(s))
		default:
			return nil, fmt.Errorf("herdr socket %q: not an absolute path; write auto, or the path of a socket", s)
		}
	}
	read := func(name, path string) collectors.Reader { return newReader(o, name, path) }
	return collectors.NameSources(f.failed, Kind, "", distinct(f.paths, f.folders), f.name, read), nil
}

// folder is one in which herdr keeps its sockets.
type folder struct {
	path string
	// mark stands behind the names of its sessions.
	mark string
}

// folders are those of herdr and of its debug builds (src/session.rs of herdr). A relative one is relative to the working
// directory, for herdr itself as well.
func folders(o Options) []folder {
	base := o.Env.Get("XDG_CONFIG_HOME")
	switch {
	case base != "" || o.IsSet != nil && o.IsSet("XDG_CONFIG_HOME"):
	case o.Home != "":
		base = filepath.Join(o.Home, ".config")
	default:
		base = cmp.Or(o.Env.Get("TMPDIR"), "/tmp")
	}
	var out []folder
	for _, f := range []folder{{"herdr", ""}, {"herdr-dev", "~dev"}} {
		if abs, err := filepath.Abs(filepath.Join(base, f.path)); err == nil {
			out = append(out, folder{abs, f.mark})
		}
	}
	return out
}

// finder collects sockets.
type finder struct {
	Options
	folders []folder
	paths   []string
	failed  []collectors.Source
}

func (f *finder) auto() {
	for _, d := range f.folders {
		f.add(filepath.Join(d.path, socketFile))
		f.sessions(d)
	}
	if path := f.Env.Get("HERDR_SOCKET_PATH"); path != "" { // it beats HERDR_SESSION, which is then not even looked at
		if abs, err := filepath.Abs(path); err == nil {
			f.paths = append(f.paths, abs)
		}
		return
	}
	name := f.Env.Get("HERDR_SESSION")
	switch {
	case name == "" || name == unnamed:
	case !valid(name):
		f.fail(f.folders[0], "HERDR_SESSION", fmt.Errorf("HERDR_SESSION is %.80q, which herdr takes for no session's name; unset it, or name a session", name))
	default:
		for _, d := range f.folders {
			f.add(filepath.Join(d.path, sessionsFolder, name, socketFile))
		}
	}
}

// add takes a path unless nothing is there. Where this is unknown, the reader says why.
func (f *finder) add(path string) {
	if _, err := os.Lstat(path); !gone(err) {
		f.paths = append(f.paths, path)
	}
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

// sessions adds the named sessions of a folder. herdr cannot reach what is not called like a session.
func (f *finder) sessions(d folder) {
	dir := filepath.Join(d.path, sessionsFolder)
	if _, err := os.Lstat(dir); gone(err) {
		return
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.fail(d, unlistedName, fmt.Errorf("list herdr sessions in %s: %w; run as its owner, or name the sockets in collect.herdr.sockets",
			dir, collectors.ErrPermission))
	case err != nil:
		f.fail(d, unlistedName, fmt.Errorf("list herdr sessions in %s: %w; see what is wrong with that folder, or name the sockets in collect.herdr.sockets",
			dir, err))
	}
	for _, e := range entries {
		if valid(e.Name()) && e.Name() != unnamed {
			f.add(filepath.Join(dir, e.Name(), socketFile))
		}
	}
}

func (f *finder) fail(d folder, name string, err error) {
	f.failed = append(f.failed, collectors.Source{Name: Kind + "/" + name + d.mark, Kind: Kind, Path: filepath.Join(d.path, sessionsFolder), Reader: collectors.Failing{Err: err}})
}

func valid(name string) bool { return sessionName.MatchString(name) && name != "." && name != ".." }

// distinct leaves one path of those that lead to the same socket: one that can be connected to rather than one that is too long,
// then one where a session's socket lies, since that is what the server itself goes by.
func distinct(paths []string, folders []folder) []string {
	rank := func(p string) int {
		switch {
		case len(p) > herdr.MaxPath:
			return 2
		case !slices.ContainsFunc(folders, func(d folder) bool { _, ok := socketSession(d, p); return ok }):
			return 1
		}
		return 0
	}
	paths = slices.Clone(paths)
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return collectors.Distinct(paths)
}

// name tells a socket's name by where it lies, or where it leads to, and whether it is a session's.
func (f *finder) name(path string) (name string, session bool) {
	for _, p := range []string{path, collectors.Resolved(path)} {
		for _, d := range f.folders {
			if name, ok := socketSession(d, p); ok {
				return name, true
			}
		}
	}
	return strings.TrimSuffix(filepath.Base(path), ".sock"), false
}

// socketSession is the name of the session whose socket in d is path.
func socketSession(d folder, path string) (name string, ok bool) {
	rel, err := filepath.Rel(d.path, path)
	if err != nil {
		return "", false
	}
	if rel == socketFile {
		return unnamed + d.mark, true
	}
	dir, file := filepath.Split(rel)
	sessions, name := filepath.Split(filepath.Clean(dir))
	ok = file == socketFile && filepath.Clean(sessions) == sessionsFolder && valid(name) && name != unnamed
	return name + d.mark, ok
}
