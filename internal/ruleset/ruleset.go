// Package ruleset loads the policies, bundles and layers that one configuration names.
package ruleset

import (
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/state"
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
