// Package policies holds the rules that Winnow ships with: what may go, what must stay, and nothing of how either is done.
//
// The tree is Rego that the stock opa tool reads as it stands; docs/reference/rules has a page a rule.
package policies

import "embed"

//go:generate go test -count=1 ../policy_test -run TestShippedPlan -update

// Files is the whole tree, tests and the input's schema among it, with paths below this folder: main/main.rego has the package
// policies.main. It is what a Winnow without any policies of one's own decides by, and what `winnow init` hands out to edit.
//
//go:embed .manifest main reap protect lib schemas/subject.json
var Files embed.FS

// Observing has the rules that say what became of a worker (observe), with what they lean on. They are asked for people, lead to no act,
// and are not part of what one's own policies stand beside.
//
//go:embed lib/leftovers lib/names lib/panes lib/reasons lib/registry lib/sessions lib/shells observe
var Observing embed.FS

// Prepared is what policy.Policy.Prepare wrote of Files, with OPA's plan of the rules: a program decides by it without compiling them. It is of one state of
// Files, and passed over where these differ; after a change of a rule, `go generate ./policies` writes it again.
//
//go:embed shipped.plan
var Prepared []byte
