package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Pause says that nothing may act for this user until a person resumes, or until its time is over.
type Pause struct {
	Since time.Time `json:"since"`
	// Until is when it ends by itself; nil is not before somebody resumes.
	Until  *time.Time `json:"until,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// BootID and UntilUp are the boot in which it began, and how many seconds after that boot it ends, by the machine's own count: a clock that is set
	// neither ends a pause nor makes it longer. After another boot Until counts.
	BootID  string  `json:"boot_id,omitempty"`
	UntilUp float64 `json:"until_up,omitempty"`
}

// Error makes it the cause for which acts are not tried.
func (p *Pause) Error() string {
	text := "paused"
	if !p.Since.IsZero() {
		text += " since " + p.Since.Local().Format(time.DateTime)
	}
	if p.Until != nil {
		text += " until " + p.Until.Local().Format(time.DateTime)
	}
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text + "; winnow resume ends the pause"
}

// expired reports whether it has ended by itself. bootID and up are the machine's now; an unknown boot leaves the wall clock alone.
func (p *Pause) expired(now time.Time, bootID string, up float64) bool {
	switch {
	case p.Until == nil:
		return false
	case bootID != "" && bootID == p.BootID && p.UntilUp > 0:
		return up >= p.UntilUp
	}
	return !now.Before(*p.Until)
}

const pauseName = "paused.json"

// maxPause bounds the file of a pause, and maxReason the reason in it, in bytes: each of them may take six in the file.
const (
	maxPause  = 16 << 10
	maxReason = 2 << 10
)

// PausePath is the file of a user's pause: beside the file of the lock of acts, so that it counts for every state folder, environment and login. Where the user has no
// home of their own, or cannot write it, it is state's, and counts for that state folder alone.
func (a Acting) PausePath(state string) string {
	return filepath.Join(a.SharedFolder(state), pauseName)
}

// Paused gives the pause that holds now, nil when it is missing. A file that cannot be read, or that is no pause, counts as one without an end: the user may have meant
// to stop everything. So does a file of the user's whose folder others may write by now, or that was written for the state folder alone before there was a home.
func (a Acting) Paused(state string, machine func() (bootID string, up float64)) *Pause {
	for _, path := range a.pausePaths(state) {
		if p := pausedBy(path, machine); p != nil {
			return p
		}
	}
	return nil
}

// pausePaths are the files in which there may be a pause: that of PausePath, and the user's or the state folder's, if there is one.
func (a Acting) pausePaths(state string) []string {
	paths := []string{a.PausePath(state)}
	for _, dir := range []string{a.Folder(), state} {
		path := filepath.Join(dir, pauseName)
		if dir == "" || path == paths[0] {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func pausedBy(path string, machine func() (bootID string, up float64)) *Pause {
	f, err := safeopen.ReadNow(path, safeopen.Want{Max: maxPause, Ruling: true})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safeopen.ErrAbsent) {
		return nil
	}
	var p Pause
	if err == nil {
		err = json.Unmarshal(f.Data, &p)
	}
	// A pause that was written has a since.
	if err == nil && p.Since.IsZero() {
		err = errors.New("it says not since when")
	}
	if err != nil {
		return &Pause{Reason: fmt.Sprintf("the file of the pause %s cannot be read: %v", path, err)}
	}
	bootID, up := machine()
	if p.expired(time.Now(), bootID, up) {
		return nil
	}
	return &p
}

// Pause stops all acts of this user. A second pause takes the first one's place.
func (a Acting) Pause(ctx context.Context, state string, p Pause) (path string, err error) {
	path = a.PausePath(state)
	if len(p.Reason) > maxReason {
		return path, fmt.Errorf("pause: the reason is too long: %d bytes, and %d are the most", len(p.Reason), maxReason)
	}
	if err := safeopen.MakeTrusted(filepath.Dir(path)); err != nil {
		return path, fmt.Errorf("pause: the folder %s: %w", filepath.Dir(path), err)
	}
	err = atomicfile.Write(ctx, path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(p)
	})
	if err != nil {
		return path, fmt.Errorf("pause: %w", err)
	}
	return path, nil
}

// Resume ends the pause, and reports whether there was one.
func (a Acting) Resume(state string) (bool, error) {
	was := false
	for _, path := range a.pausePaths(state) {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return was, fmt.Errorf("resume: %w; the pause still holds", err)
		}
		was = was || err == nil
	}
	return was, nil
}
