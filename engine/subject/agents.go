package subject

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// checked is how many agents are compared one by one where a process carries several identifying markers. The rest counts as
// a possible starter unseen, which keeps; so the cost stays linear for all markers.
const checked = 64

// agents are the living agents, and what may be one, in the order of their start: all of them, by the value of each identifying marker,
// and those that are not known to carry the marker at all.
type agents struct {
	ids   []string // the identifying markers
	nodes []node
	all   []int
	value map[string]map[string][]int
	wild  map[string][]int
}

func indexAgents(nodes []node, c *Config, maybe func(int) bool) agents {
	a := agents{ids: c.IDMarkers, nodes: nodes, value: map[string]map[string][]int{}, wild: map[string][]int{}}
	for i := range nodes {
		if nodes[i].starter = nodes[i].agent || maybe(i); nodes[i].starter {
			a.all = append(a.all, i)
		}
	}
	slices.SortFunc(a.all, func(i, k int) int {
		return cmp.Or(cmp.Compare(nodes[i].p.StartTicks, nodes[k].p.StartTicks), cmp.Compare(nodes[i].p.PID, nodes[k].p.PID))
	})
	for _, m := range a.ids {
		a.value[m] = map[string][]int{}
	}
	for _, i := range a.all {
		for m, values := range a.value {
			if v := carried(&nodes[i], m); v != "" {
				values[v] = append(values[v], i)
			} else {
				a.wild[m] = append(a.wild[m], i)
			}
		}
	}
	return a
}

// found are agents: how many, one of them, and each by its node.
type found struct {
	count int
	one   *node
	each  iter.Seq[int]
}

// starters are the agents that may have started a process, itself left out; one is one that shares its markers' values where there is
// any. Each gives as many as are counted, but for a process with several identifying markers, and in the order of their start.
func (a *agents) starters(i int) found {
	n := &a.nodes[i]
	var mine []string
	for _, m := range a.ids {
		if carried(n, m) != "" && !slices.Contains(mine, m) {
			mine = append(mine, m)
		}
	}
	switch len(mine) {
	case 0:
		return a.but(i, a.earlier(i, a.all), nil)
	case 1:
		return a.but(i, a.value[mine[0]][carried(n, mine[0])], a.earlier(i, a.wild[mine[0]]))
	default:
		return a.agreeing(i, mine)
	}
}

// but are the agents in two lists, none of them in both, without the process itself. Each list is in the order of their start.
func (a *agents) but(i int, first, second []int) found {
	f := found{count: len(first) + len(second), each: func(yield func(int) bool) {
		for _, list := range [...][]int{first, second} {
			for _, at := range list {
				if at != i && !yield(at) {
					return
				}
			}
		}
	}}
	for at := range f.each {
		f.one = &a.nodes[at]
		break
	}
	if i >= 0 && a.nodes[i].starter && (slices.Contains(first, i) || slices.Contains(second, i)) {
		f.count--
	}
	return f
}

// earlier are the agents in a list that started no later than a process.
func (a *agents) earlier(i int, list []int) []int {
	n := &a.nodes[i]
	upto, _ := slices.BinarySearchFunc(list, n.p.StartTicks, func(at int, ticks uint64) int {
		if a.nodes[at].p.StartTicks <= ticks {
			return -1
		}
		return 1
	})
	return list[:upto]
}

// agreeing are for a process with several identifying markers, an agent at a time: those that one marker leaves, the
// marker that leaves the fewest, are compared by all.
func (a *agents) agreeing(i int, mine []string) found {
	n := &a.nodes[i]
	fewest := slices.MinFunc(mine, func(x, y string) int { return a.count(n, x) - a.count(n, y) })
	var all []int
	looked := 0
	for _, list := range [][]int{a.value[fewest][carried(n, fewest)], a.wild[fewest]} {
		for _, at := range list {
			if at == i || a.nodes[at].p.StartTicks > n.p.StartTicks && !share(n, &a.nodes[at], mine) {
				continue
			}
			if looked++; looked > checked || agree(n, &a.nodes[at], mine) {
				all = append(all, at)
			}
			if looked > 2*checked {
				return a.but(-1, all, nil)
			}
		}
	}
	return a.but(-1, all, nil)
}

