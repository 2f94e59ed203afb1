package dirs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// machinePlaces are where what leads into folders lies on every machine: ~ is this user's home folder, what begins otherwise lies below Options.Machine. Of
// those with reads the files' text is read, of all others links alone.
var machinePlaces = []struct {
	kind, pattern string
	reads         bool
}{
	{byScript, "~/.local/bin/*", true}, {byScript, "~/bin/*", true}, {byLink, "usr/local/bin/*", false},
	{byLink, "usr/local/lib/node_modules/*", false}, {byLink, "usr/lib/node_modules/*", false}, {byLink, "~/.npm-global/lib/node_modules/*", false},
	{byLink, "~/.nvm/versions/node/*/lib/node_modules/*", false}, {byLink, "~/.bun/install/global/node_modules/*", false},
	{byLink, "~/.config/yarn/link/*", false}, {byLink, "~/.local/share/pnpm/global/*/node_modules/*", false},
	{byInstall, "~/.local/lib/python*/site-packages/*", true}, {byInstall, "~/.virtualenvs/*/lib/python*/site-packages/*", true},
	{byInstall, "~/.local/share/uv/tools/*/lib/python*/site-packages/*", true}, {byInstall, "~/.local/share/pipx/venvs/*/lib/python*/site-packages/*", true},
	{byUnit, "~/.config/systemd/user/*", true}, {byUnit, "~/.config/systemd/user/*/*", true}, {byUnit, "~/.local/share/systemd/user/*", true},
	{byUnit, "etc/systemd/user/*", true}, {byUnit, "etc/systemd/system/*", true}, {byUnit, "etc/systemd/system/*/*", true},
	{byUnit, "run/systemd/transient/*", true}, {byUnit, "run/user/$UID/systemd/transient/*", true},
	{byCron, "etc/crontab", true}, {byCron, "etc/cron.d/*", true},
	{byShell, "~/.profile", true}, {byShell, "~/.bashrc", true}, {byShell, "~/.bash_profile", true}, {byShell, "~/.zshrc", true}, {byShell, "~/.zprofile", true},
	{byShell, "~/.zshenv", true}, {byShell, "~/.config/fish/config.fish", true},
}

const (
	// maxLeads is how many entries of folders are read for one list of leads, and maxTexts how much text, in bytes.
	maxLeads = 1_000_000
	maxTexts = 64 << 20
	// maxScript is how long a program may be to be a script: what is longer was compiled.
	maxScript = 64 << 10
)

var errManyLeads = errors.New("there is more in the places where it could stand than one look reads")

// seeker fills leads. It follows no link to read what lies behind it, but for files below the home folder.
type seeker struct {
	ctx         context.Context
	home, uid   string
	at          *leadList
	left, bytes int
}

func (o Options) seeker(ctx context.Context) *seeker {
	return &seeker{ctx: ctx, home: o.Home, uid: strconv.Itoa(os.Geteuid()), at: &leadList{trees: map[string][]string{}}, left: maxLeads, bytes: maxTexts}
}

// fail takes note of the first thing that could not be read. What others own and close to this user is not in their power to mend.
func (s *seeker) fail(path string, err error) {
	if err == nil || s.at.err != nil || gone(err) || errors.Is(err, safeopen.ErrOwner) || denied(err) && safeopen.CheckOwner(path) != nil {
		return
	}
	s.at.err = err
}

// machineLeads reads what leads anywhere on this machine, and looks in the roots, beside them and in the home folder for checkouts.
func (o Options) machineLeads(ctx context.Context) *leadList {
	s := o.seeker(ctx)
	if o.Home == "" {
		s.at.err = errors.New("this user's home folder is not known")
		return s.at
	}
	for _, p := range machinePlaces {
		for _, at := range s.expand(o.placed(p.pattern, s.uid)) {
			s.take(p.kind, at, p.reads)
		}
	}
	s.crontabs(o.Machine)
	for _, config := range []string{".gitconfig", ".config/git/config"} {
		s.config(filepath.Join(o.Home, config), nil)
	}
	for _, pattern := range o.Beside {
		for _, root := range s.expand(filepath.Clean(pattern)) {
			s.checkouts(root, 2)
			s.checkouts(filepath.Dir(root), 1)
		}
	}
	s.checkouts(o.Home, 2)
	return s.at
}

