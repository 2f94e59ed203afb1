package holders_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/parts"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// way is one way to use a worktree that lies at the folder "tree" in a folder of its own.
type way struct {
	name, how string
	// sweep is true where a look at everything shows it, and not only the thorough one.
	sweep bool
	root  bool
	// play is what the child does; "" is that it does nothing but live as begin has set it up.
	play  string
	begin func(t *testing.T, base string, c *exec.Cmd)
	// undone is what undoes it when the child's end does not.
	undone func(base string)
}

// start starts a child that uses base in this way.
func (w way) start(t *testing.T, base string) parts.Child {
	t.Helper()
	return parts.Start(t, "way", func(c *exec.Cmd) {
		c.Dir = "/"
		if w.begin != nil {
			w.begin(t, base, c)
		}
		if !slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH="+base) }) {
			c.Env = append(c.Env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
		}
		c.Env = append(c.Env, "WAY="+w.play, "BASE="+base)
	})
}

func at(name string) func(*testing.T, string, *exec.Cmd) {
	return func(_ *testing.T, base string, c *exec.Cmd) { c.Dir = filepath.Join(base, name) }
}

func given(args ...string) func(*testing.T, string, *exec.Cmd) {
	return func(_ *testing.T, base string, c *exec.Cmd) {
		for _, a := range args {
			c.Args = append(c.Args, strings.ReplaceAll(a, "BASE", base))
		}
	}
}

func env(kv string) func(*testing.T, string, *exec.Cmd) {
	return func(_ *testing.T, base string, c *exec.Cmd) {
		c.Env = append(c.Env, strings.ReplaceAll(kv, "BASE", base))
	}
}

func space(flags uintptr) func(*testing.T, string, *exec.Cmd) {
	return func(_ *testing.T, _ string, c *exec.Cmd) { c.SysProcAttr.Cloneflags = flags }
}

