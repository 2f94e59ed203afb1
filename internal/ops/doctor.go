package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
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
	Healthy = "ok"
	Limited = "warn"
	Broken  = "fail"
)

// What begins the detail of a check on something that a person need not have.
const (
	notHere    = "not here: "
	cannotFire = "can never fire here: "
)

// Quiet reports whether a check says no more than that something is not on this machine, or that a shipped rule can fire.
func (c Check) Quiet() bool {
	_, err := fs.Stat(policies.Files, strings.ReplaceAll(c.Name, ".", "/"))
	shipped := c.Area == "rule" && err == nil
	return strings.HasPrefix(c.Detail, notHere) || shipped && (c.Status == Healthy || strings.HasPrefix(c.Detail, cannotFire))
}

// Examine makes all checks. events says how the daemon hears of what changes.
func (o *Ops) Examine(ctx context.Context, events func(context.Context, *snapshot.Snapshot) []Check) []Check {
	loaded, rules, layers := o.checkPolicies(ctx)
	ruled := cmp.Or(o.Cfg.File, "no file, so the defaults hold; winnow init writes a file to edit, and "+config.UserPlace()+" is read unasked")
	checks := slices.Concat([]Check{{"config", "configuration", Healthy, ruled}}, o.checkLevelsSet(), o.checkState(ctx), []Check{loaded}, o.checkBundles(), checkLayers(layers), o.checkOwn(rules), checkKernel(o.Cfg.State), checkPrograms(ctx))
	s, err := o.Look(ctx, sources.Scope{}, o.LoadPriorReadOnly(ctx))
	if err != nil {
		return append(checks, Check{"source", "sources", Broken, err.Error()})
	}
	return byArea(slices.Concat(checks, checkProjects(s), o.checkExceptions(s), o.checkTrash(ctx, s), checkSources(s), []Check{o.checkAgents(s)}, events(ctx, s), o.checkHerdr(s), o.checkHost(s), OddHost(o.Cfg.Collect.Processes.Root, s, rules), o.checkRules(s, rules)))
}

// byArea puts the checks of an area together, where its first one stands.
func byArea(checks []Check) []Check {
	first := func(area string) int { return slices.IndexFunc(checks, func(c Check) bool { return c.Area == area }) }
	return slices.SortedStableFunc(slices.Values(checks), func(x, y Check) int { return cmp.Compare(first(x.Area), first(y.Area)) })
}

// checkLevelsSet names the rules that are not on.
func (o *Ops) checkLevelsSet() (out []Check) {
	protect, reap := report.Levels(o.Cfg.Rules.Levels)
	if protect != "" {
		out = append(out, Check{"config", "rules.levels", Limited, protect})
	}
	if reap != "" {
		out = append(out, Check{"config", "rules.levels", Healthy, reap})
	}
	return out
}

func (o *Ops) checkState(ctx context.Context) (out []Check) {
	dir := o.Cfg.State
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(out, Check{"state", dir, Healthy, "does not exist yet; the first sweep makes it"})
	case err != nil:
		return append(out, Check{"state", dir, Broken, err.Error() + "; give another folder with --state"})
	case o.TrustState() != nil:
		return append(out, Check{"state", dir, Broken, o.TrustState().Error()})
	case st.Mode().Perm()&0o077 != 0:
		out = append(out, Check{"state", dir, Limited, fmt.Sprintf("mode %04o lets others in; chmod 700 it", st.Mode().Perm())})
	case unix.Access(dir, unix.W_OK) != nil:
		return append(out, Check{"state", dir, Broken, "cannot be written: nothing can be remembered or done; give another folder with --state"})
	default:
		out = append(out, Check{"state", dir, Healthy, "can be written"})
	}
	l, err := ledger.OpenReadOnly(o.LedgerPath())
	switch {
	case errors.Is(err, ledger.ErrNone):
		return append(out, Check{"state", "ledger", Healthy, "does not exist yet"})
	case err != nil:
		return append(out, Check{"state", "ledger", Broken, err.Error()})
	}
	defer l.Close()
	open, err := l.Unsettled(ctx)
	switch {
	case err != nil:
		out = append(out, Check{"state", "ledger", Broken, err.Error()})
	case len(open) > 0:
		out = append(out, Check{"state", "ledger", Limited, text.Plural(len(open), "act") + " cut short; the next sweep --apply finds out how they went"})
	default:
		out = append(out, Check{"state", "ledger", Healthy, "can be read, nothing is open"})
	}
	return append(out, o.checkKept(ctx, l)...)
}

