// Package gitsafe runs git on repositories that others may have written.
//
// A repository's configuration names programs, and so do its hooks and the user's own configuration. Checking them before git reads
// them is not enough: they are written in many ways, and can be changed between the check and the reading. So git never reads them.
// It is run in a git folder of our own making, with a configuration of our own; the repository gives only data: HEAD and the index,
// read once and handed over, its objects, and its refs where they are asked for. The few settings that change an answer and run
// nothing are carried over one by one.
package gitsafe

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Program is the git that is run.
type Program struct {
	// Path is its name or path; "" is git.
	Path string
}

// ErrNoGit says that git could not be started at all, or does not even tell its version.
var ErrNoGit = errors.New("git cannot be run")

func (p Program) name() string { return cmp.Or(p.Path, "git") }

// Environ is env without GIT_*, which could lead git to another repository, configuration, index or program, and without what
// translates its messages, and with what keeps it from asking a person, fetching anything, taking locks that it can do without, and
// reading any configuration but that of the git folder that it is given. GIT_ALLOW_PROTOCOL names no transport that exists, so that
// nothing is fetched that a partial clone lacks.
func Environ(env []string) []string {
	out := make([]string, 0, len(env)+16)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANGUAGE=") {
			out = append(out, kv)
		}
	}
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null/none")
}

// Answers says whether git answers at all: nil, or an error that wraps ErrNoGit. It asks for the version, in no repository.
func (p Program) Answers(ctx context.Context) error {
	var out bytes.Buffer
	cmd := command(ctx, p.name(), "version")
	cmd.Dir, cmd.Stdout = "/", &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: git version: %w", ErrNoGit, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%w: git version: %w; install git, or see why it fails", ErrNoGit, err)
	case !strings.HasPrefix(out.String(), "git version "):
		return fmt.Errorf("%w: %s is not git, by its answer to git version; install git", ErrNoGit, p.name())
	}
	return nil
}

// startError tells a git that is not there, or may not be run, from one that failed.
func startError(err error) error {
	var notFound *exec.Error
	var path *fs.PathError
	if errors.As(err, &notFound) || errors.As(err, &path) {
		return fmt.Errorf("%w: %w; install git, or put it into the PATH", ErrNoGit, err)
	}
	return err
}

// grace is how long git's output may be open after its end: its children hold it, or this busy machine reads it late.
const grace = 10 * time.Second

// Sizes above which a file is not what it claims to be, in bytes.
const (
	maxConfig  = 1 << 20
	maxPattern = 4 << 20
	maxShallow = 64 << 20
	maxPath    = 64 << 10
)

// Format is what a repository's configuration says of the repository itself. Git reads that without following includes, and so
// does this.
type Format struct {
	Bare     bool
	Worktree string
	SHA256   bool
	// Reftable is true where refs and reflogs are not files.
	Reftable bool
	// OwnConfig is true where each worktree has a configuration of its own beside that of the repository (config.worktree).
	OwnConfig bool
}

// ReadConfig reads a configuration file. One that is not there is empty.
func ReadConfig(ctx context.Context, path string) ([]Variable, error) {
	data, err := optional(ctx, path, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	vars, err := ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %q %w", path, err)
	}
	return vars, nil
}

// plain are the extensions under which a repository is read like any other.
var plain = []string{"noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees"}

// FormatOf reads a repository's format. A later one than is known here, or an extension that is not, is an error: git refuses
// such a repository too.
func FormatOf(vars []Variable) (Format, error) {
	var f Format
	version, unknown := "", ""
	for _, v := range vars {
		var err error
		section, key, _ := strings.Cut(v.Name, ".")
		switch {
		case v.Name == "core.bare":
			f.Bare, err = v.Bool()
		case v.Name == "core.worktree":
			f.Worktree = v.Value
		case v.Name == "core.repositoryformatversion":
			version = v.Value
		case section != "extensions":
		case key == "worktreeconfig":
			f.OwnConfig, err = v.Bool()
		case key == "objectformat":
			f.SHA256 = v.Value == "sha256"
			if v.Value != "sha256" && v.Value != "sha1" {
				err = fmt.Errorf("%s is %q, which is not read here", v.Name, v.Value)
			}
		case key == "refstorage":
			f.Reftable = !strings.EqualFold(v.Value, "files")
		case !slices.Contains(plain, key):
			unknown = v.Name
		}
		if err != nil {
			return Format{}, fmt.Errorf("read the repository's format: %w", err)
		}
	}
	switch {
	case version != "" && version != "0" && version != "1":
		return Format{}, fmt.Errorf("read the repository's format: version %q is not read here", version)
	case version != "1" && f.SHA256:
		return Format{}, errors.New("read the repository's format: extensions.objectformat needs version 1")
	case version == "1" && unknown != "":
		return Format{}, fmt.Errorf("read the repository's format: %s is an extension that is not read here", unknown)
	}
	return f, nil
}

