// Package traces gives each sweep of the daemon a trace (OpenTelemetry), where a collector is configured, and sends it there by OTLP over HTTP.
//
// Spans say how long a part of a sweep took and how it went: kinds, rules, counts, outcomes. They have no name of anything, no path and no text of an error. Where nothing is
// configured Start costs a look at the context. A collector that is slow or down delays no sweep: spans wait for it in a queue with an end, and what finds no place there, or is
// not taken, is counted as lost.
package traces

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/winnow-reaper/winnow/internal/httppost"
)

// scope names what makes the spans.
const scope = "github.com/winnow-reaper/winnow"

// Options say where traces go.
type Options struct {
	// Endpoint is an https or http URL, or unix:PATH; to one without a path /v1/traces is added. Token gives the bearer token for each request, "" for none.
	Endpoint string
	Token    func(context.Context) (string, error)
	// Timeout bounds one request, Last all that is left to send at the end.
	Timeout, Last time.Duration
	// Queue is how many spans wait for the collector at most, Tries how often a request is tried, Wait how long before the second time, and twice as long before each further one.
	Queue, Tries int
	Wait         time.Duration
	// Version and Host describe the program: service.version and host.name.
	Version, Host string
	// Log gets a line for what was lost. It may be called from another goroutine.
	Log func(format string, args ...any)
}

// Tracer makes traces. New starts it, End ends it; a nil one makes none.
type Tracer struct {
	o        Options
	provider *sdk.TracerProvider
	exporter *otlptrace.Exporter

	// ctx ends when no time is left, hurry is closed when the end has begun.
	ctx    context.Context
	cancel context.CancelFunc
	hurry  chan struct{}
	kick   chan struct{}
	done   chan struct{}

	mu    sync.Mutex
	queue []sdk.ReadOnlySpan
	// lost counts all spans that no collector got, full those of them that found no place and were not said yet.
	lost, full int
	said       string
}

// limits bound one span; they are given here so that OTEL_* variables change nothing.
var limits = sdk.SpanLimits{
	AttributeValueLengthLimit: 256, AttributeValueDepthLimit: 4, AttributeCountLimit: 64, EventCountLimit: 0, LinkCountLimit: 0,
	AttributePerEventCountLimit: 0, AttributePerLinkCountLimit: 0,
}

// New starts a tracer.
func New(o Options) *Tracer {
	t := &Tracer{o: o, hurry: make(chan struct{}), kick: make(chan struct{}, 1), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.exporter = otlptrace.NewUnstarted(t.client())
	t.provider = sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()), sdk.WithRawSpanLimits(limits), sdk.WithSpanProcessor(queue{t}))
	go t.send()
	return t
}

// Sweep begins the trace of a sweep.
func (t *Tracer) Sweep(ctx context.Context, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if t == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	return t.provider.Tracer(scope).Start(ctx, "winnow.sweep", trace.WithNewRoot(), trace.WithAttributes(attrs...))
}

// Lost counts the spans that no collector got.
func (t *Tracer) Lost() int {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// End sends what waits, as far as Options.Last allows, and ends.
func (t *Tracer) End() {
	if t == nil {
		return
	}
	close(t.hurry)
	timer := time.AfterFunc(t.o.Last, t.cancel)
	<-t.done
	timer.Stop()
	t.cancel()
}

// Start begins a span below the one in ctx. Without one there it gives a span that does nothing.
func Start(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	if !above.SpanContext().IsValid() {
		return ctx, nothing
	}
	return above.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attrs...))
}

// nothing is a span that does nothing; ending it ends nobody else's.
var nothing = trace.SpanFromContext(context.Background())

// Finish ends a span; an error marks it as failed, and its text stays out of the trace.
func Finish(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// queue implements sdk.SpanProcessor.
type queue struct{ t *Tracer }

func (queue) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (queue) Shutdown(context.Context) error             { return nil }
func (queue) ForceFlush(context.Context) error           { return nil }

// OnEnd puts a span into the queue. A trace is sent when its first span has ended, which is the last to end.
func (q queue) OnEnd(s sdk.ReadOnlySpan) {
	t := q.t
	t.mu.Lock()
	if len(t.queue) < t.o.Queue {
		t.queue = append(t.queue, s)
	} else {
		t.lost, t.full = t.lost+1, t.full+1
	}
	t.mu.Unlock()
	if !s.Parent().IsValid() {
		select {
		case t.kick <- struct{}{}:
		default:
		}
	}
}

// perRequest is how many spans a request has at most.
const perRequest = 512

// send sends until the end.
func (t *Tracer) send() {
	defer close(t.done)
	for ended := false; !ended; {
		select {
		case <-t.kick:
		case <-t.hurry:
			ended = true
		}
		for {
			t.mu.Lock()
			n := min(len(t.queue), perRequest)
			batch := t.queue[:n:n]
			t.mu.Unlock()
			if n == 0 {
				break
			}
			err := t.try(batch)
			t.mu.Lock()
			// What waits keeps its place until it was sent, so that the queue bounds all of it.
			if t.queue = t.queue[n:]; len(t.queue) == 0 {
				t.queue = nil
			}
			t.mu.Unlock()
			t.lose(err, n)
		}
	}
}

// lose counts spans that were not taken, and says so where the reason is a new one.
func (t *Tracer) lose(err error, n int) {
	t.mu.Lock()
	says := ""
	if err != nil {
		if part := rejected(0); errors.As(err, &part) {
			n = min(n, int(part))
		}
		t.lost += n
		says = err.Error()
	}
	is := says != "" && says != t.said
	t.said = says
	lost, full := t.lost, t.full
	t.full = 0
	t.mu.Unlock()
	if full > 0 {
		t.o.Log("%d spans found no place, because the collector is slower than the sweeps, or does not answer", full)
	}
	if is {
		t.o.Log("%v; spans that were lost: %d", err, lost)
	}
}

// try sends a batch, again after a failure that may pass.
func (t *Tracer) try(batch []sdk.ReadOnlySpan) error {
	wait := t.o.Wait
	for left := t.o.Tries; ; {
		last := false
		select {
		case <-t.hurry:
			last = true
		default:
		}
		err := t.exporter.ExportSpans(t.ctx, batch)
		after, passes := httppost.Passes(err)
		if errors.As(err, new(rejected)) {
			return err
		}
		if left--; err == nil || left <= 0 || !passes || last || t.ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(max(wait, after))
		select {
		case <-timer.C:
		case <-t.hurry:
		}
		timer.Stop()
		wait *= 2
	}
}

// target is where a request goes.
func (t *Tracer) target(ctx context.Context) (httppost.Target, error) {
	to := httppost.Target{Address: t.o.Endpoint, Path: "/v1/traces", Within: t.o.Timeout}
	if u, err := url.Parse(to.Address); err == nil && !strings.HasPrefix(to.Address, httppost.Unix) && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
		to.Address = u.String()
	}
	if t.o.Token == nil {
		return to, nil
	}
	token, err := t.o.Token(ctx)
	if err != nil {
		return to, fmt.Errorf("%w: token_file: %w", httppost.ErrNever, err)
	}
	if token != "" {
		to.Header, to.Secret = "Authorization", "Bearer "+token
	}
	return to, nil
}
