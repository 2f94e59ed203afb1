package saved_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const document = `{"schema": "winnow.snapshot/v1", "taken_at": "2026-11-20T18:00:00Z", "sources": {}, "processes": {"process:1@2": {}, "process:3@4": {}}%s}`

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Get(z.Write([]byte(text)))(t)
	must.Do(t, z.Close())
	return b.String()
}

// TestReadLabelled reads snapshots as they are and compressed, with labels inside of them, beside them and both.
func TestReadLabelled(t *testing.T) {
	t.Parallel()
	with := func(more string) string { return strings.Replace(document, "%s", more, 1) }
	both := map[string]string{"process:1@2": "live", "process:3@4": "dead"}
	for name, c := range map[string]struct {
		file, text, beside string
		want               map[string]string
		wrong              string
	}{
		"none":              {file: "s.json", text: with("")},
		"inside":            {file: "s.json", text: with(`, "labels": {"process:1@2": "live", "process:3@4": "dead"}`), want: both},
		"compressed":        {file: "s.json.gz", text: zipped(t, with(`, "labels": {"process:1@2": "live", "process:3@4": "dead"}`)), want: both},
		"beside":            {file: "s.json", text: with(""), beside: "labels:\n  process:1@2: live\n  process:3@4: dead\n", want: both},
		"beside compressed": {file: "s.json.gz", text: zipped(t, with("")), beside: "labels: {\"process:1@2\": live, \"process:3@4\": dead}\n", want: both},
		"both":              {file: "s.json", text: with(`, "labels": {"process:1@2": "live"}`), beside: "labels: {\"process:3@4\": dead, \"process:1@2\": live}", want: both},
		"they differ":       {file: "s.json", text: with(`, "labels": {"process:1@2": "live"}`), beside: "labels: {\"process:1@2\": dead}", wrong: "is dead there and live in the snapshot"},
		"no such candidate": {file: "s.json", text: with(""), beside: "labels: {\"process:9@9\": live}", wrong: `holds no candidate "process:9@9"`},
		"no such candidate inside": {
			file: "s.json", text: with(`, "labels": {"dir:/w/x": "live"}`), wrong: `holds no candidate "dir:/w/x"`,
		},
		"no label":      {file: "s.json", text: with(`, "labels": {"process:1@2": "alive"}`), wrong: `is "alive"; a label is live or dead; the nearest is "live"`},
		"another key":   {file: "s.json", text: with(""), beside: "label: {}", wrong: `unknown key "label"`},
		"no labels":     {file: "s.json", text: with(""), beside: "process:1@2: live", wrong: "unknown key"},
		"a list":        {file: "s.json", text: with(""), beside: "labels: [a]", wrong: "labels is"},
		"twice":         {file: "s.json", text: with(""), beside: "labels:\n  process:1@2: live\n  process:1@2: dead\n", wrong: "twice"},
		"no gzip":       {file: "s.json.gz", text: "\x1f\x8bxxxx", wrong: "begins as gzip does"},
		"cut off":       {file: "s.json.gz", text: zipped(t, with(""))[:40], wrong: "breaks off"},
		"too much":      {file: "s.json.gz", text: zipped(t, strings.Repeat(" ", 64<<20+1)), wrong: "unpacks to more than 64 MiB"},
		"more behind":   {file: "s.json", text: with("") + "}", wrong: "invalid character"},
		"two of them":   {file: "s.json", text: with("") + with(""), wrong: "invalid character"},
		"no snapshot":   {file: "s.json.gz", text: zipped(t, "{}"), wrong: "its schema is"},
		"gzipped twice": {file: "s.json.gz", text: zipped(t, zipped(t, with(""))), wrong: "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, c.file)
			must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
			if c.beside != "" {
				must.Do(t, os.WriteFile(filepath.Join(dir, "s.labels.yaml"), []byte(c.beside), 0o600))
			}
			s, _, err := saved.ReadLabelled(t.Context(), file)
			if c.wrong != "" {
				if err == nil || s != nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), file) {
					t.Fatalf("want no snapshot and an error with %q, got %v, %v", c.wrong, s, err)
				}
				return
			}
			must.Do(t, err)
			if diff := cmp.Diff(c.want, s.Labels); diff != "" {
				t.Error(diff)
			}
		})
	}
}
