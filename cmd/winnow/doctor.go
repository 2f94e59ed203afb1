package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/report"
	"winnow/cmd/winnow/text"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
	"winnow/ledger"
)

// Check is one line of the doctor's answer.
type Check struct {
	// Area is config, policies, state, kernel, source or rule.
	Area string `json:"area"`
	Name string `json:"name"`
	// Status is ok, warn or fail.
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// The states of a Check.
const (
	healthy = "ok"
	limited = "warn"
	broken  = "fail"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What can and cannot be seen and done on this machine, and which rules can therefore never fire",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.examine(cmd.Context())
			if err := list(a, checks, func(w io.Writer) { a.checksText(w, checks) }); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c Check) bool { return c.Status == broken }) {
				return codeError{code: report.ExitPart}
			}
			return nil
		},
	}
}

func (a *app) examine(ctx context.Context) []Check {
	checks := []Check{a.checkConfig()}
	checks = append(checks, a.checkState(ctx)...)
	checks = append(checks, a.checkPolicies(ctx))
	checks = append(checks, checkKernel(a.cfg.State)...)
	checks = append(checks, checkPrograms(ctx)...)
	s, err := a.look(ctx, scope{}, a.recall(ctx))
	if err != nil {
		return append(checks, Check{"source", "sources", broken, err.Error()})
	}
	checks = append(checks, checkProjects(s)...)
	checks = append(checks, a.checkTrash(ctx, s)...)
	checks = append(checks, checkSources(s)...)
	checks = append(checks, a.checkHerdr(s)...)
	checks = append(checks, a.checkHost(s)...)
	return byArea(append(checks, a.checkRules(s)...))
}

// byArea puts the checks of an area together, where its first one stands.
func byArea(checks []Check) []Check {
	var areas []string
	for _, c := range checks {
		if !slices.Contains(areas, c.Area) {
			areas = append(areas, c.Area)
		}
	}
	slices.SortStableFunc(checks, func(x, y Check) int { return cmp.Compare(slices.Index(areas, x.Area), slices.Index(areas, y.Area)) })
	return checks
}

func (a *app) checkConfig() Check {
	if a.cfg.File == "" {
		return Check{"config", "configuration", healthy, "none: the defaults hold; winnow init writes a file to edit, and " + config.UserPlace() + " is read unasked"}
	}
	return Check{"config", "configuration", healthy, a.cfg.File}
}

func (a *app) checkState(ctx context.Context) []Check {
	dir := a.cfg.State
	var out []Check
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out = append(out, Check{"state", dir, healthy, "does not exist yet; the first sweep makes it"})
		return out
	case err != nil:
		return append(out, Check{"state", dir, broken, err.Error() + "; give another folder with --state"})
	case a.trustState() != nil:
		return append(out, Check{"state", dir, broken, a.trustState().Error()})
	case st.Mode().Perm()&0o077 != 0:
		out = append(out, Check{"state", dir, limited, fmt.Sprintf("mode %04o lets others in; chmod 700 it", st.Mode().Perm())})
	case unix.Access(dir, unix.W_OK) != nil:
		return append(out, Check{"state", dir, broken, "cannot be written: nothing can be remembered or done; give another folder with --state"})
	default:
		out = append(out, Check{"state", dir, healthy, "can be written"})
	}
	l, err := ledger.OpenReadOnly(a.ledgerPath())
	switch {
	case errors.Is(err, ledger.ErrNone):
		return append(out, Check{"state", "ledger", healthy, "none yet"})
	case err != nil:
		return append(out, Check{"state", "ledger", broken, err.Error()})
	}
	defer l.Close()
	open, err := l.Unsettled(ctx)
	switch {
	case err != nil:
		out = append(out, Check{"state", "ledger", broken, err.Error()})
	case len(open) > 0:
		out = append(out, Check{"state", "ledger", limited, text.Plural(len(open), "act") + " cut short; the next sweep --apply finds out how they went"})
	default:
		out = append(out, Check{"state", "ledger", healthy, "can be read, nothing is open"})
	}
	return out
}

