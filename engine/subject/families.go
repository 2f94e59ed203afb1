package subject

import (
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// deleted is what the kernel writes behind the path of what has no name any more.
const deleted = " (deleted)"

// fileOf is the name of the file that a process was started from, "" where that is not known.
func fileOf(p *snapshot.Process) string {
	if p.Exe == nil {
		return ""
	}
	return path.Base(strings.TrimSuffix(*p.Exe, deleted))
}

// interpreter is the interpreter that a process runs in, by its name or the name of its file, and "" for no interpreter. A program that gave itself
// a title is known by its file.
func (c *Config) interpreter(p *snapshot.Process) string {
	for _, name := range []string{fileOf(p), p.Name} {
		if name != "" && globbed(c.Interpreters, strings.TrimSuffix(name, ".exe")) {
			return name
		}
	}
	return ""
}

// family is what a process that runs in an interpreter positively is: the first family that its name, or the script or package that it
// runs, is of. A program that gives itself a name most often takes that of its script.
func (c *Config) family(p *snapshot.Process) string {
	for _, f := range c.Families {
		if globbed(f.Names, p.Name) || globbed(f.Scripts, p.Name) || matchesName(f.Scripts, p.Script) || matchesName(f.Packages, p.Package) {
			return f.Family
		}
	}
	return known(p.Proven)
}

// Browsers are the names of browsers that people use too.
func (c *Config) Browsers() (names []string) {
	for _, d := range c.PersonalDaemons {
		if d.Is == "browser" {
			names = append(names, d.Name)
		}
	}
	return names
}

// personal is the word for what a process is where people use such a thing too, and "" for all else, such as a browser that a tool installed for
// itself, and one that a program drives with all that it starts of the same file.
func (x *processes) personal(n *node) *string {
	file, exe := fileOf(n.p), known(n.p.Exe)
	driven := exe != "" && slices.ContainsFunc(x.config.DrivenPrograms, func(glob string) bool { return wild(glob, exe) })
	for up, steps := n, 0; !driven && steps < maxAncestors && known(up.p.Exe) == exe; steps++ {
		if driven = known(up.p.Proven) == snapshot.ProvenBrowser; up.parent < 0 || exe == "" {
			break
		}
		up = &x.nodes[up.parent]
	}
	if driven {
		return new("")
	}
	for _, d := range x.config.PersonalDaemons {
		if named := []string{d.Name}; globbed(named, n.p.Name) || file != "" && globbed(named, file) {
			return &d.Is
		}
	}
	return new("")
}

// open are the unix sockets that a process listens on, those left out that programs make for themselves alone.
func (c *Config) open(p *snapshot.Process) *[]string {
	if p.UnixSockets == nil {
		return nil
	}
	return new(filter(*p.UnixSockets, func(name string) bool {
		return !slices.ContainsFunc(c.OwnSockets, func(glob string) bool { return wild(glob, name) })
	}))
}

func matchesName(globs []string, name *string) bool {
	return name != nil && *name != "" && globbed(globs, *name)
}

// globbed reports whether a name is on a list of globs. The kernel cuts a name after 15 bytes, so one that is that long is compared with
// the beginning of a longer pattern without a glob there.
func globbed(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		return wild(glob, name) || len(name) == commLen && len(glob) > commLen && glob[:commLen] == name
	})
}

// wild reports whether a text is of a pattern in which * stands for any text. It is asked a few hundred times a process, and makes nothing.
func wild(pattern, text string) bool {
	if pattern != "" && pattern[0] != '*' && (text == "" || text[0] != pattern[0]) { // most of them
		return false
	}
	first, more, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, first)
	for ok {
		part, next, starred := strings.Cut(more, "*")
		if !starred {
			return strings.HasSuffix(rest, part)
		}
		_, rest, ok = strings.Cut(rest, part)
		more = next
	}
	return false
}

// vague is true for what may be an agent: what runs in an interpreter, is of no known family, and carries an agent's marker or stands below
// a process that does or is an agent.
func (x *processes) vague(n *node, above tri) bool {
	return n.nameless() && x.tainted(n).or(above) != no
}

