package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/sys/git/index"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

var (
	one  = strings.Repeat("1", 40)
	two  = strings.Repeat("2", 40)
	zero = strings.Repeat("0", 40)
	long = strings.Repeat("a", 64)
)

func TestParseGitfile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"gitdir: /a/b\n", "/a/b", true},
		{"gitdir: ../a b/.git/worktrees/x\r\n", "../a b/.git/worktrees/x", true},
		{"gitdir: /a\nb\n", "/a\nb", true},
		{"gitdir: /a", "/a", true},
		{"gitdir: \n", "", false},
		{"gitdir:/a\n", "", false},
		{"", "", false},
		{"gitdir: /a\x00b\n", "", false},
	}
	for _, tt := range tests {
		got, err := ParseGitfile([]byte(tt.in))
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: want %q, got %q, %v", tt.in, tt.want, got, err)
		}
	}
}

func TestParseHead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, ref, oid string
		ok           bool
	}{
		{"ref: refs/heads/main\n", "refs/heads/main", "", true},
		{"ref:\trefs/heads/a/b", "refs/heads/a/b", "", true},
		{one + "\n", "", one, true},
		{long + "\n", "", long, true},
		{one + "\tnot-for-merge\tbranch 'x'\n" + two + "\n", "", one, true},
		{"ref: refs/heads/../../../etc/passwd\n", "", "", false},
		{"ref: HEAD\n", "", "", false},
		{"ref: refs/heads//x\n", "", "", false},
		{one[1:] + "\n", "", "", false},
		{strings.Repeat("g", 40), "", "", false},
		{"", "", "", false},
	}
	for _, tt := range tests {
		ref, oid, err := parseHead([]byte(tt.in))
		if ref != tt.ref || oid != tt.oid || (err == nil) != tt.ok {
			t.Errorf("%q: want %q %q, got %q %q, %v", tt.in, tt.ref, tt.oid, ref, oid, err)
		}
	}
}

func TestParsePacked(t *testing.T) {
	t.Parallel()
	got, err := parsePacked([]byte("# pack-refs with: peeled fully-peeled sorted\n" + one + " refs/heads/a b\n" + two + " refs/tags/v1\n^" + one + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	must.Equal(t, map[string]string{"refs/heads/a b": one, "refs/tags/v1": two}, got, "result")
	if got, err := parsePacked([]byte("nonsense\n")); err == nil {
		t.Errorf("no error and %v", got)
	}
}

func TestMade(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"commit: x": true, "commit (initial): x": true, "commit (amend): x": true, "commit (merge): x": true, "commit: fast-forward it": true,
		"cherry-pick: x": true, "cherry-pick: fast-forward": false, "revert: Revert \"x\"": true, "am: x": true,
		"merge main: Merge made by the 'ort' strategy.": true, "merge main: Fast-forward": false,
		"rebase (start): checkout main": false, "rebase (pick): x": true, "rebase (squash): x": true, "rebase (continue): x": true,
		"rebase (finish): returning to refs/heads/x": false, "rebase (finish): refs/heads/x onto " + one: false,
		"rebase (abort): updating HEAD": false, "rebase -i (pick): x": true, "rebase -i (start): checkout main": false, "rebase: x": true,
		"rebase finished: refs/heads/x onto " + one: false, "rebase: fast-forward": false,
		"pull: Fast-forward": false, "pull origin main: Merge made by the 'ort' strategy.": true, "pull --rebase (pick): x": true,
		"pull --rebase (finish): returning to refs/heads/x": false, "pull --rebase (start): checkout " + one: false,
		"checkout: moving from main to x": false, "reset: moving to HEAD~1": false, "branch: Created from HEAD": false,
		"clone: from x": false, "": false, "commits: no": false, "Branch: renamed refs/heads/a to refs/heads/b": false,
	}
	for message, want := range tests {
		if got := made(message); got != want {
			t.Errorf("%q: want %v, got %v", message, want, got)
		}
	}
}

func TestCommitsMadeCountsEachOnce(t *testing.T) {
	t.Parallel()
	head := []entry{{zero, one, ""}, {one, two, "commit: a"}, {two, one, "reset: moving to HEAD~1"}, {one, long, "commit: b"}}
	branch := []entry{{zero, one, "branch: Created from HEAD"}, {one, two, "commit: a"}}
	if got := len(commitsMade(head, branch)); got != 2 {
		t.Errorf("want 2, got %d", got)
	}
}

func TestParseReflog(t *testing.T) {
	t.Parallel()
	got, err := parseReflog([]byte(zero + " " + one + " A U Thor <a@b> 1 +0000\n" + one + " " + two + " A <a@b> 2 +0000\tcommit: x\ty\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{{zero, one, ""}, {one, two, "commit: x\ty"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"\n", one + " " + two + "\n", "x y z\tcommit: x\n", "\x00\x00"} {
		if got, err := parseReflog([]byte(bad)); err == nil {
			t.Errorf("%q: no error and %v", bad, got)
		}
	}
}

func TestMainCheckout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		common string
		format gitsafe.Format
		want   string
	}{
		{"/a/.git", gitsafe.Format{}, "/a"},
		{"/a/.git", gitsafe.Format{Bare: true}, ""},
		{"/a.git", gitsafe.Format{}, ""},
		{"/a/.git/modules/x", gitsafe.Format{Worktree: "../../../x"}, "/a/x"},
		{"/a/.git", gitsafe.Format{Worktree: "/b/"}, "/b"},
	}
	for _, tt := range tests {
		if got := mainOf(tt.format, tt.common); got != tt.want {
			t.Errorf("%s %+v: want %q, got %q", tt.common, tt.format, tt.want, got)
		}
	}
}

