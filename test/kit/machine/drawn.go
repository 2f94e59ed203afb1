package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/procs"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Drawn is one thing of a drawing: a person who had not read the rules drew, for a family of things, ten that people
// want gone after they were left for two days, and ten that must stay. It is made of parts: a wanted one is gone when
// all of them are, and one that must stay is touched when one is.
type Drawn struct {
	Want      bool
	Name, Why string
	Parts     []Thing
}

// Gone reports whether all of it is gone.
func (d Drawn) Gone() bool {
	for _, p := range d.Parts {
		if p.There() {
			return false
		}
	}
	return true
}

// Touched are the parts that are no longer whole.
func (d Drawn) Touched() (out []Thing) {
	for _, p := range d.Parts {
		if !p.There() {
			out = append(out, p)
		}
	}
	return out
}

// Drawing is a machine on which the things of one family are.
type Drawing struct {
	*Machine
	Drawn []Drawn
	acme  *repo
	// dead was killed after all that follows was begun. older lives, waits for its user, and is older than all of it.
	older, dead claude
	said        int
	logs        []string
}

// The families, and what fills a machine with their things.
var families = map[string]func(*Drawing){
	"git": (*Drawing).git, "tmux": (*Drawing).terminals, "processes": (*Drawing).leaked, "agents": (*Drawing).agents,
	"build": (*Drawing).builds,
}

const olderSession, deadSession = "5e551001-0000-4000-8000-00000000000a", "5e551002-0000-4000-8000-00000000000d"

// Draw fills an empty machine with the things of a family, in a repository in which an older Claude lives and another
// one was killed.
func (m *Machine) Draw(family string) *Drawing {
	m.t.Helper()
	m.write(m.Path(".gitconfig"),
		"[user]\n\tname = u\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n"+
			"[protocol \"file\"]\n\tallow = always\n")
	m.write(m.Path(".tmux.conf"), "set -g default-command 'exec sh'\n")
	m.must(os.MkdirAll(m.Path("tmux"), 0o700))
	d := &Drawing{Machine: m, acme: m.repo(m.Path("code", "acme"), true)}
	for name, text := range map[string]string{
		".gitignore": strings.Join([]string{".env", ".env.*", "node_modules/", "*.log", ".claude/", ".next/",
			".turbo/", "*.tsbuildinfo", "coverage/", "bin/", "obj/",
			"vendor/", "target/", ".venv/", "__pycache__/", ".pytest_cache/", ".mypy_cache/", "build/", "dist/",
			"*.db", ".nx/", ".qwen/"}, "\n") + "\n",
		"package.json":      `{"name":"acme","scripts":{"dev":"vite"},"devDependencies":{"vite":"^5"}}` + "\n",
		"package-lock.json": `{"lockfileVersion":3}` + "\n",
		"App.csproj":        "<Project Sdk=\"Microsoft.NET.Sdk\"/>\n", "composer.json": "{}\n",
		"composer.lock": "{\"packages\":[]}\n",
		"Cargo.toml":    "[package]\nname = \"acme\"\n", "Cargo.lock": "version = 4\n",
		"fuzz/Cargo.toml": "[package]\nname = \"fuzz\"\n",
		"pyproject.toml":  "[project]\nname = \"acme\"\n", "CMakeLists.txt": "project(acme)\n",
		"config.json": "{\"port\":1}\n", "tsconfig.json": "{}\n",
	} {
		m.write(filepath.Join(d.acme.path, name), text)
	}
	d.acme.commit(d.acme.path, "all", 20*day)
	d.acme.publish()
	d.older = m.claude(olderSession, d.acme.path)
	d.dead = m.claude(deadSession, d.acme.path)
	families[family](d)
	d.dead.kill()
	time.Sleep(300 * time.Millisecond) // shells reach their prompts
	for _, thing := range d.Drawn {
		for _, p := range thing.Parts {
			if p.Kind == Process {
				pid, err := strconv.Atoi(p.Place)
				m.must(err)
				if !procs.Lives(pid) {
					m.t.Fatalf("%s: process %d did not start: %v", thing.Name, pid, procs.Argv(pid))
				}
			}
		}
	}
	return d
}

// Families are the names of the families.
func Families() []string { return []string{"git", "tmux", "processes", "agents", "build"} }

// gone and stays add a thing that people want gone, and one that must stay.
func (d *Drawing) gone(name, why string, parts ...Thing) {
	d.Drawn = append(d.Drawn, Drawn{Want: true, Name: name, Why: why, Parts: parts})
}

func (d *Drawing) stays(name, why string, parts ...Thing) {
	d.Drawn = append(d.Drawn, Drawn{Name: name, Why: why, Parts: parts})
}

// Working says that what works has written its logs at this moment.
func (d *Drawing) Working(at time.Time) {
	for _, path := range d.logs {
		d.must(os.Chtimes(path, at, at))
	}
}

// The parts of things.

func dirPart(path string) Thing {
	return Thing{Kind: Folder, Name: "folder", Place: path, There: func() bool { return exists(path) }}
}

