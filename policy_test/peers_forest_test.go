package policy_test

import (
	"slices"
	"testing"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/figures"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// wire is a pipe, one way of a pair of sockets, a FIFO, or a terminal: its readers have that open, and its writers the other side of it. A nil wire is a file, its own terminal
// or /dev/null.
type wire struct {
	kind             string
	readers, writers []*being
}

// The kinds of wires. A FIFO that has a path may be opened by anybody.
const (
	aPipe  = "pipe"
	aPair  = "pair"
	aFIFO  = "fifo"
	noPath = "fifo that was removed"
	aPty   = "terminal"
)

func apartFrom(list []*being, b *being) []*being {
	return slices.DeleteFunc(list, func(x *being) bool { return x == b })
}

// reads gives a process another input, prints another output.
func (f *forest) reads(b *being, w *wire) {
	if b.in != nil {
		b.in.readers = apartFrom(b.in.readers, b)
	}
	if b.in = w; w != nil {
		w.readers = append(w.readers, b)
	}
}

func (f *forest) prints(b *being, w *wire) {
	if b.out != nil {
		b.out.writers = apartFrom(b.out.writers, b)
	}
	if b.out = w; w != nil {
		w.writers = append(w.writers, b)
	}
}

// wire makes one that another process has the other end of, which reads it, or writes into it.
func (f *forest) wire(kind string, reader, writer *being) *wire {
	w := &wire{kind: kind}
	if reader != nil {
		w.readers = []*being{reader}
	}
	if writer != nil {
		w.writers = []*being{writer}
	}
	f.wires = append(f.wires, w)
	return w
}

// joins gives a process one end of a wire beside its input and output, or both.
func (b *being) joins(w *wire, reads, writes bool) {
	if reads {
		w.readers = append(w.readers, b)
	}
	if writes {
		w.writers = append(w.writers, b)
	}
	b.beside = append(b.beside, w)
}

// inherits has a process get some of what its parent has beside its input and output: not all programs close that.
func (f *forest) inherits(b, parent *being) {
	if !f.wired {
		return
	}
	for _, w := range parent.beside {
		if parent.name == "npm exec @model" || f.chance(0.3) { // a package runner hands all on to the server
			b.joins(w, slices.Contains(w.readers, parent), slices.Contains(w.writers, parent))
		}
	}
}

// speakBeside draws with whom a process speaks over other descriptors than its input and output: most often with itself, as event loops do.
func (f *forest) speakBeside(b *being) {
	other, kind := b, aPipe
	switch draw := f.Float64(); {
	case draw < 0.4:
		b.joins(f.wire(kind, nil, nil), true, true)
		return
	case draw < 0.6:
		other = f.stranger()
	case draw < 0.8 && b.mine() != nil && !b.mine().gone:
		other = b.mine()
	default:
		if other = f.all[2+f.IntN(len(f.all)-2)]; other.gone || other == b {
			return
		}
	}
	w, reads := f.wire(choose(f, aPipe, aPair, aFIFO, noPath, aPty), nil, nil), f.chance(0.5)
	b.joins(w, reads, !reads)
	other.joins(w, !reads, reads)
}

// hangUp closes what a process that ends had open.
func (f *forest) hangUp(b *being) {
	for _, w := range f.wires {
		w.readers, w.writers = apartFrom(w.readers, b), apartFrom(w.writers, b)
	}
}

// served has an agent speak with a server, or with what starts it.
func (f *forest) served(b, a *being) {
	if !f.wired {
		return
	}
	kind := choose(f, aPipe, aPair)
	if f.chance(0.2) { // its pipes are not its input and output
		f.reads(b, nil)
		f.prints(b, nil)
		for _, reads := range []bool{true, false} {
			w := f.wire(choose(f, aPipe, aPair, aPty), nil, nil)
			b.joins(w, reads, !reads)
			a.joins(w, !reads, reads)
		}
		return
	}
	f.reads(b, f.wire(kind, nil, a))
	f.prints(b, f.wire(kind, a, nil))
	b.joins(f.wire(aPipe, nil, nil), true, true)
}

// captured is what a tool of an agent prints to: a pipe that the agent reads, or a file.
func (f *forest) captured(b, a *being) {
	if !f.wired {
		return
	}
	f.reads(b, nil)
	if f.prints(b, nil); f.chance(0.6) {
		f.prints(b, f.wire(aPipe, a, nil))
	}
}

// stranger is a program of a person's that no list knows.
func (f *forest) stranger() *being {
	s := f.fork(f.manager, "meter", "stranger", nil).setsid()
	s.personal = true
	return s
}

// connect says what a job reads and prints to. What else keeps a job without a partner is drawn here too.
func (f *forest) connect(b *being) {
	if !f.wired {
		return
	}
	switch draw := f.Float64(); {
	case draw < 0.45: // job >job.log 2>&1 </dev/null
		f.reads(b, nil)
		f.prints(b, nil)
	case draw < 0.50: // job | tee job.log
		tee := f.fork(b.parent, "tee", "tee of "+b.what, nil)
		f.prints(tee, nil)
		f.prints(b, f.wire(aPipe, nil, nil))
		f.reads(tee, b.out)
	case draw < 0.56: // exec > >(tee job.log)
		f.prints(b, f.wire(choose(f, aPipe, aFIFO, noPath), nil, nil))
		f.reads(f.fork(b, "tee", "tee below "+b.what, nil), b.out)
	case draw < 0.70:
		f.prints(b, f.wire(choose(f, aPipe, aPair, aFIFO), f.stranger(), nil))
	case draw < 0.82:
		f.reads(b, f.wire(choose(f, aPipe, aPair, aFIFO), nil, f.stranger()))
	case draw < 0.87: // job <>control
		f.reads(b, f.wire(choose(f, aFIFO, noPath), nil, b))
	}
	if f.chance(0.3) {
		f.speakBeside(b)
	}
}

// partings has what stands between others end, and people's programs too.
func (f *forest) partings() {
	for _, b := range slices.Clone(f.all) {
		if !b.gone && (b.name == "npm exec @model" && f.chance(0.4) || b.what == "stranger" && f.chance(0.4)) {
			f.end(b)
		}
	}
}

// tree is a living process with all that lives below it.
func (b *being) tree() []*being {
	out := []*being{b}
	for _, c := range b.children {
		if !c.gone {
			out = append(out, c.tree()...)
		}
	}
	return out
}

// others are who has the other ends of what a process reads and prints to, and of what it has beside those.
func (b *being) others() (out []*being) {
	if b.in != nil {
		out = append(out, b.in.writers...)
	}
	if b.out != nil {
		out = append(out, b.out.readers...)
	}
	for _, w := range b.beside {
		out = append(out, w.across(b)...)
	}
	return out
}

// across are who has the other side of a wire. Who only shows a terminal has none.
func (w *wire) across(b *being) (out []*being) {
	if slices.Contains(w.readers, b) {
		out = append(out, w.writers...)
	}
	if slices.Contains(w.writers, b) {
		out = append(out, w.readers...)
	}
	if w.kind == aPty && slices.Contains(w.readers, b) {
		out = slices.DeleteFunc(out, func(o *being) bool { return o.name == "tmux: server" })
	}
	return out
}

// open reports whether a process that has no end of a wire yet may get one by a path, and speak with one that has.
func (w *wire) open(b *being) bool {
	reads, writes := slices.Contains(w.readers, b), slices.Contains(w.writers, b)
	switch w.kind {
	case aFIFO:
		return reads && len(w.writers) > 0 || writes && len(w.readers) > 0
	case aPty:
		return writes && len(w.readers) == 0
	}
	return false
}

// facts are what a look tells of who speaks with a process, which it asks of what was handed over and of all below that.
func (f *forest) facts(b *being, p *snapshot.Process) {
	if p.InputEnded, p.OutputRead, p.Peers = nil, nil, nil; !b.strayed() {
		return
	}
	own := b.tree()
	outside := func(list []*being) (pids []int) {
		for _, o := range list {
			if !slices.Contains(own, o) {
				pids = append(pids, o.pid)
			}
		}
		return pids
	}
	peers := append([]int{}, outside(b.others())...)
	slices.Sort(peers)
	known := true
	if w := b.in; w != nil {
		if fifo := w.kind == aFIFO || w.kind == noPath; !fifo || len(w.writers) > 0 {
			p.InputEnded = new(len(w.writers) == 0)
		}
		known = w.kind != aFIFO || len(w.writers) == 0 || len(outside(w.writers)) > 0
	}
	p.OutputRead = new(b.out != nil && len(outside(b.out.readers)) > 0)
	if w := b.out; w != nil && w.kind == aFIFO && len(w.readers) > 0 && !*p.OutputRead {
		p.OutputRead, known = nil, false
	}
	for _, w := range b.beside {
		known = known && (!w.open(b) || len(outside(w.across(b))) > 0)
	}
	if known || len(peers) > 0 {
		p.Peers = new(slices.Compact(peers))
	}
}

// strayed reports whether a process, or one above it, was handed over.
func (b *being) strayed() bool { return b.handed || b.parent != nil && b.parent.strayed() }

// used is the truth: whether somebody who is not left over himself can speak with a process, or with what would end with it, also through others
// that are left over, or may come by the path of a FIFO.
func (b *being) used() bool {
	seen := b.tree()
	for i := 0; i < len(seen); i++ {
		if w := seen[i].in; w != nil && w.kind == aFIFO && len(w.writers) > 0 {
			return true
		}
		if w := seen[i].out; w != nil && w.kind == aFIFO && len(w.readers) > 0 {
			return true
		}
		if slices.ContainsFunc(seen[i].beside, func(w *wire) bool { return w.open(seen[i]) }) {
			return true
		}
		for _, o := range seen[i].others() {
			if slices.Contains(seen, o) {
				continue
			}
			if !o.dead() {
				return true
			}
			seen = append(seen, o.tree()...)
		}
	}
	return false
}

// spoken reports whether anybody at all outside of its tree can.
func (b *being) spoken() bool {
	own := b.tree()
	return slices.ContainsFunc(own, func(x *being) bool {
		return slices.ContainsFunc(x.others(), func(o *being) bool { return !slices.Contains(own, o) })
	})
}

// dead reports whether a process is left over of an agent that is gone.
func (b *being) dead() bool {
	mine := b.mine()
	return b.strayed() && mine != nil && mine.gone && b.vendor == "" && !b.personal
}

// reapedOf are the processes that a look would end.
func reapedOf(t *testing.T, e *eval.Engine, s *snapshot.Snapshot, c *subject.Config) map[string]bool {
	t.Helper()
	sighted(s, c)
	r, err := e.Decide(t.Context(), s, c)
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	out := map[string]bool{}
	for _, d := range r.Decisions {
		out[d.ID] = d.Verdict == decision.Reap
	}
	return out
}

// TestNothingThatIsSpokenWithGoes grows machines of chance where it is known who speaks with whom. Nothing goes that somebody can speak with, also where
// facts are missing. Of what goes where no process speaks with another, and which has no partner, nearly all goes.
func TestNothingThatIsSpokenWithGoes(t *testing.T) {
	if attack.Raced {
		t.Skip("thousands of machines are decided, which takes minutes under the race detector; .ci/run runs it without")
	}
	t.Parallel()
	e, config := shipped(t), configOf(t, Case{})
	forests := stage.Trials(60, 1000)
	var wanted, found, amongSelves, used int
	for seed := range uint64(forests) {
		f := newForest(seed+50000, config)
		f.wired = true
		f.history()
		f.partings()
		missing := choose(f, 0, 0, 0, 0.02, 0.2)
		went := reapedOf(t, e, f.look(missing), config)
		var alone map[string]bool
		if missing == 0 {
			s := f.look(0)
			for _, p := range s.Processes {
				p.InputEnded, p.OutputRead, p.Peers = nil, new(false), &[]int{}
			}
			alone = reapedOf(t, e, s, config)
		}
		for _, b := range f.all {
			id := snapshot.ProcessID(b.pid, b.ticks)
			switch {
			case b.gone:
			case b.used():
				if alone[id] {
					used++
				}
				if went[id] {
					t.Errorf("forest %d: pid %d (%s), %s, goes, and is spoken with", seed, b.pid, b.name, b.what)
				}
			case went[id] && !b.dead():
				t.Errorf("forest %d: pid %d (%s), %s, goes, and is not left over", seed, b.pid, b.name, b.what)
			case alone[id]:
				wanted++
				if went[id] {
					found++
				} else if b.spoken() {
					amongSelves++
				} else {
					t.Errorf("forest %d: pid %d (%s), %s, stays, and nobody speaks with it", seed, b.pid, b.name, b.what)
				}
			}
		}
	}
	share := float64(found) / float64(max(1, wanted))
	figures.Logf(t, "%d forests: %d would go and are spoken with; %.1f %% of %d that are dead go, %d stay since dead ones speak with one another", forests, used, 100*share, wanted, amongSelves)
	if used < forests/10 || share < least(0.9) {
		t.Error("too few were in use, or too few of the dead are found")
	}
}