func (o *Ops) checkPolicies(ctx context.Context) (Check, map[string]policy.Rule, []report.PolicyLayer) {
	e, p, err := o.Engine(ctx)
	if err != nil {
		return Check{"policies", "policies", Broken, err.Error()}, nil, nil
	}
	defer e.Close()
	r, err := o.Configured(ctx)
	if err != nil {
		return Check{"policies", "policies", Broken, err.Error()}, nil, nil
	}
	c := Check{"policies", "policies", Healthy, fmt.Sprintf("%s, revision %s, %s", text.Plural(len(p.Rules()), "rule"), p.Revision, p.Digest[:min(len(p.Digest), 19)])}
	if e.Unplanned() != "" {
		c.Status, c.Detail = Limited, c.Detail+"; each decision takes some times as long, since OPA's plan of them is not run: winnow policy check names why"
	}
	return c, p.Rules(), r.Shown(p)
}

// checkLayers says which layers of policies there are below the shipped one, where each is from, and what was granted to it.
func checkLayers(layers []report.PolicyLayer) (out []Check) {
	for _, l := range layers {
		if l.Layer != report.LayerShipped {
			out = append(out, Check{"policies", "layer " + l.Layer, Healthy, LayerText(l)})
		}
	}
	return out
}

// checkBundles says how the bundles stand that the configuration names.
func (o *Ops) checkBundles() (out []Check) {
	for _, s := range o.Bundles {
		c := Check{"policies", "bundle " + s.Name, Healthy, "revision " + ruleset.RevisionText(s)}
		switch {
		case s.Digest == "":
			c.Status, c.Detail = Broken, "there is no good copy: "+s.Problem
		case s.Problem != "":
			c.Status, c.Detail = Limited, c.Detail+" goes on; "+ProblemText(s)
		}
		out = append(out, c)
	}
	return out
}

// checkExceptions says how the exceptions of the policies and of repositories stand, and what of this machine they match.
func (o *Ops) checkExceptions(s *snapshot.Snapshot) (out []Check) {
	all := o.Cfg.Rules.Exceptions
	joined, matches := subject.Join(s, &o.Cfg.Rules.Config), make([]int, len(all))
	for _, kind := range snapshot.Kinds {
		for _, id := range joined.IDs(kind.Name) {
			if sub, ok := joined.Subject(id); ok {
				for _, x := range sub.Exceptions {
					matches[x.Place()]++
				}
			}
		}
	}
	for _, x := range report.Standing(all, s, matches) {
		c := Check{"policies", "exception " + x.Place(), Healthy, x.Says()}
		if x.State != report.Keeps {
			c.Status, c.Detail = Limited, x.State+": "+c.Detail+"; "+x.Next()
		}
		out = append(out, c)
	}
	return out
}

// checkOwn lists the parameters that loaded rules declare, each with its value.
func (o *Ops) checkOwn(rules map[string]policy.Rule) (out []Check) {
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		for _, p := range rules[id].Custom {
			detail := fmt.Sprintf("%s, of %s", customText(p.Type, o.Cfg.Rules.Custom[p.Name]), id)
			if p.Description != "" {
				detail += ": " + p.Description
			}
			out = append(out, Check{"config", policy.CustomKey + "." + p.Name, Healthy, detail})
		}
	}
	return out
}

// customText is a parameter's value as a configuration has it.
func customText(of string, v any) string {
	seconds, ok := v.(float64)
	if of != "duration" || !ok {
		return fmt.Sprintf("%v", v)
	}
	if whole := int(seconds); whole > 0 && whole%86400 == 0 && float64(whole) == seconds {
		return fmt.Sprintf("%dd", whole/86400)
	}
	return config.Seconds(seconds).String()
}

