package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/cmd/winnow/config"
	"github.com/winnow-reaper/winnow/cmd/winnow/notify"
	"github.com/winnow-reaper/winnow/cmd/winnow/report"
	"github.com/winnow-reaper/winnow/cmd/winnow/traces"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/ledger"
)

// tracing gives each sweep a trace.
var tracing = part{
	name:  "traces",
	once:  true,
	by:    func(c *config.Config) any { return c.Run.Traces },
	begin: func(_ context.Context, d *daemon) (func(), error) { return d.traces(), nil },
}

// What nobody configures of traces: how many spans wait, how often a request is tried, for how long before the second time, and what is left at the end.
const (
	traceQueue = 8192
	traceTries = 4
	traceWait  = time.Second
	traceLast  = 2 * time.Second
)

// traces starts the tracer; nil where traces go nowhere.
func (d *daemon) traces() (end func()) {
	c := d.cfg.Run.Traces
	if c.Endpoint == "" {
		return nil
	}
	log := d.log.Named("traces")
	o := traces.Options{
		Endpoint: c.Endpoint, Timeout: c.Timeout, Last: traceLast, Queue: traceQueue, Tries: traceTries, Wait: traceWait, Version: build().Version,
		Log: func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) },
	}
	o.Host, _ = os.Hostname() // a trace without it says all the rest
	if c.TokenFile != "" {
		o.Token = func(ctx context.Context) (string, error) { return notify.Secret(ctx, c.TokenFile) }
	}
	d.tracer = traces.New(o)
	return func() {
		d.tracer.End()
		d.tracer = nil
	}
}

// traced is sweep with a trace, where there is a tracer.
func (d *daemon) traced(ctx context.Context, why string) (*report.Report, error) {
	if d.tracer == nil {
		return d.sweep(ctx, why)
	}
	ctx, span := d.tracer.Sweep(ctx, attribute.String("winnow.why", why))
	r, err := d.sweep(ctx, why)
	span.SetAttributes(sweepAttributes(r)...)
	if errors.As(err, new(*ledger.Held)) { // another sweep runs, and nothing failed
		span.SetAttributes(attribute.Bool("winnow.locked", true))
		span.End()
	} else {
		traces.Finish(span, err)
	}
	return r, err
}

// sweepAttributes are what a report says in numbers.
func sweepAttributes(r *report.Report) []attribute.KeyValue {
	if r == nil {
		return nil
	}
	var sum report.Count
	for _, c := range r.Census {
		sum.Seen, sum.InScope, sum.Reap, sum.Spare, sum.Unknown = sum.Seen+c.Seen, sum.InScope+c.InScope, sum.Reap+c.Reap, sum.Spare+c.Spare, sum.Unknown+c.Unknown
	}
	return []attribute.KeyValue{
		attribute.String("winnow.mode", r.Mode), attribute.String("winnow.policy.revision", r.Policy.Revision),
		attribute.Bool("winnow.short", r.NothingNew), attribute.Bool("winnow.paused", r.Paused),
		attribute.Int("winnow.candidates.seen", sum.Seen), attribute.Int("winnow.candidates.in_scope", sum.InScope), attribute.Int("winnow.candidates.reap", sum.Reap),
		attribute.Int("winnow.candidates.spare", sum.Spare), attribute.Int("winnow.candidates.unknown", sum.Unknown),
		attribute.Int("winnow.acts", len(r.Acts)), attribute.Int("winnow.purged", len(r.Purged)), attribute.Int("winnow.alarms", len(r.Alarms)),
	}
}

// tracedSource begins the span of one source's reading, for collectors.Run.
func tracedSource(ctx context.Context, s collectors.Source) (context.Context, func(error)) {
	ctx, span := traces.Start(ctx, "winnow.source", attribute.String("winnow.source.kind", s.Kind))
	return ctx, func(err error) {
		status := snapshot.OK
		switch {
		case errors.Is(err, collectors.ErrAbsent):
			status, err = snapshot.Absent, nil
		case err != nil:
			status = snapshot.Failed
		}
		span.SetAttributes(attribute.String("winnow.source.status", status))
		traces.Finish(span, err)
	}
}

// actSpans are the spans of the acts that are under way, by their ids. An act begins when its intent is written down; one that does not come so far has a span without a length.
type actSpans struct {
	actuators.Journal
	open map[string]trace.Span
}

// traceActs has a span made of each act that a carrier carries out below the span of ctx.
func traceActs(ctx context.Context, c *actuators.Carrier) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	s := actSpans{c.Journal, map[string]trace.Span{}}
	c.Journal = s
	c.Progress = func(act decision.Act) {
		span := s.open[act.ID]
		if span == nil {
			_, span = traces.Start(ctx, "winnow.act", attribute.String("winnow.kind", act.Kind))
		}
		delete(s.open, act.ID)
		span.SetAttributes(attribute.String("winnow.outcome", act.Outcome.Outcome))
		var failed error
		if act.Outcome.Outcome == decision.Failed {
			failed = errActFailed
		}
		traces.Finish(span, failed)
	}
}

var errActFailed = errors.New("an act failed")

// Intend implements actuators.Journal.
func (s actSpans) Intend(ctx context.Context, in decision.Intent) error {
	_, s.open[in.ID] = traces.Start(ctx, "winnow.act", attribute.String("winnow.kind", in.Kind))
	return s.Journal.Intend(ctx, in)
}
