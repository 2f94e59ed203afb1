package config

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestProtectingKeepsTheRest adds a glob to files of every shape: the list has the old and the new, and every old line is still there.
func TestProtectingKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", "version: 1\n\nrules:\n  protected:\n    - '/w/a''b'\n"},
		{"# mine\n", "# mine\nversion: 1\n\nrules:\n  protected:\n    - '/w/a''b'\n"},
		{"version: 1 # one\n\n# two\nact: {kinds: [dir]}", "version: 1 # one\n\n# two\nact: {kinds: [dir]}\n\nrules:\n  protected:\n    - '/w/a''b'\n"},
		{"version: 1\nrules:\n    # how long\n    landed_after: 2d\n\n    shells: [sh]\n", "version: 1\nrules:\n    protected:\n      - '/w/a''b'\n    # how long\n    landed_after: 2d\n\n    shells: [sh]\n"},
		{"version: 1\nrules: {landed_after: 2d} # short\n", "version: 1\nrules: {protected: ['/w/a''b'], landed_after: 2d} # short\n"},
		{"version: 1\nrules: {}\n", "version: 1\nrules: {protected: ['/w/a''b']}\n"},
		{"version: 1\nrules:\n  protected: [] # none\n  landed_after: 2d\n", "version: 1\nrules:\n  protected: ['/w/a''b'] # none\n  landed_after: 2d\n"},
		{"version: 1\nrules:\n  protected: [\"x]\", 'y''', z] # three\n", "version: 1\nrules:\n  protected: ['/w/a''b', \"x]\", 'y''', z] # three\n"},
		{"version: 1\nrules:\n  protected:\n  - x # first\n  # second\n  - y # last\n  landed_after: 2d # then\n", "version: 1\nrules:\n  protected:\n  - '/w/a''b'\n  - x # first\n  # second\n  - y # last\n  landed_after: 2d # then\n"},
		{"version: 1\nrules:\n  protected: [a,\n    b]\n", "version: 1\nrules:\n  protected: ['/w/a''b', a,\n    b]\n"},
		{"version: 1\nrules:\n  protected:\n    # of ann\n    - {match: {path: x}}\n", "version: 1\nrules:\n  protected:\n    - '/w/a''b'\n    # of ann\n    - {match: {path: x}}\n"},
		{"version: 1\nrules:\n  protected:\n    - x\n    - /w/a'b\n", "version: 1\nrules:\n  protected:\n    - x\n    - /w/a'b\n"},
	} {
		got, err := Protecting(c.in, []string{"/w/a'b", "/w/a'b"})
		if err != nil || got != c.want {
			t.Errorf("%q: %v\n got %q\nwant %q", c.in, err, got, c.want)
		}
	}
}

// TestProtectingRefusesWhatItCannotWrite holds that a file of another shape is left for a person.
func TestProtectingRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"version: 1\nrules: 3\n", "version: 1\nrules:\n", "version: 1\nrules:\n  protected: x\n", "version: 1\nrules:\n  protected:\n", "{version: 1}\n",
		"version: [1\n",
	} {
		if got, err := Protecting(in, []string{"/w/a"}); err == nil {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// FuzzProtecting holds of any file that what is written has the glob, keeps every line that was not a line of the list, and is YAML.
func FuzzProtecting(f *testing.F) {
	f.Add("version: 1\nrules:\n  protected: [a]\n", "/w/x")
	f.Add("rules:\n  protected:\n  - a\n  - 'b'\n", "it's")
	f.Fuzz(func(t *testing.T, data, glob string) {
		if strings.ContainsFunc(glob, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
			return
		}
		out, err := Protecting(data, []string{glob})
		if err != nil {
			return
		}
		list, _, err := takeProtected(out)
		if err != nil || !slices.Contains(list, any(glob)) {
			t.Fatalf("%q and %q gave %q, with %q, %v", data, glob, out, list, err)
		}
		var doc any
		must.Do(t, yaml.Unmarshal([]byte(out), &doc))
	})
}
