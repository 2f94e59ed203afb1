package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/worlds"
)

// TestADryRunPromisesNoMoreThanTheCapsLetThrough says on the first line what one sweep does, and of each cap one line with the flag that lifts it.
func TestADryRunPromisesNoMoreThanTheCapsLetThrough(t *testing.T) {
	t.Parallel()
	var ds []decision.Decision
	for i := range 135 {
		ds = append(ds, decision.Decision{ID: "process:" + strings.Repeat("1", i+1), Kind: "process", Verdict: decision.Reap, Owner: strings.Repeat("o", i/9), InScope: true})
	}
	caps := actuators.Caps{PerSweep: 50, PerOwner: 10, Share: 0.5, ShareFrom: 4}
	say := func(mode string, past actuators.Past) (string, *Report) {
		r := &Report{Mode: mode, Decisions: ds, Census: map[string]Count{"process": {Seen: 200, InScope: 135, Reap: 135}}}
		r.Held(caps.Plan([]string{"process"}, ds, past))
		var out bytes.Buffer
		must.Do(t, r.Write(&out, text.Paint{Width: 1000}, "text", false))
		return out.String(), r
	}
	got, r := say(DryRun, actuators.Past{})
	for _, want := range []string{
		"135 would go, the oldest 50 of them in this sweep, 0 would stay", "carries out what the caps let through",
		"cap  85 of 135 processes wait: at most 50 acts a sweep. --max 135 does all.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
	if code := r.Code(false); code != exit.Done {
		t.Errorf("a dry run with a slice ends with %d", code)
	}
	shrunk := actuators.Past{Most: map[string]actuators.Count{"registry/w": {Seen: 9}}, Now: map[string]int{"registry/w": 0}}
	got, r = say(DryRun, shrunk)
	if want := "135 would go, none of them in this sweep, 0 would stay"; !strings.Contains(got, want) || strings.Contains(got, "the oldest") || !strings.Contains(got, "--all-of process") || r.Code(false) != exit.Done {
		t.Errorf("want %q in:\n%s", want, got)
	}
	caps.PerOwner = 2 // of 15 owners: fewer than the sweep allows
	got, _ = say(DryRun, actuators.Past{})
	if strings.Count(got, "the oldest") != 1 || !strings.Contains(got, "the oldest 30 of them in this sweep") || !strings.Contains(got, "105 of 135 processes wait: at most 2 acts of one owner a sweep") {
		t.Errorf("two caps hold back, and the lines do not agree that 30 go:\n%s", got)
	}
	if _, r = say(Apply, shrunk); r.Code(false) != exit.Capped {
		t.Error("an accident does not show in the exit code")
	}
	if _, r = say(Apply, actuators.Past{}); r.Code(false) != exit.Done {
		t.Error("a slice shows in the exit code")
	}
}

// TestTheReportFits prints many things for terminals of several widths.
func TestTheReportFits(t *testing.T) {
	worlds.CheckReports(t, func(w io.Writer, ds []decision.Decision, width int) error {
		return (&Report{Mode: DryRun, Decisions: ds, Census: map[string]Count{"dir": {}, "process": {}}}).Write(w, text.Paint{Width: width}, "text", false)
	})
}

func TestStoppedIsAnAccidentOfThatKind(t *testing.T) {
	r := &Report{Caps: []decision.Cap{{Kind: "dir", Cap: decision.CapPerOwner}, {Kind: "process", Cap: decision.CapJump, Stops: true}}}
	if r.Stopped("dir") || !r.Stopped("process") || r.Stopped("session") {
		t.Errorf("stopped: dir %v, process %v, session %v", r.Stopped("dir"), r.Stopped("process"), r.Stopped("session"))
	}
}
