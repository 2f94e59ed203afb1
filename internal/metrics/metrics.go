// Package metrics counts what the daemon does, for Prometheus. It holds numbers, the names of rules and kinds, and no names of things: no path, no session, no command.
package metrics

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
)

// The results of a sweep.
const (
	Whole  = "whole"
	Short  = "short"
	Failed = "failed"
)

// Sweep is a sweep that ended.
type Sweep struct {
	// Why is what called for it: schedule, event, confirm, request, retry, start.
	Why  string
	Took time.Duration
	At   time.Time
	// Report is nil where it failed before it looked.
	Report *report.Report
	Failed bool
}

// Metrics are the numbers since the program began, and those of the latest sweep. Safe for use by several goroutines.
type Metrics struct {
	registry *prometheus.Registry

	sweeps   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	good     prometheus.Gauge
	acts     *prometheus.CounterVec
	freed    *prometheus.CounterVec
	purged   *prometheus.CounterVec

	// What the latest sweep saw. Each is emptied before it is written again.
	candidates, rules, sources, alarms, held *prometheus.GaugeVec
	reading                                  *prometheus.GaugeVec
	trash, proposed                          prometheus.Gauge
	policy, bundleActive, bundleAsked        *prometheus.GaugeVec
	bundleBad                                *prometheus.GaugeVec
}

const namespace = "winnow"

// New makes the metrics of a program of this version; status is asked at every scrape, and must not wait.
func New(version string, status func() document.Status) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	single := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		sweeps:   counter("sweeps_total", "Sweeps that ended, by what called for them and by result (whole, short, failed). A short one found nothing new by stamps.", "why", "result"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "sweep_duration_seconds", Help: "How long sweeps took.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"result"}),
		good:         single("last_good_sweep_timestamp_seconds", "When the latest sweep that looked ended, in seconds since 1970; 0 before the first."),
		acts:         counter("acts_total", "Acts, by kind of candidate and outcome.", "kind", "outcome"),
		freed:        counter("act_bytes_total", "What acts took away, by kind of candidate: bytes on disk (most lie in the trash until they are purged) and resident memory.", "kind", "what"),
		purged:       counter("purged_bytes_total", "Bytes that came free on disk because the trash let something go for good, by why.", "why"),
		candidates:   gauge("candidates", "Candidates in scope at the latest sweep, by kind and by how they stand: reap, waiting (for a second look), ask, observe, unknown (something was not read), spare.", "kind", "stands"),
		rules:        gauge("rule_candidates", "Candidates at the latest sweep with a rule's reason to go (effect finding) or to stay (objection).", "rule", "effect"),
		sources:      gauge("sources", "Sources at the latest whole sweep, by kind and status.", "kind", "status"),
		reading:      gauge("source_reading_seconds", "How long the slowest source of a kind took to read at the latest whole sweep.", "kind"),
		alarms:       gauge("alarms", "Alarms of the latest sweep, by rule.", "rule"),
		held:         gauge("caps_held", "Candidates that were to go and that a cap held back at the latest sweep.", "kind", "cap"),
		trash:        single("trash_bytes", "What lies in the trash, in bytes on disk, at the latest sweep."),
		proposed:     single("proposed_bytes", "Bytes on disk of the folders that are to go, as far as measured at the latest sweep."),
		policy:       gauge("policy_info", "The policies that decided at the latest sweep: always 1.", "revision", "digest"),
		bundleActive: gauge("bundle_activated_timestamp_seconds", "When the bundle that decides began to, in seconds since 1970.", "bundle"),
		bundleAsked:  gauge("bundle_checked_timestamp_seconds", "When the place of a bundle last gave an answer, in seconds since 1970.", "bundle"),
		bundleBad:    gauge("bundle_problem", "1 where a bundle could not be got or is not used, else 0.", "bundle"),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "The program: always 1.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(m.sweeps, m.duration, m.good, m.acts, m.freed, m.purged, m.candidates, m.rules, m.sources, m.reading, m.alarms, m.held, m.trash, m.proposed,
		m.policy, m.bundleActive, m.bundleAsked, m.bundleBad, info, stands{status},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// What will be counted is there from the start: Prometheus sees no increase in a line that begins with 1.
	for _, result := range []string{Whole, Short, Failed} {
		for _, why := range []string{pace.Start, pace.Schedule, pace.Event, pace.Confirm, pace.Request, pace.Retry} {
			m.sweeps.WithLabelValues(why, result)
		}
		m.duration.WithLabelValues(result)
	}
	for _, k := range snapshot.Kinds {
		for _, outcome := range []string{decision.Done, decision.Gone, decision.Changed, decision.Refused, decision.Failed, decision.Capped} {
			m.acts.WithLabelValues(k.Name, outcome)
		}
		m.freed.WithLabelValues(k.Name, "disk")
		m.freed.WithLabelValues(k.Name, "memory")
	}
	for _, why := range []string{report.PurgedExpired, report.PurgedMax, report.PurgedPressure} {
		m.purged.WithLabelValues(why)
	}
	return m
}

