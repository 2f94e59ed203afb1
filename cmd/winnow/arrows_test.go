package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	musts "github.com/winnow-reaper/winnow/test/kit/must"
)

// arrow is an import that must not be, with the reason.
type arrow struct {
	from, to string
	except   []string
	why      string
}

// actCalls is where each client of a protocol in internal keeps its changing calls (a signal, a kill-session, a close): internal/sys/proc
// reads, and internal/sys/proc/act, whose types embed or take those of proc, acts.
const actCalls = "winnow/internal/sys/*/act"

// testJudge is the judge of the tests of actuators. It wires collectors, engine and policies as cmd does, so their arrows do not have it.
const testJudge = "winnow/test/kit/judge"

// forTests are kits for tests of our own packages, and no servers.
var forTests = []string{testJudge, "winnow/test/kit/rules", "winnow/test/kit/worlds"}

// faces is what review and top may import.
var faces = strings.Fields(`winnow/engine/decision winnow/engine/snapshot winnow/engine/subject winnow/internal/config
	winnow/internal/report winnow/internal/screen winnow/internal/story winnow/internal/text`)

// sole says of a package which others alone may import it, and why.
var sole = map[string]struct {
	by  []string
	why string
}{
	"winnow/actuators": {[]string{"winnow/actuators", "winnow/internal/sweep", "winnow/internal/config", "winnow/internal/report",
		"winnow/internal/look", "winnow/cmd/winnow", "winnow/test"}, "acts are reached through sweep; the others take its caps, and what a folder takes up"},
	"winnow/engine/plan": {[]string{"winnow/engine/eval", "winnow/engine/sandbox"}, "OPA's plan is run by what decides, here or in a process apart"},
}