// checkKernel tries the calls that acts rest on, on nothing but this process and the state folder.
func checkKernel(state string) (out []Check) {
	probe := func(name string, err error, without string) Check {
		if err != nil {
			return Check{"kernel", name, Limited, fmt.Sprintf("%v: %s", err, without)}
		}
		return Check{"kernel", name, Healthy, "works"}
	}
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
	unix.Close(fd)
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

func checkPrograms(ctx context.Context) (out []Check) {
	ctx, cancel := context.WithTimeout(ctx, programWithin)
	defer cancel()
	for _, p := range []struct{ name, flag, without string }{
		{"git", "--version", "worktrees cannot be looked into, and every one is kept"},
		{"tmux", "-V", "tmux sessions cannot be seen"},
	} {
		c := Check{"source", p.name, Limited, "is not installed: " + p.without}
		if path, err := exec.LookPath(p.name); err == nil {
			cmd := exec.CommandContext(ctx, path, p.flag)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.WaitDelay = time.Second
			if v, err := cmd.Output(); err != nil {
				c.Detail = "fails (" + err.Error() + "): " + p.without
			} else {
				c.Status, c.Detail = Healthy, strings.TrimSpace(string(v))
			}
		}
		out = append(out, c)
	}
	return out
}

func checkSources(s *snapshot.Snapshot) (out []Check) {
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		src := s.Sources[name]
		c := Check{"source", name, Healthy, fmt.Sprintf("%d read in %s", src.Seen, text.Took(time.Duration(src.Took*float64(time.Second))))}
		switch src.Status {
		case snapshot.Failed:
			c.Status, c.Detail = Broken, src.Error
		case snapshot.Absent:
			c.Status, c.Detail = Limited, notHere+src.Error
		}
		if len(src.Refused) > 0 {
			c.Status, c.Detail = Limited, c.Detail+"; "+strings.Join(src.Refused, "; ")
		}
		if src.Unreadable > 0 {
			c.Status, c.Detail = Limited, fmt.Sprintf("%s; %d could not be read whole", c.Detail, src.Unreadable)
		}
		out = append(out, c)
	}
	return out
}

// checkHerdr says of each herdr server whether its tabs may be closed, and whether the records of who works where can be read.
func (o *Ops) checkHerdr(s *snapshot.Snapshot) (out []Check) {
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		src := s.Sources[name]
		if src.Kind != "herdr" || src.Status != snapshot.OK || src.Server == nil {
			continue
		}
		c := Check{"source", name + " server", Limited, fmt.Sprintf("herdr %s does not say its protocol: its tabs are read and never closed", src.Server.Version)}
		if n := src.Server.Protocol; n != nil && slices.Contains(o.Cfg.Rules.HerdrProtocols, *n) {
			c.Status, c.Detail = Healthy, fmt.Sprintf("herdr %s, protocol %d: tabs can be closed", src.Server.Version, *n)
		} else if n != nil {
			then := "so its tabs are read and never closed; rules.herdr_protocols allows it"
			switch lacks := src.Server.Lacks; {
			case lacks != nil && len(*lacks) == 0:
				then = "so its tabs are closed only by winnow cleanup ID --safe. rules.herdr_protocols changes that"
			case lacks != nil:
				then = "and it lacks " + strings.Join(*lacks, ", ") + ", so its tabs are read and never closed; look for a newer winnow"
			}
			c.Detail = fmt.Sprintf("herdr %s, protocol %d: not one that closing was tried with, %s", src.Server.Version, *n, then)
		}
		out = append(out, c)
	}
	for _, f := range o.Cfg.Rules.RecordedFolders {
		if !AnyRead(s, "spawns", f.Format) || !AnyRead(s, "registry", f.Format) {
			out = append(out, Check{"source", f.Format, Limited, notHere + fmt.Sprintf("no records of %s were read, so what lies below a folder %s is kept; see collect.shepherd.stores", f.Format, f.Name)})
		}
	}
	return out
}

