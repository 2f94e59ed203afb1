package review

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
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