func (a *app) checkPolicies(ctx context.Context) Check {
	e, p, err := a.engine(ctx)
	if err != nil {
		return Check{"policies", "policies", broken, err.Error()}
	}
	defer e.Close()
	return Check{"policies", "policies", healthy, fmt.Sprintf("%s, revision %s, %s", text.Plural(len(p.Rules()), "rule"), p.Revision, p.Digest[:min(len(p.Digest), 19)])}
}

// checkKernel tries the calls that acts rest on, on nothing but this process and the state folder.
func checkKernel(state string) []Check {
	probe := func(name string, err error, without string) Check {
		if err != nil {
			return Check{"kernel", name, limited, fmt.Sprintf("%v: %s", err, without)}
		}
		return Check{"kernel", name, healthy, "works"}
	}
	var out []Check
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		err = unix.PidfdSendSignal(fd, 0, nil, 0)
		unix.Close(fd)
	}
	out = append(out, probe("pidfd", err, "processes are never signalled here"))
	dir := state
	for unix.Access(dir, unix.F_OK) != nil && dir != "/" {
		dir = filepath.Dir(dir)
	}
	fd, err = unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err == nil {
		unix.Close(fd)
	}
	out = append(out, probe("openat2", err, "folders are never set aside here"))
	var stx unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME|unix.STATX_MNT_ID, &stx)
	if err == nil && stx.Mask&unix.STATX_BTIME == 0 {
		err = fmt.Errorf("%s does not keep birth times", dir)
	}
	return append(out, probe("statx", err, "folders there have no identity and are kept"))
}

// programWithin is how long a program may take to say its version.
const programWithin = 5 * time.Second

func checkPrograms(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(ctx, programWithin)
	defer cancel()
	var out []Check
	for _, p := range []struct{ name, flag, without string }{
		{"git", "--version", "worktrees cannot be looked into, and every one is kept"},
		{"tmux", "-V", "tmux sessions cannot be seen"},
	} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			out = append(out, Check{"source", p.name, limited, "is not installed: " + p.without})
			continue
		}
		cmd := exec.CommandContext(ctx, path, p.flag)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		v, err := cmd.Output()
		if err != nil {
			out = append(out, Check{"source", p.name, limited, "fails (" + err.Error() + "): " + p.without})
			continue
		}
		out = append(out, Check{"source", p.name, healthy, strings.TrimSpace(string(v))})
	}
	return out
}

func checkSources(s *snapshot.Snapshot) []Check {
	var out []Check
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		src := s.Sources[name]
		c := Check{"source", name, healthy, fmt.Sprintf("%d read in %s", src.Seen, text.Span(time.Duration(src.Took*float64(time.Second))))}
		switch src.Status {
		case snapshot.Failed:
			c.Status, c.Detail = broken, src.Error
		case snapshot.Absent:
			c.Status, c.Detail = limited, src.Error
		}
		if len(src.Refused) > 0 {
			c.Status, c.Detail = limited, c.Detail+"; "+strings.Join(src.Refused, "; ")
		}
		if src.Unreadable > 0 {
			c.Status, c.Detail = limited, fmt.Sprintf("%s; %d could not be read whole", c.Detail, src.Unreadable)
		}
		out = append(out, c)
	}
	return out
}

