package sweep

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/decisionlog"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
	"github.com/winnow-reaper/winnow/policies"
)

// decisionLogger makes the events of one sweep. Its methods do nothing on a nil one, which is that of a sweep whose decisions are not logged.
type decisionLogger struct {
	*Sweeper
	r    *report.Report
	red  *redact.Redacter
	mask decisionlog.Masker
	// join makes the documents that are logged, and joined has them once the first was asked for.
	join   func() *subject.Index
	joined *subject.Index
	labels map[string]string
	// wrong is what could not be logged in full, said once.
	wrong error
}

// NewLogger prepares the logging of a sweep; nil where nothing is logged. What goes wrong is said, and is no reason for a sweep to stop: then decisions are
// logged without what they rest on.
func (s *Sweeper) NewLogger(ctx context.Context, r *report.Report, snap *snapshot.Snapshot) *decisionLogger {
	c := s.Cfg.DecisionLog
	if !c.Enabled() || s.Ledger == nil {
		return nil
	}
	l := &decisionLogger{Sweeper: s, r: r, labels: map[string]string{"version": version.Read().Version}}
	for _, label := range c.Labels {
		l.labels[label.Name] = label.Value
	}
	key, err := stateKey(s.Cfg.State)
	var o redact.Options
	if err == nil {
		o, err = Redaction(s.Cfg, s.Policy, key)
	}
	if err != nil {
		l.mask = ruleset.NoMask{Err: err}
		return l
	}
	l.labels["id"] = redact.KeyName(key) // the same for all sweeps with this state folder, and for no others
	l.red = redact.New(o)
	switch c.Input {
	case config.InputRedacted:
		l.join = func() *subject.Index {
			red := l.red.Snapshot(snap)
			return subject.Join(red, l.red.Config(&s.Cfg.Rules.Config))
		}
	case config.InputFull:
		l.join = func() *subject.Index { return subject.Join(l.red.Secrets(snap), &s.Cfg.Rules.Config) }
	}
	if c.Mask != "" {
		l.mask = s.LoadMask(ctx, c.Mask)
	}
	return l
}

// close ends the process in which masks are asked.
func (l *decisionLogger) close() {
	if l == nil {
		return
	}
	if m, ok := l.mask.(*sandbox.Masks); ok {
		m.Close()
	}
}

func (l *decisionLogger) fail(err error) {
	if l.wrong == nil && err != nil {
		l.wrong = err
		l.Note("decision log: %v", err)
	}
}

// flipped has the decisions that the sweep before made otherwise wait for their sinks.
func (l *decisionLogger) flipped(ctx context.Context, ds []decision.Decision) {
	if l == nil {
		return
	}
	before, err := l.Ledger.Verdicts(ctx, l.r.Sweep)
	if err != nil || before == nil { // nil: there is no sweep to compare with
		l.fail(err)
		return
	}
	var all []ledger.Event
	for _, d := range ds {
		was := before[d.ID]
		if d.InScope && (was != d.Verdict && !(was == "" && d.Verdict == decision.Spare)) {
			all = append(all, l.events(ctx, d, decisionlog.Custom{Why: decisionlog.Flipped, Was: was})...)
		}
	}
	l.fail(l.Ledger.QueueEvents(ctx, all, int64(l.Cfg.DecisionLog.Buffer)))
}

// events are one event for each sink.
func (l *decisionLogger) events(ctx context.Context, d decision.Decision, custom decisionlog.Custom) []ledger.Event {
	id := decision.DecisionID(l.r.Sweep, d.ID)
	custom.Sweep, custom.PolicyDigest = l.r.Sweep, l.r.Policy.Digest
	var err error
	if custom.Chain, err = l.Ledger.Head(ctx); err != nil {
		l.fail(err)
	}
	e := decisionlog.Event{
		Labels: l.labels, DecisionID: id, Path: decisionlog.Path, Timestamp: time.Now().UTC(), RequestedBy: fmt.Sprintf("uid:%d", os.Getuid()),
		Bundles: map[string]decisionlog.Bundle{"policies": {Revision: cmp.Or(l.r.Policy.Revision, l.r.Policy.Digest)}}, Result: l.result(d), Custom: &custom,
	}
	if l.join != nil {
		if l.joined == nil {
			l.joined = l.join()
		}
		name := d.ID
		if l.Cfg.DecisionLog.Input == config.InputRedacted {
			name = l.red.ID(d.ID)
		}
		custom.Candidate = name
		if sub, ok := l.joined.Subject(name); ok {
			// The parameters are the same for all, and larger than the rest.
			e.Input, err = decisionlog.Without(sub, "config")
			e.Erased = []string{"/input/config"}
			l.fail(err)
		}
	}
	data, err := decisionlog.Encode(ctx, e, l.mask)
	if err != nil { // a mask that came to no answer is not waited for again in this sweep
		l.fail(err)
		l.mask = ruleset.NoMask{Err: err}
	}
	if data == nil {
		return nil
	}
	return text.Map(l.Sinks(), func(sink string) ledger.Event { return ledger.Event{Sink: sink, ID: id, JSON: data} })
}

