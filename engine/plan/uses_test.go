package plan

import (
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ir"
)

// TestWhatStatementsReadAndWrite holds that what is added to is read and written: a list that was built once and is added to later must not be shared.
func TestWhatStatementsReadAndWrite(t *testing.T) {
	one, two := ir.Operand{Value: ir.Local(1)}, ir.Operand{Value: ir.Local(2)}
	for name, c := range map[string]struct {
		statement     ir.Stmt
		reads, writes []ir.Local
	}{
		"a list is added to":            {&ir.ArrayAppendStmt{Value: one, Array: 9}, []ir.Local{1, 9}, []ir.Local{9}},
		"a set is added to":             {&ir.SetAddStmt{Value: one, Set: 9}, []ir.Local{1, 9}, []ir.Local{9}},
		"an object is added to":         {&ir.ObjectInsertStmt{Key: one, Value: two, Object: 9}, []ir.Local{1, 2, 9}, []ir.Local{9}},
		"an object is added to once":    {&ir.ObjectInsertOnceStmt{Key: one, Value: two, Object: 9}, []ir.Local{1, 2, 9}, []ir.Local{9}},
		"a local is set once":           {&ir.AssignVarOnceStmt{Source: one, Target: 9}, []ir.Local{1, 9}, []ir.Local{9}},
		"a local is set":                {&ir.AssignVarStmt{Source: one, Target: 9}, []ir.Local{1}, []ir.Local{9}},
		"a local is emptied":            {&ir.ResetLocalStmt{Target: 9}, nil, []ir.Local{9}},
		"a member is read":              {&ir.DotStmt{Source: one, Key: two, Target: 9}, []ir.Local{1, 2}, []ir.Local{9}},
		"the members are gone through":  {&ir.ScanStmt{Source: 3, Key: 8, Value: 9}, []ir.Local{3}, []ir.Local{8, 9}},
		"a function is called":          {&ir.CallStmt{Args: []ir.Operand{one, two}, Result: 9}, []ir.Local{1, 2}, []ir.Local{9}},
		"two are compared":              {&ir.EqualStmt{A: one, B: two}, []ir.Local{1, 2}, nil},
		"a function gives what it made": {&ir.ReturnLocalStmt{Source: 3}, []ir.Local{3}, nil},
	} {
		operands, writes := useOf(c.statement, nil, nil)
		var reads []ir.Local
		for _, o := range operands {
			reads = append(reads, o.Value.(ir.Local))
		}
		slices.Sort(reads)
		slices.Sort(writes)
		if !slices.Equal(reads, c.reads) || !slices.Equal(writes, c.writes) {
			t.Errorf("%s: it reads %v and writes %v, want %v and %v", name, reads, writes, c.reads, c.writes)
		}
	}
}
