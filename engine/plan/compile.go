package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

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

// statements are those that machines run, and can be encoded. The others are with, the merging of objects and calls of what is not known before: our lint
// refuses the first, and no rule of ours needs the others.
var statements = []ir.Stmt{
	&ir.ReturnLocalStmt{}, &ir.CallStmt{}, &ir.BlockStmt{}, &ir.BreakStmt{}, &ir.DotStmt{}, &ir.LenStmt{}, &ir.ScanStmt{}, &ir.NotStmt{},
	&ir.AssignIntStmt{}, &ir.AssignVarStmt{}, &ir.AssignVarOnceStmt{}, &ir.ResetLocalStmt{}, &ir.MakeNullStmt{}, &ir.MakeNumberIntStmt{},
	&ir.MakeNumberRefStmt{}, &ir.MakeArrayStmt{}, &ir.MakeObjectStmt{}, &ir.MakeSetStmt{}, &ir.EqualStmt{}, &ir.NotEqualStmt{}, &ir.IsArrayStmt{},
	&ir.IsObjectStmt{}, &ir.IsSetStmt{}, &ir.IsDefinedStmt{}, &ir.IsUndefinedStmt{}, &ir.ArrayAppendStmt{}, &ir.ObjectInsertStmt{},
	&ir.ObjectInsertOnceStmt{}, &ir.SetAddStmt{}, &ir.NopStmt{},
}

// use is what a statement does with a local in one of its fields. What is added to is read and written.
type use struct {
	field         int
	reads, writes bool
}

// uses are those of all statements, by their types: fields of ir that are locals say by their names what becomes of them.
var uses = sync.OnceValue(func() map[reflect.Type][]use {
	all := map[reflect.Type][]use{}
	for _, s := range statements {
		t, of := reflect.TypeOf(s).Elem(), []use{}
		for i := range t.NumField() {
			switch f := t.Field(i); {
			case f.Type == reflect.TypeFor[ir.Operand](), f.Type == reflect.TypeFor[ir.Local]() && f.Name == "Source":
				of = append(of, use{i, true, false})
			case f.Type != reflect.TypeFor[ir.Local]():
			case f.Name == "Array", f.Name == "Object", f.Name == "Set", t == reflect.TypeFor[ir.AssignVarOnceStmt]():
				of = append(of, use{i, true, true})
			default:
				of = append(of, use{i, false, true})
			}
		}
		all[t] = of
	}
	return all
})

// useOf adds what a statement reads, and the locals that it writes.
func useOf(s ir.Stmt, reads []ir.Operand, writes []ir.Local) ([]ir.Operand, []ir.Local) {
	if call, ok := s.(*ir.CallStmt); ok {
		reads = append(reads, call.Args...)
	}
	v := reflect.ValueOf(s).Elem()
	for _, u := range uses()[v.Type()] {
		switch f := v.Field(u.field).Addr().Interface().(type) {
		case *ir.Operand:
			reads = append(reads, *f)
		case *ir.Local:
			if u.reads {
				reads = append(reads, ir.Operand{Value: *f})
			}
			if u.writes {
				writes = append(writes, *f)
			}
		}
	}
	return reads, writes
}

// unknown says in words what the rules do that have these statements.
var unknown = map[string]string{
	"*ir.CallDynamicStmt": "refers to a rule by a computed name", "*ir.ObjectMergeStmt": "reads rules as the members of an object",
}

