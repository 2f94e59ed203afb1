package processes

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// How often processes are looked at whose first thread has ended, and how long apart at first; the time between doubles, 315 ms in all. On a busy machine
// the other threads of a program that ends wait for a processor.
const (
	endings  = 7
	endsSoon = 5 * time.Millisecond
)

// doubt is a process whose first thread is ending while others may live on. Refused is whether it refused something, which counts where it lives.
type doubt struct {
	*record
	refused bool
}

// ending notes of a process that has given back its memory, and with it what it was started from, that it is ending: it hides nothing. What it refused
// does not count then. Hides is whether it does not show what it was started from.
func (s *scan) ending(dir int, st proc.Stat, r *record, hides, refused bool) {
	suspect := hides && !st.Ended() || refused
	if suspect && !st.Gone() {
		var err error
		if st, err = s.Stat(dir); err != nil {
			r.ended()
			return
		}
	}
	switch {
	case st.Gone():
		r.ended()
	case st.Exiting && suspect:
		s.doubts = append(s.doubts, doubt{r, refused})
	case refused:
		s.unreadable++
	}
}

// ended says that the process was ending when it was read. A zombie with threads was the first thread of one whose others were still to end.
func (r *record) ended() {
	if r.Exe == nil && (r.State != "Z" || r.Threads != nil && *r.Threads > 1) {
		r.State = "X"
	}
}

// settle finds out which of the processes in doubt are ending. The first thread of a program may have given everything back before the others
// do: these are waited for, all at once. Where they stay, the program lives without its first thread.
func (s *scan) settle(ctx context.Context) {
	for i, rest := 0, endsSoon; ; i, rest = i+1, 2*rest {
		var left []doubt
		for _, d := range s.doubts {
			switch st, _, err := s.StatOf(s.root, d.PID); {
			case err != nil, st.Start != d.StartTicks, st.Gone():
				d.ended()
			case st.Exiting:
				left = append(left, d)
			case d.refused:
				s.unreadable++
			}
		}
		if s.doubts = left; len(left) == 0 {
			return
		}
		if i == endings-1 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
	for _, d := range s.doubts {
		if d.refused {
			s.unreadable++
		}
	}
	s.doubts = nil
}
