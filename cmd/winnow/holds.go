package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"winnow/cmd/winnow/config"
	"winnow/cmd/winnow/text"
	"winnow/engine/snapshot"
	"winnow/engine/worker"
	"winnow/internal/herdr"
	"winnow/ledger"
)

func newRetain(a *app) *cobra.Command {
	var reason string
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "retain ID --reason TEXT",
		Short: "Hold a candidate, so that nothing may reap it",
		Long: `Retain places a hold on a tab, a session, a process or a folder. Nothing reaps it until the hold is released or its time has passed.
ID is as sweep --all prints it, such as session:tmux/default/$4 or dir:/home/me/wt/a; it may be shortened while it is unambiguous. It may
also be a worker's id in its registry. A session that a registry records is only held when its worker has ended and the session lives.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if strings.TrimSpace(reason) == "" {
				return config.Mistakef("--reason is missing: say why it must stay, for the reader of winnow holds")
			}
			if span < 0 || cmd.Flags().Changed("for") && span == 0 {
				return config.Mistakef("--for %s holds nothing: give a time from now on such as 48h, or leave it out for a hold without an end", span)
			}
			return a.retain(cmd.Context(), ids[0], reason, span)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it must stay")
	cmd.Flags().DurationVar(&span, "for", 0, "how long; without it until it is released")
	return cmd
}

func (a *app) retain(ctx context.Context, id, reason string, span time.Duration) error {
	s, err := a.look(ctx, scope{}, a.recall(ctx))
	if err != nil {
		return err
	}
	t, no, err := a.find(s, id)
	if err != nil {
		return err
	}
	if no == nil {
		no = t.keepable(s)
	}
	if no != nil {
		return a.refuse(*no)
	}
	if err := a.trustState(); err != nil {
		return err
	}
	l, err := ledger.Open(a.ledgerPath())
	if err != nil {
		return fmt.Errorf("%w; nothing was held", err)
	}
	defer l.Close()
	h := snapshot.Hold{ID: t.id, Owner: owner(), Reason: reason, Since: time.Now().UTC()}
	if own := t.own(); own != nil {
		h.Reason += mark(own.Source, own.ID)
	}
	until := "until it is released"
	if span > 0 {
		t := h.Since.Add(span)
		h.Until, until = &t, "until "+t.Local().Format(time.DateTime)
	}
	if err := l.Hold(ctx, h); err != nil {
		return fmt.Errorf("hold %s: %w; nothing was held", h.ID, err)
	}
	return a.say(h, "%s is held %s", h.ID, until)
}

// mark is what stands behind the reason of a hold on a worker's session, so that the hold is found by the worker's id even when
// the session is closed.
func mark(source, id string) string { return " (worker " + id + " of " + source + ")" }

// own is the worker whose session it is: the one that was named, else the first that records it.
func (t asked) own() *worker.Seen {
	if t.worker != nil {
		return t.worker
	}
	for i := range t.records {
		if !t.records[i].Another {
			return &t.records[i]
		}
	}
	return nil
}

// keepable says why it may not be held. A session that a registry records is only kept when its worker has ended, the session is
// recorded and lives right now: before, it is nobody's to keep, and after, there is nothing to keep. All else can be held at any time.
func (t asked) keepable(s *snapshot.Snapshot) *Refused {
	if !t.session() {
		return nil
	}
	if blind := unreadOf(s, "registry"); blind != "" {
		return t.refused(t.worker, unreadable, nothingHeld+". While it cannot be read, nothing that rests on it is reaped", "winnow doctor",
			"%s could not be read, so whether a worker that has not ended owns the session is not known", blind)
	}
	for i := range t.records {
		w := &t.records[i]
		switch {
		case t.worker == nil && w.Another: // it is no worker's any more
		case !w.Over:
			return t.refused(w, notTerminal, nothingHeld, w.NextCommand, "%s has not ended: its registry says %s", called(w), cmp.Or(w.Status, "nothing of its status"))
		case w.Name == "":
			return t.refused(w, noSession, nothingHeld, w.NextCommand, "no session is recorded of %s", called(w))
		case t.worker != nil && w.Unread:
			return t.refused(w, unreadable, nothingHeld, w.NextCommand, "whether the session of %s lives is not known: %s", called(w), w.Why)
		case len(w.Live) == 0 || t.worker != nil && w.Another:
			return t.refused(w, notLive, nothingHeld, w.NextCommand, "the session of %s does not live: %s", called(w), w.Why)
		case t.id == "":
			return t.refused(w, ambiguous, nothingHeld, w.NextCommand, "which session is that of %s is not known: %s", called(w), w.Why)
		}
	}
	return nil
}

// owner is who places a hold.
func owner() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func newRelease(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "Lift a hold; ends nothing by itself",
		Long: `Release lifts the hold on ID, which is as winnow holds prints it, a part of that, or the id of a worker. It ends nothing.
What a registry itself marks as retained stays so: only its own program can let go of that.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error { return a.release(cmd.Context(), ids[0]) },
	}
}

