package processes

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// ignoresHangup is the first bit of the signals that a pinned process ignores (SigIgn, proc_pid_status(5)).
func (s *scan) ignoresHangup(dir int) *bool {
	ignored, err := s.signals(dir, "SigIgn")
	if err != nil {
		return nil
	}
	return s.flag(ignored&hangup != 0)
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

func (o *outputs) fill(p *snapshot.Process) {
	if o.unknown {
		return
	}
	p.WritesFiles = new(o.count)
	if o.count > 0 {
		p.OutputAt = new(o.at.UTC())
	}
}
