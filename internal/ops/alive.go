package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/alive"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// WhyAlive looks, and says whether anything is alive in what was asked for. as is a kind of alive.Kinds, "" to find that out from what.
func (o *Ops) WhyAlive(ctx context.Context, what, as string) (alive.Answer, error) {
	if as != "" && !slices.Contains(alive.Kinds, as) {
		return alive.Answer{}, config.Usagef("--as %q: want one of %s", as, strings.Join(alive.Kinds, ", "))
	}
	q, err := o.question(what, as)
	if err != nil {
		return alive.Answer{}, err
	}
	if pid := o.CLIPID(); pid > 0 {
		q.Own = append(q.Own, pid)
	}
	sc := sources.Scope{Life: true}
	if q.Kind == alive.Folder {
		if st, err := os.Lstat(q.Path); err == nil && st.IsDir() && q.Reachable {
			sc.Place = q.Path
		}
	}
	look := *o
	look.Policy = nil // without rules all of each process is read
	s, err := look.Look(ctx, sc, o.LoadPriorReadOnly(ctx))
	if err != nil {
		return alive.Answer{}, err
	}
	if q.Kind == alive.Folder && q.Reachable {
		if err := look.holdersOf(ctx, s, &q); err != nil {
			return alive.Answer{}, err
		}
	}
	if q.Kind != alive.Folder && q.Kind != alive.Process && q.Kind != alive.Agent {
		if err := findName(s, &q); err != nil {
			return alive.Answer{}, err
		}
	}
	return alive.Ask(s, &o.Cfg.Rules.Config, q), nil
}

// question says what is asked for. Its kind is "" where only a look tells what has that name.
func (o *Ops) question(what, as string) (alive.Question, error) {
	q := alive.Question{Asked: what, Kind: as, ID: what}
	if strings.TrimSpace(what) == "" || strings.ContainsRune(what, 0) {
		return q, config.Usagef("it is not said what is asked for: give a folder, a pid, a session, a tab, a terminal or an agent's session id")
	}
	kind, rest, prefixed := strings.Cut(what, ":")
	known, isKind := snapshot.KindOf(what)
	switch prefixed = prefixed && isKind; {
	case as == "" && prefixed && known.Name == snapshot.KindDir:
		q.Kind, what = alive.Folder, rest
	case as == "" && prefixed:
		q.Kind = kind
		if rest == "" || strings.HasSuffix(rest, "/") { // as of $4 without quotes in a shell
			return q, config.Usagef("%q names nothing: put the id into single quotes, such as 'session:tmux/default/$4'", what)
		}
	case as == "" && (strings.ContainsRune(what, '/') || what == "." || what == ".." || what == "~"):
		q.Kind = alive.Folder
	case as == "" && IsPID(what):
		q.Kind = alive.Process
	case as == alive.Folder:
		what = strings.TrimPrefix(what, snapshot.KindDir+":")
	}
	switch q.Kind {
	case alive.Folder:
		return q, o.placed(&q, what)
	case alive.Process:
		if other := PIDDiffers(o.Asker); other != "" {
			return q, config.Usagef("%q: %s; run winnow why-alive there, or give the number that the process has here", q.Asked, other)
		}
		return q, o.numbered(&q, strings.TrimPrefix(what, snapshot.KindProcess+":"))
	}
	return q, nil
}

// IsPID reports whether a word is a pid, or a pid with when it began.
func IsPID(s string) bool {
	pid, ticks, both := strings.Cut(s, "@")
	digits := func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
	}
	return digits(pid) && (!both || digits(ticks))
}

// numbered reads a pid, or a pid with when it began.
func (o *Ops) numbered(q *alive.Question, s string) error {
	pid, ticks, both := strings.Cut(s, "@")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return config.Usagef("%q is no pid: give a number such as 812, or 812@93211 with its start in clock ticks since boot", q.Asked)
	}
	q.PID = n
	if leads, err := proc.Leads(o.Cfg.Collect.Processes.Root, n); err == nil && !leads {
		return config.Usagef("%d is a thread, not a process. Give the number of its process (Tgid in /proc/%d/status)", n, n)
	}
	if both {
		at, err := strconv.ParseUint(ticks, 10, 64)
		if err != nil {
			return config.Usagef("%q: %q is no start in clock ticks since boot (field 22 of /proc/%d/stat)", q.Asked, ticks, n)
		}
		q.Ticks = &at
	}
	return nil
}

