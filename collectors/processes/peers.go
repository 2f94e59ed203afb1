package processes

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// maxTree is how many processes are asked about with one: no process goes that has more than 64 below it.
const maxTree = 65

// speaker is a process that may have been handed over, or lives below one, and what others may speak with it through.
type speaker struct {
	*record
	// tree are the pids of itself and of all below it.
	tree []int
	// ends are those of what it has open, out those of what it prints to.
	ends, out []end
	// known is whether all ends are known, outKnown whether all of out are.
	known, outKnown bool
	// woken is whether what it has open wakes it, or may, by something else than its peers.
	woken bool
}

// peers finds out who can speak with the processes that may have been handed over, and with all that lives below them.
func (s *scan) peers(ctx context.Context) error {
	asked := s.speakers()
	if len(asked) == 0 || !s.root.Procfs {
		return nil
	}
	ask := func(by *scan, pid, dir int) { by.channels(dir, asked[pid]) }
	if err := s.readEach(ctx, slices.Collect(maps.Keys(asked)), ask); err != nil {
		return err
	}
	held, err := s.holdersOf(ctx, asked)
	if err != nil {
		return err
	}
	for _, p := range asked {
		p.listen(held)
	}
	return nil
}

// speakers are the processes of this user that were not read in part and whose parent takes in orphans, with all below them.
func (s *scan) speakers() map[int]*speaker {
	found := map[int]*speaker{}
	var children map[int][]*record
	for _, r := range s.found {
		if r.depth == brief || *r.UID != s.uid || !s.takesIn(*r.PPID) {
			continue
		}
		if children == nil {
			children = childrenOf(s.found)
		}
		if tree := treeOf(children, r); len(tree) <= maxTree && !shownBelow(tree) {
			for _, below := range tree {
				found[below.PID] = &speaker{record: below}
				for _, own := range treeOf(children, below) {
					found[below.PID].tree = append(found[below.PID].tree, own.PID)
				}
			}
		}
	}
	return found
}

func childrenOf(found []*record) map[int][]*record {
	children := make(map[int][]*record, len(found))
	for _, r := range found {
		children[*r.PPID] = append(children[*r.PPID], r)
	}
	return children
}

// treeOf is a process and what lives below it, as far as one more than maxTree: a table that is read while it changes can show a circle.
func treeOf(children map[int][]*record, top *record) []*record {
	tree := []*record{top}
	for i := 0; i < len(tree) && len(tree) <= maxTree; i++ {
		tree = append(tree, children[tree[i].PID]...)
	}
	return tree
}

// shownBelow reports whether a process without a terminal has one with a terminal below it, as the servers of multiplexers have: it stays whoever speaks
// with it.
func shownBelow(tree []*record) bool {
	return *tree[0].TTY == "" && slices.ContainsFunc(tree, func(r *record) bool { return *r.TTY != "" })
}

// channels asks by what others may speak with a pinned process.
func (s *scan) channels(dir int, p *speaker) {
	st, err := s.Stat(dir)
	if err != nil || st.Start != p.StartTicks {
		return
	}
	if p.known, p.outKnown = true, true; st.Gone() {
		return
	}
	in := s.channel(dir, "0", toRead)
	p.InputEnded = in.ended()
	p.add(in, nil)
	ended, other := false, false
	for _, fd := range []string{"1", "2"} {
		c := s.channel(dir, fd, toWrite)
		p.add(c, &p.out)
		over := c.ended()
		link, _ := proc.Readlink(dir, "fd/"+fd, s.Link)
		ended, other = ended || over != nil && *over, other || (over == nil || !*over) && string(link) != "/dev/null"
	}
	if p.outKnown {
		p.OutputEnded = new(ended && !other)
	}
	s.readEnds(dir, p)
	p.Waits = s.waits(dir, st, p)
}

func (p *speaker) add(c channel, also *[]end) {
	switch {
	case c.open == nil:
		p.known, p.outKnown = false, p.outKnown && also == nil
	case *c.open:
		p.ends = append(p.ends, c.end)
		if also != nil {
			*also = append(*also, c.end)
		}
	}
}

