package ruleset

import (
	"github.com/winnow-reaper/winnow/internal/project"
)

// Store has what the user trusted of repositories' own files.
func (l *Loader) Store() project.Store { return project.Store{State: l.Cfg.State} }
