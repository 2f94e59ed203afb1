// Package schemas holds the JSON Schema of the policies' input, where stock OPA finds it too. It is made from the type subject.Subject:
// go test ./engine/subject -run Schema -update.
package schemas

import _ "embed"

// Subject is subject.json.
//
//go:embed subject.json
var Subject []byte
