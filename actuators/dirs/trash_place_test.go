package dirs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// shellNames are names that mean something to a shell.
var shellNames = []string{"a b;touch x #", "$(touch x)", "`touch x`", "quote'd; touch x; '", `back\slash "double"`, "-rf", "*", "&& touch x", "~", "é\u202ex"}

// TestAttackUndoLinesInAShell runs the lines of a manifest by hand, for worktrees whose names are commands.
func TestAttackUndoLinesInAShell(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a folder whose name is a command, and its undo lines run in a shell")
	w := newWorld(t)
	for n, name := range shellNames {
		w.tree = filepath.Join(w.root, name)
		w.git(w.main, "worktree", "add", "-q", "--detach", w.tree)
		w.write(w.tree+"/notes", "x\n")
		before := w.state()
		w.aside(nth(n), w.tree)
		a.Check(undone(w, nth(n), before))
	}
	// An empty folder with a line break in its name: git itself knows no such worktree.
	w.tree = filepath.Join(w.root, "line\ntouch x")
	w.mkdir(w.tree)
	before := w.state()
	w.aside("E", w.tree)
	a.Check(undone(w, "E", before))
}

// undone runs the undo lines of an act, and says what has changed.
func undone(w *world, act string, before state) string {
	var m manifest
	trash := filepath.Join(w.o.StateTrash, act)
	text, err := os.ReadFile(filepath.Join(trash, manifestName))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return err.Error()
	}
	sh := exec.Command("sh", "-e", "-c", strings.Join(m.Undo, "\n"))
	sh.Dir = w.base
	if out, err := sh.CombinedOutput(); err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	if m.Refs != nil { // by hand the refs stay
		w.git(w.main, "update-ref", "-d", refPrefix(act)+"head")
	}
	if diff := cmp.Diff(before, w.state()); diff != "" {
		return diff
	}
	if _, err := os.Lstat(filepath.Join(w.base, "x")); err == nil {
		return "a name ran as a command"
	}
	if err := os.RemoveAll(trash); err != nil {
		return err.Error()
	}
	return ""
}

// TestAsides finds what was set aside by nothing but the manifests, and brings it back or removes it.
func TestAsides(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"the state", "the root"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if where == "the root" {
				w.o.StateTrash = ""
			}
			before := w.state()
			in := w.aside("A1", w.tree)
			w.mkdir(w.root + "/empty")
			empty := w.aside("A2", w.root+"/empty")
			if found, wrong := New(w.o).Asides(t.Context(), map[string]bool{"A1": true, "A2": true}); len(found)+len(wrong) > 0 {
				t.Errorf("what is known was read: %v %v", found, wrong)
			}
			w.mkdir(filepath.Join(filepath.Dir(w.plan(in).Trash), "PANES"))
			w.write(filepath.Join(filepath.Dir(w.plan(in).Trash), "PANES", manifestName), `{"panes": []}`)
			found, wrong := New(w.o).Asides(t.Context(), nil)
			if len(found) != 2 || len(wrong) > 0 {
				t.Fatalf("found %+v, wrong %v", found, wrong)
			}
			for n, want := range []decision.Intent{in, empty} {
				if diff := cmp.Diff(want.Identity, found[n].Intent.Identity); diff != "" || found[n].Half || found[n].Intent.ID != want.ID {
					t.Errorf("%+v (-want +got):\n%s", found[n], diff)
				}
			}
			if _, err := New(w.o).Purge(t.Context(), found[1].Intent); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(filepath.Join(filepath.Dir(w.plan(in).Trash), "PANES")); err != nil {
				t.Error(err)
			}
			w.restore(found[0].Intent)
			w.same(before)
		})
	}
}