// ways are the usual ways to use a folder.
var ways = []way{
	{name: "works in it", how: "cwd", sweep: true, begin: at("tree")},
	{name: "works below it", how: "cwd", sweep: true, begin: at("tree/src/deep")},
	{name: "works in a folder that was removed", how: "cwd", sweep: true, play: "removed-cwd"},
	{name: "was started from it", how: "exe", sweep: true, begin: func(t *testing.T, base string, c *exec.Cmd) {
		c.Path = filepath.Join(base, "tree/tool")
		executable.Copy(t, c.Args[0], c.Path)
	}},
	{name: "has its root there", how: "root", sweep: true, root: true, play: "chroot"},
	{name: "has a file open", how: "fd", sweep: true, play: "open"},
	{name: "has a folder open", how: "fd", sweep: true, play: "open-folder"},
	{name: "holds a path without opening it", how: "fd", sweep: true, play: "open-path"},
	{name: "has a removed file open", how: "fd", sweep: true, play: "open-removed"},
	{name: "has a file mapped", how: "map", play: "map"},
	{name: "has a removed file mapped", how: "map", play: "map-removed"},
	{name: "runs a script by its path", how: "argv", sweep: true, begin: given("BASE/tree/src/server.js")},
	{name: "runs a script by a relative path", how: "argv", sweep: true, begin: func(t *testing.T, base string, c *exec.Cmd) {
		c.Dir, c.Args = base, append(c.Args, "tree/src/server.js")
	}},
	{name: "serves it by an option", how: "argv", sweep: true, begin: given("--root=BASE/tree")},
	{name: "includes it by a short option", how: "argv", sweep: true, begin: given("-IBASE/tree/src")},
	{name: "gives it to a container", how: "argv", sweep: true, begin: given("-v", "BASE/tree:/app:ro")},
	{name: "has a socket there", how: "socket", sweep: true, play: "socket"},
	{name: "has a socket there by a relative name", how: "socket", play: "socket-relative"},
	{name: "has a socket there through a link", how: "socket", play: "socket-link"},
	{name: "has a socket there in another network", how: "socket", root: true, play: "socket", begin: space(syscall.CLONE_NEWNET)},
	{name: "watches it", how: "watch", sweep: true, play: "watch"},
	{name: "watches a folder below it", how: "watch", play: "watch-below"},
	{name: "marks it with fanotify", how: "watch", sweep: true, root: true, play: "fanotify"},
	{name: "has a thread that works in it", how: "thread", play: "thread-cwd"},
	{name: "has a thread with a file open", how: "thread", play: "thread-files"},
	{name: "has a file open by another name", how: "link", play: "hard-link"},
	{name: "has a file open by another name that was removed", how: "link", play: "hard-link-removed"},
	{name: "works in git's folder for it", how: "admin", begin: at("repo/.git/worktrees/tree")},
	{name: "has a file of git's folder for it open", how: "admin", play: "admin-open"},
	{name: "has GIT_DIR", how: "admin", begin: env("GIT_DIR=BASE/repo/.git/worktrees/tree")},
	{name: "has GIT_WORK_TREE", how: "env", begin: env("GIT_WORK_TREE=BASE/tree")},
	{name: "has GIT_INDEX_FILE", how: "admin", begin: env("GIT_INDEX_FILE=BASE/repo/.git/worktrees/tree/index.lock")},
	{name: "has VIRTUAL_ENV", how: "env", begin: env("VIRTUAL_ENV=BASE/tree/.venv")},
	{name: "has NODE_PATH", how: "env", begin: env("NODE_PATH=/usr/lib/node_modules:BASE/tree/node_modules")},
	{name: "has PYTHONPATH", how: "env", begin: env("PYTHONPATH=BASE/tree/src:")},
	{name: "has LD_LIBRARY_PATH", how: "env", begin: env("LD_LIBRARY_PATH=:/opt/lib:BASE/tree")},
	{name: "has PATH", how: "env", begin: env("PATH=BASE/tree/node_modules/.bin:/usr/bin:/bin")},
	{name: "works in a copy of it", how: "admin", begin: func(t *testing.T, base string, c *exec.Cmd) {
		files.Write(t, filepath.Join(base, "copy/.git"), "gitdir: "+base+"/repo/.git/worktrees/tree\n")
		files.Folder(t, base, "copy/src/deep")
		c.Dir = filepath.Join(base, "copy/src/deep")
	}},
	{name: "works in a copy of it that leads there by a relative path", how: "admin", begin: func(t *testing.T, base string, c *exec.Cmd) {
		files.Write(t, filepath.Join(base, "copy/.git"), "gitdir: ../repo/.git/worktrees/tree\n")
		files.Folder(t, base, "copy/src/deep")
		c.Dir = filepath.Join(base, "copy/src/deep")
	}},
	{name: "sees it mounted", how: "mount", sweep: true, root: true, play: "mount", begin: space(syscall.CLONE_NEWNS)},
	{name: "sees a folder of it mounted", how: "mount", sweep: true, root: true, play: "mount-below", begin: space(syscall.CLONE_NEWNS)},
	{name: "sees a file of it mounted", how: "mount", sweep: true, root: true, play: "mount-file", begin: space(syscall.CLONE_NEWNS)},
	{name: "sees the folder around it mounted", how: "mount", sweep: true, root: true, play: "mount-around", begin: space(syscall.CLONE_NEWNS)},
	{name: "sees it as a layer", how: "overlay", sweep: true, root: true, play: "overlay", begin: space(syscall.CLONE_NEWNS)},
	{name: "writes to a layer in it", how: "overlay", sweep: true, root: true, play: "overlay-upper", begin: space(syscall.CLONE_NEWNS)},
	{name: "sees it as a layer with a relative name", how: "overlay", sweep: true, root: true, play: "overlay-relative", begin: space(syscall.CLONE_NEWNS)},
	{name: "has it mounted elsewhere for all", how: "mount", sweep: true, root: true, play: "mount", undone: func(base string) {
		_ = unix.Unmount(filepath.Join(base, "away"), unix.MNT_DETACH)
	}},
	{name: "has a loop device of a file", how: "loop", sweep: true, root: true, play: "loop"},
	{name: "has it locked, and shows no files", how: "lock", sweep: true, play: "lock"},
	{name: "has a file locked, and shows no files", how: "lock", play: "lock-file"},
}