// readEnds adds what a process has at any descriptor, whichever way: pipes, FIFOs, pairs of sockets, as Node.js has with what it forks, eventfds, and
// terminals that are not its own. Its own one other facts tell of.
func (s *scan) readEnds(dir int, p *speaker) {
	fds, numbers, err := proc.OpenList(dir, "fd", s.Environ)
	if err != nil {
		p.known = false
		return
	}
	defer func() { _ = unix.Close(fds) }()
	for _, n := range numbers {
		text, err := proc.Readlink(fds, strconv.Itoa(n), s.Link)
		if err != nil {
			p.known = p.known && proc.Ended(err)
			continue
		}
		s.descriptorChannels(dir, strconv.Itoa(n), text, p)
	}
}

func (s *scan) descriptorChannels(dir int, name string, text []byte, p *speaker) {
	inode, isSocket := proc.SocketInode(text)
	switch isPath := len(text) > 0 && text[0] == '/'; {
	case isSocket:
		p.add(s.listeners().pair(inode), nil)
	case string(text) == eventfdLink:
		c := unknownChannel
		if number, err := numberOf(dir, "fdinfo/"+name, eventfdNumber, s.Text); err == nil { // whoever else has it wakes the process, or is woken by it
			c = channel{open: new(true), end: end{link: eventfdLink, number: number + 1}}
		}
		p.add(c, nil)
	case isPath && s.isFIFO(dir, name, p), bytes.HasPrefix(text, []byte("pipe:[")):
		p.add(s.channel(dir, name, toRead), nil)
		p.add(s.channel(dir, name, toWrite), nil)
	case !isPath:
		p.woken = p.woken || string(text) != "anon_inode:[eventpoll]"
	}
}