func TestPorcelain(t *testing.T) {
	t.Parallel()
	in := "# branch.oid x\x00" + "1 .M N... 100644 100644 100644 " + one + " " + one + " a b\nc\x00" +
		"2 R. N... 100644 100644 100644 " + one + " " + one + " R100 new\x00? old\x00" + "u UU N... 1 2 3 4 a b c x\x00" +
		"? un\ntracked\x00! dir/\x00! .env\x00"
	var c Content
	p := porcelain{content: &c}
	must.Do(t, gitsafe.Records(strings.NewReader(in), 0, p.record))
	want := Content{Dirty: 3, Untracked: []string{"un\ntracked"}, Ignored: []string{"dir/", ".env"}}
	must.Equal(t, want, c, "result")
	for _, bad := range []string{"x\x00", "Z a b\x00", "1 a b", "?\x00", "\x00"} {
		p := porcelain{content: &Content{}}
		if err := gitsafe.Records(strings.NewReader(bad), 0, p.record); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestLeadingOIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "f"), []byte(one+" "+two+"\nref: x\n"+long+" why\nsubject "+one+"\n"), 0o600))
	admin := must.Get(openAdmin(dir))(t)
	defer admin.Close()
	got := must.Get(admin.leadingOIDs("f"))(t)
	must.Equal(t, []string{one, two, long}, got, "result")
}

func TestNestedStopsAtItsBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"a/.git", "b/c/.git", "d/HEAD"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	must.Do(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "d", "link")))
	got, err := Nested(t.Context(), dir, []string{filepath.Join(dir, "b")}, new(100))
	if err != nil {
		t.Fatal(err)
	}
	must.Equal(t, []string{"a"}, got, "result")
	if got, err := Nested(t.Context(), dir, nil, new(3)); err == nil {
		t.Errorf("more than its budget, and yet %v", got)
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte("gitdir: ../a\n"))
	f.Add([]byte("ref: refs/heads/main\n"))
	f.Add([]byte(one + " refs/heads/x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if path, err := ParseGitfile(data); err == nil && path == "" {
			t.Error("no error and no path")
		}
		ref, oid, err := parseHead(data)
		if err == nil && (ref == "") == (oid == "") {
			t.Errorf("neither or both of %q and %q", ref, oid)
		}
		if ref != "" && filepath.Clean("/r/"+ref) != "/r/"+ref {
			t.Errorf("%q leads elsewhere", ref)
		}
		refs, err := parsePacked(data)
		for name, oid := range refs {
			if !gitsafe.IsOID(oid) || err != nil {
				t.Errorf("%q is %q, %v", name, oid, err)
			}
		}
	})
}

