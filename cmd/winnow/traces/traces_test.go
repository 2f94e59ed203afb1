package traces_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/winnow-reaper/winnow/cmd/winnow/traces"
	"github.com/winnow-reaper/winnow/testkit/attack"
	"github.com/winnow-reaper/winnow/testkit/must"
	"github.com/winnow-reaper/winnow/testkit/wait"
)

// collector takes traces by OTLP over HTTP; answer says what it does with the n-th request, nil takes all.
type collector struct {
	mu       sync.Mutex
	requests int
	spans    []*otlp.Span
	resource string
	auth     string
	answer   func(n int, w http.ResponseWriter, r *http.Request)
	t        *testing.T
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	data := &otlp.TracesData{}
	if err == nil {
		err = proto.Unmarshal(body, data)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
	}
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.auth = r.Header.Get("Authorization")
	for _, rs := range data.GetResourceSpans() {
		c.resource = ""
		for _, kv := range rs.GetResource().GetAttributes() {
			c.resource += kv.GetKey() + "=" + kv.GetValue().GetStringValue() + " "
		}
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(n, w, r)
	}
}

func (c *collector) got() []*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*otlp.Span(nil), c.spans...)
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (*collector, string) {
	t.Helper()
	c := &collector{t: t, answer: answer}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// lines are what was logged.
type lines struct {
	mu  sync.Mutex
	all string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += fmt.Sprintf(format, args...) + "\n"
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

func options(endpoint string, l *lines) traces.Options {
	return traces.Options{Endpoint: endpoint, Timeout: wait.Patience, Last: wait.Patience, Queue: 1000, Tries: 3, Wait: time.Millisecond, Version: "v1", Host: "box", Log: l.add}
}

// sweep makes a trace of so many spans in all.
func sweep(t *traces.Tracer, spans int) {
	ctx, root := t.Sweep(context.Background(), attribute.String("winnow.why", "schedule"))
	looking, look := traces.Start(ctx, "winnow.look")
	for range spans - 2 {
		_, s := traces.Start(looking, "winnow.source", attribute.String("winnow.source.kind", "tmux"))
		traces.Finish(s, errors.New("a text with a /path"))
	}
	look.End()
	root.End()
}

// TestATrace is one tree, with what describes the program and nothing of the environment or of errors.
func TestATrace(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "secret.of.the.environment=x")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0")
	c, url := serve(t, nil)
	l := &lines{}
	o := options(url, l)
	o.Token = func(context.Context) (string, error) { return "t0ken", nil }
	tracer := traces.New(o)
	sweep(tracer, 4)
	wait.Eventually(t, "the trace came", func() bool { return len(c.got()) == 4 })
	tracer.End()
	by := map[string]*otlp.Span{}
	for _, s := range c.got() {
		by[s.GetName()] = s
		if string(s.GetTraceId()) != string(c.got()[0].GetTraceId()) {
			t.Errorf("%s is of another trace", s.GetName())
		}
		if text := s.String(); strings.Contains(text, "/path") || strings.Contains(text, "goroutine") {
			t.Errorf("the text of an error is in a span: %s", text)
		}
	}
	root, look, source := by["winnow.sweep"], by["winnow.look"], by["winnow.source"]
	if root == nil || look == nil || source == nil || len(root.GetParentSpanId()) != 0 || string(look.GetParentSpanId()) != string(root.GetSpanId()) ||
		string(source.GetParentSpanId()) != string(look.GetSpanId()) {
		t.Fatalf("the spans are no tree: %v", by)
	}
	if kv := source.GetAttributes(); len(kv) != 1 || kv[0].GetValue().GetStringValue() != "tmux" || source.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the span of a source: %v", source)
	}
	if c.resource != "service.name=winnow service.version=v1 host.name=box " || c.auth != "Bearer t0ken" || l.text() != "" || tracer.Lost() != 0 {
		t.Errorf("resource %q, authorization %q, %d lost, log %q", c.resource, c.auth, tracer.Lost(), l.text())
	}
}

