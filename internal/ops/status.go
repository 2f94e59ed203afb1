package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/text"
)

// NotRunning says that no daemon answers, and whether one has the state folder all the same; message is that for a person.
func (o *Ops) NotRunning() (doc document.NotRunning, message string, err error) {
	doc = document.NotRunning{Schema: document.StateSchema, State: o.Cfg.State}
	unlock, err := o.AsksForLock()
	var held *lock.Held
	switch {
	case errors.Is(err, fs.ErrNotExist): // a question does not make one
	case errors.As(err, &held):
		doc.Running, doc.Process = true, held.PID
		return doc, fmt.Sprintf("process %d is winnow run since %s, and does not answer this command: %s", held.PID, text.Time(held.Since), o.whySilent()), nil
	case err == nil:
		_ = unlock()
	default:
		return doc, "", fmt.Errorf("it is not known whether a winnow run has the state folder %s: %w", o.Cfg.State, err)
	}
	return doc, "no winnow run has the state folder " + text.Clean(o.Cfg.State) + ": winnow run begins one, winnow service install has systemd run it", nil
}

// whySilent says why a daemon that runs may not answer.
func (o *Ops) whySilent() string {
	if _, err := os.Lstat(o.Cfg.APISocket()); errors.Is(err, fs.ErrNotExist) {
		return "there is no " + text.Clean(o.Cfg.APISocket()) + ", so run.api is off there, its socket is elsewhere, or somebody removed it: then start winnow run again"
	}
	return "it hangs, run.api is off there, or it runs with another configuration or version"
}
