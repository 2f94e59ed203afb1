package subject

import "github.com/winnow-reaper/winnow/engine/snapshot"

// work sums up what the processes below one have done, or one and all below it.
type work struct {
	cpu      float64
	written  int64
	youngest uint64
	running  bool
	// Something of it is not known.
	noCPU, noWritten, noState bool
}

// add counts a process and what is below it. One that has ended and was not waited for yet cannot write, and its counters may be missing.
func (w *work) add(n *node, below *work) {
	p := n.p
	w.cpu, w.written = w.cpu+below.cpu, w.written+below.written
	w.youngest = max(w.youngest, below.youngest, p.StartTicks)
	w.running = w.running || below.running || p.State == "R" || p.State == "D"
	w.noCPU = w.noCPU || below.noCPU || p.CPU == nil
	w.noWritten = w.noWritten || below.noWritten || p.Written == nil && !dead(p)
	w.noState = w.noState || below.noState || p.State == ""
	if p.CPU != nil {
		w.cpu += *p.CPU
	}
	if p.Written != nil {
		w.written += *p.Written
	}
}

// Work is the measure of what a process and all below it have done so far, with what is known of it; nil for all other candidates, and
// where it is not known what is below it.
func (j *Index) Work(id string) *snapshot.Work {
	measure, _ := j.procs.work(id)
	return measure
}

// work is the measure with the sum that it comes from.
func (x *processes) work(id string) (*snapshot.Work, work) {
	i, ok := x.byID(id)
	if !ok || !x.whole || x.strays || !x.summary(i).known {
		return nil, work{}
	}
	b := x.summary(i)
	var sum work
	sum.add(&x.nodes[i], &b.work)
	out := &snapshot.Work{Below: new(b.count), Youngest: new(b.work.youngest)}
	if !sum.noCPU {
		out.CPU = &sum.cpu
	}
	if !sum.noWritten {
		out.Written = &sum.written
	}
	return out, sum
}

// fillWork says what a process and all below it have done since the measure that a sighting remembers, and for how long they have
// done nothing to speak of. What is not known of that leaves Idle out.
func (j *Index) fillWork(out *Sighting, id string, before *snapshot.Sighting) {
	now, sum := j.procs.work(id)
	then, passed := before.Work, j.since(before.IdleSince)
	if now == nil || then == nil || passed == nil || *passed <= 0 || before.IdleSince.IsZero() {
		return
	}
	if now.CPU != nil && then.CPU != nil {
		out.CPU = new(Processors((*now.CPU - *then.CPU) / *passed))
	}
	if now.Written != nil && then.Written != nil {
		out.Written = new(float64(*now.Written-*then.Written) / *passed)
	}
	if then.Below != nil && then.Youngest != nil {
		out.Changed = new(*now.Below != *then.Below || *now.Youngest != *then.Youngest)
	}
	if out.CPU == nil || out.Written == nil || out.Changed == nil || sum.noState {
		return
	}
	// What goes back was another process's: a count of one that has left the tree.
	c := j.config.Busy
	idle := !*out.Changed && !sum.running && *out.CPU >= 0 && *out.CPU <= c.CPU && *out.Written >= 0 && *out.Written <= float64(c.Written)
	out.Idle = new(0.0)
	if idle {
		out.Idle = passed
	}
}
