package ledger

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// connector opens connections of its own driver value, without the name that the driver registers for the whole program.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }
