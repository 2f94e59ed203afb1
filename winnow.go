// Package winnow holds what the program ships beside its code.
package winnow

import "embed"

// DefaultConfig is config.yaml: every key but the lists of names with its default and one comment each. The program reads its defaults from it, so that
// what is written there is what holds.
//
//go:embed config.yaml
var DefaultConfig []byte

// Agents are the files of the agents and orchestrators that the program knows: agents/NAME.yaml.
//
//go:embed agents/*.yaml
var Agents embed.FS

// Incidents are whole snapshots with the decisions that are wanted on them: policy_test/cases, each in one of policy_test/worlds or in one of its own. policy_test/found.json has the rule that finds a reason in the worlds, by what the candidate is.
//
//go:embed policy_test/found.json policy_test/cases/*.json policy_test/worlds/*.json
var Incidents embed.FS

// Schemas are the published JSON Schemas of what the program reads and writes: docs/reference/schemas/NAME.json.
//
//go:embed docs/reference/schemas/*.json
var Schemas embed.FS

// Reference has the page of the configuration: docs/reference/config.md, which is made from config.yaml.
//
//go:embed docs/reference/config.md
var Reference embed.FS

// Units are the systemd units of packages: packaging/linux/systemd/user and system. They run /usr/bin/winnow, and timers sweep every 300 seconds.
//
//go:embed packaging/linux/systemd/*/winnow*
var Units embed.FS
