package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Space is what a sweep means for the disk, in bytes.
type Space struct {
	// Proposed is what the folders take up that would go, as far as it was measured.
	Proposed int64 `json:"proposed_bytes"`
	// Trash is what lies in the trash now, and Unknown counts what lies there and could not be measured.
	Trash int64 `json:"trash_bytes"`
	// For is how long the trash keeps what goes into it, in seconds (act.trash_ttl).
	For     float64 `json:"trash_seconds,omitempty"`
	Unknown int     `json:"trash_unknown,omitempty"`
	// FreedNow is what was removed for good by this very sweep: nothing else is free now.
	FreedNow int64 `json:"freed_now"`
	// ComesFree says when what lies in the trash comes free, the earliest first, a line a day.
	ComesFree []ComesFree `json:"comes_free"`
}

// ComesFree is how much comes free at a time.
type ComesFree struct {
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
}

// Lying is a thing in the trash.
type Lying struct {
	Until time.Time
	Bytes int64
	Known bool
}

// Weigh sums up what the decisions, the purges and the trash, which keeps things for ttl, mean for the disk.
func (r *Report) Weigh(trash []Lying, ttl time.Duration) {
	s := &Space{For: ttl.Seconds(), ComesFree: []ComesFree{}}
	for _, d := range r.Decisions {
		if d.Verdict == decision.Reap && d.Size != nil {
			s.Proposed += d.Size.Bytes - d.Size.Shared
		}
	}
	for _, p := range r.Purged {
		s.FreedNow += p.Bytes
	}
	slices.SortStableFunc(trash, func(a, b Lying) int { return a.Until.Compare(b.Until) })
	for _, l := range trash {
		if !l.Known {
			s.Unknown++
			continue
		}
		s.Trash += l.Bytes
		if last := len(s.ComesFree) - 1; last >= 0 && day(s.ComesFree[last].At) == day(l.Until) {
			s.ComesFree[last].Bytes += l.Bytes
			s.ComesFree[last].At = l.Until
			continue
		}
		s.ComesFree = append(s.ComesFree, ComesFree{At: l.Until, Bytes: l.Bytes})
	}
	r.Space = s
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Frees says what comes free with a folder, "" where that was not measured.
func Frees(z *decision.Size) string {
	if z == nil || z.Bytes == 0 {
		return ""
	}
	out := "frees " + text.Size(z.Bytes-z.Shared)
	if !z.Complete {
		out = "frees at least " + text.Size(z.Bytes-z.Shared)
	}
	if z.Rebuildable > 0 && z.In != "" && z.Rebuildable < z.Bytes {
		out += fmt.Sprintf(", %s of it in %s", text.Size(z.Rebuildable), z.In)
	}
	return out
}

// Lines are what a person wants to know of the space: what would come free, what is free now, and what comes free when.
func (s *Space) Lines(mode string) (lines []string) {
	if s == nil {
		return nil
	}
	if mode != Apply && s.Proposed > 0 {
		said := "would free " + text.Size(s.Proposed) + ": it goes into the trash first"
		if s.For > 0 {
			said += fmt.Sprintf(", and comes free %s later, or at once with winnow trash empty", text.Span(config.Seconds(s.For)))
		}
		lines = append(lines, said)
	}
	if s.FreedNow > 0 {
		lines = append(lines, text.Size(s.FreedNow)+" are free now")
	}
	if s.Trash == 0 {
		return lines
	}
	if mode == Apply && s.FreedNow == 0 {
		lines = append(lines, "nothing is free yet")
	}
	const most = 3
	var when []string
	for i, c := range s.ComesFree {
		if i == most {
			when = append(when, "the rest until "+text.Day(s.ComesFree[len(s.ComesFree)-1].At))
			break
		}
		when = append(when, fmt.Sprintf("%s on %s", text.Size(c.Bytes), text.Day(c.At)))
	}
	more := ""
	if s.Unknown > 0 {
		more = fmt.Sprintf(" and %s of unknown size", text.Plural(s.Unknown, "thing"))
	}
	said := "free: " + strings.Join(when, ", ") + "; all of it"
	if len(s.ComesFree) == 1 {
		said = "free on " + text.Day(s.ComesFree[0].At) + ", or"
	}
	return append(lines, fmt.Sprintf("%s%s in the trash; %s now with winnow trash empty", text.Size(s.Trash), more, said))
}

// withSize adds what comes free to why a folder goes.
func withSize(why string, d decision.Decision) string {
	if frees := Frees(d.Size); frees != "" && rank(d) == rankReap {
		return why + "; " + frees
	}
	return why
}

func (p page) spaceText(w io.Writer, r *Report) {
	lines := r.Space.Lines(r.Mode)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("space"))
	for _, l := range lines {
		p.Indented(w, 2, text.Clean(l))
	}
}
