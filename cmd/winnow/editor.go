package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	extension "github.com/winnow-reaper/winnow/editors/vscode"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/text"
)

// editorPrograms are the command lines of VS Code and of editors made of it that take an extension from a file.
var editorPrograms = []string{"code", "code-insiders", "code-server", "codium", "vscodium", "cursor", "windsurf", "positron"}

// installWithin is how long an editor has to take an extension.
const installWithin = 2 * time.Minute

// installed is what became of the extension in one editor.
type installed struct {
	Editor  string `json:"editor"`
	Path    string `json:"path"`
	Outcome string `json:"outcome" jsonschema:"enum=installed,enum=failed,enum=would"`
	Detail  string `json:"detail,omitempty"`
}

func newEditor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "editor",
		Short: "The companion in VS Code and in editors made of it",
		Long: `Editor puts the Winnow extension into VS Code and into editors made of it. With it winnow sees the terminal
tabs of each window. It closes those of ended agents and of builders that were cleaned up. The extension is a part of
this program: nothing is downloaded.`,
	}
	cmd.AddCommand(newEditorInstall(a), newEditorPackage(a))
	return cmd
}

func newEditorInstall(a *app) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "install [EDITOR...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Put the extension into the editors that are found on PATH",
		Long: `Install runs each editor's own program with --install-extension. EDITOR is the name of such a program, or its path; without it these are looked for on
PATH: ` + strings.Join(editorPrograms, ", ") + `.

A window that is open takes the extension when it is reloaded. The setting winnow.path of the editor says which
program it runs. It sweeps by itself only once winnow.sweep is on.`,
		RunE: func(cmd *cobra.Command, given []string) error { return a.editorInstall(cmd.Context(), given, dry) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return editorPrograms, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say into which editors it would go, and install nothing")
	return cmd
}

func newEditorPackage(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "package FILE",
		Short: "Write the packaged extension (.vsix) into a file",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := atomicfile.WriteData(cmd.Context(), given[0], extension.Package); err != nil {
				return fmt.Errorf("write the extension: %w; nothing was installed", err)
			}
			return a.say(map[string]string{"file": given[0], "sha256": extension.Digest()}, nil, "wrote "+text.Clean(given[0])+", sha256 "+extension.Digest())
		},
	}
}

// editorsFor are the programs that were named, or those that are on PATH. Two names of one program are one.
func editorsFor(given []string) ([]installed, error) {
	names := given
	if len(names) == 0 {
		names = editorPrograms
	}
	var out []installed
	seen := map[string]bool{}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil && len(given) > 0 {
			return nil, config.Usagef("there is no editor %q: %v; nothing was installed. The editors that winnow knows are %s", name, err, strings.Join(editorPrograms, ", "))
		}
		if err != nil {
			continue
		}
		real := path
		if r, err := filepath.EvalSymlinks(path); err == nil {
			real = r
		}
		if !seen[real] {
			out = append(out, installed{Editor: filepath.Base(name), Path: path, Outcome: "would"})
		}
		seen[real] = true
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no editor was found on PATH (%s); nothing was installed. Name its program, or install by hand the file that winnow editor package FILE writes",
			strings.Join(editorPrograms, ", "))
	}
	return out, nil
}

func (a *app) editorInstall(ctx context.Context, given []string, dry bool) error {
	all, err := editorsFor(given)
	if err != nil {
		return err
	}
	if !dry {
		if err := install(ctx, all); err != nil {
			return err
		}
	}
	said := a.show(all, nil, "", func(w io.Writer) {
		for _, e := range all {
			switch e.Outcome {
			case "would":
				fmt.Fprintf(w, "would install into %s (%s)\n", text.Clean(e.Editor), text.Clean(e.Path))
			case "installed":
				fmt.Fprintf(w, "installed into %s (%s); a window that is open takes it when it is reloaded\n", text.Clean(e.Editor), text.Clean(e.Path))
			default:
				fmt.Fprintf(w, "not installed into %s (%s): %s\n", text.Clean(e.Editor), text.Clean(e.Path), text.Clean(e.Detail))
			}
		}
	})
	if slices.ContainsFunc(all, func(e installed) bool { return e.Outcome == "failed" }) {
		code := exit.Part
		if !slices.ContainsFunc(all, func(e installed) bool { return e.Outcome == "installed" }) {
			code = exit.Failed
		}
		return exit.Error{Code: code, Err: errors.Join(said, errors.New("not every editor took the extension; install by hand the file that winnow editor package FILE writes"))}
	}
	return said
}

// install has each editor take the extension, from a file that only this user can change.
func install(ctx context.Context, all []installed) error {
	dir, err := os.MkdirTemp("", "winnow-editor")
	if err != nil {
		return fmt.Errorf("write the extension: %w; nothing was installed", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "winnow.vsix")
	if err := os.WriteFile(file, extension.Package, 0o600); err != nil {
		return fmt.Errorf("write the extension: %w; nothing was installed", err)
	}
	for i := range all {
		e := &all[i]
		ctx, cancel := context.WithTimeout(ctx, installWithin)
		out, err := exec.CommandContext(ctx, e.Path, "--install-extension", file, "--force").CombinedOutput()
		cancel()
		e.Outcome = "installed"
		if err != nil {
			said := strings.TrimSpace(string(out))
			last := said[strings.LastIndexByte(said, '\n')+1:]
			e.Outcome, e.Detail = "failed", strings.TrimSpace(fmt.Sprintf("%v: %s", err, last))
		}
	}
	return nil
}
