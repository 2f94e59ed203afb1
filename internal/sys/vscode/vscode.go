// Package vscode asks a window of VS Code, or of an editor made of it, that has the Winnow extension, for its terminal tabs.
//
// The protocol is editors/vscode/protocol.schema.json: a unix socket a window, one JSON object a line. What changes something is in package
// act, which collectors may not import.
package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/sys/vscode/internal/line"
)

// maxTerminals is how many tabs of one window are read.
const maxTerminals = 1000

// The reasons for which a conversation failed, besides a Refusal and those of package peer.
var (
	ErrNoServer = line.ErrNoServer
	ErrAnother  = line.ErrAnother
	ErrNotSent  = line.ErrNotSent
)

type (
	// Hello is what a window says of itself.
	Hello = line.Hello
	// Refusal is an answer of the window's that says no.
	Refusal = line.Refusal
)

// Window says which window is asked. Its fields are those of line.Window, which does not have its methods: a request that no function here
// makes can be made by package act only.
type Window line.Window

// Code is the code of a window's refusal in err, "" where err is not a refusal.
func Code(err error) string {
	if no, ok := errors.AsType[*Refusal](err); ok {
		return no.Code
	}
	return ""
}

// List gives the tabs of a window and what it says of itself. markers are the names of variables that are looked for in what tabs were
// opened with. Its errors are those of line.Window.Open, a *Refusal, or that the window cannot be relied on.
func List(ctx context.Context, w Window, markers []string) (Hello, []Terminal, error) {
	c, err := line.Window(w).Open(ctx)
	if err != nil {
		return Hello{}, nil, err
	}
	defer c.Close()
	all, err := Terminals(c, markers)
	return c.Hello, all, err
}

// Terminals is List in a conversation that package act has begun.
func Terminals(c *line.Conn, markers []string) ([]Terminal, error) {
	var out struct {
		Terminals *[]json.RawMessage `json:"terminals"`
	}
	const method = "terminals.list"
	if err := c.Ask(method, map[string]any{"markers": append([]string{}, markers...)}, &out); err != nil {
		return nil, err
	}
	all, err := terminals(out.Terminals, markers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; see what listens there, or run winnow editor install and load the window again, or update winnow", method, err)
	}
	return all, nil
}

// terminals takes a list apart and says whether it holds together: one tab that is odd makes the others doubtful.
func terminals(list *[]json.RawMessage, markers []string) ([]Terminal, error) {
	switch {
	case list == nil:
		return nil, errors.New("the answer leaves out its terminals")
	case len(*list) > maxTerminals:
		return nil, fmt.Errorf("%d tabs, more than winnow reads (%d)", len(*list), maxTerminals)
	}
	all, seen := []Terminal{}, map[int]bool{}
	for _, text := range *list {
		t, err := terminal(text)
		if err == nil {
			err = t.check(markers)
		}
		switch {
		case err != nil:
			return nil, err
		case seen[t.N]:
			return nil, fmt.Errorf("tab %d is listed twice", t.N)
		}
		seen[t.N] = true
		all = append(all, t)
	}
	return all, nil
}

// check says what is odd about a tab. markers are the names that were asked for.
func (t *Terminal) check(markers []string) error {
	given := slices.Concat(ptr(t.Markers)...)
	unasked := slices.IndexFunc(given, func(m string) bool { return !slices.Contains(markers, m) })
	switch {
	case t.N <= 0:
		return fmt.Errorf("a tab has the number %d", t.N)
	case t.Shape != Shell && t.Shape != Task && t.Shape != Pty:
		return fmt.Errorf("tab %d has the shape %.20q, which winnow does not know", t.N, t.Shape)
	case t.PID != nil && *t.PID <= 0 || t.StartTicks != nil && t.PID == nil:
		return fmt.Errorf("tab %d has a process without a pid", t.N)
	case t.OpenedAt.IsZero() || t.ShownAt != nil && t.ShownAt.IsZero():
		return fmt.Errorf("tab %d has a time of year 1", t.N)
	case t.Program != nil && strings.ContainsAny(*t.Program, "/\x00"):
		return fmt.Errorf("tab %d has more than the base name of its program", t.N)
	case unasked >= 0: // it could be anything, a value too
		return fmt.Errorf("tab %d has a marker that was not asked for", t.N)
	}
	return line.Texts(fmt.Sprintf("tab %d", t.N), slices.Concat([]string{t.Name, t.Cwd}, ptr(t.CreationName), ptr(t.Program))...)
}

// ptr is what p points to, or nothing.
func ptr[T any](p *T) []T {
	if p == nil {
		return nil
	}
	return []T{*p}
}

// Find gives the listed tab of that number, or nil.
func Find(all []Terminal, n int) *Terminal {
	if i := slices.IndexFunc(all, func(t Terminal) bool { return t.N == n }); i >= 0 {
		return &all[i]
	}
	return nil
}

