package records_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// Fields may be called otherwise in every document, and a field that is not named keeps our name.
func TestFieldsOfAnyDocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, format, text string
		fields             map[string]string
	}{
		{records.Spawns, records.JSONL, `{"run":{"id":"a"},"path":"/w","at":1769882400}`, map[string]string{"id": "run.id", "spawned_at": "at"}},
		{records.Spawns, records.JSON, `[{"name":"a","path":"/w","spawned_at":1769882400}]`, map[string]string{"id": "name"}},
		{records.Registry, records.JSONL, `{"name":"a","path":"/w","terminal":true}`, map[string]string{"id": "name"}},
		{records.Registry, records.JSON, `[{"id":"a","path":"/w","over":true}]`, map[string]string{"terminal": "over"}},
	} {
		path := filepath.Join(t.TempDir(), "file")
		must.Do(t, os.WriteFile(path, []byte(tc.text), 0o600))
		src, err := records.Source(tc.kind, "x", tc.format, path, records.Options{Fields: tc.fields})
		if err != nil {
			t.Fatal(err)
		}
		p, err := src.Reader.Read(t.Context())
		all := append(p.Spawns, p.Registry...)
		if err != nil || len(all) != 1 || all[0].ID != "a" || all[0].Path != "/w" || (all[0].SpawnedAt == nil && all[0].Terminal == nil) {
			t.Errorf("%s %s: %+v, %v", tc.kind, tc.format, all, err)
		}
	}
}

// Only the configured words say that an owner has ended, and an empty one says nothing of a record without a status.
func TestWhatIsOverIsConfigured(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "workers.json")
	must.Do(t, os.WriteFile(path, []byte(`[{"slug":"a","status":"Completed"},{"slug":"b","status":"merged"},{"slug":"c"}]`), 0o600))
	for want, words := range map[[3]bool][]string{
		{true, false, false}:  over,
		{false, true, false}:  {"merged", ""},
		{false, false, false}: nil,
	} {
		src, err := records.Source(records.Registry, "kapi", records.Kapi, path, records.Options{Over: words})
		if err != nil {
			t.Fatal(err)
		}
		p, err := src.Reader.Read(t.Context())
		if err != nil || len(p.Registry) != 3 {
			t.Fatalf("%v, %v", p.Registry, err)
		}
		for i, e := range p.Registry {
			if *e.Terminal != want[i] {
				t.Errorf("%q: %s %q has ended: %v", words, e.ID, e.Status, *e.Terminal)
			}
		}
	}
}