func (o *Ops) checkHost(s *snapshot.Snapshot) (out []Check) {
	h := s.Host
	if h.UID != nil && *h.UID != 0 {
		out = append(out, Check{"source", "other users", Limited, "what processes of other users have open cannot be seen by " + cmp.Or(h.User, fmt.Sprintf("user %d", *h.UID)) + "; it is not counted as use of a folder"})
	}
	if h.PIDNamespace == nil {
		out = append(out, Check{"source", "process numbers", Limited, "the pid namespace could not be read: that a marker's pid has ended proves nothing here, and what it would clear stays"})
	}
	if p := h.Pressure; p != nil && p.MemorySome == nil {
		out = append(out, Check{"source", "pressure", Healthy, "the kernel does not count how long tasks wait for memory and disks (/proc/pressure): input.host.pressure lacks that, and run.pressure goes by what is free"})
	}
	if _, err := o.ReadPressure(); err != nil {
		out = append(out, Check{"source", "pressure", Limited, "how short this machine is of memory and disk is not known in full: " + err.Error()})
	}
	if short := Shortage(h.Pressure, o.Cfg.Run.Pressure); short != "" {
		out = append(out, Check{"source", "pressure", Limited, "this machine is short of something: " + short})
	}
	if h.SteadySince != nil && s.TakenAt.Sub(*h.SteadySince) < config.Seconds(o.Cfg.Rules.SteadyFor) {
		out = append(out, Check{"source", "clock", Limited, fmt.Sprintf("the machine booted, resumed or changed its clock %s ago: everything is kept until rules.steady_for (%s) have passed",
			text.Span(s.TakenAt.Sub(*h.SteadySince)), text.Span(config.Seconds(o.Cfg.Rules.SteadyFor)))})
	}
	return out
}

// checkRules says of each reason to reap, the shipped ones and one's own, whether it can fire here at all, and if not, why.
func (o *Ops) checkRules(s *snapshot.Snapshot, rules map[string]policy.Rule) (out []Check) {
	can, veil := o.needs(s), subject.Join(s, &o.Cfg.Rules.Config).PossibleAgent()
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		if !decision.Reaps(id) {
			continue
		}
		c := Check{"rule", id, Healthy, "can fire here"}
		var because []string
		narrow := false
		if s.Sources[snapshot.Proc].Status != snapshot.OK {
			because = append(because, "not all processes could be read (see proc above), and whether a thing is in use rests on them")
		}
		for _, need := range rules[id].Needs {
			switch missing, known := can[need]; {
			case need == needsStarter:
				narrow = veil != nil
			case !known:
				c.Status, c.Detail = Limited, fmt.Sprintf("needs %q, of which doctor cannot tell whether it is here; it knows %s", need, strings.Join(slices.Sorted(maps.Keys(can)), ", "))
			case missing != "":
				because = append(because, missing)
			}
		}
		if len(because) > 0 {
			c.Status, c.Detail = Limited, cannotFire+strings.Join(because, "; ")
		}
		if _, err := policies.Files.Open(rules[id].File); err != nil && rules[id].Title != "" {
			c.Detail += " (" + rules[id].Title + ")"
		}
		if narrow && c.Status == Healthy {
			c.Status, c.Detail = Limited, "can fire here only for what began before another process: "+report.PossibleAgentText(veil)
		}
		out = append(out, c)
	}
	return slices.Concat(out, unreadMarkers(rules, o.Cfg.MarkerNames(), &o.Cfg.Rules.Config), vagueMarkers(rules, &o.Cfg.Rules.Config))
}

// AnyRead reports whether a source of a kind, and of a format where one is given, was read.
func AnyRead(s *snapshot.Snapshot, kind, format string) bool {
	for _, x := range s.Sources {
		if x.Kind == kind && (format == "" || x.Format == format) && x.Status == snapshot.OK {
			return true
		}
	}
	return false
}

