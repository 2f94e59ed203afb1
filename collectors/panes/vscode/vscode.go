// Package vscode reads windows of VS Code, and of editors made of it, that have the Winnow extension: which terminal tabs they have, and what these were
// opened for.
//
// One window is one source. What it says of a process is where to look and no more: package subject finds out by /proc what became of it. A window that
// vanished has no tabs that are known.
package vscode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
)

// Kind is the kind of a source that is a window of an editor, and what its name begins with.
const Kind = snapshot.Editor

// auto stands in Options.Sockets for the sockets of all windows of the user.
const auto = "auto"

// Options says which windows are read, and how.
type Options struct {
	// Sockets are absolute paths of sockets, or "auto" for those of all windows of this user.
	Sockets []string
	// Env gives the environment of the look; nil is an empty one.
	Env collectors.Env
	// UID is whose windows are read: another user's is refused.
	UID int
	// Markers are the variables whose names are looked for in what tabs were opened with.
	Markers []string
	// Only, tabs' numbers in their window, gives nothing but those tabs, for another look before an act; empty is all.
	Only []string
	// ProcRoot is where procfs is mounted; empty is /proc.
	ProcRoot string
	// Log may be nil.
	Log hclog.Logger
}

// ID is the candidate's id of the tab that source knows as native.
func ID(source, native string) string { return snapshot.KindTab + ":" + source + "/" + native }

// Sources gives one source a socket, sorted by path, named vscode/ and the socket's file name without its ending. Of two with the same name
// both get a suffix made from their path, which stays the same at every look. A folder of sockets that cannot be trusted is a source that
// fails. The only error is a socket that is not an absolute path.
func Sources(o Options) ([]collectors.Source, error) {
	o.ProcRoot, o.Log = cmp.Or(o.ProcRoot, "/proc"), cmp.Or(o.Log, hclog.NewNullLogger())
	var paths []string
	var out []collectors.Source
	for _, s := range o.Sockets {
		switch {
		case s == auto:
			found, failed := o.auto()
			paths, out = append(paths, found...), append(out, failed...)
		case !filepath.IsAbs(s):
			return nil, fmt.Errorf("vscode socket %.80q: not an absolute path; write auto, or the path of a socket", s)
		default:
			paths = append(paths, filepath.Clean(s))
		}
	}
	slices.Sort(paths)
	name := func(path string) (string, bool) { return strings.TrimSuffix(filepath.Base(path), ".sock"), false }
	read := func(name, path string) collectors.Reader { return &reader{o, name, path} }
	return collectors.NameSources(out, Kind, "", collectors.Distinct(paths), name, read), nil
}

// auto finds the sockets of all windows of this user, and gives a failing source for each folder whose sockets cannot be relied on.
func (o Options) auto() (paths []string, failed []collectors.Source) {
	for _, dir := range vscode.Folders(o.Env.Get, o.UID) {
		found, err := vscode.Sockets(dir)
		if err != nil {
			failed = append(failed, collectors.Source{Name: Kind + "/folder " + collectors.Short(dir), Kind: Kind, Path: dir, Reader: collectors.Failing{Err: fmt.Errorf(
				"look for windows of editors in %s: %w; no window there was asked. Let the folder belong to this user, and let no other user write there and in the folders above it", dir, err)}})
		}
		paths = append(paths, found...)
	}
	return paths, failed
}

// reader reads one window.
type reader struct {
	Options
	name, socket string
}

