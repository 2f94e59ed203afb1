package plan

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// eachStmt calls do for every statement, those of inner blocks after the one that they are in.
func eachStmt(bs []*ir.Block, do func(ir.Stmt)) {
	for _, b := range bs {
		for _, s := range b.Stmts {
			do(s)
			eachStmt(inner(s), do)
		}
	}
}

// inner are the blocks in a statement.
func inner(s ir.Stmt) []*ir.Block {
	switch s := s.(type) {
	case *ir.BlockStmt:
		return s.Blocks
	case *ir.ScanStmt:
		return []*ir.Block{s.Block}
	case *ir.NotStmt:
		return []*ir.Block{s.Block}
	default:
		return nil
	}
}

// parts are the operands of a statement and its locals: those that it reads, that it adds something to, and that it writes.
type parts struct {
	operands            []*ir.Operand
	reads, adds, writes []*ir.Local
}

// partsOf gives all but the arguments of a call. known is false for a statement that no machine runs.
func partsOf(s ir.Stmt) (p parts, known bool) {
	locals := func(ls ...*ir.Local) []*ir.Local { return ls }
	operands := func(os ...*ir.Operand) []*ir.Operand { return os }
	switch s := s.(type) {
	case *ir.BlockStmt, *ir.BreakStmt, *ir.NotStmt, *ir.NopStmt:
	case *ir.ReturnLocalStmt:
		p.reads = locals(&s.Source)
	case *ir.CallStmt:
		p.writes = locals(&s.Result)
	case *ir.DotStmt:
		p.operands, p.writes = operands(&s.Source, &s.Key), locals(&s.Target)
	case *ir.LenStmt:
		p.operands, p.writes = operands(&s.Source), locals(&s.Target)
	case *ir.ScanStmt:
		p.reads, p.writes = locals(&s.Source), locals(&s.Key, &s.Value)
	case *ir.AssignIntStmt:
		p.writes = locals(&s.Target)
	case *ir.AssignVarStmt:
		p.operands, p.writes = operands(&s.Source), locals(&s.Target)
	case *ir.AssignVarOnceStmt:
		p.operands, p.adds = operands(&s.Source), locals(&s.Target)
	case *ir.ResetLocalStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeNullStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeNumberIntStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeNumberRefStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeArrayStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeObjectStmt:
		p.writes = locals(&s.Target)
	case *ir.MakeSetStmt:
		p.writes = locals(&s.Target)
	case *ir.EqualStmt:
		p.operands = operands(&s.A, &s.B)
	case *ir.NotEqualStmt:
		p.operands = operands(&s.A, &s.B)
	case *ir.IsArrayStmt:
		p.operands = operands(&s.Source)
	case *ir.IsObjectStmt:
		p.operands = operands(&s.Source)
	case *ir.IsSetStmt:
		p.operands = operands(&s.Source)
	case *ir.IsDefinedStmt:
		p.reads = locals(&s.Source)
	case *ir.IsUndefinedStmt:
		p.reads = locals(&s.Source)
	case *ir.ArrayAppendStmt:
		p.operands, p.adds = operands(&s.Value), locals(&s.Array)
	case *ir.ObjectInsertStmt:
		p.operands, p.adds = operands(&s.Key, &s.Value), locals(&s.Object)
	case *ir.ObjectInsertOnceStmt:
		p.operands, p.adds = operands(&s.Key, &s.Value), locals(&s.Object)
	case *ir.SetAddStmt:
		p.operands, p.adds = operands(&s.Value), locals(&s.Set)
	default: // with, the merging of objects and calls of what is not known before: our lint refuses the first, and no rule of ours needs the others
		return p, false
	}
	return p, true
}

// useOf lists what a statement reads and the locals that it writes.
func useOf(s ir.Stmt) (reads []ir.Operand, writes []*ir.Local) {
	p, _ := partsOf(s)
	if call, ok := s.(*ir.CallStmt); ok {
		reads = call.Args
	}
	for _, o := range p.operands {
		reads = append(reads, *o)
	}
	for _, l := range slices.Concat(p.reads, p.adds) {
		reads = append(reads, ir.Operand{Value: *l})
	}
	return reads, slices.Concat(p.adds, p.writes)
}

