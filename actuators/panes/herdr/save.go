package herdr

import (
	"context"
	"fmt"
	"os"

	"winnow/actuators/panes"
)

// maxLines is how many of a pane's lines are saved, counted from its end.
const maxLines = 10000

// save keeps the text of every pane and the manifest, and gives the panes whose text the server does not offer.
func (g *grasp) save(ctx context.Context) (textless []string, err error) {
	err = g.kept(&g.plan).Save(g.plan, func(write panes.Writer) error {
		for _, p := range g.plan.Panes {
			text, err := g.client.read(ctx, p.ID)
			if code(err) == "invalid_request" {
				textless = append(textless, p.ID)
				continue
			}
			if err == nil {
				err = write(p.File, func(f *os.File) error { _, err := f.WriteString(text); return err })
			}
			if err != nil {
				return fmt.Errorf("save the text of pane %s: %w", p.ID, err)
			}
		}
		return nil
	})
	return textless, err
}

// read asks for what a pane shows and has shown, with lines that were wrapped at its edge in one piece.
func (c client) read(ctx context.Context, pane string) (string, error) {
	var out struct {
		Read struct {
			Pane string  `json:"pane_id"`
			Text *string `json:"text"`
		} `json:"read"`
	}
	_, err := c.call(ctx, "pane.read", map[string]any{"pane_id": pane, "source": "recent_unwrapped", "format": "text", "lines": maxLines}, "pane_read", &out)
	switch {
	case err != nil:
		return "", err
	case out.Read.Pane != pane || out.Read.Text == nil:
		return "", fmt.Errorf("pane.read: the server answered without the text of pane %s", pane)
	}
	return *out.Read.Text, nil
}
