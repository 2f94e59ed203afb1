package tower

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
)

// program is the file that every shellper runs.
const program = "shellper-main.js"

// Command is what is kept of a process's command line: whose shellper it is, and nothing that stands in its environment.
type Command struct {
	// Known is false where the command line could not be read or understood.
	Known, Shellper bool
	// Socket is where a shellper listens, Farm the state folder that it was started for where it names one, Architect whose
	// conversation it holds, and Cwd where it started its program. An empty string means that the command line does not say it.
	Socket, Farm, Architect, Cwd string
}

// ParseCommand reads the text of a cmdline file. A shellper's first argument is a JSON object that holds its socket, its working
// directory and the environment (contract of Codev 3.3.1: argv is matched by the program's name and the folder of the socket).
func ParseCommand(text []byte) Command {
	if len(text) == 0 {
		return Command{}
	}
	args := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
	var c Command
	for _, arg := range args {
		switch {
		case !c.Shellper:
			c.Shellper = filepath.Base(string(arg)) == program
		case !c.take(arg):
			return Command{Shellper: true}
		}
	}
	c.Known = true
	return c
}

// take reads one argument of a shellper's, and reports whether it could be understood.
func (c *Command) take(arg []byte) bool {
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
			if json.Unmarshal(raw, &text) != nil || !c.listens(text) || name == "cwd" && !takePath(&c.Cwd, text) {
				return false
			}
		case '{':
			if json.Unmarshal(raw, &nested) != nil {
				return false
			}
			c.Farm, c.Architect = c.Farm+nested.Farm, c.Architect+nested.Architect
		}
	}
	return true
}

// listens takes a text that is a socket's path.
func (c *Command) listens(text string) bool {
	return !strings.HasSuffix(text, ".sock") || takePath(&c.Socket, text)
}

// takePath takes a text that is a whole path. Two different ones leave it unknown.
func takePath(to *string, text string) bool {
	if !filepath.IsAbs(text) {
		return true
	}
	text = filepath.Clean(text)
	if *to != "" && *to != text {
		return false
	}
	*to = text
	return true
}

// Codev is what tells the shellpers of one state folder from those of others.
type Codev struct {
	// Home is the state folder, Sockets the real paths of the folders in which its shellpers have their sockets.
	Home    string
	Sockets map[string]bool
}

// NewCodev is the Codev of the state folder home, whose store has those rows. Besides the folders that the rows name, its sockets are where a Tower
// with this environment keeps them; user is the user's home folder, "" where it is not known.
func NewCodev(home string, rows *Records, env func(string) string, user string) Codev {
	o := Codev{Home: home, Sockets: rows.SocketFolders()}
	if set := env("SHELLPER_SOCKET_DIR"); filepath.IsAbs(set) {
		o.Sockets[Resolved(set)] = true
	} else if user != "" {
		o.Sockets[Resolved(filepath.Join(user, ".codev", "run"))] = true
	}
	return o
}

// Owns reports whether a process with this command line is a shellper of this state folder; nil where the command line does not tell. A
// folder counts as a whole: run2 is not run.
func (o Codev) Owns(c *Command) *bool {
	switch {
	case !c.Known:
		return nil
	case !c.Shellper, c.Farm != "" && !SamePath(c.Farm, o.Home):
		return new(false)
	case c.Socket == "":
		return nil
	}
	return new(o.Sockets[Resolved(filepath.Dir(c.Socket))])
}

// Resolved is where path leads, or path itself where that cannot be found out.
func Resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}

// SamePath reports whether two paths lead to the same place.
func SamePath(a, b string) bool {
	return filepath.Clean(a) == filepath.Clean(b) || Resolved(a) == Resolved(b)
}
