package tower

import (
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"golang.org/x/sys/unix"
)

// shellperProcess is a process whose command line says that it is a shellper of this Tower's socket folder.
type shellperProcess struct {
	pid        int
	registered bool // a row says so, and the process is as old as that says
	parent     bool
	startMs    int64
	ageMs      float64
}

// tolerance is by how much a recorded start may differ from the real one, in ms.
const tolerance = 2000

// census lists the shellpers of this Tower's folder. The caller has the turn.
func (s *Server) census() (out []shellperProcess) {
	all := procs.All()
	recorded := s.sessions("")
	for _, p := range all {
		line := strings.Join(procs.Argv(p.PID), " ")
		if !strings.Contains(line, marker) || !strings.Contains(line, s.o.SocketDir+"/") {
			continue
		}
		one := shellperProcess{pid: p.PID, startMs: startMs(p.PID)}
		one.ageMs = float64(time.Now().UnixMicro())/1000 - float64(one.startMs)
		one.parent = slices.ContainsFunc(all, func(other procs.Process) bool { return other.Parent == p.PID })
		one.registered = slices.ContainsFunc(recorded, func(r session) bool { return r.pid == p.PID && r.began(one.startMs) })
		out = append(out, one)
	}
	return out
}

// began says whether the row's process began then. A row that does not say is trusted.
func (r session) began(startMs int64) bool {
	return !r.started.Valid || max(r.started.Int64-startMs, startMs-r.started.Int64) <= tolerance
}

// husks lists those that Codev would sweep: no row, no child, a known start and old enough. The caller has the turn.
func (s *Server) husks() (out []shellperProcess) {
	for _, one := range s.census() {
		if !one.registered && !one.parent && one.startMs > 0 && one.ageMs >= float64(s.o.GraceMs) {
			out = append(out, one)
		}
	}
	return out
}

// endProcess asks a process to end, kills it when it does not, and touches none that was not started here.
func (s *Server) endProcess(pid int) {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if !procs.SignalMarked(pid, s.mark, signal) {
			return
		}
		wait.Until(s.o.KillWait, func() bool { return !procs.Lives(pid) })
	}
}