func (w *world) plan(in decision.Intent) plan {
	w.t.Helper()
	p, err := readPlan(in)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// hostile are what an attacker may write into a manifest who can write a root and nothing else. m is an honest one of his own folder.
var hostile = map[string]func(w *world, m *manifest, p *plan){
	"another place to come home to": func(w *world, m *manifest, p *plan) {
		p.From = w.base + "/home/.config/autostart"
		m.Intent.Identity.Dir.Path, m.Intent.Candidate = p.From, "dir:"+p.From
	},
	"another root": func(w *world, m *manifest, p *plan) {
		p.From, p.Root = w.base+"/home/.config", w.base+"/home"
		m.Intent.Identity.Dir.Path, m.Intent.Identity.Dir.Root, m.Intent.Candidate = p.From, p.Root, "dir:"+p.From
	},
	"the folder above its root": func(w *world, m *manifest, p *plan) {
		p.From = w.root + "/../home"
		m.Intent.Identity.Dir.Path = p.From
	},
	"its root itself":          func(w *world, m *manifest, p *plan) { p.From = w.root; m.Intent.Identity.Dir.Path = p.From },
	"another trash":            func(w *world, m *manifest, p *plan) { p.Trash = w.base + "/precious/M" },
	"the trash of another act": func(w *world, m *manifest, p *plan) { m.Intent.ID = "OTHER" },
	"an id with a path in it":  func(w *world, m *manifest, p *plan) { m.Intent.ID = "../../precious" },
	"an entry of a repository that is not its own": func(w *world, m *manifest, p *plan) {
		d := w.identity(w.root + "/mine/M-admin")
		p.Admin = &adminPlan{From: w.main + "/.git/worktrees/evil", To: p.Trash + "/admin", Common: w.main + "/.git", Refs: refPrefix("M"),
			Head: strings.TrimSpace(w.git(w.main, "rev-parse", "HEAD")), Device: d.Device, Inode: d.Inode, BornAt: d.BornAt}
	},
	"the entry of another worktree": func(w *world, m *manifest, p *plan) {
		d := w.identity(w.main + "/.git/worktrees/work")
		p.Admin = &adminPlan{From: w.main + "/.git/worktrees/work", To: p.Trash + "/admin", Common: w.main + "/.git", Refs: refPrefix("M"),
			Head: strings.TrimSpace(w.git(w.main, "rev-parse", "HEAD")), Device: d.Device, Inode: d.Inode, BornAt: d.BornAt}
	},
	"a commit that is two lines": func(w *world, m *manifest, p *plan) {
		p.Admin = &adminPlan{From: w.main + "/.git/worktrees/evil", To: p.Trash + "/admin", Common: w.main + "/.git", Refs: refPrefix("M"),
			Head: strings.Repeat("a", 40) + "\ndelete refs/heads/main"}
	},
	"the folder of another user": func(w *world, m *manifest, p *plan) { m.Intent.Identity.Dir.Inode++ },
	"an act on a session":        func(w *world, m *manifest, p *plan) { m.Intent.Kind = "session" },
}

// TestAttackManifestInARoot writes manifests into a root's trash that ask for more than their own folder: they are passed over, and
// neither a restore nor a purge of what they say touches anything else.
func TestAttackManifestInARoot(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a manifest that an attacker wrote into a root's trash")
	for name, change := range hostile {
		w := newWorld(t)
		w.o.StateTrash = ""
		w.write(w.base+"/precious/file", "x\n")
		w.write(w.base+"/home/file", "x\n")
		trash := filepath.Join(w.root, rootTrash, "M")
		w.write(trash+"/tree/file", "theirs\n")
		w.write(w.root+"/mine/M-admin/HEAD", "ref: refs/heads/main\n")
		chmod(w, filepath.Dir(trash), 0o700)
		chmod(w, trash, 0o700)
		d := w.identity(trash + "/tree")
		p := plan{From: w.root + "/back", Root: w.root, Trash: trash}
		d.Path, d.Root = p.From, w.root
		m := manifest{Schema: manifestSchema, Intent: decision.Intent{ID: "M", Candidate: "dir:" + p.From, Kind: "dir",
			Identity: decision.Identity{Key: "k", Dir: &d}, At: time.Now()}}
		change(w, &m, &p)
		m.Intent.Plan = must.Get(json.Marshal(p))(t)
		w.write(trash+"/"+manifestName, string(must.Get(json.Marshal(m))(t)))
		if p.Admin != nil {
			must.Do(t, os.Rename(w.root+"/mine/M-admin", trash+"/admin"))
		}
		before := w.list(w.base)
		found, wrong := New(w.o).Asides(t.Context(), nil)
		_, err := New(w.o).Purge(t.Context(), m.Intent)
		switch diff := cmp.Diff(before, w.list(w.base)); {
		case len(found) > 0:
			a.Lost("%s: it was taken for an act: %+v", name, found)
		case len(wrong) == 0:
			a.Lost("%s: it was not reported", name)
		case diff != "":
			a.Lost("%s: something changed (%v) (-want +got):\n%s", name, err, diff)
		default:
			a.Held()
		}
	}
}

// TestAttackUnsafeTrash has the trash be a link, a file, or a folder that others can write: nothing is put there, and nothing
// that lies there is believed or removed.
func TestAttackUnsafeTrash(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a trash that is a link, a file or a folder that others can write")
	for _, place := range []string{"state", "root", "repository"} {
		for name, put := range map[string]func(w *world, at string){
			"a link":                         func(w *world, at string) { link(w, w.base+"/precious", at) },
			"a link that leads nowhere":      func(w *world, at string) { link(w, w.base+"/nowhere", at) },
			"a file":                         func(w *world, at string) { w.write(at, "x\n") },
			"a folder that others can write": func(w *world, at string) { w.mkdir(at); chmod(w, at, 0o777) },
		} {
			w := newWorld(t)
			w.write(w.base+"/precious/file", "x\n")
			at := w.o.StateTrash
			switch place {
			case "root":
				w.o.StateTrash, at = "", filepath.Join(w.root, rootTrash)
			case "repository":
				at = filepath.Join(w.main, ".git", commonTrash)
			}
			w.mkdir(filepath.Dir(at))
			var in decision.Intent
			g, in, err := w.hold("A1", w.tree)
			must.Do(t, err)
			if place == "repository" { // as if it were on another mount
				p := w.plan(in)
				p.Admin.To = filepath.Join(at, "A1", adminName)
				in.Plan = must.Get(json.Marshal(p))(t)
			}
			put(w, at)
			if place == "state" { // one that was there before is not taken either
				g, _, err := w.hold("A2", w.tree)
				if err == nil {
					g.Close()
				}
				if _, wrong := New(w.o).Asides(t.Context(), nil); name != "a folder that others can write" && err == nil || len(wrong) == 0 {
					a.Lost("%s is %s, and it was planned for: %v", place, name, wrong)
				}
			}
			before := w.list(w.base)
			out := w.act(g, in)
			g.Close()
			_, purged := New(w.o).Purge(t.Context(), in)
			after := w.list(w.base)
			for _, l := range []map[string]string{before, after} { // times of folders in which something came and went
				for path := range l {
					if strings.HasPrefix(l[path], "d") {
						delete(l, path)
					}
				}
			}
			diff := cmp.Diff(before, after)
			switch {
			case out.Outcome != decision.Refused && out.Outcome != decision.Failed:
				a.Lost("%s is %s: %+v", place, name, out)
			case diff != "" && !strings.Contains(diff, ".git/objects/"):
				a.Lost("%s is %s: %v, and something changed (-want +got):\n%s", place, name, purged, diff)
			default:
				a.Held()
			}
		}
	}
}

// TestAttackTrashOfAnotherUser has another user make a root's trash first.
func TestAttackTrashOfAnotherUser(t *testing.T) {
	_, attacker := attack.Users(t)
	a := attack.New(t, "a root's trash that another user made first")
	for _, mode := range []os.FileMode{0o700, 0o755, 0o777, 0o777 | os.ModeSticky} {
		w := newWorld(t)
		w.o.StateTrash = ""
		attacker.Mkdir(t, filepath.Join(w.root, rootTrash), mode)
		out, _ := w.do("A1", w.tree)
		_, wrong := New(w.o).Asides(t.Context(), nil)
		if out.Outcome != decision.Refused || !strings.Contains(out.Detail, "is not a trash folder") || len(wrong) != 1 {
			a.Lost("mode %o: %+v %v", mode, out, wrong)
			continue
		}
		a.Held()
	}
}

// TestForeignIgnoreFileStays leaves a .gitignore alone that another program put into a root's trash, with any content.
func TestForeignIgnoreFileStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"*\n", "!keep\n", ""} {
		w := newWorld(t)
		w.o.StateTrash = ""
		path := filepath.Join(w.root, rootTrash, ignoreName)
		w.write(path, text)
		chmod(w, filepath.Dir(path), 0o700)
		w.restore(w.aside("A1", w.tree))
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q %v", text, got, err)
		}
	}
	w := newWorld(t)
	w.o.StateTrash = ""
	w.restore(w.aside("A1", w.tree))
	if _, err := os.Lstat(filepath.Join(w.root, rootTrash)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Winnow's own is left: %v", err)
	}
}

