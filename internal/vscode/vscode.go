// Package vscode asks a window of VS Code, or of an editor made of it, that has the Winnow extension, for its terminal tabs.
//
// The protocol is editors/vscode/protocol.schema.json: a unix socket a window, one JSON object a line. What changes something is in package act.
package vscode

import (
	"cmp"
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
	"time"

	"winnow/internal/foreign"
	"winnow/internal/vscode/internal/line"
)

// Protocol is the one that is spoken.
const Protocol = line.Protocol

// maxTerminals is how many tabs of one window are read.
const maxTerminals = 1000

// The errors of a conversation: see package line.
var (
	ErrNoServer = line.ErrNoServer
	ErrAnother  = line.ErrAnother
	ErrNotSent  = line.ErrNotSent
)

type (
	// Window says which window is asked.
	Window = line.Window
	// Hello is what a window says of itself.
	Hello = line.Hello
	// Refusal is an answer of the window's that says no.
	Refusal = line.Refusal
)

// The shapes of a terminal tab.
const (
	Shell = "shell"
	Task  = "task"
	Pty   = "pty" // without a process: an extension draws it
)

// Terminal is a terminal tab as its window has it. What is nil is not known to the window, or not there.
type Terminal struct {
	// N is the window's own number of it, given once only.
	N            int       `json:"n"`
	Name         string    `json:"name"`
	CreationName *string   `json:"creation_name,omitempty"`
	Shape        string    `json:"shape"`
	Program      *string   `json:"program,omitempty"`
	Cwd          string    `json:"cwd,omitempty"`
	Markers      *[]string `json:"markers,omitempty"`
	PID          *int      `json:"pid,omitempty"`
	StartTicks   *uint64   `json:"start_ticks,omitempty"`
	ExitCode     *int      `json:"exit_code,omitempty"`
	Typed        *bool     `json:"typed,omitempty"`
	Active       bool      `json:"active"`
	OpenedAt     time.Time `json:"opened_at"`
	// ShownAt is when it last became the window's active terminal, nil where it never was.
	ShownAt *time.Time `json:"shown_at,omitempty"`
}

// State is all that a window says of what a tab is, as one text: not whether it is the active one, and not since when.
func (t *Terminal) State() string {
	same := *t
	same.Active, same.ShownAt, same.Typed, same.Markers = false, nil, nil, nil
	text, _ := json.Marshal(same) // of plain fields
	return string(text)
}

// List gives the tabs of a window and what it says of itself. markers are the names of variables that are looked for in what tabs were opened with. Its
// errors are those of Window.Open, a *Refusal, or that the window cannot be relied on.
func List(ctx context.Context, w Window, markers []string) (Hello, []Terminal, error) {
	c, err := w.Open(ctx)
	if err != nil {
		return Hello{}, nil, err
	}
	defer c.Close()
	var out struct {
		Terminals *[]Terminal `json:"terminals"`
	}
	if err := c.Ask(ctx, "terminals.list", map[string]any{"markers": slices.Concat([]string{}, markers)}, &out); err != nil {
		return c.Hello, nil, err
	}
	if out.Terminals == nil {
		return c.Hello, nil, errors.New("terminals.list: the answer leaves out its terminals")
	}
	return c.Hello, *out.Terminals, check(*out.Terminals)
}

// check says whether a list holds together: one tab that is odd makes the others doubtful.
func check(all []Terminal) error {
	if len(all) > maxTerminals {
		return fmt.Errorf("terminals.list: %d tabs, more than winnow reads (%d)", len(all), maxTerminals)
	}
	seen := map[int]bool{}
	for _, t := range all {
		switch {
		case t.N <= 0 || seen[t.N]:
			return fmt.Errorf("terminals.list: tab %d is listed twice, or its number is none", t.N)
		case t.Shape != Shell && t.Shape != Task && t.Shape != Pty:
			return fmt.Errorf("terminals.list: tab %d has the shape %.20q, which winnow does not know", t.N, t.Shape)
		case t.PID != nil && *t.PID <= 0 || t.StartTicks != nil && t.PID == nil:
			return fmt.Errorf("terminals.list: tab %d has a process without a pid", t.N)
		}
		seen[t.N] = true
	}
	return nil
}

// Find gives the listed tab of that number, or nil.
func Find(all []Terminal, n int) *Terminal {
	if i := slices.IndexFunc(all, func(t Terminal) bool { return t.N == n }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Code is the code of a refusal, "" for any other error.
func Code(err error) string {
	var no *Refusal
	if errors.As(err, &no) {
		return no.Code
	}
	return ""
}

// folder is where the sockets lie below a runtime folder.
const folder = "editors"

var socketName = regexp.MustCompile(`\A[0-9a-f]{8}\.sock\z`)

// Folders are those in which windows of this user put their sockets: one that was started with other variables uses another one.
func Folders(env func(string) string, uid int) []string {
	var out []string
	for _, dir := range []string{env("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(uid)} {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, "winnow", folder))
		}
	}
	for _, dir := range []string{cmp.Or(env("TMPDIR"), "/tmp"), "/tmp"} {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, "winnow-"+strconv.Itoa(uid), folder))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Sockets lists the sockets in a folder, sorted. A folder that is not there has none. One that is another user's, or in which others can write, is an error:
// what lies there is nobody's word.
func Sockets(dir string) ([]string, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	real, err := foreign.Folder(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if socketName.MatchString(e.Name()) {
			out = append(out, filepath.Join(real, e.Name()))
		}
	}
	return out, nil
}
