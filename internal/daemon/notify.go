package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Notify tells people of what sweeps bring.
var Notify = Component{
	Name:  "notify",
	Once:  true,
	By:    func(c *config.Config) any { return c.Notify },
	Begin: func(ctx context.Context, d *Daemon) (func(), error) { return d.notify(ctx), nil },
}

// notified is the file in the state folder that says what was told.
const notified = "notified.json"

// notify starts what tells people; nil where nothing is to be told.
func (d *Daemon) notify(ctx context.Context) (end func()) {
	if !d.Cfg.Notify.Enabled() {
		return nil
	}
	log := d.Log.Named("notify")
	o := d.NotifyOptions()
	o.File = filepath.Join(d.Cfg.State, notified)
	o.Log = func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) }
	if err := d.TrustState(); err != nil {
		o.Log("what was told is not remembered: %v", err)
		o.File = ""
	}
	n := notify.New(o)
	deaf := d.Listen(func(e Ended) {
		if ctx.Err() != nil {
			if e.Report == nil {
				return
			}
			e.Err = nil // it was interrupted, which is no failure; what it did is told
		}
		if event, tells := EventOf(e); tells {
			n.Hear(event)
		}
	})
	return func() {
		deaf()
		n.End()
	}
}

// EventOf is what a sweep has to tell; false where it says nothing of how things are, because another sweep had the lock.
func EventOf(e Ended) (notify.Event, bool) {
	event := notify.Event{At: e.At, Speaks: []string{notify.GroupProblems}}
	if errors.As(e.Err, new(*lock.Held)) {
		return event, false
	}
	problem := func(rule, key, message string) {
		event.Standing = append(event.Standing, notify.Standing{Group: notify.GroupProblems, Key: key, Item: notify.Item{Rule: rule, Message: message}})
	}
	if e.Err != nil {
		problem("sweep_failed", "sweep_failed", e.Err.Error()+"; it is tried again")
	}
	if e.Status.Reload != "" {
		problem("reload_failed", "reload_failed "+e.Status.Reload, "SIGHUP changed nothing, and what ran before goes on: "+e.Status.Reload)
	}
	for _, b := range e.Status.Brakes {
		problem("brake_"+b.Rule, "brake "+b.Rule+" "+b.Sweep+" "+b.Candidate, b.Message+"; the daemon only observes until winnow brakes release")
	}
	if p := e.Status.Paused; p != nil {
		problem(report.Paused, "paused "+p.Since.UTC().Format(time.RFC3339Nano), p.Error()+"; winnow resume ends it")
	}
	if e.Report != nil {
		fillEvent(&event, e.Report)
	}
	return event, true
}

// fillEvent adds what a report says.
func fillEvent(e *notify.Event, r *report.Report) {
	e.Speaks = append(e.Speaks, notify.GroupActs, notify.GroupAlarms, notify.GroupAsks)
	for _, acts := range [][]decision.Act{r.Settled, r.Acts} {
		for _, a := range acts {
			name := cmp.Or(a.Label, a.Candidate)
			i := notify.Item{Kind: a.Kind, ID: a.Candidate, Name: name, Outcome: a.Outcome.Outcome}
			switch a.Outcome.Outcome {
			case decision.Done:
				e.Done = append(e.Done, i)
				e.FreedBytes += a.Freed.Bytes
			case decision.Failed, decision.Refused: // which may be so again at each sweep
				i.Message = a.Detail
				e.Standing = append(e.Standing, notify.Standing{Group: notify.GroupActs, Key: a.Outcome.Outcome + " " + a.Candidate, Item: i})
			}
		}
	}
	for _, p := range r.Purged {
		e.Purged++
		e.FreedBytes += p.Bytes
	}
	for _, al := range r.Alarms {
		if al.Rule == report.Paused || strings.HasPrefix(al.Rule, "brake_") {
			continue // problems
		}
		e.Standing = append(e.Standing, notify.Standing{
			Group: notify.GroupAlarms, Key: al.Rule + " " + al.Candidate + " " + lasting(al),
			Item: notify.Item{Rule: al.Rule, ID: al.Candidate, Message: al.Message},
		})
	}
	for _, d := range r.Decisions {
		if d.Level != decision.Ask {
			continue
		}
		i := notify.Item{Kind: d.Kind, ID: d.ID, Name: cmp.Or(d.Label, d.ID)}
		if _, counting := d.Counting(); len(counting) > 0 {
			i.Rule, i.Message = counting[0].Rule, counting[0].Message
		}
		e.Standing = append(e.Standing, notify.Standing{Group: notify.GroupAsks, Key: d.ID + " " + d.Identity.Key + " " + i.Rule, Item: i})
	}
}

// counted is a number that stands by itself in a sentence, with its unit: a count, a time, a size.
var counted = regexp.MustCompile(`(^|[ (])\d[\d.,:-]*([a-z%]{1,3}\d[\d.,]*)*[a-zA-Z%]{0,3}($|[ ),.;:])`)

// lasting is what of an alarm's message is the same as long as it is about the same: counts and times in it grow from sweep to sweep. Where it is about one thing, that thing is.
func lasting(al report.Alarm) string {
	if al.Candidate != "" {
		return ""
	}
	s := al.Message
	for { // a space is the end of one and the beginning of the next
		next := counted.ReplaceAllString(s, "$1#$3")
		if next == s {
			return s
		}
		s = next
	}
}
