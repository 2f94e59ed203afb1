package ledger

import (
	"context"
	"encoding/json"
)

// Brakes reads what the daemon remembers of its brakes into m; m stays as it is where nothing is remembered.
func (l *Ledger) Brakes(ctx context.Context, m any) error {
	var text string
	there, err := scanOne(ctx, l.db, []any{&text}, "SELECT memory FROM brakes")
	if there && err == nil {
		err = json.Unmarshal([]byte(text), m)
	}
	return l.explain("read the brakes from", err)
}

// SaveBrakes makes m what the daemon remembers of its brakes.
func (l *Ledger) SaveBrakes(ctx context.Context, m any) error {
	text, err := encode(m)
	if err == nil {
		_, err = l.db.ExecContext(ctx, `INSERT INTO brakes (one, memory) VALUES (1, ?)
			ON CONFLICT (one) DO UPDATE SET memory = excluded.memory WHERE memory <> excluded.memory`, text)
	}
	return l.explain("save the brakes in", err)
}
