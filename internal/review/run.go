package review

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Run shows the list on a terminal until the person leaves it, and gives what was chosen. The terminal is as it was before, also when ctx ends
// or the list itself fails.
func Run(ctx context.Context, in, out *os.File, o Options) (Choice, error) {
	m := New(o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return Choice{}, errors.New("interrupted; nothing was done")
	case err != nil:
		return Choice{}, fmt.Errorf("show the list: %w; nothing was done", err)
	}
	return m.Choice(), nil
}

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

// Glob is what protects a candidate in rules.protected: a folder's path, and the name of anything else.
func Glob(d decision.Decision) string {
	name := d.Label
	if d.Kind == snapshot.KindDir {
		name = strings.TrimPrefix(d.ID, snapshot.KindDir+":")
	}
	if text.Clean(name) != name { // a person could not read what was written
		return ""
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
