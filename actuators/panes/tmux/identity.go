package tmux

import (
	"path/filepath"
	"slices"
	"strconv"

	"winnow/actuators"
	"winnow/actuators/panes"
	"winnow/engine/decision"
)

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, s *decision.Session) error {
	switch {
	case s == nil || s.Socket == "" || s.ServerPID <= 1 || s.ServerTicks == 0 || s.CreatedAt.IsZero() || len(s.Panes) == 0:
		return actuators.Refused("what makes %s the same session at a later look is not known; it was left untouched", candidate)
	case !sessionID.MatchString(s.ID):
		return actuators.Refused("%s: %q is not an id of tmux's such as $4; it was left untouched", candidate, s.ID)
	case !filepath.IsAbs(s.Socket):
		return actuators.Refused("%s: its socket %q is no absolute path; it was left untouched", candidate, s.Socket)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	for _, p := range s.Panes {
		// A pane that is dead has no process, and says so by having no pid at all.
		dead := p.PID == 0 && p.StartTicks == 0 && len(p.Members) == 0
		if !paneID.MatchString(p.ID) || !dead && (p.PID <= 1 || p.StartTicks == 0) {
			return actuators.Refused("%s: which process pane %q began with is not known; it was left untouched", candidate, p.ID)
		}
	}
	return nil
}

// attachedNames are the client names that can stand in a condition: the paths of their terminals, or client-PID.
func attachedNames(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool {
		return (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '/' && b != ',' && b != '-' && b != '.' && b != '_'
	})
}

// same compares what the server shows with what was judged.
func (g *grasp) same(v *view) error {
	who := g.id.ID + " (" + g.id.Name + ")"
	switch {
	case v.serverPID != g.id.ServerPID:
		return actuators.Changed("another tmux server (pid %d) answers on %s now; session %s was left untouched", v.serverPID, g.id.Socket, who)
	case v.id == "":
		return actuators.Gone("session %s was not there any more", who)
	case v.created != strconv.FormatInt(g.id.CreatedAt.Unix(), 10):
		return actuators.Changed("session %s was created at another time than the one that was judged; it was left untouched", who)
	case v.grouped != "0":
		return actuators.Refused("session %s shares its windows with a group: killing it would not end what runs in them; it was left untouched", who)
	case v.attached != g.id.Attached:
		return actuators.Changed("session %s has %d clients attached and had %d when it was judged; it was left untouched", who, v.attached, g.id.Attached)
	case !attachedNames(v.attachedTo):
		return actuators.Refused("session %s has a client whose name cannot be compared; it was left untouched", who)
	case len(v.panes) != len(g.id.Panes):
		return actuators.Changed("session %s has %d panes and had %d when it was judged; it was left untouched", who, len(v.panes), len(g.id.Panes))
	}
	judged := map[string]decision.Pane{}
	for _, p := range g.id.Panes {
		judged[p.ID] = p
	}
	for _, p := range v.panes {
		j, ok := judged[p.id]
		switch {
		case p.linked:
			return actuators.Refused("session %s has a window that another session shows too: killing it would not end what runs in it; it was left untouched", who)
		case !ok:
			return actuators.Changed("session %s has a new pane, %s; it was left untouched", who, p.id)
		case p.dead != (j.PID == 0), !p.dead && p.pid != j.PID:
			return actuators.Changed("pane %s of session %s runs another first process than when it was judged; it was left untouched", p.id, who)
		}
	}
	return nil
}
