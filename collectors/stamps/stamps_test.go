package stamps

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestChanged: every change of a file or to what is in a folder shows, and what is not there shows when it comes.
func TestChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"nothing":             func(*testing.T, string) {},
		"written":             func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "file"), "other") },
		"written, same mtime": func(t *testing.T, dir string) { rewrite(t, filepath.Join(dir, "file")) },
		"replaced": func(t *testing.T, dir string) {
			files.Write(t, filepath.Join(dir, "new"), "text")
			must.Do(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "file")))
		},
		"gone":            func(t *testing.T, dir string) { must.Do(t, os.Remove(filepath.Join(dir, "file"))) },
		"come":            func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "missing"), "") },
		"one in a folder": func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, "folder", "x"), "") },
		"the link's aim": func(t *testing.T, dir string) {
			must.Do(t, os.Remove(filepath.Join(dir, "link")))
			must.Do(t, os.Symlink("b", filepath.Join(dir, "link")))
		},
		"mode": func(t *testing.T, dir string) { must.Do(t, os.Chmod(filepath.Join(dir, "file"), 0o400)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files.Write(t, filepath.Join(dir, "file"), "text")
			must.Do(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
			must.Do(t, os.Symlink("a", filepath.Join(dir, "link")))
			var paths []string
			for _, n := range []string{"file", "file", "missing", "folder", "link"} {
				paths = append(paths, filepath.Join(dir, n))
			}
			time.Sleep(20 * time.Millisecond) // more than a tick of the file system's clock
			was := Read(paths)
			if len(was) != 4 {
				t.Fatalf("%d stamps of 4 paths", len(was))
			}
			change(t, dir)
			if got := Changed(was); (got != "") != (name != "nothing") {
				t.Errorf("changed: %q", got)
			}
		})
	}
}

// rewrite writes other text of the same length and sets the time of the change back, as rsync and tar do.
func rewrite(t *testing.T, path string) {
	st := must.Get(os.Stat(path))(t)
	must.Do(t, os.WriteFile(path, []byte("TEXT"), 0o600))
	must.Do(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
}

func TestSince(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 5)
	for name, c := range map[string]struct {
		f    File
		want bool
	}{
		"before":           {File{Modified: at.UnixNano() - 1, Moved: at.UnixNano() - 1}, false},
		"at the same time": {File{Modified: at.UnixNano()}, true},
		"moved later":      {File{Modified: 1, Moved: at.UnixNano() + 1}, true},
		"missing":          {File{}, false},
	} {
		if got := Since(map[string]File{"x": c.f}, at); (got == "x") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

type thing struct {
	Name  string
	N     *int
	At    *time.Time
	When  time.Time
	List  []string
	Named map[string]any
	Took  float64
	inner int
}

func some() thing {
	return thing{Name: "a", N: new(1), At: new(time.Unix(1, 0)), When: time.Unix(2, 0), List: []string{"x", "y"}, Named: map[string]any{"k": 1.5, "l": nil}, Took: 3, inner: 4}
}

// TestDigest: every value counts, and where the one ends and the next begins; the order of a map and what is left out do not.
func TestDigest(t *testing.T) {
	t.Parallel()
	was := Digest(some(), true, "Took")
	for name, c := range map[string]struct {
		change  func(*thing)
		differs bool
	}{
		"nothing":           {func(*thing) {}, false},
		"what is left out":  {func(x *thing) { x.Took = 9 }, false},
		"what is not shown": {func(x *thing) { x.inner = 9 }, false},
		"another map":       {func(x *thing) { x.Named = map[string]any{"l": nil, "k": 1.5} }, false},
		"text":              {func(x *thing) { x.Name = "b" }, true},
		"a number":          {func(x *thing) { *x.N = 2 }, true},
		"unknown":           {func(x *thing) { x.N = nil }, true},
		"a time":            {func(x *thing) { x.When = time.Unix(3, 0) }, true},
		"no time":           {func(x *thing) { x.At = nil }, true},
		"another border":    {func(x *thing) { x.List = []string{"xy", ""} }, true},
		"an order":          {func(x *thing) { x.List = []string{"y", "x"} }, true},
		"none of a list":    {func(x *thing) { x.List = nil }, true},
		"empty list":        {func(x *thing) { x.List = []string{} }, true},
		"a value in a map":  {func(x *thing) { x.Named["k"] = 2.5 }, true},
		"a key in a map":    {func(x *thing) { x.Named["m"] = nil }, true},
	} {
		x := some()
		c.change(&x)
		if got := Digest(x, true, "Took"); (got != was) != c.differs {
			t.Errorf("%s: differs %v, want %v", name, got != was, c.differs)
		}
	}
	later := some()
	later.When, later.At = time.Unix(9, 0), new(time.Unix(9, 0))
	if Digest(later, false) != Digest(some(), false) {
		t.Error("times count where they should not")
	}
	later.At = nil
	if Digest(later, false) == Digest(some(), false) {
		t.Error("whether there is a time does not count")
	}
	if Digest([]string(nil), false) == Digest([]string{}, false) {
		t.Error("unknown is the same as none")
	}
}
