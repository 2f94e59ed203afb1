package processes

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/commandline"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/collectors/processes/mcpserver"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// program fills in what an interpreter runs: the base name of the program's file, the package that it belongs to, and what it is proven to be. Of
// the command line nothing else is kept. The executable decides what its words mean; where that is not an interpreter, or the program wrote over its
// command line, both stay unknown.
func (s *scan) program(dir int, p *snapshot.Process) {
	if p.Exe == nil {
		return
	}
	exe := commandline.BaseName(*p.Exe)
	if (matches(s.o.Browsers, exe) || matches(s.o.Browsers, p.Name)) && s.driven(dir) {
		p.Proven = new(snapshot.ProvenBrowser)
	}
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
	file := ran.File
	if !path.IsAbs(file) && p.Cwd != nil {
		file = *p.Cwd + "/" + file
	}
	if file = path.Clean(file); !path.IsAbs(file) {
		file = ""
	}
	real, err := s.real(dir, file)
	if p.Package = packageOf(ran.File, file, real, err); err == nil && s.serves(dir, exe, real, p.PID) {
		p.Proven = new(snapshot.ProvenServer)
	}
}

// maxSource is how large a file of a program may be that is read, in bytes: one into which a whole agent was put together is larger.
const maxSource = 256 << 10

// serves reports whether the files of a program show that it is an MCP server. Python's environment is the one from
// which it has loaded a library that the SDK needs.
func (s *scan) serves(dir int, exe, file string, pid int) bool {
	input, err := proc.Readlink(dir, "fd/0", s.Link)
	if err != nil || !bytes.HasPrefix(input, []byte("pipe:")) && !bytes.HasPrefix(input, []byte("socket:")) {
		return false
	}
	program := mcpserver.Program{Agents: s.o.AgentPackages, Read: func(at string) ([]byte, error) {
		at = filepath.Join(s.root.Path, strconv.Itoa(pid), "root", at)
		f, err := safeopen.Read(context.Background(), at, safeopen.Want{Max: maxSource, Within: time.Second})
		if errors.Is(err, safeopen.ErrNotRegular) || errors.Is(err, unix.ENOTDIR) {
			err = fs.ErrNotExist
		}
		return f.Data, err
	}}
	if !strings.HasPrefix(exe, "py") {
		return program.Node(file)
	}
	maps, err := proc.Read(dir, "maps", s.Environ, proc.MaxEnviron)
	loaded, _, ok := strings.Cut(string(maps), "/pydantic_core/")
	at := strings.LastIndex(loaded, " /")
	return err == nil && ok && at >= 0 && program.Python(file, loaded[at+1:])
}

// driven reports whether a browser's command line shows that a program drives it. Chrome writes its own over with the same words in one. What it
// starts of its own file has a --type, and is judged by it.
func (s *scan) driven(dir int) bool {
	text, err := proc.Read(dir, "cmdline", s.Environ, proc.MaxEnviron)
	if err != nil {
		return false
	}
	led, own, profiles, part := false, false, 0, false
	for _, word := range strings.Fields(strings.ReplaceAll(string(text), "\x00", " ")) {
		name, value, _ := strings.Cut(word, "=")
		led = led || name == "--headless" || strings.HasPrefix(name, "--remote-debugging-")
		part = part || name == "--type"
		if name == "--user-data-dir" {
			profiles++
			own = temporary.MatchString(path.Clean(value))
		}
	}
	return led && own && profiles == 1 && !part
}

// temporary matches what lies below a folder for caches or temporary files.
var temporary = regexp.MustCompile(`^(?:/tmp|/var/tmp|/.*/\.cache)/.`)

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
func packageOf(given, file, real string, err error) *string {
	name := commandline.Package(given)
	switch {
	case name != "":
		return &name
	case file == "":
		return nil
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

// startedBy is what started a pinned process so that it outlives its starter, see snapshot.Process. What its starter spoke with over a pipe was not
// started by nohup: the variable was handed down.
func (s *scan) startedBy(dir int, r *record) *string {
	spoken := r.Script != nil && r.InputEnded != nil && *r.InputEnded
	if r.nohup && !spoken {
		return new("nohup")
	}
	by, ok := s.unit(dir)
	if !ok || by == "" && !r.nohupKnown {
		return nil
	}
	return &by
}

// viaNohup reports whether a shell had nohup start the program with that environment: shells set _ to the file that they run.
func viaNohup(environ []byte) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if file, ok := bytes.CutPrefix(entry, []byte("_=")); ok {
			return path.Base(string(file)) == "nohup"
		}
	}
	return false
}

// unit says what made the unit of the service manager's that a pinned process is in: systemd-run, at, or "" for neither. A kernel without
// cgroups has no such file.
func (s *scan) unit(dir int) (by string, ok bool) {
	text, err := proc.Read(dir, "cgroup", s.Environ, proc.MaxEnviron)
	if err != nil {
		return "", proc.Ended(err)
	}
	for line := range bytes.Lines(text) {
		for unit := range strings.SplitSeq(strings.TrimSpace(string(line[bytes.LastIndexByte(line, ':')+1:])), "/") {
			switch {
			case unit == "atd.service":
				return "at", true
			case s.transient(unit):
				return "systemd-run", true
			}
		}
	}
	return "", true
}

// transient reports whether systemd-run made a unit: by the name that it gives, or by the file of a service that a person named. Desktops make such
// services for programs and for what D-Bus starts, and scopes for terminals: those hold all that a person starts there.
func (s *scan) transient(unit string) bool {
	service := strings.HasSuffix(unit, ".service")
	if strings.HasPrefix(unit, "run-") && (service || strings.HasSuffix(unit, ".scope")) {
		return true
	}
	if !service || !s.root.Procfs || strings.HasPrefix(unit, "app-") || strings.HasPrefix(unit, "dbus-") {
		return false
	}
	for _, folder := range []string{"/run/user/" + strconv.Itoa(s.uid) + "/systemd/transient/", "/run/systemd/transient/"} {
		if _, err := os.Lstat(folder + unit); err == nil {
			return true
		}
	}
	return false
}

// outputs are the regular files that a process has open for writing.
type outputs struct {
	count int
	// at is when one of them last changed. Unknown is whether one could not be asked.
	at      time.Time
	unknown bool
}

// file looks at what a descriptor leads to. That it can be written to is what the mode of the link in procfs says. The file is not asked of a server
// that has it, which may hang.
func (o *outputs) file(fds int, name string) {
	var link unix.Stat_t
	if err := unix.Fstatat(fds, name, &link, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		o.unknown = o.unknown || !proc.Ended(err)
		return
	}
	if link.Mode&unix.S_IWUSR == 0 {
		return
	}
	var st unix.Statx_t
	err := unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MTIME, &st)
	switch {
	case err != nil:
		o.unknown = o.unknown || !proc.Ended(err)
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		o.count++
		if at := time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)); at.After(o.at) {
			o.at = at
		}
	}
}
