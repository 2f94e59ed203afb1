package sarif_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/sarif"
	"github.com/winnow-reaper/winnow/test/kit/must"
	published "github.com/winnow-reaper/winnow/test/kit/sarif"
)

var tool = sarif.Tool{Name: "winnow", Version: "1.2.3", URL: "https://example.org/winnow"}

func written(t *testing.T, root string, findings ...sarif.Finding) string {
	t.Helper()
	data, err := json.Marshal(sarif.New(tool, root, []sarif.Rule{{ID: "unknown-field", Short: "A field that is not known.", Help: "Correct it."}}, findings))
	must.Do(t, err)
	if err := published.Valid(data); err != nil {
		t.Fatalf("%v in:\n%s", err, data)
	}
	return string(data)
}

func TestNewIsWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finding sarif.Finding
		want    []string
	}{
		"whole": {
			sarif.Finding{Rule: "unknown-field", Level: sarif.Error, Message: "no <such> field", File: "mine/reap/a.rego", Line: 4, Column: 2, Snippet: "input.naem"},
			[]string{`"results":[{"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"mine/reap/a.rego","uriBaseId":"%SRCROOT%"},` +
				`"region":{"snippet":{"text":"input.naem"},"startColumn":2,"startLine":4}}}],"message":{"text":"no <such> field"},"ruleId":"unknown-field","ruleIndex":0}]`},
		},
		"below the root":    {sarif.Finding{Rule: "unknown-field", Level: sarif.Warning, Message: "m", File: "/w/repo/a b/x#1.rego"}, []string{`"uri":"a%20b/x%231.rego","uriBaseId":"%SRCROOT%"}}`}},
		"beside the root":   {sarif.Finding{Rule: "unknown-field", Level: sarif.Note, Message: "m", File: "/w/repository/x.rego"}, []string{`"uri":"file:///w/repository/x.rego"}`}},
		"another rule":      {sarif.Finding{Rule: "other", Level: sarif.Error, Message: "m", File: "x.rego"}, []string{`"ruleId":"other","ruleIndex":1`, `{"id":"other"}`}},
		"a line, no column": {sarif.Finding{Rule: "other", Level: sarif.Error, Message: "m", File: "c:x.rego", Line: 1}, []string{`"region":{"startLine":1}`, `"uri":"./c:x.rego"`}},
	} {
		text := written(t, "/w/repo", c.finding)
		for _, want := range c.want {
			if !strings.Contains(text, want) && !strings.Contains(text, strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(want)) {
				t.Errorf("%s: want %s in\n%s", name, want, text)
			}
		}
	}
	if text := written(t, "/w/repo"); !strings.Contains(text, `"results":[]`) {
		t.Errorf("without a finding the results are not known and empty:\n%s", text)
	}
}

// TestValidRefuses: a check that takes anything shows nothing.
func TestValidRefuses(t *testing.T) {
	t.Parallel()
	good := written(t, "/w", sarif.Finding{Rule: "r", Level: sarif.Error, Message: "m", File: "x", Line: 1})
	for _, change := range [][2]string{{`"level":"error"`, `"level":"bad"`}, {`"startLine":1`, `"startLine":0`}, {`"version":"2.1.0"`, `"version":"2"`}, {`"ruleId"`, `"rule"`}} {
		if err := published.Valid([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s is taken for SARIF", change[1])
		}
	}
}
