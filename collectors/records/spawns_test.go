package records_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

var (
	t1 = time.Unix(1769882400, 0).UTC()
	t2 = t1.Add(time.Minute)
	t3 = t2.Add(time.Minute)
)

func TestParseLines(t *testing.T) {
	t.Parallel()
	const open, done = `"spawned_at":"2026-01-31T18:00:00Z"`, `"completed_at":1769882460`
	for name, tc := range map[string]struct {
		lines []string
		want  []snapshot.Spawn
	}{
		"an open spawn": {[]string{`{"path":"/w/a",` + open + `}`}, []snapshot.Spawn{{Path: "/w/a", SpawnedAt: &t1}}},
		"null and empty are open": {[]string{`{"path":"/w/a","completed_at":null}`, `{"path":"/w/b","completed_at":""}`},
			[]snapshot.Spawn{{Path: "/w/a"}, {Path: "/w/b"}}},
		"everything": {[]string{`{"id":"b1","kind":"build","path":"/w/a/","label":"l","session":"s",` + open + `,` + done + `,"extra":{"x":[1]}}`},
			[]snapshot.Spawn{{ID: "b1", Kind: "build", Path: "/w/a", Label: "l", Session: "s", SpawnedAt: &t1, CompletedAt: &t2}}},
		"completed by id alone": {[]string{`{"id":"b1","path":"/w/a",` + open + `}`, `{"id":"b1",` + done + `}`},
			[]snapshot.Spawn{{ID: "b1", Path: "/w/a", SpawnedAt: &t1, CompletedAt: &t2}}},
		"a number is an id too": {[]string{`{"id":7,"path":"/w/a",` + open + `}`, `{"id":"7",` + done + `}`},
			[]snapshot.Spawn{{ID: "7", Path: "/w/a", SpawnedAt: &t1, CompletedAt: &t2}}},
		"the same id at the same path starts again": {[]string{`{"id":"b1","path":"/w/a",` + open + `,` + done + `}`, `{"id":"b1","path":"/w/a","spawned_at":1769882520}`},
			[]snapshot.Spawn{{ID: "b1", Path: "/w/a", SpawnedAt: &t3}}},
		"the same id at another path is another": {[]string{`{"id":"b1","path":"/w/a",` + open + `}`, `{"id":"b1","path":"/w/b",` + open + `}`, `{"id":"b1",` + done + `}`},
			[]snapshot.Spawn{{ID: "b1", Path: "/w/a", SpawnedAt: &t1}, {ID: "b1", Path: "/w/b", SpawnedAt: &t1, CompletedAt: &t2}}},
		"completed by path and time": {[]string{`{"path":"/w/a",` + open + `}`, `{"path":"/w/a","spawned_at":1769882400000,` + done + `}`},
			[]snapshot.Spawn{{Path: "/w/a", SpawnedAt: &t1, CompletedAt: &t2}}},
		"another time at the same path is another": {[]string{`{"path":"/w/a",` + open + `}`, `{"path":"/w/a","spawned_at":1769882401,` + done + `}`},
			[]snapshot.Spawn{{Path: "/w/a", SpawnedAt: &t1}, {Path: "/w/a", SpawnedAt: new(t1.Add(time.Second)), CompletedAt: &t2}}},
		"a later record that says nothing of it opens it again": {[]string{`{"id":"b1","path":"/w/a",` + open + `,` + done + `}`, `{"id":"b1","label":"l"}`},
			[]snapshot.Spawn{{ID: "b1", Path: "/w/a", Label: "l", SpawnedAt: &t1}}},
		"completed before it was spawned is open": {[]string{`{"id":"b1","path":"/w/a","spawned_at":1769882520,` + done + `}`},
			[]snapshot.Spawn{{ID: "b1", Path: "/w/a", SpawnedAt: &t3}}},
		"a clock in whole seconds": {[]string{`{"path":"/w/a","spawned_at":1769882460.9,` + done + `}`},
			[]snapshot.Spawn{{Path: "/w/a", SpawnedAt: new(t2.Add(900 * time.Millisecond)), CompletedAt: &t2}}},
		"a session without a path": {[]string{`{"session":"worker-1"}`}, []snapshot.Spawn{{Session: "worker-1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, bad, err := records.ParseSpawns([]byte(strings.Join(tc.lines, "\n")+"\n"), records.JSONL)
			if err != nil || bad != 0 {
				t.Fatalf("%d bad, %v", bad, err)
			}
			must.Equal(t, tc.want, got, "lines")
			got, _, err = records.ParseSpawns([]byte("["+strings.Join(tc.lines, ",")+"]"), records.JSON)
			if err != nil {
				t.Fatal(err)
			}
			must.Equal(t, tc.want, got, "array")
		})
	}
}

func TestOneBadRecordFailsTheLedgerAndHidesNoOther(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"path":"w/a"}`: "path is not absolute",
		`{"path":7}`:     "path is not text",
		`{"path":"/w/a","spawned_at":"yesterday"}`:              "spawned_at: ",
		`{"path":"/w/a","completed_at":1}`:                      "completed_at: ",
		`{"path":"/w/a","completed_at":"0001-01-01T00:00:00Z"}`: "completed_at: ",
		`{"id":"unheard-of","completed_at":1769882460}`:         "no earlier record has its id",
		`{}`:                 "names neither",
		`{"path":"/w/a","pa`: "half-written",
		`[]`:                 "not an object",
	} {
		data := `{"path":"/w/first"}` + "\n" + line
		if !strings.Contains(want, "half") {
			data += "\n" + `{"path":"/w/last"}` + "\n"
		}
		got, bad, err := records.ParseSpawns([]byte(data), records.JSONL)
		if err == nil || bad != 1 || !strings.HasPrefix(err.Error(), "line 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %d bad, %v; want line 2 with %q", line, bad, err, want)
		}
		if !slices.ContainsFunc(got, func(s snapshot.Spawn) bool { return s.Path == "/w/first" }) {
			t.Errorf("%s hid the record before it", line)
		}
		if !strings.Contains(want, "half") && !slices.ContainsFunc(got, func(s snapshot.Spawn) bool { return s.Path == "/w/last" }) {
			t.Errorf("%s hid the record after it", line)
		}
	}
	for _, data := range []string{"", "{}", "null", "[", "[1]", "[{}] []"} {
		if got, _, err := records.ParseSpawns([]byte(data), records.JSON); err == nil {
			t.Errorf("%q was read as an array: %v", data, got)
		}
	}
}