// result is what was decided. Messages and evidence name things.
func (l *decisionLogger) result(d decision.Decision) decisionlog.Result {
	reasons := func(all []decision.Reason) []decisionlog.Reason {
		out := []decisionlog.Reason{}
		for _, r := range all {
			one := decisionlog.Reason{Rule: r.Rule}
			if l.Cfg.DecisionLog.Input == config.InputFull {
				one.Message, one.Evidence = r.Message, r.Evidence
			}
			out = append(out, one)
		}
		return out
	}
	return decisionlog.Result{Verdict: d.Verdict, Level: d.Level, Findings: reasons(d.Findings), Objections: reasons(d.Objections)}
}

// journal is the ledger as acts write into it: with each intent goes the event of its decision, in one transaction.
type journal struct {
	*ledger.Ledger
	log *decisionLogger
}

// Intend implements actuators.Journal.
func (j journal) Intend(ctx context.Context, in decision.Intent) error {
	if j.log == nil {
		return j.Ledger.Intend(ctx, in)
	}
	d := decision.Decision{ID: in.Candidate, Kind: in.Kind, Verdict: decision.Reap, Findings: in.Findings}
	events := j.log.events(ctx, d, decisionlog.Custom{Why: decisionlog.Acted, Act: in.ID})
	return j.Ledger.IntendLogged(ctx, in, events, int64(j.log.Cfg.DecisionLog.Buffer))
}

// Deliver gives what waits to its sinks: what they do not take stays for the next sweep.
func (s *Sweeper) Deliver(ctx context.Context) {
	c := s.Cfg.DecisionLog
	if !c.Enabled() || s.Ledger == nil {
		return
	}
	if c.File.Path != "" {
		s.sayLog(s.deliverFile(ctx))
	}
	if c.Service.URL != "" {
		limited, cancel := context.WithTimeout(ctx, c.Service.Timeout)
		err := s.deliverService(limited)
		cancel()
		if err != nil {
			n, e := s.Ledger.Waiting(ctx, ruleset.SinkService)
			s.sayLog(errors.Join(fmt.Errorf("%w; %s for the next sweep", err, Waits(n)), e))
		}
	}
	dropped, err := s.Ledger.TakeDropped(ctx)
	s.sayLog(err)
	for _, d := range dropped {
		s.Note("decision log: %s for the %s could not be kept (decision_log.buffer is %s) or was refused, and is lost",
			text.Plural(int(d.Count), "decision"), d.Sink, text.Size(int64(c.Buffer)))
	}
}

// Waits says how many events wait to be sent.
func Waits(n int) string {
	if n == 1 {
		return "1 decision waits"
	}
	return fmt.Sprintf("%d decisions wait", n)
}

func (s *Sweeper) sayLog(err error) {
	if err != nil {
		s.Note("decision log: %v", err)
	}
}

// atOnce is how many events are read at a time.
const atOnce = 256

// eachPart gives what waits for a sink, part by part.
func (s *Sweeper) eachPart(ctx context.Context, sink string, give func(events []ledger.Event, data [][]byte) error) error {
	for after := int64(0); ; {
		events, err := s.Ledger.Events(ctx, sink, after, atOnce)
		if err != nil || len(events) == 0 {
			return err
		}
		data := make([][]byte, len(events))
		for i, e := range events {
			data[i] = e.JSON
		}
		if err := give(events, data); err != nil {
			return err
		}
		after = events[len(events)-1].N
	}
}

func (s *Sweeper) deliverFile(ctx context.Context) error {
	c := s.Cfg.DecisionLog.File
	file := decisionlog.File{Path: c.Path, MaxSize: int64(c.MaxSize), MaxFiles: c.MaxFiles}
	return s.eachPart(ctx, ruleset.SinkFile, func(events []ledger.Event, data [][]byte) error {
		if err := file.Write(data); err != nil {
			return err
		}
		return s.Ledger.Delivered(ctx, events)
	})
}