// runtimes is where a login makes a folder for each user.
const runtimes = "/run/user"

var socketName = regexp.MustCompile(`\A[0-9a-f]{8}\.sock\z`)

// Folders are those in which windows of this user may have their sockets, sorted: the one below the runtime folder that an editor with this
// environment would use, and the one below the folder for temporary files, which an editor uses that was started before there was a runtime
// folder. A runtime folder that does not belong to this user is left out, as an editor leaves it out.
func Folders(env func(string) string, uid int) []string {
	tmp := env("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	out := []string{filepath.Join(tmp, "winnow-"+strconv.Itoa(uid), "editors")}
	for _, dir := range []string{env("XDG_RUNTIME_DIR"), filepath.Join(runtimes, strconv.Itoa(uid))} {
		if filepath.IsAbs(dir) && belongs(dir, uid) {
			out = append(out, filepath.Join(dir, "winnow", "editors"))
			break
		}
	}
	slices.Sort(out)
	return out
}

// belongs reports whether dir is a folder, and no link, of that user.
func belongs(dir string, uid int) bool {
	st, err := os.Lstat(dir)
	return err == nil && st.IsDir() && safeopen.Owner(st) == uid
}

// Sockets lists the sockets in a folder, sorted. A folder that is missing has none. One that another user owns, or can write in, is an error:
// nothing that lies there can be relied on.
func Sockets(dir string) ([]string, error) {
	fd, err := line.Folder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_ = unix.Close(fd) // no other user can put another folder in its place
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if socketName.MatchString(e.Name()) && e.Type() == fs.ModeSocket {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// The shapes of a terminal tab.
const (
	Shell = "shell"
	Task  = "task"
	Pty   = "pty" // without a process: an extension draws it
)

// Terminal is a terminal tab as its window has it. What is nil is not known to the window, or not there.
type Terminal struct {
	// N is the window's own number of it, given once only.
	N            int     `json:"n"`
	Name         string  `json:"name"`
	CreationName *string `json:"creation_name"`
	Shape        string  `json:"shape"`
	// Program is the base name of what it was made to run, "" for the person's own shell.
	Program *string `json:"program"`
	// Cwd is the folder that it was opened in, "" where whoever opened it named none.
	Cwd     string    `json:"cwd"`
	Markers *[]string `json:"markers"`
	// PID is its process as the editor saw it start, and StartTicks when that began (field 22 of /proc/PID/stat), read while it was there.
	PID        *int      `json:"pid"`
	StartTicks *uint64   `json:"start_ticks"`
	ExitCode   *int      `json:"exit_code"`
	Typed      *bool     `json:"typed"`
	Active     bool      `json:"active"`
	OpenedAt   time.Time `json:"opened_at"`
	// ShownAt is when it last became the window's active terminal, nil where it never was.
	ShownAt *time.Time `json:"shown_at"`
}

// terminal reads one tab. Its error says what is missing: a name, a focus or a time that is not given would be taken for another one.
func terminal(text []byte) (Terminal, error) {
	var must struct {
		N        *int       `json:"n"`
		Name     *string    `json:"name"`
		Shape    *string    `json:"shape"`
		Active   *bool      `json:"active"`
		OpenedAt *time.Time `json:"opened_at"`
	}
	var t Terminal
	switch err := errors.Join(json.Unmarshal(text, &must), json.Unmarshal(text, &t)); {
	case err != nil:
		return t, err
	case must.N == nil || must.Name == nil || must.Shape == nil || must.Active == nil || must.OpenedAt == nil:
		return t, errors.New("a tab has no number, name, shape, focus or time of opening")
	}
	return t, nil
}

// State is all that a window says of a tab which an act on it rests on, in lines. The same state gives the same text to every caller. What
// is not in it: the markers, which are part of how it was opened and depend on which were asked for, and whether it is the active tab of a
// window without the focus, which the editor changes by itself.
func (t *Terminal) State(h Hello) string {
	return strings.Join([]string{
		fmt.Sprintf("window %s folders %q", h.Window, h.Folders),
		fmt.Sprintf("tab %d name %q shape %s", t.N, t.Name, t.Shape),
		fmt.Sprintf("opened %s as %s program %s folder %q", t.OpenedAt.UTC().Format(time.RFC3339Nano), termsafe.OrUnknown("%q", t.CreationName),
			termsafe.OrUnknown("%q", t.Program), t.Cwd),
		fmt.Sprintf("process %s start %s exit_code %s", termsafe.OrUnknown("%v", t.PID), termsafe.OrUnknown("%v", t.StartTicks),
			termsafe.OrUnknown("%v", t.ExitCode)),
		fmt.Sprintf("typed %s in front %t", termsafe.OrUnknown("%v", t.Typed), t.InFront(h)),
	}, "\n")
}

// InFront reports whether it is the active tab of the window that has the focus.
func (t *Terminal) InFront(h Hello) bool { return h.Focused && t.Active }