// isFIFO reports whether what has a path is a FIFO, and adds a terminal.
func (s *scan) isFIFO(dir int, name string, p *speaker) bool {
	var st unix.Statx_t
	if err := unix.Statx(dir, "fd/"+name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_NLINK, &st); err != nil {
		p.known = p.known && proc.Ended(err)
		return false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		p.add(s.terminalChannel(dir, name, &st, *p.TTY), nil)
		p.woken = p.woken || !plainDevice(st.Rdev_major, st.Rdev_minor)
	case unix.S_IFIFO:
		p.woken = p.woken || st.Nlink > 0
	}
	return st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// holders are the pids of who has ends open. Hidden is true where a process of this user's, or more, did not show what it has open.
type holders struct {
	of     map[end][]int
	hidden bool
	// shows are the servers of multiplexers. Who shows a terminal speaks with nothing that has it open: other facts tell who works there.
	shows map[int]bool
}

// endScan looks for the holders of ends, which stand by their links.
type endScan struct {
	*scan
	wanted map[string][]end
	holders
}

// holdersOf reads who has the ends open that others may speak through. Processes of other users hide that from a plain user, so where
// no holder is found nothing is known. What the asked ones themselves have open tells enough in a look at everything, as long as none of them has the other end
// of what is its own: then another process surely has it, and which one is asked only of what the look is about.
func (s *scan) holdersOf(ctx context.Context, asked map[int]*speaker) (holders, error) {
	wanted := map[string][]end{}
	for _, p := range asked {
		for _, e := range p.ends {
			if !slices.Contains(wanted[e.link], e) {
				wanted[e.link] = append(wanted[e.link], e)
			}
		}
	}
	if len(wanted) == 0 {
		return holders{}, nil
	}
	shows := map[int]bool{}
	for _, r := range s.found {
		if matches(s.o.Servers, r.Name) {
			shows[r.PID] = true
		}
	}
	first := maps.Clone(shows)
	for pid := range asked {
		first[pid] = true
	}
	among, err := s.holdersAmong(ctx, slices.Collect(maps.Keys(first)), wanted)
	among.shows = shows
	if err != nil || len(s.o.Only) == 0 && !s.o.Peers && !among.holdAny(asked) {
		return among, err
	}
	pids, err := s.root.PIDs()
	if err != nil {
		return among, err
	}
	all, err := s.holdersAmong(ctx, pids, wanted)
	all.hidden, all.shows = all.hidden || s.root.CheckVisible() != nil, shows
	return all, err
}

// holdAny reports whether one of the processes has, in its own tree, the other end of what it reads or prints to.
func (h holders) holdAny(asked map[int]*speaker) bool {
	for _, p := range asked {
		for _, e := range p.ends {
			if slices.ContainsFunc(h.of[e], func(pid int) bool { return slices.Contains(p.tree, pid) }) {
				return true
			}
		}
	}
	return false
}

func (s *scan) holdersAmong(ctx context.Context, pids []int, wanted map[string][]end) (holders, error) {
	all := holders{of: map[end][]int{}}
	fork := func() *endScan { return &endScan{s.fork(), wanted, holders{of: map[end][]int{}}} }
	forks, err := host.EachPinned(ctx, s.root, pids, fork, (*endScan).process)
	for _, f := range forks {
		all.hidden = all.hidden || f.hidden
		for e, pids := range f.of {
			all.of[e] = append(all.of[e], pids...)
		}
	}
	return all, err
}

func (h *endScan) process(pid, dir int) {
	fds, numbers, err := proc.OpenList(dir, "fd", h.Environ)
	if err != nil {
		h.hidden = h.hidden || h.hides(pid, dir, err)
		return
	}
	defer func() { _ = unix.Close(fds) }()
	for _, n := range numbers {
		text, err := proc.Readlink(fds, strconv.Itoa(n), h.Link)
		if err != nil {
			h.hidden = h.hidden || h.hides(pid, dir, err)
			continue
		}
		if len(text) > 0 && text[0] == '/' {
			text = bytes.TrimSuffix(text[bytes.LastIndexByte(text, '/')+1:], []byte(proc.Deleted))
		}
		for _, e := range h.wanted[string(text)] {
			if e.matches(fds, strconv.Itoa(n), h.Text) && !slices.Contains(h.of[e], pid) {
				h.of[e] = append(h.of[e], pid)
			}
		}
	}
}

// hides reports whether a process that did not show what it has open is this user's, lives, and does not hide on purpose. Process 1 of a container may be
// stronger than this one.
func (h *endScan) hides(pid, dir int, err error) bool {
	var owner unix.Stat_t
	if proc.Ended(err) || unix.Fstat(dir, &owner) != nil || int(owner.Uid) != h.uid || pid == 1 && proc.Denied(err) && h.root.Stronger() {
		return false
	}
	st, err := h.Stat(dir)
	return err == nil && !st.Gone() && !st.Kernel && !slices.Contains(h.o.Opaque, st.Comm)
}

// matches reports whether a descriptor with the end's link is that end.
func (e end) matches(fds int, name string, buf []byte) bool {
	if e.number > 0 {
		return e.atNumber(fds, name, buf)
	}
	if e.fifo != (fifoID{}) {
		var st unix.Statx_t
		err := unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &st)
		if err != nil || (fifoID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}) != e.fifo {
			return false
		}
	}
	var link unix.Stat_t
	return e.way == 0 || unix.Fstatat(fds, name, &link, unix.AT_SYMLINK_NOFOLLOW) == nil && link.Mode&e.way != 0
}

// listen says who can speak with a process, by who holds the ends.
func (p *speaker) listen(held holders) {
	peers := []int{}
	known := p.known
	for _, e := range p.ends {
		outside, sure := p.outsiders(e, held)
		peers, known = append(peers, outside...), known && sure
	}
	if slices.Sort(peers); known || len(peers) > 0 {
		p.Peers = new(slices.Compact(peers))
	}
	read, known := false, p.outKnown
	for _, e := range p.out {
		outside, sure := p.outsiders(e, held)
		read, known = read || len(outside) > 0 || len(held.of[e]) == 0, known && sure
	}
	if read || known {
		p.OutputRead = &read
	}
}

// outsiders are the holders of an end besides the process and what lives below it. The kernel says that it has one, so where none is found, and
// where another one may be unseen or come by the path, that is not sure.
func (p *speaker) outsiders(e end, held holders) (pids []int, sure bool) {
	for _, pid := range held.of[e] {
		if !slices.Contains(p.tree, pid) && !(e.link == masterLink && held.shows[pid]) {
			pids = append(pids, pid)
		}
	}
	return pids, len(pids) > 0 || len(held.of[e]) > 0 && !e.named && !held.hidden
}
