package metrics

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var update = flag.Bool("update", false, "write testdata again")

// full is a report in which there is something of everything that is counted.
func full() *report.Report {
	reap := decision.Reason{Rule: "reap.dirs.landed"}
	return &report.Report{
		Policy: report.PolicyRef{Revision: "2026.11.4", Digest: "sha256:12", Bundles: []report.BundleRef{{Name: "team", Problem: "no answer", ActivatedAt: time.Unix(100, 0), CheckedAt: time.Unix(200, 0)}}},
		Sources: map[string]snapshot.Source{
			"tmux/default": {Kind: "tmux", Status: snapshot.OK, Took: 0.25}, "tmux/other": {Kind: "tmux", Status: snapshot.Failed, Took: 1},
		},
		Census: map[string]report.Count{snapshot.KindDir: {}},
		Decisions: []decision.Decision{
			{ID: "dir:/a", Kind: snapshot.KindDir, Verdict: decision.Reap, Findings: []decision.Reason{reap, reap}},
			{ID: "dir:/b", Kind: snapshot.KindDir, Verdict: decision.Spare, Findings: []decision.Reason{reap}, Objections: []decision.Reason{{Rule: decision.RuleDebounce}}},
			{ID: "dir:/c", Kind: snapshot.KindDir, Verdict: decision.Spare, Level: decision.Ask, Findings: []decision.Reason{{Rule: "reap.dirs.landed", Level: decision.Ask}}},
			{ID: "dir:/d", Kind: snapshot.KindDir, Verdict: decision.Spare, Objections: []decision.Reason{{Rule: decision.RuleUnknown}}},
			{ID: "dir:/e", Kind: snapshot.KindDir, Verdict: decision.Spare, Objections: []decision.Reason{{Rule: decision.RuleLive}}},
		},
		Acts:   []decision.Act{{Kind: snapshot.KindDir, Outcome: decision.Outcome{Outcome: decision.Done, Freed: decision.Freed{Bytes: 4096, RSS: 10}}}},
		Purged: []report.Purged{{Bytes: 512, Why: report.PurgedExpired}},
		Caps:   []decision.Cap{{Kind: snapshot.KindDir, Cap: decision.CapPerSweep, Held: 3}},
		Alarms: []report.Alarm{{Rule: "a"}, {Rule: "a"}, {Rule: "b"}},
		Space:  &report.Space{Trash: 1 << 20, Proposed: 1 << 10},
	}
}

func status() document.Status {
	return document.Status{Mode: "acting", Brakes: []brakes.Brake{{Rule: "came_back"}}, Pressure: "memory", Wakes: map[string]int{"inotify": 3},
		Reloads: 3, ReloadsFailed: 1, Next: time.Unix(300, 0), Policies: time.Unix(50, 0), Disagreed: 1,
		Events: map[string]wake.State{"files": {Listening: true}, "herdr/a": {}, "herdr/b": {}}}
}

func swept() *Metrics {
	m := New("v1", status)
	m.Swept(Sweep{Why: "schedule", Took: 30 * time.Millisecond, At: time.Unix(1000, 0), Report: full()})
	return m
}