// placed is where a place of machinePlaces is on this machine.
func (o Options) placed(pattern, uid string) string {
	if rest, ok := strings.CutPrefix(pattern, "~"); ok {
		return o.Home + rest
	}
	return filepath.Join(o.Machine, strings.ReplaceAll(pattern, "$UID", uid))
}

// repositoryLeads reads what leads anywhere from the checkouts of a repository, its hooks and its configuration, and looks beside its checkouts for others.
func (o Options) repositoryLeads(ctx context.Context, common string) *leadList {
	s := o.seeker(ctx)
	trees := s.treesOf(common)
	parents := map[string]bool{filepath.Dir(common): true}
	for _, tree := range trees {
		s.tree(tree)
		parents[filepath.Dir(tree)] = true
	}
	for parent := range parents {
		s.checkouts(parent, 1)
	}
	for _, hook := range s.expand(filepath.Join(common, "hooks", "*")) {
		s.take(byHook, hook, !strings.HasSuffix(hook, ".sample"))
	}
	s.config(filepath.Join(common, "config"), trees)
	for _, own := range s.expand(filepath.Join(common, "worktrees", "*", "config.worktree")) {
		s.config(own, trees)
	}
	return s.at
}

// treesOf are the paths of a repository's checkouts: where its main one is, or would be, and what its entries name, also where that is gone.
func (s *seeker) treesOf(common string) []string {
	out := []string{filepath.Dir(common)}
	for _, admin := range s.expand(filepath.Join(common, "worktrees", "*")) {
		if tree, err := git.EntryPath(admin); err == nil && filepath.IsAbs(tree) {
			out = append(out, tree)
		} else {
			s.fail(admin, err)
		}
	}
	return out
}

// tree reads what leads out of a checkout: links at its top, those to packages in its node_modules, and the editable installs of its virtual environments.
func (s *seeker) tree(tree string) {
	for _, e := range s.list(tree) {
		at := filepath.Join(tree, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			s.link(byLink, at)
		case !e.IsDir():
		case e.Name() == "node_modules":
			s.modules(at, tree)
		case strings.Contains(e.Name(), "env"):
			for _, file := range s.expand(filepath.Join(at, "lib", "python*", "site-packages", "*")) {
				s.take(byInstall, file, true)
			}
		}
	}
}

// modules reads the links in a node_modules folder, also those in scopes. Those that lead on within the checkout are how package managers lay it out.
func (s *seeker) modules(folder, tree string) {
	for _, e := range s.list(folder) {
		at := filepath.Join(folder, e.Name())
		switch to, err := os.Readlink(at); {
		case e.IsDir() && e.Name()[0] == '@':
			s.modules(at, tree)
		case e.Type()&fs.ModeSymlink == 0 || err != nil:
		case filepath.IsAbs(to) || !proc.IsBelow(filepath.Join(folder, to), tree):
			s.link(byLink, at)
		}
	}
}

// take reads one place: where a link leads, and, with reads, the paths in a text.
func (s *seeker) take(kind, at string, reads bool) {
	info, err := os.Lstat(at)
	if err != nil {
		s.fail(at, err)
		return
	}
	file := at
	if info.Mode()&fs.ModeSymlink != 0 {
		if file = s.link(byLink, at); s.home == "" || !proc.IsBelow(file, s.home) {
			return
		}
		if info, err = os.Lstat(file); err != nil {
			return // it leads to nothing, which was noted
		}
	}
	name := filepath.Base(at)
	switch {
	case !reads || !info.Mode().IsRegular(), (kind == byScript || kind == byHook) && info.Size() > maxScript:
	case kind == byInstall && !strings.HasSuffix(name, ".pth") && !strings.HasPrefix(name, "__editable__") && !strings.HasSuffix(name, ".egg-link"):
	default:
		s.text(kind, at, file)
	}
}