// maxLinks is how many links a path may lead through, as the kernel has it (path_resolution(7)).
const maxLinks = 40

// placed finds the real path of a folder, which may be gone, and whether this user sees all who use it.
func (o *Ops) placed(q *alive.Question, what string) error {
	if rest, ok := strings.CutPrefix(what, "~"); ok && (rest == "" || rest[0] == '/') { // the shell left it
		home, err := os.UserHomeDir()
		if err != nil {
			return config.Usagef("%q: %v", q.Asked, err)
		}
		what = home + rest
	}
	if o.Asker.Conn != nil && !filepath.IsAbs(what) {
		if o.AskerFolder == "" {
			return config.Usagef("%q: give the folder's whole path", q.Asked)
		}
		what = filepath.Join(o.AskerFolder, what)
	}
	p, err := filepath.Abs(what) // what a path of a person's has in it, $ among it, is a part of its name
	if err != nil {
		return fmt.Errorf("find the folder %s: %w", what, err)
	}
	real, there, err := RealPath(p)
	q.Path = real
	if err != nil {
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: "where the path leads could not be read: " + err.Error()})
		return nil
	}
	q.Reachable = true
	if proc.SharedOutside("/proc", "/proc/self/mountinfo")(real) {
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: "it lies on a mount that processes outside of this pid namespace may use, unseen from here"})
	}
	if other := FolderDiffers(o.Asker, p); other != "" {
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: other})
	}
	if real != p {
		q.Claims = append(q.Claims, alive.Claim{Detail: fmt.Sprintf("%s leads to %s, and the answer is for that", p, real), Source: snapshot.Proc})
	}
	if !there {
		q.Claims = append(q.Claims, alive.Claim{Detail: fmt.Sprintf("there is no folder %s; who still uses it under its deleted name was asked", real), Source: snapshot.Proc})
		return nil
	}
	var st unix.Stat_t
	switch err := unix.Lstat(real, &st); {
	case err != nil:
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: fmt.Sprintf("the folder could not be read: %v", err)})
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return config.Usagef("%s is no folder; give a folder's path", real)
	case os.Geteuid() != 0 && int(st.Uid) != os.Geteuid():
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: fmt.Sprintf("the folder belongs to another user (uid %d), whose processes do not show what they use", st.Uid)})
	case os.Geteuid() != 0 && st.Mode&0o022 != 0:
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: fmt.Sprintf("other users may write into the folder (mode %04o), and their processes do not show what they use", st.Mode&0o7777)})
	}
	return nil
}

// errView is why a path below /proc has no real path here: its links lead into another mount namespace, where names mean other folders.
var errView = errors.New("a path below /proc may lead into another process's view, where the users of a folder are not known")

// throughProc reports whether one of the links of a path is one of /proc's own (magic links, proc(5)).
func throughProc(p string) bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	_ = unix.Close(fd)
	return errors.Is(err, unix.ELOOP)
}

// RealPath follows all links of a path, of which the last parts may be missing. there is false where the path leads to nothing.
func RealPath(p string) (real string, there bool, err error) {
	for range maxLinks {
		if proc.IsBelow(p, "/proc") || throughProc(p) {
			return p, false, errView
		}
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return real, true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return p, false, err
		}
		// The deepest folder that is there, and what comes after it: a name that is missing, or a link that leads nowhere.
		up, rest := filepath.Dir(p), filepath.Base(p)
		for up != "/" {
			if _, err := os.Stat(up); err == nil {
				break
			}
			up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest)
		}
		if throughProc(up) {
			return p, false, errView
		}
		if up, err = filepath.EvalSymlinks(up); err != nil {
			return p, false, err
		}
		first, then, _ := strings.Cut(rest, "/")
		target, err := os.Readlink(filepath.Join(up, first))
		if err != nil {
			return filepath.Join(up, rest), false, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(up, target)
		}
		p = filepath.Join(target, then)
	}
	return p, false, errors.New("too many links")
}

