package pressure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

const calm = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		memory, io string
		want       snapshot.Pressure
		err        string
	}{
		"calm":            {calm, calm, snapshot.Pressure{MemorySome: new(0.0), MemoryFull: new(0.0), IOSome: new(0.0), IOFull: new(0.0)}, ""},
		"short of memory": {"some avg10=90.00 avg60=25.50 avg300=3.00 total=9\nfull avg10=50.00 avg60=12.00 avg300=1.00 total=5\n", calm, snapshot.Pressure{MemorySome: new(0.255), MemoryFull: new(0.12), IOSome: new(0.0), IOFull: new(0.0)}, ""},
		"no full":         {"some avg10=0.00 avg60=1.00 avg300=0.00 total=0\n", "", snapshot.Pressure{MemorySome: new(0.01)}, ""},
		"not counted":     {"", "", snapshot.Pressure{}, ""},
		"no number":       {"some avg10=0.00 avg60=many avg300=0.00 total=0\n", "", snapshot.Pressure{}, "read the pressure on memory"},
		"not a share":     {"some avg10=0.00 avg60=120.00 avg300=0.00 total=0\n", "", snapshot.Pressure{}, "avg60 is"},
		"another form":    {"all is well\n", calm, snapshot.Pressure{IOSome: new(0.0), IOFull: new(0.0)}, "it has no avg60 of some"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files.Folder(t, root, "pressure")
			for file, text := range map[string]string{"memory": c.memory, "io": c.io} {
				if text != "" {
					files.Write(t, filepath.Join(root, "pressure", file), text)
				}
			}
			got, err := Read(root, nil)
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// TestThisMachine: what the kernel gives is read, and the least of several file systems counts.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	p, err := Read("/proc", []string{"/proc", t.TempDir(), "/none such"})
	must.Do(t, err)
	if p.DiskFree == nil || *p.DiskFree < 0 || *p.DiskFree > 1 || p.InodesFree == nil || *p.InodesFree < 0 || *p.InodesFree > 1 {
		t.Errorf("free: %v, %v", p.DiskFree, p.InodesFree)
	}
	if _, err := os.Stat("/proc/pressure/memory"); err == nil && (p.MemorySome == nil || *p.MemorySome > 1) {
		t.Errorf("pressure on memory: %v", p.MemorySome)
	}
	if all, _, err := Free("/proc"); err != nil || all != 1 {
		t.Errorf("a file system that counts nothing: %v, %v", all, err)
	}
	if p, err := Read("/proc", []string{"/none such"}); err != nil || p.DiskFree != nil {
		t.Errorf("a place that is not there: %v, %v", p.DiskFree, err)
	}
}

// TestOneThatDoesNotAnswer is not waited for, by who asks nor by who asks after, and nothing is known; once it answers, all is as before.
func TestOneThatDoesNotAnswer(t *testing.T) {
	hang := make(chan struct{})
	hangs := func() (*snapshot.Pressure, error) { <-hang; return &snapshot.Pressure{DiskFree: new(0.0)}, nil }
	for _, ask := range []func() (*snapshot.Pressure, error){hangs, func() (*snapshot.Pressure, error) { t.Error("asked while another one hangs"); return nil, nil }} {
		p, err := readBounded(10*time.Millisecond, ask)
		if err == nil || p == nil || *p != (snapshot.Pressure{}) {
			t.Errorf("%+v, %v", p, err)
		}
	}
	close(hang)
	if p, err := ReadBounded("/proc", []string{t.TempDir()}); err != nil || p.DiskFree == nil {
		t.Errorf("%+v, %v", p, err)
	}
}
