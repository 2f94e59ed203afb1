package text

import (
	"bytes"
	"strings"
	"testing"

	"winnow/engine/decision"
)

// TestColumnsStandApart prints every outcome, and words that are longer, beside short and long labels: no two columns touch, and what
// stands below is indented to the same place.
func TestColumnsStandApart(t *testing.T) {
	t.Parallel()
	leads := []string{decision.Done, decision.Gone, decision.Changed, decision.Refused, decision.Failed, decision.Capped, "terminal", "not reachable"}
	as := func(s string) string { return s }
	for _, label := range []string{"sleep (4@172467)", strings.Repeat("x", maxLabel+20), ""} {
		for _, width := range []int{60, 200} {
			var rows []Row
			for _, lead := range leads {
				rows = append(rows, Row{Lead: lead, Color: as, Label: label, Text: "why it went as it did, in more words than a narrow terminal has room for"})
			}
			var out bytes.Buffer
			Paint{Width: width}.Rows(&out, rows...)
			for _, r := range rows {
				want := "  " + r.Lead + "  "
				if label == "" && width == 60 {
					want = "  " + r.Lead + "\n"
				}
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
