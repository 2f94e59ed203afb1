package recorded_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func document() *recorded.Document {
	s := &snapshot.Snapshot{Schema: snapshot.Schema, TakenAt: time.Unix(1e9, 0).UTC(), Dirs: map[string]snapshot.Dir{"dir:/w/secret": {Path: "/w/secret", Name: "secret"}}}
	ds := []decision.Decision{{ID: "dir:/w/secret", Kind: "dir", Verdict: decision.Spare, Findings: []decision.Reason{},
		Objections: []decision.Reason{{Rule: "protect.young", Message: "secret"}, {Rule: "protect.live"}, {Rule: "protect.live"}}}}
	rules := subject.Config{Shells: []string{"zsh"}, Custom: map[string]any{"mine": 3.0}}
	return recorded.New("S1", report.DryRun, report.PolicyRef{Digest: "sha256:x"}, rules, s, ds, redact.New(redact.Options{Config: &rules}))
}

// TestARecordingComesBack gives what was recorded, without names, with decisions of the same ids as the snapshot.
func TestARecordingComesBack(t *testing.T) {
	t.Parallel()
	data := must.Get(json.Marshal(document()))(t)
	if strings.Contains(string(data), "secret") {
		t.Errorf("a name is there: %s", data)
	}
	d := must.Get(recorded.Decode(data))(t)
	if d.Sweep != "S1" || d.Rules.Shells[0] != "zsh" || d.Rules.Custom["mine"] != 3.0 || d.Policy.Digest != "sha256:x" || len(d.Decisions) != 1 {
		t.Fatalf("document: %+v", d)
	}
	one := d.Decisions[0]
	if _, there := d.Snapshot.Dirs[one.ID]; !there {
		t.Errorf("%s is not in the snapshot: %+v", one.ID, d.Snapshot.Dirs)
	}
	must.Equal(t, []string{"protect.live", "protect.young"}, one.Objections, "objections")
}

// TestADocumentThatIsNoRecording is refused with a word.
func TestADocumentThatIsNoRecording(t *testing.T) {
	t.Parallel()
	whole := string(must.Get(json.Marshal(document()))(t))
	for name, c := range map[string]struct{ from, to, want string }{
		"another verdict":  {`"verdict":"spare"`, `"verdict":"reap"`, "it was changed"},
		"another schema":   {`winnow.recording/v1`, `winnow.recording/v9`, "its schema is"},
		"another snapshot": {`winnow.snapshot/v1`, `winnow.snapshot/v9`, "its schema is"},
		"no snapshot":      {`"snapshot":{`, `"other":{`, "read recording"},
		"no JSON":          {`{`, `[`, "read recording"},
	} {
		if _, err := recorded.Decode([]byte(strings.Replace(whole, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
