package records_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// over are the words of config.yaml for Kapi, archived the one for Shepherd.
var over, archived = []string{"completed", "failed", "cancelled"}, []string{"archived"}

func TestParseTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	for text, want := range map[string]any{
		`"2026-01-31T18:00:00Z"`:           at,
		`"2026-01-31T19:00:00+01:00"`:      at,
		`"2026-01-31T18:00:00.123456789Z"`: at.Add(123456789),
		`1769882400`:                       at,
		`1769882400.25`:                    at.Add(250 * time.Millisecond),
		`1769882400000`:                    at,
		`1769882400001.5`:                  at.Add(1500 * time.Microsecond),
		`1.7698824e9`:                      at,
		`"2026-01-31T18:00:00"`:            "not an RFC 3339 time",
		`"2026-01-31 18:00:00Z"`:           "not an RFC 3339 time",
		`"1769882400"`:                     "not an RFC 3339 time",
		`"0001-01-01T00:00:00Z"`:           "before 2001",
		`"1970-01-01T00:00:00Z"`:           "before 2001",
		`"2300-01-01T00:00:00Z"`:           "after 2286",
		`0`:                                "neither seconds nor milliseconds",
		`-1769882400`:                      "neither seconds nor milliseconds",
		`999999999`:                        "neither seconds nor milliseconds",
		`10000000000`:                      "neither seconds nor milliseconds",
		`999999999999`:                     "neither seconds nor milliseconds",
		`1769882400000000`:                 "neither seconds nor milliseconds",
		`true`:                             "neither text nor a number",
		`{}`:                               "neither text nor a number",
		`[1769882400]`:                     "neither text nor a number",
	} {
		got, err := records.ParseTime(json.RawMessage(text))
		switch want := want.(type) {
		case time.Time:
			if err != nil || !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("%s gave %v, %v; want %v", text, got, err, want)
			}
		case string:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s gave %v, %v; want an error with %q", text, got, err, want)
			}
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                  "",
		` {"a": {"b": [1]}} `: "",
		`{"a":1,"A":2}`:       "",
		`{"a":1,"a":1}`:       "stands twice",
		`{"a":1,"\u0061":1}`:  "stands twice",
		`{"a":1}{`:            "follows",
		`{"a":1} 2`:           "follows",
		`{"a":1`:              "ends before",
		`{"a":`:               "ends before",
		`{"a"`:                "ends before",
		`{`:                   "ends before",
		``:                    "ends before",
		`[]`:                  "not an object",
		`null`:                "not an object",
		`{"a":nul}`:           "invalid",
		`{a:1}`:               "invalid",
		`{"a":1,}`:            "invalid",
	} {
		_, err := records.Object([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s gave %v; want %q", text, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		read, bad int
		err       string
	}{
		"":                             {0, 0, ""},
		"\n \r\n":                      {0, 0, ""},
		"{}\n{}\n":                     {2, 0, ""},
		"{}\r\n{}":                     {2, 0, ""}, // a whole object needs no end of line
		"{}\n{\"path\":\"/w/a":         {1, 1, "line 2: the last line is half-written"},
		"{}\nnonsense\n{}\n":           {2, 1, "line 2: "},
		"{}\nnonsense\n{}\n[]\n{\"a\"": {2, 3, "line 2: "},
	} {
		all, bad, err := records.AllLines([]byte(text))
		if len(all) != want.read || bad != want.bad || (err == nil) != (want.err == "") || err != nil && !strings.HasPrefix(err.Error(), want.err) {
			t.Errorf("%q gave %d read, %d bad, %v; want %+v", text, len(all), bad, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "half-written") != strings.HasPrefix(want.err, "line 2: the last") {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	fields, err := records.Object([]byte(`{"text":"a","number":7,"half":1.5,"null":null,"nul":"a\u0000b","yes":true,"abs":"/w/../x/","rel":"x","home":"~/x","empty":""}`))
	if err != nil {
		t.Fatal(err)
	}
	r := records.Record{Fields: fields}
	type answer struct {
		Value any
		Err   string
	}
	ask := func(v any, err error) answer {
		if err != nil {
			return answer{Err: err.Error()}
		}
		return answer{Value: v}
	}
	for name, tc := range map[string]struct{ got, want answer }{
		"text":             {ask(r.Text("text")), answer{Value: "a"}},
		"no text":          {ask(r.Text("none")), answer{Value: ""}},
		"null text":        {ask(r.Text("null")), answer{Value: ""}},
		"number as text":   {ask(r.Text("number")), answer{Err: "number is not text"}},
		"NUL in text":      {ask(r.Text("nul")), answer{Err: "nul has a NUL in it"}},
		"number as name":   {ask(r.Name("number")), answer{Value: "7"}},
		"text as name":     {ask(r.Name("text")), answer{Value: "a"}},
		"fraction as name": {ask(r.Name("half")), answer{Err: "half is neither text nor a whole number"}},
		"path":             {ask(r.Path("abs")), answer{Value: "/x"}},
		"no path":          {ask(r.Path("empty")), answer{Value: ""}},
		"relative path":    {ask(r.Path("rel")), answer{Err: "rel is not absolute; it must begin with /"}},
		"path from home":   {ask(r.Path("home")), answer{Err: "home is not absolute; it must begin with /"}},
		"bool":             {ask(r.Bool("yes")), answer{Value: new(true)}},
		"no bool":          {ask(r.Bool("null")), answer{Value: (*bool)(nil)}},
		"text as bool":     {ask(r.Bool("text")), answer{Err: "text is neither true nor false"}},
		"int":              {ask(r.Int("number")), answer{Value: new(int64(7))}},
		"fraction as int":  {ask(r.Int("half")), answer{Err: "half is not a whole number"}},
		"no time":          {ask(r.Time("empty")), answer{Value: (*time.Time)(nil)}},
	} {
		must.Equal(t, tc.want, tc.got, "%s", name)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	long := strings.Repeat("x", 3<<20)
	for _, text := range []string{"", "a", long} {
		got, err := records.Load(t.Context(), write("file", text))
		if err != nil || string(got) != text {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(text))
		}
	}
	if _, err := records.Load(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no file gave %v; want ErrAbsent", err)
	}
	if _, err := records.Load(t.Context(), write("latin1", "caf\xe9")); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a file that is not UTF-8 gave %v", err)
	}
	big := write("big", "")
	must.Do(t, os.Truncate(big, records.MaxSize+1))
	if _, err := records.Load(t.Context(), big); err == nil || !strings.Contains(err.Error(), "greater than 64 MiB") {
		t.Errorf("a file that is too great gave %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, dir} {
		if _, err := records.Load(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s gave %v", path, err)
		}
	}
}

func TestLoadWithoutTheRight(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; run as a plain user to see this")
	}
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, nil, 0))
	if _, err := records.Load(t.Context(), path); !errors.Is(err, collectors.ErrPermission) {
		t.Errorf("got %v; want ErrPermission", err)
	}
}

func TestReal(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "data", "w"), 0o700))
	for name, target := range map[string]string{"link": "data", "data/again": "w", "loop": "loop", "dangling": "nowhere"} {
		must.Do(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	paths := records.NewReal()
	for range 2 { // the second time from memory
		for path, want := range map[string]string{
			"data/w": "data/w", "link/w": "data/w", "link/again": "data/w", "link/again/gone/deeper": "data/w/gone/deeper",
			"link/gone": "data/gone", "dangling": "dangling",
		} {
			if got, sure := paths.Path(filepath.Join(dir, path)); got != filepath.Join(dir, want) || !sure {
				t.Errorf("%s gave %s, %v; want %s", path, got, sure, want)
			}
		}
		if got, sure := paths.Path(filepath.Join(dir, "loop", "x")); sure {
			t.Errorf("a loop of links gave %s and called it sure", got)
		}
	}
}

// What is read from a file is either refused or the same again when it is written out and read.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":[null]}`, `{"a":1,"a":2}`, `{"a":{"a":1,"a":2}}`, `{"a"`, "[]", "\"\\ud800\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := records.Object(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was read and is no JSON", data)
		}
		text := must.Get(json.Marshal(fields))(t)
		again, err := records.Object(text)
		if err != nil || len(again) != len(fields) {
			t.Fatalf("%q read again as %d fields of %d, %v", text, len(again), len(fields), err)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{`"2026-01-31T18:00:00Z"`, `1769882400`, `1769882400000.5`, `1e300`, `NaN`, `"9999-12-31T23:59:59Z"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at, err := records.ParseTime(data)
		if err == nil && (at.Unix() < 1e9 || at.Unix() > 1e10) {
			t.Fatalf("%q gave %v", data, at)
		}
	})
}