// Repository is what git needs to know of a repository, read once. It is made for one look, or for one act.
type Repository struct {
	Common string
	Format Format

	objects    string
	own        settings
	filters    map[string]bool
	excludes   []byte // the user's own patterns
	exclude    []byte
	attributes []byte
	shallow    []byte
	program    Program
}

// Open reads what git is to know of the repository with that common folder, which is a real path. It fails where a user besides this
// user or root owns the folder, its objects or those that it borrows, or could put others in their place.
func (p Program) Open(ctx context.Context, common string) (*Repository, error) {
	if _, err := safeopen.Folder(common); err != nil {
		return nil, err
	}
	vars, err := ReadConfig(ctx, filepath.Join(common, "config"))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} { // the temporary folder has a cleaner of its own, and many entries
		if real, err := safeopen.Path(dir); dir != "" && err == nil {
			clearLeft(real)
		}
	}
	r := &Repository{Common: common, program: p, filters: map[string]bool{}}
	if r.Format, err = FormatOf(vars); err != nil {
		return nil, err
	}
	if r.Format.Reftable {
		return nil, errors.New("it keeps its refs in a format that is not read here (reftable)")
	}
	user := userConfig(ctx)
	r.own = settings{}.extend(user).extend(vars).unsure(vars)
	r.excludes = r.own.excludes(ctx)
	drivers(r.filters, user)
	drivers(r.filters, vars)
	stores, err := Stores(ctx, common)
	if err != nil {
		return nil, err
	}
	r.objects = stores[0].Real
	for name, into := range map[string]*[]byte{"info/exclude": &r.exclude, "info/attributes": &r.attributes, "shallow": &r.shallow} {
		most := int64(maxPattern)
		if name == "shallow" {
			most = maxShallow
		}
		if *into, err = optional(ctx, filepath.Join(common, name), most); err != nil {
			return nil, err
		}
	}
	r.exclude, r.attributes = unlessEmpty(r.exclude), unlessEmpty(r.attributes)
	return r, nil
}

// unlessEmpty gives nothing for a file of comments alone, as git itself makes one in each repository.
func unlessEmpty(data []byte) []byte {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return data
		}
	}
	return nil
}

// optional reads a file that need not be there.
func optional(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: most})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f.Data, err
}

// maxAlternates is how far object folders may borrow from one another, as in git (odb_mkstemp and link_alt_odb_entry: 5).
const maxAlternates = 5

// Store is a folder with objects: as it is named, and by its real path.
type Store struct{ Named, Real string }

// Stores lists the folders that a repository has its objects in: its own first, then those that it borrows from. They are as good as the
// repository's own, or the answer is an error. Git reads the list of the others again by itself: it names folders with objects, and nothing
// that is run.
func Stores(ctx context.Context, common string) ([]Store, error) {
	return borrowed(ctx, nil, filepath.Join(common, "objects"), maxAlternates)
}

