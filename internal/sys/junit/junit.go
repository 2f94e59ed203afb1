// Package junit writes results as JUnit XML, the form in which CI systems show tests. There is no standard; written is what Jenkins' schema
// (jenkinsci/xunit-plugin, junit-10.xsd) allows, and file and line, which GitLab and others read.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Suite is what belongs together, such as the tests of one package.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is one thing that was tested.
type Case struct {
	// Name is what was tested, Class what it belongs to: systems show both.
	Name, Class string
	// File and Line are where it stands; Line counts from 1, 0 is unknown.
	File string
	Line int
	Took time.Duration
	// At most one of these is set. A failure is a wrong result; an error is a test that came to no result.
	Failure, Error, Skipped *Outcome
	// Output is what it printed.
	Output string
}

// Outcome says why a case did not pass: in one line, and whole.
type Outcome struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes the suites under one name. What XML cannot hold, such as a control character, is written as U+FFFD.
func Write(w io.Writer, name string, suites []Suite) error {
	all := testsuites{Name: name, Suites: []testsuite{}}
	var took time.Duration
	for _, s := range suites {
		out := testsuite{Name: s.Name}
		var within time.Duration
		for _, c := range s.Cases {
			out.Cases = append(out.Cases, testcase{
				Name: c.Name, Class: c.Class, File: c.File, Line: c.Line, Time: seconds(c.Took),
				Failure: c.Failure, Error: c.Error, Skipped: c.Skipped, Output: c.Output,
			})
			out.add(c)
			within += c.Took
		}
		out.Time = seconds(within)
		took += within
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+out.Tests, all.Failures+out.Failures, all.Errors+out.Errors, all.Skipped+out.Skipped
		all.Suites = append(all.Suites, out)
	}
	all.Time = seconds(took)
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

type testsuites struct {
	XMLName  xml.Name    `xml:"testsuites"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Suites   []testsuite `xml:"testsuite"`
}

type testsuite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     string     `xml:"time,attr"`
	Cases    []testcase `xml:"testcase"`
}

func (s *testsuite) add(c Case) {
	s.Tests++
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	File    string   `xml:"file,attr,omitempty"`
	Line    int      `xml:"line,attr,omitempty"`
	Time    string   `xml:"time,attr"`
	Failure *Outcome `xml:"failure"`
	Error   *Outcome `xml:"error"`
	Skipped *Outcome `xml:"skipped"`
	Output  string   `xml:"system-out,omitempty"`
}
