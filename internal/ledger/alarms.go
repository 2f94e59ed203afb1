package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
)

// alarmsName is the name by which the memory of alarms is remembered.
const alarmsName = "alarms"

// AlarmMemory gives what the alarms of a look are made from.
func (l *Ledger) AlarmMemory(ctx context.Context) (alarm.Memory, error) {
	m, err := recall(ctx, l.db, alarmsName, alarm.Memory{})
	return m, l.explain("read the memory of alarms in", err)
}

// ChangeAlarmMemory makes what change gives all that alarms remember. Nothing else is written there in between.
func (l *Ledger) ChangeAlarmMemory(ctx context.Context, change func(alarm.Memory) alarm.Memory) error {
	return l.explain("change the memory of alarms in", l.write(ctx, func(tx *sql.Tx) error {
		m, err := recall(ctx, tx, alarmsName, alarm.Memory{})
		if err != nil {
			return err
		}
		return remember(ctx, tx, alarmsName, change(m))
	}))
}

// Refusals gives what was to be reaped and was not, at every act that was tried on it, by candidate id. It has the acts too whose
// intent was never written down because nothing was begun.
func (l *Ledger) Refusals(ctx context.Context) (map[string]alarm.Refusal, error) {
	m, err := recall(ctx, l.db, alarmsName, alarm.Memory{})
	return m.Refusals, l.explain("read refusals of", err)
}

// NoteActs writes down how the acts of a sweep went that came to nothing, and forgets refusals of what is gone now. identities
// are the keys of the candidates' identities, by candidate. It is done also when ctx has ended by now: it has happened.
func (l *Ledger) NoteActs(ctx context.Context, at time.Time, acts []decision.Act, identities map[string]string) error {
	if len(acts) == 0 {
		return nil
	}
	return l.ChangeAlarmMemory(context.WithoutCancel(ctx), func(m alarm.Memory) alarm.Memory { return m.WithActs(at, acts, identities) })
}
