package policy

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

// Format tells of each policy and test what it holds and what it would be as `opa fmt` writes it, and ends at an error of tell. The error wraps
// Refusals else: of the files that are not Rego.
func (s *Sources) Format(ctx context.Context, tell func(name string, old, formatted []byte) error) error {
	refused := slices.Clone(s.refused)
	o := ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: ast.CapabilitiesForThisVersion()}
	for _, t := range s.trees {
		for _, f := range slices.Concat(t.policies(), t.tests) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if rs := scan(f); len(rs) > 0 {
				refused = append(refused, rs...)
				continue
			}
			text, err := formatted(f, &o)
			if err != nil {
				refused = append(refused, lint.FromOPA(f.Name, err)...)
				continue
			}
			if err := tell(f.Name, f.data, text); err != nil {
				return err
			}
		}
	}
	return s.shown(refused).Err()
}

// formatted is a file as `opa fmt` writes it. Like that, it reads the result once more.
func formatted(f File, o *ast.ParserOptions) ([]byte, error) {
	text, err := format.SourceWithOpts(f.Name, f.data, format.Opts{RegoVersion: ast.RegoV1, ParserOptions: o, Capabilities: o.Capabilities})
	if err != nil {
		return nil, err
	}
	if _, err := ast.ParseModuleWithOpts(f.Name, string(text), *o); err != nil {
		return nil, fmt.Errorf("the formatted text is no Rego any more, which is a mistake of OPA's formatter: %w", err)
	}
	return text, nil
}