// needs are the words that METADATA may name as a rule's needs, each with why it is missing here: "" where it is not.
func (o *Ops) needs(s *snapshot.Snapshot) map[string]string {
	r, markers := &o.Cfg.Rules, o.Cfg.MarkerNames()
	recorded := slices.ContainsFunc(s.Registry, func(e snapshot.Entry) bool { return e.Session != "" })
	worktree, upstream := false, false
	for _, d := range s.Dirs {
		if d.Git != nil && d.Git.Worktree != nil && *d.Git.Worktree {
			worktree, upstream = true, upstream || d.Git.Upstream != ""
		}
	}
	init := "whether process 1 is an init is unknown"
	if c := s.Host.Container; c != nil && *c {
		init = "process 1 of this container is a program, so having it for a parent proves nothing"
	} else if c != nil && len(s.Host.OrphanParents) == 0 {
		init = "which processes take in orphans is unknown"
	} else if c != nil {
		init = ""
	}
	unless := func(there bool, missing string) string {
		if there {
			return ""
		}
		return missing
	}
	return map[string]string{
		"herdr":             unless(AnyRead(s, "herdr", ""), "no herdr server of this user runs"),
		"tmux":              unless(AnyRead(s, "tmux", ""), "no tmux server of this user runs"),
		"vscode":            unless(AnyRead(s, snapshot.Editor, ""), "no window of an editor has the Winnow extension (winnow editor install)"),
		"codev":             unless(AnyRead(s, "codev", ""), "no Codev state folder was found whose Tower answers"),
		"init":              init,
		"dirs":              unless(len(s.Dirs) > 0, "no folder is looked at; set collect.dirs.roots, or run in a repository"),
		"parts":             unless(r.TrimAfter > 0, "rules.trim_after is 0"),
		"worktrees":         unless(worktree, "no linked worktree was found"),
		"upstream":          unless(upstream || !worktree, "no repository has a default branch that is known (git remote set-head origin --auto)"),
		"recorded_sessions": unless(recorded, "no registry entry records a session; set collect.registry"),
		"named_sessions": unless(recorded || len(r.SessionNames.Exact)+len(r.SessionNames.Prefix) > 0,
			"no session name is in scope; set rules.session_names or collect.registry"),
		"agent_markers": unless(slices.ContainsFunc(markers, func(m string) bool {
			return !slices.Contains(r.PaneMarkers, m) && !slices.Contains(snapshot.PaneMarkers, m)
		}), "collect.processes.markers names no variable that an agent sets"),
		"id_markers": unless(slices.ContainsFunc(r.IDMarkers, func(m string) bool { return slices.Contains(markers, m) }),
			"none of rules.id_markers is read; see collect.processes.markers"),
		"recorded_markers": unless(slices.ContainsFunc(s.Registry, func(e snapshot.Entry) bool { return e.Marker != "" }),
			"no registry entry says which marker its processes carry; see collect.shepherd.stores"),
		"rules.helper_labels":    unless(len(r.HelperLabels.Exact)+len(r.HelperLabels.Prefix) > 0, "rules.helper_labels is empty"),
		"rules.disposable_dirs":  unless(len(r.DisposableDirs) > 0, "rules.disposable_dirs is empty"),
		"rules.worktree_folders": unless(len(r.WorktreeFolders) > 0, "rules.worktree_folders is empty"),
	}
}

// Needs of rules that limit them without keeping them from firing: who started a process, and markers that the configuration names.
const (
	needsStarter = "starter"
	needsMarkers = "markers"
)

// limit says of each rule with a need what limits it.
func limit(rules map[string]policy.Rule, need, format string, args ...any) (out []Check) {
	return text.Map(needing(rules, need), func(id string) Check {
		return Check{"rule", id, Limited, fmt.Sprintf(format, args...)}
	})
}

// vagueMarkers says which markers convict no agent because nothing describes them.
func vagueMarkers(rules map[string]policy.Rule, c *subject.Config) (out []Check) {
	shipped := &config.Config{}
	if all, err := config.Defaults(); err == nil {
		shipped = all
	}
	for _, m := range c.Markers {
		if m.Value == subject.MarkerFlag && m.Agent == "" && !slices.Contains(shipped.Rules.Markers, m) {
			out = append(out, limit(rules, needsStarter,
				"%s of collect.processes.markers is taken for a flag, which convicts nobody: write {name: %s, value: session} there if its value is a session's id, or value: pid", m.Name, m.Name)...)
		}
	}
	return out
}