func TestReadSpawns(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(dir, "w"), 0o700), os.Symlink("w", filepath.Join(dir, "link"))))
	path := filepath.Join(dir, "spawns.jsonl")
	src, err := records.Source(records.Spawns, "builds", records.JSONL, path, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if src.Name != "spawns/builds" || src.Kind != "spawns" || src.Path != path {
		t.Errorf("source %+v", src)
	}
	if _, err := src.Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no file gave %v; want ErrAbsent", err)
	}
	text := `{"path":"` + dir + `/link/a"}` + "\n" + `{"path":"` + dir + `/w/a","id":"x"}` + "\n" + `{"path":"/gone/b"}` + "\n"
	write := func(text string) {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(text)
	p, err := src.Reader.Read(t.Context())
	want := collectors.Part{
		Spawns: []snapshot.Spawn{
			{Source: "spawns/builds", Path: dir + "/w/a"}, {Source: "spawns/builds", ID: "x", Path: dir + "/w/a"}, {Source: "spawns/builds", Path: "/gone/b"}},
		Named: []string{"/gone/b", dir + "/w/a"},
	}
	slices.Sort(want.Named)
	if d := cmp.Diff(want, p); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	write(text + `{"path":"/w/`)
	p, err = src.Reader.Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), path+": line 4: ") || !p.Partial || len(p.Spawns) != 3 || p.Unreadable != 1 {
		t.Errorf("a half-written line gave %d spawns, partial %v, unreadable %d, %v", len(p.Spawns), p.Partial, p.Unreadable, err)
	}
}

// However a ledger is cut short or damaged, an open spawn is never lost without the ledger having failed.
func FuzzParseSpawns(f *testing.F) {
	f.Add([]byte(`{"id":"a","path":"/w/a","spawned_at":1769882400}`+"\n"), 20)
	f.Add([]byte(`{"path":"/w/a"}`+"\n"+`{"path":"/w/b","completed_at":1769882400}`), 40)
	f.Add([]byte(`{"id":"a","path":"/w"}`+"\n"+`{"id":"a","completed_at":"2026-01-31T18:00:00Z"}`+"\n"), 60)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		for _, format := range []string{records.JSONL, records.JSON} {
			all, bad, err := records.ParseSpawns(data, format)
			if (err == nil) != (bad == 0) {
				t.Fatalf("%d bad records and %v", bad, err)
			}
			for _, s := range all {
				if s.Path != "" && !filepath.IsAbs(s.Path) || s.Path+s.Session+s.Label == "" {
					t.Fatalf("gave %+v", s)
				}
			}
		}
		if cut < 0 || cut > len(data) {
			return
		}
		// Cut at any byte: an error, or the records of the whole lines before the cut.
		before, _, whole := records.ParseSpawns(data[:strings.LastIndexByte(string(data[:cut]), '\n')+1], records.JSONL)
		got, _, err := records.ParseSpawns(data[:cut], records.JSONL)
		if whole == nil && err == nil && len(got) < len(before) {
			t.Fatalf("cut at %d: %d spawns, and %d without the last line", cut, len(got), len(before))
		}
	})
}

// BenchmarkParse is what the strict reading costs, against decoding the same lines into a struct and believing them.
func BenchmarkParse(b *testing.B) {
	const line = `{"id":"build-%d","kind":"review","path":"/home/user/worktrees/acme-review-%d","spawned_at":"2026-01-31T18:00:00Z","completed_at":1769882460,"extra":{"a":[1,2,3]}}` + "\n"
	var data []byte
	for i := range 10_000 {
		data = fmt.Appendf(data, line, i, i)
	}
	b.Run("strict", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, _, err := records.ParseSpawns(data, records.JSONL); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lenient", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for l := range bytes.Lines(data) {
				var rec struct {
					ID, Kind, Path string
					SpawnedAt      time.Time `json:"spawned_at"`
					CompletedAt    float64   `json:"completed_at"`
				}
				must.Do(b, json.Unmarshal(l, &rec))
			}
		}
	})
}
