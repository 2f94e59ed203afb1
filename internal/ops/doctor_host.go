package ops

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/text"
)

// OddHost says what cannot be judged on a machine that is not an ordinary one, which rules therefore find nothing, and what to do. Root is where
// procfs is mounted.
func OddHost(root string, s *snapshot.Snapshot, rules map[string]policy.Rule) []Check {
	h := s.Host
	var out []Check
	limit := func(name, detail string) { out = append(out, Check{"source", name, Limited, detail}) }
	if host.Windows(root) {
		limit("Windows", "this is the Windows Subsystem for Linux: which programs of Windows use a folder cannot be seen, here and below /mnt; "+
			"close them there before a folder goes, or name it in rules.protected")
	}
	if h.Container != nil && *h.Container {
		limit("process 1", fmt.Sprintf("%s is process 1 of this container and not an init: all that was handed over has it for a parent, so a parent of 1 proves nothing, and %s find nothing; "+
			"start the container with an init (docker run --init)", nameOf(s, 1), needing(rules, "init")))
	}
	if h.Ancestors != nil && (len(h.Ancestors) == 0 || h.Ancestors[len(h.Ancestors)-1] != 1) {
		limit("ancestors", "this program was put into the container from outside (docker exec, nsenter): what started it cannot be seen, and is not in this list of processes")
	}
	for _, t := range takers(s) {
		limit("orphans", fmt.Sprintf("%s (%d) has %s that it did not start: it takes in orphans (a subreaper), and the kernel does not say since when, or for whom. "+
			"What has it for a parent is kept by %s; look at it by hand", t.name, t.pid, text.Plural(t.children, "child process"), needing(rules, "init")))
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

// needing are the rules that need something, by their ids.
func needing(rules map[string]policy.Rule, need string) string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		if slices.Contains(rules[id].Needs, need) {
			ids = append(ids, id)
		}
	}
	return cmp.Or(strings.Join(ids, ", "), "no rules")
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
	var out []taker
	for _, pid := range slices.Sorted(maps.Keys(found)) {
		out = append(out, taker{pid, found[pid], by[pid].Name})
	}
	return out
}
