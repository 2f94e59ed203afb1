// Package ruleset loads the policies, bundles and layers that one configuration names.
package ruleset

import (
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/bundles"
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
