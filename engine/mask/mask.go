// Package mask asks rules in Rego which parts of a logged decision are taken out or replaced: data.system.log.mask, as OPA has it.
//
// The rules are the operator's own. They may call what policies may call, and nothing else, and are asked under a deadline; sandbox.Masks asks them in
// a process of its own.
package mask

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

// query is where OPA looks for such rules.
const query = "data.system.log.mask"

// What may be loaded, far more than anybody writes.
const (
	maxFiles = 100
	maxBytes = 1 << 20
)

// Mask are rules that were loaded. It is used by one goroutine.
type Mask struct {
	query rego.PreparedEvalQuery
	limit time.Duration
}

// Files are what the .rego files below a folder hold, by name, without the tests.
type Files map[string]string

// Read reads them, and compiles nothing.
func Read(ctx context.Context, from fs.FS) (Files, error) {
	out := Files{}
	bytes := 0
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego"):
			return nil
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if bytes += len(text); bytes > maxBytes || len(out) >= maxFiles {
			return fmt.Errorf("%s: %d files with %d bytes are the most", name, maxFiles, maxBytes)
		}
		out[name] = string(text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load masks: %w", err)
	}
	return out, nil
}

// Compile makes masks of files. An evaluation may take no longer than limit.
func (f Files) Compile(ctx context.Context, limit time.Duration) (*Mask, error) {
	all := map[string]*ast.Module{}
	o := ast.ParserOptions{Capabilities: lint.Capabilities()}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		err := policy.Scan(name, []byte(f[name]))
		if err == nil {
			all[name], err = ast.ParseModuleWithOpts(name, f[name], o)
		}
		if err != nil {
			return nil, err
		}
	}
	c := ast.NewCompiler().WithCapabilities(o.Capabilities).WithStrict(true)
	if c.Compile(all); c.Failed() {
		return nil, c.Errors
	}
	if len(c.GetRulesExact(ast.MustParseRef(query))) == 0 {
		return nil, fmt.Errorf("no rule %s: write package system.log, and in it mask contains \"/input/host/home\"", query)
	}
	q, err := rego.New(rego.Query(query), rego.Compiler(c), rego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	return &Mask{q, limit}, nil
}

// Rules are what the masks say of an event: JSON pointers, and objects with op, path and value. event is the event as plain JSON.
func (m *Mask) Rules(ctx context.Context, event any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	stop := topdown.NewCancel()
	defer context.AfterFunc(ctx, stop.Cancel)()
	rs, err := m.query.Eval(ctx, rego.EvalInput(event), rego.EvalExternalCancel(stop))
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask %s: it did not answer within %s", query, m.limit)
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", query, err)
	case len(rs) == 0: // undefined: nothing is masked
		return nil, nil
	}
	all, ok := rs[0].Expressions[0].Value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is a %T; it wants a set", query, rs[0].Expressions[0].Value)
	}
	return all, nil
}
