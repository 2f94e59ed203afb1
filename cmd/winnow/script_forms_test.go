package main

import (
	"encoding/xml"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	sariftest "github.com/winnow-reaper/winnow/test/kit/sarif"
)

// sarifCmd holds a file, or stdout, against the published schema of SARIF: sarif FILE.
func sarifCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sarif FILE")
	}
	ts.Check(sariftest.Valid([]byte(ts.ReadFile(args[0]))))
}

// junitCmd counts the cases in a file, or stdout, and those of them that failed, came to no result and were skipped: junit FILE CASES FAILED ERRORS [SKIPPED].
// What the suites say of themselves must be the same.
func junitCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: junit FILE CASES FAILED ERRORS [SKIPPED]")
	}
	type counts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	var doc struct {
		XMLName xml.Name `xml:"testsuites"`
		counts
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	ts.Check(xml.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	var found counts
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			found.Tests++
			found.Failures += one(c.Failure != nil)
			found.Errors += one(c.Error != nil)
			found.Skipped += one(c.Skipped != nil)
			if c.Name == "" {
				ts.Fatalf("a case without a name")
			}
		}
	}
	want := counts{number(ts, args[1]), number(ts, args[2]), number(ts, args[3]), 0}
	if len(args) > 4 {
		want.Skipped = number(ts, args[4])
	}
	if found != want || doc.counts != found {
		ts.Fatalf("want %+v, found %+v, and the document says %+v", want, found, doc.counts)
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
