package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
)

// A part runs beside the loop of the daemon: it tells others of its sweeps, or answers them.
type part struct {
	name string
	// once is true for a part that is begun for winnow run --once too.
	once bool
	// inState is true for a part that others find by the state folder.
	inState bool
	// by gives what the part was configured with. It is begun again when a reload changed that.
	by func(*config.Config) any
	// begin starts the part and gives what ends it, nil where the configuration asks for none. An error says what was not started and what to do.
	begin func(context.Context, *daemon) (end func(), err error)
}

// parts are all of them, in the order in which they begin. They end in the opposite order, after the loop.
func parts() []part { return []part{supervised, measuring, answering, notifying} }

// running is a part that was begun.
type running struct {
	by  any
	end func()
}

// begins starts every part, or those alone that one sweep has. After an error those that were begun are ended.
func (d *daemon) begins(ctx context.Context, once bool) (end func(), err error) {
	d.running = make([]running, len(parts()))
	end = func() {
		for i := len(d.running) - 1; i >= 0; i-- {
			d.endPart(i)
		}
	}
	for i, p := range parts() {
		if once && !p.once {
			continue
		}
		if err := d.beginPart(ctx, i); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}

func (d *daemon) beginPart(ctx context.Context, i int) error {
	p := parts()[i]
	d.running[i].by = p.by(d.Cfg)
	end, err := p.begin(ctx, d)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	d.running[i].end = end
	return nil
}

func (d *daemon) endPart(i int) {
	if end := d.running[i].end; end != nil {
		d.running[i].end = nil
		end()
	}
}

// beginsAgain starts those parts again that a reload configured otherwise, or that lost what they had. One that does not begin is left out, and a line says so; the next reload tries again.
func (d *daemon) beginsAgain(ctx context.Context) {
	for i, p := range parts() {
		if reflect.DeepEqual(p.by(d.Cfg), d.running[i].by) {
			continue
		}
		d.endPart(i)
		if err := d.beginPart(ctx, i); err != nil {
			d.running[i].by = nil
			d.tell("%v; sweeps go on without it", err)
		}
	}
}

// ended is a sweep of the daemon that came to its end, for those who tell of it.
type ended struct {
	Why       string
	Began, At time.Time
	// Report is nil where the sweep failed before it looked; where it failed later it says what was done before. Err is why it failed.
	Report *report.Report
	Err    error
	Status document.Status
}

// listen has f hear of every sweep that ended, in the loop: it must not wait. The function that listen gives ends that.
func (d *daemon) listen(f func(ended)) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listening++
	n := d.listening
	if d.listeners == nil {
		d.listeners = map[int]func(ended){}
	}
	d.listeners[n] = f
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, n)
	}
}

// tellAll has all who listen hear of a sweep.
func (d *daemon) tellAll(e ended) {
	e.Status = d.Status()
	d.mu.Lock()
	var all []func(ended)
	for _, f := range d.listeners {
		all = append(all, f)
	}
	d.mu.Unlock()
	for _, f := range all {
		f(e)
	}
}

// now gives the program as it is configured now, for others than the loop. Nobody writes to it.
func (d *daemon) now() *app {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.app
}