// unreadMarkers says which markers the rules ask for that are not read.
func unreadMarkers(rules map[string]policy.Rule, read []string, c *subject.Config) (out []Check) {
	asked := text.Map(c.MarkerRecords, func(m subject.MarkerRecord) string { return m.Marker })
	for _, m := range slices.Concat(asked, c.PIDMarkers) {
		if !slices.Contains(read, m) {
			out = append(out, limit(rules, needsMarkers, "%s of rules is not read; see collect.processes.markers", m)...)
		}
	}
	return out
}

// ProblemText says why there is nothing newer.
func ProblemText(s bundles.Status) string {
	if s.Refused {
		return "another one was refused: " + s.Problem
	}
	return "no answer: " + s.Problem
}

// checkProjects says of each project's own file whether it rules.
func checkProjects(s *snapshot.Snapshot) []Check {
	return text.Map(s.Projects, func(x snapshot.Project) Check {
		if x.State == project.StateTrusted {
			return Check{"config", x.File, Healthy, "trusted: what it asks to keep stays"}
		}
		return Check{"config", x.File, Limited, x.State + ": " + x.Why}
	})
}

// OddHost says what cannot be judged on a machine that is not an ordinary one, which rules therefore find nothing, and what to do. Root is where
// procfs is mounted.
func OddHost(root string, s *snapshot.Snapshot, rules map[string]policy.Rule) (out []Check) {
	h := s.Host
	limit := func(name, detail string) { out = append(out, Check{"source", name, Limited, detail}) }
	initRules := cmp.Or(strings.Join(needing(rules, "init"), ", "), "no rules")
	if host.Windows(root) {
		limit("Windows", "this is the Windows Subsystem for Linux: programs of Windows that use a folder are not seen, here and below /mnt. "+
			"close them there before a folder goes, or name it in rules.protected")
	}
	if h.Container != nil && *h.Container {
		first := "a program"
		for _, p := range s.Processes {
			if p.PID == 1 {
				first = p.Name
			}
		}
		limit("process 1", fmt.Sprintf("%s is process 1 of this container and not an init: it is the parent of all orphans, so a parent of 1 proves nothing. %s find nothing; "+
			"start the container with an init (docker run --init)", first, initRules))
	}
	if h.Ancestors != nil && (len(h.Ancestors) == 0 || h.Ancestors[len(h.Ancestors)-1] != 1) {
		limit("ancestors", "this program was put into the container from outside (docker exec, nsenter): what started it cannot be seen, and is not in this list of processes")
	}
	for _, t := range takers(s) {
		limit("orphans", fmt.Sprintf("%s (%d) has %s that it did not start: it takes in orphans (a subreaper), and the kernel does not say since when, or for whom. "+
			"What has it for a parent is kept by %s; look at it by hand",
			t.name, t.pid, text.Plural(t.children, "child process"), initRules))
	}
	if h.UpSeconds != nil && h.AwakeSeconds != nil && *h.UpSeconds-*h.AwakeSeconds >= time.Minute.Seconds() {
		slept := text.Span(time.Duration((*h.UpSeconds - *h.AwakeSeconds) * float64(time.Second)))
		if h.Asleep == nil {
			limit("sleep", "the machine slept for "+slept+" since it booted, and when is not known: all of that is left out of every age and idle time")
		} else {
			out = append(out, Check{"source", "sleep", Healthy, "the machine slept for " + slept + " since it booted; ages and idle times leave out what lies after them"})
		}
	}
	return out
}

// needing are the ids of the rules that need something, sorted.
func needing(rules map[string]policy.Rule, need string) []string {
	without := func(id string) bool { return !slices.Contains(rules[id].Needs, need) }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(rules)), without)
}

type taker struct {
	pid, children int
	name          string
}

