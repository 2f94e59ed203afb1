package subject_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TestWorkSinceASighting: what a process and all below it have done since decides for how long they were idle.
func TestWorkSinceASighting(t *testing.T) {
	t.Parallel()
	const id = "process:5@6"
	idle, busy := new(100.0), new(0.0)
	for name, c := range map[string]struct {
		change func(s *snapshot.Snapshot, p, child *snapshot.Process, before *snapshot.Sighting)
		want   *float64
	}{
		"nothing":                     {func(*snapshot.Snapshot, *snapshot.Process, *snapshot.Process, *snapshot.Sighting) {}, idle},
		"as much as is let pass":      {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { *p.CPU, *p.Written = 3, 107 }, idle},
		"it computed":                 {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { *p.CPU = 3.5 }, busy},
		"it wrote":                    {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { *p.Written = 201 }, busy},
		"its child computed":          {func(_ *snapshot.Snapshot, _, c *snapshot.Process, _ *snapshot.Sighting) { *c.CPU = 9 }, busy},
		"its child wrote":             {func(_ *snapshot.Snapshot, _, c *snapshot.Process, _ *snapshot.Sighting) { *c.Written = 900 }, busy},
		"its child runs":              {func(_ *snapshot.Snapshot, _, c *snapshot.Process, _ *snapshot.Sighting) { c.State = "R" }, busy},
		"it waits for a disk":         {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { p.State = "D" }, busy},
		"it had another child":        {func(_ *snapshot.Snapshot, _, _ *snapshot.Process, b *snapshot.Sighting) { *b.Work.Youngest = 7 }, busy},
		"it had more children":        {func(_ *snapshot.Snapshot, _, _ *snapshot.Process, b *snapshot.Sighting) { *b.Work.Below = 2 }, busy},
		"a count went back":           {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { *p.CPU = 1 }, busy},
		"what it computed is unknown": {func(_ *snapshot.Snapshot, p, _ *snapshot.Process, _ *snapshot.Sighting) { p.CPU = nil }, nil},
		"what its child wrote is":     {func(_ *snapshot.Snapshot, _, c *snapshot.Process, _ *snapshot.Sighting) { c.Written = nil }, nil},
		"whether its child runs is":   {func(_ *snapshot.Snapshot, _, c *snapshot.Process, _ *snapshot.Sighting) { c.State = "" }, nil},
		"what it had done is":         {func(_ *snapshot.Snapshot, _, _ *snapshot.Process, b *snapshot.Sighting) { b.Work = nil }, nil},
		"what it had written is":      {func(_ *snapshot.Snapshot, _, _ *snapshot.Process, b *snapshot.Sighting) { b.Work.Written = nil }, nil},
		"since when is":               {func(_ *snapshot.Snapshot, _, _ *snapshot.Process, b *snapshot.Sighting) { b.IdleSince = nil }, nil},
		"the processes were not read": {func(s *snapshot.Snapshot, _, _ *snapshot.Process, _ *snapshot.Sighting) {
			s.Sources["proc"] = snapshot.Source{Status: "failed"}
		}, nil},
		"the machine slept in between": {func(s *snapshot.Snapshot, _, _ *snapshot.Process, _ *snapshot.Sighting) {
			s.Host.Asleep = &[]snapshot.Asleep{{From: *ago(90), Until: *ago(10), Seconds: 75}}
		}, new(25.0)},
		"a child ended and left no account": {func(_ *snapshot.Snapshot, _, c *snapshot.Process, b *snapshot.Sighting) {
			c.State, c.Threads, c.Written, *b.Work.Written = "Z", new(1), nil, 100
		}, idle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := snapshot.Process{PID: 5, StartTicks: 6, PPID: new(1), State: "S", CPU: new(2.0), Written: new(int64(100))}
			child := snapshot.Process{PID: 7, StartTicks: 8, PPID: new(5), State: "S", CPU: new(1.0), Written: new(int64(10))}
			before := snapshot.Sighting{
				Rule: "r", Identity: "k", FirstAt: *ago(300), LastAt: *ago(100), Count: 1, IdleSince: ago(100),
				Work: &snapshot.Work{CPU: new(3.0), Written: new(int64(110)), Below: new(1), Youngest: new(uint64(8))},
			}
			s := look(func(*snapshot.Snapshot) {})
			c.change(s, &p, &child, &before)
			s.Processes[id], s.Processes["process:7@8"] = &p, &child
			s.Processes["process:1@1"] = &snapshot.Process{PID: 1, StartTicks: 1, PPID: new(0), State: "S"}
			s.Sightings[id] = before
			config := config()
			config.Busy = subject.Busy{CPU: 0.01, Written: 1}
			sub, _ := subject.Join(s, config).Subject(id)
			same(t, "idle", c.want, sub.Sighting.Idle)
		})
	}
}

// TestWorkIsSummedUp over everything below a process, and nothing beside it.
func TestWorkIsSummedUp(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		for pid, parent := range map[int]int{5: 1, 6: 5, 7: 6, 8: 1} {
			s.Processes["process:"+string(rune('0'+pid))+"@1"] = &snapshot.Process{
				PID: pid, StartTicks: uint64(pid), PPID: &parent, State: "S", CPU: new(float64(pid)), Written: new(int64(10 * pid)),
			}
		}
		s.Processes["process:1@1"] = &snapshot.Process{PID: 1, StartTicks: 1, PPID: new(0), State: "S"}
		s.Dirs["dir:/w/a"] = snapshot.Dir{Path: "/w/a"}
	})
	j := subject.Join(s, config())
	same(t, "three", &snapshot.Work{CPU: new(18.0), Written: new(int64(180)), Below: new(2), Youngest: new(uint64(7))}, j.Work("process:5@1"))
	same(t, "one", &snapshot.Work{CPU: new(8.0), Written: new(int64(80)), Below: new(0), Youngest: new(uint64(0))}, j.Work("process:8@1"))
	same(t, "a folder", (*snapshot.Work)(nil), j.Work("dir:/w/a"))
}
