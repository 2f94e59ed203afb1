package records_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestParseDocuments(t *testing.T) {
	t.Parallel()
	a, b := snapshot.Entry{ID: "a", Status: "running"}, snapshot.Entry{ID: "b", Status: "archived"}
	for text, want := range map[string][]snapshot.Entry{
		`[]`: nil,
		`{}`: nil,
		`[{"id":"b","status":"Archived "},{"id":"a","status":"running"}]`:                                   {a, b},
		`{"version":3,"entries":[{"id":"a","status":"running"}]}`:                                           {a},
		`{"sessions":[{"id":"a","status":"running"}],"taken_at":"x"}`:                                       {a},
		`{"workers":{"a":{"status":"running"},"b":{"id":"b","status":"archived"}}}`:                         {a, b},
		`{"b":{"status":"archived"},"a":{"status":"running"}}`:                                              {a, b},
		`[{"id":7,"status":"x"}]`:                                                                           {{ID: "7", Status: "x"}},
		`[{"id":"a","status":"running","path":"/w/a"},{"id":"a","status":"running","path":"/w/b"}]`:         {{ID: "a", Status: "running", Path: "/w/a", Own: new(true)}, {ID: "a", Status: "running", Path: "/w/b", Own: new(true)}},
		`[{"id":"a","status":"running"},{"id":"a","status":"RUNNING"}]`:                                     {a},
		`[{"id":"a","terminal":false,"retained":true,"pid":42}]`:                                            {{ID: "a", Terminal: new(false), Retained: new(true), PID: new(42)}},
		`[{"id":"a","terminal":null,"retained":null,"pid":null,"ended_at":null,"status":null,"path":null}]`: {{ID: "a"}},
		`[{"id":"a","session":"worker-1","role":"builder","marker":"m","started_at":1769882400,"ended_at":"2026-01-31T18:00:00Z","more":1}]`: {
			{ID: "a", Session: "worker-1", Role: "builder", Marker: "m", StartedAt: &t1, EndedAt: &t1}},
	} {
		got, bad, err := records.ParseEntries([]byte(text), records.JSON)
		if err != nil || bad != 0 {
			t.Errorf("%s: %d bad, %v", text, bad, err)
		}
		must.Equal(t, want, got, "%s", text)
	}
	got, _, err := records.ParseEntries([]byte(`{"id":"b","status":"archived"}`+"\n"+`{"id":"a","status":"running"}`+"\n"), records.JSONL)
	if d := cmp.Diff([]snapshot.Entry{a, b}, got); err != nil || d != "" {
		t.Errorf("lines: %v (-want +got):\n%s", err, d)
	}
}

func TestWhatARegistryMayNotSay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                 "ends before",
		`null`:                             "not an object",
		`7`:                                "not an object",
		`[{"id":"a"}`:                      "read array",
		`[null]`:                           "record 1: it is not an object",
		`[{"status":"running"}]`:           "record 1: it has no id",
		`[{"id":""}]`:                      "record 1: it has no id",
		`[{"id":"a"},{"id":["b"]}]`:        "record 2: id is neither",
		`[{"id":"a","path":"w"}]`:          "path is not absolute",
		`[{"id":"a","terminal":"yes"}]`:    "terminal is neither true nor false",
		`[{"id":"a","retained":1}]`:        "retained is neither true nor false",
		`[{"id":"a","pid":0}]`:             "pid 0 is not a valid process id",
		`[{"id":"a","pid":4294967296}]`:    "is not a valid process id",
		`[{"id":"a","ended_at":"soon"}]`:   "ended_at: ",
		`{"entries":[],"workers":[]}`:      "entries and workers",
		`{"entries":7}`:                    "entries: it is not an object",
		`{"entries":null}`:                 "entries: it is not an object",
		`{"a":{"status":"x"},"version":1}`: `record "version": it is not an object`,
		`{"a":null}`:                       `record "a": it is not an object`,
		`{"a":{"id":"b"}}`:                 `its key is "a" and its id is "b"`,
		`{"a":{"status":"x"},"a":{"status":"y"}}`:                        "stands twice",
		`[{"id":"a","status":"running"},{"id":"a","status":"archived"}]`: "contradicts itself",
		`[{"id":"a","terminal":true},{"id":"a"}]`:                        "contradicts itself",
		`[{"id":"a","retained":true},{"id":"a","retained":false}]`:       "contradicts itself",
	} {
		got, bad, err := records.ParseEntries([]byte(text), records.JSON)
		if err == nil || bad == 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %+v, %d bad, %v; want an error with %q", text, got, bad, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.Symlink(".", filepath.Join(dir, "link")))
	path := filepath.Join(dir, "workers.json")
	src, err := records.Source(records.Registry, "workers", records.JSON, path, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no file gave %v; want ErrAbsent", err)
	}
	for text, partial := range map[string]bool{
		`[{"id":"a","path":"` + dir + `/link/w"},{"id":"b","path":"` + dir + `/w"}]`:           false,
		`[{"id":"a","path":"` + dir + `/link/w"},{"id":"b","path":"` + dir + `/w"},{"id":[]}]`: true,
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := src.Reader.Read(t.Context())
		if (err != nil) != partial || err != nil && !strings.Contains(err.Error(), path+": record 3: ") {
			t.Errorf("%s gave %v", text, err)
		}
		want := collectors.Part{
			Registry: []snapshot.Entry{{Source: "registry/workers", ID: "a", Path: dir + "/w", Own: new(true), Endless: new(true)}, {Source: "registry/workers", ID: "b", Path: dir + "/w", Own: new(true), Endless: new(true)}},
			Named:    []string{dir + "/w"}, Partial: partial,
		}
		if partial {
			want.Unreadable = 1
		}
		must.Equal(t, want, p, "%s", text)
	}
}

func TestSourceRefusesWhatItDoesNotRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, name, format, path, want string }{
		{records.Registry, "s", "yaml", "/x", "it reads json, jsonl, shepherd, kapi, codev, agent-orchestrator and claude-jobs"}, {records.Registry, "", "json", "/x", "no name"},
		{records.Registry, "s", "json", "~/x", "not absolute"}, {records.Spawns, "", "jsonl", "/x", "no name"},
		{records.Spawns, "s", "codev", "/x", "it reads jsonl, json and shepherd"}, {records.Spawns, "s", "", "/x", "this version does not read"},
		{records.Spawns, "s", "jsonl", "x", "not absolute"},
	} {
		if _, err := records.Source(tc.kind, tc.name, tc.format, tc.path, records.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v gave %v", tc, err)
		}
	}
}

// For every content of the file, each entry has an id, no id has two statuses without an error, and the same text reads the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`[{"id":"a","status":"X"}]`, `{"entries":[{"id":1}]}`, `{"a":{"pid":3}}`, `{"workers":{"a":{"terminal":true}}}`,
		`[{"id":"a"},{"id":"a","status":"b"}]`, `{"id":"a","path":"/w"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []string{records.JSON, records.JSONL} {
			all, bad, err := records.ParseEntries(data, format)
			if (err == nil) != (bad == 0) {
				t.Fatalf("%d bad entries and %v", bad, err)
			}
			status := map[string]string{}
			for _, e := range all {
				before, twice := status[e.ID]
				if e.ID == "" || err == nil && twice && before != e.Status {
					t.Fatalf("gave %+v after status %q", e, before)
				}
				status[e.ID] = e.Status
			}
			again, _, err2 := records.ParseEntries(data, format)
			if d := cmp.Diff(all, again); d != "" || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
				t.Fatalf("read twice: %v, %v\n%s", err, err2, d)
			}
		}
	})
}