// nameless is true for a living process that runs in an interpreter and is of no known family.
func (n *node) nameless() bool {
	return !n.agent && !n.daemon && !n.multiplexer && !Dead(n.p) && n.interpreter != "" && n.family == ""
}

// tainted is whether a process carries an agent's marker. Those of another user do not show theirs, and are not asked; nor is one that takes
// in orphans and hides its own, for it did not start the processes below it.
func (x *processes) tainted(n *node) tri {
	switch {
	case n.p.Markers != nil:
		return triIf(len(n.markers) > 0)
	case n.p.IsKernel() || Dead(n.p) || n.p.UID != nil && x.uid != nil && *n.p.UID != *x.uid || slices.Contains(x.orphanParents, n.p.PID):
		return no
	default:
		return unknown
	}
}

// starts reports whether an unidentified process may be the living agent that started others. It must carry a marker itself, for most of
// what people run in an interpreter is not an agent. What an agent that has ended left behind does not count, or one stray would keep all
// others for ever. So it has to have a terminal, or stand in a tree whose top, below the process that takes in orphans, is not known to
// carry a marker, or has it from a multiplexer.
func (x *processes) starts(i int) bool {
	n := &x.nodes[i]
	return x.handsDown(i) || n.vague && (n.p.Markers == nil || len(n.markers) > 0) && !x.stray(i)
}

// handsDown reports whether what runs in an interpreter, and is of no known family, has a child that carries an agent's marker which it
// does not carry itself, or may: it is who set that, such as an agent that is run from its own source. An identifying marker is set by
// orchestrators, on the agent itself; what an agent carries, the process that started the agent may have set.
func (x *processes) handsDown(i int) bool {
	n := &x.nodes[i]
	if !n.nameless() || slices.Contains(x.orphanParents, n.p.PID) {
		return false
	}
	return slices.ContainsFunc(x.kids.children(i), func(k int32) bool {
		kid := &x.nodes[k]
		if kid.agent || x.tainted(kid) == no {
			return false
		}
		return kid.p.Markers == nil || slices.ContainsFunc(kid.markers, func(m string) bool {
			return !slices.Contains(x.config.IDMarkers, m) && carried(n, m) != carried(kid, m)
		})
	})
}

// stray reports whether a process is known to be left over of an agent that is gone: it has no terminal, or was itself handed over and is
// in the background of one, and the top of its tree carries a marker which no multiplexer handed down.
func (x *processes) stray(i int) bool {
	if n := &x.nodes[i]; n.tty == unknown || n.tty == yes && !x.dropped(n) {
		return false
	}
	top := x.top(i)
	return top != nil && !top.multiplexer && x.tainted(top) == yes
}

// dropped reports whether a process was itself handed to one that takes in orphans, and is in the background of its terminal: what an agent
// that was killed in a pane leaves there. A person who talks with an agent has it in the foreground.
func (x *processes) dropped(n *node) bool {
	p := n.p
	return n.parent >= 0 && slices.Contains(x.orphanParents, x.nodes[n.parent].p.PID) &&
		p.PGID != nil && p.ForegroundPGID != nil && *p.ForegroundPGID > 0 && *p.PGID != *p.ForegroundPGID
}

// top is the last ancestor of a process, or itself, below those that take in orphans; nil where that is not known.
func (x *processes) top(i int) *node {
	return x.upTo(i, func(parent *node) bool { return slices.Contains(x.orphanParents, parent.p.PID) })
}

// upTo is the first process, from one upwards, that has no parent or one that is searched for; nil where a parent on the way is not known.
func (x *processes) upTo(i int, found func(parent *node) bool) *node {
	for range x.nodes { // a table that is read while it changes can show a circle
		n := &x.nodes[i]
		switch {
		case n.lost:
			return nil
		case n.parent < 0 || found(&x.nodes[n.parent]):
			return n
		}
		i = int(n.parent)
	}
	return nil
}
