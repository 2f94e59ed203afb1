package junit_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/junit"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// suites is the document as a reader of JUnit sees it, written apart from the writer's own types.
type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suite    []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Time     string `xml:"time,attr"`
		Case     []struct {
			Name    string `xml:"name,attr"`
			Class   string `xml:"classname,attr"`
			File    string `xml:"file,attr"`
			Line    string `xml:"line,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
			Output  string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := junit.Write(&out, "winnow policy test", []junit.Suite{
		{Name: "a", Cases: []junit.Case{
			{Name: "passes", Class: "a", Took: 1.5},
			{Name: "fails", Class: "a", File: "a_test.rego", Line: 7, Failure: &junit.Outcome{Message: `is "<no>" & ]]>`, Text: "first\nsecond\x1b[31m"}},
		}},
		{Name: "b", Cases: []junit.Case{
			{Name: "breaks", Class: "b", Error: &junit.Outcome{Message: "x"}, Output: "said"},
			{Name: "later", Class: "b", Skipped: &junit.Outcome{}},
		}},
		{Name: "empty"},
	})
	must.Do(t, err)
	var got suites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 1 || len(got.Suite) != 3 {
		t.Errorf("counted wrongly: %+v", got)
	}
	a, b := got.Suite[0], got.Suite[1]
	if a.Name != "a" || a.Tests != 2 || a.Failures != 1 || a.Time != "1.500" {
		t.Errorf("the first suite: %+v", a)
	}
	f := a.Case[1]
	if f.File != "a_test.rego" || f.Line != "7" || f.Failure == nil || f.Failure.Message != `is "<no>" & ]]>` || f.Failure.Text != "first\nsecond\uFFFD[31m" {
		t.Errorf("the failure: %+v %+v", f, f.Failure)
	}
	if a.Case[0].Failure != nil || a.Case[0].Line != "" || b.Case[0].Error == nil || b.Case[0].Output != "said" || b.Case[1].Skipped == nil {
		t.Errorf("outcomes: %+v, %+v", a.Case[0], b.Case)
	}
	if !strings.HasPrefix(out.String(), "<?xml") || !strings.HasSuffix(out.String(), "</testsuites>\n") {
		t.Errorf("no whole document:\n%s", out.String())
	}
}