// borrowed adds the store at path, and those that it borrows from.
func borrowed(ctx context.Context, known []Store, path string, depth int) ([]Store, error) {
	real, err := safeopen.Path(path)
	if err != nil {
		return nil, fmt.Errorf("look for its objects: %w", err)
	}
	seen := slices.ContainsFunc(known, func(s Store) bool { return s.Real == real })
	known = append(known, Store{filepath.Clean(path), real})
	if seen {
		return known, nil
	}
	file := filepath.Join(real, "info", "alternates")
	list, err := optional(ctx, file, maxPath)
	if err != nil || len(list) == 0 {
		return known, err
	}
	if depth == 0 {
		return nil, fmt.Errorf("its objects are borrowed over more than %d folders", maxAlternates)
	}
	for line := range bytes.Lines(list) {
		text := string(bytes.TrimSuffix(line, []byte("\n")))
		if text == "" || text[0] == '#' {
			continue
		}
		if strings.HasPrefix(text, `"`) {
			if text, err = strconv.Unquote(text); err != nil {
				return nil, fmt.Errorf("%q names a folder in a way that is not read here", file)
			}
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(real, text)
		}
		if known, err = borrowed(ctx, known, text, depth-1); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// ErrAnswer says that git printed what was not asked for.
var ErrAnswer = errors.New("git's answer was not understood")

// IsOID says whether s is a whole object name, of SHA-1 or SHA-256.
func IsOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// IsZero reports whether an object name is that which stands for none.
func IsZero(oid string) bool { return strings.Trim(oid, "0") == "" }

// maxOutput bounds what one run may print, in bytes.
const maxOutput = 256 << 20

var errMuch = fmt.Errorf("git printed more than %d bytes", maxOutput)

// Call is one question to git.
type Call struct {
	Args  []string
	Stdin io.Reader
	// Until ends each of the output's records.
	Until byte
}

// command is git in a process group of its own, so that what it may have started ends with it.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = Environ(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd
}

// command is git in the sealed folder. What it prints on stderr goes to complaint.
func (s *Sandbox) command(ctx context.Context, stdin io.Reader, args []string) (cmd *exec.Cmd, complaint *limit.Writer) {
	complaint = &limit.Writer{Most: 1 << 10}
	cmd = command(ctx, s.program.name(), append([]string{"--no-optional-locks", "--no-pager", "--no-replace-objects"}, args...)...)
	if s.online { // with the user's and the machine's configuration, which Environ keeps git from reading
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return name == "GIT_CONFIG_GLOBAL" || name == "GIT_CONFIG_SYSTEM" || name == "GIT_CONFIG_NOSYSTEM"
		})
	}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = s.cwd, append(cmd.Env, s.env...), stdin, complaint, s.files
	return cmd, complaint
}

// Run asks git and hands each record of its output to each, without the byte that ends it. What it printed on stderr
// is returned as well, cut short. The error wraps ErrNoGit where git could not be started.
func (s *Sandbox) Run(ctx context.Context, c Call, each func(record []byte) error) (stderr string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, complaint := s.command(ctx, c.Stdin, c.Args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", startError(err)
	}
	readErr := Records(out, c.Until, each)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	cause := context.Cause(ctx) // the cancelling after a reading error does not count
	if errors.Is(cause, context.DeadlineExceeded) {
		return complaint.String(), cause
	}
	return complaint.String(), cmp.Or(readErr, cause, explain(waitErr, complaint))
}

// Output asks git and gives all that it printed. What it printed on stderr is part of the error.
func (s *Sandbox) Output(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := &limit.Writer{Most: maxOutput, Full: func() { end(errMuch) }}
	cmd, complaint := s.command(ctx, strings.NewReader(stdin), args)
	cmd.Stdout = out
	if err := cmd.Run(); err != nil || out.Truncated() {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return "", explain(startError(err), complaint)
	}
	return out.String(), nil
}

// Records cuts r into what ends with until. What is left at the end without it is an error: the output was cut off.
func Records(r io.Reader, until byte, each func([]byte) error) error {
	limited := &io.LimitedReader{R: r, N: maxOutput}
	in := bufio.NewReaderSize(limited, 64<<10)
	for {
		record, err := in.ReadBytes(until)
		if errors.Is(err, io.EOF) {
			if limited.N == 0 {
				return errMuch
			}
			if len(record) > 0 {
				return errors.New("git's output was cut off")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(record[:len(record)-1]); err != nil {
			return err
		}
	}
}

// explain adds the first line of git's complaint to how it ended.
func explain(err error, complaint *limit.Writer) error {
	if err == nil {
		return nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
	if line == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, line)
}
