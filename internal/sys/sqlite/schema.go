package sqlite

import (
	"context"
	"fmt"
	"strings"
)

// ordinary makes sure that a name means a real table and nothing else: no view, which may never end, and no virtual table, whose
// reading runs a module. The column type of sqlite_schema does not prove that, because a program that writes the file can write
// anything there: what SQLite makes of a row is what the text of its statement says. That text is looked at, and no view is prepared.
func (d *DB) ordinary(ctx context.Context, table string) error {
	rows, err := d.query(ctx, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	found := false
	for _, row := range rows {
		var text [3]string
		for i, v := range row {
			text[i], _ = v.(string)
		}
		is, name := statement(text[2])
		switch {
		case is == "" || name != text[1] || !strings.EqualFold(strings.TrimPrefix(is, "virtual "), text[0]):
			return fmt.Errorf("read %s: %w: its schema was written by hand", d.path, ErrLayout)
		case !strings.EqualFold(name, table):
		case is != "table":
			return fmt.Errorf("read %s: %w: %s is no table but a %s", d.path, ErrLayout, table, strings.Replace(is, "virtual ", "virtual-", 1))
		default:
			found = true
		}
	}
	if !found {
		return fmt.Errorf("read %s: %w: there is no table %s", d.path, ErrLayout, table)
	}
	return nil
}

// forms are the beginnings of the statements that SQLite keeps in its schema, as it writes them itself.
var forms = []struct{ begin, is string }{
	{"CREATE TABLE ", "table"},
	{"CREATE VIEW ", "view"},
	{"CREATE VIRTUAL TABLE ", "virtual table"},
	{"CREATE INDEX ", "index"},
	{"CREATE UNIQUE INDEX ", "index"},
	{"CREATE TRIGGER ", "trigger"},
}

// statement says what a statement of a schema makes and what that is called, "" for a statement that SQLite does not write.
func statement(sql string) (is, name string) {
	for _, f := range forms {
		if rest, ok := strings.CutPrefix(sql, f.begin); ok {
			return f.is, identifier(rest)
		}
	}
	return "", ""
}

// identifier is the name that a text begins with, without its quotes.
func identifier(text string) string {
	if text == "" {
		return ""
	}
	last := text[0]
	switch last {
	case '"', '\'', '`':
	case '[':
		last = ']'
	default:
		end := strings.IndexFunc(text, func(r rune) bool {
			return r < 0x80 && r != '_' && r != '$' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
		})
		if end < 0 {
			return text
		}
		if text[end] == '.' {
			return "" // the name of another database: SQLite writes none
		}
		return text[:end]
	}
	var name strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != last:
			name.WriteByte(text[i])
		case last != ']' && i+1 < len(text) && text[i+1] == last:
			name.WriteByte(last)
			i++
		default:
			return name.String()
		}
	}
	return ""
}
