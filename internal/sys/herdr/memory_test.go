package herdr

import (
	"testing"
	"time"
)

// TestALongPast holds no event back for longer than a few seconds: it may be a new one.
func TestALongPast(t *testing.T) {
	t.Parallel()
	told := 0
	var last, longest time.Duration
	at := time.Duration(0)
	m := &memory{happened: func() { told, last, longest = told+1, at, max(longest, at-last) }}
	begin := time.Now()
	m.begin()
	m.timer.Stop() // the clock is the test's
	for ; at < 50*time.Second; at += 100 * time.Millisecond {
		m.event(begin.Add(at))
		m.timer.Stop()
	}
	if longest = max(longest, at-last); longest > held+time.Second {
		t.Errorf("for %v nothing was told", longest)
	}
	if told > 10 {
		t.Errorf("the past was told %d times", told)
	}
	before := told
	m.settled()
	if told != before+1 {
		t.Error("the end of the past was not told")
	}
	m.event(begin.Add(at))
	if told != before+2 {
		t.Error("what happened after the past was not told")
	}
}
