// Package winnow holds what the program ships beside its code.
package winnow

import _ "embed"

// DefaultConfig is config.yaml: every key with its default and one comment each. The program reads its defaults from it, so that
// what is written there is what holds.
//
//go:embed config.yaml
var DefaultConfig []byte