// TestAttackPurgeOfWhatChanged changes what lies in the trash: it is kept, and said.
func TestAttackPurgeOfWhatChanged(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a purge of what a process uses in the trash")
	for name, change := range map[string]func(w *world, tree, entry string){
		"a new file":              func(w *world, tree, _ string) { w.write(tree+"/new", "x\n") },
		"a file in a folder":      func(w *world, tree, _ string) { w.write(tree+"/sub/new", "x\n") },
		"a file that grew":        func(w *world, tree, _ string) { w.write(tree+"/a", "much longer than it was\n") },
		"a file of the same size": func(w *world, tree, _ string) { w.write(tree+"/sub/b", "TWO\n") },
		"a file removed":          func(w *world, tree, _ string) { remove(w, tree+"/a") },
		"a repository made in it": func(w *world, tree, _ string) { w.git(tree, "init", "-q", "in") },
		"a commit made in it":     func(w *world, _, entry string) { w.write(entry+"/HEAD", strings.Repeat("b", 40)+"\n") },
		"another folder in its place": func(w *world, tree, _ string) {
			if err := os.Rename(tree, tree+".old"); err != nil {
				w.t.Fatal(err)
			}
			w.write(tree+"/a", "x\n")
		},
	} {
		w := newWorld(t)
		in := w.aside("A1", w.tree)
		p := w.plan(in)
		change(w, filepath.Join(p.Trash, treeName), p.Admin.To)
		before := w.list(p.Trash)
		freed, err := New(w.o).Purge(t.Context(), in)
		switch {
		case !errors.Is(err, actuators.ErrRefused) || freed != 0 || !strings.Contains(err.Error(), "nothing was removed"):
			a.Lost("%s: %d %v", name, freed, err)
		case cmp.Diff(before, w.list(p.Trash)) != "":
			a.Lost("%s: something was removed", name)
		default:
			a.Held()
		}
	}
	// A hard link that goes elsewhere changes nothing here.
	w := newWorld(t)
	w.write(w.tree+"/ignored/shared", "x\n")
	must.Do(t, os.Link(w.tree+"/ignored/shared", w.base+"/shared"))
	in := w.aside("A1", w.tree)
	remove(w, w.base+"/shared")
	if _, err := New(w.o).Purge(t.Context(), in); err != nil {
		t.Error(err)
	}
}

// TestAttackLinkOnTheWayHome has the folder around a worktree replaced by a link while the worktree is away: nothing is made or moved
// through it.
func TestAttackLinkOnTheWayHome(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a link in the place of the folder that a restore goes to")
	for _, deep := range []bool{false, true} {
		w := newWorld(t)
		w.mkdir(w.base + "/precious")
		if deep {
			w.root = filepath.Join(w.root, "deep")
			w.tree, w.o.Roots = filepath.Join(w.root, "far"), []string{w.root}
			w.git(w.main, "worktree", "add", "-q", "-b", "far", w.tree)
		}
		in := w.aside("A1", w.tree)
		must.Do(t, os.Rename(w.base+"/trees", w.base+"/trees.old"))
		link(w, w.base+"/precious", w.base+"/trees")
		back, err := New(w.o).Restore(t.Context(), in)
		left, listed := os.ReadDir(w.base + "/precious")
		if err == nil || len(left) > 0 || listed != nil {
			a.Lost("restored to %q: %v; there is %v %v", back.Where, err, left, listed)
			continue
		}
		a.Held()
	}
}