var arrows = []arrow{
	{"winnow", testJudge, nil, "it is for tests: the program's own judge is in cmd"},
	{testJudge, "winnow/", []string{"winnow/actuators", "winnow/internal/config", "winnow/collectors", "winnow/engine", "winnow/policies", "winnow/test/kit/wait"},
		"it looks and judges; it changes nothing"},
	{testJudge, actCalls, nil, "it looks and judges; it changes nothing"},
	{"winnow/collectors", "winnow/engine", []string{"winnow/engine/snapshot"}, "a collector sees; it cannot name a decision, nor judge"},
	{"winnow/collectors", "winnow/actuators", nil, "a collector changes nothing"},
	{"winnow/collectors/processes/host", "winnow/collectors/processes", nil, "the machine is there before what runs on it is read"},
	{"winnow/collectors/processes/commandline", "winnow/", []string{"winnow/internal/sys/proc"}, "it reads words, and no process"},
	{"winnow/collectors/processes/holders", "winnow/collectors", []string{"winnow/collectors/processes"}, "who uses a folder is asked of the machine, and of no other source"},
	{"winnow/collectors", actCalls, nil, "a collector reads: the calls that change something are in the client's package act, for actuators alone"},
	{"winnow/engine", actCalls, nil, "the engine decides and does not act"},
	{"winnow/internal/sys/git", "winnow/internal/sys/gitsafe/act", nil, "what reads a repository does not change it"},
	{"winnow/collectors", "winnow/policies", nil, "what a fact means is for the policies to say, not for who reads it"},
	{"winnow/engine", "winnow/collectors", nil, "the engine does no I/O: it is given a snapshot"},
	{"winnow/engine", "winnow/actuators", nil, "the engine decides and does not act"},
	{"winnow/engine", "winnow/policies", []string{"winnow/policies/schemas"}, "the engine decides by any policies, not by these; the schema of their input is its own"},
	{"winnow", "winnow/cmd", nil, "a command is a face: what others need lies below it"},
	{"winnow/internal/sys", "winnow/", []string{"winnow/internal/sys"}, "what knows the operating system and formats knows nothing of the application"},
	{"winnow/engine", "winnow/internal", []string{"winnow/internal/sys/duration", "winnow/internal/sys/spelling", "winnow/internal/sys/strict"},
		"the stages meet in internal, above the engine, which does no I/O: what it may use reads a text and nothing else"},
	{"winnow/collectors", "winnow/internal", []string{"winnow/internal/sys"}, "a collector sees; the application asks it"},
	{"winnow/actuators", "winnow/internal", []string{"winnow/internal/sys"}, "an actuator acts; the application asks it"},
	{"winnow/client", "winnow/internal", []string{"winnow/internal/sys"}, "other people's programs import it"},
	{"winnow/actuators", "winnow/engine", []string{"winnow/engine/decision"}, "an actuator cannot see a snapshot, nor decide: it looks again through cmd"},
	{"winnow/actuators", "winnow/collectors", nil, "an actuator looks through the interface that cmd wires, so that there is one way to look"},
	{"winnow/policies", "winnow/", nil, "the policies are data"},
	{"winnow/engine/snapshot", "winnow/", nil, "the words for what was seen stand alone"},
	{"winnow/engine/decision", "winnow/", nil, "the words for what was decided stand alone"},
	{"winnow/collectors", "github.com/open-policy-agent", nil, "only the engine knows OPA"},
	{"winnow/actuators", "github.com/open-policy-agent", nil, "only the engine knows OPA"},
	{"winnow/cmd", "github.com/open-policy-agent", nil, "only the engine knows OPA"},
	{"winnow/internal", "github.com/open-policy-agent", nil, "only the engine knows OPA"},
	{"winnow/internal/ledger", "winnow/", []string{"winnow/engine/alarm", "winnow/engine/snapshot", "winnow/engine/decision", "winnow/internal/sys", "winnow/internal/ledger/lock"},
		"what is remembered does not depend on how it was seen or judged"},
	{"winnow/internal/ledger/lock", "winnow/", []string{"winnow/internal/sys"}, "a lock does not know what it guards"},
	{"winnow/internal/ops", "github.com/spf13/cobra", nil, "an operation returns a document: flags are for commands"},
	{"winnow/internal/sweep", "github.com/spf13/cobra", nil, "an operation returns a document: flags are for commands"},
	{"winnow/internal/ops", "winnow/internal/render", nil, "an operation returns a document, which others write"},
	{"winnow/internal/sweep", "winnow/internal/render", nil, "an operation returns a document, which others write"},
	{"winnow/internal/document", "winnow/internal/ops", nil, "a document does not know which operation gives it"},
	{"winnow/internal/document", "winnow/internal/sweep", nil, "a document does not know which operation gives it"},
	{"winnow/internal/console", "winnow/", []string{"winnow/client", "winnow/internal/document", "winnow/internal/render", "winnow/internal/report",
		"winnow/internal/text", "winnow/internal/exit", "winnow/internal/sys", "winnow/engine/decision", "winnow/engine/snapshot", "winnow/test/kit"},
		"the console is a client of the local API, which the command gives it: it knows documents and their words"},
	{"winnow/internal/ops", "winnow/internal/daemon", nil, "the daemon runs operations; an operation does not know whether a daemon runs it"},
	{"winnow/internal/ops", "winnow/internal/localapi", nil, "an operation does not know who asks for it, nor how"},
	{"winnow/internal/sweep", "winnow/internal/ops", nil, "the pipeline is below the operations"},
	{"winnow/internal/review", "winnow/", faces, "a face knows documents and their words, and is given what it shows"},
	{"winnow/internal/top", "winnow/", faces, "a face knows documents and their words, and is given what it shows"},
	{"winnow/internal/screen", "winnow/", []string{"winnow/internal/text"}, "it knows rows and keys, and nothing of what they stand for"},
	{"winnow/internal/daemon", "winnow/internal/localapi", nil, "the list of what runs beside the daemon is given by the command"},
	{"winnow/internal/daemon", "github.com/spf13", nil, "flags are for commands"},
	{"winnow/internal/daemon", "winnow/internal/render", nil, "it gives documents, which others write"},
	{"winnow/internal/localapi", "github.com/spf13", nil, "flags are for commands"},
	{"winnow/internal/localapi", "winnow/internal/render", nil, "it gives documents, which others write"},
	{"winnow/internal/policycmp", "winnow/collectors", nil, "it compares what others saw"},
	{"winnow/engine/compare", "winnow/", []string{"winnow/engine/eval", "winnow/engine/decision", "winnow/engine/explain", "winnow/engine/snapshot", "winnow/engine/subject"},
		"what differs is decided of samples and sides that others bring, and read nowhere"},
	{"winnow/internal/policycmp", "winnow/internal/ledger", nil, "it compares recordings, which an operation reads: what else is remembered says nothing of policies"},
	{"winnow/internal/policycmp", "github.com/spf13", nil, "flags are for commands"},
	{"winnow/internal/policycmp", "winnow/internal/render", nil, "it gives documents, which others write"},
	{"winnow/internal/ruleset", "winnow/collectors", nil, "loading rules looks at nothing"},
	{"winnow/internal/state", "winnow/engine/eval", nil, "a state folder does not depend on how it was decided"},
	{"winnow/engine", "winnow/internal/ledger", nil, "the engine does no I/O: it is given what is remembered"},
	{"winnow/collectors", "winnow/internal/ledger", nil, "a collector sees; it remembers nothing"},
	{"winnow/actuators", "winnow/internal/ledger", nil, "an actuator writes down what it intends through cmd"},
	{"winnow/engine/eval", "winnow/engine/sandbox", nil, "how a candidate is decided does not hang on the process that does it"},
	{"winnow/engine/policy", "winnow/engine/eval", nil, "rules are loaded without being asked"},
	{"winnow/engine/policy/lint", "winnow/", nil, "it looks at one module: trees and their layers are for who loads them"},
	{"winnow/engine/explain", "winnow/engine/eval", nil, "why a decision was made is read from its trace"},
	{"winnow/engine/alarm", "github.com/open-policy-agent", nil, "what is wrong with a silence does not depend on how it was decided"},
	{"winnow/engine/subject", "github.com/open-policy-agent", nil, "the join is plain Go; only the engine itself knows OPA"},
	{"winnow", "winnow/test/kit", nil, "servers that tests speak to are no part of the program"},
	{"winnow/test/kit", "winnow", nil, "a server that shared code with its client would share its mistakes"},
}

