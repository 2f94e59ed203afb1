package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/sys/duration"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newTrash(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trash",
		Short: "List what can be brought back, how large it is, and until when",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.Trash(cmd.Context())
			if err != nil {
				a.Note("%v; what follows is what the manifests in the trash say", err)
			}
			return errors.Join(err, list(a, "acts", all, nil, func(w io.Writer) { a.paint.Trash(w, all) }))
		},
	}
	cmd.AddCommand(newTrashEmpty(a))
	return cmd
}

func newTrashEmpty(a *app) *cobra.Command {
	var older string
	var yes bool
	cmd := &cobra.Command{
		Use:   "empty",
		Short: "Remove for good what was set aside",
		Long: `Empty removes what lies in the trash for good, before its time: nothing brings it back. What a process uses, and what was changed since it
was set aside, stays, and is named. On a terminal it asks first; everywhere else it wants --yes.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emptyTrash(cmd.Context(), older, yes) },
	}
	cmd.Flags().StringVar(&older, "older", "", "only what was set aside at least so long ago, such as 1d or 12h")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) emptyTrash(ctx context.Context, older string, yes bool) error {
	var least time.Duration
	if older != "" {
		var err error
		if least, err = duration.Parse(older); err != nil || least < 0 {
			return config.Usagef("--older: %q is no duration: write 12h or 1d; nothing was removed", older)
		}
	}
	there := 0
	out, younger, err := a.EmptyTrash(ctx, least, func(all []document.SetAside) error {
		if there = len(all); there == 0 || yes {
			return nil
		}
		return a.consent(all)
	})
	err = a.show(out, err, "  ", func(w io.Writer) {
		switch {
		case there > 0:
			a.paint.Emptied(w, out)
		case younger > 0:
			fmt.Fprintf(w, "nothing was removed: %s in the trash, younger than %s\n", text.Plural(younger, "act"), text.Span(least))
		default:
			fmt.Fprintln(w, "nothing was removed: the trash is empty")
		}
	})
	if err == nil && len(out.Left) > 0 {
		return exit.Error{Code: exit.Part}
	}
	return err
}

// consent asks a person at a terminal; anywhere else it refuses.
func (a *app) consent(all []document.SetAside) error {
	if a.json() || !term.IsTerminal(os.Stdin.Fd()) {
		return config.Usagef("%s would be removed for good, and nothing brings it back: say --yes if that is right; nothing was removed", render.TrashTotal(all))
	}
	a.paint.Trash(a.errOut, all)
	fmt.Fprintf(a.errOut, "remove %s for good? [y/N] ", render.TrashTotal(all))
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the answer: %w; nothing was removed", err)
		}
		return exit.Error{Code: exit.Failed, Err: errors.New("nothing was removed")}
	}
	return nil
}
