package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestRecordingsAreKeptInTheirOrder keeps the latest, gives back what was recorded, and lists the latest first.
func TestRecordingsAreKeptInTheirOrder(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	for i := range 5 {
		doc := bytes.Repeat(fmt.Appendf(nil, `{"n": %d}`, i), 1000)
		must.Do(t, l.SaveRecording(ctx, fmt.Sprint("s", i), t0.Add(time.Duration(i)*time.Minute), doc, 3))
	}
	all := must.Get(l.Recordings(ctx))(t)
	if len(all) != 3 || all[0].Sweep != "s4" || all[2].Sweep != "s2" || !all[0].At.Equal(t0.Add(4*time.Minute)) || all[0].Bytes != 8000 || all[0].Stored > 400 {
		t.Errorf("recordings: %+v", all)
	}
	r, doc, err := l.Recording(ctx, "s3")
	if err != nil || r.Sweep != "s3" || !bytes.Equal(doc, bytes.Repeat([]byte(`{"n": 3}`), 1000)) {
		t.Errorf("recording s3: %+v, %d bytes, %v", r, len(doc), err)
	}
	if _, _, err := l.Recording(ctx, "s1"); !errors.Is(err, ledger.ErrNone) {
		t.Errorf("recording s1, which is not kept: %v", err)
	}
	must.Do(t, l.SaveRecording(ctx, "s3", t0, []byte("again"), 3))
	if _, doc, err := l.Recording(ctx, "s3"); err != nil || string(doc) != "again" {
		t.Errorf("recording s3 again: %q, %v", doc, err)
	}
	must.Do(t, l.KeepRecordings(ctx, 1))
	if all, err := l.Recordings(ctx); err != nil || len(all) != 1 || all[0].Sweep != "s3" {
		t.Errorf("recordings: %+v, %v", all, err)
	}
	must.Do(t, l.KeepRecordings(ctx, 0))
	if all, err := l.Recordings(ctx); err != nil || len(all) != 0 {
		t.Errorf("recordings: %+v, %v", all, err)
	}
}

func TestARecordingThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	must.Do(t, l.SaveRecording(ctx, "s0", t0, []byte("small"), 3))
	if err := l.SaveRecording(ctx, "s1", t0, make([]byte, ledger.MaxRecording+1), 3); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
	if all, err := l.Recordings(ctx); err != nil || len(all) != 1 {
		t.Errorf("recordings: %+v, %v", all, err)
	}
}

// TestARecordingThatWasDamagedIsRefused gives no document that is not the one that was recorded.
func TestARecordingThatWasDamagedIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := must.Get(ledger.Open(path))(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	doc := make([]byte, 1000)
	for i := range doc {
		doc[i] = byte(rnd.Uint32())
	}
	must.Do(t, l.SaveRecording(t.Context(), "s0", t0, doc, 3))
	must.Do(t, l.Close())
	for name, change := range map[string]string{
		"another length":  "UPDATE recordings SET bytes = 999",
		"no length":       "UPDATE recordings SET bytes = -1",
		"a great length":  "UPDATE recordings SET bytes = 1 << 40",
		"no archive":      "UPDATE recordings SET document = x'00'",
		"half an archive": "UPDATE recordings SET bytes = 1000, document = substr(document, 1, 500)",
	} {
		must.Do(t, execute(path, change))
		l := must.Get(ledger.OpenReadOnly(path))(t)
		if _, doc, err := l.Recording(t.Context(), "s0"); !errors.Is(err, ledger.ErrCorrupt) || len(doc) == 1000 {
			t.Errorf("%s: %d bytes, %v; want ErrCorrupt", name, len(doc), err)
		}
		must.Do(t, l.Close())
	}
}
