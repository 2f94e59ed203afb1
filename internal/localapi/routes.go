package localapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/top"
)

// Routes are those of openapi.yaml, which a test holds against them.
func (s *Server) Routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range s.Handlers() {
		mux.Handle(pattern, h)
	}
	mux.HandleFunc("/", func(out http.ResponseWriter, r *http.Request) {
		refuse(out, http.StatusNotFound, exit.Usage, fmt.Sprintf("there is no %s %s; /v1/openapi.yaml has all there is", r.Method, r.URL.Path), nil)
	})
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(out)
		_ = c.SetWriteDeadline(time.Time{}) // that of the answer before on this connection
		read := func() { s.crowd.Serve(peer(r)) }
		if r.Body == http.NoBody {
			read()
		} else {
			_ = c.SetReadDeadline(time.Now().Add(BodyWithin))
			r.Body = &boundedBody{r.Body, func() { _ = c.SetReadDeadline(time.Time{}); read() }}
		}
		mux.ServeHTTP(out, r)
	})
}

// BodyWithin is how long a request's body may take, also where the route does not read it: then the server does, after the answer.
const BodyWithin = 10 * time.Second

// boundedBody is a body that says when it has been read to its end.
type boundedBody struct {
	io.ReadCloser
	whole func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.whole()
	}
	return n, err
}

// Handlers are those of the routes, by their patterns.
func (s *Server) Handlers() map[string]http.Handler {
	d := s.d
	all := map[string]http.Handler{
		"GET /v1/openapi.yaml": http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "application/yaml")
			_, _ = out.Write(client.OpenAPI)
		}),
		"GET /v1/alive": http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if theirs := r.Header.Get(HeaderConfig); theirs != "" && theirs != d.Now().Fingerprint {
				refuse(out, http.StatusPreconditionFailed, exit.Failed, ErrConfigDiffers.Error(), nil)
				return
			}
			out.WriteHeader(http.StatusNoContent)
		}),
		"GET /v1/report": http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			r := d.Last()
			if r == nil {
				refuse(out, http.StatusNotFound, exit.Failed, "there was no sweep yet that looked; POST /v1/sweep with wait waits for one", nil)
				return
			}
			write(out, http.StatusOK, r)
		}),
		"POST /v1/leases": http.HandlerFunc(s.Leases.serve),
		"GET /v1/events":  http.HandlerFunc(s.events),
	}
	for pattern, op := range s.documents() {
		all[pattern] = s.Answer(op)
	}
	return all
}

// documents are the routes that answer with the document of an operation.
func (s *Server) documents() map[string]Operation {
	d := s.d
	return map[string]Operation{
		"GET /v1/state": {false, func(context.Context, *ops.Ops, client.Params) (any, error) { return d.State(), nil }},
		"GET /v1/look":  {false, s.latestLook},
		"POST /v1/look": {false, s.lookNow},
		"GET /v1/history": {false, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			since, err := span("since", cmp.Or(w.Since, "24h"))
			if err != nil {
				return nil, err
			}
			return o.History(ctx, time.Now().Add(-since))
		}},
		"GET /v1/stats": {false, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			since, err := span("since", cmp.Or(w.Since, "90d"))
			if err != nil {
				return nil, err
			}
			return o.Stats(ctx, time.Now().Add(-since))
		}},
		"GET /v1/top": {false, func(_ context.Context, o *ops.Ops, _ client.Params) (any, error) {
			return s.latest.top(o), nil
		}},
		"GET /v1/trash": {true, func(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) {
			all, err := o.Trash(ctx)
			return append([]document.SetAside{}, all...), err
		}},
		"GET /v1/policies": {true, func(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) { return o.Policies(ctx) }},
		"GET /v1/explain": {true, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			if w.Candidate == "" {
				return nil, config.Usagef("candidate is missing: the id of what is to be explained")
			}
			if w.Latest {
				return o.ExplainLatest(ctx, s.latest.snapshot(), w.Candidate)
			}
			return o.Explain(ctx, w.Candidate, "")
		}},
		"GET /v1/why-alive": {true, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			return o.WhyAlive(ctx, w.What, w.As)
		}},
		"GET /v1/holds": {false, func(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) {
			holds, err := o.ReadHolds(ctx)
			return append([]snapshot.Hold{}, holds...), err
		}},
		"POST /v1/holds": {true, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			long, err := span("for", w.For)
			if err != nil {
				return nil, err
			}
			if strings.TrimSpace(w.Candidate) == "" || strings.TrimSpace(w.Reason) == "" {
				return nil, config.Usagef("candidate and reason are both wanted: what is to be held, and why")
			}
			return o.Retain(ctx, w.Candidate, w.Whole, w.Reason, long)
		}},
		"DELETE /v1/holds": {true, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			if w.Candidate == "" {
				return nil, config.Usagef("candidate is missing: what is held")
			}
			if w.Whole {
				return o.ReleaseHold(ctx, w.Candidate)
			}
			return o.Release(ctx, w.Candidate)
		}},
		"GET /v1/brakes": {false, func(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) {
			held, err := o.Brakes(ctx)
			return append([]brakes.Brake{}, held...), err
		}},
		"DELETE /v1/brakes": {false, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			released, err := o.ReleaseBrakes(ctx, w.Brakes)
			if exit.Code(err) != exit.Usage {
				d.Ask()
			}
			return append([]brakes.Brake{}, released...), err
		}},
		"POST /v1/pause": {false, func(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
			long, err := span("for", w.For)
			if err != nil {
				return nil, err
			}
			defer d.Ask()
			return o.Pause(ctx, long, w.Reason)
		}},
		"DELETE /v1/pause": {false, func(_ context.Context, o *ops.Ops, _ client.Params) (any, error) {
			defer d.Ask()
			return o.EndPause()
		}},
		"POST /v1/sweep": {false, s.sweep},
	}
}

