package tmux

import (
	"path/filepath"
	"time"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	wire "github.com/winnow-reaper/winnow/internal/sys/tmux"
)

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, s *decision.Session) error {
	switch {
	case s == nil || s.Socket == "" || s.ServerPID <= 1 || s.ServerTicks == 0 || s.CreatedAt.IsZero() || len(s.Panes) == 0:
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !wire.IsSession(s.ID):
		return actuators.Refused("%s: %q is not an id of tmux's such as $4; it was left untouched", candidate, s.ID)
	case !filepath.IsAbs(s.Socket):
		return actuators.Refused("%s: its socket %q is not an absolute path; it was left untouched", candidate, s.Socket)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	for _, p := range s.Panes {
		// A pane that is dead has no process, and says so by having no pid at all.
		dead := p.PID == 0 && p.StartTicks == 0 && len(p.Members) == 0
		if !wire.IsPane(p.ID) || !dead && (p.PID <= 1 || p.StartTicks == 0) {
			return actuators.Refused("%s: which process pane %q began with is not known; it was left untouched", candidate, p.ID)
		}
	}
	return nil
}

// checkIdentity makes sure that what the server shows is the session that was decided on: the same server, creation and panes.
func (g *handle) checkIdentity(l *wire.Listing) error {
	s := l.Session(g.id.ID)
	switch {
	case l.PID != g.id.ServerPID:
		return actuators.Changed("another tmux server (pid %d) answers on %s now; session %s was left untouched", l.PID, g.id.Socket, g.who())
	case s == nil:
		return actuators.Gone("session %s no longer existed", g.who())
	case !s.Created.Equal(g.id.CreatedAt):
		return actuators.Changed("session %s was created at another time than the one that was judged; it was left untouched", g.who())
	}
	judged, found := map[string]decision.Pane{}, map[string]bool{}
	for _, p := range g.id.Panes {
		judged[p.ID] = p
	}
	for _, p := range l.Panes {
		if p.Session != s.ID {
			continue
		}
		j, ok := judged[p.ID]
		switch found[p.ID] = true; {
		case !ok:
			return actuators.Changed("session %s has a new pane, %s; it was left untouched", g.who(), p.ID)
		case p.Dead != (j.PID == 0), !p.Dead && p.PID != j.PID:
			return actuators.Changed("pane %s of session %s runs another first process than when it was judged; it was left untouched", p.ID, g.who())
		}
	}
	if len(found) != len(judged) {
		return actuators.Changed("session %s has %d panes and had %d when it was judged; it was left untouched", g.who(), len(found), len(judged))
	}
	return nil
}

// plan is every name and place that an act uses. It stands in the intent, and as manifest.json beside the saved scrollback.
type plan struct {
	Act       string    `json:"act"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Session   string    `json:"session"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Folder    string    `json:"folder"`
	Panes     []planned `json:"panes"`
}

// planned is a pane: where its scrollback is saved, what is needed to make one like it, and the processes that are held.
type planned struct {
	ID         string         `json:"id"`
	File       string         `json:"file"`
	Cwd        string         `json:"cwd,omitempty"`
	Window     string         `json:"window"`
	WindowName string         `json:"window_name"`
	Layout     string         `json:"layout"`
	Width      int            `json:"width"`
	Height     int            `json:"height"`
	Members    []panes.Member `json:"members,omitempty"`
}

// keptText is where the scrollback of the held session's panes is, or will be.
func (g *handle) keptText() panes.Kept {
	return panes.Kept{Trash: g.Trash, Act: g.plan.Act, Panes: len(g.plan.Panes)}
}
