package subject_test

import (
	"fmt"
	"testing"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// crowd is n processes in a hundred trees, n/10 folders and as many records, all of which concern each other somehow.
func crowd(n int) *snapshot.Snapshot {
	s := look(func(s *snapshot.Snapshot) {
		for i := range n / 10 {
			path := fmt.Sprintf("/w/repo/%d", i)
			s.Dirs["dir:"+path] = snapshot.Dir{Source: "dirs//w", Path: path, Git: &snapshot.Git{Worktree: new(true)}}
			s.Spawns = append(s.Spawns, snapshot.Spawn{Source: "spawns/s", ID: fmt.Sprint(i), Path: path})
			s.Registry = append(s.Registry, snapshot.Entry{Source: "registry/r", ID: fmt.Sprint(i), Path: path, Marker: fmt.Sprint(i)})
		}
		for i := range n {
			p := quiet(i+100, max(1, i), "node")
			p.StartTicks, p.Cwd = uint64(i), new(fmt.Sprintf("/w/repo/%d/src", i%(n/10)))
			p.Markers = carries("AGENT_SESSION", fmt.Sprint(i%(n/10)), "TMUX", "/tmp/s,101,0")
			if i%20 == 0 {
				p.Name = "claude"
			}
			s.Processes[fmt.Sprintf("process:%d@%d", p.PID, i)] = &p
		}
	})
	return s
}

// BenchmarkJoin joins a snapshot and makes every subject of it; ns/candidate is to stay as it is when n grows.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		s := crowd(n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j := subject.Join(s, config())
				for _, kind := range snapshot.KindNames() {
					for _, id := range j.IDs(kind) {
						if _, ok := j.Subject(id); !ok {
							b.Fatal(id)
						}
					}
				}
			}
			all := len(s.Processes) + len(s.Dirs)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*all), "ns/candidate")
		})
	}
}