// text reads a file in which paths may stand.
func (s *seeker) text(kind, at, file string) {
	f, err := safeopen.ReadNow(file, safeopen.Want{Max: 1 << 20})
	if err != nil {
		s.fail(file, err)
		return
	}
	if s.bytes -= len(f.Data); s.bytes < 0 {
		s.fail(file, errManyLeads)
		return
	}
	s.at.list = append(s.at.list, lead{kind: kind, path: at, text: uncommented(f.Data)})
}

// uncommented leaves the lines out that are comments.
func uncommented(data []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(data) {
		if start := bytes.TrimLeft(line, " \t"); !bytes.HasPrefix(start, []byte("#")) || bytes.HasPrefix(start, []byte("#!")) {
			out.Write(line)
		}
	}
	return out.String()
}

// link takes note of where a link leads, by its text and in truth, and gives the latter.
func (s *seeker) link(kind, at string) string {
	to, err := os.Readlink(at)
	if err != nil {
		s.fail(at, err)
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(at), to)
	}
	d := lead{kind: kind, path: at, to: []string{filepath.Clean(to)}}
	real, err := filepath.EvalSymlinks(at)
	if err == nil {
		d.to = append(d.to, real)
	} else {
		real = d.to[0]
		if around, err := filepath.EvalSymlinks(filepath.Dir(real)); err == nil {
			d.to = append(d.to, filepath.Join(around, filepath.Base(real)))
		}
	}
	s.at.list = append(s.at.list, d)
	return real
}

// list gives what lies in a folder, which may be missing, as long as there is room.
func (s *seeker) list(folder string) []fs.DirEntry {
	if s.at.err != nil || s.ctx.Err() != nil {
		s.fail(folder, context.Cause(s.ctx))
		return nil
	}
	entries, err := os.ReadDir(folder)
	if s.left -= len(entries); s.left < 0 {
		err = errManyLeads
	}
	if err != nil {
		s.fail(folder, err)
		return nil
	}
	return entries
}

// expand gives the paths that a pattern stands for. Only * is special, and a component with one is listed; another one may be missing.
func (s *seeker) expand(pattern string) []string {
	before, _, wild := strings.Cut(pattern, "*")
	if !wild {
		return []string{pattern}
	}
	folder := before[:strings.LastIndexByte(before, '/')+1]
	name, rest, _ := strings.Cut(pattern[len(folder):], "/")
	var out []string
	for _, e := range s.list(folder) {
		if ok, err := path.Match(onlyStars.Replace(name), e.Name()); err != nil || !ok {
			continue
		}
		at := filepath.Join(folder, e.Name())
		if rest == "" {
			out = append(out, at)
		} else if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			out = append(out, s.expand(at+"/"+rest)...)
		}
	}
	return out
}

// checkouts looks in a folder, and as deep below it as said, for .git files that lead to an entry of a repository.
func (s *seeker) checkouts(folder string, deep int) {
	if folder == "/" {
		return
	}
	for _, e := range s.list(folder) {
		at := filepath.Join(folder, e.Name())
		if !e.IsDir() || e.Name() == Trash || e.Name() == ".git" || folder == s.home && e.Name()[0] == '.' {
			continue
		}
		if admin := s.entryOf(at); admin != "" && !slices.Contains(s.at.trees[admin], at) {
			s.at.trees[admin] = append(s.at.trees[admin], at)
		} else if admin == "" && deep > 1 {
			s.checkouts(at, deep-1)
		}
	}
}

