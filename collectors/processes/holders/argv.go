package holders

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// argvLimit is how long a command line may be to be read whole: longer than any list of options and paths. One that holds data is read
// at its beginning.
const argvLimit = 256 << 10

// arguments marks the folders that a process's command line names: a script, a file to edit, the folder to serve. Only that it does is
// kept. A folder that this program's own ancestors name for it to look at is not in use by them.
func (h *scan) arguments(pid, dir int, v *places) {
	text, err := proc.ReadSome(dir, "cmdline", h.Environ)
	if err != nil {
		return
	}
	if len(text) == len(h.Environ) {
		if all, err := proc.Read(dir, "cmdline", make([]byte, 64<<10), argvLimit); err == nil {
			text = all
		}
	}
	text = bytes.TrimRight(text, "\x00")
	for first := true; len(text) > 0; first = false {
		var arg []byte
		arg, text, _ = bytes.Cut(text, []byte{0})
		if len(arg) == 0 || first && bytes.IndexByte(arg, '/') < 0 {
			continue // the program's own name
		}
		if pid > 1 && (slices.Contains(h.ancestors, pid) && slices.Contains(os.Args[1:], string(arg)) || slices.Contains(h.askers, pid) && slices.Contains(h.o.Asked, string(arg))) {
			continue
		}
		h.argument(string(arg), v)
	}
}

// argument looks for paths in one argument: the whole, what is behind an option's sign, parts of lists and of host:container pairs.
func (h *scan) argument(arg string, v *places) {
	h.argPath(arg, v)
	_, value, ok := strings.Cut(arg, "=")
	if ok {
		h.argPath(value, v)
	} else if value = arg; strings.HasPrefix(arg, "-") {
		if at := strings.IndexByte(arg, '/'); at > 0 {
			value = arg[at:] // -I/path, -C/path
			h.argPath(value, v)
		}
	}
	if strings.ContainsAny(value, ":,") {
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ':' || r == ',' || r == '=' }) {
			h.argPath(part, v)
		}
	}
}

func (h *scan) argPath(text string, v *places) {
	relative := false
	switch {
	case text == "":
		return
	case strings.HasPrefix(text, "///"): // file:///path, cut at the colon
		text = text[2:]
	case text[0] != '/':
		if h.at.cwd == "" || text[0] == '-' || !strings.HasPrefix(h.at.cwd, "/") {
			return
		}
		text, relative = h.at.cwd+"/"+text, true
	}
	text = path.Clean(text)
	v.visit(text, func(numbers []int) {
		// Any word is a relative path: it counts when there is something of that name.
		if relative && v == h.views[h.own] {
			numbers = slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return !h.spots.has(n, text) })
		}
		h.mark(numbers, byArgv)
	})
}

// has reports whether there is something at a path below spot n, which may be the name of before of a folder that was moved.
func (all spots) has(n int, name string) bool {
	if s := all[n]; s.of != n && s.how < 0 {
		name = all[s.of].path + name[len(s.path):]
	}
	return unix.Access(name, unix.F_OK) == nil
}

// leadingVariables lead a program into a folder: git into a worktree, see git(1), and Python into a virtual environment. searchVariables are lists of folders in which
// programs and libraries are looked for, with colons between them.
var (
	leadingVariables = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "VIRTUAL_ENV"}
	searchVariables  = []string{"PATH", "NODE_PATH", "LD_LIBRARY_PATH", "PYTHONPATH"}
)

// leadingEnviron marks the folders that a process's environment leads into. The text stays in the buffer.
func (h *scan) leadingEnviron(dir int) error {
	if !h.at.names {
		return nil
	}
	text, err := proc.Read(dir, "environ", h.Environ, proc.MaxEnviron)
	if errors.Is(err, unix.ENOENT) && !h.root.Procfs {
		return nil
	}
	if err != nil || len(text) == 0 {
		return err
	}
	v := h.at.view
	if v == nil {
		v = h.views[h.own]
	}
	kept, _ := proc.Variables(append(text, 0), slices.Concat(leadingVariables, searchVariables))
	for name, value := range kept {
		parts := []string{value}
		if slices.Contains(searchVariables, name) {
			parts = strings.Split(value, ":")
		}
		for _, part := range parts {
			if part != "" && part[0] != '/' {
				part = h.at.cwd + "/" + part
			}
			if part != "" {
				v.visit(path.Clean(part), func(numbers []int) { h.mark(numbers, byEnviron) })
			}
		}
	}
	return nil
}

// withNames adds what leads to a worktree besides its path: the folder that git keeps for it, and, for one that was moved, the path that
// its repository knows it by. A process that used it by that name before still uses it.
func (all spots) withNames() spots {
	out := all
	for i, s := range all {
		if s.of != i {
			continue
		}
		admin, home := entry(s.path)
		if admin != "" {
			out = append(out, spot{path: admin, of: i, how: byAdmin})
		}
		// What was moved into the trash has its entry beside it.
		if beside := filepath.Join(filepath.Dir(s.path), "admin"); beside != admin && linked(beside) {
			out = append(out, spot{path: beside, of: i, how: byAdmin})
			if home == "" {
				home, _ = git.EntryPath(beside)
			}
		}
		if home == "" || home == s.path {
			continue
		}
		if _, err := os.Lstat(home); os.IsNotExist(err) {
			out = append(out, spot{path: home, of: i, how: -1})
		}
	}
	return out
}

// entry is the folder that a worktree's .git file names, and the worktree's path that is written in there; "" for a folder that is not a linked
// worktree.
func entry(tree string) (admin, home string) {
	f, err := safeopen.Read(context.Background(), filepath.Join(tree, ".git"), safeopen.Want{Max: maxGitFile})
	admin, named := strings.CutPrefix(string(f.Data), "gitdir:")
	if err != nil || !named {
		return "", ""
	}
	if admin = strings.TrimSpace(admin); !filepath.IsAbs(admin) {
		admin = filepath.Join(tree, admin)
	}
	real, err := filepath.EvalSymlinks(admin)
	if err != nil || !linked(real) {
		return "", ""
	}
	home, _ = git.EntryPath(real)
	return real, home
}

// linked reports whether a folder is one that git keeps for a linked worktree.
func linked(admin string) bool {
	_, err := os.Lstat(filepath.Join(admin, "commondir"))
	return err == nil
}

// maxGitFile is more than a file with one path can have.
const maxGitFile = 8 << 10
