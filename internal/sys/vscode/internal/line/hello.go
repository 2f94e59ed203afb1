package line

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
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

const (
	// maxMembers bounds what one line is unpacked to, and maxText how long one text in it is, in bytes: a path has 4096.
	maxMembers = 50_000
	maxText    = 4096
)

// badRequest is the code for a request that the window does not understand.
const badRequest = "bad_request"

// Refusal is an answer of the window's that says no.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the window answers %.40q: %.200q", r.Code, r.Message)
}

// decode takes the answer to the request of that id.
func decode(line []byte, id string, out any) error {
	var answer struct {
		ID     *string         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Refusal        `json:"error"`
	}
	switch {
	case bytes.Count(line, []byte(",")) > maxMembers:
		return fmt.Errorf("the answer lists more than winnow reads (%d members)", maxMembers)
	case !utf8.Valid(line):
		return errors.New("the answer is not UTF-8; see what listens there")
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return malformed(err)
	}
	switch {
	case answer.ID == nil:
		return errors.New("the answer does not say to which request it is; see what listens there")
	case *answer.ID != id:
		return fmt.Errorf("the answer is to request %.40q, and %q was asked; see what listens there", *answer.ID, id)
	case answer.Error != nil && answer.Result != nil:
		return errors.New("the answer has a result and an error; see what listens there")
	case answer.Error != nil:
		return answer.Error
	case len(answer.Result) == 0 || answer.Result[0] != '{':
		return errors.New("the answer has neither a result nor an error; see what listens there")
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	return fmt.Errorf("the answer is not one of a window's: %w; see what listens there", err)
}

// Texts refuses an answer to method in which a text is longer than is read.
func Texts(method string, all ...string) error {
	for _, text := range all {
		if len(text) > maxText {
			return fmt.Errorf("%s: a text has %d bytes, more than winnow reads (%d): %.40q", method, len(text), maxText, text)
		}
	}
	return nil
}