// known says what of a function no machine can run: relations have many values, and what is not deterministic is for topdown to remember.
func (p *Program) known(f *ir.Func) (err error) {
	eachStmt(f.Blocks, func(s ir.Stmt) {
		if uses()[reflect.TypeOf(s).Elem()] == nil && err == nil {
			kind := fmt.Sprintf("%T", s)
			err = fmt.Errorf("run a plan: %s %s, which is not known", strings.TrimPrefix(f.Name, "g0.data.policies."), cmp.Or(unknown[kind], "has a statement "+kind))
		}
		if call, ok := s.(*ir.CallStmt); ok && err == nil && p.funcs[call.Func] == nil {
			if b := ast.BuiltinMap[call.Func]; b == nil || b.Relation || b.IsNondeterministic() || topdown.GetBuiltin(call.Func) == nil {
				err = fmt.Errorf("run a plan: %s calls %s, which is not known", f.Name, call.Func)
			}
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
		params[int(l)], most = true, max(most, int(l))
	}
	reads, writes := []ir.Operand{}, []ir.Local{} // used again for each statement
	written, used := make([]map[int]int, len(body)), make([]map[int]bool, len(body))
	for i, b := range body { // each numbers its locals again, but for those that it leaves to later ones
		seen := map[int]bool{}
		c.written, c.used = map[int]int{}, map[int]bool{}
		written[i], used[i] = c.written, c.used
		eachStmt([]*ir.Block{b}, func(s ir.Stmt) {
			reads, writes = useOf(s, reads[:0], writes[:0])
			dot, _ := s.(*ir.DotStmt)
			for i, o := range reads {
				l, is := localOf(o)
				if is && !params[l] {
					most = max(most, l)
					c.carried[l] = c.carried[l] || !seen[l]
				}
				if is && (dot == nil || i > 0 || c.constant(dot.Key) == nil) {
					c.used[l] = true
				}
			}
			for _, l := range writes {
				most, seen[int(l)] = max(most, int(l)), true
				c.written[int(l)]++
			}
			c.rule.common = c.rule.common && c.ofAll(s, reads)
			c.rule.pure = c.rule.pure && c.pure(s, reads)
		})
	}
	c.rule.locals = most + 1
	for i, b := range body {
		c.written, c.used, c.at = written[i], used[i], map[int]int{int(ir.Input): root}
		c.rule.blocks = append(c.rule.blocks, c.block(b))
	}
}

// ofAll reports whether a statement with these operands reads nothing of the input but what all candidates have in common.
func (c *compiler) ofAll(s ir.Stmt, reads []ir.Operand) bool {
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

// memberOf is what a statement adds, and to which list, set or object; -1 where it adds nothing.
func memberOf(s ir.Stmt) (into ir.Local, of []ir.Operand) {
	switch s := s.(type) {
	case *ir.ArrayAppendStmt:
		return s.Array, []ir.Operand{s.Value}
	case *ir.SetAddStmt:
		return s.Set, []ir.Operand{s.Value}
	case *ir.ObjectInsertStmt:
		return s.Object, []ir.Operand{s.Key, s.Value}
	}
	return -1, nil
}

func newList(terms []*ast.Term) ast.Value { return ast.NewArray(terms...) }

func newSet(terms []*ast.Term) ast.Value { return ast.NewSet(terms...) }

func newObject(terms []*ast.Term) ast.Value {
	var pairs [][2]*ast.Term
	for pair := range slices.Chunk(terms, 2) {
		pairs = append(pairs, [2]*ast.Term(pair))
	}
	return ast.NewObject(pairs...)
}

// literal is a list, a set or an object that is made with its first members by the statements that these begin with: it is made at once. n is how many statements
// that are, 0 where it is not one.
func (c *compiler) literal(ss []ir.Stmt) (s statement, n int) {
	var t ir.Local
	var build func([]*ast.Term) ast.Value
	switch m := ss[0].(type) {
	case *ir.MakeArrayStmt:
		t, build = m.Target, newList
	case *ir.MakeSetStmt:
		t, build = m.Target, newSet
	case *ir.MakeObjectStmt:
		t, build = m.Target, newObject
	default:
		return nil, 0
	}
	var members []ir.Operand
	for n = 1; n < len(ss); n++ {
		into, of := memberOf(ss[n])
		if into != t || slices.ContainsFunc(of, func(o ir.Operand) bool { l, is := localOf(o); return is && l == int(t) }) {
			break
		}
		members = append(members, of...)
	}
	if n == 1 {
		return nil, 0
	}
	if k := c.constants(members); k != nil && c.written[int(t)] == n && !c.carried[int(t)] {
		v := ast.NewTerm(build(k)) // it is never added to
		return func(f *frame) int { f.l[t] = v; return next }, n
	}
	reads := c.reads(members)
	return func(f *frame) int {
		terms := make([]*ast.Term, len(reads))
		for i, read := range reads {
			if terms[i] = read(f); terms[i] == nil {
				return f.fail(errUndefined)
			}
		}
		f.l[t] = ast.NewTerm(build(terms))
		return next
	}, n
}

// constants are the terms of operands, nil where one of them is no constant.
func (c *compiler) constants(operands []ir.Operand) (out []*ast.Term) {
	for _, o := range operands {
		k := c.constant(o)
		if k == nil {
			return nil
		}
		out = append(out, k)
	}
	return out
}