// retryWait is how long the sending waits before its second try.
const retryWait = 200 * time.Millisecond

func (s *Sweeper) deliverService(ctx context.Context) error {
	c := s.Cfg.DecisionLog.Service
	if n, err := s.Ledger.Waiting(ctx, ruleset.SinkService); err != nil || n == 0 {
		return err
	}
	service := decisionlog.Service{URL: c.URL, Limit: int64(c.UploadSizeLimit), Wait: retryWait, Within: c.Timeout}
	if c.TokenFile != "" {
		f, err := safeopen.Read(ctx, c.TokenFile, safeopen.Want{Max: 16 << 10, Ruling: true})
		if err != nil {
			return fmt.Errorf("decision_log.service.token_file: %w", err)
		}
		service.Token = strings.TrimSpace(string(f.Data))
	}
	kept := context.WithoutCancel(ctx) // what was sent is written down, also when there is no time left
	return s.eachPart(ctx, ruleset.SinkService, func(events []ledger.Event, data [][]byte) error {
		return service.Send(ctx, data,
			func(from, to int) error { return s.Ledger.Delivered(kept, events[from:to]) },
			func(from, to int) error { return s.Ledger.Refused(kept, events[from:to]) })
	})
}

// redactionKey is the name of the file in the state folder whose key the stand-ins of recordings and of the decision log are made with.
const redactionKey = "redaction.key"

// keepRecording keeps what a sweep saw and decided, redacted, as record in config.yaml says. A failure is said, and changes nothing of the sweep.
func (s *Sweeper) keepRecording(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, ds []decision.Decision) {
	if err := s.saveRecording(ctx, r, snap, ds); err != nil {
		s.Note("this sweep was not recorded: %v; nothing else of it changes", err)
	}
}

func (s *Sweeper) saveRecording(ctx context.Context, r *report.Report, snap *snapshot.Snapshot, ds []decision.Decision) error {
	if s.Cfg.Record == 0 {
		return s.Ledger.KeepRecordings(ctx, 0)
	}
	key, err := stateKey(s.Cfg.State)
	if err != nil {
		return err
	}
	o, err := Redaction(s.Cfg, s.Policy, key)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(recorded.New(r.Sweep, r.Mode, r.Policy, s.Cfg.Rules.Config, snap, ds, redact.New(o)))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return s.Ledger.SaveRecording(ctx, r.Sweep, r.TakenAt, doc, s.Cfg.Record)
}

// Redaction is how names are replaced so that this configuration and these policies decide alike. How the shipped policies compare names with their
// texts is known: as a whole.
func Redaction(cfg *config.Config, p *policy.Policy, key []byte) (redact.Options, error) {
	shipped, err := policy.TextsIn(policies.Files)
	if err != nil {
		return redact.Options{}, fmt.Errorf("read the texts of policies: %w", err)
	}
	own := slices.DeleteFunc(p.Texts(), func(text string) bool {
		_, known := slices.BinarySearch(shipped, text)
		return known
	})
	return redact.Options{Key: key, Config: &cfg.Rules.Config, Literals: shipped, Own: own}, nil
}

// stateKey is the key of a state folder, which is made when it is first needed.
func stateKey(state string) ([]byte, error) {
	path := filepath.Join(state, redactionKey)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		key, err := ReadRedactionKey(context.Background(), path)
		if err != nil {
			err = fmt.Errorf("%w; remove it, and a new one is made, with which names get other stand-ins", err)
		}
		return key, err
	}
	if err != nil {
		return nil, fmt.Errorf("make the key of redactions: %w", err)
	}
	key := redact.NewKey()
	_, err = fmt.Fprintln(f, hex.EncodeToString(key))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("make the key of redactions: %w", err), os.Remove(path))
	}
	return key, nil
}

// ReadRedactionKey reads a key: hexadecimal digits in a file that only this user can read.
func ReadRedactionKey(ctx context.Context, path string) ([]byte, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: 1024, Ruling: true})
	if err != nil {
		return nil, fmt.Errorf("read the key of redactions: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(f.Data)))
	if err != nil || len(key) != redact.KeySize {
		return nil, fmt.Errorf("read the key of redactions %s: it wants %d hexadecimal digits, as openssl rand -hex %d writes them", path, 2*redact.KeySize, redact.KeySize)
	}
	return key, nil
}
