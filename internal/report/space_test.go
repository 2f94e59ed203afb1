package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/test/kit/schema"
)

// TestWhatComesFreeIsSaid holds the lines on the disk: what would go, what is free now, what lies in the trash and until when.
func TestWhatComesFreeIsSaid(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.Local) }
	goes := []decision.Decision{{Verdict: decision.Reap, Size: &decision.Size{Bytes: 3 << 20, Shared: 1 << 20}}, {Verdict: decision.Spare, Size: &decision.Size{Bytes: 1 << 30}}}
	lies := func(n int, size int64) Lying { return Lying{Until: day(n), Bytes: size, Known: true} }
	for name, c := range map[string]struct {
		report Report
		trash  []Lying
		want   []string
	}{
		"nothing": {report: Report{Mode: DryRun}},
		"a dry run": {report: Report{Mode: DryRun, Decisions: goes}, want: []string{
			"would free 2.0 MiB: it goes into the trash first, and comes free 7d later, or at once with winnow trash empty"}},
		"one day": {report: Report{Mode: Apply}, trash: []Lying{lies(3, 1<<20), lies(3, 1<<20)}, want: []string{
			"nothing is free yet", "2.0 MiB in the trash; free on Nov 3, or now with winnow trash empty"}},
		"many days": {report: Report{Mode: DryRun}, trash: []Lying{lies(9, 4), lies(3, 1<<20), lies(4, 2), lies(5, 3), {Until: day(6)}}, want: []string{
			"1.0 MiB and 1 thing of unknown size in the trash; free: 1.0 MiB on Nov 3, 2 B on Nov 4, 3 B on Nov 5, the rest until Nov 9; all of it now with winnow trash empty"}},
		"purged": {report: Report{Mode: Apply, Purged: []Purged{{Bytes: 5, Why: PurgedMax}}}, want: []string{"5 B are free now"}},
	} {
		c.report.Weigh(c.trash, 7*24*time.Hour)
		if got := c.report.Space.Lines(c.report.Mode); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// TestWhyThingsArePurged holds that what is removed before its time says so, apart from what has served its time.
func TestWhyThingsArePurged(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	page{Paint: text.Paint{}}.purgedText(&b, []Purged{{Bytes: 5, Why: PurgedExpired}, {Bytes: 1 << 20, Why: PurgedMax}, {Bytes: 1 << 20, Why: PurgedMax}, {Bytes: 7, Why: PurgedPressure}})
	want := `
purged
  1 act removed from the trash for good, 5 B freed: the time to bring them back has passed (act.trash_ttl)
  2 acts removed from the trash for good, 2.0 MiB freed before their time, the oldest first: more than act.trash_max lay there
  1 act removed from the trash for good, 7 B freed before their time, the oldest first: less of the file system was free than act.trash_pressure
`
	if b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}

// TestWhatAnActSays holds that a folder in the trash is not told by two paths, and that anything else stands as it is.
func TestWhatAnActSays(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"/w/a was moved to /h/trash/01A; winnow restore 01A brings it back":                                  "moved into the trash; winnow restore 01A brings it back",
		"/w/a was moved to /h/trash/01A; winnow restore 01A brings it back; a; b":                            "moved into the trash; winnow restore 01A brings it back; a; b",
		"/w/a was moved to /h/trash/01A":                                                                     "moved into the trash",
		"the entry /r/.git/worktrees/a of /w/a was moved to /h/trash/01A; winnow restore 01A brings it back": "its entry went into the trash; winnow restore 01A brings it back",
		"/w/a was moved to /elsewhere":                                                                       "/w/a was moved to /elsewhere",
		"3 processes ended":                                                                                  "3 processes ended",
	} {
		if got := Aside(decision.Act{ID: "01A", Outcome: decision.Outcome{Outcome: decision.Done, Detail: detail}}); got != want {
			t.Errorf("%q:\n got %q\nwant %q", detail, got, want)
		}
	}
}

// TestReportSchemaIsCurrent keeps the published schemas of the report, of what would come free and of what runs equal to the Go types.
func TestReportSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	schema.Current(t, Usage{}, UsageSchema, []string{"../../docs/reference/schemas/usage.json"}, nil)
	schema.Current(t, Running{}, RunningSchema, []string{"../../docs/reference/schemas/top.json"}, nil)
	schema.Current(t, Report{}, Schema, []string{"../../docs/reference/schemas/report.json"}, []string{"../../engine/snapshot", "../../engine/decision"})
}

// TestPolicySchemasAreCurrent keeps the published schemas of what the commands about policies print equal to the Go types.
func TestPolicySchemasAreCurrent(t *testing.T) {
	t.Parallel()
	dirs := []string{"../../engine/policy", "../../engine/policy/lint", "../../engine/tester"}
	for file, of := range map[string]struct {
		v     any
		title string
	}{
		"policy-check": {PolicyCheck{}, PolicyCheckSchema}, "policy-test": {PolicyTest{}, PolicyTestSchema},
		"policy-fmt": {PolicyFormat{}, PolicyFormatSchema},
	} {
		schema.Current(t, of.v, of.title, []string{"../../docs/reference/schemas/" + file + ".json"}, dirs)
	}
}
