package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/recorded"
)

// logServer takes decisions as OPA's services do, and answers with a code that a script sets.
type logServer struct {
	mu   sync.Mutex
	code int
	file string
}

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z, err := gzip.NewReader(r.Body)
	var events []json.RawMessage
	if err == nil {
		err = json.NewDecoder(z).Decode(&events)
	}
	if err != nil || r.URL.Path != "/logs" || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if s.code == http.StatusOK {
		f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer f.Close()
		for _, e := range events {
			fmt.Fprintf(f, "%s %s\n", r.Header.Get("Authorization"), e)
		}
	}
	w.WriteHeader(s.code)
}

type logKey struct{}

// logServerCmd starts a server at $LOGS in the first call, and has it answer with a code: logserver CODE. What it takes is in $WORK/sent.
func logServerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: logserver CODE")
	}
	held := ts.Value(logKey{}).(*logServer)
	if held.file == "" {
		held.file = ts.Getenv("WORK") + "/sent"
		server := httptest.NewServer(held)
		ts.Defer(server.Close)
		ts.Setenv("LOGS", server.URL)
		ts.Setenv("WINNOW_DECISION_LOG_SERVICE_URL", server.URL)
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	_, err := fmt.Sscan(args[0], &held.code)
	ts.Check(err)
}

// recordingsCmd writes each recording of a state folder's ledger, the latest first, as PREFIX0.json and so on: recordings N STATE PREFIX.
func recordingsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: recordings N STATE PREFIX")
	}
	l, err := ledger.OpenReadOnly(ts.MkAbs(args[1]) + "/ledger.db")
	ts.Check(err)
	defer l.Close()
	all, err := l.Recordings(context.Background())
	ts.Check(err)
	if fmt.Sprint(len(all)) != args[0] {
		ts.Fatalf("%d recordings: %+v", len(all), all)
	}
	for i, r := range all {
		_, data, err := l.Recording(context.Background(), r.Sweep)
		ts.Check(err)
		doc, err := recorded.Decode(data)
		ts.Check(err)
		snap, err := json.Marshal(doc.Snapshot)
		ts.Check(err)
		name := ts.MkAbs(strings.ReplaceAll(args[2], "$WORK", ts.Getenv("WORK")))
		ts.Check(os.WriteFile(fmt.Sprintf("%s%d.json", name, i), data, 0o600))
		ts.Check(os.WriteFile(fmt.Sprintf("%s%d.snapshot.json", name, i), snap, 0o600))
	}
}