// TestWithoutATracer nothing is made, and a span that nobody wants ends no other.
func TestWithoutATracer(t *testing.T) { // not in parallel: it counts what is allocated
	var none *traces.Tracer
	ctx, span := none.Sweep(t.Context())
	if span.IsRecording() || ctx != t.Context() {
		t.Error("a span is recorded")
	}
	within, span := traces.Start(ctx, "winnow.look")
	traces.Finish(span, errors.New("x"))
	if within != ctx || span.IsRecording() || none.Lost() != 0 {
		t.Error("a span is recorded")
	}
	none.End()
	if n := testing.AllocsPerRun(100, func() { _, s := traces.Start(ctx, "winnow.look"); s.End() }); n > 0 {
		t.Errorf("a span that nobody wants allocates %v times", n)
	}
}

// TestACollectorThatFailsForAWhile gets all in the end.
func TestACollectorThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	c, url := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	l := &lines{}
	tracer := traces.New(options(url, l))
	sweep(tracer, 3)
	wait.Eventually(t, "the third request", func() bool { return len(c.got()) == 9 })
	tracer.End()
	if tracer.Lost() != 0 || l.text() != "" {
		t.Errorf("%d lost, log %q", tracer.Lost(), l.text())
	}
}

// TestADeadCollector: what it does not take is counted and said once, the queue has an end, and the end of the program does not wait for it.
func TestADeadCollector(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	_, url := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-free:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(free) })
	l := &lines{}
	o := options(url, l)
	o.Queue, o.Timeout, o.Last = 100, time.Minute, 200*time.Millisecond
	tracer := traces.New(o)
	began := time.Now()
	for range 50 {
		sweep(tracer, 10)
	}
	if took := time.Since(began); took > wait.Patience/2 {
		t.Errorf("sweeps took %s", took)
	}
	if lost := tracer.Lost(); lost != 400 {
		t.Errorf("%d spans did not find a place, want 400", lost)
	}
	tracer.End()
	if took := time.Since(began); took > wait.Patience/2 || tracer.Lost() != 500 || strings.Count(l.text(), "spans that were lost") != 1 || !strings.Contains(l.text(), "400 spans found no place") {
		t.Errorf("it ended after %s with %d lost; the log says %q", took, tracer.Lost(), l.text())
	}
}

// TestACollectorThatRejects some of a request: these are counted, and not sent again.
func TestACollectorThatRejects(t *testing.T) {
	t.Parallel()
	c, url := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		part := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
		part = protowire.AppendString(protowire.AppendTag(part, 2, protowire.BytesType), "too many")
		_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), part))
	})
	l := &lines{}
	tracer := traces.New(options(url, l))
	sweep(tracer, 5)
	tracer.End()
	if tracer.Lost() != 2 || c.requests != 1 || !strings.Contains(l.text(), "rejected 2 spans") {
		t.Errorf("%d lost by %d requests; the log says %q", tracer.Lost(), c.requests, l.text())
	}
}

// TestOverAUnixSocket sends to a socket of this user's.
func TestOverAUnixSocket(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.MkdirTemp("", "winnow-otlp-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &collector{t: t}
	path := filepath.Join(dir, "s")
	listener := must.Get(net.Listen("unix", path))(t)
	s := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	tracer := traces.New(options("unix:"+path, &lines{}))
	sweep(tracer, 3)
	tracer.End()
	if len(c.got()) != 3 {
		t.Errorf("%d spans", len(c.got()))
	}
}

// TestAttackACollectorThatRedirects: neither spans nor the token go to another address.
func TestAttackACollectorThatRedirects(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a collector redirects to another host, to get the token and the spans there")
	thief, elsewhere := serve(t, nil)
	for _, code := range []int{302, 307, 308} {
		_, url := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)+"/v1/traces", code)
		})
		o := options(url, &lines{})
		o.Token = func(context.Context) (string, error) { return "t0ken", nil }
		tracer := traces.New(o)
		sweep(tracer, 3)
		tracer.End()
		if thief.requests > 0 || tracer.Lost() != 3 {
			a.Lost("%d: %d requests, %d lost", code, thief.requests, tracer.Lost())
			continue
		}
		a.Held()
	}
}

// TestATokenThatCannotBeRead sends nothing.
func TestATokenThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c, url := serve(t, nil)
	l := &lines{}
	o := options(url, l)
	o.Token = func(context.Context) (string, error) { return "", errors.New("it belongs to another user") }
	tracer := traces.New(o)
	sweep(tracer, 3)
	tracer.End()
	if c.requests != 0 || tracer.Lost() != 3 || !strings.Contains(l.text(), "token_file: it belongs to another user") {
		t.Errorf("%d requests; the log says %q", c.requests, l.text())
	}
}