// sweep has the daemon sweep now; with wait the answer is how it stands after that.
func (s *Server) sweep(ctx context.Context, o *ops.Ops, w client.Params) (any, error) {
	if !w.Wait {
		s.d.Ask()
		return s.d.State(), nil
	}
	over := make(chan struct{}, 1)
	asked := time.Now()
	defer s.d.Listen(func(e daemon.Ended) {
		if e.Began.Before(asked) {
			return // it was under way already
		}
		select {
		case over <- struct{}{}:
		default:
		}
	})()
	s.d.Ask()
	select {
	case <-over:
		return s.d.State(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the end of the sweep was not waited for: %w; it goes on", context.Cause(ctx))
	}
}

// events tells of each sweep that ends, as server-sent events.
func (s *Server) events(out http.ResponseWriter, r *http.Request) {
	told := make(chan client.Event, 16)
	defer s.d.Listen(func(e daemon.Ended) {
		ev := client.Event{At: e.At.UTC(), Mode: e.Status.Mode, Problem: e.Status.Problem}
		if e.Err == nil {
			ev.Last = InShort(e.Status.Last)
		}
		select {
		case told <- ev:
		default: // who is slow misses some
		}
	})()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-store")
	line := flusher(out)
	if line(": winnow\n\n") != nil {
		return
	}
	quiet := time.NewTicker(15 * time.Second)
	defer quiet.Stop()
	for {
		text := ": still here\n\n"
		select {
		case <-r.Context().Done():
			return
		case <-s.Leases.over:
			return
		case <-quiet.C:
		case e := <-told:
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			text = "event: sweep\ndata: " + string(data) + "\n\n"
		}
		if line(text) != nil {
			return
		}
	}
}

// InShort is a sweep as the client has it.
func InShort(s *document.SweptOnce) *client.Swept {
	if s == nil {
		return nil
	}
	out := &client.Swept{Sweep: s.Sweep, At: s.At, Why: s.Why, Took: s.Took, Short: s.Short, Census: map[string]client.Count{}}
	for kind, c := range s.Census {
		out.Census[kind] = client.Count{Seen: c.Seen, InScope: c.InScope, Reap: c.Reap, Spare: c.Spare, Unknown: c.Unknown}
	}
	return out
}

// flusher writes a line at once. Who does not take it within ten seconds is let go.
func flusher(out http.ResponseWriter) func(string) error {
	c := http.NewResponseController(out)
	return func(line string) error {
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := out.Write([]byte(line)); err != nil {
			return err
		}
		return c.Flush()
	}
}

const (
	// leastRest is the least time from the end of one look to the next; a look that takes long is followed by a rest of share times that.
	leastRest, share = 3 * time.Second, 4
	// mostRest is the most that a look which remembers what it sees is followed by.
	mostRest = 10 * time.Second
	// forgetAfter is how long what a look saw is kept after it was last asked for.
	forgetAfter = 2 * time.Minute
)

// latest is the latest look that was asked for. Looks are begun while somebody asks, and not otherwise.
type latest struct {
	// ctx ends with the server, and running are the looks that are under way by then.
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	// turn is held by the one look that is under way: a second one would find in use what the first one reads.
	turn chan struct{}

	mu sync.Mutex
	seen
	// n counts looks, and looking is true while one is under way.
	n       int
	looking bool
	// forget drops what was seen some time after it was last asked for.
	forget *time.Timer
}

// seen is what a look saw, or why it failed.
type seen struct {
	report   *report.Report
	snapshot *snapshot.Snapshot
	problem  string
	began    time.Time
	took     time.Duration
	// stamp is how the ledger stood, and rules the configuration.
	stamp, rules string
}

func newLatest() *latest {
	l := &latest{turn: make(chan struct{}, 1)}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.forget = time.AfterFunc(forgetAfter, l.drop)
	return l
}

// Close ends the look that is under way.
func (s *Server) Close() {
	s.latest.mu.Lock()
	s.latest.end() // from here on none begins
	s.latest.forget.Stop()
	s.latest.mu.Unlock()
	s.latest.running.Wait()
}

// latestLook gives the latest look at once. It has another one begin where the ledger or the configuration has changed since, or it is older than console.every.
func (s *Server) latestLook(_ context.Context, o *ops.Ops, w client.Params) (any, error) {
	l, stamp := s.latest, o.Stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due(stamp, o.Fingerprint, o.Cfg.Console.Every) {
		l.looking = true
		l.running.Go(s.lookAside)
	}
	l.forget.Reset(forgetAfter)
	out := document.Look{Stamp: fmt.Sprintf("%s%x.%d", stamp, s.d.Status().Started.UnixNano(), l.n), Problem: l.problem}
	if out.Stamp != w.Stamp {
		out.Report = l.report
	}
	return out, nil
}

// due reports whether to look now.
func (l *latest) due(stamp, rules string, every time.Duration) bool {
	rest := time.Since(l.began.Add(l.took))
	return !l.looking && l.ctx.Err() == nil && rest > max(leastRest, share*l.took) &&
		(l.report == nil || stamp != l.stamp || rules != l.rules || rest > every)
}

// drop forgets what was seen.
func (l *latest) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil {
		l.report, l.seen.snapshot = nil, nil
		debug.FreeOSMemory() // looks of a large machine leave much
	}
}

