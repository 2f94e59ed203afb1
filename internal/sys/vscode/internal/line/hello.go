package line

import (
	"errors"
	"fmt"
	"regexp"
)

// Protocol is the one that is spoken.
const Protocol = 1

// MaxFolders is how many folders of one window are read.
const MaxFolders = 1000

// Hello is what a window says of itself.
type Hello struct {
	Protocol  int
	Extension string
	Editor    Editor
	// Window is the id that the window gave itself when it was loaded.
	Window string
	// PID is the extension host, which listens on the socket, and StartTicks when that began.
	PID        int
	StartTicks uint64
	// Folders are the real paths of the folders that the window has open. Focused is whether it has the focus of its desktop.
	Folders   []string
	Focused   bool
	challenge string
}

// Editor is which editor it is.
type Editor struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

var (
	windowID  = regexp.MustCompile(`\A[0-9a-f]{8}\z`)
	challenge = regexp.MustCompile(`\A[0-9a-f]{32}\z`)
)

// hello asks the window which one it is, and where the proof goes. It tells nothing else before that.
func (c *Conn) hello() error {
	var h struct {
		Protocol   *int    `json:"protocol"`
		Window     string  `json:"window"`
		PID        int     `json:"pid"`
		StartTicks *uint64 `json:"start_ticks"`
		Challenge  string  `json:"challenge"`
	}
	err := c.Ask("hello", map[string]int{"protocol": Protocol}, &h)
	var no *Refusal
	switch {
	case errors.As(err, &no) && no.Code == badRequest: // so a window refuses a protocol that it does not know
		return fmt.Errorf("%w; it may not know protocol %d: run winnow editor install and load the window again, or update winnow", err, Protocol)
	case err != nil:
		return err
	case h.Protocol != nil && *h.Protocol != Protocol:
		return fmt.Errorf("it speaks protocol %d, and winnow speaks %d; run winnow editor install and load the window again, or update winnow", *h.Protocol, Protocol)
	case h.Protocol == nil || h.StartTicks == nil || h.PID <= 0 || !windowID.MatchString(h.Window) || !challenge.MatchString(h.Challenge):
		return incomplete("hello")
	}
	c.Hello = Hello{Protocol: Protocol, Window: h.Window, PID: h.PID, StartTicks: *h.StartTicks, challenge: h.Challenge}
	return nil
}

// prove has the window look at the proof, and takes what it then tells of itself.
func (c *Conn) prove() error {
	var p struct {
		Extension *string   `json:"extension"`
		Editor    *Editor   `json:"editor"`
		Folders   *[]string `json:"folders"`
		Focused   *bool     `json:"focused"`
	}
	switch err := c.Ask("prove", struct{}{}, &p); {
	case err != nil:
		return err
	case p.Extension == nil || p.Editor == nil || p.Folders == nil || p.Focused == nil:
		return incomplete("prove")
	case len(*p.Folders) > MaxFolders:
		return fmt.Errorf("prove: %d folders, more than winnow reads (%d)", len(*p.Folders), MaxFolders)
	}
	if err := Texts("prove", append([]string{*p.Extension, p.Editor.Name, p.Editor.Version}, *p.Folders...)...); err != nil {
		return err
	}
	c.Extension, c.Editor, c.Folders, c.Focused = *p.Extension, *p.Editor, *p.Folders, *p.Focused
	return nil
}

func incomplete(method string) error {
	return fmt.Errorf("%s: the answer is not one of a window's: a part of it is missing or has another form; see what listens there", method)
}
