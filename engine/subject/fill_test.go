package subject_test

import (
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// TestMemoryThatIsUsedAgain holds nothing of the candidate before: each document is what it is in memory of its own, in every order of making them.
func TestMemoryThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := things()
	s.Processes["process:900@9"] = &snapshot.Process{PID: 900, StartTicks: 9, Name: "claude", UID: new(1000), PPID: new(0), Markers: &map[string]string{"AGENT_SESSION": "x"}, CPU: new(5.0), StartedAt: ago(60)}
	s.Processes["process:901@10"] = &snapshot.Process{PID: 901, StartTicks: 10, PPID: new(900)}
	s.Holds = []snapshot.Hold{{ID: "process:900@9", Reason: "mine"}}
	j := subject.Join(s, config())
	var ids []string
	for _, kind := range snapshot.Kinds {
		ids = append(ids, j.IDs(kind.Name)...)
	}
	back := slices.Clone(ids)
	slices.Reverse(back)
	var sub subject.Subject
	for _, id := range slices.Concat(ids, back, ids[len(ids)/2:], back) {
		want, _ := j.Subject(id)
		if !j.Fill(&sub, id) {
			t.Fatalf("no subject %s", id)
		}
		same(t, id, want, &sub)
	}
	if before := sub.ID; j.Fill(&sub, "dir:/nowhere") || sub.ID != before {
		t.Errorf("what the snapshot does not have became %+v", sub)
	}
}

// TestAPidInCommon: of several processes that had a pid each is still itself as a candidate, and the pid means the youngest.
func TestAPidInCommon(t *testing.T) {
	t.Parallel()
	s := look(func(s *snapshot.Snapshot) {
		for id, p := range map[string]snapshot.Process{
			"process:7@100": {PID: 7, StartTicks: 100, Name: "a"}, "process:7@200": {PID: 7, StartTicks: 200, Name: "claude"}, "process:7@300": {PID: 7, StartTicks: 300, Name: "c"},
			"process:7@100 again": {PID: 7, StartTicks: 100, Name: "claude"}, // as only a document that somebody made can have it
			"process:8@400":       {PID: 8, StartTicks: 400, Name: "child", PPID: new(7)}, "process:9@150": {PID: 9, StartTicks: 150, Name: "lost", PPID: new(7)},
		} {
			p.Exe = new("/bin/" + p.Name)
			if p.PPID == nil {
				p.PPID = new(0)
			}
			s.Processes[id] = &p
		}
	})
	for id, below := range map[string]int{"process:7@100": 0, "process:7@100 again": 0, "process:7@200": 0, "process:7@300": 1, "process:8@400": 0, "process:9@150": 0} {
		sub := of(t, s, id)
		if got := sub.Lineage.Descendants; got == nil || *got != below {
			t.Errorf("%s: %v below, want %d", id, got, below)
		}
		if got, want := sub.Lineage.IsAgent, sub.Process.Name == "claude"; got == nil || *got != want {
			t.Errorf("%s: an agent %v, want %v", id, got, want)
		}
	}
}
