package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"winnow/collectors"
	"winnow/collectors/store"
	shepherdtest "winnow/testkit/shepherd"
)

func TestWhereShepherdKeepsItsStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, home := range []string{"home", "linked", "without"} {
		ok(t, os.MkdirAll(at(home+"/.shepherd"), 0o700))
	}
	ok(t, os.WriteFile(at("home/.shepherd/shepherd.db"), nil, 0o600))
	ok(t, os.Symlink("nowhere", at("linked/.shepherd/shepherd.db")))
	ok(t, os.WriteFile(at("other.db"), nil, 0o600))
	ok(t, os.Mkdir(at("flat"), 0o700))
	ok(t, os.WriteFile(at("flat/.shepherd"), nil, 0o600))
	wd, err := os.Getwd()
	ok(t, err)
	for name, tc := range map[string]struct {
		env, home, want string
		ok              bool
	}{
		"its own place":              {"", at("home"), at("home/.shepherd/shepherd.db"), true},
		"where it is told to":        {at("other.db"), at("home"), at("other.db"), true},
		"nowhere":                    {"", at("without"), at("without/.shepherd/shepherd.db"), false},
		"no folder":                  {"", at("none"), at("none/.shepherd/shepherd.db"), false},
		"a file for a folder":        {"", at("flat"), at("flat/.shepherd/shepherd.db"), false},
		"told a place with nothing":  {at("none.db"), at("home"), at("none.db"), false},
		"a link that leads nowhere":  {"", at("linked"), at("linked/.shepherd/shepherd.db"), true},
		"nobody's home":              {"", "", filepath.Join(wd, ".shepherd/shepherd.db"), true},
		"a place nobody can resolve": {"data/s.db", at("home"), filepath.Join(wd, "data/s.db"), true},
	} {
		env := func(key string) string { return map[string]string{"SHEPHERD_DB": tc.env}[key] }
		if got, found := store.Shepherd(env, tc.home); got != tc.want || found != tc.ok {
			t.Errorf("%s gave %s, %v", name, got, found)
		}
	}
	if os.Geteuid() == 0 {
		return // root may look everywhere
	}
	ok(t, os.Chmod(at("home/.shepherd"), 0))
	_, found := store.Shepherd(func(string) string { return "" }, at("home"))
	ok(t, os.Chmod(at("home/.shepherd"), 0o700))
	if !found {
		t.Error("a folder that may not be entered was passed over")
	}
}

func TestWhatIsSaidOfAShepherdStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := shepherdtest.New(t, filepath.Join(dir, "shepherd.db"))
	s.Insert("sessions", shepherdtest.Sessions(t)...)
	rows, err := store.ReadShepherd(t.Context(), s.Path, "sessions", "id", "status")
	if err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	s.Exec("ALTER TABLE sessions RENAME COLUMN status TO state")
	_, err = store.ReadShepherd(t.Context(), s.Path, "sessions", "id", "status")
	if err == nil || !strings.Contains(err.Error(), "table sessions has no column status; a newer or older Shepherd") {
		t.Errorf("a store of another version gave %v", err)
	}
	if _, err := store.ReadShepherd(t.Context(), filepath.Join(dir, "none"), "sessions", "id"); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("no store gave %v", err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
