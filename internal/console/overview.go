package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// How much of the past the overview shows, how many bars a picture has at most, and how long their names are.
const weeksShown, mostBars, maxName = 14, 8, 28

// overview is the first page: what would go, what waits for a person, which agents run, the latest sweep, the daemon
// and the disk.
func (s *Server) overview(r *http.Request, looked *report.Report) (string, string, any, error) {
	past := client.Params{Since: fmt.Sprintf("%dd", 7*weeksShown)}
	running, failed := read[report.Running](r.Context(), s, "/v1/top", client.Params{})
	stats, unsummed := read[document.Stats](r.Context(), s, "/v1/stats", past)
	done, unread := read[document.History](r.Context(), s, "/v1/history", past)
	body := struct {
		Usage report.Usage
		// Count has how many candidates there are of each state.
		Count    map[string]int
		Running  report.Running
		Sweeps   []document.Sweep
		Sums     map[string]string
		Pictures []picture
	}{Count: map[string]int{}, Running: running, Sweeps: done.Sweeps, Sums: sums(done.Acts)}
	if looked != nil {
		body.Usage = looked.Usage()
		for _, x := range s.rows.get(looked) {
			body.Count[x.State]++
		}
	}
	weeks := weeksPicture(stats, time.Now())
	body.Pictures = []picture{weeks, diskPicture(body.Usage), memoryPicture(running), funnelPicture(done)}
	return "Overview", "overview", body, cmp.Or(failed, unsummed, unread)
}

// branch is a process with those below it.
type branch struct {
	report.Process
	Below []branch
}

// tree are the processes of an agent, each with those below it.
func tree(o report.Owner) []branch {
	below, known := map[int][]report.Process{}, map[int]bool{}
	for _, p := range o.Processes {
		known[p.PID] = true
	}
	for _, p := range o.Processes {
		if !known[p.Parent] {
			p.Parent = 0
		}
		below[p.Parent] = append(below[p.Parent], p)
	}
	return branches(below, 0)
}

// verdictStates are the states by the verdicts of winnow top.
var verdictStates = map[string]string{"reap": goes, "wait": waits, "keep": stays, "ask": asks, "observe": observe}

// branches are the processes below one. What was taken is taken out, so that a circle of parents ends.
func branches(below map[int][]report.Process, pid int) []branch {
	here := below[pid]
	delete(below, pid)
	return text.Map(here, func(p report.Process) branch {
		return branch{p, branches(below, p.PID)}
	})
}

// ownerName is an owner as a person calls it: the worker's name where a registry has one, a path from home, and no
// long id alone.
func ownerName(owner string, looked *report.Report) string {
	if looked != nil && owner != "" {
		named := func(w snapshot.Worker) bool { return w.Name != "" && (w.ID == owner || w.Session == owner) }
		if i := slices.IndexFunc(looked.Workers, named); i >= 0 {
			return looked.Workers[i].Name
		}
	}
	if short := report.Short(owner); short != owner && !strings.HasPrefix(owner, "/") {
		return "agent session " + short
	}
	return cmp.Or(text.Home(owner), noOwner)
}

// picture is a chart of bars.
type picture struct {
	Title string
	Bars  []bar
	// Empty says what to do where there is nothing to draw.
	Empty string
}

// bar is one bar of a picture: N is how long it is beside the others, Value says it to a person.
type bar struct {
	Name, Value string
	N           int64
}

// Percent is how long a bar is, of the longest one.
func (p picture) Percent(n int64) int64 {
	most := slices.MaxFunc(p.Bars, func(x, y bar) int { return cmp.Compare(x.N, y.N) })
	return 100 * n / max(most.N, 1)
}

// weeksPicture is what was reclaimed in each week, also in those without an act.
func weeksPicture(s document.Stats, now time.Time) picture {
	p := picture{Title: "Reclaimed by week", Empty: "Nothing was reclaimed yet. What a sweep frees is counted here."}
	for i := range weeksShown {
		monday := now.AddDate(0, 0, -(int(now.Weekday())+6)%7-7*(weeksShown-1-i)).Format(time.DateOnly)
		w := document.Share{Name: monday}
		if at := slices.IndexFunc(s.Weeks, func(w document.Share) bool { return w.Name == monday }); at >= 0 {
			w = s.Weeks[at]
		}
		p.Bars = append(p.Bars, bar{w.Name, cmp.Or(freeText(w.Bytes, w.Memory), "nothing"), w.Bytes + w.Memory})
	}
	if s.Total.Acts == 0 {
		p.Bars = nil
	}
	return p
}

// diskPicture is what folders would free that go or wait, by the repository that they are of.
func diskPicture(u report.Usage) picture {
	p := picture{Title: "Disk that goes or waits, by repository", Empty: "No folder would go. Here says why each stays."}
	by := map[string]int64{}
	for _, g := range u.Groups {
		if g.Kind == snapshot.KindDir && g.Bytes > 0 {
			by[g.Place] += g.Bytes
		}
	}
	for place, n := range by {
		p.Bars = append(p.Bars, bar{text.Home(place), text.Size(n), n})
	}
	slices.SortFunc(p.Bars, func(x, y bar) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Name, y.Name)) })
	p.Bars = p.Bars[:min(len(p.Bars), mostBars)]
	return p
}

// memoryPicture is the memory of each agent with all that it runs.
func memoryPicture(running report.Running) picture {
	largest := running.Owners[:min(len(running.Owners), mostBars)]
	return picture{Title: "Memory by agent", Empty: "No agent runs here, and nothing of one that has ended.",
		Bars: text.Map(largest, func(o report.Owner) bar { return bar{o.Name, text.Size(o.Memory), o.Memory} })}
}

// funnelPicture is how few of all that the latest sweep saw may go, and went.
func funnelPicture(done document.History) picture {
	p := picture{Title: "The latest sweep", Empty: "No sweep has ended yet. Sweep now (dry) looks, and changes nothing."}
	whole := func(s document.Sweep) bool { return s.Finished != nil && s.Mode != report.Cleanup }
	i, census := slices.IndexFunc(done.Sweeps, whole), map[string]report.Count{}
	if i < 0 || json.Unmarshal(done.Sweeps[i].Counts, &census) != nil {
		return p
	}
	n := [4]int{}
	for _, c := range census {
		n[0], n[1], n[2] = n[0]+c.Seen, n[1]+c.InScope, n[2]+c.Reap
	}
	for _, x := range done.Acts {
		if x.Intent.Sweep == done.Sweeps[i].ID && x.Outcome != nil && x.Outcome.Outcome == decision.Done {
			n[3]++
		}
	}
	for i, name := range []string{"seen", "in scope of a rule", "may go", "went"} {
		p.Bars = append(p.Bars, bar{name, fmt.Sprint(n[i]), int64(n[i])})
	}
	return p
}
