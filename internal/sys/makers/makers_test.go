package makers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/makers"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func part(rel string) bool {
	switch filepath.Base(rel) {
	case "dev.log", "node_modules", "target", ".venv", "dist", "__pycache__", ".pytest_cache":
		return true
	}
	return false
}

// run runs a program in a folder, or skips where it is missing.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is missing", program)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s %v does not work here: %v\n%s", program, args, err, out)
	}
}

// later writes a file until the kernel's clock shows that it was changed after another one.
func later(t *testing.T, path, text, than string) {
	t.Helper()
	var a, b unix.Stat_t
	must.Do(t, unix.Stat(than, &a))
	for b.Ctim.Nano() <= a.Ctim.Nano() {
		files.Write(t, path, text)
		must.Do(t, unix.Stat(path, &b))
	}
}

// npm unpacks two packages as npm does: the record comes last.
func npm(t *testing.T, dir string) {
	for _, name := range []string{"left-pad", "@types/node", "left-pad/node_modules/inner"} {
		files.Write(t, filepath.Join(dir, "node_modules", name, "package.json"), "{}")
		files.Write(t, filepath.Join(dir, "node_modules", name, "index.js"), "x")
	}
	files.Write(t, filepath.Join(dir, "node_modules", ".package-lock.json"), "{}")
}

func crate(t *testing.T, dir string) {
	files.Write(t, filepath.Join(dir, "Cargo.toml"), "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	files.Write(t, filepath.Join(dir, "src", "main.rs"), "fn main() {}\n")
	files.Write(t, filepath.Join(dir, "src", "lib.rs"), "")
	files.Write(t, filepath.Join(dir, "build.rs"), "fn main() { std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/made.rs\", \"\").unwrap() }\n")
	run(t, dir, "cargo", "build", "--quiet", "--offline")
}

func environment(t *testing.T, dir string) {
	run(t, dir, "python3", "-m", "venv", "--without-pip", ".venv")
	site := must.Get(filepath.Glob(filepath.Join(dir, ".venv", "lib", "python*", "site-packages")))(t)[0]
	files.Write(t, filepath.Join(site, "pkg", "__init__.py"), "x = 1\n")
	files.Write(t, filepath.Join(site, "pkg", "__pycache__", "__init__.cpython-311.pyc"), "x")
	files.Write(t, filepath.Join(dir, ".venv", "bin", "pkg"), "#!python\n")
	files.Write(t, filepath.Join(site, "pkg-1.dist-info", "RECORD"), "pkg/__init__.py,sha256=x,6\n../../../bin/pkg,sha256=x,9\npkg-1.dist-info/RECORD,,\n")
}

// TestAgain holds what tools' own records say of the folders that the tools really make, and of what a person put there.
func TestRebuildable(t *testing.T) {
	t.Parallel()
	patch := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			later(t, filepath.Join(dir, "node_modules", filepath.FromSlash(name)), "y", filepath.Join(dir, "node_modules", ".package-lock.json"))
		}
	}
	put := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { files.Write(t, filepath.Join(dir, filepath.FromSlash(name)), text) }
	}
	nothing := func(*testing.T, string) {}
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		more func(t *testing.T, dir string)
		want bool
	}{
		"no part":                            {put("a", "x"), nothing, true},
		"npm":                                {npm, nothing, true},
		"npm, and a tool's cache in it":      {npm, put("node_modules/.vite/deps/a.js", "x"), true},
		"npm, a patched file":                {npm, patch("left-pad/index.js"), false},
		"npm, a patched file further in":     {npm, patch("left-pad/node_modules/inner/index.js"), false},
		"npm, a file of one's own":           {npm, put("node_modules/own.js", "x"), false},
		"npm, a package of one's own":        {npm, put("node_modules/own/index.js", "x"), false},
		"npm, the record is missing":         {npm, func(t *testing.T, dir string) { must.Do(t, os.Remove(dir+"/node_modules/.package-lock.json")) }, false},
		"cargo":                              {crate, nothing, true},
		"cargo, sources in target":           {crate, put("target/notes.rs", "x"), false},
		"cargo, sources beside the program":  {crate, put("target/debug/notes.rs", "x"), false},
		"cargo, sources beside dependencies": {crate, put("target/debug/deps/notes.rs", "x"), false},
		"cargo, a person's .d":               {crate, put("target/debug/notes.d", "x"), false},
		"cargo, another folder":              {crate, put("target/results/a.csv", "x"), false},
		"a target without a record":          {put("target/a", "x"), nothing, false},
		"venv":                               {environment, nothing, true},
		"venv, an own script":                {environment, put(".venv/bin/deploy", "x"), false},
		"venv, a patched package":            {environment, put(".venv/lib/python3.11/site-packages/pkg/__init__.py", "x = 22\n"), false},
		"venv, a module of one's own":        {environment, put(".venv/lib/python3.11/site-packages/own.py", "x"), false},
		"bytecode":                           {put("a/__pycache__/x.cpython-311.pyc", "x"), nothing, true},
		"a source beside bytecode":           {put("a/__pycache__/x.py", "x"), nothing, false},
		"a tagged cache":                     {put(".pytest_cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"), nothing, true},
		"a tag of a person's":                {put(".cache/CACHEDIR.TAG", "mine"), put(".pytest_cache/CACHEDIR.TAG", "mine"), false},
		"a tagged folder of any name":        {put("data/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"), nothing, false},
		"a log":                              {put("logs/dev.log", "x"), nothing, false},
		"a folder without a record":          {put("dist/a.js", "x"), nothing, false},
		"a pipe in it":                       {npm, func(t *testing.T, dir string) { run(t, dir, "mkfifo", "node_modules/left-pad/pipe") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, dir)
			c.more(t, dir)
			if got := makers.Rebuildable(t.Context(), dir, "", part); got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}

// TestAgainOfAPart holds the same of a folder that lies in the trash under another name.
func TestRebuildableOfAPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	npm(t, dir)
	tree := filepath.Join(dir, "tree")
	must.Do(t, os.Rename(filepath.Join(dir, "node_modules"), tree))
	if !makers.Rebuildable(t.Context(), tree, "node_modules", part) {
		t.Error("what npm made cannot be made again")
	}
	if makers.Rebuildable(t.Context(), tree, "dist", part) {
		t.Error("what has no record can be made again")
	}
	later(t, filepath.Join(tree, "left-pad", "index.js"), "y", filepath.Join(tree, ".package-lock.json"))
	if makers.Rebuildable(t.Context(), tree, "node_modules", part) {
		t.Error("a patched file can be made again")
	}
}
