package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// one gives the row that SELECT would, of columns a and b with these SQL values.
func values(t *testing.T, pairs ...[2]string) []sqlite.Row {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	p := start(t, path)
	p.run("CREATE TABLE t (a, b)", "BEGIN")
	for _, v := range pairs {
		p.run("INSERT INTO t VALUES (" + v[0] + ", " + v[1] + ")")
	}
	p.run("COMMIT")
	p.end()
	rows := must.Get(sqlite.Read(t.Context(), path, "t", "a", "b"))(t)
	if len(rows) != len(pairs) {
		t.Fatalf("%d rows of %d", len(rows), len(pairs))
	}
	return rows
}

type answer struct {
	Value any
	Err   string
}

func ask[T any](v T, err error) answer {
	if err != nil {
		return answer{Err: err.Error()}
	}
	return answer{Value: v}
}

func TestValues(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1795197137709).UTC()
	text := func(r sqlite.Row) answer { return ask(r.Text("a")) }
	path := func(r sqlite.Row) answer { return ask(r.Path("a")) }
	number := func(r sqlite.Row) answer { return ask(r.Int("a")) }
	millis := func(r sqlite.Row) answer { return ask(r.Millis("a")) }
	null := func(r sqlite.Row) answer { return answer{Value: r.Null("a")} }
	cases := []struct {
		sql  string
		ask  func(sqlite.Row) answer
		want answer
	}{
		{"'x'", text, answer{Value: "x"}},
		{"''", text, answer{Value: ""}},
		{"NULL", text, answer{Value: ""}},
		{"7", text, answer{Err: "a is not text"}},
		{"x'41'", text, answer{Err: "a is not text"}},
		{"x''", text, answer{Err: "a is not text"}},
		{"CAST(x'610062' AS TEXT)", text, answer{Err: "a has a NUL in it"}},
		{"CAST(x'61e9' AS TEXT)", text, answer{Err: "a is not UTF-8"}},
		{"'/w/../x/'", path, answer{Value: "/x"}},
		{"''", path, answer{Value: ""}},
		{"'w'", path, answer{Err: "a is not absolute"}},
		{"'~/w'", path, answer{Err: "a is not absolute"}},
		{"7", path, answer{Err: "a is not text"}},
		{"7", number, answer{Value: new(int64(7))}},
		{"NULL", number, answer{Value: (*int64)(nil)}},
		{"7.0", number, answer{Err: "a is not a whole number"}},
		{"'7'", number, answer{Err: "a is not a whole number"}},
		{"1795197137709", millis, answer{Value: &at}},
		{"NULL", millis, answer{Value: (*time.Time)(nil)}},
		{"1e12", millis, answer{Err: "a is not a whole number"}},
		{"999999999999", millis, answer{Err: "a is no time in milliseconds since 1970"}},
		{"10000000000000", millis, answer{Err: "a is no time in milliseconds since 1970"}},
		{"1795197137", millis, answer{Err: "a is no time in milliseconds since 1970"}},
		{"0", millis, answer{Err: "a is no time in milliseconds since 1970"}},
		{"-1795197137709", millis, answer{Err: "a is no time in milliseconds since 1970"}},
		{"'1795197137709'", millis, answer{Err: "a is not a whole number"}},
		{"NULL", null, answer{Value: true}},
		{"''", null, answer{Value: false}},
		{"0", null, answer{Value: false}},
		{"x''", null, answer{Value: false}},
	}
	pairs := make([][2]string, len(cases))
	for i, tc := range cases {
		pairs[i] = [2]string{tc.sql, "NULL"}
	}
	for i, row := range values(t, pairs...) {
		must.Equal(t, cases[i].want, cases[i].ask(row), "%d: %s", i, cases[i].sql)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	const early, late = "1795197137709", "1795197137710"
	a, b := new(time.UnixMilli(1795197137709).UTC()), new(time.UnixMilli(1795197137710).UTC())
	cases := []struct {
		begin, end string
		from, to   *time.Time
		whole      bool
	}{
		{early, late, a, b, true},
		{early, early, a, a, true},
		{early, "NULL", a, nil, true},
		{"NULL", "NULL", nil, nil, true},
		{late, early, b, nil, false},
		{"NULL", late, nil, nil, false},
		{"'x'", late, nil, nil, false},
		{"0", late, nil, nil, false},
		{"0", "NULL", nil, nil, false},
		{early, "0", a, nil, false},
		{early, "-1", a, nil, false},
		{early, "'1795197137710'", a, nil, false},
		{early, "1795197137.71", a, nil, false},
		{early, "x'00'", a, nil, false},
	}
	pairs := make([][2]string, len(cases))
	for i, tc := range cases {
		pairs[i] = [2]string{tc.begin, tc.end}
	}
	type span struct {
		From, To *time.Time
		Whole    bool
	}
	for i, row := range values(t, pairs...) {
		from, to, whole := sqlite.Span(row, "a", "b")
		tc := cases[i]
		must.Equal(t, span{tc.from, tc.to, tc.whole}, span{from, to, whole}, "%s to %s", tc.begin, tc.end)
	}
}
