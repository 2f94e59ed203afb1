package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newTrust(a *app) *cobra.Command {
	var list, revoke bool
	cmd := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Let a project's own .winnow/config.yaml keep things there",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, folders []string) error {
			folder := append(folders, ".")[0]
			switch {
			case list && revoke:
				return config.Usagef("--list and --revoke are two things: say one of them")
			case list && len(folders) > 0:
				return config.Usagef("--list takes no folder; it lists all projects")
			case list:
				return a.listTrusted(cmd.Context())
			case revoke:
				return a.revoke(cmd.Context(), folder)
			}
			return a.trust(cmd.Context(), folder)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the projects that are trusted")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the trust in a project back")
	return cmd
}

// Trusted is a project as winnow trust prints it as JSON.
type Trusted struct {
	Project string `json:"project"`
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	// State is trusted, changed, gone or refused; Why says what is the matter.
	State     string       `json:"state"`
	Why       string       `json:"why,omitempty"`
	TrustedAt time.Time    `json:"trusted_at"`
	Says      project.File `json:"says"`
}

func (a *app) trust(ctx context.Context, folder string) error {
	main, err := ops.MainCheckout(folder)
	if err != nil {
		return err
	}
	file := look.ProjectFile(main)
	data, err := project.Read(ctx, main)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Usagef("%s is not there: the project has no file of its own%s; nothing was trusted", file, ops.NotFollowed(main))
	}
	if err != nil {
		return config.Usagef("%v; nothing was trusted", err)
	}
	says, err := project.Parse(file, data)
	if err != nil {
		return config.Usagef("%w; nothing was trusted", err)
	}
	if err := a.CheckRules(ctx, file, data, says); err != nil {
		return err
	}
	t := Trusted{Project: main, File: file, SHA256: project.Digest(data), State: project.StateTrusted, TrustedAt: time.Now().UTC(), Says: says}
	if old := project.NotFollowed(main); old != "" {
		t.State, t.Why = project.StateRefused, old
		a.Note("%s", old)
	}
	if a.flags.format == "text" { // it is shown before it is stored
		a.saysText(a.out, t)
	}
	if err := a.Store().Trust(main, data, t.TrustedAt); err != nil {
		return err
	}
	return a.say(t, nil, "\ntrusted; winnow trust --revoke "+text.Quote(main)+" takes it back")
}

// saysText is a project's file in words.
func (a *app) saysText(w io.Writer, t Trusted) {
	p := a.paint
	fmt.Fprintf(w, "%s\n", p.Bold(text.Clean(t.Project)))
	fmt.Fprintf(w, "  %s\n", p.Dim(text.Clean(fmt.Sprintf("%s, sha256 %.12s", t.File, t.SHA256))))
	for _, k := range t.Says.Protected {
		p.Indented(w, 2, text.Clean(entryText(k)))
	}
	for _, rule := range t.Says.Off() {
		p.Indented(w, 2, text.Clean("turns "+rule+" off"))
	}
	if len(t.Says.Protected)+len(t.Says.Levels) == 0 {
		p.Indented(w, 2, "asks for nothing")
	}
}

// entryText is an entry that keeps in words.
func entryText(k snapshot.Keep) string {
	var globs []string
	for _, m := range [][2]string{{"id", k.Match.ID}, {"path", k.Match.Path}, {"label", k.Match.Label}, {"owner", k.Match.Owner}, {"kind", k.Match.Kind}} {
		if m[1] != "" {
			globs = append(globs, m[0]+" "+m[1])
		}
	}
	out := "keeps what " + strings.Join(globs, " and ") + " matches"
	if len(k.Rules) > 0 {
		out += ", against " + strings.Join(k.Rules, ", ")
	}
	if k.Why == "" {
		return out
	}
	return fmt.Sprintf("%s, until %s, of %s: %s", out, k.Until, k.Who, k.Why)
}

func (a *app) listTrusted(ctx context.Context) error {
	all, err := a.Store().All(ctx)
	if err != nil {
		return err
	}
	var out []Trusted
	for _, t := range all {
		x := Trusted{Project: t.Path, File: look.ProjectFile(t.Path), SHA256: t.SHA256, TrustedAt: t.TrustedAt, Says: t.Says}
		x.State, x.Why = t.State(ctx)
		out = append(out, x)
	}
	return list(a, "projects", out, nil, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no project is trusted; winnow trust FOLDER trusts one")
		}
		for i, x := range out {
			if i > 0 {
				fmt.Fprintln(w)
			}
			a.saysText(w, x)
			p := a.paint
			p.Indented(w, 2, p.Dim("trusted on "+text.Time(x.TrustedAt)))
			if x.Why != "" {
				p.Indented(w, 2, p.Yellow(text.Clean(x.State+": "+x.Why)))
			}
		}
	})
}

func (a *app) revoke(ctx context.Context, folder string) error {
	main, err := ops.MainCheckout(folder)
	if err != nil { // the repository may be gone: then the folder is what was trusted
		if main, err = filepath.Abs(folder); err != nil {
			return config.Usagef("--revoke %s: %v", text.Quote(folder), err)
		}
	}
	was, err := a.Store().Revoke(main)
	if err != nil {
		return err
	}
	if !was {
		all, _ := a.Store().All(ctx) // none where they cannot be read
		names := text.Map(all, func(t project.Trusted) string { return t.Path })
		if len(names) == 0 {
			return config.Usagef("%s is not trusted, and nor is any other project; nothing was changed", main)
		}
		return config.Usagef("%s is not trusted%s; nothing was changed", main, spelling.Hint(main, names))
	}
	return a.say(map[string]string{"revoked": main}, nil, text.Clean(main)+" is no longer trusted; what it asked to keep is judged as anything else")
}
