package herdr

import "strings"

// Proc is one process in front of a pane's terminal.
type Proc struct {
	PID  int
	Name string
	Argv []string
	Dir  string
}

// Info is what pane.process_info says. ShellPID and ForegroundPGID are left out when 0, Foreground when nil; an empty Foreground is sent as
// an empty list. A Code makes it an error.
type Info struct {
	ShellPID, ForegroundPGID int
	Foreground               []Proc
	Code, Message            string
}

// Mode is how a pane answers pane.process_info: n counts those questions to it, from 1, and real is the true answer.
type Mode func(n int, real Info) Info

// Real answers the truth.
func Real(_ int, real Info) Info { return real }

// Omitted leaves out the processes, which is how herdr says that it does not know.
func Omitted(_ int, real Info) Info {
	real.Foreground = nil
	return real
}

// EmptyList gives an empty list of processes.
func EmptyList(_ int, real Info) Info {
	real.Foreground = []Proc{}
	return real
}

// NotFound says that there is no such pane, as herdr does for one that was restored and not started yet.
func NotFound(int, Info) Info { return Info{Code: "pane_not_found", Message: "pane not found"} }

// Erring fails.
func Erring(int, Info) Info { return Info{Code: "internal_error", Message: "read process table"} }

// ProcessInfo sets how the pane answers from now on.
func (s *Server) ProcessInfo(paneID string, mode Mode) {
	s.turn.Lock()
	defer s.turn.Unlock()
	p := s.mustPane(paneID)
	p.mode, p.asked = mode, 0
}

// processInfo asks the pane's mode outside the turn: a test's own may look at the server.
func (s *Server) processInfo(t target) (object, *refusal) {
	var p *pane
	var real Info
	var n int
	var mode Mode
	s.turn.Lock()
	_, refused := s.withPane(t.Pane, unnamed, func(found *pane) (object, *refusal) {
		p = found
		p.asked++
		n, mode = p.asked, p.mode
		switch {
		case p.child != nil:
			real = foreground(p.child.pid())
		case p.spec.Fake != nil:
			real = *p.spec.Fake
		}
		return nil, nil
	})
	id := ""
	if p != nil {
		id = p.id
	}
	s.turn.Unlock()
	if refused != nil {
		return nil, refused
	}
	info := mode(n, real)
	if info.Code != "" {
		return nil, &refusal{info.Code, info.Message}
	}
	return object{"type": "pane_process_info", "process_info": s.info(id, info)}, nil
}

func (s *Server) info(id string, info Info) object {
	o := object{"pane_id": id}
	s.optional(o, "tty", "")
	s.optionalNumber(o, "shell_pid", info.ShellPID)
	s.optionalNumber(o, "foreground_process_group_id", info.ForegroundPGID)
	if info.Foreground != nil {
		o["foreground_processes"] = each(info.Foreground, s.proc)
	}
	return s.seal(o)
}

func (s *Server) proc(p Proc) object {
	o := object{"pid": p.PID, "name": p.Name}
	s.optional(o, "argv0", "")
	s.optional(o, "cmdline", strings.Join(p.Argv, " "))
	s.optional(o, "cwd", p.Dir)
	if len(p.Argv) > 0 {
		o["argv"] = p.Argv
	} else if s.o.Nulls {
		o["argv"] = nil
	}
	return s.seal(o)
}

func (s *Server) optionalNumber(o object, key string, n int) {
	switch {
	case n != 0:
		o[key] = n
	case s.o.Nulls:
		o[key] = nil
	}
}