// entryPart is what git keeps of a worktree, and no candidate by itself.
func entryPart(worktree, admin string) Thing {
	return Thing{Kind: Folder, Name: "git's entry", Place: worktree, There: func() bool { return exists(admin) }}
}

func pidPart(pid int) Thing {
	return Thing{Kind: Process, Name: "process " + procs.Name(pid), Place: strconv.Itoa(pid),
		There: func() bool { return procs.Lives(pid) }}
}

// filePart is a file that has to keep its text.
func (d *Drawing) filePart(path string) Thing {
	was, err := os.ReadFile(path)
	d.must(err)
	return Thing{Kind: Content, Name: "file", Place: path, There: func() bool {
		is, err := os.ReadFile(path)
		return err == nil && string(is) == string(was)
	}}
}

// inside is where Claude Code puts worktrees.
func (d *Drawing) inside(name string) string {
	return filepath.Join(d.acme.path, ".claude", "worktrees", name)
}

// landed is a worktree of an agent with one commit that is on main, and with files besides.
func (d *Drawing) landed(name, how string, files ...string) string {
	d.t.Helper()
	return d.landedAt(d.inside(name), "worktree-"+name, how, files...)
}

func (d *Drawing) landedAt(path, branch, how string, files ...string) string {
	d.t.Helper()
	p := d.acme.worktree(path, branch, 1)
	d.acme.land(branch, how)
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		d.write(filepath.Join(p, name), text+"\n")
	}
	return d.left(p)
}

// left is a worktree in which nothing has happened for an hour when it is left.
func (d *Drawing) left(p string) string {
	d.t.Helper()
	d.acme.old(p, time.Hour)
	return p
}

// file is a new name for a file in which a program says something.
func (d *Drawing) file() string {
	d.said++
	return d.Path(fmt.Sprintf(".said-%d", d.said))
}

func (d *Drawing) heard(path string) string {
	d.t.Helper()
	var text []byte
	wait.Eventually(d.t, "what a program says in "+path, func() (ok bool) {
		var err error
		text, err = os.ReadFile(path)
		return err == nil
	})
	d.must(os.Remove(path))
	return string(text)
}

// parents has a starter start a program with a child, and gives both pids.
func (d *Drawing) parents(s *Starter, o order, role string, child ...string) (pid, below int) {
	d.t.Helper()
	says := d.file()
	o.Env = append(o.Env, saysVar+"="+says, childVar+"="+strings.Join(append([]string{role}, child...), childSep))
	pid = s.tell(o, "parent")
	below, err := strconv.Atoi(d.heard(says))
	d.must(err)
	return pid, below
}

// below is the child of that name of a process.
func (d *Drawing) below(pid int, name string) (child int) {
	d.t.Helper()
	wait.Eventually(d.t, name+" below a process", func() bool {
		for _, p := range procs.All() {
			if p.Parent == pid && p.Name == name {
				child = p.PID
			}
		}
		return child != 0
	})
	return child
}

// listens has a starter start what listens, and gives its pid and where it does.
func (d *Drawing) listens(s *Starter, o order) (pid int, at string) {
	d.t.Helper()
	says := d.file()
	o.Env = append(o.Env, saysVar+"="+says)
	pid = s.tell(o, "listen")
	return pid, d.heard(says)
}

// person starts a shell of a person's own, outside of any agent.
func (d *Drawing) person(dir string) *Starter { return d.starter(d.program("bash"), dir) }

// script makes a script of a package, and gives its path.
func (d *Drawing) script(at, pkg, rel string, more ...string) string {
	path := d.Path(append(strings.Split(at, "/"), "node_modules", pkg, rel)...)
	d.write(path, "// a program\n")
	j, err := json.Marshal(map[string]any{"name": pkg, "version": "1.2.3"})
	d.must(err)
	text := string(j)
	for _, m := range more {
		text = m
	}
	d.write(d.Path(append(strings.Split(at, "/"), "node_modules", pkg, "package.json")...), text)
	return path
}

// terminal starts a program in a terminal of its own; the test shows it, as a person's terminal does.
func (d *Drawing) terminal(dir string, env []string, argv ...string) int {
	d.t.Helper()
	master, slave, err := procs.Terminal()
	d.must(err)
	d.t.Cleanup(func() { _ = master.Close() })
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(d.Env(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	d.must(cmd.Start())
	d.must(slave.Close())
	var tail procs.Tail
	go tail.Drain(master)
	go func() { _ = cmd.Wait() }()
	return cmd.Process.Pid
}

// opens is for the environment of a program that plays Codex, with a thread open that works in a folder.
func (d *Drawing) opens(thread, works string) string {
	d.t.Helper()
	lock := d.Path(".codex", "thread-writer-locks", thread+".lock")
	d.must(os.MkdirAll(filepath.Dir(lock), 0o755))
	d.thread(thread, works)
	return threadVar + "=" + lock
}

// record is what Claude Code writes down of a session.
func (d *Drawing) record(pid int, session, dir string) {
	ticks, err := startTicks(pid)
	d.must(err)
	d.write(d.Path(".claude", "sessions", strconv.Itoa(pid)+".json"),
		fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":%q,"procStart":"%d"}`, pid, session, dir, ticks))
}