// Swept counts a sweep that ended.
func (m *Metrics) Swept(s Sweep) {
	result := Whole
	switch {
	case s.Failed:
		result = Failed
	case s.Report != nil && s.Report.NothingNew:
		result = Short
	}
	m.sweeps.WithLabelValues(s.Why, result).Inc()
	m.duration.WithLabelValues(result).Observe(s.Took.Seconds())
	r := s.Report
	if r == nil {
		return
	}
	for _, acts := range [][]decision.Act{r.Acts, r.Settled} { // a sweep may fail after its acts
		for _, a := range acts {
			m.acts.WithLabelValues(a.Kind, a.Outcome.Outcome).Inc()
			m.freed.WithLabelValues(a.Kind, "disk").Add(float64(max(0, a.Freed.Bytes)))
			m.freed.WithLabelValues(a.Kind, "memory").Add(float64(max(0, a.Freed.RSS)))
		}
	}
	for _, p := range r.Purged {
		m.purged.WithLabelValues(p.Why).Add(float64(max(0, p.Bytes)))
	}
	if s.Failed {
		return
	}
	m.good.Set(float64(s.At.UnixMilli()) / 1000)
	if !r.NothingNew {
		m.stands(r)
	}
}

// stands takes the numbers of a whole sweep in place of those before. What stood by it stands until the next one.
func (m *Metrics) stands(r *report.Report) {
	for _, v := range []*prometheus.GaugeVec{m.candidates, m.rules, m.sources, m.reading, m.alarms, m.held, m.policy, m.bundleActive, m.bundleAsked, m.bundleBad} {
		v.Reset()
	}
	for kind := range r.Census {
		for _, how := range Stands {
			m.candidates.WithLabelValues(kind, how)
		}
	}
	for _, d := range r.Decisions {
		m.candidates.WithLabelValues(d.Kind, standing(d)).Inc()
		m.ruled("finding", d.Findings)
		m.ruled("objection", d.Objections)
	}
	slowest := map[string]float64{}
	for _, s := range r.Sources {
		m.sources.WithLabelValues(s.Kind, s.Status).Inc()
		slowest[s.Kind] = max(slowest[s.Kind], s.Took)
	}
	for kind, took := range slowest {
		m.sources.WithLabelValues(kind, snapshot.Failed) // so that a source that fails is no new line
		m.reading.WithLabelValues(kind).Set(took)
	}
	for _, a := range r.Alarms {
		m.alarms.WithLabelValues(a.Rule).Inc()
	}
	for _, c := range r.Caps {
		m.held.WithLabelValues(c.Kind, c.Cap).Add(float64(c.Held))
	}
	if r.Space != nil {
		m.trash.Set(float64(r.Space.Trash))
		m.proposed.Set(float64(r.Space.Proposed))
	}
	m.policy.WithLabelValues(r.Policy.Revision, r.Policy.Digest).Set(1)
	for _, b := range r.Policy.Bundles {
		m.bundleBad.WithLabelValues(b.Name).Set(truth(b.Problem != ""))
		if !b.ActivatedAt.IsZero() {
			m.bundleActive.WithLabelValues(b.Name).Set(float64(b.ActivatedAt.Unix()))
		}
		if !b.CheckedAt.IsZero() {
			m.bundleAsked.WithLabelValues(b.Name).Set(float64(b.CheckedAt.Unix()))
		}
	}
}

// ruled counts a candidate once for each rule that spoke.
func (m *Metrics) ruled(effect string, reasons []decision.Reason) {
	for i, x := range reasons {
		if !slices.ContainsFunc(reasons[:i], func(y decision.Reason) bool { return y.Rule == x.Rule }) {
			m.rules.WithLabelValues(x.Rule, effect).Inc()
		}
	}
}

// Stands are the ways in which a candidate stands; each candidate is counted under one.
var Stands = []string{decision.Reap, "waiting", decision.Ask, decision.Observe, "unknown", decision.Spare}

func standing(d decision.Decision) string {
	switch {
	case d.Verdict == decision.Reap:
		return decision.Reap
	case d.Waits():
		return "waiting"
	case d.Level != "":
		return d.Level
	case d.Unknown():
		return "unknown"
	}
	return decision.Spare
}

// Handler answers a scrape.
func (m *Metrics) Handler(log hclog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
}

// stands gives how the daemon stands, when it is asked.
type stands struct{ status func() document.Status }

