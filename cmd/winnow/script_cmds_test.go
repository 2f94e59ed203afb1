package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	sariftest "github.com/winnow-reaper/winnow/test/kit/sarif"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func setBack(span string, abs func(string) string, paths []string) error {
	d, err := time.ParseDuration(span)
	if err != nil {
		return err
	}
	then := time.Now().Add(-d)
	for _, p := range paths {
		if err := os.Chtimes(abs(p), then, then); err != nil {
			return err
		}
	}
	return nil
}

// validCmd holds a document against the published schema of its kind: [!] valid FILE NAME.
func validCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] valid FILE NAME")
	}
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "reference", "schemas", args[1]+".json"))
	ts.Check(err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if err := s.Validate(doc); (err != nil) != neg {
		ts.Fatalf("%s against the schema of a %s: %v", args[0], args[1], err)
	}
}

// exitCode runs a command and demands its exit code: code N command...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	if got := exitOf(ts, args[1:]); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s exited with %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// until runs a command again until its exit code and its output are as wanted: until N PATTERN command... While other processes of this
// machine begin and end, what an orphan was started by may not be known, and a sweep keeps it.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until N PATTERN command...")
	}
	want := regexp.MustCompile("(?m)" + args[1])
	for end := time.Now().Add(wait.Patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if got := exitOf(ts, args[2:]); strconv.Itoa(got) == args[0] && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never exited with %s and wrote %s", strings.Join(args[2:], " "), args[0], want)
}

// exitOf gives the exit code of a command.
func exitOf(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	return exit.ExitCode()
}

// tmuxID puts the id of a session of the script's default tmux server into a variable: tmuxid VAR NAME.
func tmuxID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmuxid VAR NAME")
	}
	ts.Check(ts.Exec("tmux", "display-message", "-p", "-t", "="+args[1]+":", "#{session_id}"))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// jsonPath compares a value in a JSON file: jsonpath FILE PATH WANT. The path's parts are split at | ; a part is a key, an index, or
// key=value, the first element of a list that has it. "-" means the value is absent, "*" any value.
func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] jsonpath FILE PATH WANT")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	got, ok := at(doc, strings.Split(args[1], "|"))
	text := "-"
	if ok {
		b, err := json.Marshal(got)
		ts.Check(err)
		text = strings.Trim(string(b), `"`)
	}
	same := text == args[2] || ok && args[2] == "*"
	if same == neg {
		ts.Fatalf("%s: %s is %s, want %s", args[0], args[1], text, args[2])
	}
}

func at(doc any, path []string) (any, bool) {
	for _, part := range path {
		switch x := doc.(type) {
		case map[string]any:
			v, ok := x[part]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			v, ok := element(x, part)
			if !ok {
				return nil, false
			}
			doc = v
		default:
			return nil, false
		}
	}
	return doc, true
}

func element(list []any, part string) (any, bool) {
	if part == "len" {
		return len(list), true
	}
	if key, want, ok := strings.Cut(part, "="); ok {
		for _, e := range list {
			if m, isMap := e.(map[string]any); isMap && strings.HasSuffix(fmt.Sprint(m[key]), want) {
				return e, true
			}
		}
		return nil, false
	}
	var i int
	if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

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
