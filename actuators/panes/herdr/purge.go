package herdr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"winnow/engine/decision"
)

// Purge implements actuators.Restorer. It removes the files that the act made and their folder, and nothing else. What is not
// there any more is no error.
func (a *Actuator) Purge(_ context.Context, in decision.Intent) (int64, error) {
	p, err := planOf(in)
	if err != nil {
		return 0, err
	}
	return a.purge(p)
}

func (a *Actuator) purge(p *plan) (int64, error) {
	trash, err := os.OpenRoot(a.Trash)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open the trash: %w", err)
	}
	defer func() { _ = trash.Close() }()
	freed, err := discard(trash, p)
	if err != nil {
		return freed, fmt.Errorf("remove the saved text of tab %s (%q): %w", p.Tab, p.Label, err)
	}
	return freed, nil
}
