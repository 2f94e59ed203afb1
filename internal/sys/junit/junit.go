// Package junit writes results as JUnit XML, the form in which CI systems show tests. There is no standard; written is what Jenkins' schema
// (jenkinsci/xunit-plugin, junit-10.xsd) allows, and file and line, which GitLab and others read.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
)

// Suite is what belongs together, such as the tests of one package.
type Suite struct {
	Name string `xml:"name,attr"`
	counts
	Cases []Case `xml:"testcase"`
}

// counts are of the cases of one suite, or of all.
type counts struct {
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Took     Seconds `xml:"time,attr"`
}

// Case is one thing that was tested.
type Case struct {
	// Name is what was tested, Class what it belongs to: systems show both.
	Name  string `xml:"name,attr"`
	Class string `xml:"classname,attr"`
	// File and Line are where it stands; Line counts from 1, 0 is unknown.
	File string  `xml:"file,attr,omitempty"`
	Line int     `xml:"line,attr,omitempty"`
	Took Seconds `xml:"time,attr"`
	// At most one of these is set. A failure is a wrong result; an error is a test that came to no result.
	Failure *Outcome `xml:"failure"`
	Error   *Outcome `xml:"error"`
	Skipped *Outcome `xml:"skipped"`
	// Output is what it printed.
	Output string `xml:"system-out,omitempty"`
}

// Seconds is a time that is written in seconds, with three digits behind the point.
type Seconds float64

// MarshalText implements encoding.TextMarshaler.
func (s Seconds) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(s)), nil
}

// Outcome says why a case did not pass: in one line, and whole.
type Outcome struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes the suites under one name. What XML cannot hold, such as a control character, is written as U+FFFD.
func Write(w io.Writer, name string, suites []Suite) error {
	all := struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		counts
		Suites []Suite `xml:"testsuite"`
	}{Name: name, Suites: slices.Clone(suites)}
	for i := range all.Suites {
		s := &all.Suites[i]
		for _, c := range s.Cases {
			s.add(c)
			all.add(c)
		}
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func (s *counts) add(c Case) {
	s.Tests++
	s.Took += c.Took
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
}
