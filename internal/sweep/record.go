package sweep

import (
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

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/policies"
)

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
	red, err := s.redacter()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(recorded.New(r.Sweep, r.Mode, r.Policy, s.Cfg.Rules.Config, snap, ds, red))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return s.Ledger.SaveRecording(ctx, r.Sweep, r.TakenAt, doc, s.Cfg.Record)
}

// redacter replaces names by the stand-ins of this state folder.
func (s *Sweeper) redacter() (*redact.Redacter, error) {
	key, err := stateKey(s.Cfg.State)
	if err != nil {
		return nil, err
	}
	o, err := Redaction(s.Cfg, s.Policy, key)
	return redact.New(o), err
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
