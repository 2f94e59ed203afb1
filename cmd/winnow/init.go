package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/scaffold"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a commented config.yaml and a copy of the policies to edit",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, dirs []string) error { return a.initFolder(append(dirs, ".")[0]) },
	}
}

func (a *app) initFolder(dir string) error {
	files := map[string][]byte{"config.yaml": winnow.DefaultConfig}
	err := fs.WalkDir(policies.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := policies.Files.ReadFile(path)
		files[filepath.Join("policies", path)] = data
		return err
	})
	if err != nil {
		return fmt.Errorf("read the embedded policies: %w", err)
	}
	// Everything is checked before anything is written, so that init is whole or not at all.
	var there []string
	for _, name := range []string{"config.yaml", "policies"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			there = append(there, filepath.Join(dir, name))
		}
	}
	if len(there) > 0 {
		return config.Usagef("%s: is there already; nothing was written: choose another folder, or move it away", strings.Join(there, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if err := scaffold.Write(dir, files, false); err != nil {
		return fmt.Errorf("write into %s: %w; what was written of it is removed again", dir, err)
	}
	file, rules := filepath.Join(dir, config.Name), filepath.Join(dir, "policies")
	return a.say(map[string]string{"config": file, "policies": rules}, nil, fmt.Sprintf("wrote %s and %s\nedit them, then: winnow sweep --config %s --policy %s --no-embedded-policy\nunasked only %s is read",
		text.Clean(file), text.Clean(rules), text.Quote(file), text.Quote(rules), text.Clean(config.UserPlace())))
}