func (a *agents) count(n *node, m string) int { return len(a.value[m][carried(n, m)]) + len(a.wild[m]) }

// share is true when one of the markers has the same value in both.
func share(n, agent *node, markers []string) bool {
	return slices.ContainsFunc(markers, func(m string) bool { return carried(agent, m) == carried(n, m) })
}

// agree is false when one of the markers has two values that are known and differ.
func agree(n, agent *node, markers []string) bool {
	return !slices.ContainsFunc(markers, func(m string) bool {
		v := carried(agent, m)
		return v != "" && v != carried(n, m)
	})
}

func carried(n *node, marker string) string {
	if n.p.Markers == nil {
		return ""
	}
	return (*n.p.Markers)[marker]
}

func (n *node) ref() *snapshot.PaneProc {
	return &snapshot.PaneProc{PID: n.p.PID, Name: n.p.Name}
}

// recognised is how agents are known: by the names of their processes and files, and by the file and the package that an interpreter runs.
// The programs of vendors' daemons are among the names, so that a process whose command line is not known counts as an agent.
type recognised struct {
	names, scripts, packages map[string]bool
	interpreters             []string // may end in a *
}

func newRecognised(c *Config) recognised {
	names := slices.Clone(c.Agents)
	for _, d := range c.AgentDaemons {
		names = append(names, d.Programs...)
	}
	return recognised{names: programs(names), scripts: set(c.AgentScripts), packages: set(c.AgentPackages), interpreters: c.Interpreters}
}

// Recognises reports whether a process is a program of the agents that the configuration names.
func (c *Config) Recognises(p *snapshot.Process) bool { return newRecognised(c).agent(p) }

// programs are names of programs as processes have them. npm's packages put .exe behind a program's name on every system.
func programs(names []string) map[string]bool {
	all := slices.Clone(names)
	for _, n := range names {
		all = append(all, n+".exe")
	}
	return comms(all)
}

// agent reports whether a process is an agent's program.
func (k recognised) agent(p *snapshot.Process) bool {
	return hasName(p, k.names) || p.Package != nil && k.packages[*p.Package] || p.Script != nil && k.script(*p.Script)
}

// maybe reports whether a process that is known to be no agent may be one after all. A program that gave itself a name of its own is known
// by that.
func (k recognised) maybe(p *snapshot.Process) bool {
	if p.Exe == nil {
		return true
	}
	if !k.interpreter(strings.TrimSuffix(fileOf(p), ".exe")) || p.Name != "" && !k.interpreter(strings.TrimSuffix(p.Name, ".exe")) {
		return false
	}
	return p.Script == nil || p.Package == nil
}

func (k recognised) interpreter(name string) bool {
	return slices.ContainsFunc(k.interpreters, func(glob string) bool { return wild(glob, name) })
}

var endings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py"}

// script compares the name as it is, and without the ending of a program's file.
func (k recognised) script(name string) bool {
	end := path.Ext(name)
	return k.scripts[name] || slices.Contains(endings, end) && k.scripts[strings.TrimSuffix(name, end)]
}

// settleDaemons makes agents of the daemons that something lives below, and of all where it is not known what lives below whom: a thread
// of an agent runs its tools and servers there. Any other daemon waits to be asked.
func (x *processes) settleDaemons() {
	above := make([]bool, len(x.nodes))
	for i := range x.nodes {
		if x.nodes[i].daemon || Dead(x.nodes[i].p) {
			continue
		}
		for at := x.nodes[i].parent; at >= 0 && !above[at]; at = x.nodes[at].parent {
			above[at] = true
		}
	}
	for i := range x.nodes {
		if n := &x.nodes[i]; n.daemon {
			n.agent = above[i] || x.strays || !x.whole
		}
	}
}

func set(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
