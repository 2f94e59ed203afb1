package lint

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxDigits and maxExponent bound a number: 1e1000000000 is eleven bytes, and 400 MB as soon as somebody counts with it.
const (
	maxDigits   = 300
	maxExponent = 300
)

// smallNumbers: what counts with a number makes all of its digits.
func smallNumbers(m *ast.Module, _ string) Refusals {
	var refused Refusals
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if n, ok := t.Value.(ast.Number); ok && !small(string(n)) {
			refused = append(refused, refusalAt(ClassLimit, t.Location, fmt.Sprintf("the number %.20s... is too large to count with", string(n)), "write a smaller one"))
		}
		return false
	})
	return refused
}

// small reports whether a number has few digits when it is written out.
func small(n string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	exponent = strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	if len(digits) > maxDigits || len(exponent) > len(fmt.Sprint(maxExponent)) {
		return false
	}
	value := 0
	for _, c := range exponent {
		value = 10*value + int(c-'0')
	}
	return value <= maxExponent
}
