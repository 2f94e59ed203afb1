package main

import (
	"testing"

	"github.com/winnow-reaper/winnow/internal/ops"
)

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
