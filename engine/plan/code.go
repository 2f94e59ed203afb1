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
const format = 3

var errCode = errors.New("an encoded plan is damaged")

// encoded is a plan as it is written. Names are the functions that are called, sorted.
type encoded struct {
	Strings, Names []string
	Funcs          []encodedFunc
}

// encodedFunc is one function of it. Code is what its blocks were written as: each function is read when it is needed first.
type encodedFunc struct {
	Name, Path string
	Params     []ir.Local
	Code       string
}

// Encode writes a plan as bytes, so that Decode makes a program of it without the rules; an error where New refuses it.
func Encode(p *ir.Policy) ([]byte, error) {
	if _, err := New(p); err != nil {
		return nil, err
	}
	e := encoded{Names: called(p)}
	for _, s := range p.Static.Strings {
		e.Strings = append(e.Strings, s.Value)
	}
	for _, f := range p.Funcs.Funcs {
		code := &coder{names: e.Names}
		code.value(reflect.ValueOf(&f.Blocks).Elem())
		if code.err != nil {
			return nil, code.err
		}
		e.Funcs = append(e.Funcs, encodedFunc{f.Name, pathOf(f), f.Params, string(code.data)})
	}
	c := &coder{data: []byte{format}}
	c.value(reflect.ValueOf(&e).Elem())
	return c.data, c.err
}

// called are the functions that a plan calls, sorted; never nil.
func called(p *ir.Policy) []string {
	names := map[string]bool{}
	for _, f := range p.Funcs.Funcs {
		eachStmt(f.Blocks, func(s ir.Stmt) {
			if call, ok := s.(*ir.CallStmt); ok {
				names[call.Func] = true
			}
		})
	}
	return append([]string{}, slices.Sorted(maps.Keys(names))...)
}

func pathOf(f *ir.Func) string {
	if len(f.Path) < 2 {
		return ""
	}
	return strings.Join(f.Path[1:], "/")
}

// Decode makes a program of what Encode wrote. The bytes must not change afterwards.
func Decode(data []byte) (*Program, error) {
	if len(data) == 0 || data[0] != format {
		return nil, fmt.Errorf("%w: another format", errCode)
	}
	var e encoded
	c := &coder{data: data[1:], reads: true}
	c.value(reflect.ValueOf(&e).Elem())
	if c.err == nil && len(c.data) > 0 {
		c.err = fmt.Errorf("%w: %d bytes too many", errCode, len(c.data))
	}
	if c.err != nil {
		return nil, c.err
	}
	p := newProgram(len(e.Funcs))
	for _, s := range e.Strings {
		p.strings = append(p.strings, ast.StringTerm(s))
	}
	for _, f := range e.Funcs {
		p.add(f.Name, f.Path, &Rule{params: f.Params, body: func() (out []*ir.Block, err error) {
			body := &coder{data: []byte(f.Code), reads: true, names: e.Names}
			body.value(reflect.ValueOf(&out).Elem())
			return out, body.err
		}})
	}
	return p, nil
}

// coder writes a plan, or reads what it wrote: all that it is given is written, or filled in.
type coder struct {
	data  []byte
	reads bool
	// names are the functions that are called: in the code of a function a text is the place of one. nil outside of it.
	names []string
	err   error
}

var place = reflect.TypeFor[ir.Location]()

// value is written by its type. Where a statement stands in a file is left out.
func (c *coder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		switch to := v.Addr().Interface().(type) {
		case *ir.Stmt:
			c.statement(to)
		case *ir.Val:
			c.operand(to)
		}
	case reflect.Pointer:
		if c.reads {
			v.Set(reflect.New(v.Type().Elem()))
		}
		c.value(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.Type() != place && c.err == nil {
				c.value(f)
			}
		}
	case reflect.Slice:
		if n := c.count(v.Len()); c.reads {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	case reflect.String:
		c.text(v)
	case reflect.Uint32:
		if n := c.number(int(v.Uint())); c.reads { //nolint:gosec // it has 32 bits
			v.SetUint(uint64(uint32(n))) //nolint:gosec // it was one
		}
	default:
		if n := c.number(int(v.Int())); c.reads {
			v.SetInt(int64(n))
		}
	}
}

// statement has its place among all statements before its fields.
func (c *coder) statement(s *ir.Stmt) {
	tag := 0
	if !c.reads {
		tag = slices.IndexFunc(statements, func(k ir.Stmt) bool { return reflect.TypeOf(k) == reflect.TypeOf(*s) })
	}
	if tag = c.number(tag); c.err == nil && (tag < 0 || tag >= len(statements)) {
		c.err = errCode
	}
	if c.err != nil {
		return
	}
	if c.reads {
		*s, _ = reflect.New(reflect.TypeOf(statements[tag]).Elem()).Interface().(ir.Stmt)
	}
	c.value(reflect.ValueOf(*s).Elem())
}

// operand is a local, a text or a truth, told apart by the last two bits.
func (c *coder) operand(o *ir.Val) {
	n := 0
	switch v := (*o).(type) {
	case ir.Local:
		n = int(v) << 2
	case ir.StringIndex:
		n = int(v)<<2 | 1
	case ir.Bool:
		if n = 2; v {
			n = 3
		}
	default:
		if !c.reads {
			c.err = fmt.Errorf("encode a plan: operand %T", v)
		}
	}
	switch n = c.number(n); {
	case !c.reads:
	case n&3 == 0:
		*o = ir.Local(n >> 2)
	case n&3 == 1:
		*o = ir.StringIndex(n >> 2)
	default:
		*o = ir.Bool(n&3 == 3)
	}
}

// text is a text with its length, or one of names.
func (c *coder) text(v reflect.Value) {
	s, n := v.String(), 0
	switch {
	case c.names == nil:
		if n = c.count(len(s)); c.reads {
			s, c.data = string(c.data[:n]), c.data[n:]
			v.SetString(s)
			return
		}
		c.data = append(c.data, s...)
	case !c.reads:
		n, _ = slices.BinarySearch(c.names, s)
		c.number(n)
	default:
		if n = c.number(0); n < 0 || n >= len(c.names) {
			c.err = errCode
			return
		}
		v.SetString(c.names[n])
	}
}

// number writes n, or gives what is read in its place.
func (c *coder) number(n int) int {
	if !c.reads {
		c.data = binary.AppendVarint(c.data, int64(n))
		return n
	}
	v, size := binary.Varint(c.data)
	if size <= 0 || c.err != nil {
		c.err = errCode
		return 0
	}
	c.data = c.data[size:]
	return int(v)
}

// count is a number of things that follow, each of a byte at least.
func (c *coder) count(n int) int {
	if n = c.number(n); c.reads && (c.err != nil || n < 0 || n > len(c.data)) {
		c.err, n = errCode, 0
	}
	return n
}
