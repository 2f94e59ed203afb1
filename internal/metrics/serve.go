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
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/internal/sys/listen"
)

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
	bad := once(log, "the certificate or its key cannot be read, and no connection is made until they can (run.metrics.cert_file, key_file)")
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
