package processes_test

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors/processes"
)

func TestHost(t *testing.T) {
	t.Parallel()
	h, err := processes.Host("/proc", processes.KnownNames())
	if err != nil {
		t.Fatal(err)
	}
	if *h.PIDNamespace == 0xEFFFFFFC && *h.Container {
		t.Error("process 1 of the machine's own pid namespace was taken for a program in a container")
	}
	if h.BootID == "" || h.Name == "" || h.PIDNamespace == nil || h.BootedAt == nil || h.Container == nil || h.Home == "" {
		t.Errorf("something of this machine is missing: %+v", h)
	}
	if *h.PID != os.Getpid() || *h.UID != os.Geteuid() {
		t.Errorf("pid %d, uid %d", *h.PID, *h.UID)
	}
	if len(h.Ancestors) == 0 || h.Ancestors[0] != os.Getppid() {
		t.Errorf("ancestors %v, want %d first", h.Ancestors, os.Getppid())
	}
	if !slices.Contains(h.OrphanParents, 1) {
		t.Errorf("orphan parents %v, want 1 among them", h.OrphanParents)
	}
	wd, err := os.Readlink("/proc/self/cwd")
	if err != nil || h.Cwd != wd {
		t.Errorf("working directory %q, want %q (%v)", h.Cwd, wd, err)
	}
}

// TestNow: the clocks of one moment agree with one another, however busy the machine is, so that two moments never differ by what was
// done in between.
func TestNow(t *testing.T) {
	t.Parallel()
	first := processes.Now()
	for range 200 {
		m := processes.Now()
		if *m.Awake <= 0 || *m.Up < *m.Awake || m.At.Location() != time.UTC {
			t.Fatalf("%+v: awake %f of %f seconds", m, *m.Awake, *m.Up)
		}
		wall, up, awake := m.At.Sub(first.At).Seconds(), *m.Up-*first.Up, *m.Awake-*first.Awake
		if math.Abs(wall-up) > 0.5 || math.Abs(up-awake) > 0.5 {
			t.Fatalf("%f seconds by the wall, %f up, %f awake", wall, up, awake)
		}
	}
}

func TestHostOfAFixture(t *testing.T) {
	t.Parallel()
	names := processes.Names{Inits: []string{"systemd"}, Subreapers: []string{"systemd", "shim"}}
	for name, c := range map[string]struct {
		first     string
		all       []entry
		ancestors []int
		orphan    []int
		container bool
	}{
		"user manager and init": {"systemd", []entry{
			{pid: 20, ppid: 1, comm: "systemd"}, {pid: 30, ppid: 20, comm: "sh"}, {pid: 40, ppid: 30, comm: "winnow"},
		}, []int{30, 20, 1}, []int{1, 20}, false},
		"a manager of this user that is no ancestor": {"systemd", []entry{
			{pid: 20, ppid: 1, comm: "systemd"}, {pid: 40, ppid: 1, comm: "winnow"},
		}, []int{1}, []int{1, 20}, false},
		"subreaper above": {"app", []entry{
			{pid: 20, ppid: 1, comm: "shim"}, {pid: 40, ppid: 20, comm: "winnow"},
		}, []int{20, 1}, []int{1, 20}, true},
		"subreaper's name elsewhere": {"systemd", []entry{
			{pid: 20, ppid: 1, comm: "shim"}, {pid: 21, ppid: 20, comm: "systemd"}, {pid: 40, ppid: 1, comm: "winnow"},
		}, []int{1}, []int{1}, false},
		"put into the namespace from outside": {"app", []entry{{pid: 40, ppid: 0, comm: "winnow"}}, []int{}, []int{1}, true},
		"below one that was put into the namespace from outside": {"app", []entry{
			{pid: 30, ppid: 0, comm: "sh"}, {pid: 40, ppid: 30, comm: "winnow"},
		}, []int{30}, []int{1}, true},
		"a chain without an end": {"app", []entry{{pid: 40, ppid: 39, comm: "winnow"}}, nil, []int{1}, true},
		"a chain in a ring":      {"app", []entry{{pid: 39, ppid: 40, comm: "a"}, {pid: 40, ppid: 39, comm: "winnow"}}, nil, []int{1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.link("self", "40")
			f.link("40/ns/pid", "pid:[4026531836]")
			f.process(entry{pid: 1, comm: c.first, start: 1})
			for _, e := range c.all {
				f.process(e)
			}
			h, err := processes.Host(f.root, names)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.ancestors, h.Ancestors); d != "" {
				t.Errorf("ancestors (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.orphan, h.OrphanParents); d != "" {
				t.Errorf("orphan parents (-want +got):\n%s", d)
			}
			if d := cmp.Diff(&c.container, h.Container); d != "" {
				t.Errorf("container (-want +got):\n%s", d)
			}
			if h.Name != "fixture" || *h.PID != 40 || *h.PIDNamespace != 4026531836 || h.BootedAt.Unix() != bootedAt {
				t.Errorf("name %q, pid %d, namespace %d, booted %v", h.Name, *h.PID, *h.PIDNamespace, h.BootedAt)
			}
		})
	}
	f := newFixture(t)
	h, err := processes.Host(f.root, names)
	if err != nil {
		t.Fatal(err)
	}
	if h.Container != nil || h.Ancestors != nil || len(h.OrphanParents) > 0 {
		t.Errorf("without any process: container %v, ancestors %v, orphan parents %v: want unknown", h.Container, h.Ancestors, h.OrphanParents)
	}
	if _, err := processes.Host(f.root+"/none", names); err == nil {
		t.Error("no error for a root that is not there")
	}
}
