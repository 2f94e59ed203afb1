package daemon

import (
	"maps"
	"slices"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/version"
)

// State is how the daemon stands.
func (d *Daemon) State() document.State {
	now := d.Now()
	s := document.State{Schema: document.StateSchema, Version: version.Read().Version, Status: d.Status(), StateFolder: now.Cfg.State, Alarms: []report.Alarm{}, NotRead: []string{}}
	switch p := now.Paused(); { // that of now, also when no sweep has seen yet that it began, ended or was replaced
	case p != nil:
		if s.Paused == nil {
			s.Mode, s.Since = document.Paused, p.Since
		}
		s.Paused = p
	case p == nil && s.Paused != nil:
		s.Paused = nil
		if s.Mode = document.Observing; len(s.Brakes) > 0 {
			s.Mode = document.Braked
		} else if d.Options.Apply || now.Cfg.Act.Enabled {
			s.Mode = document.Acting
		}
	}
	if r := d.Last(); r != nil {
		s.Policy, s.Alarms = r.Policy, append(s.Alarms, r.Alarms...)
		for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
			if r.Sources[name].Status == snapshot.Failed {
				s.NotRead = append(s.NotRead, name)
			}
		}
	}
	return s
}