// acts are what children do, in the folder base.
var acts = map[string]func(base string) error{
	"": func(string) error { return nil },
	"removed-cwd": func(base string) error {
		dir := filepath.Join(base, "tree/gone")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := os.Chdir(dir); err != nil {
			return err
		}
		return os.Remove(dir)
	},
	"chroot": func(base string) error { return syscall.Chroot(filepath.Join(base, "tree/src")) },
	"open":   func(base string) error { return open(filepath.Join(base, "tree/src/server.js"), unix.O_RDONLY) },
	"open-folder": func(base string) error {
		return open(filepath.Join(base, "tree/src"), unix.O_RDONLY|unix.O_DIRECTORY)
	},
	"open-path":    func(base string) error { return open(filepath.Join(base, "tree"), unix.O_PATH) },
	"open-removed": func(base string) error { return openRemoved(filepath.Join(base, "tree/lost")) },
	"map":          func(base string) error { return mapFile(filepath.Join(base, "tree/src/server.js")) },
	"map-removed": func(base string) error {
		name := filepath.Join(base, "tree/lost")
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			return err
		}
		if err := mapFile(name); err != nil {
			return err
		}
		return os.Remove(name)
	},
	"socket": func(base string) error { return bind(filepath.Join(base, "tree/s")) },
	"socket-relative": func(base string) error {
		if err := os.Chdir(filepath.Join(base, "tree")); err != nil {
			return err
		}
		if err := bind("r"); err != nil {
			return err
		}
		return os.Chdir("/")
	},
	"socket-link": func(base string) error {
		if err := os.Symlink(filepath.Join(base, "tree"), filepath.Join(base, "l")); err != nil {
			return err
		}
		return bind(filepath.Join(base, "l/s"))
	},
	"watch":       func(base string) error { return watch(filepath.Join(base, "tree")) },
	"watch-below": func(base string) error { return watch(filepath.Join(base, "tree/src/deep")) },
	"watch-all": func(base string) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		for _, name := range []string{"", "tree", "tree/src", "tree/src/deep"} {
			if _, err := unix.InotifyAddWatch(fd, filepath.Join(base, name), unix.IN_CREATE); err != nil {
				return err
			}
		}
		return nil
	},
	"mount-temp": func(base string) error { return bindMount("/tmp", filepath.Join(base, "away")) },
	"fanotify": func(base string) error {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
		if err != nil {
			return err
		}
		return unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR, unix.FAN_OPEN, unix.AT_FDCWD, filepath.Join(base, "tree"))
	},
	"thread-cwd": func(base string) error {
		return apart(unix.CLONE_FS, func() error { return unix.Chdir(filepath.Join(base, "tree")) })
	},
	"thread-files": func(base string) error {
		return apart(unix.CLONE_FILES, func() error { return open(filepath.Join(base, "tree/src/server.js"), unix.O_RDONLY) })
	},
	"hard-link": func(base string) error {
		if err := os.Link(filepath.Join(base, "tree/src/server.js"), filepath.Join(base, "other")); err != nil {
			return err
		}
		return open(filepath.Join(base, "other"), unix.O_RDONLY)
	},
	"hard-link-removed": func(base string) error {
		if err := os.Link(filepath.Join(base, "tree/src/server.js"), filepath.Join(base, "other")); err != nil {
			return err
		}
		return openRemoved(filepath.Join(base, "other"))
	},
	"admin-open": func(base string) error {
		return open(filepath.Join(base, "repo/.git/worktrees/tree/gitdir"), unix.O_RDONLY)
	},
	"mount": func(base string) error { return bindMount(filepath.Join(base, "tree"), filepath.Join(base, "away")) },
	"mount-below": func(base string) error {
		return bindMount(filepath.Join(base, "tree/src"), filepath.Join(base, "away"))
	},
	"mount-around": func(base string) error { return bindMount(base, filepath.Join(base, "away")) },
	"mount-file": func(base string) error {
		return bindMount(filepath.Join(base, "tree/src/server.js"), filepath.Join(base, "file"))
	},
	"overlay": func(base string) error {
		return stack(base, "lowerdir="+base+"/tree/src:"+base+"/empty")
	},
	"overlay-upper": func(base string) error {
		if err := os.Mkdir(filepath.Join(base, "tree/work"), 0o700); err != nil {
			return err
		}
		return stack(base, "lowerdir="+base+"/empty,upperdir="+base+"/tree/src,workdir="+base+"/tree/work")
	},
	"overlay-relative": func(base string) error {
		if err := os.Chdir(filepath.Join(base, "tree")); err != nil {
			return err
		}
		layer := fmt.Sprintf("layer-%d", os.Getpid()) // a name that no other folder has
		if err := os.Mkdir(layer, 0o700); err != nil {
			return err
		}
		if err := stack(base, "lowerdir="+layer+":"+base+"/empty"); err != nil {
			return err
		}
		return os.Chdir("/")
	},
	"loop": func(base string) error {
		image, err := makeImage(base)
		if err != nil {
			return err
		}
		out, err := exec.Command("losetup", "-f", "--show", image).Output()
		if err != nil {
			return skipped("no loop device: " + err.Error())
		}
		device, err := os.Open(strings.TrimSpace(string(out)))
		if err != nil {
			return err
		}
		// The kernel lets go of the file when this process, which has the device open, ends.
		kept = device
		return exec.Command("losetup", "-d", device.Name()).Run()
	},
	"lock":      func(base string) error { return lock(filepath.Join(base, "tree")) },
	"lock-file": func(base string) error { return lock(filepath.Join(base, "tree/src/server.js")) },
}