// home is where the module lies; the arrows name its packages without it.
const home = "github.com/winnow-reaper/"

// standalone lists the packages that may import the standard library only.
var standalone = []string{"winnow/engine/snapshot", "winnow/engine/decision"}

func TestArrows(t *testing.T) {
	// With -e a circle of imports is told too, by the arrow that it breaks.
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", home+"winnow/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := map[string]bool{}
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		musts.Do(t, dec.Decode(&p))
		p.ImportPath = strings.TrimPrefix(p.ImportPath, home)
		seen[p.ImportPath] = true
		for _, imp := range p.Imports {
			imp = strings.TrimPrefix(imp, home)
			// The calls that change something rest on the client that they belong to, and servers for tests on one another.
			if p.ImportPath == imp+"/act" || under(p.ImportPath, "winnow/test/kit") && under(imp, "winnow/test/kit") {
				continue
			}
			for _, a := range arrows {
				if slices.Contains(forTests, p.ImportPath) && (a.from == "winnow/test/kit" || a.to == "winnow/test/kit") {
					continue
				}
				if under(p.ImportPath, a.from) && under(imp, a.to) && !excepted(imp, a.except) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, a.why)
				}
			}
			for to, only := range sole {
				if under(imp, to) && !under(p.ImportPath, to) && !excepted(p.ImportPath, only.by) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, only.why)
				}
			}
			for _, s := range standalone {
				if p.ImportPath == s && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
					t.Errorf("%s imports %s: it is a vocabulary and uses the standard library only", s, imp)
				}
			}
		}
	}
	// An arrow about a package that is not there holds nothing.
	for _, a := range arrows {
		if strings.HasPrefix(a.from, "winnow/") && !anyUnder(seen, a.from) {
			t.Errorf("an arrow starts at %s, which does not exist", a.from)
		}
	}
}

// under says whether the package is the tree's, or below it. A star in the tree stands for one name.
func under(pkg, tree string) bool {
	tree = strings.TrimSuffix(tree, "/")
	if !strings.Contains(tree, "*") {
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	}
	names := strings.Split(pkg, "/")
	depth := strings.Count(tree, "/") + 1
	matched, _ := path.Match(tree, strings.Join(names[:min(depth, len(names))], "/"))
	return matched
}

func TestUnder(t *testing.T) {
	for _, c := range []struct {
		pkg, tree string
		want      bool
	}{
		{"winnow/internal/sys/proc/act", actCalls, true},
		{"winnow/internal/sys/proc/act/below", actCalls, true},
		{"winnow/internal/sys/proc", actCalls, false},
		{"winnow/internal/sys/proc/action", actCalls, false},
		{"winnow/internal/sys/act", actCalls, false},
		{"winnow/engine", "winnow/engine", true},
		{"winnow/engines", "winnow/engine", false},
		{"winnow/engine/alarm", "winnow/engine", true},
	} {
		if got := under(c.pkg, c.tree); got != c.want {
			t.Errorf("under(%q, %q) = %v, want %v", c.pkg, c.tree, got, c.want)
		}
	}
}

func excepted(pkg string, list []string) bool {
	for _, e := range list {
		if under(pkg, e) {
			return true
		}
	}
	return false
}

func anyUnder(seen map[string]bool, tree string) bool {
	for p := range seen {
		if under(p, tree) {
			return true
		}
	}
	return false
}

// TestOperationsGiveDocuments: no exported function of internal/ops or internal/sweep takes an io.Writer.
func TestOperationsGiveDocuments(t *testing.T) {
	for _, f := range goFiles(t) {
		if folder := filepath.Dir(f.path); !f.test() && (folder == "internal/ops" || folder == "internal/sweep") {
			for _, line := range regexp.MustCompile(`(?m)^func (\([^)]*\) )?[A-Z]\w*\([^{]*io\.Writer`).FindAllString(f.text, -1) {
				t.Errorf("%s: %s: an operation gives a document, which others write", f.path, line)
			}
		}
	}
}

// TestNothingIsPrintedRaw holds that what the program prints goes through the two writers that main makes.
func TestNothingIsPrintedRaw(t *testing.T) {
	files := musts.Get(filepath.Glob("*.go"))(t)
	for _, name := range files {
		if name == "main.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := musts.Get(os.ReadFile(name))(t)
		for _, past := range []string{"os.Stdout", "os.Stderr", "fmt.Print", "json.NewEncoder(a.out)", "println("} {
			for line := range strings.Lines(string(text)) {
				if i := strings.Index(line, past); i >= 0 && (past != "println(" || i == 0 || line[i-1] == '\t') {
					t.Errorf("%s: %s goes past the writers that escape: write to the app's", name, strings.TrimSpace(line))
				}
			}
		}
	}
}
