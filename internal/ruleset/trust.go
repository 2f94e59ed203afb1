package ruleset

import (
	"github.com/winnow-reaper/winnow/internal/project"
)

func (l *Loader) Store() project.Store { return project.Store{State: l.Cfg.State} }
