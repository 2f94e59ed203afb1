// Package pace says when the daemon sweeps next, and why: on a schedule, a moment after events, when a sighting may be confirmed, and when somebody asks.
//
// It reads no clock and waits for nothing: it is given times, and gives times. These are of one running process, with their monotonic part, so that a clock that is set moves
// nothing.
package pace

import "time"

// Why a sweep is due.
const (
	Start    = "start"
	Schedule = "schedule"
	Event    = "event"
	Confirm  = "confirm"
	Request  = "request"
	Retry    = "retry"
)

// Options are the times; all are positive.
type Options struct {
	// Every is the time from one sweep to the next when nothing else calls for one. It is made longer or shorter by chance, by the share Jitter (0 to 1) at most, so that many
	// machines do not sweep at the same moment.
	Every  time.Duration
	Jitter float64
	// Settle is how long no event may have come before a sweep that events call for, Burst how long it waits for that at most.
	Settle, Burst time.Duration
	// Rest is the least time from the end of a sweep to one that no person asked for. Share is which part of all time sweeps may take: a sweep that takes long is followed by a
	// longer rest. One sweep in Every comes all the same.
	Rest  time.Duration
	Share float64
	// Chance gives numbers from 0 up to 1.
	Chance func() float64
}

// Pace is when the next sweep is due. The methods take the time at which they are called.
type Pace struct {
	Options
	scheduled, confirm, retry time.Time
	// first and last are those of the events that no sweep has looked at.
	first, last time.Time
	asked       bool
	// rested is when the rest after the last sweep is over.
	rested time.Time
	// hurry divides Every: 1 is no hurry.
	hurry  float64
	swept  bool
	failed int
}

// New is a pace at which the first sweep is due at once.
func New(o Options) *Pace { return &Pace{Options: o, hurry: 1} }

// Event takes note of an event.
func (p *Pace) Event(now time.Time) {
	if p.first.IsZero() {
		p.first = now
	}
	p.last = now
}

// Ask has the next sweep begin at once.
func (p *Pace) Ask() { p.asked = true }

// Hurry makes the schedule by factor shorter (1 is as configured), but not shorter than the rest. It moves a sweep that is planned already only to an earlier time.
func (p *Pace) Hurry(now time.Time, factor float64) {
	factor = max(factor, 1)
	if factor > p.hurry && !p.scheduled.IsZero() {
		at := now.Add(p.interval(factor))
		if at.Before(p.rested) {
			at = p.rested
		}
		if at.Before(p.scheduled) {
			p.scheduled = at
		}
	}
	p.hurry = factor
}

func (p *Pace) interval(hurry float64) time.Duration {
	return time.Duration(float64(p.Every) / hurry * (1 + p.Jitter*(2*p.Chance()-1)))
}

// Swept takes note of a sweep that looked. wait is for how long the next sighting has to wait for its confirmation; negative where none waits. Events that
// came after it began are for the next one.
func (p *Pace) Swept(began, ended time.Time, wait time.Duration) {
	p.swept, p.asked, p.failed = true, false, 0
	p.retry, p.confirm = time.Time{}, time.Time{}
	p.scheduled = ended.Add(p.interval(p.hurry))
	rest := max(p.Rest, time.Duration(float64(ended.Sub(began))*(1/p.Share-1)))
	p.rested = ended.Add(rest)
	if least := ended.Add(min(rest, p.Every)); p.hurry > 1 && p.scheduled.Before(least) {
		p.scheduled = least
	}
	if wait >= 0 {
		p.confirm = ended.Add(wait)
	}
	if p.last.Before(began) {
		p.first, p.last = time.Time{}, time.Time{}
	} else {
		p.first = p.last
	}
}

// Failed takes note of a sweep that came to nothing: it is tried again after a rest that doubles up to the schedule.
func (p *Pace) Failed(now time.Time) {
	p.asked = false
	p.retry = now.Add(min(p.Every, p.Rest<<min(p.failed, 10)))
	p.failed++
}

// Next says when the next sweep is due, and why.
func (p *Pace) Next(now time.Time) (time.Time, string) {
	switch {
	case p.asked:
		return now, Request
	case !p.retry.IsZero():
		return p.retry, Retry
	case !p.swept:
		return now, Start
	}
	at, why := p.scheduled, Schedule
	sooner := func(t time.Time, because string) {
		if t.Before(p.rested) {
			t = p.rested
		}
		if t.Before(at) {
			at, why = t, because
		}
	}
	if !p.confirm.IsZero() {
		sooner(p.confirm, Confirm)
	}
	if !p.first.IsZero() {
		settled, latest := p.last.Add(p.Settle), p.first.Add(p.Burst)
		if latest.Before(settled) {
			settled = latest
		}
		sooner(settled, Event)
	}
	return at, why
}
