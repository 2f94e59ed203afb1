package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Holds lists what is held.
func (p Paint) Holds(w io.Writer, holds []snapshot.Hold) {
	if len(holds) == 0 {
		fmt.Fprintln(w, "nothing is held; winnow retain ID --reason TEXT holds something")
	}
	var rows []text.Row
	for _, h := range holds {
		until := "no end"
		if h.Until != nil {
			until = "until " + text.Time(*h.Until)
			if h.Until.Before(time.Now()) {
				until = "ended on " + text.Time(*h.Until)
			}
		}
		rows = append(rows, text.Row{Lead: "held", Color: p.Yellow, Label: h.ID, Text: fmt.Sprintf("%s, by %s: %s", until, h.Owner, h.Reason)})
	}
	p.Rows(w, rows...)
}

// Held says that something is held.
func Held(h snapshot.Hold) string {
	return text.Clean(h.ID) + " is held " + until(h.Until, "it is released")
}

// Released says that something is no longer held, and what that means.
func Released(r document.Released) string {
	then := "the next sweep decides about it again"
	if r.Retained != "" {
		then = strings.TrimSuffix("its registry still marks it as retained: "+r.NextCommand, ": ")
	}
	return text.Clean(strings.Join(append([]string{r.Released}, r.Also...), ", ")) + " is no longer held; " + text.Clean(then)
}

// Paused says until when no act begins, and by which file where that is known.
func Paused(p lock.Pause, file string) string {
	out := "paused " + until(p.Until, "winnow resume")
	if file != "" {
		out += ", by " + text.Clean(file)
	}
	return out
}

// Resumed says whether a pause was ended.
func Resumed(r document.Resumed) string {
	if !r.Resumed {
		return "nothing was paused"
	}
	return "resumed: sweeps may act again"
}

// until says when something ends: at a time, or else by an event.
func until(at *time.Time, event string) string {
	if at == nil {
		return "until " + event
	}
	return "until " + text.Time(*at)
}

// ReleasedBrakes says which brakes were released.
func ReleasedBrakes(w io.Writer, released []brakes.Brake) {
	if len(released) == 0 {
		fmt.Fprintln(w, "no brake held; nothing was released")
		return
	}
	fmt.Fprintf(w, "released %s: the daemon may act again at its next sweep\n", text.Plural(len(released), "brake"))
}

// Brakes lists the brakes that hold.
func (p Paint) Brakes(w io.Writer, all []brakes.Brake) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no brake holds")
		return
	}
	p.Rows(w, text.Map(all, func(b brakes.Brake) text.Row {
		return text.Row{Lead: "brake", Color: p.Red, Label: b.Rule, Text: text.Time(b.At) + ": " + b.Message}
	})...)
	fmt.Fprintln(w, "winnow brakes release lets the daemon act again")
}
