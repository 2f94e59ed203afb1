package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// refused loads a file that must not be read: "" where it was refused in time, with a word about what to do next.
func refused(t testing.TB, path, want string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	began := time.Now()
	data, err := records.Load(ctx, path)
	switch {
	case err == nil || len(data) > 0:
		return path + " was read"
	case errors.Is(err, collectors.ErrAbsent):
		return path + " is called absent: " + err.Error()
	case !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path):
		return path + ": " + err.Error()
	case time.Since(began) > wait.Patience:
		return path + " took " + time.Since(began).String()
	}
	return ""
}

func TestAttackARecordsFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700), os.Symlink("/dev/zero", at("link")),
		os.WriteFile(at("writable"), []byte("[]"), 0o600), os.Chmod(at("writable"), 0o666), os.Mkdir(at("open"), 0o700), os.Chmod(at("open"), 0o777),
		os.WriteFile(at("open/file"), []byte("[]"), 0o600)))
	// A FIFO that is open for writing as well is one whose reader waits for ever.
	held, err := os.OpenFile(at("fifo"), os.O_RDWR, 0)
	must.Do(t, err)
	defer held.Close()
	a := attack.New(t, "a FIFO that a process holds open, a device, a folder, a file that others can write or replace as a registry or spawn ledger")
	for name, want := range map[string]string{
		at("fifo"): "not a regular file", at("folder"): "not a regular file", at("link"): "not a regular file", "/dev/zero": "not a regular file",
		"/dev/tty": "not a regular file", at("writable"): "chmod go-w", at("open/file"): "no other user write there",
	} {
		a.Check(refused(t, name, want))
	}
}

func TestAttackARecordsFileOfAnotherUser(t *testing.T) {
	victim, attacker := attack.Users(t)
	shared := filepath.Dir(victim.Home)
	at := func(name string) string { return filepath.Join(shared, name) }
	must.Do(t, errors.Join(os.WriteFile(at("mine"), []byte("[]"), 0o600), os.Mkdir(at("tmp"), 0o777), os.Chmod(at("tmp"), 0o777|os.ModeSticky),
		os.WriteFile(at("tmp/mine"), []byte("[]"), 0o600)))
	attacker.Write(t, at("tmp/file"), "[]", 0o644)
	attacker.Link(t, at("mine"), at("tmp/link"))
	attacker.Mkdir(t, at("folder"), 0o755)
	must.Do(t, os.WriteFile(at("folder/mine"), []byte("[]"), 0o600))
	attacker.Link(t, at("folder"), at("tmp/way"))
	a := attack.New(t, "another user's file, link or folder as a registry or spawn ledger, or on the way to it")
	for _, path := range []string{at("tmp/file"), at("tmp/link"), at("folder/mine"), at("tmp/way/mine")} {
		a.Check(refused(t, path, "belong to this user or root"))
	}
	// What is this user's, also in /tmp and behind a link of his own, is read.
	must.Do(t, os.Symlink(at("mine"), at("own")))
	for _, path := range []string{at("mine"), at("own"), at("tmp/mine")} {
		if data, err := records.Load(t.Context(), path); err != nil || string(data) != "[]" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
}

// What a splitter gives is what encoding/json gives.
func FuzzArray(f *testing.F) {
	for _, s := range []string{`[]`, `[{}]`, `[{"a":1},{"b":[{"c":"]}"}]}]`, ` [ { } , null ] `, `[{"a":"\\\""}]`, `[`, `null`, `[1,2]`, `[{"a":1e9 }]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []records.Record
		bad, err := records.Array(data, func(r records.Record) error { got = append(got, r); return nil })
		if (bad > 0) != (err != nil) {
			t.Fatalf("%d bad and %v", bad, err)
		}
		sameArray(t, data, got, bad)
	})
}

// sameArray holds what was read of an array against encoding/json.
func sameArray(t *testing.T, data []byte, got []records.Record, bad int) {
	t.Helper()
	var want []json.RawMessage
	if json.Unmarshal(data, &want) != nil || want == nil {
		if len(got) > 0 {
			t.Fatalf("%d records of what is no array", len(got))
		}
		return
	}
	if len(got)+bad != len(want) {
		t.Fatalf("%d records and %d bad ones of %d", len(got), bad, len(want))
	}
	for _, r := range got {
		var n int
		must.Get(fmt.Sscanf(r.Place, "record %d", &n))(t)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(want[n-1], &fields); err != nil || len(fields) != len(r.Fields) {
			t.Fatalf("%s: %d fields of %d, %v", r.Place, len(r.Fields), len(fields), err)
		}
		for key, raw := range fields {
			if string(r.Fields[key]) != string(raw) {
				t.Fatalf("%s: %q is %q and was read as %q", r.Place, key, raw, r.Fields[key])
			}
		}
	}
}
