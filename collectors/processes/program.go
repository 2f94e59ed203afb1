package processes

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/commandline"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// program fills in what an interpreter runs: the base name of the program's file, and the package that it belongs to. Of the command
// line nothing else is kept. The executable decides what its words mean; where that is not an interpreter, or the program wrote over its
// command line, both stay unknown.
func (s *scan) program(dir int, p *snapshot.Process) {
	if p.Exe == nil {
		return
	}
	exe := commandline.BaseName(*p.Exe)
	if !matches(s.o.Interpreters, exe) {
		return
	}
	words, ok := commandLine(&s.Reader, dir)
	if !ok || !matches(s.o.Interpreters, commandline.BaseName(words[0])) && commandline.BaseName(words[0]) != exe {
		return // it gave itself a title
	}
	ran, ok := commandline.ParseProgram(exe, words)
	if !ok {
		return
	}
	if p.Script = ran.Script(); p.Script == nil {
		return
	}
	p.ArgvDigest = s.digest(dir) // what an agent has a copy of is told by it, and agents mark few of their servers
	if ran.Module != "" || ran.File == "" {
		p.Package = &ran.Module
		return
	}
	p.Package = s.packageOf(dir, ran.File, p.Cwd)
}

// commandLine has the words of a command line. Of a long one they are those of its beginning, and an empty one stands for the rest.
func commandLine(b *host.Reader, dir int) ([]string, bool) {
	text, err := proc.ReadSome(dir, "cmdline", b.Environ)
	if err != nil || len(text) == 0 || text[0] == 0 {
		return nil, false
	}
	cut := len(text) == len(b.Environ)
	words := proc.Arguments(text)
	if cut {
		words[len(words)-1] = "" // the last word may be cut short, and there may be more
	}
	return words, true
}

// packageOf is the package that a program's file belongs to: of the path as it was given or, where that is a link such as
// node_modules/.bin/x, of what it leads to. "" means that it is in no package, nil that it is not known.
func (s *scan) packageOf(dir int, file string, cwd *string) *string {
	if name := commandline.Package(file); name != "" {
		return &name
	}
	if !strings.HasPrefix(file, "/") {
		if cwd == nil || !strings.HasPrefix(*cwd, "/") {
			return nil
		}
		file = *cwd + "/" + file
	}
	file = path.Clean(file)
	real, err := s.real(dir, file)
	switch {
	case err == nil:
		return new(commandline.Package(real))
	case errors.Is(err, unix.ENOENT) && !strings.HasSuffix(path.Dir(file), "bin"):
		return new("") // it was there when it was started; what leads to another folder's program lies in a folder of links
	default:
		return nil
	}
}

// real is the path that a name leads to, as the process itself would find it: in its own root folder and its own mounts.
func (s *scan) real(dir int, file string) (string, error) {
	top, err := unix.Openat(dir, "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", unix.EACCES
	}
	defer unix.Close(top)
	fd, err := proc.OpenIn(top, file)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	text, err := proc.Readlink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), s.Link)
	return string(text), err
}

// matches reports whether a name is on a list, where a * at the end stands for any rest.
func matches(list []string, name string) bool {
	for _, have := range list {
		if stem, open := strings.CutSuffix(have, "*"); have == name || open && strings.HasPrefix(name, stem) {
			return true
		}
	}
	return false
}