// checkHerdr says of each herdr server whether its tabs may be closed, and whether the records of who works where can be read.
func (a *app) checkHerdr(s *snapshot.Snapshot) []Check {
	var out []Check
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		src := s.Sources[name]
		if src.Kind != "herdr" || src.Status != snapshot.OK || src.Server == nil {
			continue
		}
		c := Check{"source", name + " server", limited, fmt.Sprintf("herdr %s does not say its protocol: its tabs are read and never closed", src.Server.Version)}
		if n := src.Server.Protocol; n != nil && slices.Contains(a.cfg.Rules.HerdrProtocols, *n) {
			c.Status, c.Detail = healthy, fmt.Sprintf("herdr %s, protocol %d: tabs can be closed", src.Server.Version, *n)
		} else if n != nil {
			c.Detail = fmt.Sprintf("herdr %s, protocol %d: not one that closing was tried with, so its tabs are read and never closed; rules.herdr_protocols allows it", src.Server.Version, *n)
		}
		out = append(out, c)
	}
	for _, f := range a.cfg.Rules.RecordedFolders {
		formats := func(kind string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(s.Sources)), func(x snapshot.Source) bool {
				return x.Kind == kind && x.Format == f.Format && x.Status == snapshot.OK
			})
		}
		if !formats("spawns") || !formats("registry") {
			out = append(out, Check{"source", f.Format, limited, fmt.Sprintf("no records of %s were read, so what lies below a folder %s is kept; see collect.shepherd.stores", f.Format, f.Name)})
		}
	}
	return out
}

func (a *app) checkHost(s *snapshot.Snapshot) []Check {
	h := s.Host
	var out []Check
	if h.UID != nil && *h.UID != 0 {
		out = append(out, Check{"source", "other users", limited, "what processes of other users have open cannot be seen by " + cmp.Or(h.User, fmt.Sprintf("user %d", *h.UID)) + "; it is not counted as use of a folder"})
	}
	if h.SteadySince != nil && s.TakenAt.Sub(*h.SteadySince) < config.Seconds(a.cfg.Rules.SteadyFor) {
		out = append(out, Check{"source", "clock", limited, fmt.Sprintf("the machine booted, resumed or changed its clock %s ago: everything is kept until rules.steady_for (%s) have passed",
			text.Span(s.TakenAt.Sub(*h.SteadySince)), config.Seconds(a.cfg.Rules.SteadyFor))})
	}
	return out
}

