package ops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/text"
)

// OddHost says what cannot be judged on a machine that is not an ordinary one, which rules therefore find nothing, and what to do. Root is where
// procfs is mounted.
func OddHost(root string, s *snapshot.Snapshot, rules map[string]policy.Rule) []Check {
	h := s.Host
	var out []Check
	limit := func(name, detail string) { out = append(out, Check{"source", name, Limited, detail}) }
	initRules := cmp.Or(strings.Join(needing(rules, "init"), ", "), "no rules")
	if host.Windows(root) {
		limit("Windows", "this is the Windows Subsystem for Linux: which programs of Windows use a folder cannot be seen, here and below /mnt; "+
			"close them there before a folder goes, or name it in rules.protected")
	}
	if h.Container != nil && *h.Container {
		limit("process 1", fmt.Sprintf("%s is process 1 of this container and not an init: all that was handed over has it for a parent, so a parent of 1 proves nothing, and %s find nothing; "+
			"start the container with an init (docker run --init)", nameOf(s, 1), initRules))
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

func nameOf(s *snapshot.Snapshot, pid int) string {
	for _, p := range s.Processes {
		if p.PID == pid {
			return p.Name
		}
	}
	return "a program"
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
func (o *Ops) checkKept(ctx context.Context, l *ledger.Ledger) []Check {
	var out []Check
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
func (o *Ops) checkTrash(ctx context.Context, s *snapshot.Snapshot) []Check {
	var out []Check
	if ttl := o.Cfg.Act.TrashTTL; ttl <= 0 {
		out = append(out, Check{"state", "act.trash_ttl", Limited, fmt.Sprintf("is %s: what a sweep sets aside goes for good at its end, and nothing can be brought back", ttl)})
	}
	r, err := o.TrashIndex(ctx)
	if err != nil {
		r = sweep.TrashIndex{} // another check reports what is wrong with it
	}
	asides, wrong := o.AsidesOf(ctx, o.TrashRoots(s, r.Roots), r.Known)
	c := Check{"state", "trash", Healthy, fmt.Sprintf("%s can be brought back", text.Plural(len(r.Kept), "act"))}
	if more := len(sweep.NotInLedger(asides)); more > 0 {
		c.Status = Limited
		c.Detail += fmt.Sprintf("; %s more that the ledger does not know: winnow trash lists them, and the next sweep --apply takes them in", text.Plural(more, "folder"))
	}
	out = append(out, c)
	for _, err := range wrong {
		out = append(out, Check{"state", "trash", Limited, err.Error()})
	}
	return out
}
