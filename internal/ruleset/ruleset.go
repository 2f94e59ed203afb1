// Package ruleset loads the policies, bundles and layers that one configuration names.
package ruleset

import (
	"context"
	"fmt"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/mask"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/decisionlog"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Loader loads the policies that the configuration names.
type Loader struct {
	state.Folder
	// Policy is what was loaded last; nil in a command that judges nothing.
	Policy *policy.Policy
	// Bundles say how the bundles stand that were looked for then.
	Bundles []bundles.Status
}

// Shipped reports whether a rule is one of those that the program brings.
func (l *Loader) Shipped() func(rule string) bool {
	files := map[string]bool{}
	for _, f := range l.Policy.Files {
		files[f.Name] = f.Tree == EmbeddedName
	}
	return func(rule string) bool { return files[l.Policy.Rule(rule).File] }
}

// Store has what the user trusted of repositories' own files.
func (l *Loader) Store() project.Store { return project.Store{State: l.Cfg.State} }

// The sinks of the decision log, as the ledger knows them.
const (
	SinkFile    = "file"
	SinkService = "service"
)

// LoadMask gives what masks say, or, where they cannot be loaded, that they could not.
func (l *Loader) LoadMask(ctx context.Context, folder string) decisionlog.Masker {
	real, err := safeopen.Folder(folder)
	var files mask.Files
	if err == nil {
		files, err = mask.Read(ctx, policyFiles(ctx, real))
	}
	if err == nil {
		var m *sandbox.Masks
		if m, err = sandbox.StartMasks(ctx, files, eval.Limits{Timeout: l.Cfg.Policy.Timeout, HeapBytes: l.Cfg.Policy.Memory}, sandbox.Self()); err == nil {
			return m
		}
	}
	return NoMask{fmt.Errorf("decision_log.mask %s: %w", folder, err)}
}

// NoMask stands for masks that could not be loaded.
type NoMask struct{ Err error }

func (m NoMask) Rules(context.Context, any) ([]any, error) { return nil, m.Err }

// Sinks are where decisions are logged.
func (l *Loader) Sinks() (all []string) {
	if l.Cfg.DecisionLog.File.Path != "" {
		all = append(all, SinkFile)
	}
	if l.Cfg.DecisionLog.Service.URL != "" {
		all = append(all, SinkService)
	}
	return all
}
