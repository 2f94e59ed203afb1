package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"winnow/engine/decision"
	"winnow/engine/snapshot"
	"winnow/testkit/attack"
)

// judged is a program with the shipped rules that can do nothing but decide.
func judged(t testing.TB) *app {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("version: 1\nstate: /nowhere/at/all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := loadConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &app{out: io.Discard, errOut: io.Discard, cfg: cfg, log: hclog.NewNullLogger()}
}

// Whatever a saved snapshot holds, reading it and deciding on it is done or says why not; what is no snapshot of this version is
// refused; and nothing is ever reaped from one whose sources were not read.
func FuzzSnapshot(f *testing.F) {
	a := judged(f)
	e, _, err := a.engine(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	head := `{"schema":"` + snapshot.Schema + `","taken_at":"2026-11-20T12:00:00Z"`
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"schema":"winnow.snapshot/v9"}`, head + `}`, head + `,"x":[{}],"spawns":[{"pth":"/w"}]}`,
		head + `,"sources":{"dirs//w":{"kind":"dirs","status":"ok"}},"dirs":{"dir:/w/a-review-12345678":{"source":"dirs//w","path":"/w/a-review-12345678"}}}`,
		head + `,"processes":{"process:7@8":{"source":"proc","pid":-7,"ppid":1e9}},"sources":{"proc":{"status":"ok"}}}`,
		head + `,"sessions":{"session:tmux/default/$1":{"panes":[null,{}]}},"sightings":{"x":null},"holds":[{}],"host":null}`,
		head + `,"dirs":{"":{"path":"../.."}},"terminals":{"\u0000":{}},"tabs":{"tab:":{"panes":[]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSnapshot(data)
		_ = unknownFields(json.NewDecoder(bytes.NewReader(data)), reflect.TypeFor[snapshot.Snapshot]())
		if err != nil {
			return
		}
		if s.Schema != snapshot.Schema || s.TakenAt.IsZero() {
			t.Fatalf("a snapshot of the schema %q, taken at %s, was read", s.Schema, s.TakenAt)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		res, err := e.Decide(ctx, s, &a.cfg.Rules.Config)
		if err != nil {
			return
		}
		for _, d := range res.Decisions {
			if d.Verdict == decision.Reap && !anyRead(s) {
				t.Fatalf("%s is to go, and nothing was read: %s", d.ID, data)
			}
		}
	})
}

func anyRead(s *snapshot.Snapshot) bool {
	for _, src := range s.Sources {
		if src.Status == snapshot.OK {
			return true
		}
	}
	return false
}

func TestUnknownFieldsOfASnapshot(t *testing.T) {
	t.Parallel()
	doc := `{"schema":"x","spwans":[{"path":1}],"spawns":[{"path":"/w","pth":"/w"},{"pth":"/x"}],"dirs":{"dir:/w":{"pat":1,"path":"/w"}}}`
	got := strings.Join(unknownFields(json.NewDecoder(strings.NewReader(doc)), reflect.TypeFor[snapshot.Snapshot]()), "; ")
	for _, want := range []string{"spwans (the nearest is spawns)", "spawns.pth (the nearest is path)", "dirs.*.pat (the nearest is path)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Count(got, ";") != 2 {
		t.Errorf("got %q", got)
	}
}

// Somebody else puts links into the folder while init writes there.
func TestAttackInitWhileLinksAppear(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	a := attack.New(t, "the folder of init gets a link named policies or config.yaml to another folder while it is written")
	program := judged(t)
	for i := range 30 {
		dir := filepath.Join(base, "new")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !stop.Load() {
				for _, name := range []string{"policies", "config.yaml"} {
					_ = os.Symlink(filepath.Join(outside, name), filepath.Join(dir, name))
					_ = unix.Unlink(filepath.Join(dir, name))
				}
				if i%2 == 0 {
					time.Sleep(time.Duration(i) * 10 * time.Microsecond)
				}
			}
		}()
		_ = program.initFolder(dir)
		stop.Store(true)
		<-done
		left, err := os.ReadDir(outside)
		switch {
		case err != nil || len(left) > 0:
			a.Lost("it wrote %v outside of its folder, %v", left, err)
		default:
			a.Held()
		}
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(outside), os.Mkdir(outside, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
}
