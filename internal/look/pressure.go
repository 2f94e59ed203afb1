package look

import (
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/collectors/pressure"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// Pressure is readPressure; what cannot be read is a line of the log, and unknown.
func (l *Looker) Pressure() *snapshot.Pressure {
	p, err := l.ReadPressure()
	if err != nil {
		l.Log.Debug("read the pressure on this machine", "error", err)
	}
	return p
}

// ReadPressure reads how short the machine is of memory, and the file systems of the state folder and of managed folders of room.
func (l *Looker) ReadPressure() (*snapshot.Pressure, error) {
	places := []string{l.Cfg.State}
	for _, p := range l.Cfg.Collect.Dirs.Roots {
		if !strings.ContainsAny(p, "*?[") {
			places = append(places, filepath.Clean(p))
		}
	}
	return pressure.ReadBounded(l.Cfg.Collect.Processes.Root, places)
}
