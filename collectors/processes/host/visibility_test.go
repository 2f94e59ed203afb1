package host

import (
	"strings"
	"testing"
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