// checkRules says of each shipped reason to reap whether it can fire here at all, and if not, why.
func (a *app) checkRules(s *snapshot.Snapshot) []Check {
	recorded := slices.ContainsFunc(s.Registry, func(e snapshot.Entry) bool { return e.Session != "" })
	names := len(a.cfg.Rules.SessionNames.Exact)+len(a.cfg.Rules.SessionNames.Prefix) > 0
	worktrees, upstream := 0, false
	for _, d := range s.Dirs {
		if d.Git != nil && d.Git.Worktree != nil && *d.Git.Worktree {
			worktrees++
			upstream = upstream || d.Git.Upstream != ""
		}
	}
	unmarked := !slices.ContainsFunc(a.cfg.Collect.Processes.Markers, func(m string) bool {
		return !slices.Contains(a.cfg.Rules.PaneMarkers, m) && !slices.Contains(snapshot.PaneMarkers, m)
	})
	var out []Check
	never := func(rule string, because ...string) {
		because = slices.DeleteFunc(because, func(s string) bool { return s == "" })
		c := Check{"rule", rule, healthy, "can fire here"}
		if len(because) > 0 {
			c.Status, c.Detail = limited, "can never fire here: "+strings.Join(because, "; ")
		}
		out = append(out, c)
	}
	when := func(cond bool, why string) string {
		if cond {
			return why
		}
		return ""
	}
	noServers := when(!slices.ContainsFunc(slices.Collect(maps.Values(s.Sources)), func(x snapshot.Source) bool { return x.Kind == "tmux" && x.Status == snapshot.OK }), "no tmux server of this user runs")
	ids := slices.ContainsFunc(a.cfg.Rules.IDMarkers, func(m string) bool { return slices.Contains(a.cfg.Collect.Processes.Markers, m) })
	owners := slices.ContainsFunc(s.Registry, func(e snapshot.Entry) bool { return e.Marker != "" })
	ancient := when(s.Host.Container != nil && *s.Host.Container, "process 1 of this container is a program, so having it for a parent proves nothing")
	unsure := when(s.Host.Container == nil, "it cannot be told whether process 1 is an init")
	never("reap.tabs.husk",
		when(!slices.ContainsFunc(slices.Collect(maps.Values(s.Sources)), func(x snapshot.Source) bool { return x.Kind == "herdr" && x.Status == snapshot.OK }), "no herdr server of this user runs"),
		when(len(a.cfg.Rules.HelperLabels.Exact)+len(a.cfg.Rules.HelperLabels.Prefix) == 0, "rules.helper_labels is empty"))
	towers := when(!slices.ContainsFunc(slices.Collect(maps.Values(s.Sources)), func(x snapshot.Source) bool { return x.Kind == "codev" && x.Status == snapshot.OK }), "no Codev state folder with a Tower that answers")
	never("reap.terminals.ownerless", towers)
	never("reap.terminals.exited", towers)
	never("reap.terminals.husk", towers)
	never("reap.sessions.husk", noServers, when(!names && !recorded, "no session name is in scope; set rules.session_names or collect.registry"))
	never("reap.sessions.finished", noServers, when(!recorded, "no registry entry records a session; set collect.registry"))
	never("reap.dirs.disposable", when(len(s.Dirs) == 0, "no folder is looked at; set collect.dirs.roots, or run in a repository"), when(len(a.cfg.Rules.DisposableDirs) == 0, "rules.disposable_dirs is empty"))
	never("reap.dirs.landed", when(worktrees == 0, "no linked worktree was found"), when(worktrees > 0 && !upstream, "no repository has a remote with a default branch (git remote set-head origin --auto)"))
	never("reap.dirs.over", when(worktrees == 0, "no linked worktree was found"))
	never("reap.processes.deleted", ancient, unsure, when(len(a.cfg.Rules.WorktreeFolders) == 0, "rules.worktree_folders is empty"))
	never("reap.processes.runaway",
		when(!ids, "none of rules.id_markers is read; see collect.processes.markers"),
		when(!owners, "no registry entry says which marker its processes carry; see collect.shepherd.stores"))
	never("reap.processes.orphan", ancient, unsure,
		when(unmarked, "collect.processes.markers names no variable that an agent sets"))
	if veil := subject.Join(s, &a.cfg.Rules.Config).Veil(); veil != nil && out[len(out)-1].Status == healthy {
		out[len(out)-1].Status, out[len(out)-1].Detail = limited, "can fire here only for what began before another process: "+report.Veiling(veil)
	}
	return append(out, unreadMarkers(a.cfg.Collect.Processes.Markers, &a.cfg.Rules.Config)...)
}

func (a *app) checksText(w io.Writer, checks []Check) {
	color := map[string]func(string) string{healthy: a.paint.Green, limited: a.paint.Yellow, broken: a.paint.Red}
	for len(checks) > 0 {
		area, rows := checks[0].Area, []text.Row(nil)
		for len(checks) > 0 && checks[0].Area == area {
			c := checks[0]
			rows, checks = append(rows, text.Row{Lead: c.Status, Color: color[c.Status], Label: c.Name, Text: c.Detail}), checks[1:]
		}
		fmt.Fprintln(w, a.paint.Bold(area))
		a.paint.Rows(w, rows...)
		if len(checks) > 0 {
			fmt.Fprintln(w)
		}
	}
}

// unreadMarkers says which markers the rules ask for that are not read.
func unreadMarkers(read []string, c *subject.Config) []Check {
	var asked []string
	for _, m := range c.MarkerRecords {
		asked = append(asked, m.Marker)
	}
	var out []Check
	for _, m := range slices.Concat(asked, c.PIDMarkers) {
		if !slices.Contains(read, m) {
			out = append(out, Check{"rule", "protect.owned", limited, fmt.Sprintf("%s of rules is not read; see collect.processes.markers", m)})
		}
	}
	return out
}