// TestNamesAreThoseThatOthersRelyOn holds every name, type and label to a file: dashboards and alerts of people use them.
func TestNamesAreThoseThatOthersRelyOn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, f := range must.Get(swept().registry.Gather())(t) {
		if !strings.HasPrefix(f.GetName(), "winnow_") {
			continue // those of every Go program are the library's
		}
		var labels []string
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if !slices.Contains(labels, l.GetName()) {
					labels = append(labels, l.GetName())
				}
			}
		}
		fmt.Fprintf(&out, "%s{%s} %s: %s\n", f.GetName(), strings.Join(labels, ","), strings.ToLower(f.GetType().String()), f.GetHelp())
	}
	const path = "testdata/names.txt"
	if *update {
		must.Do(t, os.WriteFile(path, out.Bytes(), 0o644))
	}
	if diff := cmp.Diff(string(must.Get(os.ReadFile(path))(t)), out.String()); diff != "" {
		t.Errorf("the names are not those of %s (-want +got; -update writes it):\n%s", path, diff)
	}
	problems := must.Get(testutil.GatherAndLint(swept().registry))(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// value is the value of one line, and whether there is one.
func (m *Metrics) value(t *testing.T, name string, labels ...string) (float64, bool) {
	t.Helper()
	for _, f := range must.Get(m.registry.Gather())(t) {
		if f.GetName() != name {
			continue
		}
		for _, x := range f.Metric {
			if has(x, labels) {
				switch {
				case x.Gauge != nil:
					return x.Gauge.GetValue(), true
				case x.Counter != nil:
					return x.Counter.GetValue(), true
				case x.Histogram != nil:
					return float64(x.Histogram.GetSampleCount()), true
				}
			}
		}
	}
	return 0, false
}

func has(x *dto.Metric, labels []string) bool {
	var got []string
	for _, l := range x.Label {
		got = append(got, l.GetName()+"="+l.GetValue())
	}
	for _, l := range labels {
		if !slices.Contains(got, l) {
			return false
		}
	}
	return true
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	m := swept()
	short := full()
	short.NothingNew, short.Acts, short.Purged, short.Decisions = true, nil, nil, nil
	m.Swept(Sweep{Why: "schedule", At: time.Unix(2000, 0), Report: short})
	failed := full() // it acted, and failed afterwards
	m.Swept(Sweep{Why: "retry", At: time.Unix(3000, 0), Report: failed, Failed: true})
	m.Swept(Sweep{Why: "event", At: time.Unix(3000, 0), Failed: true})
	for _, want := range []struct {
		line  string
		value float64
	}{
		{"winnow_sweeps_total why=schedule result=whole", 1},
		{"winnow_sweeps_total why=schedule result=short", 1},
		{"winnow_sweeps_total why=retry result=failed", 1},
		{"winnow_sweeps_total why=event result=failed", 1},
		{"winnow_sweep_duration_seconds result=failed", 2},
		{"winnow_last_good_sweep_timestamp_seconds", 2000},
		{"winnow_candidates kind=dir stands=reap", 1},
		{"winnow_candidates kind=dir stands=waiting", 1},
		{"winnow_candidates kind=dir stands=ask", 1},
		{"winnow_candidates kind=dir stands=observe", 0},
		{"winnow_candidates kind=dir stands=unknown", 1},
		{"winnow_candidates kind=dir stands=spare", 1},
		{"winnow_rule_candidates rule=reap.dirs.landed effect=finding", 3},
		{"winnow_rule_candidates rule=protect.live effect=objection", 1},
		{"winnow_acts_total kind=dir outcome=done", 2},
		{"winnow_act_bytes_total kind=dir what=disk", 8192},
		{"winnow_act_bytes_total kind=dir what=memory", 20},
		{"winnow_purged_bytes_total why=expired", 1024},
		{"winnow_sources kind=tmux status=failed", 1},
		{"winnow_source_reading_seconds kind=tmux", 1},
		{"winnow_alarms rule=a", 2},
		{"winnow_caps_held kind=dir cap=per_sweep", 3},
		{"winnow_trash_bytes", 1 << 20},
		{"winnow_policy_info revision=2026.11.4", 1},
		{"winnow_policy_loaded_timestamp_seconds", 50},
		{"winnow_bundle_problem bundle=team", 1},
		{"winnow_mode mode=acting", 1},
		{"winnow_mode mode=braked", 0},
		{"winnow_brake_tripped brake=came_back", 1},
		{"winnow_brake_tripped brake=cap_twice", 0},
		{"winnow_wakes_total source=inotify", 3},
		{"winnow_reloads_total result=failed", 1},
		{"winnow_event_sources kind=files state=listening", 1},
		{"winnow_event_sources kind=herdr state=deaf", 2},
		{"winnow_disagreed_total", 1},
		{"winnow_pressed", 1},
	} {
		name, labels, _ := strings.Cut(want.line, " ")
		if got, ok := m.value(t, name, strings.Fields(labels)...); !ok || got != want.value {
			t.Errorf("%s is %v (there: %v), want %v", want.line, got, ok, want.value)
		}
	}
	// What is not there any more leaves no old number behind.
	m.Swept(Sweep{Why: "schedule", At: time.Unix(4000, 0), Report: &report.Report{Policy: report.PolicyRef{Revision: "next"}}})
	if _, ok := m.value(t, "winnow_alarms"); ok {
		t.Error("an alarm that is over is still counted")
	}
	if _, ok := m.value(t, "winnow_policy_info", "revision=2026.11.4"); ok {
		t.Error("policies that decide no more are still named")
	}
}

// scrape asks for the metrics, and gives the status and the text.
func scrape(t *testing.T, c *http.Client, url, authorization string) (int, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res := must.Get(c.Do(req))(t)
	defer res.Body.Close()
	return res.StatusCode, string(must.Get(io.ReadAll(res.Body))(t))
}

func TestAttackAScrapeWithoutTheToken(t *testing.T) {
	t.Parallel()
	address, stop, err := swept().Serve(t.Context(), Where{Listen: "127.0.0.1:0", Token: func(context.Context) (string, error) { return "s3cret", nil }}, hclog.NewNullLogger())
	must.Do(t, err)
	defer stop()
	url := "http://" + address + "/metrics"
	for _, wrong := range []string{"", "Bearer ", "Bearer s3cre", "Bearer s3crett", "bearer s3cret", "Basic czNjcmV0"} {
		if code, text := scrape(t, http.DefaultClient, url, wrong); code != http.StatusUnauthorized || strings.Contains(text, "winnow_") {
			t.Errorf("%q was answered with %d: %s", wrong, code, text)
		}
	}
	if code, text := scrape(t, http.DefaultClient, url, "Bearer s3cret"); code != http.StatusOK || !strings.Contains(text, `winnow_mode{mode="acting"} 1`) {
		t.Errorf("the token was answered with %d: %s", code, text)
	}
	if code, _ := scrape(t, http.DefaultClient, "http://"+address+"/", "Bearer s3cret"); code != http.StatusNotFound {
		t.Errorf("another path was answered with %d", code)
	}
}

// TestACertificateThatBreaks is said in the log, once, for who scrapes hears of an internal error alone; the one after it is taken without a reload.
// TestAttackSlowConnections: many that connect and send little, without the token, keep no scrape waiting.
func TestAttackSlowConnections(t *testing.T) {
	t.Parallel()
	address, stop, err := swept().Serve(t.Context(), Where{Listen: "127.0.0.1:0", Token: func(context.Context) (string, error) { return "s3cret", nil }}, hclog.NewNullLogger())
	must.Do(t, err)
	t.Cleanup(stop)
	for i := range 2 * most {
		c := must.Get(net.Dial("tcp", address))(t)
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, []string{"GET /metr", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", ""}[i%3])
	}
	c := &http.Client{Timeout: wait.Patience, Transport: &http.Transport{DisableKeepAlives: true}} // less than all of their heads may take
	for range 5 {
		if code, _ := scrape(t, c, "http://"+address+"/metrics", "Bearer s3cret"); code != http.StatusOK {
			t.Errorf("a scrape with the token is answered %d", code)
		}
	}
}

func TestACertificateThatBreaks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	secret := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der := must.Get(x509.CreateCertificate(rand.Reader, of, of, secret.Public(), secret))(t)
	good := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(secret))(t)})
	must.Do(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must.Do(t, os.WriteFile(key, good, 0o600))
	var log bytes.Buffer
	address, stop, err := swept().Serve(t.Context(), Where{Listen: "127.0.0.1:0", CertFile: cert, KeyFile: key}, hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn}))
	must.Do(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(must.Get(x509.ParseCertificate(der))(t))
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	try := func() error {
		res, err := c.Get("https://" + address + "/metrics")
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	must.Do(t, try())
	must.Do(t, os.WriteFile(key, []byte("no key"), 0o600))
	if a, b := try(), try(); a == nil || b == nil {
		t.Errorf("answered without a key: %v, %v", a, b)
	}
	must.Do(t, os.WriteFile(key, good, 0o600))
	must.Do(t, try())
	stop()
	if n := strings.Count(log.String(), "the certificate or its key cannot be read"); n != 1 {
		t.Errorf("it is said %d times: %s", n, log.String())
	}
}

func TestOnAUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "metrics.sock")
	_, stop, err := swept().Serve(t.Context(), Where{Listen: "unix:" + path}, hclog.NewNullLogger())
	must.Do(t, err)
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	if code, text := scrape(t, c, "http://winnow/metrics", ""); code != http.StatusOK || !strings.Contains(text, "winnow_sweeps_total") {
		t.Errorf("%d: %s", code, text)
	}
	if mode := must.Get(os.Stat(path))(t).Mode().Perm(); mode != 0o600 {
		t.Errorf("the socket's mode is %o", mode)
	}
	stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// TestNothingIsInTheWay: a client that is connected and asks nothing holds up no other and not the end.
func TestNothingIsInTheWay(t *testing.T) {
	t.Parallel()
	address, stop, err := swept().Serve(t.Context(), Where{Listen: "127.0.0.1:0"}, hclog.NewNullLogger())
	must.Do(t, err)
	idle := must.Get(net.Dial("tcp", address))(t)
	defer idle.Close()
	if code, _ := scrape(t, http.DefaultClient, "http://"+address+"/metrics", ""); code != http.StatusOK {
		t.Errorf("answered with %d", code)
	}
	stop()
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		t.Error("it still listens")
	}
}