var (
	mode     = described("mode", "1 for how the daemon stands, 0 for the other ways.", "mode")
	brake    = described("brake_tripped", "1 where a brake keeps the daemon from acting until winnow brakes release, else 0.", "brake")
	pressed  = described("pressed", "1 while the machine is short of something by run.pressure, else 0.")
	wakes    = described("wakes_total", "Events that called for a sweep, by what they came from.", "source")
	events   = described("event_sources", "Sources of events by kind, and by whether they are listened to (listening, deaf). What is deaf is found by the schedule.", "kind", "state")
	disagree = described("disagreed_total", "Sweeps that decided otherwise than what had stood by short sweeps.")
	reloads  = described("reloads_total", "What followed SIGHUP: ok, or failed where the old configuration and policies went on.", "result")
	next     = described("next_sweep_timestamp_seconds", "When the next sweep is due, in seconds since 1970.")
	policies = described("policy_loaded_timestamp_seconds", "When the policies that decide now were loaded, in seconds since 1970.")
)

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// Describe implements prometheus.Collector.
func (stands) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{mode, brake, pressed, wakes, events, disagree, reloads, next, policies} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (x stands) Collect(out chan<- prometheus.Metric) {
	s := x.status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, m := range []string{document.Observing, document.Acting, document.Paused, document.Braked} {
		gauge(mode, truth(m == s.Mode), m)
	}
	for _, rule := range brakes.Rules {
		gauge(brake, truth(slices.ContainsFunc(s.Brakes, func(b brakes.Brake) bool { return b.Rule == rule })), rule)
	}
	gauge(pressed, truth(s.Pressure != ""))
	for source, n := range s.Wakes {
		count(wakes, n, strings.ToValidUTF8(source, "?"))
	}
	all, listening := map[string]int{}, map[string]int{}
	for name, state := range s.Events {
		kind, _, _ := strings.Cut(name, "/")
		if all[kind]++; state.Listening {
			listening[kind]++
		}
	}
	for kind, n := range all { // both lines are there from the start
		gauge(events, float64(listening[kind]), kind, "listening")
		gauge(events, float64(n-listening[kind]), kind, "deaf")
	}
	count(disagree, s.Disagreed)
	count(reloads, s.Reloads-s.ReloadsFailed, "ok")
	count(reloads, s.ReloadsFailed, "failed")
	if !s.Next.IsZero() {
		gauge(next, float64(s.Next.Unix()))
	}
	gauge(policies, float64(s.Policies.Unix()))
}

// truth is 1 for what is so, else 0.
func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

// Where says where the metrics are served, and to whom.
type Where struct {
	// Listen is unix:PATH or HOST:PORT.
	Listen string
	// Token gives what a scrape must bring as Authorization: Bearer; nil where it need bring none. It is asked for each scrape, so that a token can be changed.
	// While it fails no scrape is answered.
	Token func(context.Context) (string, error)
	// CertFile and KeyFile are in PEM, read for each connection; both "" for no TLS.
	CertFile, KeyFile string
}

// Serve answers scrapes of /metrics until the function that it gives is called, which waits for no scrape longer than a second. address is where it listens.
func (m *Metrics) Serve(ctx context.Context, w Where, log hclog.Logger) (address string, stop func(), err error) {
	l, err := w.open(ctx, log)
	if err != nil {
		return "", nil, err
	}
	crowd := listen.NewCrowd(most)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.known(m.Handler(log), crowd, log))
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ConnState:   crowd.Watch,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	stop = listen.Serve(srv, l, time.Second, func(err error) { log.Warn("serve metrics; sweeps go on without them", "error", err) })
	return l.Addr().String(), stop, nil
}

func (w Where) open(ctx context.Context, log hclog.Logger) (net.Listener, error) {
	var l net.Listener
	var err error
	if path, ok := strings.CutPrefix(w.Listen, "unix:"); ok {
		l, err = listen.Unix(ctx, path)
	} else {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", w.Listen)
	}
	if err != nil {
		return nil, err
	}
	if w.CertFile == "" {
		return l, nil
	}
	if _, err := tls.LoadX509KeyPair(w.CertFile, w.KeyFile); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("read the certificate and its key: %w", err)
	}
	bad := once(log, "the certificate or its key cannot be read: no connection is made (run.metrics.cert_file, key_file)")
	read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(w.CertFile, w.KeyFile)
		bad(err)
		return &pair, err
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: read, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// known lets those through that bring the token.
func (w Where) known(next http.Handler, crowd *listen.Crowd, log hclog.Logger) http.Handler {
	if w.Token == nil {
		return next
	}
	bad := once(log, "the token cannot be read, and no scrape is answered until it can (run.metrics.token_file)")
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		token, err := w.Token(r.Context())
		if err == nil && token == "" {
			err = errors.New("it is empty")
		}
		if r.Context().Err() == nil {
			bad(err)
		}
		if err != nil {
			http.Error(out, "the token cannot be read here; the log of winnow says why (run.metrics.token_file)", http.StatusServiceUnavailable)
			return
		}
		// Of one length, so that the time of comparing tells nothing.
		want, got := sha256.Sum256([]byte("Bearer "+token)), sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			out.Header().Set("WWW-Authenticate", `Bearer realm="winnow"`)
			http.Error(out, "the token is missing or wrong (run.metrics.token_file)", http.StatusUnauthorized)
			return
		}
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			crowd.Serve(c)
		}
		next.ServeHTTP(out, r)
	})
}

type connKey struct{}

// once gives what writes an error into the log, with these words, where it is another one than before; nil is that all is well again.
func once(log hclog.Logger, words string) func(error) {
	var said atomic.Value
	said.Store("")
	return func(err error) {
		why := ""
		if err != nil {
			why = err.Error()
		}
		if said.Swap(why) != why && err != nil {
			log.Warn(words, "error", err)
		}
	}
}

// most is how many connections there are at the same time that have not brought the token; one more closes the oldest. Who opens many of them keeps no scrape waiting.
const most = 256
