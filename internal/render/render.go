// Package render writes documents as text and markdown.
package render

import (
	"github.com/winnow-reaper/winnow/internal/text"
)

// Paint is how commands write to a terminal.
type Paint struct{ text.Paint }
