package policy

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/keep"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// ExceptionsName is the file of a tree that says what is to be kept although rules would reap it. It lies in the tree's topmost folder.
const ExceptionsName = "exceptions.yaml"

// exceptionsHelp is where the form is described.
const exceptionsHelp = "see docs/guides/keep-things.md"

// IsExceptions reports whether a file may be meant to hold exceptions: by its name, in any folder and with any ending of data.
func IsExceptions(p string) bool {
	base := strings.ToLower(path.Base(p))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return isData(base) && (stem == "exceptions" || stem == "exception")
}

// misplacedExceptions says of a file that may be meant to hold exceptions, and is not the one that is read, what to do.
func misplacedExceptions(p string) error {
	return fmt.Errorf("%s: %w: exceptions are read from %s in the topmost folder of the policies, and nowhere else: move it there, or give it another name", p, errExceptions, ExceptionsName)
}

var errExceptions = errors.New("it would be passed over")

// readExceptions reads the exceptions of a tree. With one mistake in it nothing of a file is used.
func (r *read) readExceptions() (refused lint.Refusals) {
	i := slices.IndexFunc(r.files, func(f File) bool { return f.Path == ExceptionsName })
	if i < 0 {
		return nil
	}
	f := r.files[i]
	all, err := keep.ReadExceptions(keep.Source{Tree: f.Tree, File: f.Name, Bundled: r.tree.Bundled}, f.data)
	var wrong strict.Problems
	errors.As(err, &wrong)
	for _, p := range wrong {
		refused = append(refused, lint.Refusal{Class: lint.ClassException, File: p.File, Line: p.Line, Problem: p.Text, Fix: exceptionsHelp})
	}
	r.exceptions = all
	return refused
}

// ReadExceptions reads what the exceptions of a tree of that name hold, which messages call name. The error wraps Refusals.
func ReadExceptions(tree, name string, data []byte) ([]snapshot.Keep, error) {
	r := &read{files: []File{{Tree: tree, Path: ExceptionsName, Name: name, data: data}}}
	err := r.readExceptions().Err()
	return r.exceptions, err
}

// Exceptions are those that the trees bring, in the order of the trees and of each file. The list must not be changed.
func (p *Policy) Exceptions() []snapshot.Keep { return p.exceptions }

// Exceptions are those that were read, in the order of the trees and of each file.
func (s *Sources) Exceptions() (out []snapshot.Keep) {
	for _, t := range s.trees {
		i := slices.IndexFunc(t.files, func(f File) bool { return f.Path == ExceptionsName })
		for _, e := range t.exceptions {
			e.File = t.files[i].Name // another one than when it was read, where two trees have the same
			out = append(out, e)
		}
	}
	return out
}

var exceptionsRef = ast.MustParseRef("input.exceptions")

// idle refuses exceptions that no rule would ask for, and those against rules that there are not: they would keep nothing, without a word.
func (s *Sources) idle(modules []module, rules map[string]Rule) (refused lint.Refusals) {
	all := s.Exceptions()
	if len(all) == 0 {
		return nil
	}
	asked := false
	for _, m := range modules {
		if folder := m.Package.Path; len(folder) > 2 && folder[2].Equal(ast.StringTerm("protect")) {
			ast.WalkRefs(m.Module, func(r ast.Ref) bool {
				asked = asked || r.HasPrefix(exceptionsRef)
				return asked
			})
		}
	}
	if !asked {
		refused = append(refused, lint.Refusal{
			Class: lint.ClassException, File: all[0].File, Line: all[0].Line,
			Problem: "no rule below protect reads input.exceptions, so that no exception would keep anything",
			Fix:     "load the embedded policies too, or add their folder protect/excepted (winnow init writes it)",
		})
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(rules)), func(id string) bool { return !decision.Reaps(id) })
	for _, e := range all {
		for _, id := range e.Rules {
			if _, known := rules[id]; !known {
				refused = append(refused, lint.Refusal{
					Class: lint.ClassException, File: e.File, Line: e.Line, Problem: fmt.Sprintf("it keeps against %s, and no such rule is loaded%s", id, spelling.Hint(id, ids)), Fix: exceptionsHelp,
				})
			}
		}
	}
	return refused
}
