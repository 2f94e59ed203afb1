package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/test/kit/files"
)

// orphanRules are rules, and one of them needs to know who was handed over.
var orphanRules = map[string]policy.Rule{"reap.processes.orphan": {Needs: []string{"init"}}, "reap.dirs.landed": {Needs: []string{"upstream"}}}

// TestOddHosts says on each odd machine what cannot be judged there, and nothing on an ordinary one.
func TestOddHosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		release string
		host    snapshot.Host
		procs   []snapshot.Process
		want    []string
	}{
		"an ordinary machine": {"6.12.0-generic", snapshot.Host{Container: new(false), Ancestors: []int{40, 1}, UpSeconds: new(900.0), AwakeSeconds: new(890.0)}, nil, nil},
		"WSL 2":               {"5.15.167.4-microsoft-standard-WSL2", snapshot.Host{Ancestors: []int{1}}, nil, []string{"Windows: "}},
		"WSL 1":               {"4.4.0-19041-Microsoft", snapshot.Host{Ancestors: []int{1}}, nil, []string{"Windows: "}},
		"a container without an init": {"6.12.0", snapshot.Host{Container: new(true), Ancestors: []int{1}}, []snapshot.Process{{PID: 1, Name: "node"}},
			[]string{"process 1: node is process 1 of this container and not an init: it is the parent of all orphans, so a parent of 1 proves nothing. reap.processes.orphan find nothing"}},
		"put into a container":         {"6.12.0", snapshot.Host{Ancestors: []int{}}, nil, []string{"ancestors: "}},
		"what started it is not known": {"6.12.0", snapshot.Host{}, nil, nil},
		"a subreaper that is not known": {"6.12.0", snapshot.Host{UID: new(7), OrphanParents: []int{1}}, []snapshot.Process{
			{PID: 50, Name: "launcher", PPID: new(1), Session: new(50), UID: new(7)},
			{PID: 60, Name: "vite", PPID: new(50), Session: new(55), UID: new(7), StartTicks: 9},
			{PID: 61, Name: "sh", PPID: new(50), Session: new(61), UID: new(7), StartTicks: 9}, // it leads a session of its own
			{PID: 62, Name: "sh", PPID: new(50), Session: new(50), UID: new(7), StartTicks: 9}, // its own child
			{PID: 63, Name: "sh", PPID: new(1), Session: new(55), UID: new(7), StartTicks: 9},  // handed to init
			{PID: 64, Name: "sh", PPID: new(50), Session: new(55), UID: new(8), StartTicks: 9}, // another user's
		}, []string{"orphans: launcher (50) has 1 child process that it did not start"}},
		"it slept":                    {"6.12.0", snapshot.Host{UpSeconds: new(9000.0), AwakeSeconds: new(5400.0), Asleep: &[]snapshot.Asleep{}}, nil, []string{"sleep: the machine slept for 1h"}},
		"it slept, when is not known": {"6.12.0", snapshot.Host{UpSeconds: new(9000.0), AwakeSeconds: new(5400.0)}, nil, []string{"sleep: the machine slept for 1h since it booted, and when is not known"}},
	} {
		root := t.TempDir()
		files.Write(t, filepath.Join(root, "sys/kernel/osrelease"), c.release+"\n")
		s := &snapshot.Snapshot{Host: c.host, Processes: map[string]*snapshot.Process{}}
		for _, p := range c.procs {
			s.Processes[snapshot.ProcessID(p.PID, p.StartTicks)] = &p
		}
		got := ops.OddHost(root, s, orphanRules)
		if !slices.EqualFunc(got, c.want, func(c ops.Check, want string) bool { return strings.HasPrefix(c.Name+": "+c.Detail, want) }) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

func TestPositional(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"1:t1", "w_1:t2", "w1:+2", "+1:2", "1:p1", "w1:p1", "1:2", "w1:2", "w_+1:2", "w1:tI", "w1:t+1", "tab:herdr/default/1:t1", "tab:herdr/default/w_1:t2",
		"tab:herdr/default/w1:+2", "tab:herdr/default/+1:2", "tab:herdr/default/1:p1", "tab:herdr/default/t_1_2", "tab:herdr/default/w1-2",
		"tab:herdr/default/p_75", "tab:1:t1",
	} {
		if !ops.Positional(id) {
			t.Errorf("%s is taken for an id", id)
		}
	}
	for _, id := range []string{
		"w1:t1", "w1:tA0", "wZ:t3", "tab:herdr/default/w1:t3", "tab:herdr/default/w1", "tab:herdr/default/w1:t", "tab:herdr/default/", "t3", "w1:", "w1",
		"process:812@93211", "812", "session:tmux/default/$4", "$4", "dir:/w/ACME-7", "ACME-7", "1-2", "t_1", "dir:/w/1:t1", "/w/1:t1", "", "worker-7",
		"terminal:codev/default/b26afcb2-e6ce-4410-9950-93df6cbfe922",
	} {
		if ops.Positional(id) {
			t.Errorf("%s is refused", id)
		}
	}
}
