package decisionlog_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/decisionlog"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestFieldsAreOPAs holds the fields of an event against those of the OPA that this program is built with, by its source.
func TestFieldsAreOPAs(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
	must.Do(t, err)
	plugin := filepath.Join(strings.TrimSpace(string(out)), "v1", "plugins", "logs", "plugin.go")
	file := must.Get(parser.ParseFile(token.NewFileSet(), plugin, nil, parser.SkipObjectResolution))(t)
	theirs := map[string]map[string]string{"EventV1": {}, "BundleInfoV1": {}}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || theirs[spec.Name.Name] == nil {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if f.Tag != nil {
				name, rest, _ := strings.Cut(reflect.StructTag(must.Get(strconv.Unquote(f.Tag.Value))(t)).Get("json"), ",")
				theirs[spec.Name.Name][name] = rest
			}
		}
		return false
	})
	for ours, name := range map[reflect.Type]string{reflect.TypeFor[decisionlog.Event](): "EventV1", reflect.TypeFor[decisionlog.Bundle](): "BundleInfoV1"} {
		for f := range ours.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, ok := theirs[name][key]; !ok {
				t.Errorf("%s has no field %q: %v", name, key, theirs[name])
			}
		}
		for key, rest := range theirs[name] { // what OPA always writes, others rely on
			_, ok := ours.FieldByNameFunc(func(field string) bool {
				f, _ := ours.FieldByName(field)
				mine, more, _ := strings.Cut(f.Tag.Get("json"), ",")
				return mine == key && more == ""
			})
			if rest == "" && key != "-" && !ok {
				t.Errorf("%s.%s is always written by OPA, and not here", name, key)
			}
		}
	}
}