// entryOf is the entry that a folder's .git file names, "" where it has none.
func (s *seeker) entryOf(tree string) string {
	file := filepath.Join(tree, ".git")
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		s.fail(tree, err)
		return ""
	}
	f, err := safeopen.ReadNow(file, safeopen.Want{Max: maxGitFile})
	if err != nil {
		s.fail(file, err)
		return ""
	}
	admin, ok := strings.CutPrefix(string(f.Data), "gitdir:")
	if !ok {
		return ""
	}
	if admin = strings.TrimSpace(admin); !filepath.IsAbs(admin) {
		admin = filepath.Join(tree, admin)
	}
	if real, err := filepath.EvalSymlinks(admin); err == nil {
		admin = real
	}
	return admin
}

// maxGitFile is more than a file with one path has.
const maxGitFile = 8 << 10

// pathSetting reports whether the value of a variable of git's configuration is a path that git reads, or of a folder of what it runs.
func pathSetting(name string) bool {
	return name == "core.hookspath" || name == "core.attributesfile" || name == "core.excludesfile" || name == "commit.template" ||
		strings.HasPrefix(name, "include.") || strings.HasPrefix(name, "includeif.")
}

// config reads which paths a configuration of git's names. A relative one is taken from the file and from each of the checkouts: one too many keeps a folder.
func (s *seeker) config(file string, trees []string) {
	f, err := safeopen.ReadNow(file, safeopen.Want{Max: 1 << 20})
	if err != nil {
		s.fail(file, err)
		return
	}
	vars, err := gitsafe.ParseConfig(f.Data)
	if err != nil {
		s.fail(file, fmt.Errorf("read %s: %w", file, err))
		return
	}
	for _, v := range vars {
		if !pathSetting(v.Name) || v.Value == "" {
			continue
		}
		d := lead{kind: byGit, path: file}
		switch rest, inHome := strings.CutPrefix(v.Value, "~/"); {
		case inHome:
			d.to = []string{filepath.Join(s.home, rest)}
		case filepath.IsAbs(v.Value):
			d.to = []string{filepath.Clean(v.Value)}
		default:
			for _, from := range append([]string{filepath.Dir(file)}, trees...) {
				if to := filepath.Join(from, v.Value); !proc.IsBelow(to, from) { // what a checkout has in itself is its own
					d.to = append(d.to, to)
				}
			}
		}
		for _, to := range slices.Clone(d.to) {
			if real, err := filepath.EvalSymlinks(to); err == nil {
				d.to = append(d.to, real)
			}
		}
		s.at.list = append(s.at.list, d)
	}
}

// spools are the folders in which cron keeps the crontabs of users.
var spools = []string{"var/spool/cron/crontabs", "var/spool/cron/tabs", "var/spool/cron"}

// crontabs reads the users' crontabs. Where they are closed to this user, its own is asked of the program crontab; without that program there is no cron.
func (s *seeker) crontabs(machine string) {
	for _, spool := range spools {
		entries, err := os.ReadDir(filepath.Join(machine, spool))
		if gone(err) {
			continue
		}
		if err != nil {
			s.crontab()
			return
		}
		for _, e := range entries {
			if e.Type().IsRegular() {
				s.text(byCron, filepath.Join(machine, spool, e.Name()), filepath.Join(machine, spool, e.Name()))
			}
		}
	}
}

// crontabTime is how long crontab may take.
const crontabTime = 5 * time.Second

// crontab asks the program of that name for this user's own lines.
func (s *seeker) crontab() {
	program, err := exec.LookPath("crontab")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, crontabTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-l")
	cmd.Env, cmd.Stderr, cmd.WaitDelay = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + s.home}, &said, time.Second
	out, err := cmd.Output()
	if err != nil && !strings.Contains(said.String(), "no crontab") {
		s.fail(s.home, fmt.Errorf("crontab -l: %w", err))
		return
	}
	s.at.list = append(s.at.list, lead{kind: byCron, path: "crontab -l", text: uncommented(out)})
}