// holdersOf asks who uses the folder, as is asked right before an act on it, and puts that into the snapshot.
func (o *Ops) holdersOf(ctx context.Context, s *snapshot.Snapshot, q *alive.Question) error {
	found, known, err := o.Sources().Holders(true)(ctx, []string{q.Path})
	q.HoldersAt = time.Now().UTC()
	if ctx.Err() != nil {
		return errors.New("interrupted while looking")
	}
	id := snapshot.KindDir + ":" + q.Path
	d, ok := s.Dirs[id]
	if !ok {
		d = snapshot.Dir{Source: snapshot.Proc, Name: filepath.Base(q.Path), Path: q.Path}
	}
	if err != nil {
		q.Gaps = append(q.Gaps, alive.Gap{Source: snapshot.Proc, Why: err.Error()})
	}
	d.SetHolders(found[q.Path], known && err == nil)
	if s.Dirs == nil {
		s.Dirs = map[string]snapshot.Dir{}
	}
	s.Dirs[id] = d
	return nil
}

// findName finds what is called so: a session, a tab or a terminal, of the question's kind where it has one, by its id, or by its name. Else it is an
// agent's session or a worker.
func findName(s *snapshot.Snapshot, q *alive.Question) error {
	name := strings.TrimPrefix(q.ID, q.Kind+":")
	var found []string
	for _, kind := range snapshot.Kinds {
		if kind.Name == snapshot.KindDir || kind.Name == snapshot.KindProcess || q.Kind != "" && q.Kind != kind.Name {
			continue
		}
		for id := range kind.IDs(s) {
			c, _ := kind.Find(s, id)
			if id == kind.Name+":"+name {
				q.Kind, q.ID = kind.Name, id
				return nil
			}
			if c.Name == name || c.Native == name || kind.Name == snapshot.KindTab && s.Tabs[id].Label == name {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 1:
		kind, _ := snapshot.KindOf(found[0])
		q.Kind, q.ID = kind.Name, found[0]
	case len(found) > 1:
		return config.Usagef("%q is ambiguous: it is the name of %s; give the whole id", q.ID, strings.Join(firstOf(found, 5), ", "))
	case q.Kind == "":
		q.Kind, q.Guessed = alive.Agent, true
	default:
		q.ID = q.Kind + ":" + name
	}
	return nil
}

// Agents are the agents that are known, with those of this user's processes that are theirs.
func (o *Ops) Agents(ctx context.Context) (document.Agents, error) {
	s, err := o.Processes(ctx)
	if err != nil {
		return document.Agents{}, err
	}
	return document.Agents{Schema: document.AgentsSchema, Agents: knownAgents(o.Cfg.Agents.Known, s)}, nil
}

// Processes reads the processes alone.
func (o *Ops) Processes(ctx context.Context) (*snapshot.Snapshot, error) {
	s, err := o.Look(ctx, sources.Scope{Kind: snapshot.KindProcess, Alone: true}, look.PriorState{})
	if err != nil {
		return nil, err
	}
	if src := s.Sources[snapshot.Proc]; src.Status != snapshot.OK {
		return nil, fmt.Errorf("the processes could not be read: %s", src.Error)
	}
	return s, nil
}

func knownAgents(known []config.Agent, s *snapshot.Snapshot) []document.KnownAgent {
	out := []document.KnownAgent{}
	for _, a := range known {
		of := subject.Config{Agents: a.Rules.Agents, AgentScripts: a.Rules.AgentScripts, AgentPackages: a.Rules.AgentPackages, AgentDaemons: a.Rules.AgentDaemons}
		row := document.KnownAgent{Name: a.Name, Title: a.Title, Version: a.Seen.Version, File: a.File, PIDs: []int{}}
		for _, p := range s.Processes {
			if p.UID != nil && *p.UID == os.Getuid() && of.Recognises(p) {
				row.PIDs = append(row.PIDs, p.PID)
			}
		}
		slices.Sort(row.PIDs)
		out = append(out, row)
	}
	return out
}

// checkAgents says which agents run.
func (o *Ops) checkAgents(s *snapshot.Snapshot) Check {
	var run []string
	for _, a := range knownAgents(o.Cfg.Agents.Known, s) {
		if len(a.PIDs) > 0 {
			run = append(run, a.Name)
		}
	}
	return Check{"source", "agents", Healthy, fmt.Sprintf("%d are known; here runs %s", len(o.Cfg.Agents.Known), cmp.Or(strings.Join(run, ", "), "none of them"))}
}
