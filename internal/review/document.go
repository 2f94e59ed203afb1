package review

import (
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/story"
)

// Schema names the shape of what winnow review --format json prints.
const Schema = "winnow.review/v1"

// Document is what winnow review prints as JSON. docs/reference/schemas/review.json is generated from it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.review/v1"`
	// Sweep is the look's id in the ledger.
	Sweep  string           `json:"sweep"`
	Policy report.PolicyRef `json:"policy"`
	// Stories are what belongs together, those in which something can be taken first.
	Stories []story.Story `json:"stories"`
}
