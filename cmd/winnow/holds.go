package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"winnow/engine/ledger"
	"winnow/engine/snapshot"
)

func newRetain(a *app) *cobra.Command {
	var reason string
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "retain ID --reason TEXT",
		Short: "Hold a candidate, so that nothing may reap it",
		Long: `Retain places a hold on a tab, a session, a process or a folder. Nothing reaps it until the hold is released or its time is over.
ID is as sweep --all prints it, such as session:tmux/default/$4 or dir:/home/me/wt/a; it may be shortened while it is unambiguous.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason is missing: say why it must stay, for whoever reads winnow holds later")
			}
			if span < 0 || cmd.Flags().Changed("for") && span == 0 {
				return usagef("--for %s holds nothing: give a time from now on such as 48h, or leave it out for a hold without an end", span)
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
	full, err := findID(s, id)
	if err != nil {
		return err
	}
	l, err := ledger.Open(a.ledgerPath())
	if err != nil {
		return fmt.Errorf("%w; nothing was held", err)
	}
	defer l.Close()
	h := snapshot.Hold{ID: full, Owner: owner(), Reason: reason, Since: time.Now().UTC()}
	until := "until it is released"
	if span > 0 {
		t := h.Since.Add(span)
		h.Until, until = &t, "until "+t.Local().Format(time.DateTime)
	}
	if err := l.Hold(ctx, h); err != nil {
		return fmt.Errorf("hold %s: %w; nothing was held", full, err)
	}
	return a.say(h, "%s is held %s", clean(full), until)
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
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			l, err := ledger.Open(a.ledgerPath())
			if err != nil {
				return fmt.Errorf("%w; nothing was released", err)
			}
			defer l.Close()
			holds, err := l.Holds(cmd.Context())
			if err != nil {
				return fmt.Errorf("read holds: %w; nothing was released", err)
			}
			var known []string
			for _, h := range holds {
				known = append(known, h.ID)
			}
			id, err := pick(ids[0], known, "hold")
			if err != nil {
				return err
			}
			if _, err := l.Release(cmd.Context(), id, ""); err != nil {
				return fmt.Errorf("release %s: %w", id, err)
			}
			return a.say(map[string]string{"released": id}, "%s is no longer held; the next sweep decides about it again", clean(id))
		},
	}
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
				for _, h := range holds {
					until := "no end"
					if h.Until != nil {
						until = "until " + h.Until.Local().Format(time.DateTime)
						if h.Until.Before(time.Now()) {
							until = "over since " + h.Until.Local().Format(time.DateTime)
						}
					}
					a.paint.row(w, "held", a.paint.yellow, h.ID, fmt.Sprintf("%s, by %s: %s", until, h.Owner, h.Reason), maxLabel)
				}
			})
		},
	}
}

// readLedger opens the ledger without writing; one that does not exist yet is as good as empty.
func (a *app) readLedger(read func(*ledger.Ledger) error) error {
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
	for id := range s.Tabs {
		out = append(out, id)
	}
	for id := range s.Sessions {
		out = append(out, id)
	}
	for id := range s.Terminals {
		out = append(out, id)
	}
	for id := range s.Dirs {
		out = append(out, id)
	}
	for id := range s.Processes {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// idsOf lists the candidates that people call name.
func idsOf(s *snapshot.Snapshot, name string) []string {
	var out []string
	for id, x := range s.Sessions {
		if x.Name == name {
			out = append(out, id)
		}
	}
	for id, x := range s.Dirs {
		if x.Name == name {
			out = append(out, id)
		}
	}
	for id, x := range s.Processes {
		if x.Name == name || strconv.Itoa(x.PID) == name {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// findID completes a shortened id among the candidates of a snapshot.
func findID(s *snapshot.Snapshot, id string) (string, error) {
	full, err := pick(id, ids(s), "candidate")
	if err != nil {
		if byName := idsOf(s, id); len(byName) == 1 {
			return byName[0], nil
		} else if len(byName) > 1 {
			return "", usagef("%q is ambiguous: it is the name of %s", id, strings.Join(firstOf(byName, 5), ", "))
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
			return "", usagef("%q is ambiguous: it fits %s; give more of it", id, strings.Join(firstOf(found, 5), ", "))
		}
	}
	if len(known) == 0 {
		return "", usagef("there is no %s %q: there is none at all", what, id)
	}
	if near := nearest(id, known); levenshtein.ComputeDistance(id, near) <= max(2, len(id)/2) {
		return "", usagef("there is no %s %q; the nearest is %s", what, id, near)
	}
	return "", usagef("there is no %s %q among the %d", what, id, len(known))
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}
