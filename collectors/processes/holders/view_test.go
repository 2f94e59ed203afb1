package holders

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

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
