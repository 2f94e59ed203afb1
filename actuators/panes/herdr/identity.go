package herdr

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
)

// admissible refuses an identity that does not say everything which is tested again later.
func admissible(act, candidate string, t *decision.Tab) error {
	switch {
	case t == nil || t.Socket == "" || len(t.Panes) == 0:
		return actuators.Refused("the identity of %s is unknown; it was left untouched", candidate)
	case !herdr.WorkspaceID(t.Workspace):
		return actuators.Refused("%s: %q is not a workspace's id of herdr's such as w1; it was left untouched", candidate, t.Workspace)
	case !herdr.TabID(t.ID) || !strings.HasPrefix(t.ID, t.Workspace+":"):
		return actuators.Refused("%s: %q is not a tab's id of herdr's such as %s:t3; it was left untouched", candidate, t.ID, t.Workspace)
	case !filepath.IsAbs(t.Socket):
		return actuators.Refused("%s: its socket %q is no absolute path; it was left untouched", candidate, t.Socket)
	case t.ServerPID <= 0:
		return actuators.Refused("%s: its server is in another pid namespace, so that its pids say nothing here; it was left untouched", candidate)
	case !panes.CanName(act):
		return actuators.Refused("%s: act id %q cannot name a folder; it was left untouched", candidate, act)
	}
	seen := map[string]bool{}
	pids := map[int]bool{}
	for _, p := range t.Panes {
		switch {
		case !herdr.PaneID(p.ID):
			return actuators.Refused("%s: %q is not a pane's id of herdr's such as %s:p4; it was left untouched", candidate, p.ID, t.Workspace)
		case p.Terminal == "" || seen[p.Terminal] || seen[p.ID]:
			return actuators.Refused("%s: the terminal of pane %s is not known; it was left untouched", candidate, p.ID)
		case p.PID == 0 || p.StartTicks == 0 || pids[p.PID] || !slices.Contains(p.Members, p.PID):
			return actuators.Refused("%s: what runs in pane %s is not known; it was left untouched", candidate, p.ID)
		}
		seen[p.Terminal], seen[p.ID], pids[p.PID] = true, true, true
		for _, pid := range p.Members {
			if pid <= 1 {
				return actuators.Refused("%s: pane %s lists pid %d, which is never signalled; it was left untouched", candidate, p.ID, pid)
			}
		}
	}
	return nil
}
