package processes

import (
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/processes/commandline"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
)

// Daemon is a process that an agent's vendor runs for all of its agents together, known by its command line.
type Daemon struct {
	Name string
	// Programs are the names of its program: comm, or the name of the file.
	Programs []string
	// Args are what its command line begins with behind the program, word by word. An option among them may also stand further
	// behind, but for the first: what comes first says what the rest means, and a prompt can hold any word.
	Args []string
}

// runs reports whether a process may be the daemon, by its names.
func (d Daemon) runs(comm, exe string) bool {
	return slices.ContainsFunc(d.Programs, func(name string) bool {
		return name == exe || name[:min(len(name), commLen)] == comm || (name + ".exe")[:min(len(name)+4, commLen)] == comm
	})
}

// commLen is the longest name that the kernel keeps of a process (TASK_COMM_LEN without its NUL).
const commLen = 15

// is reports whether the words behind the program are the daemon's.
func (d Daemon) is(args []string) bool {
	if len(d.Args) == 0 {
		return false
	}
	if at := slices.Index(args, "--"); at >= 0 {
		args = args[:at] // behind it all is text
	}
	for i, want := range d.Args {
		option := i > 0 && strings.HasPrefix(want, "-")
		if i >= len(args) || option && !slices.Contains(args[i:], want) || !option && args[i] != want {
			return false
		}
	}
	return true
}

// NameDaemon is the name of the daemon that a process is: "" for a process of a daemon's program that is not a daemon, nil for any
// other, and for a command line that could not be read.
func NameDaemon(b *host.Reader, all []Daemon, dir int, comm string, exe *string) *string {
	file := ""
	if exe != nil {
		file = commandline.BaseName(*exe)
	}
	if !slices.ContainsFunc(all, func(d Daemon) bool { return d.runs(comm, file) }) {
		return nil
	}
	words, ok := commandLine(b, dir)
	if !ok || len(words) > 1 && words[1] == "" {
		return nil
	}
	for _, d := range all {
		if d.runs(comm, file) && d.is(words[1:]) {
			return new(d.Name)
		}
	}
	return new("")
}
