package codev

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
)

// program is the file that every shellper runs.
const program = "shellper-main.js"

// command is what is kept of a process's command line: whose shellper it is, and nothing that stands in its environment.
type command struct {
	// known is false where the command line could not be read or understood.
	known, shellper bool
	// socket is where a shellper listens, farm the state folder that it was started for where it names one, architect whose
	// conversation it holds, and cwd where it started its program. Empty is not said.
	socket, farm, architect, cwd string
}

// parseCommand reads the text of a cmdline file. A shellper's first argument is a JSON object that holds its socket, its working
// directory and the environment (contract of Codev 3.3.1: argv is matched by the program's name and the folder of the socket).
func parseCommand(text []byte) command {
	if len(text) == 0 {
		return command{}
	}
	args := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
	var c command
	for _, arg := range args {
		switch {
		case !c.shellper:
			c.shellper = filepath.Base(string(arg)) == program
		case !c.take(arg):
			return command{shellper: true}
		}
	}
	c.known = true
	return c
}

// take reads one argument of a shellper's, and reports whether it could be understood.
func (c *command) take(arg []byte) bool {
	if arg = bytes.TrimSpace(arg); len(arg) == 0 || arg[0] != '{' {
		return c.listens(string(arg))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(arg, &fields) != nil {
		return false
	}
	for name, raw := range fields {
		var text string
		var nested struct {
			Farm      string `json:"CODEV_AGENT_FARM_DIR"`
			Architect string `json:"CODEV_ARCHITECT_NAME"`
		}
		switch raw[0] {
		case '"':
			if json.Unmarshal(raw, &text) != nil || !c.listens(text) || name == "cwd" && !c.starts(text) {
				return false
			}
		case '{':
			if json.Unmarshal(raw, &nested) != nil {
				return false
			}
			c.farm, c.architect = c.farm+nested.Farm, c.architect+nested.Architect
		}
	}
	return true
}

// starts takes the folder in which the program is started. Of two different ones nobody knows which it is.
func (c *command) starts(text string) bool {
	if !filepath.IsAbs(text) {
		return true
	}
	text = filepath.Clean(text)
	if c.cwd != "" && c.cwd != text {
		return false
	}
	c.cwd = text
	return true
}

// listens takes a text that is a socket's path. Of two different ones nobody knows which it is.
func (c *command) listens(text string) bool {
	if !filepath.IsAbs(text) || !strings.HasSuffix(text, ".sock") {
		return true
	}
	text = filepath.Clean(text)
	if c.socket != "" && c.socket != text {
		return false
	}
	c.socket = text
	return true
}
