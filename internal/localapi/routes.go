package localapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
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