type skipped string

func (s skipped) Error() string { return string(s) }

// kept is what stays open until this process ends.
var kept *os.File

func playWay([]string) error {
	err := acts[os.Getenv("WAY")](os.Getenv("BASE"))
	if s, ok := err.(skipped); ok {
		fmt.Println("skip:", string(s))
		return nil
	}
	if err == nil {
		fmt.Println("ready")
	}
	return err
}

func open(path string, flags int) error { _, err := unix.Open(path, flags, 0); return err }

func openRemoved(path string) error {
	if err := open(path, unix.O_RDWR|unix.O_CREAT); err != nil {
		return err
	}
	return os.Remove(path)
}

func mapFile(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(fd, 0, 1, unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return err
	}
	return unix.Close(fd)
}

var bound net.Listener

func bind(path string) error {
	var err error
	bound, err = net.Listen("unix", path)
	return err
}

func watch(path string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	_, err = unix.InotifyAddWatch(fd, path, unix.IN_CREATE)
	return err
}

// apart does something in a thread that shares its files, or its folders, with no other.
func apart(what int, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first one is the process
			done <- apart(what, do)
			select {}
		}
		err := unix.Unshare(what)
		if err == nil {
			err = do()
		}
		done <- err
		select {}
	}()
	return <-done
}

func bindMount(from, to string) error {
	_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}

func stack(base, options string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("overlay", filepath.Join(base, "away"), "overlay", 0, options); err != nil {
		return skipped("no overlay here: " + err.Error())
	}
	return nil
}

func makeImage(base string) (string, error) {
	path := filepath.Join(base, "tree/image")
	return path, os.WriteFile(path, make([]byte, 1<<20), 0o600)
}

