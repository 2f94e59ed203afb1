package render

import (
	"io"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Cleaned says what a cleanup did.
func (p Paint) Cleaned(w io.Writer, c document.Cleaned) {
	report.Acts(w, p.Paint, "settled: acts that an earlier sweep was cut short in", c.Settled)
	report.Acts(w, p.Paint, "acts", []decision.Act{*c.Act})
}
