// Package screens holds what review and top show in a real terminal.
package screens

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/review"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/story"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/top"
	"github.com/winnow-reaper/winnow/test/kit/must"
	screentest "github.com/winnow-reaper/winnow/test/kit/screen"
)

// explain says of everything that it would go.
func explain(id string) (short, rules screen.Text) {
	short = func(width int) string {
		return strings.Join(text.Wrap(id+" would go: its work is on main.", width), "\n")
	}
	return short, short
}

func TestReview(t *testing.T) {
	if screentest.Here() {
		var all []story.Story
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/review/stories.json"))(t), &all))
		_ = screen.Run(t.Context(), os.Stdin, os.Stdout, review.New(review.Options{
			Stories: all, File: "/c/config.yaml", Counts: "2: 1 in use, 1 young", Explain: explain,
			Glob: func(d decision.Decision) string { return d.ID },
		}))
		return
	}
	screentest.Shows(t, "testdata/review", []screentest.Step{
		{Until: "its work is on main", Golden: "list"},
		{Keys: "Space Space s .", Until: "dear", Golden: "marked"},
		{Keys: "/ c a r t", Until: "/cart", Golden: "filter"},
		{Keys: "Enter ?", Until: "fewer keys", Golden: "keys"},
		{Keys: "? Enter", Until: "do this?", Golden: "question"},
	})
}

func TestTop(t *testing.T) {
	if screentest.Here() {
		said := func(id string) string { return "ended " + id }
		look := func(context.Context) (look top.Look, err error) {
			return look, json.Unmarshal(must.Get(os.ReadFile("testdata/top/look.json"))(t), &look)
		}
		_ = screen.Run(t.Context(), os.Stdin, os.Stdout, top.New(t.Context(), top.Options{Every: time.Hour, Look: look, Explain: explain, Hold: said, End: said}))
		return
	}
	screentest.Shows(t, "testdata/top", []screentest.Step{
		{Until: "vite", Golden: "tree"},
		{Keys: "j j x", Until: "y yes", Golden: "question"},
		{Keys: "y", Until: "ended dir:", Golden: "done"},
		{Keys: "/ v i t e Enter", Until: "owners  /vite", Golden: "filter"},
		{Keys: "G e", Until: "would go", Golden: "explain"},
	})
}