// snapshot is what the latest look saw, nil where that is not kept. It is not written to.
func (l *latest) snapshot() *snapshot.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.snapshot
}

// top is what ran at the latest look, by agent; without owners where that look is not kept.
func (l *latest) top(o *ops.Ops) report.Running {
	l.mu.Lock()
	was := l.seen
	l.mu.Unlock()
	if was.report == nil || was.snapshot == nil {
		return report.Running{Schema: report.RunningSchema, Owners: []report.Owner{}}
	}
	verdicts := map[string]decision.Decision{}
	for _, d := range was.report.Decisions {
		verdicts[d.ID] = d
	}
	pss := func(pid int) (int64, error) { return proc.PSS(o.Cfg.Collect.Processes.Root, pid) }
	in := top.Inputs{Snapshot: was.snapshot, Config: &o.Cfg.Rules.Config, Verdicts: verdicts, UID: os.Getuid(), PSS: pss, Places: was.snapshot}
	return top.NewLook(in)
}

// take waits for the turn of a look.
func (l *latest) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w; nothing was done", context.Cause(ctx))
	}
}

// give ends the turn of a look that nobody waited for.
func (l *latest) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looking = false
	<-l.turn
}

// lookAside looks and decides, and remembers nothing of it.
func (s *Server) lookAside() {
	if s.latest.take(s.latest.ctx) != nil {
		return
	}
	defer s.latest.give()
	o := s.operations()
	now := seen{began: time.Now(), stamp: o.Stamp(), rules: o.Fingerprint}
	err := s.look(s.latest.ctx, true, func() (err error) {
		now.report, now.snapshot, err = o.OnlyLook(s.latest.ctx)
		return err
	})
	if err != nil {
		now.problem = err.Error()
		o.Log.Warn("look for who asks for the latest look", "error", err)
	}
	s.latest.keep(now)
}

// keep takes note of a look that ended. After one that failed what was seen before is kept.
func (l *latest) keep(now seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	if now.took = time.Since(now.began); now.problem != "" {
		now.report, now.snapshot = l.report, l.seen.snapshot
	}
	l.seen = now
	l.forget.Reset(forgetAfter)
}

// lookNow looks and decides, and remembers what it saw, as winnow sweep does. It rests from one such look to the next, so that others get the lock of sweeps too.
func (s *Server) lookNow(ctx context.Context, o *ops.Ops, _ client.Params) (any, error) {
	l := s.latest
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	now := seen{began: time.Now(), rules: o.Fingerprint}
	defer func() { time.AfterFunc(min(share*time.Since(now.began), mostRest), func() { <-l.turn }) }()
	err := s.look(ctx, true, func() (err error) {
		now.report, now.snapshot, err = o.DryRun(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	now.began, now.stamp = now.report.TakenAt, o.Stamp() // the lock was waited for until then
	l.keep(now)
	return *now.report, nil
}
