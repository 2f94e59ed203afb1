package gitsafe

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// configs are seeds for the fuzzing, and what the two readers are held against one another on in any case.
var configs = []string{
	"[core]\n\tbare = true\n", "[core] bare\n", "[CORE]\nBare=false", "[filter \"x\"]\n\tclean = y\n", "[filter.X \"y\"]\n\tclean = z\n",
	"[filter.X]\nclean=z\n", "[a][b \"c\"] d = e\n", "[a] b = \\\n c\n", "[a] b = \"c # d\" # e\n", "[a \"\\x\\\"\\\\\"]\nb\n",
	"\xef\xbb\xbf[a]\nb=c\n", "[a]\r\nb = c\r\n", "[a]\nb = c \t d  \n", "[a]\nb = \\t\\n\\b\\\\\\\"\n", "[a \t \"b\"]\tc\t=\td\n",
	"# [a]\n; [b]\n[c] d = e ; f\n", "[a]\nb = [c]\n", "[a \"b]c\"]\nd=\n", "[a.b.c \"d.e\"]\nf-g1 = h\n", "[a]\nb = c\\\r\nd\n", "[include]\npath = x\n",
	// What neither takes.
	"[a", "[a \"b\n\"]\nc\n", "[a]\n1b = c\n", "[a]\nb c\n", "[a]\nb = \"c\n", "[a]\nb = \\q\n", "[a \"b\" ]\nc\n", "[a_b]\nc\n", "\xef\xbb[a]\n", "x\n",
}

func TestConfigAgainstGit(t *testing.T) {
	t.Parallel()
	read := 0
	for _, text := range configs {
		if againstGit(t, []byte(text)) {
			read++
		}
	}
	if want := len(configs) - 10; read != want {
		t.Errorf("%d of %d configurations were read, want %d", read, len(configs), want)
	}
}

// FuzzConfigAgainstGit holds our reader against git's: the same names and values, or an error of ours. What git refuses is an error
// of ours too.
func FuzzConfigAgainstGit(f *testing.F) {
	for _, text := range configs {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4096 {
			againstGit(t, data)
		}
	})
}

// againstGit says whether ours was read without an error.
func againstGit(t *testing.T, data []byte) bool {
	t.Helper()
	vars, err := ParseConfig(data)
	if err != nil {
		return false
	}
	cmd := exec.Command("git", "config", "--file", "-", "--no-includes", "--list", "-z")
	cmd.Env, cmd.Stdin, cmd.Dir = Environ(os.Environ()), bytes.NewReader(data), os.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("git refuses %q (%v), and we read %+v", data, err, vars)
		return false
	}
	var ours strings.Builder
	for _, v := range vars {
		ours.WriteString(v.Name)
		if v.Assigned {
			ours.WriteString("\n" + v.Value)
		}
		ours.WriteByte(0)
	}
	// Versions of git differ in which kind of space they make of one inside of a value.
	spaces := strings.NewReplacer("\t", " ", "\r", " ")
	if diff := cmp.Diff(spaces.Replace(string(out)), spaces.Replace(ours.String())); diff != "" {
		t.Errorf("%q (-git +ours):\n%s", data, diff)
		return false
	}
	return true
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Format
		err  string
	}{
		{"[core]\n\tbare = true\n", Format{Bare: true}, ""},
		{"[core] bare\n", Format{Bare: true}, ""},
		{"[core]\nbare=true\n[CORE]\nBare = false\n", Format{}, ""},
		{"[core]\n\tworktree = \"../a b\"\n", Format{Worktree: "../a b"}, ""},
		{"[core]\nrepositoryformatversion=1\n[extensions]\n\tobjectFormat = sha256\n\trefStorage = reftable\n", Format{SHA256: true, Reftable: true}, ""},
		{"[extensions]\nworktreeConfig\n", Format{OwnConfig: true}, ""},
		{"[core]\nrepositoryformatversion=1\n[extensions]\nnew = true\n", Format{}, "extensions.new"},
		{"[core]\nrepositoryformatversion=0\n[extensions]\nnew = true\n", Format{}, ""},
		{"[core]\nrepositoryformatversion=2\n", Format{}, "version"},
		{"[extensions]\nobjectformat = sha256\n", Format{}, "needs version 1"},
		{"[core]\nrepositoryformatversion=1\n[extensions]\nobjectformat = sha512\n", Format{}, "sha512"},
		{"[core]\nbare = maybe\n", Format{}, "core.bare"},
		{"[include]\npath = x\n", Format{}, ""},
	}
	for _, tt := range tests {
		vars := must.Get(ParseConfig([]byte(tt.in)))(t)
		got, err := FormatOf(vars)
		if diff := cmp.Diff(tt.want, got); diff != "" || tt.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: want an error with %q, got %v\n%s", tt.in, tt.err, err, diff)
		}
	}
}
