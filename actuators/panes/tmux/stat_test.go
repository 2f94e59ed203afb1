package tmux

import (
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := "77 34817 9 %F 0 0 0 0 0 0 0 0 20 0 %T 0 4242 0 3 0"
	stat := func(state, threads, flags string) string {
		return "5 (a) b) " + state + " 1 5 " + strings.NewReplacer("%F", flags, "%T", threads).Replace(rest)
	}
	got, err := proc.ParseStat([]byte(stat("S", "1", "4194304")))
	if err != nil || got.Comm != "a) b" || got.Session != 77 || got.Start != 4242 || got.Kernel || got.RSS <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := proc.ParseStat([]byte(stat("S", "1", "2097152"))); err != nil || !got.Kernel {
		t.Errorf("a kernel thread: %+v, %v", got, err)
	}
	for threads, over := range map[string]bool{"2": false, "1": true, "0": true} {
		if got, err := proc.ParseStat([]byte(stat("Z", threads, "0"))); err != nil || got.Ended() != over {
			t.Errorf("a zombie with %s threads: %+v, %v", threads, got, err)
		}
	}
	for _, text := range []string{"", "5", "5 (a", "5 (a) S", strings.Replace(stat("S", "1", "0"), "4242", "x", 1)} {
		if got, err := proc.ParseStat([]byte(text)); err == nil {
			t.Errorf("%q gave %+v", text, got)
		}
	}
}
