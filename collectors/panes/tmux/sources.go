// Package tmux reads tmux servers: which sessions they have, who looks at them, and what their panes started with.
//
// One server is one source and costs one exec. What runs in a pane now is not asked of tmux: the server would read /proc for
// each pane, which costs ten times the rest; package panes joins it from the processes that were read anyway.
package tmux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

// Kind is the kind of a source that is a tmux server, and what its name begins with.
const Kind = "tmux"

// auto stands in Options.Sockets for the sockets that tmux itself would use.
const auto = "auto"

// Options says which servers are read, and how.
type Options struct {
	// Sockets are absolute paths of sockets, or "auto" for every socket in the folder that tmux uses for UID and the one that
	// TMUX names.
	Sockets []string
	UID     int
	// Env gives TMUX and TMUX_TMPDIR; nil is an empty environment.
	Env collectors.Env
	// Tmux is the program; empty is tmux, looked up in PATH.
	Tmux string
	// ProcRoot is where procfs is mounted; empty is /proc.
	ProcRoot string
	// Agents are the names of agents' programs: a pane's first command is compared with them, and nothing else of it is kept.
	Agents []string
	// Only, sessions' native ids such as $4, gives nothing but those sessions, for another look before an act; empty is all. The server is
	// still asked for all: what other sessions show of one belongs to it, and asking for less is hardly quicker.
	Only []string
	// Log may be nil.
	Log hclog.Logger
}

// ID is the candidate's id of the session that source knows as native.
func ID(source, native string) string { return snapshot.KindSession + ":" + source + "/" + native }

// Sources gives one source a socket, sorted by path. A folder of sockets that does not exist gives none; one that cannot be
// listed is a source that fails. The only error is a socket that is not an absolute path.
//
// A source is named tmux/ and its socket's file name. Where two sockets have the same, those outside of tmux's own folder get
// a suffix made from their path, which stays the same at every look.
func Sources(o Options) ([]collectors.Source, error) {
	home := folder(o)
	var paths []string
	var failed error
	for _, s := range o.Sockets {
		switch {
		case s == auto:
			found, err := sockets(home)
			failed = err
			paths = append(append(paths, found...), current(o)...)
		case filepath.IsAbs(s):
			paths = append(paths, filepath.Clean(s))
		default:
			return nil, fmt.Errorf("tmux socket %q: not an absolute path; write auto, or the path of a socket", s)
		}
	}
	named := func(path string) (string, bool) { return filepath.Base(path), filepath.Dir(path) == home }
	read := func(name, path string) collectors.Reader { return newReader(o, name, path) }
	var out []collectors.Source
	if failed != nil {
		out = append(out, collectors.Source{Name: Kind + "/" + auto, Kind: Kind, Path: home, Reader: collectors.Failing{Err: failed}})
	}
	return collectors.NameSources(out, Kind, "", collectors.Distinct(paths), named, read), nil
}

// folder is where tmux keeps the sockets of a user (make_label of its tmux.c).
func folder(o Options) string {
	return filepath.Join(cmp.Or(o.Env.Get("TMUX_TMPDIR"), "/tmp"), "tmux-"+strconv.Itoa(o.UID))
}

// sockets lists the sockets in dir, which must be a folder that tmux itself would use: another user may have made it first. What is
// none, such as a lock file beside one, is left out.
func sockets(dir string) ([]string, error) {
	err := peercred.TmuxFolder(dir)
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("list tmux sockets in %s: %w: run as its owner, or name the sockets in collect.tmux.sockets",
			dir, collectors.ErrPermission)
	case errors.Is(err, peercred.ErrFolder):
		return nil, fmt.Errorf("list tmux sockets: %w; none in it was connected to", err)
	case err != nil:
		return nil, fmt.Errorf("list tmux sockets in %s: %w", dir, err)
	}
	var out []string
	for _, e := range entries {
		if e.Type() == fs.ModeSocket {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// OutsideSocket is the socket of the server that a program with that environment runs in, where it is outside of the folder that tmux uses for uid: other programs do not find it. Else "".
func OutsideSocket(env collectors.Env, uid int) string {
	o := Options{Env: env, UID: uid}
	for _, path := range current(o) {
		if filepath.Dir(path) != folder(o) {
			return path
		}
	}
	return ""
}

// current is the socket of the server that the program runs in: TMUX is the socket, the server's pid and a session's number,
// with commas between them.
func current(o Options) []string {
	value := o.Env.Get("TMUX")
	for range 2 {
		value = value[:max(strings.LastIndexByte(value, ','), 0)]
	}
	if !filepath.IsAbs(value) {
		return nil
	}
	return []string{filepath.Clean(value)}
}
