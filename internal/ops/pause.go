package ops

import (
	"context"
	"fmt"
	"time"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// Pause stops all acts of this user, for so long or, with 0, until Resume. It gives the pause that stands.
func (o *Ops) Pause(ctx context.Context, long time.Duration, reason string) (ledger.Pause, error) {
	if stands := o.LastsLonger(long); stands != nil {
		return *stands, nil
	}
	p, err := o.PlacePause(ctx, long, reason)
	if err != nil {
		return p, fmt.Errorf("%w; nothing is paused", err)
	}
	return p, nil
}

// PausePath is the file of a pause of this user's.
func (o *Ops) PausePath() string { return o.Acting.PausePath(o.Cfg.State) }

// EndPause ends a pause.
func (o *Ops) EndPause() (document.Resumed, error) {
	was, err := o.Resume()
	return document.Resumed{Resumed: was}, err
}
