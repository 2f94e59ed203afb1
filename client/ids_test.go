package client_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/client"
)

// FuzzEscapeID holds that an escaped name is UTF-8, means the name and no other, and that a name which JSON carries stays as it is.
func FuzzEscapeID(f *testing.F) {
	for _, name := range []string{"dir:/w/a", "dir:/w/bad\xff", "dir:/w/%FF", "%:dir:/w/%FF", "%:", "dir:/w/\ufffd", "dir:/ä b/\n?#"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id := client.EscapeID(name)
		if client.UnescapeID(id) != name || !utf8.ValidString(id) || strings.ContainsRune(id, utf8.RuneError) {
			t.Errorf("%q became %q, and %q", name, id, client.UnescapeID(id))
		}
		if plain := !strings.ContainsRune(name, utf8.RuneError) && !strings.HasPrefix(name, "%:"); plain && id != name {
			t.Errorf("%q became %q", name, id)
		}
	})
}

// TestDocumentsCarryEveryID holds that ids come back as they were, wherever they stand, and that the document itself is not written to.
func TestDocumentsCarryEveryID(t *testing.T) {
	t.Parallel()
	type inner struct{ ID *string }
	type document struct {
		ID  string
		All []inner
		By  map[string]any
		Raw json.RawMessage
	}
	for _, id := range []string{"dir:/w/bad\xff", "dir:/w/\ufffd", "%:dir:/w/x", "dir:/w/x", "%:%FF"} {
		doc := document{ID: id, All: []inner{{&id}, {}}, By: map[string]any{id: []any{id, 7.0, nil}}, Raw: json.RawMessage(`{"a":1}`)}
		data, err := client.Marshal(&doc, json.Marshal)
		if err != nil || doc.ID != id || *doc.All[0].ID != id {
			t.Fatal(doc, err)
		}
		var got document
		if err := client.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, doc) {
			t.Errorf("%q: %s became %+v, %v", id, data, got, err)
		}
	}
	if data, err := client.Marshal(map[string]string{"message": "no \xff id"}, json.Marshal); err != nil || string(data) != `{"message":"no \ufffd id"}` {
		t.Errorf("a text that is no id: %s, %v", data, err)
	}
	if data, err := client.Marshal(nil, json.Marshal); err != nil || string(data) != "null" {
		t.Errorf("no document: %s, %v", data, err)
	}
}
