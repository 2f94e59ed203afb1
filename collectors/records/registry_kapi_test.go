package records_test

import (
	"maps"
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

// readKapi reads text as a registry of Kapi's with the given names.
func readKapi(t *testing.T, text string, fields map[string]string) (collectors.Part, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workers.json")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	src, err := records.Source(records.Registry, "kapi", records.Kapi, path, records.Options{Fields: fields, Over: over})
	if err != nil {
		t.Fatal(err)
	}
	if src.Name != "registry/kapi" || src.Format != "kapi" {
		t.Errorf("the source is %+v", src)
	}
	return src.Reader.Read(t.Context())
}

func TestKapi(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"id": "worker.slug", "status": "state", "session": "runtime.tmux.session", "retained": "keep", "path": "worktree", "role": "kind",
		"started_at": "times.started", "ended_at": "times.ended", "pid": "runtime.pid", "marker": "token",
	}
	for _, tc := range []struct {
		text   string
		fields map[string]string
		want   []snapshot.Entry
	}{
		{text: `[]`},
		{text: `[{"slug":"a","status":"Running","session":"s-a","retention":{"retained":false}}]`,
			want: []snapshot.Entry{{ID: "a", Status: "running", Session: "s-a", Retained: new(false), Terminal: new(false)}}},
		{text: `{"workers":{"b":{"slug":"b","status":"completed","retention":{"retained":true,"by":"me"}},"c":{"status":"failed"},"d":{"status":"Cancelled","retention":null}}}`,
			want: []snapshot.Entry{
				{ID: "b", Status: "completed", Retained: new(true), Terminal: new(true)},
				{ID: "c", Status: "failed", Terminal: new(true)},
				{ID: "d", Status: "cancelled", Terminal: new(true)},
			}},
		// A status that means ended elsewhere does not mean it for Kapi, nor does a missing one; other fields about the end are not read.
		{text: `[{"slug":"a","status":"archived","terminal":true},{"slug":"b","terminal":true,"path":"not/absolute","pid":"x","retained":true}]`,
			want: []snapshot.Entry{{ID: "a", Status: "archived", Terminal: new(false)}, {ID: "b", Terminal: new(false)}}},
		{text: `[{"worker":{"slug":"a"},"state":"completed","runtime":{"tmux":{"session":"s"},"pid":7},"keep":true,"worktree":"/w/a","kind":"builder",
			"times":{"started":1769882400,"ended":"2026-01-31T18:00:00Z"},"token":"m","slug":"other","status":"running"}]`, fields: all,
			want: []snapshot.Entry{{ID: "a", Status: "completed", Terminal: new(true), Session: "s", Retained: new(true), Path: "/w/a", Own: new(true), Role: "builder",
				StartedAt: &t1, EndedAt: &t1, PID: new(7), Marker: "m"}}},
		// What is not configured keeps its name.
		{text: `[{"slug":"a","status":"failed","tmux":"s"}]`, fields: map[string]string{"session": "tmux"},
			want: []snapshot.Entry{{ID: "a", Status: "failed", Terminal: new(true), Session: "s"}}},
	} {
		p, err := readKapi(t, tc.text, tc.fields)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
		}
		for i := range tc.want {
			tc.want[i].Source, tc.want[i].Endless = "registry/kapi", new(tc.want[i].EndedAt == nil)
		}
		must.Equal(t, tc.want, p.Registry, "%s", tc.text)
	}
}

// An entry that cannot be read says so by the file's own names, and fails the source.
func TestWhatKapiMayNotSay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"status":"completed"}]`:                                                      "record 1: it has no id",
		`[{"slug":["a"]}]`:                                                              "record 1: slug is neither text nor a whole number",
		`[{"slug":"a","retention":{"retained":"yes"}}]`:                                 "record 1: retention.retained is neither true nor false",
		`[{"slug":"a","retention":true}]`:                                               "record 1: retention: it is not an object",
		`[{"slug":"a","retention":{"retained":true,"retained":false}}]`:                 "stands twice",
		`[{"slug":"a","status":7}]`:                                                     "record 1: status is not text",
		`[{"slug":"a","retention":{"retained":true}},{"slug":"a"}]`:                     "contradicts itself",
		`{"a":{"slug":"b"}}`:                                                            `its key is "a" and its id is "b"`,
		`[{"slug":"a","status":"completed"},{"slug":"b","status":"completed","half":1]`: "read array",
	} {
		p, err := readKapi(t, text, nil)
		if err == nil || p.Unreadable == 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %+v, %v; want an error with %q", text, p, err, want)
		}
	}
	if _, err := readKapi(t, `[{"slug":"a","times":{"ended":"soon"}}]`, map[string]string{"ended_at": "times.ended"}); err == nil ||
		!strings.Contains(err.Error(), "times.ended: it is not an RFC 3339 time") {
		t.Errorf("an invalid time gave %v", err)
	}
}

func TestFieldsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format string
		fields map[string]string
		want   string
	}{
		{records.Kapi, map[string]string{"slug": "id"}, `there is no field "slug"`},
		{records.Kapi, map[string]string{"id": ""}, `the field id is ""`},
		{records.Kapi, map[string]string{"retained": "retention..retained"}, `the field retained is "retention..retained"`},
		{records.JSON, map[string]string{"slug": "id"}, `there is no field "slug"`},
		{records.Shepherd, map[string]string{"id": "slug"}, "fields are for the formats json, jsonl and kapi, and this one is shepherd"},
	} {
		if _, err := records.Source(records.Registry, "w", tc.format, "/x", records.Options{Fields: tc.fields}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v gave %v", tc, err)
		}
	}
}

// The names of one source are no other's.
func TestMappedKeepsItsNamesApart(t *testing.T) {
	t.Parallel()
	mine := map[string]string{"id": "name"}
	given := maps.Clone(mine)
	p, err := readKapi(t, `[{"name":"a","slug":"b"}]`, mine)
	if err != nil || len(p.Registry) != 1 || p.Registry[0].ID != "a" {
		t.Errorf("gave %+v, %v", p.Registry, err)
	}
	if p, err = readKapi(t, `[{"name":"a","slug":"b"}]`, nil); err != nil || len(p.Registry) != 1 || p.Registry[0].ID != "b" {
		t.Errorf("then %+v, %v", p.Registry, err)
	}
	if d := cmp.Diff(given, mine); d != "" {
		t.Errorf("the given names were changed:\n%s", d)
	}
}
