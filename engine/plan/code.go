package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// format is the first byte of an encoded plan, which changes with what the bytes mean.
const format = 2

var errCode = errors.New("an encoded plan is damaged")

// kinds are the statements that can be encoded; a statement's tag is its place here.
var kinds = []ir.Stmt{
	&ir.ReturnLocalStmt{}, &ir.CallStmt{}, &ir.BlockStmt{}, &ir.BreakStmt{}, &ir.DotStmt{}, &ir.LenStmt{}, &ir.ScanStmt{}, &ir.NotStmt{},
	&ir.AssignIntStmt{}, &ir.AssignVarStmt{}, &ir.AssignVarOnceStmt{}, &ir.ResetLocalStmt{}, &ir.MakeNullStmt{}, &ir.MakeNumberIntStmt{},
	&ir.MakeNumberRefStmt{}, &ir.MakeArrayStmt{}, &ir.MakeObjectStmt{}, &ir.MakeSetStmt{}, &ir.EqualStmt{}, &ir.NotEqualStmt{}, &ir.IsArrayStmt{},
	&ir.IsObjectStmt{}, &ir.IsSetStmt{}, &ir.IsDefinedStmt{}, &ir.IsUndefinedStmt{}, &ir.ArrayAppendStmt{}, &ir.ObjectInsertStmt{},
	&ir.ObjectInsertOnceStmt{}, &ir.SetAddStmt{}, &ir.NopStmt{},
}

// Encode writes a plan as bytes, so that Decode makes a program of it without the rules; an error where New refuses it.
func Encode(p *ir.Policy) ([]byte, error) {
	if _, err := New(p); err != nil {
		return nil, err
	}
	c := &coder{data: []byte{format}}
	n := len(p.Static.Strings)
	c.number(&n)
	for _, s := range p.Static.Strings {
		c.text(&s.Value)
	}
	names := called(p)
	c.texts(&names)
	n = len(p.Funcs.Funcs)
	c.number(&n)
	for _, f := range p.Funcs.Funcs {
		name, path := f.Name, pathOf(f)
		c.text(&name)
		c.text(&path)
		params := make([]int, len(f.Params))
		for i, l := range f.Params {
			params[i] = int(l)
		}
		c.numbers(&params)
		body := &coder{names: names}
		blocks := f.Blocks
		body.blocks(&blocks)
		code := string(body.data)
		c.text(&code)
		if body.err != nil {
			return nil, body.err
		}
	}
	return c.data, c.err
}