// Read gives the terminal tabs of the window.
//
// It wraps collectors.ErrAbsent only when no process listens on the socket: the window was closed or loaded again, or its extension host has ended. It wraps
// collectors.ErrPermission when the window may not be asked, and the context's error when it did not answer in time.
func (r *reader) Read(ctx context.Context) (_ collectors.Part, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the window of an editor on %s: %w", r.socket, err)
		}
	}()
	hello, all, err := vscode.List(ctx, vscode.Window{Socket: r.socket, UID: r.UID}, r.Markers)
	if err != nil {
		return collectors.Part{}, failed(err)
	}
	if err := r.checkNamespace(hello); err != nil {
		return collectors.Part{}, err
	}
	var running map[int]proc.Stat
	if slices.ContainsFunc(all, func(t vscode.Terminal) bool { return t.PID != nil }) {
		if running, err = proc.Scan(r.ProcRoot); err != nil {
			return collectors.Part{}, fmt.Errorf("read the processes: %w", err)
		}
	}
	part := collectors.Part{Tabs: map[string]snapshot.Tab{}, Server: &snapshot.Server{
		Socket: r.socket, PID: hello.PID, StartTicks: &hello.StartTicks, Version: hello.Extension, Protocol: &hello.Protocol,
	}}
	for i := range all {
		t := &all[i]
		native := strconv.Itoa(t.N)
		if len(r.Only) == 0 || slices.Contains(r.Only, native) {
			part.Tabs[ID(r.name, native)] = snapshot.Tab{
				Source: r.name, ID: native, Label: t.Name, State: t.State(hello), Focused: new(t.InFront(hello)), Editor: r.tab(&hello, t, running),
			}
		}
	}
	r.Log.Debug("window of an editor read", "source", r.name, "tabs", len(all))
	return part, nil
}

// checkNamespace makes sure that the processes of ProcRoot are those that the window counts: the pids that it gives mean something only where its own
// one does.
func (r *reader) checkNamespace(h vscode.Hello) error {
	host, err := proc.StatOf(r.ProcRoot, h.PID)
	if err == nil && host.Start != h.StartTicks {
		err = fmt.Errorf("that process began at %d", host.Start)
	}
	if err != nil {
		return fmt.Errorf("its extension host says that it is pid %d and began at %d, and %s does not show this: %w; its pids say nothing here. Run winnow where the editor's processes run",
			h.PID, h.StartTicks, r.ProcRoot, err)
	}
	return nil
}

// failed gives an error of a conversation its meaning for a source.
func failed(err error) error {
	switch {
	case errors.Is(err, vscode.ErrNoServer):
		return fmt.Errorf("%w: %w", err, collectors.ErrAbsent)
	case peercred.Refused(err), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w; run winnow as that user, or leave it out of collect.vscode.sockets", collectors.ErrPermission, err)
	}
	return err
}

// tab is what the window says of a tab, and which processes were started in it.
func (r *reader) tab(h *vscode.Hello, t *vscode.Terminal, running map[int]proc.Stat) *snapshot.EditorTab {
	out := &snapshot.EditorTab{
		Window: h.Window, Folders: append([]string{}, h.Folders...), Name: t.Name, CreationName: t.CreationName, Shape: t.Shape, Program: t.Program,
		PID: t.PID, StartTicks: t.StartTicks, ExitCode: t.ExitCode, Typed: t.Typed, Active: &t.Active, OpenedAt: new(t.OpenedAt.UTC()), Error: new(""),
	}
	if t.Markers != nil {
		out.Markers = append([]string{}, *t.Markers...)
	}
	if t.ShownAt != nil {
		out.ShownAt = new(t.ShownAt.UTC())
	}
	if t.CreationName != nil {
		if kind, id, key, ok := tower.TabBuilder(*t.CreationName); ok {
			out.Codev = &snapshot.CodevTab{Kind: kind, ID: id, Key: key}
		}
	}
	if t.PID != nil {
		if out.Session = session(*t.PID, t.StartTicks, running); out.Session == nil {
			out.Error = new("which processes were started in it is not known: /proc hides processes, or when its own began is not known and its number is in use")
		}
	}
	return out
}

// session are the processes of the session that pid leads or led, itself left out. Nil is unknown: pid lives, and when the tab's own process
// began is not known; or processes of others are hidden, of which some may have been started in the tab. The kernel gives a number to another
// process only when no session has it any more (free_pid is reached when no task uses it in any way), so that then nothing of the session is left.
func session(pid int, ticks *uint64, running map[int]proc.Stat) []snapshot.EditorProc {
	leader, lives := running[pid]
	switch {
	case proc.Hidden(running) != nil, lives && ticks == nil:
		return nil
	case lives && leader.Start != *ticks:
		return []snapshot.EditorProc{}
	}
	out := []snapshot.EditorProc{}
	for _, id := range slices.Sorted(maps.Keys(running)) {
		if p := running[id]; p.Session == pid && id != pid && !p.Gone() {
			out = append(out, snapshot.EditorProc{PID: id, Name: p.Comm})
		}
	}
	return out
}
