package subject

import (
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

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
	return k.scripts[name] || k.scripts[withoutEnding(name)]
}

// withoutEnding is the name of a program's file without the ending of its language.
func withoutEnding(name string) string {
	if end := path.Ext(name); slices.Contains(endings, end) {
		return strings.TrimSuffix(name, end)
	}
	return name
}

// settleDaemons makes agents of the daemons that something lives below, and of all where it is not known what lives below whom: a thread
// of an agent runs its tools and servers there. Any other daemon waits to be asked.
func (x *processes) settleDaemons() {
	above := make([]bool, len(x.nodes))
	for i := range x.nodes {
		if x.nodes[i].daemon || dead(x.nodes[i].p) {
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