// known says what of a function no machine can run.
func (p *Program) known(f *ir.Func) (err error) {
	eachStmt(f.Blocks, func(s ir.Stmt) {
		if _, ok := partsOf(s); !ok && err == nil {
			err = fmt.Errorf("run a plan: %s has a statement %T, which is not known", f.Name, s)
		}
		if call, ok := s.(*ir.CallStmt); ok && err == nil && p.funcs[call.Func] == nil && topdown.GetBuiltin(call.Func) == nil {
			err = fmt.Errorf("run a plan: %s calls %s, which is not known", f.Name, call.Func)
		}
	})
	return err
}

// compiler makes a function of a plan ready to run.
type compiler struct {
	p    *Program
	rule *Rule
	// written counts how often each local is written in the outer block at hand, and used says which are used there for more than to read a field of them.
	written map[int]int
	used    map[int]bool
	// carried are locals that a block reads before it writes them.
	carried map[int]bool
	// at are the slots of locals that hold a part of the input, root the input itself.
	at map[int]int
}

// root is the place of the whole input.
const root = -1

func (c *compiler) compile(body []*ir.Block) {
	most := int(ir.Unused)
	c.carried, c.rule.common, c.rule.pure = map[int]bool{}, true, len(c.rule.params) > 2
	params := map[int]bool{}
	for _, l := range c.rule.params {
		params[l], most = true, max(most, l)
	}
	for _, b := range body {
		seen := map[int]bool{}
		eachStmt([]*ir.Block{b}, func(s ir.Stmt) {
			reads, writes := useOf(s)
			for _, o := range reads {
				if l, is := localOf(o); is && !params[l] {
					most = max(most, l)
					c.carried[l] = c.carried[l] || !seen[l]
				}
			}
			for _, l := range writes {
				most, seen[int(*l)] = max(most, int(*l)), true
			}
			c.rule.common = c.rule.common && c.ofAll(s)
			c.rule.pure = c.rule.pure && c.pure(s)
		})
	}
	c.rule.locals = most + 1
	for _, b := range body { // each numbers its locals again, but for those that it leaves to later ones
		c.written, c.used, c.at = map[int]int{}, map[int]bool{}, map[int]int{int(ir.Input): root}
		eachStmt([]*ir.Block{b}, c.count)
		c.rule.blocks = append(c.rule.blocks, c.block(b))
	}
}

func (c *compiler) count(s ir.Stmt) {
	reads, writes := useOf(s)
	for _, l := range writes {
		c.written[int(*l)]++
	}
	dot, _ := s.(*ir.DotStmt)
	for i, o := range reads {
		if l, is := localOf(o); is && (dot == nil || i > 0 || c.constant(dot.Key) == nil) {
			c.used[l] = true
		}
	}
}

// ofAll reports whether a statement reads nothing of the input but what all candidates have in common.
func (c *compiler) ofAll(s ir.Stmt) bool {
	reads, _ := useOf(s)
	if call, ok := s.(*ir.CallStmt); ok {
		if asked := c.p.funcs[call.Func]; asked != nil {
			if !asked.common {
				return false
			}
			reads = reads[2:]
		}
	}
	for i, o := range reads {
		if l, is := localOf(o); !is || l != int(ir.Input) {
			continue
		}
		dot, is := s.(*ir.DotStmt)
		if !is || i > 0 {
			return false
		}
		key := c.constant(dot.Key)
		if key == nil {
			return false
		}
		name, is := key.Value.(ast.String)
		if f := shape().field(string(name)); !is || f == nil || !f.shared {
			return false
		}
	}
	return true
}

func localOf(o ir.Operand) (int, bool) {
	switch v := o.Value.(type) {
	case ir.Local:
		return int(v), true
	case *ir.Local:
		return int(*v), true
	default:
		return 0, false
	}
}

// constant is the term of an operand that is no local, and nil for one that is.
func (c *compiler) constant(o ir.Operand) *ast.Term {
	switch v := o.Value.(type) {
	case ir.StringIndex:
		return c.p.strings[v]
	case *ir.StringIndex:
		return c.p.strings[*v]
	case ir.Bool:
		return ast.InternedTerm(bool(v))
	case *ir.Bool:
		return ast.InternedTerm(bool(*v))
	default:
		return nil
	}
}

