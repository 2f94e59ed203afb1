package host_test

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
)

func TestHost(t *testing.T) {
	t.Parallel()
	h, err := host.Read("/proc", host.KnownNames())
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
	first := host.Now()
	for range 200 {
		m := host.Now()
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
	names := host.Names{Inits: []string{"systemd"}, Subreapers: []string{"systemd", "shim"}}
	for name, c := range map[string]struct {
		first     string
		all       []fakeproc.Entry
		ancestors []int
		orphan    []int
		container bool
	}{
		"user manager and init": {"systemd", []fakeproc.Entry{
			{PID: 20, PPID: 1, Comm: "systemd"}, {PID: 30, PPID: 20, Comm: "sh"}, {PID: 40, PPID: 30, Comm: "winnow"},
		}, []int{30, 20, 1}, []int{1, 20}, false},
		"a manager of this user that is no ancestor": {"systemd", []fakeproc.Entry{
			{PID: 20, PPID: 1, Comm: "systemd"}, {PID: 40, PPID: 1, Comm: "winnow"},
		}, []int{1}, []int{1, 20}, false},
		"subreaper above": {"app", []fakeproc.Entry{
			{PID: 20, PPID: 1, Comm: "shim"}, {PID: 40, PPID: 20, Comm: "winnow"},
		}, []int{20, 1}, []int{1, 20}, true},
		"subreaper's name elsewhere": {"systemd", []fakeproc.Entry{
			{PID: 20, PPID: 1, Comm: "shim"}, {PID: 21, PPID: 20, Comm: "systemd"}, {PID: 40, PPID: 1, Comm: "winnow"},
		}, []int{1}, []int{1}, false},
		"put into the namespace from outside": {"app", []fakeproc.Entry{{PID: 40, PPID: 0, Comm: "winnow"}}, []int{}, []int{1}, true},
		"below one that was put into the namespace from outside": {"app", []fakeproc.Entry{
			{PID: 30, PPID: 0, Comm: "sh"}, {PID: 40, PPID: 30, Comm: "winnow"},
		}, []int{30}, []int{1}, true},
		"a chain without an end": {"app", []fakeproc.Entry{{PID: 40, PPID: 39, Comm: "winnow"}}, nil, []int{1}, true},
		"a chain in a ring":      {"app", []fakeproc.Entry{{PID: 39, PPID: 40, Comm: "a"}, {PID: 40, PPID: 39, Comm: "winnow"}}, nil, []int{1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeproc.New(t)
			f.Link("self", "40")
			f.Link("40/ns/pid", "pid:[4026531836]")
			f.Process(fakeproc.Entry{PID: 1, Comm: c.first, Start: 1})
			for _, e := range c.all {
				f.Process(e)
			}
			h, err := host.Read(f.Path, names)
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
			if h.Name != "fixture" || *h.PID != 40 || *h.PIDNamespace != 4026531836 || h.BootedAt.Unix() != fakeproc.BootedAt {
				t.Errorf("name %q, pid %d, namespace %d, booted %v", h.Name, *h.PID, *h.PIDNamespace, h.BootedAt)
			}
		})
	}
	f := fakeproc.New(t)
	h, err := host.Read(f.Path, names)
	if err != nil {
		t.Fatal(err)
	}
	if h.Container != nil || h.Ancestors != nil || len(h.OrphanParents) > 0 {
		t.Errorf("without any process: container %v, ancestors %v, orphan parents %v: want unknown", h.Container, h.Ancestors, h.OrphanParents)
	}
	if _, err := host.Read(f.Path+"/none", names); err == nil {
		t.Error("no error for a root that is not there")
	}
}
