package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// levels and logForms are the values of --log-level and --log-format.
var (
	levels   = []string{"trace", "debug", "info", "warn", "error", "off"}
	logForms = []string{"text", "json"}
)

// complete gives a shell the values of flags, and ids for the commands that take one. Ids come from the ledger: a look at the world takes
// longer than a person who presses Tab waits.
func (a *app) complete(root *cobra.Command) {
	values := map[string][]string{"format": report.Formats, "log-level": levels, "log-format": logForms, "color": text.Colors}
	for name, words := range values {
		must(root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
	}
	for _, c := range root.Commands() {
		if c.Flags().Lookup("kind") != nil {
			must(c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(snapshot.KindNames(), cobra.ShellCompDirectiveNoFileComp)))
		}
		switch c.Name() {
		case "explain", "retain", "cleanup", "why-alive":
			c.ValidArgsFunction = a.idsFor(lastDecided)
		case "release":
			c.ValidArgsFunction = a.idsFor(a.held)
		case "restore":
			c.ValidArgsFunction = a.idsFor(restorable)
		}
	}
}

// must is for what only a mistake in this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completeWithin is how long a completion may take.
const completeWithin = 2 * time.Second

// idsFor completes ids that the ledger knows, with a word for people beside each where the shell shows it. Where the ledger or the
// configuration cannot be read there is no completion.
func (a *app) idsFor(known func(context.Context, *ledger.Ledger) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(given) > 0 && cmd.Name() != "restore" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		a.Log = hclog.NewNullLogger()
		cfg, err := config.Load(a.flags.config, os.Environ())
		if err != nil || envFlags(cmd.Flags()) != nil || a.override(cfg) != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		a.Cfg = cfg
		var out []cobra.Completion
		if err := a.ReadLedger(func(l *ledger.Ledger) (err error) {
			out, err = known(ctx, l)
			return err
		}); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		listed := strings.Join(out, "\n")
		for i, c := range out { // a folder's name stands for its id, where it is the only one of that name and no id was begun
			id, words, _ := strings.Cut(c, "\t")
			if name := filepath.Base(id); !strings.ContainsAny(begun, "/:") && strings.HasPrefix(id, "dir:") && strings.Count(listed, "/"+name+"\t") == 1 {
				out[i] = cobra.CompletionWithDesc(name, words)
			}
		}
		out = slices.DeleteFunc(out, func(c cobra.Completion) bool {
			id, _, _ := strings.Cut(c, "\t")
			return slices.Contains(given, id) || !strings.Contains(id, begun) || text.Clean(id) != id // a shell would get another name than the thing has
		})
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// anywhere changes what cobra writes for shells so that they take a completion too that has in it, and not before it, what was typed: bash only
// where there is one, since it replaces what was typed by what several begin with. fish does so by itself.
var anywhere = strings.NewReplacer(
	`[[ $comp == "$cur"* ]] || continue`, `[[ $comp == "$cur"* || ${#completions[@]} == 1 && $comp == *"$cur"* ]] || continue`,
	`"completions" completions $flagPrefix`, `"completions" completions -M "'l:|=* r:|=*'" $flagPrefix`)

// shellScript writes a script for a shell.
type shellScript struct{ io.Writer }

func (s shellScript) Write(script []byte) (int, error) {
	_, err := anywhere.WriteString(s.Writer, string(script))
	return len(script), err
}

// lastDecided are the candidates of the last sweep that decided anything.
func lastDecided(ctx context.Context, l *ledger.Ledger) ([]cobra.Completion, error) {
	sweeps, err := l.Sweeps(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, s := range sweeps[:min(20, len(sweeps))] { // the latest first
		ds, err := l.Decisions(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		var out []cobra.Completion
		for _, d := range ds {
			out = append(out, described(d.ID, d.Verdict+" "+d.Label))
			if kind, _ := snapshot.KindOf(d.ID); kind.Name == snapshot.KindSession && d.Label != "" {
				out[len(out)-1] = described(d.Label, d.Verdict+" "+d.ID)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

func (a *app) held(ctx context.Context, l *ledger.Ledger) ([]cobra.Completion, error) {
	holds, err := a.Holds(ctx, l)
	return text.Map(holds, func(h snapshot.Hold) cobra.Completion { return described(h.ID, h.Reason) }), err
}

func restorable(ctx context.Context, l *ledger.Ledger) ([]cobra.Completion, error) {
	acts, err := l.Restorable(ctx)
	return text.Map(acts, func(r ledger.Act) cobra.Completion {
		in := r.Intent
		if in.Kind == snapshot.KindDir {
			return described(in.Candidate, in.ID)
		}
		return described(in.ID, report.Label(decision.Decision{ID: in.Candidate, Kind: in.Kind, Label: in.Label}))
	}), err
}

func described(id, words string) cobra.Completion {
	return cobra.CompletionWithDesc(id, text.Clean(words))
}