// read gives what reads an operand; nil is what it reads where it is undefined.
func (c *compiler) read(o ir.Operand) func(*frame) *ast.Term {
	if k := c.constant(o); k != nil {
		return func(*frame) *ast.Term { return k }
	}
	l, _ := localOf(o)
	if l == int(ir.Input) {
		return func(f *frame) *ast.Term { return f.m.wholeDocument() }
	}
	return func(f *frame) *ast.Term { return f.l[l] }
}

func (c *compiler) blocks(bs []*ir.Block) []block {
	out := make([]block, len(bs))
	for i, b := range bs {
		out[i] = c.block(b)
	}
	return out
}

func (c *compiler) block(b *ir.Block) block {
	var out block
	for i := 0; i < len(b.Stmts); {
		s, n := c.literal(b.Stmts[i:])
		if n == 0 {
			s, n = c.statement(b.Stmts[i]), 1
		}
		out = append(out, s)
		i += n
	}
	return out
}

// literal is a list, a set or an object that is made with its first members by the statements that these begin with: it is made at once. n is how many statements
// that are, 0 where it is not one.
func (c *compiler) literal(ss []ir.Stmt) (s statement, n int) {
	var t ir.Local
	var member func(ir.Stmt) (into ir.Local, of []ir.Operand)
	var build func([]*ast.Term) *ast.Term
	switch m := ss[0].(type) {
	case *ir.MakeArrayStmt:
		t = m.Target
		member = func(s ir.Stmt) (ir.Local, []ir.Operand) {
			if x, ok := s.(*ir.ArrayAppendStmt); ok {
				return x.Array, []ir.Operand{x.Value}
			}
			return -1, nil
		}
		build = func(terms []*ast.Term) *ast.Term { return ast.NewTerm(ast.NewArray(terms...)) }
	case *ir.MakeSetStmt:
		t = m.Target
		member = func(s ir.Stmt) (ir.Local, []ir.Operand) {
			if x, ok := s.(*ir.SetAddStmt); ok {
				return x.Set, []ir.Operand{x.Value}
			}
			return -1, nil
		}
		build = func(terms []*ast.Term) *ast.Term { return ast.NewTerm(ast.NewSet(terms...)) }
	case *ir.MakeObjectStmt:
		t = m.Target
		member = func(s ir.Stmt) (ir.Local, []ir.Operand) {
			if x, ok := s.(*ir.ObjectInsertStmt); ok {
				return x.Object, []ir.Operand{x.Key, x.Value}
			}
			return -1, nil
		}
		build = func(terms []*ast.Term) *ast.Term {
			pairs := make([][2]*ast.Term, len(terms)/2)
			for i := range pairs {
				pairs[i] = [2]*ast.Term{terms[2*i], terms[2*i+1]}
			}
			return ast.NewTerm(ast.NewObject(pairs...))
		}
	default:
		return nil, 0
	}
	var reads []func(*frame) *ast.Term
	for n = 1; n < len(ss); n++ {
		into, of := member(ss[n])
		if into != t || slices.ContainsFunc(of, func(o ir.Operand) bool { l, is := localOf(o); return is && l == int(t) }) {
			break
		}
		reads = append(reads, c.reads(of)...)
	}
	if n == 1 {
		return nil, 0
	}
	if k := c.constants(ss[:n], member); k != nil && c.written[int(t)] == n && !c.carried[int(t)] {
		v := build(k) // it is never added to
		return func(f *frame) int { f.l[t] = v; return next }, n
	}
	return func(f *frame) int {
		terms := make([]*ast.Term, len(reads))
		for i, read := range reads {
			if terms[i] = read(f); terms[i] == nil {
				return f.fail(errUndefined)
			}
		}
		f.l[t] = build(terms)
		return next
	}, n
}

// constants are the members that the statements of a literal give it, nil where one of them is no constant.
func (c *compiler) constants(ss []ir.Stmt, member func(ir.Stmt) (ir.Local, []ir.Operand)) (out []*ast.Term) {
	for _, s := range ss[1:] {
		_, of := member(s)
		for _, o := range of {
			k := c.constant(o)
			if k == nil {
				return nil
			}
			out = append(out, k)
		}
	}
	return out
}
