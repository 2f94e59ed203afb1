package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// dataName is the file that OPA keeps a bundle's data in. Exceptions are the only data that a bundle may have: at data.exceptions, where opa build puts
// the exceptions.yaml of a folder, or at data.policies.exceptions, where they are below the root of Winnow's own bundles.
const dataName = "data.json"

// exceptionsRoot is the root below which the exceptions of a bundle lie.
const exceptionsRoot = "policies/exceptions"

// exceptionsIn gives the exceptions that a bundle's data is, as a file of a tree has them; false where the data is nothing, or something else.
func exceptionsIn(data []byte) ([]byte, bool) {
	type holder struct {
		Exceptions json.RawMessage `json:"exceptions"`
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 {
		return nil, false
	}
	list := fields["exceptions"]
	if below := fields["policies"]; below != nil {
		inner := map[string]json.RawMessage{}
		if json.Unmarshal(below, &inner) != nil || len(inner) != 1 {
			return nil, false
		}
		list = inner["exceptions"]
	}
	if list == nil {
		return nil, false
	}
	out, err := json.MarshalIndent(holder{list}, "", " ")
	return out, err == nil
}

func isExceptionsData(data []byte) bool {
	_, ok := exceptionsIn(data)
	return ok
}

// plantExceptions puts the exceptions of a bundle where a tree has them: from its data, or from the file itself, which whoever packs a folder with tar puts in.
func (b *Bundle) plantExceptions(files map[string]file, top string) error {
	var found []string
	for _, p := range b.Files {
		switch {
		case p == dataName && isExceptionsData(files[p].data), p == top+policy.ExceptionsName:
			found = append(found, p)
		case policy.IsExceptions(p):
			return refuse("move it to "+top+policy.ExceptionsName+", or give it another name", "%s in it would be passed over: exceptions are in the topmost folder of the policies", p)
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) > 1:
		return refuse("take one out", "it has exceptions in %s", strings.Join(found, " and in "))
	}
	data := files[found[0]].data
	if found[0] == dataName {
		data, _ = exceptionsIn(data)
	}
	b.tree[policy.ExceptionsName] = &fstest.MapFile{Data: data}
	b.data = found[0] == dataName
	return nil
}

// addExceptions puts the exceptions of a folder into the data of a bundle, below a root of it.
func addExceptions(b *bundle.Bundle, f policy.File) error {
	all, err := policy.ReadExceptions(f.Tree, f.Name, f.Data())
	if err != nil {
		return err
	}
	var list any
	data, err := json.Marshal(append([]snapshot.Keep{}, all...))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return fmt.Errorf("write the exceptions: %w", err)
	}
	b.Data["policies"] = map[string]any{"exceptions": list}
	return nil
}

// coverExceptions adds the root of the exceptions where the manifest's own roots leave it out: OPA takes no data from outside of the roots.
func coverExceptions(b *bundle.Bundle) {
	if len(b.Data) == 0 || slices.ContainsFunc(*b.Manifest.Roots, func(r string) bool {
		r = strings.Trim(r, "/")
		return r == "" || r == "policies" || r == exceptionsRoot
	}) {
		return
	}
	roots := append(slices.Clone(*b.Manifest.Roots), exceptionsRoot)
	b.Manifest.Roots = &roots
}