// called are the functions that a plan calls, sorted.
func called(p *ir.Policy) []string {
	names := map[string]bool{}
	for _, f := range p.Funcs.Funcs {
		eachStmt(f.Blocks, func(s ir.Stmt) {
			if call, ok := s.(*ir.CallStmt); ok {
				names[call.Func] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(names))
}

func pathOf(f *ir.Func) string {
	if len(f.Path) < 2 {
		return ""
	}
	return strings.Join(f.Path[1:], "/")
}

// Decode makes a program of what Encode wrote. The bytes must not change afterwards: each function is read when it is needed first.
func Decode(data []byte) (*Program, error) {
	if len(data) == 0 || data[0] != format {
		return nil, fmt.Errorf("%w: another format", errCode)
	}
	c := &coder{data: data[1:], reads: true}
	var n int
	c.number(&n)
	p := newProgram(min(n, len(data)))
	for i := 0; i < n && c.err == nil; i++ {
		var s string
		c.text(&s)
		p.strings = append(p.strings, ast.StringTerm(s))
	}
	var names []string
	c.texts(&names)
	c.number(&n)
	for i := 0; i < n && c.err == nil; i++ {
		var name, path, code string
		r := &Rule{}
		c.text(&name)
		c.text(&path)
		c.numbers(&r.params)
		c.text(&code)
		r.body = func() ([]*ir.Block, error) {
			body := &coder{data: []byte(code), reads: true, names: names}
			var out []*ir.Block
			body.blocks(&out)
			return out, body.err
		}
		p.add(name, path, r)
	}
	if c.err == nil && len(c.data) > 0 {
		c.err = fmt.Errorf("%w: %d bytes too many", errCode, len(c.data))
	}
	return p, c.err
}

// coder writes a plan, or reads what it wrote: all that it is given is written, or filled in.
type coder struct {
	data  []byte
	reads bool
	// names are the functions that are called, sorted; a call has its place here.
	names []string
	err   error
}

func (c *coder) number(n *int) {
	if !c.reads {
		c.data = binary.AppendVarint(c.data, int64(*n))
		return
	}
	v, size := binary.Varint(c.data)
	if size <= 0 || c.err != nil {
		c.err = errCode
		return
	}
	c.data, *n = c.data[size:], int(v)
}

// count is a number of things that follow, each of a byte at least.
func (c *coder) count(n *int) {
	if c.number(n); c.reads && (c.err != nil || *n < 0 || *n > len(c.data)) {
		c.err, *n = errCode, 0
	}
}

func (c *coder) text(s *string) {
	n := len(*s)
	c.count(&n)
	if !c.reads {
		c.data = append(c.data, *s...)
		return
	}
	*s, c.data = string(c.data[:n]), c.data[n:]
}

func (c *coder) texts(ss *[]string) {
	n := len(*ss)
	if c.count(&n); c.reads {
		*ss = make([]string, n)
	}
	for i := range *ss {
		c.text(&(*ss)[i])
	}
}

// name is one of the functions that are called.
func (c *coder) name(s *string) {
	var n int
	if !c.reads {
		n, _ = slices.BinarySearch(c.names, *s)
	}
	c.number(&n)
	switch {
	case !c.reads:
	case n < 0 || n >= len(c.names):
		c.err = errCode
	default:
		*s = c.names[n]
	}
}

func (c *coder) numbers(ns *[]int) {
	n := len(*ns)
	if c.count(&n); c.reads {
		*ns = make([]int, n)
	}
	for i := range *ns {
		c.number(&(*ns)[i])
	}
}

func (c *coder) int64(n *int64) {
	v := int(*n)
	c.number(&v)
	*n = int64(v)
}

// operand is a local, a text or a truth, told apart by the last two bits.
func (c *coder) operand(o *ir.Operand) {
	var n int
	switch v := o.Value.(type) {
	case ir.Local:
		n = int(v) << 2
	case ir.StringIndex:
		n = int(v)<<2 | 1
	case ir.Bool:
		n = 2
		if v {
			n = 3
		}
	case nil:
		if !c.reads {
			c.err = errCode
		}
	default:
		c.err = fmt.Errorf("encode a plan: operand %T", v)
	}
	if c.number(&n); !c.reads {
		return
	}
	switch n & 3 {
	case 0:
		o.Value = ir.Local(n >> 2)
	case 1:
		o.Value = ir.StringIndex(n >> 2)
	default:
		o.Value = ir.Bool(n == 3)
	}
}

func (c *coder) operands(os *[]ir.Operand) {
	n := len(*os)
	if c.count(&n); c.reads {
		*os = make([]ir.Operand, n)
	}
	for i := range *os {
		c.operand(&(*os)[i])
	}
}

func (c *coder) blocks(bs *[]*ir.Block) {
	n := len(*bs)
	if c.count(&n); c.reads {
		*bs = make([]*ir.Block, n)
	}
	for i := range *bs {
		c.block(&(*bs)[i])
	}
}

func (c *coder) block(b **ir.Block) {
	if c.reads {
		*b = &ir.Block{}
	}
	n := len((*b).Stmts)
	if c.count(&n); c.reads {
		(*b).Stmts = make([]ir.Stmt, n)
	}
	for i := range (*b).Stmts {
		c.statement(&(*b).Stmts[i])
	}
}

func (c *coder) statement(s *ir.Stmt) {
	var tag int
	if !c.reads {
		tag = slices.IndexFunc(kinds, func(k ir.Stmt) bool { return reflect.TypeOf(k) == reflect.TypeOf(*s) })
	}
	if c.number(&tag); c.err == nil && (tag < 0 || tag >= len(kinds)) {
		c.err = errCode
	}
	if c.err != nil {
		return
	}
	if c.reads {
		made, _ := reflect.TypeAssert[ir.Stmt](reflect.New(reflect.TypeOf(kinds[tag]).Elem()))
		*s = made
	}
	c.fields(*s)
}

// fields are those of a statement, but for where it stands in the file.
func (c *coder) fields(s ir.Stmt) {
	p, _ := partsOf(s)
	for _, o := range p.operands {
		c.operand(o)
	}
	for _, l := range slices.Concat(p.reads, p.adds, p.writes) {
		c.number((*int)(l))
	}
	switch s := s.(type) {
	case *ir.CallStmt:
		c.name(&s.Func)
		c.operands(&s.Args)
	case *ir.BlockStmt:
		c.blocks(&s.Blocks)
	case *ir.ScanStmt:
		c.block(&s.Block)
	case *ir.NotStmt:
		c.block(&s.Block)
	case *ir.BreakStmt:
		n := int(s.Index)
		c.number(&n)
		s.Index = uint32(n) //nolint:gosec // it was one
	case *ir.AssignIntStmt:
		c.int64(&s.Value)
	case *ir.MakeNumberIntStmt:
		c.int64(&s.Value)
	case *ir.MakeNumberRefStmt:
		c.number(&s.Index)
	}
}
