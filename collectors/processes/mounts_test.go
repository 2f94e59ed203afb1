package processes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

func TestHidepid(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]struct {
		mode  string
		group int
	}{
		"rw": {"", 0}, "rw,hidepid=0": {"", 0}, "rw,hidepid=off": {"", 0}, "rw,hidepid=1": {"noaccess", 0}, "rw,hidepid=2,gid=5": {"invisible", 5},
		"rw,gid=27,hidepid=invisible": {"invisible", 27}, "rw,hidepid=4": {"ptraceable", 0}, "rw,hidepid=7": {"7", 0}, "": {"", 0},
	} {
		if mode, group := hidepid(options); mode != want.mode || group != want.group {
			t.Errorf("%q: %q %d, want %q %d", options, mode, group, want.mode, want.group)
		}
	}
}

func FuzzHidepid(f *testing.F) {
	f.Add("rw,gid=5", "invisible")
	f.Add("", "0")
	f.Fuzz(func(t *testing.T, before, mode string) {
		if strings.ContainsAny(mode, ",=") {
			return
		}
		got, _ := hidepid(before + ",hidepid=" + mode)
		if shown := mode == "" || mode == "0" || mode == "off"; shown != (got == "") {
			t.Errorf("hidepid=%q: %q", mode, got)
		}
	})
}

// TestView names folders as another mount namespace does.
func TestView(t *testing.T) {
	t.Parallel()
	here := []proc.Mount{{Device: "8:1", Root: "/", Point: "/"}, {Device: "8:2", Root: "/@home", Point: "/home"}}
	spots := []spot{}
	for _, p := range []string{"/srv/tree", "/home/u/tree"} {
		m, _ := proc.MountOf(here, p)
		inside := strings.TrimPrefix(p, m.Point)
		if m.Point == "/" {
			inside = p
		} else {
			inside = m.Root + inside
		}
		spots = append(spots, spot{path: p, device: m.Device, inside: inside})
	}
	there := []proc.Mount{
		{Device: "0:50", Root: "/", Point: "/"},
		{Device: "8:1", Root: "/srv/tree/src", Point: "/app"},
		{Device: "8:2", Root: "/@home/u", Point: "/mnt"},
	}
	v := view(spots, there, false)
	for path, want := range map[string][]int{
		"/app": {0}, "/app/deep/down": {0}, "/mnt/tree/x": {1}, "/mnt": nil, "/srv/tree": nil, "/home/u/tree": nil, "/application": nil,
	} {
		var got []int
		v.visit(path, func(numbers []int) { got = append(got, numbers...) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}
