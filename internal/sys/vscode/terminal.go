package vscode

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
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
		fmt.Sprintf("opened %s as %s program %s folder %q", t.OpenedAt.UTC().Format(time.RFC3339Nano), quoted(t.CreationName), quoted(t.Program), t.Cwd),
		fmt.Sprintf("process %s start %s exit_code %s", orUnknown(t.PID), orUnknown(t.StartTicks), orUnknown(t.ExitCode)),
		fmt.Sprintf("typed %s in front %t", orUnknown(t.Typed), t.InFront(h)),
	}, "\n")
}

// InFront reports whether it is the active tab of the window that has the focus.
func (t *Terminal) InFront(h Hello) bool { return h.Focused && t.Active }

func quoted(s *string) string {
	if s == nil {
		return "unknown"
	}
	return fmt.Sprintf("%q", *s)
}

func orUnknown[T any](v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}