// lock locks a file and hides what it has open, as another user's process does.
func lock(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// treeOf makes a folder that looks like a worktree, with all that the ways need beside it.
func treeOf(t *testing.T) string {
	t.Helper()
	base := files.RealTemp(t)
	for _, dir := range []string{"tree/src/deep", "away", "empty"} {
		files.Folder(t, base, dir)
	}
	for name, text := range map[string]string{
		"tree/src/server.js": "x", "file": "", "tree/.git": "gitdir: " + base + "/repo/.git/worktrees/tree\n",
		"repo/.git/worktrees/tree/gitdir": base + "/tree/.git\n", "repo/.git/worktrees/tree/commondir": "../..\n",
	} {
		files.Write(t, filepath.Join(base, name), text)
	}
	return base
}

// TestAttackAUserThatIsNotSeen uses a folder in every usual way, and asks who does: in a look at everything, in the thorough look right
// before something is done with it, and after it was moved.
func TestAttackAUserThatIsNotSeen(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	a := attack.New(t, "a process uses a folder in a way that is not seen")
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if w.root {
				parts.NeedRoot(t)
			}
			base := treeOf(t)
			c := w.start(t, base)
			if w.undone != nil {
				t.Cleanup(func() { w.undone(base) })
			}
			if why, ok := strings.CutPrefix(c.Said, "skip:"); ok {
				t.Skip(why)
			}
			tree, other := filepath.Join(base, "tree"), filepath.Join(base, "empty")
			seen := func(when, tree string, thorough bool) {
				t.Helper()
				held := Interactive(t, thorough, tree, other)
				a.Check(uses(held[tree], c, w.how, when))
				if len(held[other]) > 0 && w.how != "overlay" && w.play != "mount-around" {
					t.Errorf("%s: the folder beside it has holders %v", when, held[other])
				}
			}
			if w.sweep {
				seen("in a look at everything", tree, false)
			}
			seen("in the thorough look", tree, true)
			moved := filepath.Join(base, "moved")
			if err := os.Rename(tree, moved); err != nil {
				if strings.Contains(err.Error(), "busy") {
					return
				}
				t.Fatal(err)
			}
			seen("after it was moved", moved, true)
		})
	}
}

func Interactive(t *testing.T, thorough bool, paths ...string) map[string][]snapshot.Holder {
	t.Helper()
	held, _ := ask(t, holders.Options{Root: "/proc", Thorough: thorough, Opaque: []string{"nobody"}}, paths...)
	return held
}

// uses says what is wrong with the holders of a folder that c uses.
func uses(held []snapshot.Holder, c parts.Child, how, when string) string {
	for _, h := range held {
		ofKernel := h.PID == 0 && (how == "loop" || how == "mount" || how == "overlay" || how == "socket" || how == "lock")
		if how == "lock" && os.Geteuid() == 0 {
			how = "fd" // nothing hides from root
		}
		if (h.PID == c.Process.Pid || ofKernel) && h.How == how {
			return ""
		}
	}
	return fmt.Sprintf("%s %d is not seen by %q: %v", when, c.Process.Pid, how, held)
}

func TestMain(m *testing.M) { parts.Main(m, plays) }

var plays = map[string]func(args []string) error{
	"idle": parts.Idle, "open": parts.Open, "begins": playBegins, "elsewhere": playElsewhere, "way": playWay, "ask": playAsk, "wrap": playWrap,
}

// playBegins has the folder args[0] open for a moment, and then becomes the program args[1], which has not.
func playBegins(args []string) error {
	if err := parts.Open(args); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return syscall.Exec(args[1], []string{args[1], "60"}, os.Environ())
}

// playElsewhere, in a mount namespace of its own, works in a part of the folder args[0] under another name.
func playElsewhere(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(args[0]+"/src", args[1], "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := os.Chdir(args[1] + "/deep"); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}

// TestTable: what the look has read of a process is not read again. The process has another name by then.
func TestTable(t *testing.T) {
	t.Parallel()
	dir := files.RealTemp(t)
	cmd := exec.Command("sh", "-c", "read -r x; printf renamed > /proc/$$/comm; echo done; read -r x")
	cmd.Dir = dir
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	table := &processes.Table{}
	must.Get(processes.New(processes.Options{Root: "/proc", Markers: []string{"X"}, Table: table}).Read(t.Context()))(t)
	must.Get(io.WriteString(in, "\n"))(t)
	must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	for name, with := range map[string]*processes.Table{"sh": table, "renamed": nil} {
		held, _, err := holders.Find(t.Context(), holders.Options{Root: "/proc", Table: with}, []string{dir})
		if err != nil || len(held[dir]) != 1 || held[dir][0].Name != name {
			t.Errorf("%v, %v: want it to be called %s", held, err, name)
		}
	}
}