func FuzzParseReflog(f *testing.F) {
	f.Add([]byte(zero + " " + one + " A <a@b> 1 +0000\tcommit (initial): x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseReflog(data)
		if err == nil && len(entries) < bytes.Count(data, []byte{'\n'}) {
			t.Error("a line was passed over")
		}
		if n := len(commitsMade(entries)); n > len(entries) {
			t.Errorf("%d commits of %d entries", n, len(entries))
		}
	})
}

func FuzzPorcelain(f *testing.F) {
	f.Add([]byte("1 .M a\x00? b\x00! c/\x002 R. x\x00y\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Content
		p := porcelain{content: &c}
		err := gitsafe.Records(bytes.NewReader(data), 0, p.record)
		if n := c.Dirty + len(c.Untracked) + len(c.Ignored); n > bytes.Count(data, []byte{0}) {
			t.Errorf("%d paths in %q", n, data)
		}
		if err == nil && len(data) > 0 && data[len(data)-1] != 0 {
			t.Error("output that was cut off was taken for whole")
		}
	})
}

func FuzzParseIndex(f *testing.F) {
	f.Add(smallIndex(2), true)
	f.Add(smallIndex(4), false)
	f.Fuzz(func(t *testing.T, data []byte, sha1 bool) {
		hash := 32
		if sha1 {
			hash = 20
		}
		idx, err := index.Parse(data, hash, func([]byte) {})
		if err == nil && (idx.Assumed > len(data) || len(idx.Skipped) > len(data)) {
			t.Errorf("more entries than bytes: %+v", idx)
		}
	})
}

// smallIndex is an index with one ordinary file "a".
func smallIndex(version byte) []byte {
	entry := make([]byte, 62, 64)
	entry[24+2], entry[24+3] = 0x81, 0xa4
	entry[61] = 1
	if version == 4 {
		entry = append(entry, 0, 'a', 0)
	} else {
		entry = append(entry, 'a')
		entry = append(entry, make([]byte, 64-len(entry))...)
	}
	data := append([]byte{'D', 'I', 'R', 'C', 0, 0, 0, version, 0, 0, 0, 1}, entry...)
	return append(data, make([]byte, 20)...)
}

func TestParseIndexRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, version := range []byte{2, 3, 4} {
		if _, err := index.Parse(smallIndex(version), 20, func([]byte) {}); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
	good := smallIndex(2)
	body := good[:len(good)-20]
	with := func(ext string) []byte { return append(append(bytes.Clone(body), ext...), make([]byte, 20)...) }
	for name, data := range map[string][]byte{
		"version 5": smallIndex(5), "cut off": good[:len(good)-30], "empty": nil, "split": with("link\x00\x00\x00\x14" + strings.Repeat("x", 20)), "split and cut off": with("link\x00\x00\x00\x00"),
		"required and unknown": with("abcd\x00\x00\x00\x00"), "extension cut off": with("TREE\x00\x00\x01\x00"),
	} {
		if idx, err := index.Parse(data, 20, func([]byte) {}); err == nil {
			t.Errorf("%s: no error and %+v", name, idx)
		}
	}
	if _, err := index.Parse(with("TREE\x00\x00\x00\x01x"), 20, func([]byte) {}); err != nil {
		t.Error(err)
	}
	if _, err := index.Parse(good, 32, func([]byte) {}); err == nil {
		t.Error("read with the wrong size of object names without an error")
	}
}