// takers are the processes that this user's orphans were handed to and that are not known to take them in. A child is born in its parent's session
// and leaves it only to lead one of its own: one that leads none and is in another session than its parent was handed over. (A parent that has left
// the session itself since shows the same; it is named too.)
func takers(s *snapshot.Snapshot) []taker {
	by := make(map[int]*snapshot.Process, len(s.Processes))
	for _, p := range s.Processes {
		by[p.PID] = p
	}
	found := map[int]int{}
	for _, p := range by {
		if p.PPID == nil || p.Session == nil || *p.Session == p.PID || p.UID == nil || s.Host.UID == nil || *p.UID != *s.Host.UID {
			continue
		}
		parent, ok := by[*p.PPID]
		if ok && parent.Session != nil && *parent.Session != *p.Session && parent.StartTicks <= p.StartTicks && !parent.IsKernel() &&
			parent.PID != 1 && !slices.Contains(s.Host.OrphanParents, parent.PID) {
			found[parent.PID]++
		}
	}
	return text.Map(slices.Sorted(maps.Keys(found)), func(pid int) taker {
		return taker{pid, found[pid], by[pid].Name}
	})
}

// checkKept says what the ledger keeps for others: the chain of acts, recordings, and decisions on their way to a log.
func (o *Ops) checkKept(ctx context.Context, l *ledger.Ledger) (out []Check) {
	add := func(name, status, format string, args ...any) {
		out = append(out, Check{"state", name, status, fmt.Sprintf(format, args...)})
	}
	switch c, err := l.Verify(ctx, ""); {
	case err != nil:
		add("chain of acts", Broken, "%v", err)
	case !c.Holds():
		add("chain of acts", Broken, "%s; winnow history --verify says all of it", c.Faults[0].Problem)
	case c.Entries > 0:
		add("chain of acts", Healthy, "holds, with %d %s", c.Entries, Entries(c.Entries))
	}
	if all, err := l.Recordings(ctx); err != nil {
		add("recordings", Broken, "%v", err)
	} else if o.Cfg.Record > 0 || len(all) > 0 {
		var stored int64
		for _, r := range all {
			stored += r.Stored
		}
		add("recordings", Healthy, "%d of %d, %s", len(all), o.Cfg.Record, text.Size(stored))
	}
	for _, sink := range o.Sinks() {
		switch n, err := l.Waiting(ctx, sink); {
		case err != nil:
			add("decision log", Broken, "%v", err)
		case n > 0:
			add("decision log", Limited, "%s for the %s; the next sweep tries again", sweep.Waits(n), sink)
		default:
			add("decision log", Healthy, "nothing waits for the %s", sink)
		}
	}
	if c := o.Cfg.DecisionLog; c.Enabled() && c.Mask != "" {
		switch m := o.LoadMask(ctx, c.Mask).(type) {
		case ruleset.NoMask:
			add("decision log", Broken, "%v; neither inputs nor results are logged", m.Err)
		case *sandbox.Masks:
			m.Close()
		}
	}
	return out
}

// Entries is a number of entries in words.
func Entries(n int64) string {
	if n == 1 {
		return "entry"
	}
	return "entries"
}

// checkTrash says what lies in the trash, and whether the ledger knows of it.
func (o *Ops) checkTrash(ctx context.Context, s *snapshot.Snapshot) (out []Check) {
	if ttl := o.Cfg.Act.TrashTTL; ttl <= 0 {
		out = append(out, Check{"state", "act.trash_ttl", Limited, fmt.Sprintf("is %s: what a sweep sets aside goes for good at its end, and nothing can be brought back", ttl)})
	}
	r, _ := o.TrashIndex(ctx) // nothing where it cannot be read; another check reports what is wrong with it
	asides, wrong := o.AsidesOf(ctx, o.TrashRoots(s, r.Roots), r.Known)
	c := Check{"state", "trash", Healthy, fmt.Sprintf("%s can be brought back", text.Plural(len(r.Kept), "act"))}
	if more := len(sweep.NotInLedger(asides)); more > 0 {
		c.Status = Limited
		c.Detail += fmt.Sprintf("; %s more that the ledger does not know: winnow trash lists them, and the next sweep --apply takes them in", text.Plural(more, "folder"))
	}
	return append(append(out, c), text.Map(wrong, func(err error) Check {
		return Check{"state", "trash", Limited, err.Error()}
	})...)
}