// Released is what winnow release prints as JSON.
type Released struct {
	Released string `json:"released"`
	// Also are other holds of the same worker, on sessions that it had before.
	Also []string `json:"also,omitempty"`
	// Retained is the registry that still keeps it, and NextCommand the command that lets go of it there.
	Retained    string `json:"retained,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

func (a *app) release(ctx context.Context, arg string) error {
	if err := a.trustState(); err != nil {
		return err
	}
	l, err := ledger.Open(a.ledgerPath())
	if err != nil {
		return fmt.Errorf("%w; nothing was released", err)
	}
	defer l.Close()
	holds, err := l.Holds(ctx)
	if err != nil {
		return fmt.Errorf("read holds: %w; nothing was released", err)
	}
	s, err := a.look(ctx, scope{}, remember(ctx, a.ledgerPath(), l))
	if err != nil {
		return err
	}
	t, _, notFound := a.find(s, arg)
	held, err := heldBy(holds, t, arg)
	keeper := t.keeper()
	switch {
	case err != nil && notFound == nil && keeper != nil:
		return a.refuse(*t.refused(keeper, keptThere, nothingFreed, worker.ReleaseCommand(keeper),
			"Winnow holds nothing of it: %s itself marks it as retained, and only its own program can let go of that", called(keeper)))
	case err != nil:
		return err
	}
	for _, id := range held {
		if _, err := l.Release(ctx, id, ""); err != nil {
			return fmt.Errorf("release %s: %w", id, err)
		}
	}
	out, then := Released{Released: held[0], Also: held[1:]}, "the next sweep decides about it again"
	if keeper != nil {
		out.Retained, out.NextCommand = keeper.Source, worker.ReleaseCommand(keeper)
		then = strings.TrimSuffix("its registry still marks it as retained: "+out.NextCommand, ": ")
	}
	return a.say(out, "%s is no longer held; %s", strings.Join(held, ", "), then)
}

// heldBy are the candidates that are held by what was asked for: the one of that id or name, those held for that worker, or the one
// that a part of an id fits.
func heldBy(holds []snapshot.Hold, t asked, arg string) ([]string, error) {
	var known, own []string
	for _, h := range holds {
		known = append(known, h.ID)
		if w := t.worker; w != nil && (h.ID == t.id || strings.HasSuffix(h.Reason, mark(w.Source, w.ID))) {
			own = append(own, h.ID)
		}
	}
	if slices.Contains(known, arg) {
		return []string{arg}, nil
	}
	if t.worker == nil && slices.Contains(known, t.id) {
		return []string{t.id}, nil
	}
	if t.worker != nil {
		if own = slices.Compact(slices.Sorted(slices.Values(own))); len(own) == 0 {
			return nil, config.Mistakef("nothing of %s is held by Winnow; winnow holds lists what is", called(t.worker))
		}
		return own, nil
	}
	id, err := pick(arg, known, "hold")
	return []string{id}, err
}

// keeper is the worker that its own registry marks as retained.
func (t asked) keeper() *worker.Seen {
	for i := range t.records {
		if t.records[i].Retained {
			return &t.records[i]
		}
	}
	return nil
}

func newHolds(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the holds",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var holds []snapshot.Hold
			err := a.readLedger(func(l *ledger.Ledger) (err error) {
				holds, err = l.Holds(cmd.Context())
				return err
			})
			if err != nil {
				return err
			}
			return list(a, holds, func(w io.Writer) {
				if len(holds) == 0 {
					fmt.Fprintln(w, "nothing is held; winnow retain ID --reason TEXT holds something")
				}
				var rows []text.Row
				for _, h := range holds {
					until := "no end"
					if h.Until != nil {
						until = "until " + h.Until.Local().Format(time.DateTime)
						if h.Until.Before(time.Now()) {
							until = "over since " + h.Until.Local().Format(time.DateTime)
						}
					}
					rows = append(rows, text.Row{Lead: "held", Color: a.paint.Yellow, Label: h.ID, Text: fmt.Sprintf("%s, by %s: %s", until, h.Owner, h.Reason)})
				}
				a.paint.Rows(w, rows...)
			})
		},
	}
}

// readLedger opens the ledger without writing; one that does not exist yet is as good as empty.
func (a *app) readLedger(read func(*ledger.Ledger) error) error {
	if err := a.trustState(); err != nil {
		return err
	}
	l, err := ledger.OpenReadOnly(a.ledgerPath())
	if errors.Is(err, ledger.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	if err := read(l); err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	return nil
}

// ids lists every candidate of a snapshot.
func ids(s *snapshot.Snapshot) []string {
	var out []string
	for _, kind := range snapshot.Kinds {
		out = slices.AppendSeq(out, kind.IDs(s))
	}
	slices.Sort(out)
	return out
}

// idsOf lists the candidates that people call name.
func idsOf(s *snapshot.Snapshot, name string) []string {
	var out []string
	for _, kind := range snapshot.Kinds {
		for id := range kind.IDs(s) {
			if c, _ := kind.Find(s, id); name != "" && c.Name == name || kind.Name == snapshot.KindProcess && c.Native == name {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// What herdr takes for a tab besides its id: 1:t1, w_1:t2, w1:+2, +1:2, 1:p1, and t_1_2, w1-2, p_75.
var (
	byPlace = regexp.MustCompile(`^(w_?)?\+?[0-9A-Z]+:[tp]?\+?[0-9A-Z]+$`)
	older   = regexp.MustCompile(`^(w_?)?\+?[0-9A-Z]+-\+?[0-9]+$|^[tp]_[w_+0-9A-Z]+$`)
)

// positional reports whether what a person gave for a tab is what herdr would take for a position. None such is ever sent, and none is
// completed to a tab's id: 1:t1 is the end of w11:t1 too. What does not say that it is a tab may be a part of a folder's name.
func positional(id string) bool {
	native, tab := strings.CutPrefix(id, snapshot.KindTab+":")
	if tab {
		native = native[strings.LastIndexByte(native, '/')+1:]
	}
	return !herdr.TabID(native) && (byPlace.MatchString(native) || tab && older.MatchString(native))
}

// findID completes a shortened id among the candidates of a snapshot.
func findID(s *snapshot.Snapshot, id string) (string, error) {
	if positional(id) {
		return "", config.Mistakef("%q is no tab's id: herdr takes such a one for a position, which is another tab's after a close; give the id as winnow shows it, such as w1:t3", id)
	}
	full, err := pick(id, ids(s), "candidate")
	if err != nil {
		if byName := idsOf(s, id); len(byName) == 1 {
			return byName[0], nil
		} else if len(byName) > 1 {
			return "", config.Mistakef("%q is ambiguous: it is the name of %s", id, strings.Join(firstOf(byName, 5), ", "))
		}
		var failed []string
		for name, src := range s.Sources {
			if src.Status == snapshot.Failed {
				failed = append(failed, name)
			}
		}
		if len(failed) > 0 {
			slices.Sort(failed)
			return "", fmt.Errorf("%w (these could not be read: %s)", err, strings.Join(failed, ", "))
		}
	}
	return full, err
}

// pick completes a shortened name: the whole of it, else its only extension, else the only name that holds it.
func pick(id string, known []string, what string) (string, error) {
	if slices.Contains(known, id) {
		return id, nil
	}
	for _, fits := range []func(string) bool{
		func(k string) bool { return strings.HasPrefix(k, id) },
		func(k string) bool { return strings.HasSuffix(k, id) },
		func(k string) bool { return strings.Contains(k, id) },
	} {
		var found []string
		for _, k := range known {
			if fits(k) {
				found = append(found, k)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return "", config.Mistakef("%q is ambiguous: it fits %s; give more of it", id, strings.Join(firstOf(found, 5), ", "))
		}
	}
	if len(known) == 0 {
		return "", config.Mistakef("there is no %s %q, nor any other", what, id)
	}
	if near := text.Nearest(id, known); levenshtein.ComputeDistance(id, near) <= max(2, len(id)/2) {
		return "", config.Mistakef("there is no %s %q; the nearest is %s", what, id, near)
	}
	return "", config.Mistakef("there is no %s %q among the %d", what, id, len(known))
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}
