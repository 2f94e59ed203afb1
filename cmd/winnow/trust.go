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

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

func newTrust(a *app) *cobra.Command {
	var list, revoke bool
	cmd := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Let a project's own .winnow/config.yaml keep things there",
		Long: `Trust shows what the file .winnow/config.yaml of a project says and then stores that, so that it holds for the project's folders and for
what works in them. FOLDER lies in the repository (the working directory when none is given); the file is read from its main checkout.

Such a file can only keep: protected paths, holds, and rules that are turned off there; so can exceptions in .winnow/exceptions.yaml beside it. No rule of a
repository is loaded. What you trusted holds until you trust another content or take it back; a later change of the files has no effect.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, folders []string) error {
			folder := "."
			if len(folders) == 1 {
				folder = folders[0]
			}
			switch {
			case list && revoke:
				return config.Mistakef("--list and --revoke are two things: say one of them")
			case list && len(folders) > 0:
				return config.Mistakef("--list takes no folder; it lists all projects")
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
	// Exceptions is the text of the repository's exceptions, ExceptionsSHA256 is its digest.
	Exceptions       string `json:"exceptions,omitempty"`
	ExceptionsSHA256 string `json:"exceptions_sha256,omitempty"`
}

func (a *app) trust(ctx context.Context, folder string) error {
	main, err := ops.MainCheckout(folder)
	if err != nil {
		return err
	}
	file := look.ProjectFile(main)
	data, err := project.Read(ctx, main, project.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Mistakef("%s is not there: the project has no file of its own%s; nothing was trusted", file, ops.ExceptionsAlone(main))
	}
	if err != nil {
		return config.Mistakef("%v; nothing was trusted", err)
	}
	says, err := project.Parse(file, data)
	if err != nil {
		return config.Mistakef("%w; nothing was trusted", err)
	}
	if err := a.CheckRules(ctx, file, data, says.Off()); err != nil {
		return err
	}
	exceptions, err := project.ReadExceptions(ctx, main)
	if err != nil {
		return config.Mistakef("%w; nothing was trusted", err)
	}
	if _, err := ruleset.ExceptionsOf(main, string(exceptions)); err != nil {
		return config.Mistakef("the repository's exceptions are refused; nothing was trusted:\n%w", err)
	}
	t := Trusted{
		Project: main, File: file, SHA256: project.Digest(data), State: project.StateTrusted, TrustedAt: time.Now().UTC(), Says: says,
		Exceptions: string(exceptions), ExceptionsSHA256: project.ExceptionsDigest(string(exceptions)),
	}
	if old := project.NotFollowed(main); old != "" {
		t.State, t.Why = project.StateRefused, old
		a.Note("%s", old)
	}
	if a.flags.format == "text" { // it is shown before it is stored
		a.saysText(a.out, t)
	}
	if err := a.Store().Trust(main, data, exceptions, t.TrustedAt); err != nil {
		return err
	}
	return a.say(t, "\ntrusted; winnow trust --revoke "+text.Quote(main)+" takes it back")
}

// saysText is a project's file in words.
func (a *app) saysText(w io.Writer, t Trusted) {
	p := a.paint
	fmt.Fprintf(w, "%s\n", p.Bold(text.Clean(t.Project)))
	fmt.Fprintf(w, "  %s\n", p.Dim(text.Clean(fmt.Sprintf("%s, sha256 %.12s", t.File, t.SHA256))))
	for _, glob := range t.Says.Protected {
		p.Indented(w, 2, text.Clean("keeps what "+glob+" matches"))
	}
	for _, h := range t.Says.Holds {
		p.Indented(w, 2, text.Clean("keeps "+h.Path+": "+h.Reason))
	}
	for _, rule := range t.Says.Off() {
		p.Indented(w, 2, text.Clean("turns "+rule+" off"))
	}
	if t.Exceptions != "" {
		p.Indented(w, 2, text.Clean(fmt.Sprintf("its exceptions in %s/%s, sha256 %.12s, keep what they match there:", project.Folder, project.Exceptions, t.ExceptionsSHA256)))
		for line := range strings.Lines(t.Exceptions) {
			fmt.Fprintf(w, "    %s\n", text.Clean(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
		}
	}
	if len(t.Says.Protected)+len(t.Says.Holds)+len(t.Says.Levels)+len(t.Exceptions) == 0 {
		p.Indented(w, 2, "asks for nothing")
	}
}

func (a *app) listTrusted(ctx context.Context) error {
	all, err := a.Store().All(ctx)
	if err != nil {
		return err
	}
	var out []Trusted
	for _, t := range all {
		x := Trusted{Project: t.Path, File: look.ProjectFile(t.Path), SHA256: t.SHA256, TrustedAt: t.TrustedAt, Says: t.Says, Exceptions: t.Exceptions, ExceptionsSHA256: t.ExceptionsSHA256}
		x.State, x.Why = t.State(ctx)
		out = append(out, x)
	}
	return list(a, out, func(w io.Writer) {
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
			return config.Mistakef("--revoke %s: %v", text.Quote(folder), err)
		}
	}
	was, err := a.Store().Revoke(main)
	if err != nil {
		return err
	}
	if !was {
		names := []string{}
		if all, err := a.Store().All(ctx); err == nil {
			for _, t := range all {
				names = append(names, t.Path)
			}
		}
		if len(names) == 0 {
			return config.Mistakef("%s is not trusted, and nor is any other project; nothing was changed", main)
		}
		return config.Mistakef("%s is not trusted%s; nothing was changed", main, spelling.Hint(main, names))
	}
	return a.say(map[string]string{"revoked": main}, text.Clean(main)+" is no longer trusted; what it asked to keep is judged as anything else")
}
