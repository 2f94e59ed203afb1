package text

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// TestColumnsStandApart prints every outcome, and words that are longer, beside short and long labels: no two columns touch, and what
// stands below is indented to the same place.
func TestColumnsStandApart(t *testing.T) {
	t.Parallel()
	leads := []string{decision.Done, decision.Gone, decision.Changed, decision.Refused, decision.Failed, decision.Capped, "terminal", "not reachable"}
	as := func(s string) string { return s }
	for _, label := range []string{"sleep (4@172467)", strings.Repeat("x", widestLabel+20), ""} {
		for _, width := range []int{0, 60, 80, 200} {
			var rows []Row
			for _, lead := range leads {
				rows = append(rows, Row{Lead: lead, Color: as, Label: label, Text: "why it went as it did, in more words than a narrow terminal has room for"})
			}
			var out bytes.Buffer
			Paint{Width: width}.Rows(&out, rows...)
			for _, r := range rows {
				want := "  " + r.Lead + "  "
				if !strings.Contains(out.String(), want) {
					t.Errorf("at %d columns %q does not stand apart from %q:\n%s", width, r.Lead, label, &out)
				}
			}
			for line := range strings.Lines(out.String()) {
				if label != "" && strings.Contains(line, label) && strings.Index(line, label) != 2+len("not reachable")+2 {
					t.Errorf("at %d columns a label stands elsewhere:\n%s", width, &out)
				}
			}
		}
	}
}

// TestOneLineEachWithoutATerminal prints rows to no terminal: each is one line with all that it says.
func TestOneLineEachWithoutATerminal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	rows := []Row{
		{Lead: "reap", Label: "~/w/a", Cells: []string{"3d", "1.0 MiB"}, Text: long + "end", Next: "next: winnow release a", Rest: "more"},
		{Lead: "keep", Label: strings.Repeat("~/w/long", 20), Cells: []string{"2h", "-"}, Text: "short"},
		{Lead: "keep", Text: long},
	}
	var out bytes.Buffer
	Paint{}.Rows(&out, rows...)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(rows), &out)
	}
	if !strings.HasSuffix(lines[0], "end; next: winnow release a; more") {
		t.Errorf("the first row does not have all of it in a line:\n%s", &out)
	}
}

// TestTheWidthIsKept prints rows on terminals: no line is wider, but for a name that is never cut.
func TestTheWidthIsKept(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120, 200} {
		for _, label := range []string{"~/a", strings.Repeat("l", 30), strings.Repeat("l", 300)} {
			var out bytes.Buffer
			Paint{Width: width}.Rows(&out, Row{Lead: "keep", Label: label, Text: strings.Repeat("word ", 80), Next: strings.Repeat("next ", 30)})
			if !strings.Contains(out.String(), label) {
				t.Errorf("at %d columns the name was cut:\n%s", width, &out)
			}
			for line := range strings.Lines(out.String()) {
				if n := len(strings.TrimSuffix(line, "\n")); n > width && !strings.Contains(line, label) {
					t.Errorf("at %d columns a line has %d:\n%s", width, n, &out)
				}
			}
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 340 * time.Millisecond: "0s", 2900 * time.Millisecond: "2s", 90 * time.Second: "1m30s", 23 * time.Hour: "23h",
		24 * time.Hour: "1d", 36 * time.Hour: "1d12h", 48*time.Hour + 59*time.Minute: "2d", 20*24*time.Hour + 5*time.Hour: "20d5h",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 340 * time.Millisecond: "340ms", 2940 * time.Millisecond: "2.9s", 12900 * time.Millisecond: "12s", 90 * time.Second: "1m30s",
	} {
		if got := Took(d); got != want {
			t.Errorf("Took(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestColour asks for colours where there is no terminal.
func TestColour(t *testing.T) {
	for _, c := range []struct {
		color string
		env   map[string]string
		want  bool
	}{
		{Auto, nil, false},
		{Always, nil, true},
		{Always, map[string]string{"NO_COLOR": "1"}, true},
		{Never, map[string]string{"FORCE_COLOR": "1"}, false},
		{Auto, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{Auto, map[string]string{"FORCE_COLOR": "3"}, true},
		{Auto, map[string]string{"FORCE_COLOR": "0"}, false},
		{Auto, map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
	} {
		for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"} {
			t.Setenv(name, c.env[name])
		}
		if got := New(&bytes.Buffer{}, c.color).On; got != c.want {
			t.Errorf("--color %s with %v: %v, want %v", c.color, c.env, got, c.want)
		}
	}
}
